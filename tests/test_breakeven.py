"""Break-even: the values of one or two inputs at which a line of the answer meets a target."""

import math

import pytest

import roi
from roi import charts
from roi.breakeven import ALONG_A_CURVE, crossings, grid, nearest, pair, span
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


def test_another_line_than_the_net_gain_breaks_even_where_it_is_zero():
    result = roi.evaluate(roi.load("two-region"))
    # Present values of benefits are in proportion to the value of a release day: 250,000 x 3,179,651.75 / 3,301,385.06
    assert nearest(result, "value_per_release_day", "npv") == pytest.approx(250_000 * result.pv_cost / result.pv_benefit)
    assert nearest(result, "value_per_release_day", "npv") > nearest(result, "value_per_release_day")
    # A rate moves the present value alone; at the one that is found, the internal rate of return, it is zero.
    (rate,) = crossings(result, "discount_rate", line="npv")
    assert roi.evaluate(result.proposal, discount_rate=rate).npv == pytest.approx(0, abs=1e-3)
    assert crossings(result, "discount_rate") == []
    # Months are met from the first one on in which they are enough: 1,100,000 at 300,000 a month, 3 2/3 months after the start.
    claim = roi.evaluate(roi.load("published-claim"))
    assert crossings(claim, "upfront_cost", 20 / 3 - 3, "payback_month") == [pytest.approx(1_100_000)]


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


# --- two inputs -------------------------------------------------------------------------------------------------------------


def test_the_curve_of_the_published_claim_is_a_hyperbola():
    # 10.8 releases x days x v = 2,000,000 with 120 ms to 2 days: v = 2,000,000 / (10.8 x ms / 60) = 11,111,111 / ms
    curve = pair(roi.evaluate(roi.load("published-claim")), "latency_saved", "value_per_release_day")
    assert len(curve) == ALONG_A_CURVE
    assert (curve[0][0], curve[-1][0]) == (40, 180)  # its plausible range
    for milliseconds, values in curve:
        assert values == [pytest.approx(2_000_000 / (10.8 * milliseconds / 60))]


def test_a_curve_meets_its_target_and_knows_where_no_value_does():
    result = roi.evaluate(roi.load("published-claim"))
    # The published 3,400,000 is met at the published values.
    met = dict(pair(result, "value_per_release_day", "latency_saved", 3_400_000))
    assert met[250_000] == [pytest.approx(120)]
    # At 100,000 a day, 10.8 releases of 2 days are 2,160,000 at most, which leave 160,000 of 2,000,000 spent.
    assert dict(pair(result, "value_per_release_day", "critical_path_share", 5_000_000))[100_000] == []


def test_a_curve_of_one_value_is_what_that_input_breaks_even_at():
    result = roi.evaluate(roi.load("two-region"))
    for value, found in pair(result, "delay", "latency_saved")[::8]:
        assert found == pytest.approx(crossings(roi.evaluate(result.proposal, delay=value), "latency_saved"))
    # A whole input is tried at whole values, and the wait at which a longer horizon fails comes a month later for each month.
    waits = dict(pair(result, "horizon", "wait"))
    assert [*waits] == [float(month) for month in range(12, 25)]
    assert (waits[18][0], waits[19][0]) == (2, 3)


def test_an_input_without_a_plausible_range_is_tried_along_its_slider():
    claim = roi.evaluate(roi.load("published-claim"))  # which does not say how far its critical path share may be off
    assert span(claim, "critical_path_share") == (0, 1)
    assert span(claim, "latency_saved") == (40, 180)
    assert [value for value, _ in pair(claim, "critical_path_share", "latency_saved")][:2] == [0, 1 / 32]


def test_the_chart_of_a_pair_marks_the_present_and_labels_the_sides():
    result = roi.evaluate(roi.load("two-region"))
    rows = charts.pair_data(result, "latency_saved", "value_per_release_day")
    assert rows["present"] == [{"first": 120, "second": 250_000, "text": "now: 120 ms/step, $250K/day"}]
    for side in rows["sides"]:
        there = roi.evaluate(result.proposal, latency_saved=side["first"], value_per_release_day=side["second"])
        assert (there.net_gain >= 0) == (side["kind"] == "gain")
    assert {side["text"] for side in rows["sides"]} == {"gain", "loss"}
    assert charts.pair_limits(result, "latency_saved", "value_per_release_day") == {
        "left": 40,
        "right": 180,
        "low": 100_000,
        "high": 400_000,
    }
    svg = charts.pair_svg(result, "latency_saved", "value_per_release_day")
    assert svg.startswith("<svg")
    for said in ("now: 120 ms/step, $250K/day", "gain", "loss", "Latency saved per step, ms/step", "$400K", "var(--gain)"):
        assert said in svg


def test_a_chart_with_a_target_says_so_and_one_without_a_loss_has_no_such_side():
    claim = roi.evaluate(roi.load("published-claim"))
    sides = charts.pair_data(claim, "latency_saved", "value_per_release_day", 1_000_000)["sides"]
    assert {side["text"] for side in sides} == {"net gain above $1.0M", "net gain below $1.0M"}
    # Raising utilisation gains whatever a release day is worth, and however long the benefit takes to come.
    always = charts.pair_data(roi.evaluate(roi.load("raise-utilisation")), "value_per_release_day", "delay")
    assert [side["kind"] for side in always["sides"]] == ["gain"]


def test_a_present_value_outside_what_is_plausible_is_within_the_chart():
    result = roi.evaluate(roi.load("two-region"), latency_saved=200)
    assert charts.pair_limits(result, "latency_saved", "critical_path_share") == {"left": 40, "right": 200, "low": 0.5, "high": 1}
    # Shares are written as hundredths.
    assert "Share on the critical path, %" in charts.pair_svg(result, "latency_saved", "critical_path_share")


def test_a_whole_input_with_many_values_crosses_at_the_first_on_the_far_side():
    # 120 ms saved, less 25,000 ms every N steps, has to be at least what a step must save without synchronising.
    result = roi.evaluate(roi.load("two-region"), sync_time=25_000)
    needed = nearest(roi.evaluate(roi.load("two-region")), "latency_saved")
    (found,) = crossings(result, "steps_per_sync")
    assert found == math.ceil(25_000 / (120 - needed))
    assert roi.evaluate(result.proposal, steps_per_sync=found).net_gain >= 0
    assert roi.evaluate(result.proposal, steps_per_sync=found - 1).net_gain < 0
