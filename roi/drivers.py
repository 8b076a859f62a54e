"""What moves the answer: the net gain at both ends of each main input's plausible range, and where the answer flips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roi.breakeven import nearest, net_gains
from roi.inputs import inputs
from roi.results import Result
from roi.values import plausible
from roi.words import main_inputs


@dataclass(frozen=True)
class Driver:
    """One main input, all others as they are.

    Attributes:
        name: the input.
        low, high: its plausible range.
        at_low, at_high: the net gain at either end, in USD.
        flips: the value nearest to the present one at which the net gain changes sign; None where no allowed value does it.
    """

    name: str
    low: float
    high: float
    at_low: float
    at_high: float
    flips: float | None

    @property
    def swing(self) -> float:
        return abs(self.at_high - self.at_low)


@lru_cache(maxsize=8)
def drivers(result: Result) -> list[Driver]:
    """The main inputs that have a plausible range, the one that moves the net gain most first."""
    found = []
    for name in main_inputs():
        row = inputs()[name]
        ends = plausible(row, result.proposal.inputs.get(name))
        if ends:
            at_low, at_high = net_gains(result, row, np.array(ends))
            found.append(Driver(name, *ends, float(at_low), float(at_high), nearest(result, name)))
    return sorted(found, key=lambda driver: -driver.swing)


def without_range(result: Result) -> list[str]:
    """Labels of the main inputs that the proposal gives without a plausible range, so that their swing is not known."""
    return [inputs()[name].label for name in main_inputs() if plausible(inputs()[name], result.proposal.inputs.get(name)) is None]
