"""A batch of reports: sweeps and tables, what is skipped, and what kills, faults and a second batch leave behind."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

import roi
from roi import batch, charts, drawing, report
from roi.problems import InputError
from roi.reading import PROPOSALS, load

TWO_REGION = (PROPOSALS / "two-region.yaml").read_text(encoding="utf-8")
FILES = sorted([*report.FILES, batch.DONE])


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def start(folder: Path, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    """`roi report` in a folder that holds a notebook of one cell, so that a report takes no time.

    Nor does it wait for what a long notebook would compute, or take a program as new that somebody changes meanwhile.
    """
    code = (
        "import pathlib, sys, roi.batch, roi.report\n"
        "from roi.__main__ import main\n"
        "roi.report.NOTEBOOK = pathlib.Path('short.ipynb').absolute()\n"
        "roi.batch.WARM_UP, roi.batch._program = '', lambda notebook: notebook.read_text()\n"
        "sys.argv = ['roi', 'report', *sys.argv[1:]]\n"
        "main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(roi.__file__).parents[1])},
        **settings,
    )


def run(folder: Path, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    with start(folder, *arguments, **settings) as started:
        out, err = started.communicate(timeout=300)
    return subprocess.CompletedProcess(arguments, started.returncode, out, err)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A folder in which the notebook of a report is one cell."""
    cells = [
        nbformat.v4.new_code_cell("proposal = ''", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("proposal['key']"),
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), tmp_path / "short.ipynb")
    return tmp_path


# --- what is asked for ------------------------------------------------------------------------------------------------------


def keys(given: list[str], sweeps: list[str]) -> list[str]:
    orders, bad = batch.read(given, sweeps)
    assert not bad
    return [order.key for order in orders]


def test_a_sweep_takes_every_combination_of_its_values() -> None:
    assert keys(["two-region", "published-claim"], ["latency_saved=60:180:60", "discount_rate=0.1:0.3:0.1"]) == [
        f"{key},latency_saved={saved},discount_rate={rate}"
        for key in ("two-region", "published-claim")
        for saved in (60, 120, 180)
        for rate in ("0.1", "0.2", "0.3")  # in decimal figures: 0.1 + 0.1 + 0.1 of doubles is above 0.3
    ]


def test_a_sweep_stops_at_the_last_step_before_its_end() -> None:
    assert keys(["two-region"], ["latency_saved=60:99:20"]) == ["two-region,latency_saved=60", "two-region,latency_saved=80"]


