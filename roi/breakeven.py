"""Break-even: the values of one or two inputs at which a line of the answer, such as the net gain, meets a target."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from roi.inputs import Input, inputs, model
from roi.lines import Array
from roi.results import Result
from roi.values import plausible

SECTIONS, NARROWINGS = 32, 14
"""Parts of a bracket that are tried at once, and how often at most; it is then as narrow as a double can tell apart."""

MOST_WHOLE = 1_000
"""Values up to which a whole input is tried at each."""

ALONG_A_CURVE = 33
"""Values of the first of two inputs at which a break-even curve is computed."""


@cache
def grid(name: str) -> tuple[float, ...]:
    """Where an input is tried: at each value of a whole one that has few, else evenly along its slider, then ever wider apart."""
    row = inputs()[name]
    low, high, _ = row.slider
    if row.whole and row.range[1] - row.range[0] < MOST_WHOLE:
        return tuple(float(value) for value in np.arange(row.range[0], row.range[1] + 1))
    points = [*np.linspace(low, high, 41)]
    width = high - low
    for end, limit in ((low, row.range[0]), (high, row.range[1])):
        reach = abs(limit - end)
        if reach:
            steps = np.geomspace(min(width / 40, reach), reach, 16)
            points += [*(end + np.sign(limit - end) * steps)]
    found = np.clip(np.round(points) if row.whole else points, *row.range)
    return tuple(sorted({float(point) for point in found}))


def net_gains(result: Result, row: Input, values: Array) -> Array:
    """Net gain at each value of one input, all others as in the result; shape `(len(values),)`."""
    return along(result, {row.name: values}, "net_gain")


def along(result: Result, changes: Mapping[str, Array], line: str) -> Array:
    """A scalar line at each setting of some scalar inputs, all others as in the result.

    Args:
        changes: the values of each input, all shaped `(settings,)`.
        line: its name.

    Returns:
        Its values in its own unit, shaped `(settings,)`.
    """
    given = result.values | {name: np.asarray(values, dtype=float)[:, np.newaxis] for name, values in changes.items()}
    if "horizon" in changes:
        given["month"] = np.arange(max(changes["horizon"]) + 1)[np.newaxis]
    settings = len(next(iter(changes.values())))
    return np.broadcast_to(model().evaluate(given, [line])[line], (settings, 1))[:, 0]


def crossings(result: Result, name: str, target: float = 0.0, line: str = "net_gain") -> list[float]:
    """Every value of a scalar input, within its range, at which a line crosses a target in the line's unit; ascending.

    A whole input crosses at the first whole value on the far side.
    """
    return _crossings(result, name, {}, target, line)[0]


def nearest(result: Result, name: str, line: str = "net_gain") -> float | None:
    """The crossing of zero nearest to the input's present value, or None where no value in range changes the sign."""
    found = crossings(result, name, line=line)
    now = result[name]
    return min(found, key=lambda value: abs(value - now)) if found else None


def span(result: Result, name: str) -> tuple[float, float]:
    """The plausible range of a scalar input, or the ends of its slider where it has none."""
    row = inputs()[name]
    low, high = plausible(row, result.proposal.inputs.get(name)) or row.slider[:2]
    return (low, high) if low < high else row.slider[:2]


def pair(result: Result, first: str, second: str, target: float = 0.0) -> list[tuple[float, list[float]]]:
    """The break-even curve of two scalar inputs, all others as in the result.

    Returns:
        Values of the first input, evenly over its plausible range or over its slider where it has none, each with every value of
        the second, within its range, at which the net gain crosses a target in USD; none where no value does it.
    """
    values = np.linspace(*span(result, first), ALONG_A_CURVE)
    if inputs()[first].whole:
        values = np.unique(np.round(values))
    return list(zip(values.tolist(), _crossings(result, second, {first: values}, target, "net_gain"), strict=True))


def _crossings(result: Result, name: str, others: Mapping[str, Array], target: float, line: str) -> list[list[float]]:
    """The crossings of an input at each setting of some other inputs, all settings at once; one setting where there are none."""
    row = inputs()[name]
    points = np.array(grid(name))
    settings = max((len(values) for values in others.values()), default=1)
    tried = {name: np.tile(points, settings)} | {other: np.repeat(values, len(points)) for other, values in others.items()}
    meets = (along(result, tried, line) >= target).reshape(settings, len(points))
    at, index = np.nonzero(meets[:, 1:] != meets[:, :-1])
    low, high, left = points[index], points[index + 1], meets[at, index]
    around = {other: np.repeat(values[at], SECTIONS - 1) for other, values in others.items()}
    parts = np.arange(SECTIONS + 1) / SECTIONS
    apart = len(at) and not (row.whole and (high - low <= 1).all())
    for _ in range(NARROWINGS if apart else 0):
        cuts = low[:, np.newaxis] + (high - low)[:, np.newaxis] * parts
        cuts = np.floor(cuts) if row.whole else cuts
        cuts[:, -1] = high
        within = cuts[:, 1:-1]
        if ((within == low[:, np.newaxis]) | (within == high[:, np.newaxis])).all():
            break
        same = (along(result, around | {name: within.ravel()}, line) >= target).reshape(within.shape) == left[:, np.newaxis]
        # The first part at whose end the line is on the other side; the last where none of the cuts is.
        first = np.where(same.all(axis=1), SECTIONS - 1, np.argmin(same, axis=1))
        low, high = (np.take_along_axis(cuts, (first + end)[:, np.newaxis], axis=1)[:, 0] for end in (0, 1))
    found = high if row.whole else (low + high) / 2
    return [found[at == setting].tolist() for setting in range(settings)]
