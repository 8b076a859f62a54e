"""Break-even: the value of an input at which the net gain is zero."""

import pytest

import roi
from roi.breakeven import crossings, grid, nearest
from roi.drivers import drivers, without_range
from roi.inputs import inputs
from roi.reading import shipped
from roi.words import main_inputs


@pytest.mark.parametrize("key", shipped())
@pytest.mark.parametrize("name", main_inputs())
def test_the_net_gain_changes_sign_at_every_crossing(key, name):
    proposal = roi.load(key)
    row = inputs()[name]
    for value in crossings(roi.evaluate(proposal), name):
        step = 1 if row.whole else max(abs(value), 1) * 1e-9
        below = roi.evaluate(proposal, {name: max(value - step, row.range[0])}).net_gain
        above = roi.evaluate(proposal, {name: value if row.whole else min(value + step, row.range[1])}).net_gain
        assert (below >= 0) != (above >= 0)


def test_the_value_of_a_release_day_is_in_closed_form():
    # The release gain is proportional to it: at v (1 - net gain / release gain) the net gain is gone.
    # 250,000 x (1 - 328,974.18 / 3,600,000) = 227,154.57
    result = roi.evaluate(roi.load("two-region"))
    by_hand = 250_000 * (1 - result.net_gain / result.release_benefit_total)
    assert by_hand == pytest.approx(227_154.57, abs=0.01)
    assert nearest(result, "value_per_release_day") == pytest.approx(by_hand, rel=1e-9)


def test_the_published_claim_breaks_even_where_eighteen_months_of_releases_pay_two_million():
    result = roi.evaluate(roi.load("published-claim"))
    # 2,000,000 / (18 x 500,000) = 0.2222 releases a month; 2,000,000 / (10.8 x 2 days) = 92,592.59 a day
    assert nearest(result, "releases_per_month") == pytest.approx(2 / 9)
    assert nearest(result, "value_per_release_day") == pytest.approx(92_592.5926)
    assert nearest(result, "upfront_cost") == pytest.approx(5_400_000)
    # The first whole month in which 300,000 a month have paid 2,000,000 is the seventh.
    assert nearest(result, "horizon") == 7


def test_where_no_value_does_it_there_is_none():
    result = roi.evaluate(roi.load("raise-utilisation"))
    assert crossings(result, "value_per_release_day") == []
    assert nearest(result, "value_per_release_day") is None


@pytest.mark.parametrize("name", [name for name, row in inputs().items() if row.axis == "scalar"])
def test_a_grid_spans_the_range_and_is_finest_on_the_slider(name):
    points = grid(name)
    row = inputs()[name]
    assert (points[0], points[-1]) == pytest.approx(row.range)
    assert list(points) == sorted(set(points))
    assert row.whole or sum(row.slider[0] <= point <= row.slider[1] for point in points) >= 41


# --- what moves the answer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", shipped())
def test_drivers_are_evaluated_at_both_ends_and_sorted_by_their_swing(key):
    result = roi.evaluate(roi.load(key))
    found = drivers(result)
    for each in found:
        assert each.at_low == pytest.approx(roi.evaluate(result.proposal, {each.name: each.low}).net_gain)
        assert each.at_high == pytest.approx(roi.evaluate(result.proposal, {each.name: each.high}).net_gain)
        assert each.flips == nearest(result, each.name)
    assert [each.swing for each in found] == sorted((each.swing for each in found), reverse=True)
    assert len(found) + len(without_range(result)) == len(main_inputs())


def test_an_input_without_a_plausible_range_is_named():
    # The published claim sets the critical path share and the delay without saying how far they may be off.
    labels = without_range(roi.evaluate(roi.load("published-claim")))
    assert labels == [inputs()["critical_path_share"].label, inputs()["delay"].label]