def test_a_swept_proposal_is_the_proposal_with_that_value_and_says_so() -> None:
    (order,), _ = batch.read(["two-region"], ["proposed.europe-west4.gpu_price=12:12:1"])
    expected = roi.evaluate(load("two-region"), {"proposed.europe-west4.gpu_price": 12})
    assert roi.evaluate(order.proposal).net_gain == expected.net_gain
    assert order.proposal.name == f"{load('two-region').name}, GPU price in europe-west4 (proposed) $12/GPU-hour"


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("latency_savd=1:2:1", "--sweep: 'latency_savd' is not an input; did you mean latency_saved?"),
        ("latency_saved", "--sweep: 'latency_saved' is not NAME=FROM:TO:STEP; write it like latency_saved=60:180:20"),
        ("latency_saved=1:x:1", "--sweep: 'latency_saved=1:x:1' is not NAME=FROM:TO:STEP"),
        ("latency_saved=1:nan:1", "holds a number that is not finite"),
        ("latency_saved=2:1:1", "does not go upwards"),
        ("latency_saved=1:2:0", "does not go upwards"),
        ("latency_saved=0:1e9:1e-9", "has more than 10,000 values; take wider steps"),
        ("discount_rate=0:500:100", "--sweep: discount_rate"),
        ("gpu_price=1:2:1", "--sweep: gpu_price has a value for each site; write for example proposed.europe-west4.gpu_price"),
        ("proposed.europe-west4.gpu_prce=1:2:1", "is not an input of a site; did you mean gpu_price?"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(sweep: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        batch.read(["two-region"], [sweep])
    assert said in str(refusal.value)


def test_sweeps_of_too_many_reports_are_refused() -> None:
    with pytest.raises(InputError, match=r"--sweep: asks for more than 10,000 reports; take wider steps"):
        batch.read(["two-region"], ["latency_saved=1:101:1", "upfront_cost=1:101:1"])


def test_a_sweep_of_a_region_that_a_proposal_lacks_refuses_that_proposal_alone() -> None:
    orders, bad = batch.read(["two-region", "raise-utilisation"], ["proposed.europe-west4.gpu_price=12:13:1"])
    assert [order.key[:10] for order in orders] == ["two-region"] * 2
    assert str(bad["raise-utilisation"]).startswith("--sweep: proposed.europe-west4.gpu_price: proposed has no region")


def test_a_table_gives_a_report_for_each_row(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(TWO_REGION, encoding="utf-8")
    (tmp_path / "many.csv").write_text(
        "key,proposal,latency_saved,proposed.europe-west4.gpu_price\nfirst,two-region,90,12\n\nsecond,mine.yaml,,\n", "utf-8-sig"
    )
    orders, bad = batch.read([str(tmp_path / "many.csv")])
    assert not bad
    first, second = orders
    changed = {"latency_saved": 90, "proposed.europe-west4.gpu_price": 12}
    assert (first.key, second.key) == ("first", "second")
    assert roi.evaluate(first.proposal).net_gain == roi.evaluate(load("two-region"), changed).net_gain
    assert roi.evaluate(second.proposal).net_gain == roi.evaluate(load("two-region")).net_gain


def test_every_mistake_of_a_table_is_said_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(
        "key,proposal,latency_saved,discount_rate\n"
        "a,two-region,ninety,\n"
        'b,"two\nlines",1,\n'
        "a/b,two-region,1,\n"
        ",two-region,1,\n"
        "c,two-region,1,000,\n"
        "d,,1,\n"
        "e,two-region,1,85\n"
        "f,two-region,1,\n"
        "f,two-region,2,\n"
    )
    assert str(batch.read([str(path)])[1][str(path)]).splitlines() == [
        f"{path}:{line}"
        for line in [
            "2: latency_saved is the text 'ninety'; write a number alone, such as 120",
            "3: there is no proposal 'two lines'; give the path of a YAML file or one of " + ", ".join(roi.reading.shipped()),
            "5: the key cannot name a folder, 'a/b', which holds what no name may hold; write another",
            "6: has no key, which names the report's folder",
            "7: has 5 values for 4 columns; write numbers without commas",
            "8: names no proposal to start from; write a path or a shipped name",
            "9: discount_rate is 85 1/year, which is out of range; allowed is 0 to 1 1/year",
            "11: key 'f' stands in line 10 as well; give each row its own",
        ]
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "many.csv:1: has no column 'key'; begin it with a line such as key,proposal,latency_saved"),
        (b"key,latency_saved\n", "many.csv:1: has no column 'proposal'"),
        (b"key,proposal,latency_savd\n", "many.csv:1: 'latency_savd' is not an input; did you mean latency_saved?"),
        (b"key,proposal,gpu_price\n", "many.csv:1: gpu_price has a value for each site"),
        (b"key,proposal,ramp,ramp\n", "many.csv:1: has the column 'ramp' twice; keep one of the two"),
        (b"key,proposal\n", "many.csv: holds no proposals"),
        (b"\xff\xfe\x00k", "many.csv: is not text in UTF-8"),
        (b'key,proposal\na,"two-region\n', "many.csv:2: is not CSV: unexpected end of data"),
        (b"key,proposal\na,two-region\x00\n", "many.csv:2: there is no proposal"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "many.csv"
    path.write_bytes(content)
    assert said in str(batch.read([str(path)])[1][str(path)])


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    given = str(tmp_path / "none.csv")
    assert str(batch.read([given])[1][given]) == f"{given}: cannot be read: No such file or directory"


# --- what is finished -------------------------------------------------------------------------------------------------------


def test_a_finished_report_is_skipped_until_something_changes(short: Path) -> None:
    (short / "mine.yaml").write_text(TWO_REGION, encoding="utf-8")
    assert run(short, "mine.yaml", "-o", "out").returncode == 0
    before = {name: (short / "out" / "mine" / name).stat().st_mtime_ns for name in FILES}

    def again(*arguments: str) -> str:
        done = run(short, "mine.yaml", "-o", "out", *arguments)
        assert done.returncode == 0, done.stderr
        return re.findall(r"^ +mine.yaml .* (\w+) *$", done.stdout, re.MULTILINE)[0]

    assert again() == "skipped"
    assert before == {name: (short / "out" / "mine" / name).stat().st_mtime_ns for name in FILES}
    assert files(short / "out") == ["index.html", *(f"mine/{name}" for name in FILES)]
    assert again("--force") == "made"
    (short / "out" / "mine" / "report.html").write_text("damaged")
    assert again() == "made"
    (short / "mine.yaml").write_text(TWO_REGION + "\n# a comment counts: the notebook holds the text\n", encoding="utf-8")
    assert again() == "made"
    assert again() == "skipped"


def test_the_hash_covers_the_day_the_values_and_the_measurements(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("90\n100\n120\n140\n150\n")
    measured = "inputs:\n  latency_saved: {base: 120, shape: empirical, file: times.csv}\n"
    text = TWO_REGION.replace("inputs:\n", measured)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    given, today = [str(tmp_path / "mine.yaml")], date(2026, 12, 2)

    def hashed(*sweeps: str, day: date = today) -> str:
        (order,), _ = batch.read(given, sweeps)
        return batch.input_hash(order, day)

    first = hashed()
    assert first == hashed()
    assert first != hashed(day=today + timedelta(days=1))
    assert first != hashed("ramp=1:1:1")
    (tmp_path / "times.csv").write_text("90\n100\n120\n140\n151\n")
    assert first != hashed()


def test_equal_texts_give_equal_numbers() -> None:
    made, again = (report.files_of(TWO_REGION, "two-region", str(PROPOSALS)) for _ in range(2))
    assert list(made) == list(report.FILES)
    assert made["results.json"] == again["results.json"] == report.results_json(roi.Result(load("two-region"))).encode()
    assert b"Two regions, us-central1 and europe-west4" in made["report.html"]
    assert made["report.html"] == again["report.html"]


# --- kills, faults and a second batch ---------------------------------------------------------------------------------------

ROWS = [f"row-{number}" for number in range(12)]


def whole(folder: Path) -> dict[str, int]:
    """The finished reports by key, each with the time at which its record was written; every file is as its record says."""
    found = {}
    for record in folder.glob("*/done.json"):
        said = json.loads(record.read_bytes())["files"]
        assert sorted([*said, batch.DONE]) == sorted(path.name for path in record.parent.iterdir()) == FILES
        assert all((record.parent / name).stat().st_size == each["bytes"] for name, each in said.items())
        assert json.loads((record.parent / "results.json").read_bytes())["proposal"] == record.parent.name
        found[record.parent.name] = record.stat().st_mtime_ns
    return found


def test_a_batch_that_is_killed_goes_on_where_it_was(short: Path) -> None:
    (short / "many.csv").write_text("key,proposal,latency_saved\n" + "".join(f"{key},two-region,90\n" for key in ROWS))
    out, chance = short / "out", random.Random(1)
    kept: dict[str, int] = {}
    for least in (1, 4, 8):
        with start(short, "many.csv", "-o", "out", "--jobs", "2") as started:
            while len(list(out.glob("*/done.json"))) < least:
                assert started.poll() is None
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.3))
            started.send_signal(signal.SIGKILL)
            started.communicate()
        now = whole(out)
        assert now | kept == now  # what was finished stays as it is
        kept = now
        # A folder without a record is one of nothing: reports come into their place whole.
        assert {path.name for path in out.iterdir() if not path.name.startswith(".")} == set(now)
    done = run(short, "many.csv", "-o", "out", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    now = whole(out)
    assert set(now) == set(ROWS)
    assert now | kept == now
    assert len(re.findall(" skipped *$", done.stdout, re.MULTILINE)) == len(kept)
    assert sorted(path.name for path in out.iterdir()) == sorted(["index.html", *ROWS])


def test_a_report_that_is_killed_while_it_replaces_another_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = dict.fromkeys(report.FILES, b"first")
    batch.put(tmp_path, "mine", contents, "hash")
    assert batch.finished(tmp_path / "mine", "hash")
    replace, calls = Path.replace, iter(range(10))

    def dying(path: Path, to: Path) -> Path:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        batch.put(tmp_path, "mine", dict.fromkeys(report.FILES, b"second"), "hash")
    assert not batch.finished(tmp_path / "mine", "hash")


def test_a_second_batch_into_the_same_folder_is_refused(short: Path) -> None:
    out = short / "out"
    out.mkdir()
    with batch.alone(out):
        done = run(short, "two-region", "-o", "out")
        assert done.returncode == 2
        assert done.stderr == (
            f"out: another batch, process {os.getpid()}, writes reports here; wait until it has ended, or give another folder\n"
        )
        assert files(out) == [batch.LOCK]
    assert files(out) == []


def test_the_lock_of_a_process_that_has_died_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / batch.LOCK).write_text("12345\n")
    (tmp_path / batch.UNFINISHED / "mine").mkdir(parents=True)
    (tmp_path / batch.UNFINISHED / "mine" / "report.html").write_text("half")
    with batch.alone(tmp_path):
        assert (tmp_path / batch.LOCK).read_text() == f"{os.getpid()}\n"
        assert not (tmp_path / batch.UNFINISHED).exists()
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_locked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(InputError, match="cannot be locked: No locks available"), batch.alone(tmp_path):
        pass


def test_a_full_disk_fails_each_report_and_leaves_the_old_ones(short: Path) -> None:
    assert run(short, "two-region", "-o", "out").returncode == 0
    before = whole(short / "out")

    def full() -> None:
        """The system refuses whatever a file has beyond 20 kB, as it does on a full disk; a workbook has more."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = run(short, "two-region", "published-claim", "-o", "out", "--force", preexec_fn=full)
    assert done.returncode == 2
    assert sorted(done.stderr.splitlines()) == [
        "2 of 2 failed: two-region, published-claim",
        "published-claim: out/published-claim: cannot be written: File too large",
        "two-region: out/two-region: cannot be written: File too large",
    ]
    assert whole(short / "out") == before
    assert files(short / "out") == ["index.html", *(f"two-region/{name}" for name in FILES)]


def without_rights() -> None:
    """Lets even root be refused what the rights of a folder refuse: drops CAP_DAC_OVERRIDE, see capabilities(7)."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0


def locked_away(folder: Path) -> Callable[[], None]:
    folder.chmod(0o555)
    return without_rights


def test_a_folder_without_the_right_to_write_is_refused(short: Path) -> None:
    (short / "out").mkdir()
    done = run(short, "two-region", "-o", "out", preexec_fn=locked_away(short / "out"))
    assert done.returncode == 2
    assert done.stderr == "out: cannot be written to; give another folder, or the right to write there\n"
    assert files(short / "out") == []


def test_a_working_directory_that_is_read_only_is_no_hindrance(short: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.mktemp("reports")
    before = files(short)
    done = run(short, "two-region", "-o", str(out), preexec_fn=locked_away(short))
    short.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(out) == ["index.html", *(f"two-region/{name}" for name in FILES)]
    assert files(short) == before


def test_no_jobs_are_refused(short: Path) -> None:
    done = run(short, "two-region", "-o", "out", "--jobs", "0")
    assert done.returncode == 2
    assert "Invalid value for '--jobs'" in done.stderr
    assert re.search("x>=1|greater than or equal to 1", done.stderr)
    assert not (short / "out").exists()


def test_a_notebook_that_raises_stops_no_other(short: Path) -> None:
    notebook = nbformat.read(short / "short.ipynb", as_version=4)
    notebook.cells[1].source = "assert proposal['key'] != 'two-region', 'not this one'"
    nbformat.write(notebook, short / "short.ipynb")
    done = run(short, "two-region", "published-claim", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["two-region: AssertionError: not this one", "1 of 2 failed: two-region"]
    assert files(short / "out") == ["index.html", *(f"published-claim/{name}" for name in FILES)]


# --- charts -----------------------------------------------------------------------------------------------------------------


def test_a_chart_is_the_same_whichever_process_draws_it() -> None:
    result = roi.evaluate(load("two-region"))
    here = [charts.static_svg(name, result) for name in charts.SPECIFICATIONS]
    with drawing.for_kernels():
        assert [charts.static_svg(name, result) for name in charts.SPECIFICATIONS] == here
        assert "vegaEmbed" in drawing.bundle()
    assert drawing.ADDRESS not in os.environ
    clips = [re.findall(r'id="(clip[^"]*)"', svg) for svg in here]
    assert all(f"url(#{clip})" in svg for svg, own in zip(here, clips, strict=True) for clip in own)
    assert len({clip for own in clips for clip in own}) == sum(map(len, clips))


def drawing_processes(parent: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(parent).children() if "roi.drawing" in " ".join(each.cmdline())]


def test_who_asks_draws_where_the_process_that_draws_is_killed() -> None:
    result, name = roi.evaluate(load("two-region")), next(iter(charts.SPECIFICATIONS))
    with drawing.for_kernels():
        before = charts.static_svg(name, result)
        (process,) = drawing_processes(os.getpid())
        process.kill()
        process.wait()
        assert charts.static_svg(name, result) == before


def test_each_draws_for_itself_where_a_socket_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("a" * 90)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with drawing.for_kernels():
        assert drawing.ADDRESS not in os.environ
        assert "vegaEmbed" in drawing.bundle()


def test_no_process_that_draws_outlives_whoever_started_it() -> None:
    code = "from roi import drawing\nwith drawing.for_kernels():\n    print(drawing.bundle()[:3], flush=True)\n    input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stdout.read(3), "it draws"
        (process,) = drawing_processes(started.pid)
        started.kill()
        process.wait(timeout=30)
