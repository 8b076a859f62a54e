"""Value of information: what it is worth, at most, to measure a fact before the decision.

The decision is to fund or to do nothing, which gains 0. Who knows a fact beforehand chooses better in those draws in which the
choice would otherwise be the wrong one; what that gains on average is what measuring is worth. The payoff is the net gain, which
is not discounted, as in the headline. No measurement is perfect and none is free, so each figure is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roi.lines import Array
from roi.proposals import Proposal
from roi.simulate import DRAWS, SEED, draw_net_gains, drawable

MOST = 1_000_000
"""Draws; all of them are kept, to be put in the order of each fact."""


@dataclass(frozen=True)
class Worth:
    """What measuring one fact first is worth at most, its EVPPI, in USD."""

    path: str
    label: str
    evppi: float


@dataclass(frozen=True)
class Information:
    """What measuring is worth at most, in USD.

    Attributes:
        evpi: expected value of perfect information, of knowing every fact.
        facts: expected value of partial perfect information, of knowing one; the one that is worth most first.
    """

    proposal: str
    input_hash: str
    draws: int
    seed: int
    evpi: float
    facts: tuple[Worth, ...]

    @property
    def worthwhile(self) -> tuple[Worth, ...]:
        """The facts whose worth does not round to $0."""
        return tuple(each for each in self.facts if each.evppi >= 0.5)


def value_of_measuring(proposal: Proposal, draws: int = DRAWS, seed: int = SEED) -> Information:
    """What it is worth at most to measure each uncertain fact before the proposal is funded or not.

    Of correlated facts it includes what one says about the other.

    Args:
        proposal: a loaded proposal.
        draws: how many, 100 to a million.
        seed: any whole number from 0; the same seed gives the same answer.

    Raises:
        InputError: too few or too many draws, a seed below 0, nothing to draw, or a spread that no distribution has.
    """
    facts = drawable(proposal, draws, seed, MOST)
    values, gains = draw_net_gains(proposal, facts, draws, seed)
    found = [Worth(each.path, each.label, evppi(gains, row)) for each, row in zip(facts, values, strict=True)]
    return Information(
        proposal=proposal.key,
        input_hash=proposal.fingerprint,
        draws=draws,
        seed=seed,
        evpi=evpi(gains),
        facts=tuple(sorted(found, key=lambda each: -each.evppi)),
    )


def evpi(gains: Array) -> float:
    """Expected value of perfect information: mean of the best gain of each draw, less the best of the mean gains.

    Args:
        gains: of funding, shaped `(draws,)`, against doing nothing; or of each option, shaped `(draws, options)`.
    """
    # A row for each option: NumPy is many times slower along rows of two.
    options = np.ascontiguousarray(gains.T) if gains.ndim == 2 else np.array([gains, np.zeros_like(gains)])
    # As the mean regret of the choice that is best on average, no rounding takes it below 0 or leaves a rest of it.
    return float((options.max(axis=0) - options[options.mean(axis=1).argmax()]).mean())


def evppi(gains: Array, values: Array) -> float:
    """Expected value of partial perfect information, of knowing one fact: the EVPI of what the gains are expected to be given it.

    That expectation is a regression of the gains on the fact's values, without a further draw: their mean in groups of draws with
    equal or neighbouring values, as in Strong and Oakley, "An efficient method for computing single-parameter partial expected
    value of perfect information", Medical Decision Making 33 (2013). Means of groups keep the mean of the gains and shrink their
    spread, so by Jensen's inequality 0 <= EVPPI <= EVPI whatever the gains are, which a spline does not promise.

    Args:
        gains: as in `evpi`.
        values: the fact's draws, shaped `(draws,)`.
    """
    group = _groups(values)
    sizes = np.maximum(np.bincount(group), 1)
    columns = gains if gains.ndim == 2 else gains[:, np.newaxis]
    means = np.column_stack([np.bincount(group, column) / sizes for column in columns.T])[group]
    # Only the rounding of the means can take it above.
    return min(evpi(means if gains.ndim == 2 else means[:, 0]), evpi(gains))


def _groups(values: Array) -> npt.NDArray[np.intp]:
    """The group of each draw, from 0: one for each value if they are few, else equally many neighbours; equals are together.

    There are at most 2 n^(1/3) groups for n draws (the Rice rule), which balances what is lost within a group against the noise
    of its mean.
    """
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    most = round(2 * len(values) ** (1 / 3))
    if len(counts) > most:
        middles = (np.cumsum(counts) - counts / 2) / len(values)
        group = (middles * most).astype(int)[group]
    return group
