"""Odds: the model over thousands of draws of its uncertain inputs.

Points are a scrambled Sobol sequence, taken in blocks of fixed size, so that memory stays flat and the same seed gives the same
answer on any number of workers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from roi.inputs import model
from roi.lines import Array
from roi.problems import InputError
from roi.proposals import Proposal
from roi.results import arrays
from roi.uncertain import Uncertain, matrix, uncertain

BLOCK = 1 << 13
"""Draws that are computed at once."""

DRAWS, SEED = 1 << 13, 1
DRAWS_ON_A_PAGE = 1 << 11
"""Draws that a page carries, so that its odds follow the sliders."""

STEPS = (1 << 16) - 1
"""Equal steps from the lowest draw of a fact on a page to its highest, as many as two bytes tell apart."""

FEWEST, MOST = 100, 10_000_000

SCALARS = ("net_gain", "peak_cash_out", "payback_month")
"""The lines of one number each that are kept of every draw."""


@dataclass(frozen=True)
class Outcomes:
    """What came of each draw.

    Attributes:
        net_gain, peak_cash_out: in USD, shaped `(draws,)`.
        payback_month: infinite where a draw does not pay back within the horizon; shaped `(draws,)`.
        cumulative: cash by month in USD, shaped `(draws, months)`.
    """

    net_gain: Array
    peak_cash_out: Array
    payback_month: Array
    cumulative: Array | npt.NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[Outcomes]) -> Outcomes:
        return cls(**{each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)})


@dataclass(frozen=True)
class Simulation:
    """What came of it, in USD where it is money.

    Attributes:
        p05: one draw in twenty is worse; with p10, p50 and p90 a percentile of the net gain.
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
    p05: float
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
    facts = drawable(proposal, draws, seed)
    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(partial(kept, proposal, facts, draws, seed), range(0, draws, BLOCK)))
    return summary(proposal, facts, seed, Outcomes.joined(parts))


def kept(proposal: Proposal, facts: list[Uncertain], draws: int, seed: int, start: int) -> Outcomes:
    """What is kept of the block of draws from number `start` on, which depends on no other block."""
    found = outcomes(proposal, facts, block_of(proposal, facts, start, draws, seed))
    # Millions of draws by month fit into memory in single precision, which is plenty for a fan.
    return replace(found, cumulative=found.cumulative.astype(np.float32))


def drawable(proposal: Proposal, draws: int, seed: int, most: int = MOST) -> list[Uncertain]:
    """The uncertain facts of a proposal, if there are any and this many draws of them, with this seed, are allowed.

    Raises:
        InputError: too few or too many draws, a seed below 0, nothing to draw, or a spread that no distribution has.
    """
    check_draws(draws, seed, most)
    facts = uncertain(proposal)
    if not facts:
        raise InputError(
            "no input of this proposal has a plausible range, so there is nothing to draw; give low and high to some"
        )
    return facts


def check_draws(draws: int, seed: int, most: int = MOST) -> None:
    """Raises InputError for too few or too many draws, or a seed below 0."""
    if not FEWEST <= draws <= most:
        raise InputError(f"draws is {draws:,}; allowed is {FEWEST} to {most:,}")
    if seed < 0:
        raise InputError(f"the seed is {seed}; write a whole number from 0")


def draw_net_gains(proposal: Proposal, facts: list[Uncertain], draws: int, seed: int) -> tuple[Array, Array]:
    """The draws of each fact, shaped `(facts, draws)`, and the net gain of each in USD, shaped `(draws,)`."""
    blocks = [block_of(proposal, facts, start, draws, seed) for start in range(0, draws, BLOCK)]
    return np.concatenate(blocks, axis=1), np.concatenate([net_gains(proposal, facts, values) for values in blocks])


@dataclass(frozen=True)
class Packed:
    """The draws of one fact as a page carries them: steps of equal width from the lowest draw to the highest.

    Attributes:
        low, high: the lowest and the highest draw.
        steps: how many steps each draw lies above the lowest, of `STEPS` in all.
        whole: whether the draws are whole numbers.
    """

    low: float
    high: float
    steps: npt.NDArray[np.uint16]
    whole: bool

    @classmethod
    def of(cls, draws: Array, whole: bool) -> Packed:
        low, high = float(draws.min()), float(draws.max())
        steps = np.rint((draws - low) / ((high - low) or 1.0) * STEPS)
        return cls(low, high, steps.astype("<u2"), whole)

    @property
    def values(self) -> Array:
        """The draws as every page and every file computes with them, by the same arithmetic as in `board.js`."""
        values = self.low + self.steps * (self.high - self.low) / STEPS
        return np.floor(values + 0.5) if self.whole else values

    @property
    def text(self) -> str:
        """The steps in base64, two bytes each, the low one first."""
        return base64.b64encode(self.steps.tobytes()).decode()


@lru_cache(maxsize=16)
def on_a_page(proposal: Proposal) -> tuple[list[Uncertain], list[Packed], Simulation | None]:
    """The facts of a proposal, the few draws of each that its page carries, and what comes of exactly these.

    Returns:
        The facts, their draws, and the odds; None where nothing is uncertain.
    """
    facts = uncertain(proposal)
    if not facts:
        return [], [], None
    values = sample(proposal, facts, points(len(facts), SEED, 0, DRAWS_ON_A_PAGE))
    packed = [Packed.of(drawn, each.row.whole) for each, drawn in zip(facts, values, strict=True)]
    found = outcomes(proposal, facts, np.array([each.values for each in packed]))
    return facts, packed, summary(proposal, facts, SEED, found)


def sample(proposal: Proposal, facts: list[Uncertain], shares: Array) -> Array:
    """Draws of each fact, shaped `(facts, draws)`, from independent points within 0 to 1 shaped `(draws, facts)`.

    Facts that are correlated are joined by a Gaussian copula: their normal scores are mixed, and each keeps its own distribution.
    """
    together = {path for each in proposal.correlations for path in each.between}
    at = [column for column, each in enumerate(facts) if each.path in together]
    if at:
        from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

        mixed = np.linalg.cholesky(matrix(proposal.correlations, [facts[column].path for column in at]))
        shares = shares.copy()
        shares[:, at] = ndtr(ndtri(shares[:, at]) @ mixed.T)
    return np.array([each.draws(share) for each, share in zip(facts, shares.T, strict=True)])


def block_of(proposal: Proposal, facts: list[Uncertain], start: int, draws: int, seed: int) -> Array:
    """The draws of each fact from number `start` on, at most `BLOCK` of all `draws`, as `sample` makes them."""
    return sample(proposal, facts, points(len(facts), seed, start, min(BLOCK, draws - start)))


def outcomes(proposal: Proposal, facts: list[Uncertain], values: Array) -> Outcomes:
    """What comes of each draw of the facts, `values` shaped `(facts, draws)` as `sample` makes them."""
    lines = evaluated(proposal, facts, values, (*SCALARS, "cumulative"))
    return Outcomes(**{name: lines[name][:, 0] for name in SCALARS}, cumulative=lines["cumulative"])


def net_gains(proposal: Proposal, facts: list[Uncertain], values: Array) -> Array:
    """The net gain in USD at each draw of the facts, `values` as `outcomes` takes them; shaped `(draws,)`."""
    return evaluated(proposal, facts, values, ["net_gain"])["net_gain"][:, 0]


def evaluated(proposal: Proposal, facts: list[Uncertain], values: Array, names: Sequence[str]) -> dict[str, Array]:
    """These lines at each draw of the facts, `values` as `outcomes` takes them; shaped `(draws, 1)` or `(draws, months)`."""
    given = arrays(proposal)
    count = values.shape[1]
    for each, drawn in zip(facts, values, strict=True):
        name = each.row.name
        if each.row.axis == "scalar":
            given[name] = each.moved(drawn)
            continue
        if len(given[name]) != count:
            given[name] = np.repeat(given[name], count, axis=0)
        given[name][:, each.columns] = each.moved(drawn)
    found = model().evaluate(given, names)
    return {name: np.broadcast_to(found[name], (count, found[name].shape[1])) for name in names}


def summary(proposal: Proposal, facts: list[Uncertain], seed: int, found: Outcomes) -> Simulation:
    """The odds from what came of all draws of these facts, in the order of the draws."""
    gains = found.net_gain
    p05, p10, p50, p90 = np.quantile(gains, [0.05, 0.1, 0.5, 0.9])
    fan = np.quantile(found.cumulative, [0.1, 0.5, 0.9], axis=0)
    p_gain = float((gains > 0).mean())
    losses = gains[gains < 0]
    return Simulation(
        proposal=proposal.key,
        input_hash=proposal.fingerprint,
        draws=len(gains),
        seed=seed,
        uncertain=tuple(each.path for each in facts),
        p05=float(p05),
        p10=float(p10),
        p50=float(p50),
        p90=float(p90),
        mean=float(gains.mean()),
        p_gain=p_gain,
        p_gain_error=math.sqrt(p_gain * (1 - p_gain) / len(gains)),
        p_payback=float(np.isfinite(found.payback_month).mean()),
        expected_loss=float(-losses.mean()) if losses.size else 0.0,
        peak_cash_out_p90=float(np.quantile(found.peak_cash_out, 0.9)),
        fan={name: row.astype(float).tolist() for name, row in zip(("p10", "p50", "p90"), fan, strict=True)},
    )


@lru_cache(maxsize=4)
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
    found.flags.writeable = False  # the next who asks gets the same
    return found
