"""Reports: what the notebook takes, what is written, what is refused, and what a browser makes of it."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

import roi
from roi import report
from roi.inputs import inputs
from roi.problems import InputError
from roi.reading import PROPOSALS, load
from tests.browser import PHONE, chromium, visit

FILES = ("done.json", "report.html", "report.ipynb", "results.json", "workbook.xlsx")

BIN = Path(sys.executable).parent
TWO_REGION = (PROPOSALS / "two-region.yaml").read_text(encoding="utf-8")
UNSAFE_NAME = "<script>alert(1)</script> & [red]two[/red]"


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- one run of four proposals, one of them bad, that most tests read -------------------------------------------------------


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which reports were made with another kernel under our kernel's name, and none of our programs on the path."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "odd's.yaml").write_text(re.sub("^name:.*", f'name: "{UNSAFE_NAME}"', TWO_REGION), encoding="utf-8")
    (folder / "typo.yaml").write_text(TWO_REGION.replace("inputs:\n", "inputs:\n  latency_savd: 3\n"), encoding="utf-8")
    false_kernel = folder / "jupyter" / "kernels" / "python3"
    false_kernel.mkdir(parents=True)
    (false_kernel / "kernel.json").write_text('{"argv": ["false"], "display_name": "false", "language": "python"}')
    done = run(
        folder,
        *(str(BIN / "roi"), "report", "two-region", "typo.yaml", "odd's.yaml", "raise-utilisation", "-o", "out", "--jobs", "2"),
        PATH="/usr/bin:/bin",
        JUPYTER_PATH=str(folder / "jupyter"),
    )
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    assert done.returncode == 2, done.stderr
    return folder


def test_a_bad_proposal_does_not_stop_the_others(reports: Path) -> None:
    assert files(reports / "out") == sorted(
        ["index.html", *(f"{key}/{kind}" for key in ("two-region", "odd's", "raise-utilisation") for kind in FILES)]
    )


def test_the_lines_say_what_was_written_and_what_failed(reports: Path) -> None:
    *written, last = (reports / "stdout").read_text().splitlines()
    written, table = written[:3], "\n".join(written[3:])
    assert sorted(written) == [f"out/{key}/report.html" for key in ("odd's", "raise-utilisation", "two-region")]
    assert last == "out/index.html: all 3 side by side"
    for row in (r"two-region +\$329K +month 16.1 +5 in 10 +[\d.]+ +made", r"odd's.yaml +\$329K .* made", r"typo.yaml +failed"):
        assert re.search(row, table), row
    assert (reports / "stderr").read_text().splitlines() == [
        "typo.yaml:6: inputs: 'latency_savd' is not an input; did you mean latency_saved?",
        "1 of 4 failed: typo.yaml",
    ]


def test_results_hold_the_inputs_and_all_numbers(reports: Path) -> None:
    contents = json.loads((reports / "out" / "two-region" / "results.json").read_bytes())
    result = roi.evaluate(load("two-region"))
    assert contents["lines"] == json.loads(report.as_json(result.scalars))
    assert contents["months"]["net_cash"] == result.months["net_cash"]
    assert contents["version"] == roi.__version__
    assert contents["input_hash"] == load("two-region").fingerprint
    assert contents["inputs"]["latency_saved"] == 120
    assert contents["sites"]["proposed"]["europe-west4"]["gpu_price"] == 14.69
    assert all(contents["checks"].values())
    assert (contents["proposal"], contents["flags"]) == ("two-region", result.flags)


def test_the_notebook_kept_its_outputs_and_no_error(reports: Path) -> None:
    notebook = nbformat.read(reports / "out" / "two-region" / "report.ipynb", as_version=4)
    kinds = [output.output_type for cell in notebook.cells for output in cell.get("outputs", [])]
    assert kinds == ["execute_result"] * 5


def test_the_page_holds_results_and_no_code(reports: Path) -> None:
    text = (reports / "out" / "two-region" / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert text.count("<title>") == 1
    assert "<title>Two regions, us-central1 and europe-west4</title>" in text
    assert '<html lang="en">' in text
    assert '<meta name="viewport"' in text
    assert "from_parameters" not in text
    assert "What the odds hang on" in text
    assert "Each of the other 15 facts moves it less." in text
    assert "Break-even of latency saved per step and value of a release day" in text
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*\b(src|href)=(?!\"data:)", markup)
    assert "widget" not in markup


def test_the_text_of_a_proposal_is_text_on_every_page(reports: Path) -> None:
    for page in ("odd's/report.html", "index.html"):
        text = (reports / "out" / page).read_text(encoding="utf-8")
        assert "<script>alert(1)</script>" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; [red]two[/red]" in text


def test_the_index_compares(reports: Path) -> None:
    text = (reports / "out" / "index.html").read_text(encoding="utf-8")
    for key in ("two-region", "raise-utilisation"):
        assert roi.words.verdict(roi.evaluate(load(key))) in text
    first, last = (roi.evaluate(load(key)).net_gain for key in ("two-region", "raise-utilisation"))
    assert f"+{roi.amounts.money(last - first)}" in text
    assert "latency_savd" in text
    assert "Older than 180 days" in text
    for target in re.findall(r'href="([^"]+)"', text):
        if not target.startswith("data:"):
            assert (reports / "out" / target.replace("%27", "'")).is_file()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("page", ["index.html", "two-region/report.html", "odd's/report.html"])
@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_from_disk_asks_for_nothing_and_says_nothing(reports: Path, browser: Any, page: str, scripts: bool) -> None:
    address = (reports / "out" / page).as_uri()
    seen = visit(browser, address, java_script_enabled=scripts, offline=True)
    seen.page.wait_for_load_state("networkidle")
    assert [each for each in seen.asked if not each.startswith(("data:", "blob:"))] == [address]
    assert seen.said == []
    text = seen.page.inner_text("body")
    assert "$329K" in text
    assert "Pays back in month 16." in text
    if page != "index.html":
        assert "-2,070,613" in text  # cumulative cash in month 1
        assert "\u2211\u00a0\nnet cash" in text


@pytest.mark.parametrize("page", ["index.html", "two-region/report.html"])
def test_a_page_fits_a_phone(reports: Path, browser: Any, page: str) -> None:
    seen = visit(browser, (reports / "out" / page).as_uri(), viewport=PHONE)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("page", ["index.html", "two-region/report.html"])
def test_a_page_prints_on_a4(reports: Path, browser: Any, page: str) -> None:
    printed = visit(browser, (reports / "out" / page).as_uri()).page.pdf(prefer_css_page_size=True)
    sizes = {tuple(map(float, box.split()[2:])) for box in re.findall(rb"/MediaBox \[([^\]]+)\]", printed)}
    assert {(round(width), round(height)) for width, height in sizes} == {(595, 842)}


# --- what fails on the way --------------------------------------------------------------------------------------------------


def test_a_second_run_gives_the_same_bytes_and_a_blocked_report_leaves_nothing(reports: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "published-claim").write_text("mine")
    done = run(tmp_path, str(BIN / "roi"), "report", "published-claim", "two-region", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "published-claim: out/published-claim: is a file, where the report's folder should be; remove it or give another folder",
        "1 of 2 failed: published-claim",
    ]
    assert files(tmp_path / "out") == [
        "index.html",
        "published-claim",
        *(f"two-region/{kind}" for kind in FILES),
    ]
    assert (tmp_path / "out" / "published-claim").read_text() == "mine"
    again, before = (folder / "out" / "two-region" / "results.json" for folder in (tmp_path, reports))
    assert again.read_bytes() == before.read_bytes()


@pytest.mark.parametrize(
    ("code", "said"), [("1 / 0", "ZeroDivisionError: division by zero"), ("import os; os._exit(3)", "Kernel died")]
)
def test_a_notebook_that_fails_leaves_no_file(tmp_path: Path, code: str, said: str) -> None:
    cells = [nbformat.v4.new_code_cell("proposal = ''", metadata={"tags": ["parameters"]}), nbformat.v4.new_code_cell(code)]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), tmp_path / "broken.ipynb")
    start = (
        "import pathlib, sys, roi.report\n"
        "from roi.__main__ import main\n"
        "roi.report.NOTEBOOK = pathlib.Path('broken.ipynb')\n"
        "sys.argv = ['roi', 'report', 'two-region', '-o', 'out']\n"
        "main()"
    )
    done = run(tmp_path, sys.executable, "-c", start)
    assert done.returncode == 2
    first, last = done.stderr.splitlines()
    assert first.startswith(f"two-region: {said}")
    assert last == "1 of 1 failed: two-region"
    assert "report.html" not in done.stdout
    assert files(tmp_path / "out") == []


def test_ctrl_c_ends_the_kernel_and_leaves_no_file_half_made(tmp_path: Path) -> None:
    with subprocess.Popen(
        [BIN / "roi", "report", "two-region", "published-claim", "-o", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that a shell runs in the background inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as started:
        while not (kernels := psutil.Process(started.pid).children()):
            assert started.poll() is None
        started.send_signal(signal.SIGINT)
        assert started.communicate(timeout=60) == ("", "")
    assert started.returncode == 130
    assert psutil.wait_procs(kernels, timeout=30)[1] == []
    # On a busy machine the first report may be whole by then; the one in the making leaves nothing.
    assert files(tmp_path) in ([], [f"out/two-region/{kind}" for kind in FILES])


def test_two_proposals_for_one_folder_are_refused(tmp_path: Path) -> None:
    proposal = load("two-region")
    with pytest.raises(InputError, match=r"a/x\.yaml and b/x\.yaml would both be reported in .*two-region; rename one"):
        report.prepare({"a/x.yaml": proposal, "b/x.yaml": proposal}, tmp_path / "out")
    assert files(tmp_path) == []


@pytest.mark.parametrize("name", ["...yaml", "index.html.yaml"])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TWO_REGION, encoding="utf-8")
    with pytest.raises(InputError, match="cannot give its name to a folder"):
        report.prepare({name: load(tmp_path / name)}, tmp_path / "out")


@pytest.mark.parametrize(
    ("folder", "said"), [("file", "is a file; give a folder"), ("file/out", "cannot be made: Not a directory")]
)
def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path, folder: str, said: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=said):
        report.prepare({"two-region": load("two-region")}, tmp_path / folder)


def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to; give another folder"):
        report.prepare({"two-region": load("two-region")}, tmp_path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    report.write_whole(path, "old")
    # A disk that is full after three bytes: the system refuses the rest.
    code = (
        "import resource, signal, sys; from pathlib import Path; from roi import report;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (3, 3));"
        "report.write_whole(Path(sys.argv[1]), 'newer')"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code, str(path)], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("page.html: cannot be written: File too large")
    assert files(tmp_path) == ["page.html"]
    assert path.read_text() == "old"


def test_a_plain_conversion_of_the_notebook_has_live_sliders(reports: Path, browser: Any, tmp_path: Path) -> None:
    notebook = reports / "out" / "two-region" / "report.ipynb"
    command = [BIN / "jupyter", "nbconvert", "--to", "html", "--output-dir", tmp_path, notebook]
    subprocess.run(command, check=True, capture_output=True)
    seen = visit(browser)
    # nbconvert's own page asks for its scripts elsewhere; the board needs none of them.
    seen.page.route(re.compile("^https?:"), lambda route: route.abort())
    seen.page.goto((tmp_path / "report.html").as_uri())
    seen.page.fill('[data-box="latency_saved"]', "90")
    seen.page.press('[data-box="latency_saved"]', "Enter")
    assert seen.page.text_content('[data-line="net_gain"]') == "-$761K"
    seen.page.context.close()


# --- the notebook -----------------------------------------------------------------------------------------------------------


def notebook() -> Any:
    return nbformat.read(report.NOTEBOOK, as_version=4)


def code_cells() -> list[Any]:
    return [cell for cell in notebook().cells if cell.cell_type == "code"]


def test_the_notebook_is_stored_without_outputs() -> None:
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code_cells())


def test_the_notebook_computes_nothing() -> None:
    arithmetic = (ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.For, ast.If, ast.FunctionDef, ast.Lambda)
    for cell in code_cells():
        assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, arithmetic)]


def test_every_parameter_listed_is_an_input() -> None:
    (cell,) = [cell for cell in code_cells() if "parameters" in cell.metadata.get("tags", [])]
    listed = [target.id for statement in ast.parse(cell.source).body for target in statement.targets]
    assert listed[:2] == ["proposal", "sites"]
    assert {inputs()[name].axis for name in listed[2:]} == {"scalar"}


def test_parameters_give_a_result() -> None:
    given = {"proposal": "two-region", "sites": {"proposed.europe-west4.gpu_price": 12}, "latency_saved": 90, "ramp": None}
    expected = roi.evaluate(load("two-region"), {"latency_saved": 90, "proposed.europe-west4.gpu_price": 12})
    assert report.from_parameters(given).net_gain == expected.net_gain


def test_what_is_no_plain_value_is_no_parameter() -> None:
    given = {"proposal": "two-region", "roi": roi, "run": run, "_": "", "_i3": "", "result": roi.evaluate(load("two-region"))}
    assert report.from_parameters(given).net_gain == roi.evaluate(load("two-region")).net_gain


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"latency_savd": 90}, "parameters: 'latency_savd' is not a parameter; did you mean latency_saved?"),
        ({"latency_savd": None}, "parameters: 'latency_savd' is not a parameter; did you mean latency_saved?"),
        ({"proposl": "x"}, "parameters: 'proposl' is not a parameter; did you mean proposal?"),
        ({"_x": 1}, "parameters: '_x' is not a parameter"),
        ({"gpu_price": 12}, "parameters: gpu_price has a value for each site; write -y 'sites: "),
        ({"latency_saved": "90"}, "latency_saved is the text '90'; write the number alone: 90"),
        ({"latency_saved": True}, "latency_saved is bool True; write a number alone, such as 120"),
        ({"latency_saved": float("nan")}, "latency_saved is nan, which is not a finite number"),
        ({"sites": "x"}, "parameters: sites is 'x'; write -y 'sites: "),
        ({"sites": {"proposed.mars.gpu_price": 1}}, "proposed.mars.gpu_price: proposed has no region 'mars'"),
        ({"proposal": 3}, "parameters: proposal is 3; write the path of a YAML file"),
        ({"proposal": "two-regoin"}, "there is no proposal 'two-regoin'; did you mean two-region; give the path"),
    ],
)
def test_a_wrong_parameter_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refusal:
        report.from_parameters({"proposal": "two-region"} | given)
    assert str(refusal.value).startswith(said)


def test_papermill_runs_the_notebook_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(TWO_REGION, encoding="utf-8")
    done = run(
        tmp_path,
        *(str(BIN / "papermill"), str(report.NOTEBOOK), "out.ipynb", "-p", "proposal", "mine.yaml", "-p", "latency_saved", "90"),
    )
    assert done.returncode == 0, done.stderr
    assert "unknown parameter" not in done.stderr
    expected = roi.evaluate(load("two-region"), latency_saved=90)
    assert roi.words.verdict(expected) in (tmp_path / "out.ipynb").read_text(encoding="utf-8")


def test_papermill_fails_on_an_unknown_parameter(tmp_path: Path) -> None:
    done = run(tmp_path, str(BIN / "papermill"), str(report.NOTEBOOK), "out.ipynb", "-p", "latency_savd", "90")
    assert done.returncode == 1
    assert "InputError: parameters: 'latency_savd' is not a parameter; did you mean latency_saved?" in done.stderr
