"""Odds: the model over thousands of draws of its uncertain inputs.

Points are a scrambled Sobol sequence, taken in blocks of fixed size, so that memory stays flat and the same seed gives the same
answer on any number of workers.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from roi.distributions import Distribution, distribution
from roi.inputs import Input, inputs, model
from roi.lines import Array
from roi.problems import InputError, Problem
from roi.proposals import MovedValue, Proposal, Value, plausible
from roi.results import arrays

BLOCK = 1 << 13
"""Draws that are computed at once."""

DRAWS, SEED = 1 << 13, 1
DRAWS_ON_A_PAGE = 1 << 9
"""Draws that a page carries, so that its odds follow the sliders."""

FEWEST, MOST = 100, 10_000_000


@dataclass(frozen=True)
class Uncertain:
    """One uncertain fact: a scalar input, an input of one region, or a default that several regions take.

    Attributes:
        row: the input.
        path: `latency_saved`, `proposed.europe-west4.gpu_price`, or `default.utilisation`.
        columns: the regions that it is drawn for, in the order of the proposal; 0 alone for a scalar.
        moves: how far its value was moved by hand in each of these.
    """

    row: Input
    path: str
    columns: tuple[int, ...]
    moves: tuple[float, ...]
    spread: Distribution

    def draws(self, shares: Array) -> Array:
        """Values at these quantiles, within what the input allows and whole where it is."""
        found = np.clip(self.spread.quantile(shares), *self.row.range)
        return np.round(found) if self.row.whole else found

    def moved(self, draws: Array) -> Array:
        """The draws as each column has them, shaped `(draws, columns)`: a value that is moved takes its draws along."""
        return np.stack([np.clip(draws + move, *self.row.range) if move else draws for move in self.moves], axis=-1)


@dataclass(frozen=True)
class Simulation:
    """What came of it, in USD where it is money.

    Attributes:
        p_gain: the share of draws with a net gain above zero; `p_gain_error` is the standard error that independent draws
            would have, which a Sobol sequence stays below.
        p_payback: the share that pays back within the horizon.
        expected_loss: the mean net gain of the draws that lose, as a positive number; 0 where none does.
        peak_cash_out_p90: what nine draws in ten do not go beyond.
        fan: cumulative cash by month at the 10th, 50th and 90th percentile.
    """

    proposal: str
    input_hash: str
    draws: int
    seed: int
    uncertain: tuple[str, ...]
    p10: float
    p50: float
    p90: float
    mean: float
    p_gain: float
    p_gain_error: float
    p_payback: float
    expected_loss: float
    peak_cash_out_p90: float
    fan: dict[str, list[float]]


def uncertain(proposal: Proposal) -> list[Uncertain]:
    """The facts of a proposal that have a plausible range, but for what the reader chooses, such as the horizon.

    Regions that take a default take the same one: it is one fact, drawn once for them all. Shares of a fleet sum to 1, so none is
    uncertain alone.

    Raises:
        InputError: a spread that no distribution has; the message names the input.
    """
    found: list[Uncertain] = []
    problems = []

    def add(row: Input, path: str, columns: tuple[int, ...], values: list[Value | None]) -> None:
        origin = _origin(values[0])
        ends, base = plausible(row, origin), origin.base if origin else row.default
        if not ends or ends[0] == ends[1]:
            return
        covers = (origin.covers if origin else None) or (row.spread.covers if row.spread else 0.8)
        shape = (origin.shape if origin else None) or (row.spread.shape if row.spread else "triangular")
        moves = tuple(value.base - base if value else 0.0 for value in values)
        try:
            found.append(Uncertain(row, path, columns, moves, distribution(shape, ends[0], base, ends[1], covers)))
        except ValueError as error:
            problems.append(Problem(f"{path}: {error}"))

    for row in inputs().values():
        if row.chosen:
            continue
        if row.axis == "scalar":
            add(row, row.name, (0,), [proposal.inputs.get(row.name)])
            continue
        said = [proposal.sites[fleet][region].get(row.name) for fleet, region in proposal.regions]
        for column, (fleet, region) in enumerate(proposal.regions):
            if _origin(said[column]):
                add(row, f"{fleet}.{region}.{row.name}", (column,), [said[column]])
        default = tuple(column for column, value in enumerate(said) if not _origin(value))
        if default:
            add(row, f"default.{row.name}", default, [said[column] for column in default])
    if problems:
        raise InputError(problems)
    return found


def _origin(value: Value | None) -> Value | None:
    """What the proposal says, whatever was set by hand since."""
    return value.origin if isinstance(value, MovedValue) else value


def simulate(proposal: Proposal, draws: int = DRAWS, seed: int = SEED, jobs: int = 1) -> Simulation:
    """The odds of a proposal.

    Args:
        proposal: a loaded proposal.
        draws: how many, 100 to 10 million.
        seed: any whole number from 0; the same seed gives the same answer.
        jobs: how many blocks to compute at once; the answer does not depend on it.

    Raises:
        InputError: too few or too many draws, a seed below 0, or a spread that no distribution has.
    """
    if not FEWEST <= draws <= MOST:
        raise InputError(f"draws is {draws:,}; allowed is {FEWEST} to {MOST:,}")
    if seed < 0:
        raise InputError(f"the seed is {seed}; write a whole number from 0")
    facts = uncertain(proposal)
    if not facts:
        raise InputError(
            "no input of this proposal has a plausible range, so there is nothing to draw; give low and high to some"
        )

    def block(start: int) -> tuple[Array, Array, Array, Array]:
        shares = points(len(facts), seed, start, min(BLOCK, draws - start))
        return _outcomes(proposal, facts, np.array([each.draws(share) for each, share in zip(facts, shares.T, strict=True)]))

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(block, range(0, draws, BLOCK)))
    gains, peaks, paybacks, paths = (np.concatenate(outcome) for outcome in zip(*parts, strict=True))
    return _summary(proposal, facts, seed, gains, peaks, paybacks, paths)


def on_a_page(proposal: Proposal) -> tuple[list[Uncertain], Array, Simulation | None]:
    """The facts of a proposal, the few draws of each that its page carries, and what comes of exactly these.

    Returns:
        The facts, their draws shaped `(facts, draws)` to seven figures, and the odds; None where nothing is uncertain.
    """
    facts = uncertain(proposal)
    if not facts:
        return [], np.empty((0, 0)), None
    shares = points(len(facts), SEED, 0, DRAWS_ON_A_PAGE)
    values = np.array([each.draws(share) for each, share in zip(facts, shares.T, strict=True)])
    scale = 10.0 ** (6 - np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values))))
    values = np.round(values * scale) / scale
    return facts, values, _summary(proposal, facts, SEED, *_outcomes(proposal, facts, values))


def _outcomes(proposal: Proposal, facts: list[Uncertain], values: Array) -> tuple[Array, Array, Array, Array]:
    """Net gain, peak cash out and payback of each draw, and its cumulative cash by month in single precision."""
    given = arrays(proposal)
    count = values.shape[1]
    for each, drawn in zip(facts, values, strict=True):
        name = each.row.name
        if len(given[name]) != count:
            given[name] = np.repeat(given[name], count, axis=0)
        given[name][:, each.columns] = each.moved(drawn)
    lines = model().evaluate(given)
    gain, peak, month = (
        np.broadcast_to(lines[name], (count, 1))[:, 0] for name in ("net_gain", "peak_cash_out", "payback_month")
    )
    paths = np.broadcast_to(lines["cumulative"], (count, lines["cumulative"].shape[1])).astype(np.float32)
    return gain, peak, month, paths  # type: ignore[return-value]  # half the precision is half the memory, and plenty for a fan


def _summary(
    proposal: Proposal, facts: list[Uncertain], seed: int, gains: Array, peaks: Array, paybacks: Array, paths: Array
) -> Simulation:
    p10, p50, p90 = np.quantile(gains, [0.1, 0.5, 0.9])
    fan = np.quantile(paths, [0.1, 0.5, 0.9], axis=0)
    p_gain = float((gains > 0).mean())
    losses = gains[gains < 0]
    return Simulation(
        proposal=proposal.key,
        input_hash=proposal.fingerprint,
        draws=len(gains),
        seed=seed,
        uncertain=tuple(each.path for each in facts),
        p10=float(p10),
        p50=float(p50),
        p90=float(p90),
        mean=float(gains.mean()),
        p_gain=p_gain,
        p_gain_error=math.sqrt(p_gain * (1 - p_gain) / len(gains)),
        p_payback=float(np.isfinite(paybacks).mean()),
        expected_loss=float(-losses.mean()) if losses.size else 0.0,
        peak_cash_out_p90=float(np.quantile(peaks, 0.9)),
        fan={name: row.astype(float).tolist() for name, row in zip(("p10", "p50", "p90"), fan, strict=True)},
    )


def points(dimensions: int, seed: int, start: int, count: int) -> Array:
    """Points of the scrambled Sobol sequence from `start` on, within 0 to 1, shaped `(count, dimensions)`."""
    from scipy.stats import qmc  # type: ignore[import-untyped]

    if not dimensions:
        return np.empty((count, 0))
    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    if start:
        sequence.fast_forward(start)
    # One draw of a power of two is what the sequence is balanced for; a shorter last block takes the first of it.
    found: Array = sequence.random(BLOCK)[:count] if count < BLOCK else sequence.random(count)
    return found
