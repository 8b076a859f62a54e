"""Finance of plain cash flows, against answers that others published.

Where a case names a source, that source printed the answer or the flows; the arithmetic stands beside the short ones.
"""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import finance
from roi.finance import Payback, effective_annual, irr, nominal_annual, npv, payback

PAYMENTS = [-10_000, *[327.24625] * 16]

flows = st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 2)), min_size=1, max_size=40)
rates = st.floats(-0.9, 2)


@pytest.mark.parametrize(
    ("rate", "given_flows", "answer"),
    [
        pytest.param(
            0.10, [0, -10000, 3000, 4200, 6800], 1188.4434123352216, id="Microsoft NPV page, example 1, first flow at t1"
        ),
        pytest.param(0.08, [-40000, 8000, 9200, 10000, 12000, 14500], 1922.061554932363, id="Microsoft NPV page, example 2"),
        pytest.param(
            0.08, [-40000, 8000, 9200, 10000, 12000, 14500, -9000], -3749.4650870155747, id="the same, with a loss in year 6"
        ),
        pytest.param(
            0.10, [-53150, 939796, 2424559, 3581977], 5496170.105184071, id="Forrester TEI of Salesloft, prints 5,496,170"
        ),
        pytest.param(0.035, [-100, 30, 30, 30, 30, 30], 35.45157126412247, id="Green Book social time preference rate 3.5 %"),
        pytest.param(0.11, [-14000, *[5000] * 6], 7152.68926869128, id="textbook: 14,000 for 5,000 a year over 6 years"),
        # -100 + 110 / 1.1 = 0
        pytest.param(0.10, [-100, 110], 0, id="one period"),
    ],
)
def test_net_present_value(rate, given_flows, answer):
    assert npv(rate, given_flows) == pytest.approx(answer, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("given_flows", "roots", "status"),
    [
        pytest.param([-70000, 12000, 15000, 18000, 21000], [-0.021244848273410923], "unique", id="Microsoft IRR page"),
        pytest.param(
            [-70000, 12000, 15000, 18000, 21000, 26000], [0.08663094803653162], "unique", id="Microsoft IRR page, five years"
        ),
        pytest.param([-1600, 10000, -10000], [0.25, 4.0], "several", id="Lorie and Savage, oil pump"),
        pytest.param(
            [-252, 1431, -3035, 2850, -1000], [1 / 4, 1 / 3, 3 / 7, 2 / 3], "several", id="Ross, Corporate Finance, four roots"
        ),
        pytest.param([1000, -3000, 2500], [], "none", id="Brealey and Myers, no root"),
        pytest.param([-1000, 800, *[150] * 4, -150], [-0.5, 0.15238237116630654], "several", id="Brealey and Myers, two roots"),
        pytest.param(
            [-50, -100, 600, 300, -100], [-0.7688954706807807, 1.8544178284561783], "several", id="numpy-financial issue 28"
        ),
        pytest.param([-100, 100, 0, -7], [-0.6788943736323866, -0.08329966618493272], "several", id="numpy pull request 4210"),
        # Excel's value quoted there does not zero the flows; this one does.
        pytest.param(
            [-976500, -24338874, -3354506, 814300, 1595562, 1975118, 1688159, 391944],
            [-0.31092726336573717],
            "unique",
            id="formulajs issue 197",
        ),
        pytest.param(PAYMENTS, [-0.06765411344968664], "unique", id="numpy-financial issue 98"),
        pytest.param([1, 2, 3], [], "undefined", id="all of one sign"),
        pytest.param([0, 0], [], "undefined", id="nothing at all"),
        pytest.param([-5], [], "undefined", id="one flow"),
        # -1 + 2x - x^2 = -(1 - x)^2: the value touches zero at x = 1, a rate of 0, and is a loss at every other.
        pytest.param([-1, 2, -1], [0], "unique", id="touches zero"),
        # -(1 - x)^3, which crosses once
        pytest.param([-1, 3, -3, 1], [0], "unique", id="triple root"),
        # Zeros at either end only delay.
        pytest.param([0, 0, -100, 110, 0], [0.1], "unique", id="zeros at the ends"),
        # 1 becomes 2^1000 in 1,000 doublings.
        pytest.param([-1, *[0] * 999, 2**1000], [1], "unique", id="a thousand periods"),
    ],
)
def test_internal_rates_of_return(given_flows, roots, status):
    found = irr(given_flows)
    # Near a triple root the value is below rounding within the cube root of rounding.
    assert found.roots == pytest.approx(roots, rel=1e-9, abs=1e-5 if given_flows == [-1, 3, -3, 1] else 1e-9)
    assert found.status == status
    assert found.reason


