"""Distributions of an uncertain input, from what people can say: a most likely value, a low, a high, and the share between them.

`low` and `high` are quantiles: with `covers` 0.8, one value in ten lies below `low` and one in ten above `high`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from roi.lines import Array, did_you_mean

SHAPES = ("triangular", "pert", "uniform", "normal", "lognormal", "discrete", "empirical")
FEWEST_MEASUREMENTS = 5


@dataclass(frozen=True)
class Uniform:
    """Every value between two ends as likely as any other."""

    low: float
    high: float

    @classmethod
    def covering(cls, low: float, high: float, covers: float) -> Uniform:
        width = (high - low) / covers
        return cls(low - width * (1 - covers) / 2, high + width * (1 - covers) / 2)

    def quantile(self, shares: Array) -> Array:
        return self.low + (self.high - self.low) * shares


@dataclass(frozen=True)
class Triangular:
    """Rising in a straight line to the most likely value, and falling in one from there.

    mean = (low + mode + high) / 3
    """

    low: float
    mode: float
    high: float

    @classmethod
    def covering(cls, low: float, mode: float, high: float, covers: float) -> Triangular:
        """The one whose quantiles at either tail are `low` and `high`.

        With p and q the lengths of its sides and t the share in a tail, (p - (mode - low))^2 = t (p + q) p, and likewise for q;
        each is a quadratic in one side, solved in turn until neither moves.
        """
        tail = (1 - covers) / 2
        left, right = mode - low, high - mode
        p, q = left, right
        for _ in range(200):
            p = _side(left, q, tail)
            q = _side(right, p, tail)
        return cls(mode - p, mode, mode + q)

    def quantile(self, shares: Array) -> Array:
        width = self.high - self.low
        if not width:
            return np.full_like(shares, self.mode)
        rising = self.low + np.sqrt(shares * width * (self.mode - self.low))
        falling = self.high - np.sqrt((1 - shares) * width * (self.high - self.mode))
        return np.where(shares < (self.mode - self.low) / width, rising, falling)


def _side(distance: float, other: float, tail: float) -> float:
    b = 2 * distance + tail * other
    return (b + math.sqrt(max(b * b - 4 * (1 - tail) * distance * distance, 0.0))) / (2 * (1 - tail))


@dataclass(frozen=True)
class Pert:
    """A beta distribution between two ends, with weight 4 on the most likely value.

    mean = (low + 4 mode + high) / 6; its variance is (mean - low) (high - mean) / 7, not the textbook's ((high - low) / 6)^2.
    """

    low: float
    mode: float
    high: float

    @classmethod
    def covering(cls, low: float, mode: float, high: float, covers: float) -> Pert:
        from scipy.optimize import least_squares  # type: ignore[import-untyped]

        tails = np.array([(1 - covers) / 2, (1 + covers) / 2])
        if covers == 1 or low == high:
            return cls(low, mode, high)
        width = high - low

        def miss(sides: Array) -> Array:
            found = cls(mode - sides[0], mode, mode + sides[1]).quantile(tails)
            missed: Array = (found - np.array([low, high])) / width
            return missed

        start = Triangular.covering(low, mode, high, covers)
        sides = [max(start.mode - start.low, 1e-9 * width), max(start.high - start.mode, 1e-9 * width)]
        p, q = least_squares(miss, sides, bounds=(0, np.inf), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
        return cls(mode - p, mode, mode + q)

    def quantile(self, shares: Array) -> Array:
        from scipy.special import betaincinv  # type: ignore[import-untyped]

        width = self.high - self.low
        if not width:
            return np.full_like(shares, self.mode)
        first, second = 1 + 4 * (self.mode - self.low) / width, 1 + 4 * (self.high - self.mode) / width
        quantiles: Array = self.low + width * betaincinv(first, second, shares)
        return quantiles


@dataclass(frozen=True)
class Normal:
    """Symmetric about the middle of low and high, without ends."""

    mean: float
    deviation: float

    @classmethod
    def covering(cls, low: float, high: float, covers: float) -> Normal:
        return cls((low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf((1 + covers) / 2))

    def quantile(self, shares: Array) -> Array:
        from scipy.special import ndtri

        quantiles: Array = self.mean + self.deviation * ndtri(shares)
        return quantiles


@dataclass(frozen=True)
class Lognormal:
    """Its logarithm is normal: never below zero, with a long tail above."""

    log_mean: float
    log_deviation: float

    @classmethod
    def covering(cls, low: float, high: float, covers: float) -> Lognormal:
        if low <= 0:
            raise ValueError(f"a lognormal spread starts at {low:g}; it must start above 0, or take the shape triangular")
        logs = Normal.covering(math.log(low), math.log(high), covers)
        return cls(logs.mean, logs.deviation)

    @property
    def mean(self) -> float:
        return math.exp(self.log_mean + self.log_deviation**2 / 2)

    @property
    def deviation(self) -> float:
        return self.mean * math.sqrt(math.expm1(self.log_deviation**2))

    def quantile(self, shares: Array) -> Array:
        return np.exp(Normal(self.log_mean, self.log_deviation).quantile(shares))


@dataclass(frozen=True)
class Discrete:
    """One of a few values, in ascending order, each with its probability."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, values: tuple[float, ...], weights: tuple[float, ...]) -> Discrete:
        if len(values) != len(weights) or len(values) < 2:
            raise ValueError(f"a discrete spread has {len(values)} values and {len(weights)} weights; write two or more of each")
        if len(set(values)) < len(values):
            raise ValueError("a discrete spread gives a value twice; add their weights up")
        if min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise ValueError(f"the weights of a discrete spread sum to {sum(weights):.6g}; they are shares from 0 that sum to 1")
        ordered = sorted(zip(values, weights, strict=True))
        return cls(tuple(value for value, _ in ordered), tuple(weight for _, weight in ordered))

    def quantile(self, shares: Array) -> Array:
        upto = np.cumsum(self.weights)
        return np.array(self.values)[np.minimum(np.searchsorted(upto, shares), len(upto) - 1)]


