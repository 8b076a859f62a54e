"""Odds: the same seed gives the same answer, and the answer is what can be computed without drawing."""

import base64
import dataclasses

import numpy as np
import pytest

import roi
from roi import InputError, words
from roi.inputs import inputs
from roi.reading import parse
from roi.simulate import BLOCK, Packed, on_a_page, points, simulate, uncertain
from tests.test_reading import GOOD


def only(name, low, base, high, shape="triangular"):
    """The published claim with one uncertain input."""
    plain = roi.load("published-claim")
    certain = {row.name: plain.number(row.name) for row in inputs().values() if row.axis == "scalar"}
    values = {each: f"{{base: {number}}}" for each, number in certain.items()}
    values[name] = f"{{base: {base}, low: {low}, high: {high}, shape: {shape}}}"
    site = ", ".join(f"{row.name}: {row.default}" for row in inputs().values() if row.axis == "site")
    lines = "".join(f"  {each}: {value}\n" for each, value in values.items())
    text = f"name: One\nowner: me\ndecision: no\ninputs:\n{lines}baseline:\n  a: {{{site}}}\nproposed:\n  a: {{{site}}}\n"
    return parse(text, "one.yaml", "one")


def test_the_same_seed_gives_the_same_answer_on_any_number_of_workers():
    proposal = roi.load("two-region")
    first = simulate(proposal, draws=3 * BLOCK + 77, seed=5)
    assert simulate(proposal, draws=3 * BLOCK + 77, seed=5) == first
    assert simulate(proposal, draws=3 * BLOCK + 77, seed=5, jobs=3) == first
    assert simulate(proposal, draws=3 * BLOCK + 77, seed=6) != first


def test_the_odds_of_one_uncertain_input_are_in_closed_form():
    # The claim gains 10.8 x 2 days x v - 2,000,000, which is above zero from v = 92,592.59 on. With v uniform over 0 to 200,000
    # (80 % between 20,000 and 180,000) that is 1 - 92,592.59 / 200,000 = 0.5370.
    found = simulate(only("value_per_release_day", 20_000, 100_000, 180_000, "uniform"), draws=1 << 14)
    assert found.uncertain == ("value_per_release_day",)
    assert found.p_gain == pytest.approx(1 - 92_592.5926 / 200_000, abs=0.001)
    assert found.p_payback == pytest.approx(found.p_gain, abs=0.001)
    # 21.6 v - 2,000,000 at v = 20,000, 100,000 and 180,000
    assert (found.p10, found.p50, found.p90) == pytest.approx((-1_568_000, 160_000, 1_888_000), rel=0.01)
    # The mean of what lies between -2,000,000 and 0
    assert found.expected_loss == pytest.approx(1_000_000, rel=0.01)


def test_the_error_shrinks_with_the_draws():
    proposal = roi.load("two-region")
    few, many = simulate(proposal, draws=1_000, seed=3), simulate(proposal, draws=60_000, seed=4)
    assert abs(few.p_gain - many.p_gain) < 4 * few.p_gain_error
    assert many.p_gain_error < few.p_gain_error


def test_a_default_is_one_fact_for_all_regions_and_a_choice_is_none():
    facts = {each.path: each for each in uncertain(roi.load("two-region"))}
    assert facts["default.utilisation"].columns == (0, 1, 2)
    assert "horizon" not in facts
    assert "discount_rate" not in facts
    assert not any(path.endswith("share") and "." in path for path in facts if path != "default.cold_share")


