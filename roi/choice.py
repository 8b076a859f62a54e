"""The best set of things to be had for a budget, and how it changes with a little more or less.

Every set is looked at, so that what is said of the best one, of those as good, and of the budgets at which it changes is exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from roi import amounts
from roi.lines import did_you_mean
from roi.problems import InputError, Problem

Mask = npt.NDArray[np.bool_]

MOST = 20
"""Candidates among which a choice is made: they have a million sets."""

LARGEST = 1e15
"""USD; a larger number no longer holds its cents."""

LISTED = 5
"""Sets as good as the chosen one that are named."""


@dataclass(frozen=True)
class Candidate:
    """What can be chosen, with what it costs and what it is worth, in USD."""

    name: str
    cost: float
    value: float


@dataclass(frozen=True)
class Choice:
    """A set of candidates in the order in which they were given, with sums in USD.

    Attributes:
        difference: its value less that of the best set within the budget.
    """

    names: tuple[str, ...]
    cost: float
    value: float
    difference: float


@dataclass(frozen=True)
class LeftOut:
    """Why a candidate is not chosen.

    Attributes:
        beside: the chosen ones that exclude it.
        with_it: the best set within the budget that holds it; None where it is worth nothing or is too dear by itself.
    """

    why: Literal["loses", "adds nothing", "too dear", "excluded", "does not fit"]
    beside: tuple[str, ...] = ()
    with_it: Choice | None = None


@dataclass(frozen=True)
class Selection:
    """The best set within a budget in USD, and how it would change.

    Attributes:
        as_good: a few other sets of the same value within the budget, the cheapest first; `as_good_count` is how many there are.
        with_less: the best set on a budget just below the cost of the chosen one; None where that costs nothing.
        with_more: the best set on the next budget at which the best set changes, which is its cost; None where none is better.
    """

    budget: float
    chosen: Choice
    as_good: tuple[Choice, ...]
    as_good_count: int
    left_out: dict[str, LeftOut]
    with_less: Choice | None
    with_more: Choice | None


def select(candidates: Sequence[Candidate], budget: float, exclusive: Iterable[Collection[str]] = ()) -> Selection:
    """The set of candidates that is worth most within a budget. What loses or adds nothing is never in it.

    Sums are those of the decimals as written, so that 0.1 and 0.2 fit into 0.3. Of sets worth the same the cheapest is chosen,
    then the one that holds the candidates given first.

    >>> select([Candidate("A", 6, 3.0), Candidate("B", 4, 2.4), Candidate("C", 6, 3.3)], budget=10).chosen
    Choice(names=('B', 'C'), cost=10.0, value=5.7, difference=0.0)

    Args:
        candidates: 1 to 20.
        budget: USD, from 0.
        exclusive: groups of names, of each of which at most one is taken.

    Raises:
        InputError: none or too many candidates, or one twice; a negative cost or budget, or what is no amount; a group that names
            what is no candidate.
    """
    names = [each.name for each in candidates]
    problems = [*names_at_fault(names), *_amounts_at_fault(candidates, budget)]
    if problems:
        raise InputError([Problem(each) for each in problems])
    apart = pairs(exclusive, names, "exclusive")
    sets = _Sets([each for each in candidates if each.value > 0], budget, apart)
    best = sets.best(sets.within)
    chosen = sets.choice(best, best)
    as_good = [int(index) for index in np.flatnonzero(sets.within & (sets.values == sets.values[best])) if index != best]
    as_good.sort(key=lambda index: (sets.costs[index], -sets.bits[index]))
    cheaper, better = sets.costs < sets.costs[best], sets.values > sets.values[best]

    def left_out(each: Candidate) -> LeftOut:
        if each.value <= 0:
            return LeftOut("loses" if each.value < 0 else "adds nothing")
        if each.cost > budget:
            return LeftOut("too dear")
        beside = tuple(name for name in chosen.names if frozenset((name, each.name)) in apart)
        with_it = sets.choice(sets.best(sets.within & sets.holding(each.name)), best)
        return LeftOut("excluded" if beside else "does not fit", beside, with_it)

    return Selection(
        budget=float(budget),
        chosen=chosen,
        as_good=tuple(sets.choice(index, best) for index in as_good[:LISTED]),
        as_good_count=len(as_good),
        left_out={each.name: left_out(each) for each in candidates if each.name not in chosen.names},
        with_less=sets.choice(sets.best(cheaper), best) if cheaper.any() else None,
        with_more=sets.choice(sets.best(sets.costs <= sets.costs[better].min()), best) if better.any() else None,
    )


class _Sets:
    """Every allowed set of some candidates that are all worth something, the empty one included.

    Attributes:
        bits: which candidates each set holds; the first candidate has the highest bit.
        costs, values: exact, as whole numbers of some small unit.
        within: whether the budget is enough for it.
    """

    def __init__(self, candidates: Sequence[Candidate], budget: float, apart: Iterable[frozenset[str]]) -> None:
        self._candidates = candidates
        self._bit = {each.name: 1 << place for place, each in enumerate(reversed(candidates))}
        bits = np.arange(1 << len(candidates))
        allowed = np.ones(len(bits), bool)
        for pair in apart:
            if pair <= self._bit.keys():
                both = sum(self._bit[name] for name in pair)
                allowed &= (bits & both) != both
        *costs, limit = _whole([*(each.cost for each in candidates), budget])
        self.bits = bits[allowed]
        self.costs = _sums(costs)[allowed]
        self.values = _sums(_whole([each.value for each in candidates]))[allowed]
        self.within: Mask = self.costs <= min(limit, sum(costs))

    def holding(self, name: str) -> Mask:
        found: Mask = (self.bits & self._bit[name]) != 0
        return found

    def best(self, among: Mask) -> int:
        """The set worth most among some; of several the cheapest, and of these the one with the candidates given first."""
        for key in (self.values, -self.costs, self.bits):
            among = among & (key == key[among].max())
        return int(np.flatnonzero(among)[0])

    def choice(self, index: int, best: int) -> Choice:
        held, compared = ([each for each in self._candidates if self.bits[at] & self._bit[each.name]] for at in (index, best))
        value = sum(_exact(each.value) for each in held)
        return Choice(
            names=tuple(each.name for each in held),
            cost=float(sum(_exact(each.cost) for each in held)),
            value=float(value),
            difference=float(value - sum(_exact(each.value) for each in compared)),
        )


def _exact(amount: float) -> Fraction:
    """The decimal as which a number is written: for 0.1 a tenth, which no binary number is."""
    return Fraction(repr(float(amount)))


def _whole(numbers: Iterable[float]) -> list[int]:
    """Numbers in a unit of which each is a whole multiple."""
    exact = [_exact(each) for each in numbers]
    parts = math.lcm(*(each.denominator for each in exact))
    return [int(each * parts) for each in exact]


def _sums(numbers: list[int]) -> npt.NDArray[Any]:
    """The sum of every set of numbers from 0, in the order of `_Sets.bits`; of Python's whole numbers where they are large."""
    sums = np.zeros(1, np.int64 if sum(numbers) < 1 << 62 else object)
    for each in reversed(numbers):
        sums = np.concatenate([sums, sums + each])
    return sums


