"""Proposals: other values, the hash of their numbers, and what is odd about where these come from."""

from datetime import date, timedelta

import pytest

import roi
from roi import InputError
from roi.inputs import inputs
from roi.proposals import provenance_flags
from roi.reading import load, parse, shipped
from roi.values import plausible
from tests.test_reading import GOOD

# --- other values -----------------------------------------------------------------------------------------------------------


def test_other_values_leave_the_proposal_as_it_was():
    proposal = load("two-region")
    changed = proposal.with_values({"latency_saved": 90, "proposed.europe-west4.gpu_price": 12})
    assert (changed.number("latency_saved"), proposal.number("latency_saved")) == (90, 120)
    assert changed.site_number("proposed", "europe-west4", "gpu_price") == 12
    assert changed.inputs["latency_saved"].source == "set by hand"
    assert plausible(inputs()["latency_saved"], changed.inputs["latency_saved"]) == (40, 180)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"latency_savd": 1}, ["'latency_savd' is not an input; did you mean latency_saved?"]),
        ({"net_gain": 1}, ["'net_gain' is not an input"]),
        ({"is_proposed": 1}, ["'is_proposed' is not an input"]),
        ({"": 1}, ["'' is not an input"]),
        ({"gpu_price": 12}, ["'gpu_price' has a value for each site; write for example proposed.europe-west4.gpu_price"]),
        (
            {"proposed.us-west1.gpu_price": 12},
            ["proposed.us-west1.gpu_price: proposed has no region 'us-west1'; it has us-central1, europe-west4"],
        ),
        (
            {"baseline.us-central1.gpu_pric": 12},
            ["baseline.us-central1.gpu_pric: 'gpu_pric' is not an input of a site; did you mean gpu_price?"],
        ),
        ({"baseline.us-central1.horizon": 12}, ["baseline.us-central1.horizon: 'horizon' is not an input of a site"]),
        ({"upfront_cost": "$2M"}, ["upfront_cost is the text '$2M'; write the number alone: 2000000"]),
        ({"latency_saved": True}, ["latency_saved is bool True; write a number alone, such as 120"]),
        ({"latency_saved": None}, ["latency_saved is left empty; write a number alone, such as 120"]),
        (
            {"latency_saved": float("nan")},
            ["latency_saved is nan, which is not a finite number; allowed is -100000 to 100000 ms/step"],
        ),
        ({"horizon": 17.5}, ["horizon is 17.5, which is not whole; allowed is a whole number 1 to 60 month"]),
        (
            {"proposed.us-central1.utilisation": 0},
            ["utilisation is 0, which is out of range; allowed is 0.01 to 1"],
        ),
        # 0.4 + 0.5 = 0.9
        (
            {"proposed.us-central1.share": 0.4},
            ["proposed: the shares sum to 0.9 (us-central1 0.4, europe-west4 0.5); they must sum to 1"],
        ),
        (
            {"latency_savd": 1, "horizon": 61, "baseline.us-central1.share": 0.5},
            [
                "'latency_savd' is not an input; did you mean latency_saved?",
                "horizon is 61 month, which is out of range; allowed is a whole number 1 to 60 month",
                "baseline: the shares sum to 0.5 (us-central1 0.5); they must sum to 1",
            ],
        ),
    ],
    ids=lambda each: ", ".join(map(str, each)) or "no name" if isinstance(each, dict) else "",
)
def test_other_values_that_cannot_be_are_refused(changes, said):
    proposal = parse(GOOD, "mine.yaml", "mine")
    with pytest.raises(InputError) as refused:
        proposal.with_values(changes)
    assert [str(problem) for problem in refused.value.problems] == said
    assert proposal == parse(GOOD, "mine.yaml", "mine")


def test_other_values_keep_all_that_is_not_named():
    proposal = parse(GOOD, "mine.yaml", "mine")
    changed = proposal.with_values({"horizon": 24, "proposed.europe-west4.gpu_price": 12})
    assert (changed.key, changed.name, changed.owner, changed.decision) == (
        proposal.key,
        proposal.name,
        proposal.owner,
        proposal.decision,
    )
    assert dict(changed.inputs) == dict(proposal.inputs) | {"horizon": changed.inputs["horizon"]}
    assert changed.sites["baseline"] == proposal.sites["baseline"]
    assert changed.sites["proposed"]["us-central1"] == proposal.sites["proposed"]["us-central1"]
    assert changed.site_number("proposed", "europe-west4", "share") == 0.5
    assert proposal.with_values({}) == proposal


