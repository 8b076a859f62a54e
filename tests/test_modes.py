"""Modes: what a file may say, what contradicts it, and what it leaves open."""

from datetime import date

import pytest

from roi.modes import MODES
from roi.problems import InputError
from roi.proposals import provenance_flags
from roi.reading import parse

TEXT = """name: n
owner: o
decision: d
inputs:
  latency_saved: 120
  {inputs}
baseline:
  a: {{}}
proposed:
  a: {{share: 0.5{site}}}
  b: {{share: 0.5{site}}}
{mode}
"""


def flags(mode: str, inputs: str = "step_time: 1200", site: str = "") -> list[str]:
    return [each for each in provenance_flags(read(mode, inputs, site), date(2026, 12, 1)) if "egion" in each]


def read(mode: str, inputs: str = "step_time: 1200", site: str = ""):
    return parse(TEXT.format(mode=mode, inputs=inputs, site=site), "p.yaml", "p")


def test_regions_that_do_not_say_how_they_work_together_are_flagged():
    assert flags("") == [
        "How the 2 proposed regions work together is not said; write mode: placement_only, sync_cross_region, low_comm."
    ]


def test_whole_jobs_in_one_region_need_a_reason_for_a_faster_step():
    assert flags("mode: placement_only") == [
        "Each job runs whole in one region, which makes no step faster. The latency saved (120 ms/step) needs a reason of its "
        "own, under mode."
    ]
    assert flags("mode: {kind: placement_only, reason: newer GPUs in b}") == []


def test_a_step_that_is_no_faster_needs_no_reason():
    text = TEXT.replace("latency_saved: 120", "latency_saved: 0").format(mode="mode: placement_only", inputs="ramp: 3", site="")
    assert not [each for each in provenance_flags(parse(text, "p.yaml", "p"), date(2026, 12, 1)) if "reason" in each]


@pytest.mark.parametrize(("mode", "inputs"), [("sync_cross_region", "ramp: 3"), ("low_comm", "steps_per_sync: 500")])
def test_regions_that_synchronise_take_time_and_send(mode, inputs):
    assert flags(f"mode: {mode}", inputs) == [
        f"Regions synchronise ({mode}), but no time is given for it; `roi evidence network` says how long.",
        f"Regions synchronise ({mode}), but nothing is sent from a, b.",
    ]
    assert flags(f"mode: {mode}", f"{inputs}\n  sync_time: 10", ", egress_per_sync: 14") == []


@pytest.mark.parametrize(
    ("mode", "inputs", "site", "message"),
    [
        ("mode: placement_only", "sync_time: 5", "", "synchronises nothing, but sync_time is not 0"),
        ("mode: placement_only", "ramp: 3", ", egress_per_sync: 1", "but proposed.a.egress_per_sync is not 0"),
        ("mode: sync_cross_region", "steps_per_sync: 10", "", "at every step, but steps_per_sync is not 1; write 1, or low_comm"),
        ("mode: low_comm", "steps_per_sync: 1", "", "but steps_per_sync is 1; write more steps, or sync_cross_region"),
        ("mode: low_com", "ramp: 3", "", "mode is 'low_com', which is none; did you mean low_comm?"),
        ("mode: 3", "ramp: 3", "", "mode is 3, which is none; write one of placement_only (each job"),
        ("mode: {reason: x}", "ramp: 3", "", "mode has no kind; write one of"),
        ("mode: []", "ramp: 3", "", "mode is [], which is none; write one of"),
        ("mode: [placement_only]", "ramp: 3", "", "mode is ['placement_only'], which is none; did you mean"),
        ("mode: true", "ramp: 3", "", "mode is True, which is none; write one of"),
        ("mode: {kind: low_comm, why: x}", "steps_per_sync: 9", "", "'why' is not known in a mode"),
        ("mode: {kind: low_comm, reason: 3}", "steps_per_sync: 9", "", "mode: reason is 3; write words"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_line(mode, inputs, site, message):
    with pytest.raises(InputError) as error:
        read(mode, inputs, site)
    assert message in error.value.problems[0].message
    assert {each.line for each in error.value.problems} == {12}


def test_a_blank_reason_is_none():
    assert len(flags('mode: {kind: placement_only, reason: "  "}')) == 1


def test_one_region_has_none_to_synchronise_with():
    text = TEXT.split("baseline:")[0].format(inputs="ramp: 3") + "baseline: {a: {}}\nproposed: {a: {}}\nmode: sync_cross_region\n"
    with pytest.raises(InputError, match="synchronises regions, but one alone is proposed"):
        parse(text, "p.yaml", "p")


def test_other_numbers_that_the_mode_rules_out_are_flagged():
    proposal = read("mode: placement_only").with_values({"sync_time": 12_090, "proposed.b.egress_per_sync": 14})
    flagged = provenance_flags(proposal, date(2026, 12, 1))
    assert "mode placement_only synchronises nothing, but sync_time is not 0; write 0, or another mode" in flagged
    assert any("proposed.b.egress_per_sync is not 0" in each for each in flagged)


def test_every_mode_says_what_it_is():
    assert str(read("mode: placement_only").mode) == f"{MODES['placement_only']} (placement_only)"