def names_at_fault(names: Sequence[str]) -> list[str]:
    """What is wrong with the names of candidates: none, too many, one twice."""
    if not names:
        return ["there is nothing to choose from; name at least one proposal"]
    if len(names) > MOST:
        return [f"{len(names)} proposals are more than can be weighed against each other exactly; give at most {MOST}"]
    return [f"{name} is given {count} times; give it once" for name, count in Counter(names).items() if count > 1]


def _amounts_at_fault(candidates: Iterable[Candidate], budget: float) -> list[str]:
    asked = [("the budget", budget, 0.0)]
    for each in candidates:
        asked += [(f"{each.name}: the cost", each.cost, 0.0), (f"{each.name}: the value", each.value, -LARGEST)]
    return [
        f"{what} is {number}; write a number from {amounts.plain(least)} to {amounts.plain(LARGEST)}"
        for what, number, least in asked
        if not least <= number <= LARGEST  # which not a number is not either
    ]


def pairs(groups: Iterable[Collection[str]], names: Collection[str], word: str) -> set[frozenset[str]]:
    """Every two names that some group holds.

    Args:
        groups: each of two or more names.
        names: those that there are.
        word: what the groups are, such as `exclusive`, to stand before what is wrong with them.

    Raises:
        InputError: a group of fewer names, one with a name twice, or one with a name that there is not.
    """
    found: set[frozenset[str]] = set()
    problems = []
    for group in groups:
        unknown = [name for name in group if name not in names]
        if len(group) < 2 or len(set(group)) < len(group):
            problems.append(Problem(f"'{','.join(group)}' does not name two different proposals; write it like A,B", word))
        for name in unknown:
            hint = did_you_mean(name, names) or f"; given are {listed(names)}"
            problems.append(Problem(f"'{name}' is not among the proposals{hint}", word))
        found |= {frozenset(pair) for pair in combinations(group, 2)}
    if problems:
        raise InputError(problems)
    return found


def listed(names: Iterable[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last
