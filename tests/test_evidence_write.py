"""Findings into a proposal: what changes, that nothing else does, and what is refused before anything is written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roi import InputError
from roi.__main__ import main
from roi.evidence import Finding
from roi.evidence.write import update
from roi.inputs import inputs
from roi.reading import PROPOSALS, load, parse, shipped
from roi.values import Value

MINE = """\
# Ours, as of May
name: Two regions   # of three
owner: platform team
decision: Fund it, or not

# --- what is true everywhere
inputs:
  latency_saved: 120  # a guess
  # by finance
  step_time: {base: 1_200, low: 1000, high: 1500, shape: uniform, owner: Ann, source: "a memo"}  # to be measured
  value_per_release_day:
    # see the memo
    base: 250_000   # dollars
    source: >-
      A memo
      of finance
    owner: Bob

# --- today
baseline:
  us-central1:
proposed:
  us-central1: {share: 0.5}
  europe-west4: {share: 0.5,
    gpu_price: 14.69}
# the end
"""
SAVED = Finding("latency_saved", 86.41234567, 80.5, 92, 0.9, 800, 'a "log", less b', date(2026, 5, 1))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    return path


def changed(path: Path, *findings: Finding, sites: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The lines that differ after a write, with what they were, and with what is new after them all."""
    before = path.read_text()
    planned = update(findings, str(path), sites)
    assert path.read_text() == before
    planned.save()
    old, new = before.splitlines(), path.read_text().splitlines()
    load(path)
    return [(line, "") for line in old if line not in new] + [("", line) for line in new if line not in old]


def refused(path: Path, *findings: Finding, sites: tuple[str, ...] = ()) -> str:
    before = path.read_text()
    with pytest.raises(InputError) as error:
        update(findings, str(path), sites)
    assert path.read_text() == before
    return str(error.value)


# --- where it goes ----------------------------------------------------------------------------------------------------------

WRITTEN = (
    '{base: 86.4123, low: 80.5, high: 92, covers: 0.9, source: "a \\"log\\", less b", date: 2026-05-01, '
    "measured: true, count: 800"
)


def test_a_plain_number_is_replaced_and_its_comment_stays(mine: Path) -> None:
    assert changed(mine, SAVED) == [("  latency_saved: 120  # a guess", ""), ("", f"  latency_saved: {WRITTEN}}}  # a guess")]


def test_a_value_on_one_line_keeps_its_owner_alone(mine: Path) -> None:
    old, new = changed(mine, replace(SAVED, input="step_time"))
    assert old[0].startswith("  step_time: {base: 1_200")
    assert new[1] == f"  step_time: {WRITTEN}, owner: Ann}}  # to be measured"


def test_a_value_on_several_lines_keeps_them_and_their_comments(mine: Path) -> None:
    assert changed(mine, replace(SAVED, input="value_per_release_day", low=None, high=None)) == [
        ("    base: 250_000   # dollars", ""),
        ("    source: >-", ""),
        ("      A memo", ""),
        ("      of finance", ""),
        ("", "    base: 86.4123   # dollars"),
        ("", '    source: "a \\"log\\", less b"'),
        ("", "    date: 2026-05-01"),
        ("", "    measured: true"),
        ("", "    count: 800"),
    ]
    assert "    owner: Bob\n    date: 2026-05-01\n    measured: true\n    count: 800\n\n# --- today\n" in mine.read_text()


def test_lines_of_what_no_longer_holds_go(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        MINE.replace("owner: Bob", "low: 200_000\n    high: 300_000\n    covers: 0.5  # half\n    link: here\n    owner: Bob")
    )
    changed(path, replace(SAVED, input="value_per_release_day", low=None, high=None))
    value = load(path).inputs["value_per_release_day"]
    assert (value.low, value.high, value.covers, value.link, value.owner) == (None, None, None, "", "Bob")


def test_a_value_that_was_not_there_comes_last(mine: Path) -> None:
    assert changed(mine, replace(SAVED, input="queue_hours_saved")) == [("", f"  queue_hours_saved: {WRITTEN}}}")]
    assert f"    owner: Bob\n  queue_hours_saved: {WRITTEN}}}\n\n# --- today\n" in mine.read_text()


