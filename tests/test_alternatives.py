"""Alternatives side by side: present values by hand, a pilot in closed form, and the same draws for every row."""

import math
from dataclasses import replace

import numpy as np
import pytest

import roi
from roi import InputError, words
from roi.alternatives import COLUMNS, alternative_result, alternatives, cost_of_waiting, expected_given, rows, sentences
from roi.proposals import Pilot
from roi.simulate import simulate
from roi.values import Value
from tests.test_simulate import only

MONTH = 1.1 ** (-1 / 12)
"""What a dollar a month from now is worth today, at 10 % a year."""


def annuity(first, last):
    """What a dollar at the end of each of these months is worth today."""
    return sum(MONTH**month for month in range(first, last + 1))


def table(proposal, **settings):
    return {each.kind: each for each in alternatives(proposal, **settings)}


# --- the rows -----------------------------------------------------------------------------------------------------------------


def test_doing_nothing_is_zero_and_has_no_ratio():
    nothing = table(roi.load("two-region"))["nothing"]
    assert (nothing.pv_cost, nothing.pv_benefit, nothing.npv, nothing.p_gain, nothing.switching) == (0, 0, 0, 0, None)
    assert math.isnan(nothing.benefit_cost_ratio)
    assert math.isnan(nothing.roi_net)


def test_starting_now_is_the_proposal_as_it_stands():
    now = table(roi.load("two-region"))["now"]
    assert (now.pv_benefit, now.pv_cost, now.npv) == pytest.approx(
        (3_301_385.0644, 3_179_651.7518, 121_733.3125), abs=1e-4
    )  # DESIGN
    assert now.benefit_cost_ratio == pytest.approx(3_301_385.0644 / 3_179_651.7518)
    assert now.roi_net == pytest.approx(121_733.3125 / 3_179_651.7518)
    # Benefits are in proportion to the value of a release day: 250,000 x (1 - 121,733.3125 / 3,301,385.0644) = 240,781.65
    assert now.switching == pytest.approx(240_781.65, abs=0.01)


def test_every_row_has_the_draws_of_the_simulation_of_its_seed():
    proposal = roi.load("two-region")
    found = table(proposal, draws=10_000, seed=3)
    assert found["now"].p_gain == simulate(proposal, 10_000, 3).p_gain
    assert found["later"].p_gain == simulate(proposal.with_values({"wait": 6}), 10_000, 3).p_gain
    assert table(proposal, draws=10_000, seed=3)["staged"] == found["staged"]
    assert table(proposal, draws=10_000, seed=4)["now"].p_gain != found["now"].p_gain


def test_starting_later_is_the_same_with_a_wait():
    # 300,000 at the end of months 4 to 18, and 2,000,000 in month 3
    later = table(roi.load("published-claim"), later=3)["later"]
    assert later.name == "Start 3 months later"
    assert later.pv_benefit == pytest.approx(300_000 * annuity(4, 18))
    assert later.pv_cost == pytest.approx(2_000_000 * MONTH**3)
    # A proposal that waits already waits longer still.
    waiting = table(roi.load("published-claim").with_values({"wait": 1}), later=2)
    assert waiting["now"].name == "Start in 1 month"
    assert waiting["later"].npv == pytest.approx(later.npv)


def test_a_start_beyond_every_horizon_is_nothing():
    later = table(roi.load("published-claim").with_values({"wait": 60, "horizon": 60}))["later"]
    assert (later.pv_cost, later.pv_benefit, later.npv) == (0, 0, 0)


def test_a_month_of_waiting_costs_its_benefit_less_what_is_saved_by_paying_later():
    # The month that drops out is worth 300,000 x 1.1^(-1/12) = 297,626.61 where it is seen first; 2,000,000 a month later save
    # 2,000,000 x (1 - 1.1^(-1/12)) = 15,822.04.
    claim = roi.load("published-claim")
    assert cost_of_waiting(claim) == pytest.approx(300_000 * MONTH - 2_000_000 * (1 - MONTH))
    assert cost_of_waiting(claim) == pytest.approx(281_804.57, abs=0.01)
    assert sentences(claim, alternatives(claim), 8192)[0] == "Waiting one month costs $282K of net present value."