def test_shares_can_move_together():
    changed = parse(GOOD, "mine.yaml", "mine").with_values(
        {"proposed.us-central1.share": 0.25, "proposed.europe-west4.share": 0.75}
    )
    assert [changed.site_number(*place, "share") for place in changed.regions] == [1, 0.25, 0.75]


def test_a_region_named_with_dots_can_be_set():
    proposal = parse(GOOD.replace("europe-west4", "eu.west.4"), "mine.yaml", "mine")
    changed = proposal.with_values({"proposed.eu.west.4.gpu_price": 12})
    assert changed.site_number("proposed", "eu.west.4", "gpu_price") == 12


@pytest.mark.parametrize("row", [row for row in inputs().values() if row.name != "share"], ids=lambda row: row.name)
def test_the_fingerprint_changes_with_every_number(row):
    proposal = parse(GOOD, "mine.yaml", "mine")
    paths = [row.name] if row.axis == "scalar" else [".".join((*place, row.name)) for place in proposal.regions]
    changed = [proposal.with_values({path: row.slider[1]}).fingerprint for path in paths]
    assert len({proposal.fingerprint, *changed}) == len(paths) + 1


def test_the_fingerprint_knows_the_regions():
    prints = {
        parse(text, "mine.yaml", "mine").fingerprint
        for text in (
            GOOD,
            GOOD.replace("europe-west4", "europe-west1"),
            GOOD.replace("share: 0.5, gpu_price: 11.53", "share: 0.4, gpu_price: 11.53").replace("share: 0.5", "share: 0.6"),
            GOOD.replace("baseline:\n", "baseline:\n  spare: {share: 0}\n"),
        )
    }
    assert len(prints) == 4


def test_the_fingerprint_is_the_same_where_a_default_is_written_out():
    good = parse(GOOD, "mine.yaml", "mine").fingerprint
    assert parse(GOOD.replace("inputs:\n", "inputs:\n  horizon: 18\n"), "mine.yaml", "mine").fingerprint == good
    # The default has a plausible range and the bare number has none: the same numbers, other odds.
    assert parse(GOOD.replace("{gpu_price: 11.53}", "{}", 1), "mine.yaml", "mine").fingerprint != good


def test_the_fingerprint_knows_the_pilot():
    text = GOOD.replace("baseline:\n", "pilot: {months: 1, cost: 60_000, measures: [gpus], source: Trial}\nbaseline:\n")
    changes = [("months: 1", "months: 2"), ("60_000", "0"), ("[gpus]", "[delay]"), ("pilot:", "#")]
    hashes = {parse(text.replace(*change), "mine.yaml", "mine").fingerprint for change in changes}
    good = parse(text, "mine.yaml", "mine").fingerprint
    assert len({good, *hashes}) == 5
    assert parse(text.replace("Trial", "Another trial"), "mine.yaml", "mine").fingerprint == good


# --- an alternative to another ------------------------------------------------------------------------------------------------


def test_in_the_world_of_another_a_proposal_keeps_what_its_file_sets_and_takes_the_rest_with_its_spread():
    here = load("two-region").with_values({"gpus": 128, "wait": 6, "upfront_cost": 1})
    there = load("raise-utilisation").in_the_world_of(here)
    assert [there.number(name) for name in ("gpus", "wait", "upfront_cost", "latency_saved")] == [128, 0, 150_000, 0]
    assert there.inputs["value_per_release_day"] is here.inputs["value_per_release_day"]
    assert there.sites == load("raise-utilisation").sites


def test_in_the_world_of_another_what_has_become_certain_moves_with_nothing():
    pair = "correlations: [{between: [delay, gpus], coefficient: 0.5}, {between: [delay, ramp], coefficient: 0.5}]\nbaseline:\n"
    alternative = parse(GOOD.replace("baseline:\n", pair), "mine.yaml", "mine")
    certain = parse(GOOD.replace("  latency_saved: 120", "  gpus: 64"), "other.yaml", "other")
    assert [each.between for each in alternative.in_the_world_of(certain).correlations] == [("delay", "ramp")]


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


