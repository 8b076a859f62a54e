"""The command line: what each command prints, where, and with which exit code."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import roi
from roi.__main__ import main
from roi.reading import PROPOSALS

TWO_REGION = (PROPOSALS / "two-region.yaml").read_text(encoding="utf-8")
COMMANDS = (
    "serve",
    "check",
    "evaluate",
    "report",
    "export",
    "simulate",
    "decide",
    "breakeven",
    "compare",
    "alternatives",
    "portfolio",
    "information",
    "sensitivity",
)


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `roi` with some arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["roi", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Outcome(ended.value.code or 0, printed.out, printed.err)

    return call


def refused(outcome: Outcome) -> str:
    """The message of a refusal: on standard error alone, with exit code 2 and no traceback."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    return outcome.err


# --- all commands -----------------------------------------------------------------------------------------------------------


def test_help_lists_every_command(run: Run) -> None:
    outcome = run("--help")
    assert (outcome.code, outcome.err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: roi {command} [OPTIONS]")


def test_version(run: Run) -> None:
    assert run("--version") == Outcome(0, f"roi {roi.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage: roi"),
        (["evalute", "two-region"], "No such command 'evalute'"),
        (["evaluate", "two-region", "--jsn"], "No such option '--jsn'"),
        (["evaluate"], "Missing argument 'PROPOSAL'"),
        (["evaluate", "two-region", "published-claim"], "unexpected extra argument"),
        (["report", "two-region"], "Missing option '--output' / '-o'"),
        (["report", "-o", "out"], "Missing argument 'PROPOSAL...'"),
        (["report", "two-region", "-o", "out", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["export", "two-region"], "there is nothing to write; add --html FILE, --xlsx FILE or --pptx FILE"),
        (["serve", "--port", "70000"], "Invalid value for '--port'"),
    ],
)
def test_wrong_usage_is_refused(run: Run, arguments: list[str], said: str) -> None:
    assert said in refused(run(*arguments))


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "roi", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"roi {roi.__version__}\n"


def test_a_reader_that_stops_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "roi", "evaluate", "two-region", "--json"], stdout=closed, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == ""


def test_an_interrupted_command_ends_as_shells_know_it_without_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roi.decision.decide", interrupted)
    assert run("decide", "two-region") == Outcome(130, "", "")


