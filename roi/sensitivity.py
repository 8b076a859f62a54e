"""Sensitivity: how much of the variance of the net gain each uncertain fact is answerable for, alone and with others.

Sobol' indices (Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics Communications 181, 2010)
share the variance out between facts that move on their own. Where some are correlated there is no such share, and PAWN (Pianosi
and Wagener, Environmental Modelling & Software 108, 2018) or delta (Borgonovo, Reliability Engineering & System Safety 92, 2007)
says how far knowing a fact moves the distribution of the net gain. SALib computes all three; it takes a second to import, so that
it is imported only where it is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from roi.lines import Array, did_you_mean
from roi.problems import InputError
from roi.proposals import Proposal
from roi.results import ZERO
from roi.simulate import BLOCK, SEED, draw_net_gains, drawable, net_gains, sample
from roi.uncertain import Uncertain, uncertain
from roi.values import origin_of

METHODS = {"sobol": (1 << 10, 1 << 14), "pawn": (1 << 14, 1 << 17), "delta": (1 << 10, 1 << 13)}
"""Draws by default and at most. Sobol' evaluates the model draws x (facts + 2) times; delta takes minutes for many draws."""

RESAMPLES = 10
"""Bootstrap samples of delta; each is as dear as the estimate itself."""

TRIED = 1 << 8
"""Draws in which a fact without effect moves nothing."""


@dataclass(frozen=True)
class Estimate:
    """A value with what it lies between: 95 % confidence, or for PAWN the lowest and the highest slice."""

    value: float
    low: float
    high: float

    @classmethod
    def each(cls, values: Array, halves: Array) -> list[Estimate]:
        """Estimates from values and the half widths of their intervals."""
        return [cls(value, value - half, value + half) for value, half in zip(values.tolist(), halves.tolist(), strict=True)]


@dataclass(frozen=True)
class Influence:
    """How one fact moves the net gain, by the name of each measure: first_order and total, or pawn, or delta."""

    path: str
    label: str
    measures: dict[str, Estimate]


@dataclass(frozen=True)
class Sensitivity:
    """How each fact moves the net gain.

    Attributes:
        method: sobol, pawn or delta.
        asked: whether the method was asked for, or follows from what is correlated.
        correlated: the pairs of paths that are correlated.
        facts: in the order of `uncertain`.
        interactions: the share of the variance that no fact is answerable for alone; None but for Sobol'.
        without_effect: paths of the facts that have a range but do not move the net gain.
    """

    proposal: str
    input_hash: str
    method: str
    asked: bool
    correlated: tuple[tuple[str, str], ...]
    draws: int
    seed: int
    facts: tuple[Influence, ...]
    interactions: float | None
    without_effect: tuple[str, ...]


def sensitivity(proposal: Proposal, method: str | None = None, draws: int | None = None, seed: int = SEED) -> Sensitivity:
    """How each uncertain fact of a proposal moves its net gain.

    Args:
        proposal: a loaded proposal.
        method: sobol, pawn or delta; by default sobol where nothing is correlated, and pawn where something is: delta, which
            estimates a density for each slice and resample, takes many times as long and is further
            from 0 for a fact without effect.
        draws: how many of each fact, a power of 2 for sobol; by default as many as the method needs.
        seed: any whole number from 0; the same seed gives the same answer.

    Raises:
        InputError: an unknown method; sobol where facts are correlated; too few or too many draws, or no power of 2; a seed below
            0; nothing to draw; a spread that no distribution has.
    """
    correlated = tuple(each.between for each in proposal.correlations if each.coefficient)
    chosen = ("pawn" if correlated else "sobol") if method is None else method
    if chosen not in METHODS:
        raise InputError(f"there is no method '{chosen}'; write one of {', '.join(METHODS)}{did_you_mean(chosen, METHODS)}")
    if chosen == "sobol" and correlated:
        pairs = "; ".join(" and ".join(pair) for pair in correlated)
        raise InputError(
            "the method sobol shares the variance out between facts that move on their own, and these are correlated: "
            f"{pairs}; write pawn or delta"
        )
    usual, most = METHODS[chosen]
    draws = usual if draws is None else draws
    facts = drawable(proposal, draws, seed, most)
    if chosen == "sobol" and draws & (draws - 1):
        raise InputError(f"draws is {draws:,}; the method sobol takes a power of 2, such as {1 << draws.bit_length():,}")
    measures, interactions = _measures(proposal, facts, chosen, draws, seed)
    return Sensitivity(
        proposal=proposal.key,
        input_hash=proposal.fingerprint,
        method=chosen,
        asked=method is not None,
        correlated=correlated,
        draws=draws,
        seed=seed,
        facts=tuple(Influence(each.path, each.label, of) for each, of in zip(facts, measures, strict=True)),
        interactions=interactions,
        without_effect=tuple(_unmoving(proposal, facts, range(len(facts)))),
    )


def _measures(
    proposal: Proposal, facts: list[Uncertain], method: str, draws: int, seed: int
) -> tuple[list[dict[str, Estimate]], float | None]:
    """The measures of each fact, and for Sobol' the share of interactions."""
    if method == "sobol":
        first, total = sobol(lambda at: net_gains(proposal, facts, sample(proposal, facts, at)), len(facts), draws, seed)
        both = [{"first_order": alone, "total": together} for alone, together in zip(first, total, strict=True)]
        moved = any(each.value for each in total)
        return both, max(0.0, 1 - sum(each.value for each in first)) if moved else 0.0
    values, gains = draw_net_gains(proposal, facts, draws, seed)
    found = pawn(values, gains) if method == "pawn" else delta(values, gains, seed)
    return [{method: each} for each in found], None