SOURCED = GOOD.replace("gpu_price: 11.53", "gpu_price: {base: 11.53, source: Catalog, date: 2026-09-01}").replace(
    PRICE, "gpu_price: {base: 14.69, source: Catalog, date: 2026-09-01}"
)
# What the file does not give has the source of its default; of those the storage price of 2026-05-04 is the oldest.
OLDEST = date(2026, 5, 4)


def test_the_sentences_on_prices_in_full():
    assert provenance_flags(parse(GOOD, "mine.yaml", "mine"), date(2026, 12, 1)) == [
        "GPU price in us-central1, europe-west4 has no dated source.",
        "Older than 180 days: Storage price (2026-05-04) in us-central1, europe-west4; "
        "Egress price (2026-05-06) in us-central1, europe-west4.",
    ]


@pytest.mark.parametrize("written", ["14.69", "{base: 14.69, source: Catalog}", "{base: 14.69, date: 2026-09-01}"])
def test_a_price_needs_both_a_source_and_a_date(written):
    text = SOURCED.replace("{base: 14.69, source: Catalog, date: 2026-09-01}", written)
    assert provenance_flags(parse(text, "mine.yaml", "mine"), OLDEST) == ["GPU price in europe-west4 has no dated source."]


def test_a_default_price_is_old_after_180_days():
    proposal = parse(SOURCED, "mine.yaml", "mine")
    # 180 days after 2026-05-04 is 2026-10-31 (27 + 30 + 31 + 31 + 30 + 31).
    assert OLDEST + timedelta(180) == date(2026, 10, 31)
    assert provenance_flags(proposal, date(2026, 10, 31)) == []
    assert provenance_flags(proposal, date(2026, 11, 1)) == [
        "Older than 180 days: Storage price (2026-05-04) in us-central1, europe-west4."
    ]


def test_a_price_dated_by_its_year_ages_from_the_first_of_january():
    # 2026-06-30 is 180 days after 2026-01-01 (30 + 28 + 31 + 30 + 31 + 30).
    proposal = parse(SOURCED.replace("date: 2026-09-01", "date: 2026"), "mine.yaml", "mine")
    assert provenance_flags(proposal, date(2026, 6, 30)) == []
    assert provenance_flags(proposal, date(2026, 7, 1)) == ["Older than 180 days: GPU price (2026) in us-central1, europe-west4."]


def test_a_value_set_by_hand_has_no_dated_source():
    changed = parse(SOURCED, "mine.yaml", "mine").with_values({"proposed.europe-west4.gpu_price": 12})
    assert provenance_flags(changed, OLDEST) == ["GPU price in europe-west4 has no dated source."]


def test_what_is_no_price_needs_no_source():
    text = SOURCED.replace("share: 0.5, gpu", "share: 0.5, utilisation: 0.7, egress: 5, gpu")
    assert provenance_flags(parse(text, "mine.yaml", "mine"), OLDEST) == []


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_proposal_has_no_odd_price_while_its_sources_are_young(name):
    assert [each for each in provenance_flags(load(name), date(2026, 6, 30)) if "price" in each] == []


def test_equal_prices_other_prices_and_prices_of_two_regions_are_not_compared():
    said = "gpu_price: {base: 12, source: Catalog, date: 2026-11-01, basis: %s}"
    on_demand, spot = said % "on-demand", said % "spot"
    same = GOOD.replace("gpu_price: 11.53", on_demand, 1).replace("gpu_price: 11.53", spot)
    # 12 on demand in us-central1, 13 for spot in europe-west4
    elsewhere = GOOD.replace("gpu_price: 11.53", on_demand).replace(PRICE, spot.replace("12", "13", 1))
    others = same.replace("gpu_price", "egress_price").replace("base: 12", "base: 11", 1)
    for text in (same, elsewhere, others):
        assert not any("spot" in each for each in provenance_flags(parse(text, "mine.yaml", "mine"), date(2026, 12, 1)))


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