@dataclass(frozen=True)
class Empirical:
    """What was measured, each measurement as likely as any other, in a straight line between neighbours."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: tuple[float, ...]) -> Empirical:
        if len(values) < FEWEST_MEASUREMENTS:
            raise ValueError(f"an empirical spread has {len(values)} values; measure at least {FEWEST_MEASUREMENTS}")
        return cls(tuple(sorted(values)))

    def quantile(self, shares: Array) -> Array:
        found: Array = np.quantile(np.array(self.values), shares)
        return found


Distribution = Uniform | Triangular | Pert | Normal | Lognormal | Discrete | Empirical


@lru_cache(maxsize=1024)
def distribution(
    shape: str | None,
    low: float | None = None,
    base: float | None = None,
    high: float | None = None,
    covers: float = 0.8,
    values: tuple[float, ...] = (),
    weights: tuple[float, ...] = (),
) -> Distribution:
    """The distribution of a shape that has this most likely value and this share between low and high.

    Uniform, normal and lognormal are set by low and high alone, discrete by its values and their weights, and empirical by the
    values that were measured.

    Raises:
        ValueError: a shape that is not known; low, base and high out of order; a share outside 0 to 1; a lognormal from 0 or
            below; weights that are no shares of one; too few measurements.
    """
    if shape not in SHAPES:
        raise ValueError(f"there is no shape '{shape}'; write one of {', '.join(SHAPES)}{did_you_mean(str(shape), SHAPES)}")
    if shape == "discrete":
        return Discrete.of(values, weights)
    if shape == "empirical":
        return Empirical.of(values)
    if low is None or base is None or high is None:
        raise ValueError(f"the shape {shape} needs low, base and high")
    if not low <= base <= high:
        raise ValueError(f"low {low:g}, base {base:g} and high {high:g} are out of order; write low <= base <= high")
    if not 0 < covers <= 1 or (covers == 1 and shape in ("normal", "lognormal")):
        raise ValueError(f"covers is {covers:g}; it is a share above 0 and at most 1, and below 1 for a shape without ends")
    if shape == "triangular":
        return Triangular.covering(low, base, high, covers)
    if shape == "pert":
        return Pert.covering(low, base, high, covers)
    if shape == "uniform":
        return Uniform.covering(low, high, covers)
    if shape == "normal":
        return Normal.covering(low, high, covers)
    return Lognormal.covering(low, high, covers)