def sobol(function: Callable[[Array], Array], facts: int, draws: int, seed: int) -> tuple[list[Estimate], list[Estimate]]:
    """First-order and total Sobol' indices of each fact: its share of the variance alone, and with what it acts together with.

    Args:
        function: takes points within 0 to 1 shaped `(count, facts)` and returns a number for each, shaped `(count,)`. It is given
            some thousands at a time, so that memory stays flat.
        facts: how many.
        draws: a power of 2; the function is evaluated at draws x (facts + 2) points.
        seed: from 0.
    """
    from SALib.analyze import sobol as analyze  # type: ignore[import-untyped]

    problem, points = _problem(facts), _saltelli(facts, draws, seed)
    found = np.concatenate([function(points[start : start + BLOCK]) for start in range(0, len(points), BLOCK)])
    if np.ptp(found) == 0:  # no variance to share out
        return [Estimate(0.0, 0.0, 0.0)] * facts, [Estimate(0.0, 0.0, 0.0)] * facts
    # SALib takes a seed of 0 for none.
    indices = analyze.analyze(problem, found, calc_second_order=False, seed=seed + 1)
    return Estimate.each(indices["S1"], indices["S1_conf"]), Estimate.each(indices["ST"], indices["ST_conf"])


@lru_cache(maxsize=2)
def _saltelli(facts: int, draws: int, seed: int) -> Array:
    """The points at which Sobol' indices are found, shaped `(draws x (facts + 2), facts)`."""
    from SALib.sample import sobol as saltelli  # type: ignore[import-untyped]

    found: Array = saltelli.sample(_problem(facts), draws, calc_second_order=False, seed=seed)
    found.flags.writeable = False  # the next who asks gets the same
    return found


def pawn(values: Array, gains: Array) -> list[Estimate]:
    """PAWN index of each fact: the distance between the distribution of the gains and that of the gains in a slice of the fact.

    It is the largest difference of the two cumulative distributions, 0 to 1; the median over ten slices.

    Args:
        values: draws of each fact, shaped `(facts, draws)`; they may be correlated.
        gains: shaped `(draws,)`.
    """
    from SALib.analyze import pawn as analyze

    with warnings.catch_warnings():
        # Of thousands of draws the test that SALib calls has no exact p-value, which is not used here.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = analyze.analyze(_problem(len(values)), _ranks(values), gains)
    ordered = zip(found["median"].tolist(), found["minimum"].tolist(), found["maximum"].tolist(), strict=True)
    return [Estimate(*each) for each in ordered]


def delta(values: Array, gains: Array, seed: int) -> list[Estimate]:
    """Delta of each fact: the area between the density of the gains and that of the gains in a slice of the fact, 0 to 1.

    Args:
        values: draws of each fact, shaped `(facts, draws)`; they may be correlated.
        gains: shaped `(draws,)`.
        seed: from 0.
    """
    from SALib.analyze import delta as analyze

    if np.ptp(gains) == 0:  # no density
        return [Estimate(0.0, 0.0, 0.0)] * len(values)
    # SALib seeds the generator that the whole process shares, and changes how the process warns: both are put back.
    state, form = np.random.get_state(), warnings.formatwarning
    try:
        with warnings.catch_warnings(record=True):
            # It takes a seed of 0 for none, and NumPy takes 32 bits.
            seed = seed % (2**32 - 1) + 1
            problem, ranks = _problem(len(values)), _ranks(values)
            found = analyze.analyze(problem, ranks, gains, num_resamples=RESAMPLES, method="delta", seed=seed)
    finally:
        np.random.set_state(state)
        warnings.formatwarning = form
    return Estimate.each(found["delta_raw"], found["delta_raw_conf"])


def _problem(facts: int) -> dict[str, Any]:
    """What SALib calls a problem: facts within 0 to 1."""
    return {"num_vars": facts, "names": [f"fact {index}" for index in range(facts)], "bounds": [[0, 1]] * facts}


def _ranks(values: Array) -> npt.NDArray[np.intp]:
    """The rank of each draw from 1, ties in the order of the draws, shaped `(draws, facts)`.

    Both measures depend on nothing else, and slices of equally many ranks leave out no value of a discrete fact.
    """
    return values.argsort(axis=1, kind="stable").argsort(axis=1).T + 1


def without_effect(proposal: Proposal) -> list[str]:
    """Paths of the facts that the proposal gives a range, not a default's, which does not move the net gain in any of 256 draws.

    Raises:
        InputError: a spread that no distribution has.
    """

    def given(fact: Uncertain) -> bool:
        if fact.row.axis == "scalar":
            return origin_of(proposal.inputs.get(fact.row.name)) is not None
        return not fact.path.startswith("default.")

    facts = uncertain(proposal)
    return _unmoving(proposal, facts, [index for index, each in enumerate(facts) if given(each)])


def _unmoving(proposal: Proposal, facts: list[Uncertain], asked: Sequence[int]) -> list[str]:
    """Paths of the facts, among those asked for, that move the net gain by less than half a cent when each is drawn anew."""
    if not asked:
        return []
    # Plain random numbers, since a command that draws nothing else should not wait for SciPy.
    shares = np.random.default_rng(SEED).random((TRIED, len(facts)))
    values = np.array([each.draws(share) for each, share in zip(facts, shares.T, strict=True)])
    gains = net_gains(proposal, facts, values)
    found = []
    for index in asked:
        anew = values.copy()
        # From end to end, so that a value that is rarely drawn is among them.
        anew[index] = np.resize(facts[index].draws(np.array([1e-9, 1 - 1e-9])), TRIED)
        if (abs(net_gains(proposal, facts, anew) - gains) < ZERO).all():
            found.append(facts[index].path)
    return found