def test_evaluating_imports_nothing_heavy() -> None:
    heavy = {"pandas", "altair", "papermill", "nbconvert", "jinja2", "scipy", "voila", "ipywidgets", "vl_convert", "IPython"}
    heavy |= {"pydantic", "rich", "typer"}
    code = (
        "import sys\n"
        "from roi.__main__ import main\n"
        "sys.argv = ['roi', 'evaluate', 'two-region']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# --- evaluate ---------------------------------------------------------------------------------------------------------------


def strict(text: str) -> Any:
    """JSON without the NaN and Infinity that Python would read."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    outcome = run("evaluate", "published-claim", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    contents = strict(outcome.out)
    assert list(contents) == ["lines", "months", "proposal"]
    assert contents["proposal"] == "published-claim"
    assert contents["lines"]["net_gain"] == 3_400_000
    assert contents["lines"]["npv"] == pytest.approx(3_011_793.9035, abs=5e-5)
    assert len(contents["months"]["cumulative"]) == 19


def test_a_comparison_says_where_only_the_spread_differs(run: Run, tmp_path: Path) -> None:
    text = (PROPOSALS / "two-region.yaml").read_text()
    (tmp_path / "surer.yaml").write_text(text.replace("low: 100_000", "low: 200_000"))
    out = run("compare", "two-region", str(tmp_path / "surer.yaml")).out
    assert "No number differs, but how sure the numbers are does" in out


def test_an_alternative_is_named_once(run: Run) -> None:
    assert "published-claim is named twice" in refused(run("alternatives", "two-region", "published-claim", "published-claim"))


def test_json_has_every_digit(run: Run) -> None:
    result = roi.evaluate(roi.load("two-region"))
    contents = strict(run("evaluate", "two-region", "--json").out)
    assert contents["lines"] == {name: value if math.isfinite(value) else None for name, value in result.scalars.items()}
    assert contents["months"]["cumulative"] == result.months["cumulative"]


def test_json_writes_what_is_infinite_or_undefined_as_null(run: Run) -> None:
    contents = strict(run("evaluate", "two-region", "--json", "--set", "latency_saved=0").out)
    assert contents["lines"]["payback_month"] is None
    assert None in contents["months"]["recovery_month"]


def test_json_of_a_refusal_is_no_output(run: Run) -> None:
    assert "did you mean two-region;" in refused(run("evaluate", "two-regoin", "--json"))


def test_people_read_the_verdict_every_line_and_the_flags(run: Run) -> None:
    outcome = run("evaluate", "published-claim")
    assert (outcome.code, outcome.err) == (0, "")
    first, verdict, *rest = outcome.out.splitlines()
    assert first == "The published claim, 120 ms a step"
    assert verdict.startswith("Pays back in month 7. Net gain $3.4M over 18 months.")
    result = roi.evaluate(roi.load("published-claim"))
    names = [line.split()[-1] for line in rest if line.strip()]
    assert [name for name in names if name in result.scalars] == list(result.scalars)
    assert any(line.startswith("Flag: The proposed step is faster") for line in rest)


def test_a_value_can_be_set(run: Run) -> None:
    outcome = run("evaluate", "two-region", "--json", "--set", "latency_saved=90", "--set", "proposed.europe-west4.gpu_price=12")
    expected = roi.evaluate(roi.load("two-region"), {"latency_saved": 90, "proposed.europe-west4.gpu_price": 12})
    assert strict(outcome.out)["lines"]["net_gain"] == expected.net_gain


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("latency_savd=90", "'latency_savd' is not an input; did you mean latency_saved?"),
        ("latency_saved=abc", "latency_saved is the text 'abc'; write a number alone, such as 120"),
        ("latency_saved=12%", "latency_saved is the text '12%'; write the number alone: 0.12"),
        ("latency_saved=1.2M", "latency_saved is the text '1.2M'; write the number alone: 1200000"),
        ("latency_saved=1,000", "latency_saved is the text '1,000'; write the number alone: 1000"),
        ("latency_saved=", "latency_saved is the text ''; write a number alone, such as 120"),
        ("latency_saved=nan", "latency_saved is nan, which is not a finite number; allowed is"),
        ("latency_saved=-inf", "latency_saved is -inf, which is not a finite number; allowed is"),
        ("latency_saved=1e6", "latency_saved is 1000000 ms/step, which is out of range; allowed is"),
        ("horizon=1.5", "horizon is 1.5, which is not whole; allowed is a whole number"),
        ("latency_saved", "'latency_saved' is not NAME=VALUE; write it like latency_saved=90"),
        ("=90", "'=90' is not NAME=VALUE; write it like latency_saved=90"),
        ("gpu_price=12", "'gpu_price' has a value for each site; write for example proposed.europe-west4.gpu_price"),
        (
            "proposed.mars.gpu_price=12",
            "proposed.mars.gpu_price: proposed has no region 'mars'; it has us-central1, europe-west4",
        ),
        ("proposed.europe-west4.share=0.4", "proposed: the shares sum to 0.9"),
        ("[red]x[/red]=1", "'[red]x[/red]' is not an input"),
    ],
)
def test_a_wrong_setting_is_refused(run: Run, setting: str, said: str) -> None:
    message = refused(run("evaluate", "two-region", "--set", setting))
    assert message.startswith(f"--set: {said}")
    assert len(message.splitlines()) == 1


def test_a_value_set_twice_is_refused(run: Run) -> None:
    message = refused(run("evaluate", "two-region", "--set", "delay=1", "--set", "delay=2"))
    assert message == "--set: delay is set twice; keep one of the two\n"


def test_all_wrong_settings_are_named_in_one_go(run: Run) -> None:
    message = refused(run("evaluate", "two-region", "--set", "latency_savd=1", "--set", "delay=x"))
    assert [line.split()[1] for line in message.splitlines()] == ["'latency_savd'", "delay"]


def test_explain_is_the_tree_behind_a_number(run: Run) -> None:
    outcome = run("evaluate", "two-region", "--explain", "net_gain")
    assert outcome == Outcome(0, f"{roi.evaluate(roi.load('two-region')).explain('net_gain')}\n", "")


def test_explain_as_json(run: Run) -> None:
    tree = strict(run("evaluate", "two-region", "--explain", "release_gain", "--json").out)
    assert tree["value"] == pytest.approx(400_000)
    assert [part["name"] for part in tree["parts"]] == ["release_days_saved", "value_per_release_day"]


def test_explaining_an_unknown_number_is_refused(run: Run) -> None:
    message = refused(run("evaluate", "two-region", "--explain", "net_gian"))
    assert message == "--explain: there is no line or input 'net_gian'; did you mean net_gain?\n"


# --- check ------------------------------------------------------------------------------------------------------------------


def test_check_says_what_is_odd_about_good_proposals(run: Run) -> None:
    outcome = run("check", "published-claim", "raise-utilisation")
    assert (outcome.code, outcome.err) == (0, "")
    assert "published-claim: good (The published claim, 120 ms a step)\n" in outcome.out
    assert "published-claim: flag: The proposed step is faster" in outcome.out
    assert "raise-utilisation: good (Raise utilisation in us-central1)\n" in outcome.out


def test_check_names_every_problem_of_every_file_in_one_go(run: Run) -> None:
    changed = TWO_REGION.replace("inputs:\n", 'inputs:\n  latency_savd: 3\n  ramp: "12%"\n')
    Path("typo [red]1[end].yaml").write_text(changed, encoding="utf-8")
    Path("empty.yaml").write_text("", encoding="utf-8")
    Path("good.yaml").write_text(TWO_REGION, encoding="utf-8")
    outcome = run("check", "typo [red]1[end].yaml", "good.yaml", "empty.yaml", "nowhere")
    assert outcome.code == 2
    assert outcome.out.startswith("good.yaml: good (Two regions, us-central1 and europe-west4)\n")
    first, second, third, fourth = outcome.err.splitlines()
    assert first == "typo [red]1[end].yaml:6: inputs: 'latency_savd' is not an input; did you mean latency_saved?"
    assert second == "typo [red]1[end].yaml:7: inputs: ramp is the text '12%'; write the number alone: 0.12"
    assert third.startswith("empty.yaml:1: is empty")
    assert fourth.startswith("there is no proposal 'nowhere'; give the path of a YAML file or one of two-region")


def test_characters_that_steer_a_terminal_are_shown_not_sent(run: Run) -> None:
    Path("odd.yaml").write_text(TWO_REGION.replace("Two regions,", r'"\e[31mTwo\u202E regions, é"').replace('" us-', '" #'))
    outcome = run("check", "odd.yaml")
    assert "\x1b" not in outcome.out + outcome.err
    assert r"\x1b[31mTwo\u202e regions, é" in outcome.out


# --- odds, break-even and why -----------------------------------------------------------------------------------------------


def test_simulate_gives_the_same_json_for_the_same_seed_on_any_number_of_workers(run: Run) -> None:
    once, again, spread = (
        run("simulate", "two-region", "--draws", "20000", "--seed", "1", "--json", *more) for more in ([], [], ["--jobs", "2"])
    )
    assert once.code == 0
    assert once == again == spread
    found = json.loads(once.out)
    assert found["draws"] == 20_000
    assert 0 < found["p_gain"] < 1


def test_the_decision_is_said_with_what_reverses_it(run: Run) -> None:
    outcome = run("decide", "two-region")
    first, verdict, *rest = outcome.out.splitlines()
    assert first.startswith("Measure first, for $60K, then start or not: ")
    assert "becomes better if a release day is worth less than about $" in first
    assert verdict.startswith("Pays back in month 16. Net gain $329K over 18 months.")
    assert "Latency saved per step: 120 ms/step, flips below 110.9 ms/step." in rest
    found = json.loads(run("decide", "two-region", "--json").out)
    assert (found["recommendation"], found["best"], found["instead"]) == (first, "staged", "other")
    assert "value_per_release_day" in found["reversal"]
    moved = run("decide", "two-region", "--set", "latency_saved=90").out
    assert "Does not pay back within 18 months" in moved


def test_simulate_says_the_odds_in_words(run: Run) -> None:
    outcome = run("simulate", "two-region", "--set", "latency_saved=90")
    assert outcome.code == 0
    assert re.match(r"\d in 10 odds of a gain \(\d+ % of 8,192 draws\)\. 8 in 10 outcomes lie between", outcome.out)


def test_breakeven_meets_its_target(run: Run) -> None:
    # 0.6 releases a month make the published 3.4 million
    outcome = run("breakeven", "published-claim", "--target", "3400000", "--input", "releases_per_month", "--json")
    assert json.loads(outcome.out)["breakeven"]["releases_per_month"] == pytest.approx([0.6])
    outcome = run("breakeven", "two-region", "--input", "value_per_release_day")
    assert outcome == Outcome(0, "Value of a release day: $227K/day (now $250K/day)\n", "")
    outcome = run("breakeven", "raise-utilisation", "--input", "value_per_release_day")
    assert "no value in its range does it" in outcome.out


def test_a_pair_breaks_even_along_a_curve(run: Run) -> None:
    found = json.loads(run("breakeven", "published-claim", "--pair", "latency_saved", "value_per_release_day", "--json").out)
    assert (found["target"], found["pair"], len(found["curve"])) == (0, ["latency_saved", "value_per_release_day"], 33)
    # 2,000,000 / (10.8 releases x 3 days) at 180 ms
    assert found["curve"][-1] == {"latency_saved": 180, "value_per_release_day": [pytest.approx(2_000_000 / 32.4)]}
    said = run("breakeven", "published-claim", "--pair", "value_per_release_day", "critical_path_share", "--target", "2e6").out
    first, *rows, last = said.splitlines()
    assert first == "Share on the critical path at which the net gain is $2.0M, for values of 'Value of a release day':"
    # 21.6 days x 100,000 are less than 4,000,000, and 4,000,000 / (21.6 x 400,000) = 0.463
    assert (rows[0], rows[-1], len(rows)) == ("  $100K/day  none", "  $400K/day  46.3 %", 9)
    assert last == "Now $250K/day and 100 %."


def test_alternatives_stand_side_by_side(run: Run) -> None:
    outcome = run("alternatives", "two-region")
    assert (outcome.code, outcome.err) == (0, "")
    (now,) = (line for line in outcome.out.splitlines() if line.startswith("  Start now "))
    assert now.split() == ["Start", "now", "$3.2M", "$3.3M", "$122K", "$805K", "1.04", "4", "%", "51", "%", "$241K/day"]
    assert outcome.out.count("Left out: ") == 1
    found = json.loads(run("alternatives", "two-region", "published-claim", "raise-utilisation", "--later", "2", "--json").out)
    assert [each["kind"] for each in found["alternatives"]] == ["nothing", "now", "later", "staged", "other", "other"]
    assert found["alternatives"][0]["roi_net"] is None
    present = [roi.evaluate(roi.load("two-region"), wait=wait).npv for wait in (0, 1, 2)]
    assert found["alternatives"][2]["npv"] == pytest.approx(present[2])
    assert found["cost_of_waiting"] == pytest.approx(present[0] - present[1])
    assert found["switching_input"] == "value_per_release_day"


def test_the_name_of_an_alternative_does_not_steer_the_terminal(run: Run) -> None:
    Path("odd.yaml").write_text(TWO_REGION.replace("Two regions,", r'"\e[31mTwo regions"').replace('" us-', '" #'))
    outcome = run("alternatives", "published-claim", "odd.yaml")
    assert "\x1b" not in outcome.out
    assert r"\x1b[31mTwo regions" in outcome.out


def test_compare_adds_up(run: Run) -> None:
    found = json.loads(run("compare", "published-claim", "two-region", "--json").out)
    assert sum(step["amount"] for step in found["steps"]) == pytest.approx(found["to"] - found["from"], abs=0.005)
    shown = run("compare", "published-claim", "two-region").out.splitlines()
    assert shown[0] == "The published claim, 120 ms a step: $3,400,000.00"
    assert shown[-1] == "Two regions, us-central1 and europe-west4: $328,974.18"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "two-region", "--draws", "50"], "draws is 50; allowed is 100 to 10,000,000"),
        (["simulate", "two-region", "--set", "latency_savd=1"], "did you mean latency_saved?"),
        (["breakeven", "two-region", "--input", "gpu"], "--input: 'gpu' is not an input; did you mean gpus?"),
        (["breakeven", "two-region", "--target", "nan"], "--target: nan is not an amount"),
        (["breakeven", "two-region", "--target", "lots"], "Invalid value for '--target'"),
        (["breakeven", "two-region", "--pair", "gpus", "dela"], "--pair: 'dela' is not an input; did you mean delay?"),
        (["breakeven", "two-region", "--pair", "gpus", "gpu_price"], "--pair: 'gpu_price' has a value for each region"),
        (["breakeven", "two-region", "--pair", "gpus", "gpus"], "--pair: gpus is given twice; name two inputs"),
        (["breakeven", "two-region", "--pair", "gpus"], "Option '--pair' requires 2 arguments"),
        (["breakeven", "two-region", "--pair", "gpus", "ramp", "--input", "delay"], "--pair: asks for a curve, and --input"),
        (["alternatives", "two-region", "nosuch"], "there is no proposal 'nosuch'"),
        (["alternatives", "two-region", "--later", "0"], "later is 0; write a whole number of months from 1 to 60"),
        (["alternatives", "two-region", "--later", "soon"], "Invalid value for '--later'"),
        (["alternatives", "two-region", "--draws", "10"], "draws is 10; allowed is 100 to 1,000,000"),
        (["alternatives", "two-region", "--seed", "-1"], "the seed is -1; write a whole number from 0"),
        (["alternatives", "two-region", "--set", "latency_savd=1"], "did you mean latency_saved?"),
        (["compare", "two-region", "nosuch"], "there is no proposal 'nosuch'"),
    ],
)
def test_what_cannot_be_answered_is_refused(run: Run, arguments: list[str], said: str) -> None:
    assert said in refused(run(*arguments))


# --- export and serve -------------------------------------------------------------------------------------------------------


def test_export_writes_one_page(run: Run) -> None:
    outcome = run("export", "two-region", "--html", "deck/page.html")
    assert outcome == Outcome(0, "deck/page.html\n", "")
    assert [path.name for path in Path("deck").iterdir()] == ["page.html"]
    text = Path("deck/page.html").read_text(encoding="utf-8")
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert "$329K" in text


def test_export_writes_a_file_of_each_kind_that_is_named(run: Run) -> None:
    outcome = run("export", "two-region", "--xlsx", "w.xlsx", "--pptx", "s.pptx")
    assert outcome == Outcome(0, "w.xlsx\ns.pptx\n", "")
    for name in ("w.xlsx", "s.pptx"):
        assert zipfile.is_zipfile(name)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("file/page.html", "file/page.html: cannot be written: file is not a folder\n"),
        ("folder", "folder: is a folder; give the name of a file\n"),
    ],
)
def test_export_to_where_nothing_can_be_written_is_refused(run: Run, target: str, said: str) -> None:
    Path("file").write_text("mine")
    Path("folder").mkdir()
    assert refused(run("export", "two-region", "--html", target)) == said
    assert sorted(str(path) for path in Path().rglob("*")) == ["file", "folder"]


def test_serve_hands_its_options_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(roi, "serve", SimpleNamespace(serve=lambda **options: given.update(options)), raising=False)
    assert run("serve", "--port", "9001", "--ip", "::1", "--token", "t", "--base-url", "/roi/", "--pool", "9").code == 0
    assert given == {"port": 9001, "ip": "::1", "token": "t", "base_url": "/roi/", "pool": 9}
    run("serve")
    assert given == {"port": 8866, "ip": "127.0.0.1", "token": "", "base_url": "/", "pool": 2}
