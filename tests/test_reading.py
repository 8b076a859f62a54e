"""Proposals: what is good loads, and each mistake is refused with its file, its line and what to write instead."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roi import InputError
from roi.inputs import inputs
from roi.reading import PROPOSALS, load, parse, shipped
from roi.values import plausible
from tests.strategies import numbers

GOOD = """\
name: Two regions
owner: platform team
decision: Fund it, or not
inputs:
  latency_saved: 120
  value_per_release_day: {base: 250_000, low: 100_000, high: 400_000, source: Memo, date: 2026-10-14}
baseline:
  us-central1: {gpu_price: 11.53}
proposed:
  us-central1: {share: 0.5, gpu_price: 11.53}
  europe-west4: {share: 0.5, gpu_price: 14.69}
mode: {kind: placement_only, reason: newer GPUs in europe-west4}
"""


def problems_of(text):
    with pytest.raises(InputError) as refused:
        parse(text, "mine.yaml", "mine")
    return [str(problem) for problem in refused.value.problems]


def test_a_good_proposal_holds_what_its_file_says_and_the_defaults():
    proposal = parse(GOOD, "mine.yaml", "mine")
    assert (proposal.key, proposal.name, proposal.owner) == ("mine", "Two regions", "platform team")
    assert proposal.number("latency_saved") == 120
    assert proposal.number("horizon") == inputs()["horizon"].default
    assert proposal.inputs["value_per_release_day"].date == date(2026, 10, 14)
    assert proposal.regions == [("baseline", "us-central1"), ("proposed", "us-central1"), ("proposed", "europe-west4")]
    assert proposal.site_number("proposed", "europe-west4", "gpu_price") == 14.69


PILOT = "{months: 1, cost: 60_000, measures: [value_per_release_day], source: Trial, date: 2026-12-01, owner: platform team}"

# What is written instead of a part of a good pilot, and what is said of it.
PILOT_MISTAKES = [
    (PILOT, "yes", "pilot is 'yes'; write pilot: {months: 1, cost: 60_000, measures: [latency_saved], source: ...}"),
    ("months: 1", "month: 1", "'month' is not known in a pilot; did you mean months"),
    ("months: 1, ", "", "pilot has no months; write pilot: {months: 1"),
    ("cost: 60_000, ", "", "pilot has no cost; write"),
    ("measures: [value_per_release_day], ", "", "pilot has no measures; write"),
    ("months: 1", "months: 0", "pilot: months is 0 month, which is out of range; allowed is a whole number 1 to 60 month"),
    ("months: 1", "months: 61", "pilot: months is 61 month, which is out of range"),
    ("months: 1", "months: 1.5", "pilot: months is 1.5, which is not whole; allowed is a whole number 1 to 60"),
    ("months: 1", "months: two weeks", "pilot: months is the text 'two weeks'; write a number alone, such as 1"),
    ("months: 1", "months: true", "pilot: months is bool True; write a number alone"),
    ("60_000", "-1", "pilot: cost is -1 USD, which is out of range; allowed is 0 to 10000000000 USD"),
    ("60_000", "$60K", "pilot: cost is the text '$60K'; write the number alone: 60000"),
    ("60_000", ".nan", "pilot: cost is nan, which is not a finite number"),
    ("60_000", "", "pilot: cost is left empty"),
    ("[value_per_release_day]", "value_per_release_day", "measures is 'value_per_release_day'; write a list of uncertain facts"),
    ("[value_per_release_day]", "[]", "pilot: measures is []; write a list of uncertain facts such as [latency_saved]"),
    (
        "[value_per_release_day]",
        "[value_per_releas_day]",
        "is not an uncertain fact of this proposal; did you mean value_per_release_day",
    ),
    (
        "[value_per_release_day]",
        "[latency_saved]",
        "'latency_saved' is not an uncertain fact of this proposal",
    ),  # it is certain here
    ("[value_per_release_day]", "[horizon]", "'horizon' is not an uncertain fact of this proposal; uncertain are value_per"),
    ("[value_per_release_day]", "[gpus, 5]", "pilot: measures: 5 is not an uncertain fact"),
    ("[value_per_release_day]", "[gpus, gpus]", "pilot: measures: 'gpus' is given twice; keep one of the two"),
    ("source: Trial", "source: 5", "pilot: source is 5; write words"),
    ("2026-12-01", "soon", "pilot: date is 'soon'; write a date without quotes, like 2026-10-14"),
]

# One mistake each: what is written instead of a line of the good file, the line of the mistake, and what is said of it.
MISTAKES = [
    ("owner: platform team", "ownr: platform team", 2, "'ownr' is not known in a proposal; did you mean owner"),
    ("  latency_saved: 120", "  latency_savd: 120", 5, "'latency_savd' is not an input; did you mean latency_saved"),
    ("{gpu_price: 11.53}", "{gpu_pric: 11.53}", 8, "baseline.us-central1: 'gpu_pric' is not an input; did you mean gpu_price"),
    ("source: Memo", "sorce: Memo", 6, "did you mean source"),
    (
        "  latency_saved: 120",
        "  latency_saved: 120\n  latency_saved: 90",
        6,
        "'latency_saved' is given twice; keep one of the two",
    ),
    ("  latency_saved: 120", "  critical_path_share: 12%", 5, "is the text '12%'; write the number alone: 0.12"),
    ("  latency_saved: 120", "  upfront_cost: 1,000", 5, "is the text '1,000'; write the number alone: 1000"),
    ("  latency_saved: 120", "  upfront_cost: $2M", 5, "is the text '$2M'; write the number alone: 2000000"),
    ("  latency_saved: 120", "  upfront_cost: a lot", 5, "is the text 'a lot'; write a number alone, such as 2000000"),
    ("  latency_saved: 120", "  latency_saved: '120'", 5, "is the text '120'; write the number alone: 120"),
    ("  latency_saved: 120", "  latency_saved: true", 5, "latency_saved is bool True; write a number alone"),
    ("  latency_saved: 120", "  latency_saved:", 5, "latency_saved is left empty; write a number alone"),
    ("  latency_saved: 120", "  latency_saved: [120]", 5, "write a number alone"),
    ("  latency_saved: 120", "  latency_saved: .nan", 5, "latency_saved is nan, which is not a finite number"),
    ("  latency_saved: 120", "  latency_saved: .inf", 5, "latency_saved is inf, which is not a finite number"),
    (
        "  latency_saved: 120",
        "  horizon: 61",
        5,
        "horizon is 61 month, which is out of range; allowed is a whole number 1 to 60 month",
    ),
    ("  latency_saved: 120", "  horizon: 17.5", 5, "horizon is 17.5, which is not whole"),
    ("  latency_saved: 120", "  critical_path_share: 1.2", 5, "out of range; allowed is 0 to 1"),
    (
        "low: 100_000",
        "low: 300_000",
        6,
        "has low 300000, base 250000, high 400000, which are out of order; write low <= base <= high",
    ),
    ("high: 400_000", "high: 200_000", 6, "which are out of order"),
    (", high: 400_000", "", 6, "has low alone; write low and high, or neither"),
    ("base: 250_000, ", "", 6, "value_per_release_day has no base"),
    ("date: 2026-10-14", "date: last week", 6, "date is 'last week'; write a date without quotes, like 2026-10-14"),
    ("source: Memo", "source: [Memo]", 6, "source"),
    ("source: Memo", "source: Memo, covers: 80", 6, "covers"),
    (
        "share: 0.5, gpu_price: 14.69",
        "share: 0.4, gpu_price: 14.69",
        9,
        "the shares sum to 0.9 (us-central1 0.5, europe-west4 0.4)",
    ),
    ("  latency_saved: 120", "  gpu_price: 12", 5, "gpu_price does not belong here; write it under each region"),
    ("{gpu_price: 11.53}", "{latency_saved: 1}", 8, "latency_saved does not belong here; write it under inputs"),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: cheap",
        8,
        "baseline.us-central1 is 'cheap'; write one line `name: number`",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  12: {gpu_price: 11.53}",
        8,
        "a region is named 12; write its name as words, in quotes",
    ),
    ("  us-central1: {gpu_price: 11.53}", "  []", 7, "baseline has no sites"),
    ("name: Two regions", "name: 2", 1, "name is 2; write it as words"),
    ("name: Two regions", "name: ''", 1, "name is ''; write it as words"),
    ("name: Two regions\n", "", 1, "name is missing; write a line `name: ...`"),
    ("decision: Fund it, or not\n", "", 1, "decision is missing"),
    ("  latency_saved: 120", "  latency_saved: !!python/object/apply:os.system [ls]", 5, "has the YAML tag"),
    ("  latency_saved: 120", "  latency_saved: !mine 120", 5, "has the YAML tag"),
    ("  latency_saved: 120", "  <<: {latency_saved: 120}", 5, "a merge key << is not read here; write the values out"),
    ("  latency_saved: 120", "  latency_saved: 120\n bad", 6, "is not YAML"),
    ("name: Two regions", "name: 'Two", 1, "is not YAML"),
    ("  latency_saved: 120", '  latency_saved: "\\ud83d"', 5, "holds half a character"),
    ("  us-central1: {gpu_price: 11.53}", '  "a\\u0007b": {gpu_price: 11.53}', 8, "holds control characters"),
    ("  latency_saved: 120", "  upfront_cost: 1.2M", 5, "is the text '1.2M'; write the number alone: 1200000"),
    ("  latency_saved: 120", "  upfront_cost: USD 150k", 5, "is the text 'USD 150k'; write the number alone: 150000"),
    ("  latency_saved: 120", "  latency_saved: 1,5", 5, "is the text '1,5'; write a number alone, such as 120"),
    ("  latency_saved: 120", "  latency_saved: 1:20", 5, "is the text '1:20'; write a number alone, such as 120"),
    ("  latency_saved: 120", "  latency_saved: yes", 5, "is the text 'yes'; write a number alone, such as 120"),
    ("  latency_saved: 120", "  latency_saved: null", 5, "latency_saved is left empty; write a number alone, such as 120"),
    ("  latency_saved: 120", "  latency_saved: ~", 5, "latency_saved is left empty; write a number alone, such as 120"),
    ("  latency_saved: 120", "  latency_saved: 2026-10-14", 5, "latency_saved is date"),
    (
        "  latency_saved: 120",
        "  latency_saved: -.inf",
        5,
        "latency_saved is -inf, which is not a finite number; allowed is -100000 to 100000 ms/step",
    ),
    ("  latency_saved: 120", "  latency_saved: 1.0e400", 5, "latency_saved is inf, which is not a finite number"),
    (
        "  latency_saved: 120",
        "  latency_saved: -100_001",
        5,
        "latency_saved is -100001 ms/step, which is out of range; allowed is -100000 to 100000 ms/step",
    ),
    ("  latency_saved: 120", "  gpus: 0", 5, "gpus is 0 gpu, which is out of range; allowed is 1 to 1000000 gpu"),
    (
        "  latency_saved: 120",
        "  horizon: 0",
        5,
        "horizon is 0 month, which is out of range; allowed is a whole number 1 to 60 month",
    ),
    ("  latency_saved: 120", '  horizon: "18"', 5, "horizon is the text '18'; write the number alone: 18"),
    (
        "  latency_saved: 120",
        "  step_time: 0",
        5,
        "step_time is 0 ms/step, which is out of range; allowed is 0.001 to 3600000 ms/step",
    ),
    ("  latency_saved: 120", "  [a, b]: 1", 5, "is not an input"),
    ("  latency_saved: 120", "  12: 1", 5, "inputs: '12' is not an input"),
    ("  latency_saved: 120", "  Latency_Saved: 120", 5, "'Latency_Saved' is not an input; did you mean latency_saved"),
    ("low: 100_000", "low: 100k", 6, "inputs: low: value_per_release_day is the text '100k'; write the number alone: 100000"),
    ("low: 100_000", "low: -1", 6, "inputs: low: value_per_release_day is -1 USD/day, which is out of range"),
    ("high: 400_000", "high: .inf", 6, "inputs: high: value_per_release_day is inf, which is not a finite number"),
    ("high: 400_000", "high: true", 6, "inputs: high: value_per_release_day is bool True; write a number alone"),
    ("low: 100_000, ", "", 6, "has high alone; write low and high, or neither"),
    (
        "base: 250_000",
        "base: 90_000",
        6,
        "has low 100000, base 90000, high 400000, which are out of order; write low <= base <= high",
    ),
    ("base: 250_000", "base: 250k", 6, "value_per_release_day is the text '250k'; write the number alone: 250000"),
    ("base: 250_000", "bse: 250_000", 6, "value_per_release_day has no base; write {base: 250000, ...}"),
    ("low: 100_000", "lwo: 100_000", 6, "value_per_release_day: lwo is not known here; did you mean low"),
    ("source: Memo", "5: Memo", 6, "value_per_release_day: 5 is not known here"),
    ("source: Memo", "measured: perhaps", 6, "value_per_release_day: measured is 'perhaps'; write true or false"),
    ("source: Memo", "owner: 12", 6, "value_per_release_day: owner is 12; write words"),
    ("source: Memo", "covers: 1", 6, "value_per_release_day: covers is 1; write a number above 0 and below 1"),
    ("source: Memo", "covers: 0", 6, "value_per_release_day: covers is 0; write a number above 0 and below 1"),
    (
        "date: 2026-10-14",
        "date: '2026-10-14'",
        6,
        "date is '2026-10-14'; write a date without quotes, like 2026-10-14, or the year alone",
    ),
    ("date: 2026-10-14", "date: 14.10.2026", 6, "date is '14.10.2026'; write a date without quotes, like 2026-10-14"),
    ("date: 2026-10-14", "date: 2026-10", 6, "date is '2026-10'; write a date without quotes, like 2026-10-14"),
    (
        "date: 2026-10-14",
        "date: 2026-10-14T10:00:00",
        6,
        "date is '2026-10-14T10:00:00'; write a date without quotes, like 2026-10-14",
    ),
    ("date: 2026-10-14", "date: 20261014", 6, "date is 20261014; write a date without quotes, like 2026-10-14"),
    ("date: 2026-10-14", "date: true", 6, "date is True; write a date without quotes, like 2026-10-14"),
    ("owner: platform team", "owner: platform team\nowner: somebody else", 3, "'owner' is given twice; keep one of the two"),
    ("  europe-west4: {", "  us-central1: {", 11, "'us-central1' is given twice; keep one of the two"),
    ("share: 0.5, gpu_price: 14.69", "share: 0.5, share: 0.5", 11, "'share' is given twice; keep one of the two"),
    ("base: 250_000", "base: 250_000, base: 240_000", 6, "'base' is given twice; keep one of the two"),
    ("baseline:", "baselin:", 7, "'baselin' is not known in a proposal; did you mean baseline"),
    ("baseline:", "baselin:", 1, "baseline has no sites; write `baseline:` and under it one line for each region"),
    (
        "  us-central1: {gpu_price: 11.53}\n",
        "",
        7,
        "baseline has no sites; write `baseline:` and under it one line for each region",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  - us-central1",
        7,
        "baseline has no sites; write `baseline:` and under it one line for each region",
    ),
    (
        "baseline:\n  us-central1: {gpu_price: 11.53}\n",
        "",
        1,
        "baseline has no sites; write `baseline:` and under it one line for each region",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: 11.53",
        8,
        "baseline.us-central1 is 11.53; write one line `name: number` for each input",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: [gpu_price]",
        8,
        "baseline.us-central1 is ['gpu_price']; write one line `name: number` for each input",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: {gpu_price: {price: 11.53}}",
        8,
        "baseline.us-central1: gpu_price has no base; write {base: 11.53, ...}",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: {is_proposed: 1}",
        8,
        "baseline.us-central1: 'is_proposed' is not an input",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        '  "": {gpu_price: 11.53}',
        8,
        "baseline: a region is named ''; write its name as words, in quotes",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  true: {gpu_price: 11.53}",
        8,
        "baseline: a region is named True; write its name as words, in quotes",
    ),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: {share: 0.9999}",
        7,
        "baseline: the shares sum to 0.9999 (us-central1 0.9999); they must sum to 1",
    ),
    (
        "share: 0.5, gpu_price: 14.69",
        "gpu_price: 14.69",
        9,
        "proposed: the shares sum to 1.5 (us-central1 0.5, europe-west4 1); they must sum to 1",
    ),
    (
        "share: 0.5, gpu_price: 14.69",
        "share: 1.5",
        11,
        "proposed.europe-west4: share is 1.5, which is out of range; allowed is 0 to 1",
    ),
    (
        "share: 0.5, gpu_price: 14.69",
        "horizon: 12",
        11,
        "proposed.europe-west4: horizon does not belong here; write it under inputs",
    ),
    (
        "  latency_saved: 120",
        "  latency_saved: 120\n  share: 1",
        6,
        "inputs: share does not belong here; write it under each region under baseline and proposed",
    ),
    ("owner: platform team\n", "", 1, "owner is missing; write a line `owner: ...`"),
    ("owner: platform team", "owner:", 2, "owner is None; write it as words"),
    ("owner: platform team", "owner: true", 2, "owner is True; write it as words"),
    ("owner: platform team", "owner: [platform team]", 2, "owner is ['platform team']; write it as words"),
    ("decision: Fund it, or not", 'decision: "  "', 3, "decision is '  '; write it as words"),
    ("inputs:", "inputs: !mine", 4, "has the YAML tag !mine; tags are not read here"),
    (
        "  us-central1: {gpu_price: 11.53}",
        "  us-central1: !mine {gpu_price: 11.53}",
        8,
        "has the YAML tag !mine; tags are not read here",
    ),
    (
        "name: Two regions",
        "name: !!python/name:os.system Two regions",
        1,
        "has the YAML tag tag:yaml.org,2002:python/name:os.system",
    ),
    (
        "  latency_saved: 120",
        "  latency_saved: !!python/object/new:os.system [ls]",
        5,
        "has the YAML tag tag:yaml.org,2002:python/object/new:os.system",
    ),
    (
        "gpu_price: 14.69",
        'gpu_price: !!python/object/apply:eval ["1"]',
        11,
        "has the YAML tag tag:yaml.org,2002:python/object/apply:eval",
    ),
    ("  latency_saved: 120", "  latency_saved: *price", 5, "alias"),
    ("  latency_saved: 120", "\tlatency_saved: 120", 5, "is not YAML: found character"),
    ("  latency_saved: 120", "  latency_saved: [120", 6, "is not YAML"),
    ("gpu_price: 14.69}\n", "gpu_price: 14.69}\n---\nname: another\n", 12, "is not YAML: but found another document"),
    (
        "  latency_saved: 120",
        "  latency_saved:\n    base: 120\n    low: 40%\n    high: 180",
        7,
        "low: latency_saved is the text '40%'; write the number alone: 0.4",
    ),
    (
        "  latency_saved: 120",
        "  latency_saved:\n    base: 120\n    low: 40\n    hihg: 180",
        8,
        "latency_saved: hihg is not known here; did you mean high",
    ),
    (
        "baseline:\n",
        "pilot:\n  months: 1\n  cost: 0\n  measures:\n    - gpus\n    - gpu_price\nbaseline:\n",
        12,
        "pilot: measures: 'gpu_price' is not an uncertain fact of this proposal",
    ),
    *(("baseline:\n", f"pilot: {PILOT.replace(good, bad)}\nbaseline:\n", 7, said) for good, bad, said in PILOT_MISTAKES),
]


@pytest.mark.parametrize(("good", "bad", "line", "said"), MISTAKES, ids=[each[1].strip()[:40] or "left out" for each in MISTAKES])
def test_a_mistake_is_refused_with_its_line_and_what_to_write(good, bad, line, said):
    assert GOOD.count(good) >= 1
    found = problems_of(GOOD.replace(good, bad, 1))
    where = "mine.yaml:" if said == "is not YAML" else f"mine.yaml:{line}: "  # the parser names the place where it noticed
    assert any(each.startswith(where) and said in each for each in found), found
    assert all(re.match(r"mine\.yaml:[1-9]\d*: .", each) for each in found), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.yaml:1: is empty; a proposal has name, owner, decision, baseline and proposed"),
        ("# only a comment\n", "mine.yaml:1: is empty"),
        ("- a\n- b\n", "mine.yaml:1: is not a proposal; write lines such as `name: ...`"),
        ("just words", "mine.yaml:1: is not a proposal"),
        ("a: " + "[" * 40 + "]" * 40, "nested too deeply"),
    ],
    ids=["empty", "comment", "list", "words", "deep"],
)
def test_what_is_no_proposal_at_all_is_refused(text, said):
    assert any(said in each for each in problems_of(text))


def test_all_mistakes_of_a_file_are_said_in_one_go_in_the_order_of_its_lines():
    text = GOOD.replace("owner: platform team\n", "").replace("latency_saved: 120", "latency_savd: 1_000").replace("14.69", "-1")
    found = problems_of(text)
    assert len(found) == 3
    lines = [int(each.split(":")[1]) for each in found]
    assert lines == sorted(lines) == [1, 4, 10]


def test_every_line_of_a_file_can_hold_a_mistake_and_all_are_said():
    text = """\