def test_one_rate_is_given_only_where_there_is_one():
    assert irr([-100, 110]).rate == pytest.approx(0.1)
    with pytest.raises(ValueError, match="no single internal rate of return: the value is zero at 2 rates"):
        _ = irr([-1600, 10000, -10000]).rate


@pytest.mark.parametrize(
    ("rate", "given_flows", "first"),
    [
        # 60 + 40 + 70 = 170 after three; the last 10 of 125 take 0.08
        pytest.param(0, [-180000, 60000, 40000, 70000, 125000, 35000], 3.08, id="textbook"),
        # 1950 + 4100 = 6050; 750 / 1750 = 0.4286
        pytest.param(0, [-6800, 1950, 4100, 1750, 1450], 2.4285714285714284, id="Ross, problem 81"),
        pytest.param(0.11, [-210, 85, 75, 85, 105], 3.150368105714286, id="discounted payback table, prints 3.15"),
        # A public calculator prints 4.24. Four years are worth 9,509.60; the missing 490.40 of 1,862.76 take 0.2633.
        pytest.param(0.10, [-10000, *[3000] * 5], 4.263266666666668, id="discounted, five years"),
        pytest.param(0, [-100, 30], math.inf, id="never"),
        pytest.param(0, [100, -30], 0, id="never out of pocket"),
        # Whoever pays in and at once gets back: zero is reached at the end of period 1.
        pytest.param(0, [-100, 100], 1, id="exactly at the end of a period"),
    ],
)
def test_payback(rate, given_flows, first):
    assert payback(given_flows, rate) == Payback(pytest.approx(first, rel=1e-9), pytest.approx(first, rel=1e-9))


def test_payback_that_does_not_last():
    # -100, -70, -40, -10, 20 (back at 3 + 10/30), -40, -10 (6), 20: back at 6 + 10/30 to stay
    assert payback([-100, 30, 30, 30, 30, -60, 30, 30, 30, 30]) == Payback(pytest.approx(3 + 1 / 3), pytest.approx(6 + 1 / 3))
    # back after 2, out of pocket again in the end
    assert payback([-100, 50, 60, -50]) == Payback(pytest.approx(1 + 50 / 60), math.inf)


def test_a_million_paid_back_in_eighteen_months():
    # 1,000,000 at month 0 and 80,000 a month, at 10 % effective a year; the answers are from outside this project.
    monthly = [-1_000_000, *[80_000] * 18]
    rate = nominal_annual(0.10) / 12
    assert npv(rate, monthly) == pytest.approx(336478.374278, rel=1e-9)
    assert payback(monthly).first == pytest.approx(12.5)  # 1,000,000 / 80,000
    assert payback(monthly, rate).first == pytest.approx(13.220855, rel=1e-7)
    assert irr(monthly).rate == pytest.approx(0.0415628117, rel=1e-8)
    assert effective_annual(irr(monthly).rate * 12) == pytest.approx(0.630142550, rel=1e-8)


def test_annual_rates():
    assert effective_annual(0.12) == pytest.approx(1.01**12 - 1)
    assert effective_annual(0.12, periods=1) == pytest.approx(0.12)
    assert nominal_annual(1.01**12 - 1) == pytest.approx(0.12)


