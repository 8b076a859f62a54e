"""Proposals: what is good loads, and each mistake is refused with its file, its line and what to write instead."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import InputError
from roi.inputs import inputs
from roi.proposals import PROPOSALS, load, parse, plausible, provenance_flags, shipped

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
    ("date: 2026-10-14", "date: last week", 6, "is not a date; write it like 2026-10-14"),
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
]


@pytest.mark.parametrize(("good", "bad", "line", "said"), MISTAKES, ids=[each[1].strip()[:40] or "left out" for each in MISTAKES])
def test_a_mistake_is_refused_with_its_line_and_what_to_write(good, bad, line, said):
    assert GOOD.count(good) >= 1
    found = problems_of(GOOD.replace(good, bad, 1))
    where = "mine.yaml:" if said == "is not YAML" else f"mine.yaml:{line}: "  # the parser names the place where it noticed
    assert any(each.startswith(where) and said in each for each in found), found


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


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(path).name == "Two regions"


# --- other values -----------------------------------------------------------------------------------------------------------


def test_other_values_leave_the_proposal_as_it_was():
    proposal = load("two-region")
    changed = proposal.with_values({"latency_saved": 90, "proposed.europe-west4.gpu_price": 12})
    assert (changed.number("latency_saved"), proposal.number("latency_saved")) == (90, 120)
    assert changed.site_number("proposed", "europe-west4", "gpu_price") == 12
    assert changed.inputs["latency_saved"].source == "set by hand"
    assert plausible(inputs()["latency_saved"], changed.inputs["latency_saved"]) == (40, 180)


def test_the_fingerprint_is_of_the_numbers_alone():
    proposal = parse(GOOD, "mine.yaml", "mine")
    assert proposal.fingerprint == parse(GOOD.replace("Memo", "Another memo"), "other.yaml", "other").fingerprint
    assert proposal.fingerprint != proposal.with_values({"latency_saved": 121}).fingerprint
    assert proposal.fingerprint == proposal.with_values({"latency_saved": 120}).fingerprint
    assert len(proposal.fingerprint) == 64


# --- what is odd about where numbers come from --------------------------------------------------------------------------------

PRICE = "gpu_price: 14.69"


def flags_of(price, today=date(2026, 12, 1)):
    return [
        each for each in provenance_flags(parse(GOOD.replace(PRICE, price), "mine.yaml", "mine"), today) if "europe-west4" in each
    ]


def test_a_price_without_a_source_is_flagged():
    assert any("GPU price in us-central1, europe-west4 has no dated source" in each for each in flags_of(PRICE))


def test_a_price_is_old_after_180_days():
    # 2026-06-04 is 180 days before 2026-12-01 (26 + 31 + 31 + 30 + 31 + 30 + 1), 2026-06-03 is 181.
    young, old = ("gpu_price: {base: 14.69, source: Catalog, date: 2026-06-%s}" % day for day in ("04", "03"))  # noqa: UP031
    assert not any("GPU price" in each for each in flags_of(young))
    assert any("Older than 180 days" in each and "GPU price (2026-06-03)" in each for each in flags_of(old))


def test_a_spot_price_above_the_on_demand_price_is_flagged():
    said = "gpu_price: {base: %s, source: Catalog, date: 2026-11-01, basis: %s}"
    text = GOOD.replace("{gpu_price: 11.53}", "{" + said % (11.53, "on-demand") + "}", 1)
    for price, flagged in ((12, True), (11, False)):
        mine = text.replace("share: 0.5, gpu_price: 11.53", f"share: 0.5, {said % (price, 'spot')}")
        flags = provenance_flags(parse(mine, "mine.yaml", "mine"), date(2026, 12, 1))
        assert ("us-central1: the spot price is above the on-demand price. Are they swapped?" in flags) == flagged


def test_more_regions_than_a_page_holds_are_said():
    def with_regions(count):
        proposed = "".join(f"  region-{number}: {{share: {1 / count}}}\n" for number in range(count))
        text = GOOD.split("proposed:")[0] + "proposed:\n" + proposed
        return provenance_flags(parse(text, "mine.yaml", "mine"), date(2026, 12, 1))

    assert not any("side by side" in each for each in with_regions(11))  # and one of the baseline
    assert any("13 regions are more than a page holds side by side (12)" in each for each in with_regions(12))


def test_a_result_can_be_had_of_every_shipped_proposal():
    for name in shipped():
        assert all(roi.evaluate(load(name)).checks.values())