def test_a_value_of_a_site_goes_where_it_is_told_to(mine: Path) -> None:
    cold = replace(SAVED, input="cold_start_minutes")
    lines = changed(mine, cold, sites=("proposed.europe-west4", "baseline.us-central1", "proposed.us-central1"))
    assert [new for _, new in lines if new] == [
        f"  us-central1: {{cold_start_minutes: {WRITTEN}}}}}",
        f"  us-central1: {{share: 0.5, cold_start_minutes: {WRITTEN}}}}}",
        f"    gpu_price: 14.69, cold_start_minutes: {WRITTEN}}}}}",
    ]


def test_a_price_goes_to_each_site_in_its_region(mine: Path) -> None:
    prices = [
        Finding("gpu_price", price, None, None, None, 1, "a list", basis="spot", place=place)
        for place, price in (("us-central1", 6.27), ("asia-east1", 5.0))
    ]
    planned = update(prices, str(mine))
    assert [change.split(":")[0] for change in planned.changes] == [
        "baseline.us-central1.gpu_price",
        "proposed.us-central1.gpu_price",
    ]
    assert planned.left == (prices[1],)
    assert '{base: 6.27, source: "a list", basis: "spot", measured: true, count: 1}' in planned.text


@pytest.mark.parametrize("inputs_line", ["", "inputs:\n", "inputs: {}\n", "inputs: ~  # none\n"])
def test_a_proposal_without_inputs_gets_them(tmp_path: Path, inputs_line: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: A\nowner: B\ndecision: C\n{inputs_line}baseline: {{us: {{}}}}\nproposed:\n  us: {{}}")
    update([SAVED, replace(SAVED, input="step_time")], str(path)).save()
    assert (load(path).number("latency_saved"), load(path).number("step_time")) == (86.4123, 86.4123)
    assert ("# none" in path.read_text()) == ("# none" in inputs_line)


def test_line_ends_of_windows_stay(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(MINE.replace("\n", "\r\n").encode())
    update([SAVED, *(replace(SAVED, input=each) for each in ("queue_hours_saved", "value_per_release_day"))], str(path)).save()
    written = path.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n") == MINE.count("\n") + 1 - 2 + 6
    load(path)


# --- what it says, and what it refuses --------------------------------------------------------------------------------------


def test_it_says_from_what_to_what(mine: Path) -> None:
    assert update([SAVED, replace(SAVED, input="queue_hours_saved")], str(mine)).changes == (
        "inputs.latency_saved: 120 ms/step -> 86.41 ms/step (80.5 to 92 ms/step)",
        "inputs.queue_hours_saved: 0 hours/run by default -> 86.41 hours/run (80.5 to 92 hours/run)",
    )


def test_a_value_of_a_site_needs_its_site(mine: Path) -> None:
    cold = replace(SAVED, input="cold_start_minutes")
    assert "cold_start_minutes has a value for each site; say which, such as --site proposed.europe-west4" in refused(mine, cold)
    message = refused(mine, cold, sites=("proposed.mars",))
    assert "'proposed.mars' is no site of this proposal; it has baseline.us-central1, proposed.us-central1" in message


def test_what_belongs_nowhere_is_refused(mine: Path) -> None:
    assert "gets nothing: the evidence holds no value of an input" in refused(mine)
    price = Finding("gpu_price", 5.0, None, None, None, 1, "a list", place="asia-east1")
    assert "gets nothing: the evidence holds gpu_price in asia-east1" in refused(mine, price)
    assert "inputs.latency_saved would get both" in refused(mine, SAVED, SAVED)


def test_what_the_proposal_would_be_refused_for_is_not_written(mine: Path) -> None:
    message = refused(mine, replace(SAVED, input="cold_share", base=7.0), sites=("proposed.us-central1",))
    assert "would be refused with these values: proposed.us-central1: cold_share is 7, which is out of range" in message
    mine.write_text(MINE.replace("share: 0.5}", "share: 0.4}"))
    assert "the shares sum to 0.9" in refused(mine, SAVED)


@settings(max_examples=25)
@given(
    st.sampled_from(shipped()), st.lists(st.sampled_from([*inputs()]), min_size=1, max_size=6, unique=True), st.floats(0.2, 0.9)
)
def test_a_proposal_says_the_findings_and_otherwise_what_it_said(name: str, names: list[str], share: float) -> None:
    path = PROPOSALS / f"{name}.yaml"
    before = load(path)
    findings = []
    for each in names:
        low, high, _ = inputs()[each].slider
        base = float(f"{low + share * (high - low):.2g}")
        base = float(round(base)) if inputs()[each].whole else base
        # Shares sum to 1, what a pilot measures has to stay uncertain, and a mode may rule out what is sent.
        low, high = inputs()[each].range
        if each not in ("share", "latency_saved", "sync_time", "egress_per_sync") and low <= base <= high:
            findings.append(Finding(each, base, None, None, None, 1, f"of {each}"))
    if not findings:
        return
    site = before.regions[-1]
    planned = update(findings, str(path), [".".join(site)])
    after = parse(planned.text, "after.yaml", before.key)
    new = {each.input: Value(base=each.base, source=each.source, measured=True, count=1) for each in findings}
    for place, old in (((), before.inputs), (site, before.sites[site[0]][site[1]])):
        said = after.sites[place[0]][place[1]] if place else after.inputs
        axis = "site" if place else "scalar"
        expected = {**old, **{key: value for key, value in new.items() if inputs()[key].axis == axis}}
        assert {
            key: value if key not in new else msgspec.structs.replace(value, owner="") for key, value in said.items()
        } == expected
    kept = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert [line for line in planned.text.splitlines() if line.startswith("#")] == kept


# --- the command ------------------------------------------------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["roi", "evidence", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, printed.out, printed.err

    return call


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "train.csv"
    path.write_text("step,step_time_ms\n" + "".join(f"{n},{100 + n}\n" for n in range(11)))
    return str(path)


def test_the_command_says_what_changes_and_writes_it(run: Run, mine: Path, log: str) -> None:
    code, out, err = run("steps", log, "--write", str(mine))
    assert (code, err) == (0, "")
    assert out.endswith(
        f"inputs.step_time: 1,200 ms/step (1,000 to 1,500 ms/step) -> 105 ms/step (101 to 109 ms/step)\n{mine}: written\n"
    )
    assert load(mine).number("step_time") == 105


def test_the_command_prints_one_object(run: Run, mine: Path, log: str) -> None:
    code, out, _ = run("steps", log, "--json", "--write", str(mine))
    found = json.loads(out)
    assert (code, found["kind"], found["total"], found["written"]) == (0, "steps", 11, str(mine))
    assert found["changes"] == ["inputs.step_time: 1,200 ms/step (1,000 to 1,500 ms/step) -> 105 ms/step (101 to 109 ms/step)"]


def test_the_command_takes_prices_of_one_basis(run: Run, mine: Path) -> None:
    prices = ("prices", "--gpu", "H100", "--region", "us-central1", "--write", str(mine))
    code, _, err = run(*prices)
    assert code == 2
    assert "baseline.us-central1.gpu_price would get both" in err
    assert mine.read_text() == MINE
    code, out, _ = run(*prices, "--basis", "spot")
    assert code == 0
    assert "proposed.us-central1.gpu_price: $11.53/GPU-hour by default -> $6.27/GPU-hour" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("steps", "nowhere.log"), "nowhere.log: No such file or directory"),
        (("steps", "{folder}"), "Is a directory"),
        (
            ("steps", "{log}", "--site", "proposed.us-central1"),
            "--site: says what is written; give --write PROPOSAL with it",
        ),
        (("steps", "{log}", "--write", "nothing"), "there is no proposal 'nothing'"),
        (("waits", "{log}"), "holds no such object"),
        (("waits", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
    ],
)
def test_a_refusal_is_one_message_and_exit_code_2(
    run: Run, log: str, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(*(each.format(log=log, folder=tmp_path) for each in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
