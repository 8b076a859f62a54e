"""Break-even: the value of an input at which the net gain is zero, all else as it is."""

from __future__ import annotations

from functools import cache

import numpy as np

from roi.inputs import Input, inputs, model
from roi.lines import Array
from roi.results import Result, arrays

BISECTIONS = 60
"""Halvings of a bracket; each bracket is then as narrow as a double can tell apart."""


@cache
def grid(name: str) -> tuple[float, ...]:
    """Where an input is tried: evenly along its slider, then ever wider apart to the ends of its range."""
    row = inputs()[name]
    low, high, _ = row.slider
    if row.whole:
        return tuple(float(value) for value in np.arange(row.range[0], row.range[1] + 1))
    points = [*np.linspace(low, high, 41)]
    width = high - low
    for end, limit in ((low, row.range[0]), (high, row.range[1])):
        reach = abs(limit - end)
        if reach:
            steps = np.geomspace(min(width / 40, reach), reach, 16)
            points += [*(end + np.sign(limit - end) * steps)]
    return tuple(sorted({float(np.clip(point, *row.range)) for point in points}))


def net_gains(result: Result, row: Input, values: Array) -> Array:
    """Net gain at each value of one input, all others as in the result; shape `(len(values),)`."""
    given = arrays(result.proposal) | {row.name: np.asarray(values, dtype=float)[:, np.newaxis]}
    if row.name == "horizon":
        given["month"] = np.arange(max(values) + 1)[np.newaxis]
    return model().evaluate(given)["net_gain"][:, 0]


def crossings(result: Result, name: str, target: float = 0.0) -> list[float]:
    """Every value of a scalar input, within its range, at which the net gain crosses a target in USD; ascending.

    A whole input crosses at the first whole value on the far side.
    """
    row = inputs()[name]
    points = np.array(grid(name))
    gains = net_gains(result, row, points) >= target
    at = np.flatnonzero(gains[1:] != gains[:-1])
    if row.whole:
        return [float(points[index + 1]) for index in at]
    low, high, left = points[at], points[at + 1], gains[at]
    if len(at):
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            same = (net_gains(result, row, middle) >= target) == left
            low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(value) for value in (low + high) / 2]


def nearest(result: Result, name: str) -> float | None:
    """The crossing nearest to the input's present value, or None where no value in range changes the sign."""
    found = crossings(result, name)
    now = result[name]
    return min(found, key=lambda value: abs(value - now)) if found else None