def test_waiting_with_a_loss_is_a_gain():
    # With nothing saved there is only the upfront cost, and it is paid a month later.
    idle = roi.load("published-claim").with_values({"latency_saved": 0})
    assert cost_of_waiting(idle) == pytest.approx(-2_000_000 * (1 - MONTH))
    assert sentences(idle, alternatives(idle), 8192)[0] == "Waiting one month adds $16K of net present value."


def test_the_shipped_alternative_comes_by_default_but_not_beside_itself():
    assert table(roi.load("two-region"))["other"].name == "Raise utilisation in us-central1"
    assert "other" not in table(roi.load("raise-utilisation"))
    assert [each.kind for each in alternatives(roi.load("published-claim"), [])] == ["nothing", "now", "later"]


def test_other_proposals_stand_in_the_world_of_this_one():
    here, other = roi.load("two-region").with_values({"gpus": 128, "wait": 3}), roi.load("raise-utilisation")
    found = table(here, others=[other])["other"]
    # Twice the GPUs free twice the hours: 88,550.40 x 2 x 0.5 a month for 0.6 utilisation to 0.8, in full from month 5.
    expected = 88_550.40 * (annuity(5, 18) + MONTH**3 / 3 + MONTH**4 * 2 / 3) - 150_000
    assert found.npv == pytest.approx(expected)
    assert alternative_result(here, other)["npv"] == pytest.approx(expected)
    assert alternative_result(here, None) is None
    assert alternative_result(other, other) is None


def test_without_uncertainty_there_are_no_odds():
    certain = only("latency_saved", 120, 120, 120)
    found = alternatives(certain, [])
    assert [each.p_gain for each in found] == [0, None, None]
    assert rows(found)[1]["p_gain"] == "not known"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"later": 0}, "later is 0; write a whole number of months from 1 to 60"),
        ({"later": 61}, "later is 61; write a whole number of months from 1 to 60"),
        ({"later": 1.5}, "later is 1.5; write a whole number of months from 1 to 60"),
        ({"draws": 99}, "draws is 99; allowed is 100 to"),
        ({"seed": -1}, "the seed is -1"),
    ],
)
def test_what_cannot_be_computed_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        alternatives(roi.load("two-region"), **settings)


# --- a measurement first ------------------------------------------------------------------------------------------------------


def with_pilot(proposal, *measures, cost=60_000):
    return replace(proposal, pilot=Pilot(months=1, cost=cost, measures=measures))


# The published claim a month later, with L ms saved: L / 60 days x 250,000 x 0.6 = 2,500 L a month in months 2 to 18, and
# 2,000,000 in month 1. So NPV = A L - U, which is zero at L0, with
A, U = 2_500 * annuity(2, 18), 2_000_000 * MONTH
L0 = U / A  # 50.51 ms


def test_a_pilot_is_worth_the_starts_that_pay_less_its_cost():
    # L is uniform over 0 to 240 (8 in 10 between 24 and 216). E[max(A L - U, 0)] is the integral of A L - U from L0 to 240 over
    # 240, A (240 - L0)^2 / 480.
    staged = table(with_pilot(only("latency_saved", 24, 120, 216, "uniform"), "latency_saved"))["staged"]
    assert staged.npv == pytest.approx(A * (240 - L0) ** 2 / 480 - 60_000, rel=1e-3)
    assert staged.pv_benefit == pytest.approx(A * (240**2 - L0**2) / 480, rel=1e-3)
    assert staged.pv_cost == pytest.approx(U * (240 - L0) / 240 + 60_000, rel=1e-3)
    assert staged.npv == pytest.approx(staged.pv_benefit - staged.pv_cost)
    assert (staged.benefit_cost_ratio, staged.roi_net) == pytest.approx(
        (staged.pv_benefit / staged.pv_cost, staged.npv / staged.pv_cost)
    )
    # It starts from L0 = 50.51 on, and then gains 17 x 2,500 L - 2,060,000, which is above zero from 48.47 on.
    assert staged.p_gain == pytest.approx((240 - L0) / 240, abs=1e-3)
    assert staged.note == "Expected values; pays $60K, learns 'Latency saved per step', starts in 79 % of draws"


def test_what_is_not_measured_is_averaged_out():
    # The value of a release day is uniform around the same 250,000 and unknown at the start, so the same L0 decides.
    noisy = only("latency_saved", 24, 120, 216, "uniform")
    noisy = replace(
        noisy, inputs={**noisy.inputs, "value_per_release_day": Value(base=250_000, low=50_000, high=450_000, shape="uniform")}
    )
    staged = table(with_pilot(noisy, "latency_saved"), draws=1 << 15)["staged"]
    assert staged.npv == pytest.approx(A * (240 - L0) ** 2 / 480 - 60_000, rel=5e-3)
    # Measured too, it decides as well: the mean of max(A L v / 250,000 - U, 0) over both, v uniform over 0 to 500,000, on a grid.
    middles = (np.arange(2_000) + 0.5) / 2_000
    both = np.maximum(A * 240 * middles[:, np.newaxis] * 2 * middles - U, 0).mean()
    staged = table(with_pilot(noisy, "latency_saved", "value_per_release_day"), draws=1 << 15)["staged"]
    assert staged.npv == pytest.approx(both - 60_000, rel=5e-3)


def test_a_pilot_that_never_promises_a_gain_costs_what_it_costs():
    # At 40 ms the NPV is 40 A - U, below zero, and the step time changes nothing: no draw starts.
    hopeless = only("step_time", 1_000, 1_200, 1_500).with_values({"latency_saved": 40})
    staged = table(with_pilot(hopeless, "step_time"))["staged"]
    assert (staged.pv_benefit, staged.pv_cost, staged.npv, staged.p_gain) == (0, 60_000, -60_000, 0)
    # A pilot that costs nothing leaves nothing.
    free = table(with_pilot(hopeless, "step_time", cost=0))["staged"]
    assert (free.npv, free.p_gain) == (0, 0)
    assert math.isnan(free.roi_net)


def test_a_pilot_that_learns_nothing_is_a_later_start_less_its_cost():
    sure = only("step_time", 1_000, 1_200, 1_500)
    found = table(with_pilot(sure, "step_time"), later=1)
    assert found["staged"].npv == pytest.approx(found["later"].npv - 60_000)
    assert found["staged"].p_gain == found["later"].p_gain == 1


def test_without_a_pilot_there_is_no_measurement():
    assert "staged" not in table(roi.load("published-claim"))


# --- the regression -----------------------------------------------------------------------------------------------------------


def test_the_regression_keeps_the_mean_and_gives_back_a_bent_line():
    fact = np.linspace(-1, 1, 801)[np.newaxis]
    noise = np.random.default_rng(1).normal(size=801)
    fitted = expected_given(fact, np.maximum(fact[0], 0) + noise)
    assert fitted.mean() == pytest.approx((np.maximum(fact[0], 0) + noise).mean())
    assert expected_given(fact, np.maximum(fact[0], 0)) == pytest.approx(np.maximum(fact[0], 0), abs=1e-9)


def test_the_regression_of_a_fact_of_three_values_is_the_mean_of_each():
    fact = np.repeat([90.0, 120.0, 150.0], 50)
    values = np.random.default_rng(1).normal(size=150)
    means = np.repeat(values.reshape(3, 50).mean(axis=1), 50)
    assert expected_given(fact[np.newaxis], values) == pytest.approx(means)


def test_the_regression_knows_that_facts_multiply_and_that_one_may_not_vary():
    first, second, same = np.random.default_rng(1).uniform(size=(3, 500))
    same[:] = 7
    assert expected_given(np.array([first, second, same]), first * second) == pytest.approx(first * second)


# --- words --------------------------------------------------------------------------------------------------------------------


def test_the_table_reads_in_words():
    proposal = roi.load("two-region")
    found = alternatives(proposal)
    said = {row["name"]: row for row in rows(found)}
    assert all(list(row) == list(COLUMNS) for row in said.values())
    assert [*said["Start now"].values()][1:-1] == ["$3.2M", "$3.3M", "$122K", "$805K", "1.04", "4 %", "51 %", "$241K/day"]
    assert [*said["Do nothing"].values()][1:-1] == ["$0", "$0", "$0", "$0", "not defined", "not defined", "0 %", "none"]
    assert said["Measure for 1 month, then start or not"]["switching"] == "not computed"
    below = sentences(proposal, found, 8192)
    assert below[0] == "Waiting one month costs $147K of net present value."
    assert "8,192 draws with a net gain above zero" in below[1]
    assert "$805K for starting without it" in below[2]
    assert proposal.pilot.source in below[2]
    assert below[-1] == f"Left out: {words.LEFT_OUT}"
    claim = roi.load("published-claim")
    assert len(sentences(claim, alternatives(claim), 8192)) == 3  # nothing on a measurement
