"""Finance of plain cash flows: net present value, every internal rate of return, payback, and annual rates.

Flows are one number a period; the first is at time zero and is not discounted. Rates are shares per period, 0.1 for 10 %.
What the model has a line for is that line, called with these flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from roi import payback as lines
from roi.lines import Array

Status = Literal["unique", "several", "none", "undefined"]


@dataclass(frozen=True)
class InternalRate:
    """Every rate above -1 at which the net present value is zero, ascending, and what that means.

    `status` is `unique` (one root), `several` (no single rate describes the flows), `none` (the flows change sign, yet no rate
    makes them worth zero) or `undefined` (the flows do not change sign); `reason` says so in words.
    """

    roots: tuple[float, ...]
    status: Status
    reason: str

    @property
    def rate(self) -> float:
        """The unique rate.

        Raises:
            ValueError: there is not exactly one.
        """
        if self.status != "unique":
            raise ValueError(f"there is no single internal rate of return: {self.reason}")
        return self.roots[0]


@dataclass(frozen=True)
class Payback:
    """When cumulative cash comes back to zero, in periods: the first time, and the last time after which it stays there.

    Infinite where it does not happen within the flows; 0 where no money is ever out of pocket.
    """

    first: float
    sustained: float


def npv(rate: float, flows: Sequence[float]) -> float:
    """Net present value, the first flow not discounted.

    A spreadsheet's NPV discounts the first flow too; there, add the first flow to the NPV of the others.

    >>> round(npv(0.08, [-40_000, 8_000, 9_200, 10_000, 12_000, 14_500]), 2)
    1922.06

    Raises:
        ValueError: no flows, a flow that is not a finite number, or a rate of -1 or below.
    """
    return float(lines.npv(_discounted(rate, _checked(flows)))[0, 0])


def irr(flows: Sequence[float]) -> InternalRate:
    """Every internal rate of return above -1 (-100 %).

    Flows that change sign more than once may have several rates or none, and then the rate decides nothing: compare net
    present values instead.

    >>> [round(root, 6) for root in irr([-1_600, 10_000, -10_000]).roots]
    [0.25, 4.0]
    >>> irr([1, 2, 3]).status
    'undefined'

    Raises:
        ValueError: no flows, or a flow that is not a finite number.
    """
    values = _checked(flows)[0]
    if not ((values > 0).any() and (values < 0).any()):
        sign = "zero" if not values.any() else "zero or positive" if (values >= 0).all() else "zero or negative"
        return InternalRate((), "undefined", f"all flows are {sign}, so no rate balances them")
    # Zeros at the ends move no root, and without them neither end of the range of rates is one.
    kept = np.trim_zeros(values / np.abs(values).max())
    # With x = 1 / (1 + rate) the value is a polynomial in x. Rates from 0 up are x in (0, 1]; those from 0 down to -1 are the
    # same for the flows backwards, where y = 1 / x = 1 + rate is in (0, 1]. Within 0..1 no power overflows.
    above = [1 / x - 1 for x in _roots(kept)]
    below = [y - 1 for y in _roots(kept[::-1]) if y < 1]
    roots = tuple(sorted(root + 0.0 for root in (*above, *below)))
    if not roots:
        return InternalRate((), "none", "the flows change sign, but at every rate their value has the same sign")
    if len(roots) > 1:
        listed = ", ".join(f"{root:.4g}" for root in roots)
        return InternalRate(roots, "several", f"the value is zero at {len(roots)} rates ({listed}); compare net present values")
    return InternalRate(roots, "unique", "the value is zero at this rate alone")


def payback(flows: Sequence[float], rate: float = 0) -> Payback:
    """When cumulative cash, discounted at `rate` where one is given, comes back to zero, in a straight line within a period.

    >>> payback([-100, 30, 30, 30, 30, -60, 30, 30, 30, 30])
    Payback(first=3.3333333333333335, sustained=6.333333333333333)

    Raises:
        ValueError: as `npv`.
    """
    cash = _discounted(rate, _checked(flows))
    period = np.arange(cash.shape[1], dtype=float)[np.newaxis]
    cumulative = lines.cumulative(cash)
    with np.errstate(divide="ignore", invalid="ignore"):  # in periods without cash, which the line leaves out
        recovery = lines.recovery_month(period, cumulative, cash)
    out_of_pocket = lines.peak_cash_out(lines.lowest_cumulative(cumulative))
    first = lines.payback_month(out_of_pocket, lines.first_recovery(recovery))
    last = lines.last_recovery(lines.recovery_month_or_zero(recovery))
    sustained = lines.payback_sustained(out_of_pocket, lines.net_gain(cash), last)
    return Payback(float(first[0, 0]), float(sustained[0, 0]))


def effective_annual(nominal: float, periods: int = 12) -> float:
    """The effective annual rate of a nominal one that is compounded `periods` times a year: 12 % monthly is 12.68 %.

    >>> round(effective_annual(0.12), 6)
    0.126825

    Raises:
        ValueError: a rate of -1 or below per period, or fewer periods than one.
    """
    growth = 1 + nominal / _counted(periods)
    if growth <= 0:
        raise ValueError(
            f"a nominal rate of {nominal} over {periods} periods loses everything within one; it must be above -1 each"
        )
    return float(growth**periods - 1)


def nominal_annual(effective: float, periods: int = 12) -> float:
    """The nominal annual rate that, compounded `periods` times a year, has this effective annual rate.

    Raises:
        ValueError: a rate of -1 or below, or fewer periods than one.
    """
    if not effective > -1:
        raise ValueError(f"an effective annual rate of {effective} loses everything; it must be above -1")
    return float(((1 + effective) ** (1 / _counted(periods)) - 1) * periods)


def _counted(periods: int) -> int:
    if periods < 1:
        raise ValueError(f"periods is {periods}; a year has at least one")
    return periods


def _checked(flows: Sequence[float]) -> Array:
    """The flows shaped `(1, periods)`, as the lines take them."""
    values = np.asarray(flows, dtype=float)
    if values.ndim != 1 or not values.size:
        raise ValueError("flows must be a list with at least one number, the first at time zero")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"flow {at} is {values[at]}, which is not a finite number")
    return values[np.newaxis]


def _discounted(rate: float, flows: Array) -> Array:
    if not (rate > -1 and np.isfinite(rate)):
        raise ValueError(f"the rate is {rate}; it must be a finite number above -1, and 0.1 is 10 %")
    # The line counts its rate by the year and time in months: here a period stands for its year.
    months = lines.months_per_year * np.arange(flows.shape[1])
    discounted: Array = lines.discounted(flows, lines.discount_factor(rate, months))
    return discounted


def _roots(coefficients: Array) -> list[float]:
    """The real roots within (0, 1] of a polynomial given by ascending coefficients, the first of which is not zero.

    Between two neighbouring roots of its derivative a polynomial is monotone and crosses zero at most once; so the roots are
    found from the constant derivative upwards, each bracketed, and none can be skipped. Where it only touches zero, the
    value at the derivative's root is zero but for rounding.
    """
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    if len(coefficients) < 2 or not ((coefficients > 0).any() and (coefficients < 0).any()):
        return []
    powers = np.arange(len(coefficients))
    rounding = 4 * len(coefficients) * np.finfo(float).eps

    def value(x: float) -> float:
        terms = coefficients * x**powers
        found = float(terms.sum())
        return 0.0 if abs(found) <= rounding * float(np.abs(terms).sum()) else found

    slope = (coefficients * powers)[1:]
    slope = slope / np.abs(slope).max()
    leading = np.flatnonzero(slope)
    # A derivative that starts with zeros has a root at 0, which bounds no interval that 0 does not bound already.
    turning = _roots(slope[leading[0] :]) if len(leading) else []
    edges = sorted({0.0, *turning, 1.0})
    roots: list[float] = []
    for low, high in pairwise(edges):
        if value(high) == 0:
            roots.append(high)
        elif value(low) * value(high) < 0:
            roots.append(float(brentq(lambda x: float((coefficients * x**powers).sum()), low, high, xtol=1e-16, maxiter=200)))
    return roots
