"""Distributions, against moments and quantiles that others published, and against what low and high were said to mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roi.distributions import SHAPES, Lognormal, Normal, Pert, Triangular, Uniform, distribution

RANGED = [shape for shape in SHAPES if shape not in ("discrete", "empirical")]
EVEN = (np.arange(200_000) + 0.5) / 200_000


def moments(spread):
    values = spread.quantile(EVEN)
    return values.mean(), values.var()


def test_a_triangular_distribution_has_its_moments_and_quantiles():
    spread = Triangular(10, 20, 60)
    # mean (10 + 20 + 60) / 3; variance (100 + 400 + 3600 - 200 - 600 - 1200) / 18
    assert moments(spread) == pytest.approx((30, 116.66666666666667), rel=1e-5)
    assert spread.quantile(np.array([0.1, 0.5, 0.9])) == pytest.approx([17.07106781, 28.37722340, 45.85786438], rel=1e-9)


def test_a_pert_distribution_has_its_moments_and_quantiles():
    spread = Pert(10, 20, 60)
    # mean (10 + 80 + 60) / 6; variance (25 - 10) (60 - 25) / 7, and not ((60 - 10) / 6)^2 = 69.44
    assert moments(spread) == pytest.approx((25, 75), rel=1e-5)
    assert spread.quantile(np.array([0.1, 0.5, 0.9])) == pytest.approx([14.49510652, 23.83361297, 37.26670252], rel=1e-8)


def test_a_lognormal_distribution_has_the_moments_that_squigglepy_prints():
    spread = Lognormal.covering(5, 10, 0.9)
    assert (spread.mean, spread.deviation) == pytest.approx((7.22978373, 1.54039287), rel=1e-8)
    wide = Lognormal.covering(1, 10, 0.9)
    assert (wide.log_mean, wide.log_deviation, wide.mean) == pytest.approx((1.15129255, 0.69993617, 4.04001283), rel=1e-8)
    assert wide.quantile(np.array([0.5]))[0] == pytest.approx(3.16227766)  # the square root of 10


def test_uniform_and_normal_by_hand():
    # 80 % between 1 and 9 is a width of 10 in all, from 0 to 10
    assert Uniform.covering(1, 9, 0.8) == Uniform(pytest.approx(0), pytest.approx(10))
    # 95 % within 1.959964 deviations either side
    assert Normal.covering(0, 2 * 1.959963985, 0.95).deviation == pytest.approx(1)


@given(st.sampled_from(RANGED), st.floats(0.01, 1e6), st.floats(0, 10), st.floats(0, 10), st.floats(0.1, 0.98), st.floats(-3, 3))
def test_low_and_high_hold_the_share_that_was_said(shape, scale, left, right, covers, start):
    base = scale * (11 + start)
    low, high = base - scale * left, base + scale * right
    if high - low < 1e-3 * scale:
        return
    tails = np.array([(1 - covers) / 2, (1 + covers) / 2])
    found = distribution(shape, low, base, high, covers).quantile(tails)
    if shape in ("triangular", "pert") and min(left, right) < 1e-3 * max(left, right):
        # With the most likely value at one end, a side may have no room for its tail; then it ends there.
        return
    assert found == pytest.approx([low, high], abs=2e-4 * (high - low))


@given(st.sampled_from(RANGED), st.floats(1, 100), st.floats(0, 50), st.floats(0.1, 50))
def test_quantiles_never_fall(shape, low, left, right):
    found = distribution(shape, low, low + left, low + left + right, 0.8).quantile(np.linspace(0.001, 0.999, 200))
    assert (np.diff(found) >= -1e-9 * np.abs(found[1:])).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("triangular", 3, 2, 4, 0.8), "out of order; write low <= base <= high"),
        (("triangular", 1, 2, 3, 0), "covers is 0"),
        (("normal", 1, 2, 3, 1), "below 1 for a shape without ends"),
        (("lognormal", 0, 2, 3, 0.8), "must start above 0"),
        (("blob", 1, 2, 3, 0.8), "there is no shape 'blob'; write one of triangular, pert"),
    ],
)
def test_what_no_distribution_has_is_refused(arguments, said):
    with pytest.raises(ValueError, match=r"covers|order|start|shape") as refused:
        distribution(*arguments)
    assert said in str(refused.value)
