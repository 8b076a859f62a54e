"""The value of one input as a proposal gives it: the number, how sure it is, and where it comes from."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from msgspec.structs import asdict

from roi.distributions import Distribution, distribution
from roi.inputs import Input
from roi.records import Record, Share, SourceDate

COVERS, SHAPE = 0.8, "triangular"
"""What low and high mean where nothing is said of it: one value in ten lies below and one above, with a peak at the base."""


class Value(Record, frozen=True):
    """One input's value in a proposal, as far as the file says more than the number.

    Attributes:
        base: the number that the headline is computed with.
        low, high: the ends between which a share of `covers` of all outcomes lies.
        values, weights: what a discrete value can be and how likely each is; or, without weights, what was measured.
        file: where the measured values were read from.
        basis: of a price, such as on-demand or spot.
        measured: whether the number was measured and not assumed.
        count: how many measurements it stands on.
    """

    base: float
    low: float | None = None
    high: float | None = None
    covers: Share | None = None
    shape: str | None = None
    values: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    file: str = ""
    source: str = ""
    link: str = ""
    date: SourceDate | None = None
    owner: str = ""
    basis: str = ""
    measured: bool = False
    count: Annotated[int, Meta(ge=1)] | None = None


class MovedValue(Value, frozen=True, kw_only=True):
    """A value that was set by hand, with what the proposal says; its uncertainty moves along with it."""

    origin: Value | None

    @classmethod
    def of(cls, row: Input, said: Value | None, number: float) -> MovedValue:
        origin = origin_of(said)
        low, high = plausible(row, origin) or (None, None)
        return cls(base=number, low=low, high=high, source="set by hand", origin=origin)


def origin_of(value: Value | None) -> Value | None:
    """What the proposal says, whatever was set by hand since."""
    return value.origin if isinstance(value, MovedValue) else value


def stated_spread(row: Input, value: Value | None) -> dict[str, Any] | None:
    """The arguments of `distribution` that a proposal's value states, or the default's where there is none; None if none does."""
    if value is None:
        return None if row.spread is None else asdict(row.spread) | {"base": row.default}
    if value.values:
        return {"base": value.base, "shape": value.shape, "values": value.values, "weights": value.weights}
    if value.low is None or value.high is None:
        return None
    stated = {"low": value.low, "base": value.base, "high": value.high}
    return stated | {"covers": value.covers or COVERS, "shape": value.shape or SHAPE}


def distribution_of(row: Input, value: Value | None) -> Distribution | None:
    """How an input is distributed; None where no spread is stated.

    Raises:
        ValueError: a spread that no distribution has; the message says why.
    """
    stated = stated_spread(row, value)
    return None if stated is None else distribution(**stated)


def plausible(row: Input, value: Value | None) -> tuple[float, float] | None:
    """What 8 in 10 outcomes of an input lie between, its 10th and its 90th percentile; None where no spread is stated.

    Of a value that was set by hand it is the proposal's own range.
    """
    said = origin_of(value)
    stated = stated_spread(row, said)
    if stated is None:
        return None
    if stated.get("covers") == COVERS:
        return stated["low"], stated["high"]  # as written, without the rounding of a distribution
    found = distribution(**stated).quantile(np.array([0.1, 0.9]))
    low, high = np.clip(found, *row.range)
    return float(low), float(high)