@given(st.floats(-0.5, 3), st.integers(1, 365))
def test_annual_rates_are_inverse(effective, periods):
    assert effective_annual(nominal_annual(effective, periods), periods) == pytest.approx(effective, rel=1e-6, abs=1e-9)


@given(flows, rates)
def test_the_present_value_is_the_sum_of_its_flows_present_values(given_flows, rate):
    parts = [npv(rate, [*[0] * at, flow]) for at, flow in enumerate(given_flows)]
    assert npv(rate, given_flows) == pytest.approx(sum(parts), rel=1e-9, abs=1e-9 * sum(map(abs, parts)))
    assert npv(0, given_flows) == pytest.approx(sum(given_flows), rel=1e-9, abs=1e-6)


@given(flows)
def test_the_value_is_zero_at_every_internal_rate(given_flows):
    found = irr(given_flows)
    for root in found.roots:
        assert root > -1
        terms = np.array(given_flows) * (1 + root) ** -np.arange(float(len(given_flows)))
        assert abs(terms.sum()) <= 1e-6 * np.abs(terms).sum()
    assert (found.status == "undefined") == (not (min(given_flows) < 0 < max(given_flows)))


@given(st.lists(st.sampled_from([0.02, 0.1, 0.25, 0.5, 1.0, -0.3, -0.6, 3.0]), min_size=1, max_size=5, unique=True))
def test_flows_made_of_known_rates_have_these_rates(known):
    # The product of (1 + rate) x - 1 over the rates is zero at x = 1 / (1 + rate) for each and nowhere else.
    made = np.array([-1.0])
    for rate in known:
        made = np.convolve(made, [-1, 1 + rate])
    assert irr(made.tolist()).roots == pytest.approx(sorted(known), rel=1e-6)


@given(flows, st.integers(2, 1000))
def test_scale_changes_neither_rates_nor_payback(given_flows, factor):
    scaled = [flow * factor for flow in given_flows]
    assert len(irr(scaled).roots) == len(irr(given_flows).roots)
    assert payback(scaled).first == pytest.approx(payback(given_flows).first)


@given(flows)
def test_it_stays_paid_back_no_sooner_than_it_first_pays_back(given_flows):
    found = payback(given_flows)
    assert found.sustained >= found.first or not found.first
    assert (found.sustained == math.inf) <= (sum(given_flows) < 1e-6)


@given(flows, st.floats(0, 1))
def test_discounting_never_hastens_the_payback_of_an_outlay_followed_by_gains(given_flows, rate):
    investment = [-1000, *(abs(flow) for flow in given_flows)]
    assert payback(investment, rate).first >= payback(investment).first * (1 - 1e-12)


def test_the_model_and_the_functions_agree():
    result = roi.evaluate(roi.load("two-region"))
    monthly = result["net_cash"]
    rate = nominal_annual(result["discount_rate"]) / 12
    assert npv(rate, monthly) == pytest.approx(result.npv, rel=1e-9)
    assert payback(monthly) == Payback(result.payback_month, result.payback_sustained)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: npv(-1, [1]), "rate is -1; it must be a finite number above -1"),
        (lambda: npv(math.nan, [1]), "rate is nan"),
        (lambda: npv(0.1, []), "at least one number"),
        (lambda: npv(0.1, [[1, 2]]), "must be a list"),
        (lambda: irr([1, math.nan]), "flow 1 is nan, which is not a finite number"),
        (lambda: payback([-1, math.inf]), "flow 1 is inf"),
        (lambda: effective_annual(-12), "loses everything"),
        (lambda: effective_annual(0.1, 0), "periods is 0"),
        (lambda: nominal_annual(-1), "must be above -1"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_examples_in_the_documentation_run():
    for module in (finance, roi):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed
