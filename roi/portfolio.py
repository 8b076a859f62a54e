"""Which of several proposals to fund under a budget: the best set, what more money would buy, and the odds.

What a proposal is worth is its net present value. What it takes from the budget is its peak cash out, the most money that is out
of pocket at any time. A committee approves the upfront cost alone, but running costs that fall due before benefits pay for them
must be found as well. Peaks of several proposals are added, as if all came at once and no benefit of one paid for another: that
is on the safe side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from roi import amounts, words
from roi.choice import LARGEST, Candidate, LeftOut, Selection, listed, names_at_fault, pairs, select
from roi.inputs import inputs
from roi.lines import Array
from roi.problems import InputError, Problem
from roi.proposals import FLEETS, Proposal
from roi.reading import find, load
from roi.results import Result
from roi.simulate import DRAWS, SEED
from roi.together import net_gains


@dataclass(frozen=True)
class Odds:
    """What comes of thousands of draws: net gain in USD.

    Attributes:
        p_gain: the share of draws with a net gain above zero.
        expected_loss: the mean net gain of the draws that lose, as a positive number; 0 where none does.
        draws: how many there are.
    """

    p10: float
    p50: float
    p90: float
    mean: float
    p_gain: float
    expected_loss: float
    draws: int = DRAWS

    @classmethod
    def of(cls, gains: Array) -> Odds:
        p10, p50, p90 = (float(each) for each in np.quantile(gains, [0.1, 0.5, 0.9]))
        losses = gains[gains < 0]
        expected_loss = float(-losses.mean()) if losses.size else 0.0
        return cls(p10, p50, p90, float(gains.mean()), float((gains > 0).mean()), expected_loss)


@dataclass(frozen=True)
class Portfolio:
    """What to fund of some proposals, each by the name under which it was given.

    Attributes:
        candidates: each at its peak cash out and its net present value, to the cent.
        odds: of each by itself.
        together: the odds of the chosen set; None where it is empty.
        shared: the facts that several of the proposals leave at the default, which are drawn once for them all.
        flags: what is odd but legal, as sentences.
    """

    candidates: Mapping[str, Candidate]
    selection: Selection
    odds: Mapping[str, Odds]
    together: Odds | None
    shared: tuple[str, ...]
    seed: int
    flags: tuple[str, ...]


def read(names: Sequence[str]) -> dict[str, Proposal]:
    """The proposals of some paths or shipped names, by these.

    Raises:
        InputError: all that is wrong with them; none or too many; one file given twice, by whatever path.
    """
    problems = [Problem(each) for each in names_at_fault(names)]
    proposals: dict[str, Proposal] = {}
    given: dict[Path, str] = {}
    for name in () if problems else names:
        try:
            file = find(name).resolve()
            if file in given:
                problems.append(Problem(f"{given[file]} and {name} are the same file; give it once"))
            given[file] = name
            proposals[name] = load(name)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return proposals


def read_budget(given: object) -> float:
    """A budget in USD, as a number or as people write it: `3000000`, `3M`, `$3,000,000`.

    Raises:
        ValueError: it is no amount of dollars from 0; the message says what to write instead.
    """
    try:
        if isinstance(given, bool) or not isinstance(given, str | int | float) or "%" in str(given):
            raise ValueError
        budget = amounts.parse_amount(given) if isinstance(given, str) else float(given)
        if not abs(budget) < float("inf"):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"{given!r} is not an amount of dollars; write it like 3000000, 3M or $3,000,000") from None
    if not 0 <= budget <= LARGEST:
        raise ValueError(f"{given} is out of range; allowed is 0 to {amounts.plain(LARGEST)} dollars")
    return budget


def fund(
    proposals: Mapping[str, Proposal],
    budget: float,
    exclusive: Iterable[Collection[str]] = (),
    independent: Iterable[Collection[str]] = (),
    seed: int = SEED,
) -> Portfolio:
    """The proposals that are worth most together within a budget.

    Two proposals that change the same fleet may gain the same hours twice or need each other, so they are not added up unless
    someone says that they can be.

    Args:
        proposals: at most 20, by the names that the groups use.
        budget: USD that may be out of pocket, from 0.
        exclusive: groups of names, of each of which at most one is taken.
        independent: groups of names whose gains count in full beside each other.
        seed: of the odds, from 0; the same seed gives the same answer.

    Raises:
        InputError: what `select` refuses; two proposals of one fleet that no group declares, or two that are declared to be both;
            what `net_gains` refuses; a seed below 0.
    """
    if seed < 0:
        raise InputError(f"the seed is {seed}; write a whole number from 0")
    apart, added = pairs(exclusive, proposals, "exclusive"), pairs(independent, proposals, "independent")
    problems = []
    for first, second in combinations(proposals, 2):
        pair = frozenset((first, second))
        why = _entangled(first, proposals[first], second, proposals[second])
        if pair in apart & added:
            problems.append(f"{first} and {second} are declared both exclusive and independent; keep one of the two")
        elif why and pair not in apart | added:
            problems.append(
                f"{why}. Declare them exclusive, if at most one is to be taken (--exclusive {first},{second}), or independent, "
                f"if each gains as much beside the other (--independent {first},{second})"
            )
    if problems:
        raise InputError([Problem(each) for each in problems])
    results = {name: Result(proposal) for name, proposal in proposals.items()}
    candidates = {name: Candidate(name, round(each.peak_cash_out, 2), round(each.npv, 2)) for name, each in results.items()}
    selection = select([*candidates.values()], budget, apart)
    gains, shared = net_gains(proposals, seed)
    chosen = [gains[name] for name in selection.chosen.names]
    return Portfolio(
        candidates=candidates,
        selection=selection,
        odds={name: Odds.of(each) for name, each in gains.items()},
        together=Odds.of(np.sum(chosen, axis=0)) if chosen else None,
        shared=shared,
        seed=seed,
        flags=_flags(proposals),
    )


def _entangled(first: str, one: Proposal, second: str, other: Proposal) -> str:
    """Why the gains of two proposals may not simply be added; nothing where they may."""
    baseline, proposed = ([_fleet(each, fleet) for each in (one, other)] for fleet in FLEETS)
    if baseline[0] == baseline[1]:
        regions = listed(one.sites["baseline"])
        return f"{first} and {second} start from one fleet ({regions}, with the same figures), so they may gain the same twice"
    if baseline[1] == proposed[0]:
        return f"{second} starts from the fleet that {first} proposes, so it may gain nothing without {first}"
    if baseline[0] == proposed[1]:
        return f"{first} starts from the fleet that {second} proposes, so it may gain nothing without {second}"
    return ""


def _fleet(proposal: Proposal, fleet: str) -> dict[str, list[float]]:
    """The numbers of each region, the default where the file gives none."""
    names = [row.name for row in inputs().values() if row.axis == "site"]
    return {region: [proposal.site_number(fleet, region, name) for name in names] for region in proposal.sites[fleet]}


def _flags(proposals: Mapping[str, Proposal]) -> tuple[str, ...]:
    """Sentences on what the reader chooses, such as the horizon, where it is not the same for all."""
    flags = []
    for row in inputs().values():
        if row.chosen and len({proposal.number(row.name) for proposal in proposals.values()}) > 1:
            each = ", ".join(f"{name} {row.show(proposal.number(row.name))}" for name, proposal in proposals.items())
            flags.append(f"{row.label} is not the same for all ({each}), so that they are not quite comparable.")
    return tuple(flags)


# --- what people and programs read ------------------------------------------------------------------------------------------

REASONS = {
    "loses": "its net present value is below zero",
    "adds nothing": "its net present value is zero",
    "too dear": "it takes more than the whole budget",
    "excluded": "at most one of it and {beside} is taken",
    "does not fit": "what the chosen leave of the budget is not enough",
}


def reason(left_out: LeftOut) -> str:
    """Why a proposal is left out, and what the best set with it would be worth."""
    why = REASONS[left_out.why].format(beside=listed(left_out.beside))
    if left_out.with_it is None:
        return why
    less = -left_out.with_it.difference
    return f"{why}; the best set with it is worth {amounts.exact_money(less) + ' less' if less else 'as much'}"


def sentences(found: Portfolio) -> list[str]:
    """What to fund, first; then what a bit more or less money would change, and the odds."""
    selection, chosen, money = found.selection, found.selection.chosen, amounts.exact_money
    said = [
        f"Fund {listed(chosen.names)}: net present value {money(chosen.value)}, at most {money(chosen.cost)} out of pocket, of a "
        f"budget of {money(selection.budget)}."
        if chosen.names
        else f"Fund none of these: with {money(selection.budget)} out of pocket none has a net present value above zero."
    ]
    said += [f"As good: {listed(each.names)}, at most {money(each.cost)} out of pocket." for each in selection.as_good]
    if selection.as_good_count > len(selection.as_good):
        said.append(f"So are {selection.as_good_count - len(selection.as_good):,} more sets.")
    if more := selection.with_more:
        said.append(
            f"A bit more: from {money(more.cost)} on, {money(more.cost - selection.budget)} more, the best is "
            f"{listed(more.names)}, worth {money(more.difference)} more."
        )
    else:
        said.append("A bit more: no larger budget changes the choice.")
    if less := selection.with_less:
        said.append(
            f"The last dollars: on less than {money(chosen.cost)} the best is {listed(less.names) or 'to fund none'}, worth "
            f"{money(-less.difference)} less."
        )
    if found.together:
        said.append(f"{words.odds_sentence(found.together)} The median is {amounts.money(found.together.p50)}.")
    return [*said, *(f"Flag: {flag}" for flag in found.flags)]


def drawn(found: Portfolio) -> str:
    """Which facts are one and the same for several proposals."""
    own = "What a proposal gives itself is drawn for it alone."
    return f"Drawn once for all that leave it at the default: {', '.join(found.shared)}. {own}" if found.shared else own


HEADINGS = ("Proposal", "Peak cash out", "Net present value", "Decision")


def rows(found: Portfolio) -> list[tuple[str, str, str, str]]:
    """Each proposal's name, peak cash out, net present value and whether to fund it or why not, the chosen first."""
    left_out = found.selection.left_out
    order = sorted(found.candidates.values(), key=lambda each: each.name in left_out)
    return [
        (
            each.name,
            amounts.exact_money(each.cost),
            amounts.exact_money(each.value),
            f"leave out: {reason(left_out[each.name])}" if each.name in left_out else "fund",
        )
        for each in order
    ]


def contents(found: Portfolio) -> dict[str, Any]:
    """All of it as plain values, amounts in USD."""
    return asdict(found.selection) | {
        "left_out": {name: asdict(each) | {"reason": reason(each)} for name, each in found.selection.left_out.items()},
        "proposals": {
            name: {"peak_cash_out": each.cost, "npv": each.value, "net_gain": asdict(found.odds[name])}
            for name, each in found.candidates.items()
        },
        "net_gain": asdict(found.together) if found.together else None,
        "shared": found.shared,
        "draws": DRAWS,
        "seed": found.seed,
        "flags": found.flags,
    }