def test_points_are_the_same_whole_and_in_parts():
    whole = points(5, seed=1, start=0, count=2 * BLOCK)
    parts = [points(5, seed=1, start=start, count=BLOCK) for start in (0, BLOCK)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert ((whole > 0) & (whole < 1)).all()


def test_a_value_set_by_hand_takes_its_draws_along_and_stays_the_same_fact():
    proposal = roi.load("two-region")
    before, drawn, _ = on_a_page(proposal)
    after, same, _ = on_a_page(proposal.with_values({"latency_saved": 90, "proposed.europe-west4.utilisation": 0.7}))
    assert [each.path for each in after] == [each.path for each in before]
    for left, right in zip(drawn, same, strict=True):
        assert np.array_equal(left.values, right.values)
    moves = {each.path: each.moves for each in after if any(each.moves)}
    assert moves == {"latency_saved": (-30,), "default.utilisation": (0, 0, pytest.approx(0.1))}
    # and back again
    back = proposal.with_values({"latency_saved": 90}).with_values({"latency_saved": 120})
    assert simulate(back, draws=1_000) == simulate(proposal, draws=1_000)


def test_the_draws_on_a_page_are_steps_between_the_lowest_and_the_highest():
    draws = np.array([2.0, 0.5, 0.5, 12.5, 7.123456])
    packed = Packed.of(draws, whole=False)
    assert (packed.low, packed.high) == (0.5, 12.5)
    assert packed.steps.tolist() == [8192, 0, 0, 65535, 36172]  # 65,535 x 1.5 / 12 = 8,191.9; x 6.623456 / 12 = 36,172.4
    assert packed.values == pytest.approx(draws, abs=12 / 65_535 / 2)
    assert Packed.of(np.array([3.0, 3.0]), whole=False).values.tolist() == [3, 3]
    assert Packed.of(np.array([1.0, 4.0, 2.0, 60.0]), whole=True).values.tolist() == [1, 4, 2, 60]
    assert base64.b64decode(Packed.of(np.array([0.0, 65_535.0, 258.0]), whole=True).text) == b"\0\0\xff\xff\x02\x01"


def test_the_odds_on_a_page_are_computed_once():
    before = on_a_page.cache_info().misses
    odds = on_a_page(only("latency_saved", 40, 120, 180))[2]
    assert on_a_page(only("latency_saved", 40, 120, 180))[2] is odds
    assert on_a_page(only("latency_saved", 40, 120, 190))[2] != odds
    assert on_a_page.cache_info().misses == before + 2


def test_the_fan_holds_the_cumulative_cash_by_month():
    found = simulate(roi.load("two-region"), draws=2_000)
    assert {name: len(path) for name, path in found.fan.items()} == {"p10": 19, "p50": 19, "p90": 19}
    assert (np.array(found.fan["p10"]) <= np.array(found.fan["p90"])).all()
    assert found.fan["p50"][-1] == pytest.approx(found.p50, rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draws": 99}, "draws is 99; allowed is 100 to 10,000,000"),
        ({"draws": 10_000_001}, "draws is 10,000,001"),
        ({"seed": -1}, "the seed is -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(settings, said):
    with pytest.raises(InputError) as refused:
        simulate(roi.load("two-region"), **settings)
    assert said in str(refused.value)


def test_a_spread_that_no_distribution_has_names_its_input():
    text = GOOD.replace("low: 100_000,", "low: 0, shape: lognormal,")
    with pytest.raises(InputError, match="value_per_release_day: a lognormal spread starts at 0"):
        simulate(parse(text, "mine.yaml", "mine"))


def test_without_any_range_there_are_no_odds():
    certain = only("latency_saved", 120, 120, 120)
    assert on_a_page(certain)[2] is None
    assert words.odds_sentence(None) == "No input has a plausible range, so there are no odds."
    with pytest.raises(InputError, match="nothing to draw"):
        simulate(certain)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1, "More than 9 in 10"),
        (0.95, "More than 9 in 10"),
        (0.9499, "9 in 10"),
        (0.7, "7 in 10"),
        (0.649, "6 in 10"),
        (0.05, "1 in 10"),
        (0.0499, "Fewer than 1 in 10"),
    ],
)
def test_odds_read_as_people_say_them(share, said):
    assert words.odds(share) == said


def test_odds_in_a_sentence():
    found = dataclasses.replace(simulate(roi.load("two-region"), draws=100), p_gain=0.72, p10=-1.5e6, p90=2e6, expected_loss=7e5)
    assert words.odds_sentence(found) == (
        "7 in 10 odds of a gain (72 % of 100 draws). 8 in 10 outcomes lie between -$1.5M and $2.0M. "
        "Where it loses, it loses $700K on average."
    )