name: 7
owner:
decision: [Fund it]
inputs:
  latency_savd: 120
  horizon: 17.5
  value_per_release_day: {base: 250_000, low: 100k, high: true}
  gpu_price: 12
baseline:
  us-central1: {gpu_pric: 11.53}
proposed:
  us-central1: {utilisation: 60%, latency_saved: 3}
  12: {}
extra: 1
"""
    assert problems_of(text) == [
        "mine.yaml:1: name is 7; write it as words",
        "mine.yaml:2: owner is None; write it as words",
        "mine.yaml:3: decision is ['Fund it']; write it as words",
        "mine.yaml:5: inputs: 'latency_savd' is not an input; did you mean latency_saved?",
        "mine.yaml:6: inputs: horizon is 17.5, which is not whole; allowed is a whole number 1 to 60 month",
        "mine.yaml:7: inputs: low: value_per_release_day is the text '100k'; write the number alone: 100000",
        "mine.yaml:7: inputs: high: value_per_release_day is bool True; write a number alone, such as 250000",
        "mine.yaml:8: inputs: gpu_price does not belong here; write it under each region under baseline and proposed",
        "mine.yaml:10: baseline.us-central1: 'gpu_pric' is not an input; did you mean gpu_price?",
        "mine.yaml:12: proposed.us-central1: utilisation is the text '60%'; write the number alone: 0.6",
        "mine.yaml:12: proposed.us-central1: latency_saved does not belong here; write it under inputs",
        "mine.yaml:13: proposed: a region is named 12; write its name as words, in quotes if needed",
        "mine.yaml:14: 'extra' is not known in a proposal",
    ]


def test_a_key_given_twice_hides_no_other_mistake():
    found = problems_of(GOOD.replace("  latency_saved: 120", "  latency_saved: 120\n  latency_saved: 90").replace("14.69", "-1"))
    assert found[0] == "mine.yaml:6: 'latency_saved' is given twice; keep one of the two"
    assert found[1].startswith("mine.yaml:12: proposed.europe-west4: gpu_price is -1 USD/(gpu*hour), which is out of range")
    assert len(found) == 2


def test_shares_of_both_fleets_are_summed():
    text = GOOD.replace("{gpu_price: 11.53}", "{share: 0.5}", 1).replace("share: 0.5, gpu_price: 14.69", "share: 0.75")
    assert problems_of(text) == [
        "mine.yaml:7: baseline: the shares sum to 0.5 (us-central1 0.5); they must sum to 1",
        # 0.5 + 0.75 = 1.25
        "mine.yaml:9: proposed: the shares sum to 1.25 (us-central1 0.5, europe-west4 0.75); they must sum to 1",
    ]


def test_shares_that_differ_from_1_by_rounding_alone_are_good():
    # 3 * 0.3333333333 = 0.9999999999
    regions = "".join(f"  {region}: {{share: 0.3333333333}}\n" for region in ("us", "eu", "asia"))
    proposal = parse(GOOD[: GOOD.index("proposed:")] + "proposed:\n" + regions, "mine.yaml", "mine")
    assert proposal.site_number("proposed", "asia", "share") == 0.3333333333


def test_low_and_high_may_be_the_base_itself():
    proposal = parse(GOOD.replace("low: 100_000, high: 400_000", "low: 250_000, high: 250_000"), "mine.yaml", "mine")
    assert plausible(inputs()["value_per_release_day"], proposal.inputs["value_per_release_day"]) == (250_000, 250_000)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("120", 120),
        ("+120", 120),
        ("-60", -60),
        ("1_440", 1440),
        ("120.", 120),
        (".5", 0.5),
        ("1e2", 100),
        ("1.2e+2", 120),
        ("1.5E-3", 0.0015),
        ("{base: 120}", 120),
        ("120  # a comment", 120),
    ],
)
def test_a_number_can_be_written_in_several_ways(written, number):
    proposal = parse(GOOD.replace("latency_saved: 120", f"latency_saved: {written}"), "mine.yaml", "mine")
    assert proposal.number("latency_saved") == number


def test_what_may_be_left_out_has_its_default():
    text = "name: A\nowner: B\ndecision: C\ninputs:\nbaseline:\n  here:\nproposed:\n  here: {}\n"
    proposal = parse(text, "mine.yaml", "mine")
    for row in inputs().values():
        if row.axis == "scalar":
            assert proposal.number(row.name) == row.default
        else:
            assert [proposal.site_number(fleet, "here", row.name) for fleet in ("baseline", "proposed")] == [row.default] * 2
    assert parse(text.replace("inputs:\n", ""), "mine.yaml", "mine") == proposal


def test_every_field_of_a_value_is_kept():
    said = (
        "{base: 90, low: 40, high: 180, covers: 0.9, shape: normal, source: Trial, link: https://example.org/trial, "
        "date: 2026-10-14, owner: platform team, basis: four weeks, measured: true}"
    )
    value = parse(GOOD.replace("latency_saved: 120", f"latency_saved: {said}"), "mine.yaml", "mine").inputs["latency_saved"]
    assert (value.base, value.low, value.high, value.covers, value.shape) == (90, 40, 180, 0.9, "normal")
    assert (value.source, value.link, value.owner) == ("Trial", "https://example.org/trial", "platform team")
    assert (value.date, value.basis, value.measured) == (date(2026, 10, 14), "four weeks", True)


def test_every_field_of_a_pilot_is_kept():
    pilot = parse(GOOD.replace("baseline:\n", f"pilot: {PILOT}\nbaseline:\n"), "mine.yaml", "mine").pilot
    assert (pilot.months, pilot.cost, pilot.measures) == (1, 60_000, ("value_per_release_day",))
    assert (pilot.source, pilot.date, pilot.owner) == ("Trial", date(2026, 12, 1), "platform team")
    assert parse(GOOD, "mine.yaml", "mine").pilot is None


def test_a_source_may_be_dated_by_its_year_alone():
    value = parse(GOOD.replace("2026-10-14", "2026"), "mine.yaml", "mine").inputs["value_per_release_day"]
    assert value.date == date(2026, 1, 1)
    assert str(value.date) == "2026"


def test_an_alias_is_refused_since_few_of_them_make_an_endless_file():
    text = GOOD.replace("{gpu_price: 11.53}", "{gpu_price: &price 11.53}", 1).replace("gpu_price: 14.69", "gpu_price: *price")
    [found] = problems_of(text)
    assert found == "mine.yaml:11: the alias *price is not read here; write the values out"


@pytest.mark.parametrize(
    ("good", "bad", "line"),
    [
        ("latency_saved: 120", f"horizon: {'9' * 400}", 5),
        ("name: Two regions", "name: !!bool Two", 1),
        ("name: Two regions", "name: !!set Two", 1),
        ("owner: platform team", "owner: !!float", 2),
        ("  us-central1: {gpu_price: 11.53}", "  ? us-central1: {gpu_price: 11.53}", 8),
        ("name: Two regions", "!mine\nname: Two regions", 1),
        ("date: 2026-10-14", "date: 2026-02-31", 6),
    ],
    ids=["long", "bool", "set", "float", "key", "document", "date"],
)
def test_what_the_reader_of_yaml_trips_over_is_refused_with_its_line(good, bad, line):
    found = problems_of(GOOD.replace(good, bad, 1))
    assert any(each.startswith((f"mine.yaml:{line}: ", f"mine.yaml:{line + 1}: ")) for each in found), found


def test_shares_are_checked_beside_other_mistakes():
    found = problems_of(GOOD.replace("latency_saved", "latency_savd").replace("{share: 0.5, gpu_price: 14.69}", "{share: 0.4}"))
    assert len(found) == 2
    assert "the shares sum to 0.9" in found[1]


def test_a_file_of_nothing_but_mistakes_lists_the_first_hundred():
    found = problems_of(GOOD.replace("  latency_saved: 120", "\n".join(f"  nosuch_{number}: 1" for number in range(3_000))))
    assert len(found) == 101
    assert "has more mistakes than are listed" in "\n".join(found)


def test_minus_zero_is_zero():
    plus, minus = (parse(GOOD.replace("latency_saved: 120", f"latency_saved: {zero}"), "f", "f") for zero in ("0.0", "-0.0"))
    assert plus.fingerprint == minus.fingerprint


def test_a_site_may_not_contain_itself():
    [found] = problems_of(GOOD.replace("{gpu_price: 11.53}", "&site {gpu_price: *site}", 1))
    assert found.startswith("mine.yaml:8: ")


def test_a_tag_runs_nothing(tmp_path):
    mark = tmp_path / "mark"
    for tag in ("python/object/apply:os.mkdir", "python/object/new:os.mkdir"):
        found = problems_of(GOOD.replace("latency_saved: 120", f"latency_saved: !!{tag} [{mark}]"))
        assert found[0].startswith("mine.yaml:5: ")
        assert "YAML tag" in found[0]
    assert not mark.exists()


def answered(text):
    """Either a proposal or a refusal that says something; any other error fails the test."""
    try:
        parse(text, "mine.yaml", "mine")
    except InputError as error:
        said = error.problems
    else:
        return
    assert all(each.message and each.file for each in said)


@given(st.text(max_size=400))
def test_any_text_is_a_proposal_or_is_refused(text):
    answered(text)


@given(st.lists(st.sampled_from([*GOOD.splitlines(), *(each[1] for each in MISTAKES)]), max_size=16))
def test_any_mixture_of_good_and_bad_lines_is_a_proposal_or_is_refused(lines):
    answered("\n".join(lines))


PLACES = [": 120", "base: 250_000", "source: Memo", "date: 2026-10-14", "gpu_price: 14.69", "owner: platform team", "Two regions"]


@given(st.sampled_from(PLACES), st.text(max_size=40))
def test_any_text_in_the_place_of_a_value_is_taken_or_refused(place, text):
    answered(GOOD.replace(place, place.partition(" ")[0] + " " + text, 1))


pieces = st.sampled_from(
    [*re.findall(r"\w+|\W", GOOD), "\n  ", "- ", "[", "]", "'", '"', "|", ">", "*a", "<<", "%", "@", "\t", "#"]
)


@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.lists(pieces, max_size=8))
def test_a_good_file_with_a_hole_or_a_patch_is_a_proposal_or_is_refused(at, removed, added):
    answered(GOOD[:at] + "".join(added) + GOOD[at + removed :])


@given(st.sampled_from([row for row in inputs().values() if row.name != "share"]), st.data())
def test_every_number_in_its_range_is_taken_as_it_is(row, data):
    number = data.draw(numbers(row))
    scalar, site = ("", f", {row.name}: {number!r}") if row.axis == "site" else (f"  {row.name}: {number!r}\n", "")
    text = (
        f"name: A\nowner: B\ndecision: C\ninputs:\n{scalar}baseline:\n  here: {{}}\n"
        f"proposed:\n  here: {{share: 0.5{site}}}\n  there: {{share: 0.5}}\n"
    )
    proposal = parse(text, "mine.yaml", "mine")
    assert (proposal.site_number("proposed", "here", row.name) if site else proposal.number(row.name)) == number


# --- files --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_proposal_loads_and_names_a_source_for_every_figure(name):
    proposal = load(name)
    assert proposal == load(PROPOSALS / f"{name}.yaml")
    for values in (proposal.inputs, *(site for fleet in proposal.sites.values() for site in fleet.values())):
        for value in values.values():
            assert value.source
            assert value.owner
            assert value.date


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Published-claim", "there is no proposal 'Published-claim'; did you mean published-claim"),
        ("two-region.yaml", "there is no proposal 'two-region.yaml'; did you mean two-region"),
        ("../two-region", "there is no proposal '../two-region'"),
        ("two-regoin", "there is no proposal 'two-regoin'; did you mean two-region"),
        ("nowhere/mine.yaml", "give the path of a YAML file or one of two-region, published-claim, raise-utilisation"),
        (".", "is a folder; give the path of a YAML file"),
    ],
)
def test_a_file_that_is_not_there_is_refused(name, said):
    with pytest.raises(InputError) as refused:
        load(name)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name: \xff\xfe", "is not text in UTF-8; save it as UTF-8"),
        (b"\x00" * 20, "is not YAML"),
        (b"#" * 1_000_001, "is larger than 1,000,000 bytes"),
    ],
    ids=["encoding", "binary", "large"],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, content, said):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        load(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_a_folder_is_named_as_one(tmp_path):
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path} is a folder; give the path of a YAML file or one of two-region")


def test_a_mistake_in_a_file_is_said_with_the_path_that_was_given(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("latency_saved", "latency_savd"))
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value) == f"{path}:5: inputs: 'latency_savd' is not an input; did you mean latency_saved?"


def test_a_file_of_the_largest_size_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD + "#" * (1_000_000 - len(GOOD)))
    assert load(path).name == "Two regions"


def test_a_proposal_is_known_by_the_name_of_its_file(tmp_path):
    path = tmp_path / "second.try.yaml"
    path.write_text(GOOD)
    assert load(path).key == "second.try"
    assert load(str(path)) == load(path)


def test_the_ends_of_lines_do_not_matter(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert load(path) == parse(GOOD, "mine.yaml", "mine")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(path).name == "Two regions"
