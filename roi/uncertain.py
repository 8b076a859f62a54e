"""What is uncertain about a proposal: each fact with its distribution, and which facts move together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from roi.distributions import Distribution, distribution
from roi.inputs import Input, inputs
from roi.lines import Array, did_you_mean
from roi.problems import InputError, Problem
from roi.values import Value, origin_of, stated_spread

if TYPE_CHECKING:
    from roi.proposals import Proposal


@dataclass(frozen=True)
class Uncertain:
    """One uncertain fact: a scalar input, an input of one region, or a default that several regions take.

    Attributes:
        row: the input.
        path: `latency_saved`, `proposed.europe-west4.gpu_price`, or `default.utilisation`.
        columns: the regions that it is drawn for, in the order of the proposal; 0 alone for a scalar.
        moves: how far its value was moved by hand in each of these.
        stated: what is said of its spread, as `distribution` takes it.
    """

    row: Input
    path: str
    columns: tuple[int, ...]
    moves: tuple[float, ...]
    stated: dict[str, Any]

    @cached_property
    def spread(self) -> Distribution:
        """Raises ValueError for a spread that no distribution has."""
        return distribution(**self.stated)

    def draws(self, shares: Array) -> Array:
        """Values at these quantiles, within what the input allows and whole where it is."""
        found = np.clip(self.spread.quantile(shares), *self.row.range)
        return np.round(found) if self.row.whole else found

    def moved(self, draws: Array) -> Array:
        """The draws as each column has them, shaped `(draws, columns)`: a value that is moved takes its draws along."""
        return np.stack([np.clip(draws + move, *self.row.range) if move else draws for move in self.moves], axis=-1)


@dataclass(frozen=True)
class Correlation:
    """Two facts that move together.

    Attributes:
        between: their paths.
        coefficient: the correlation of their normal scores, above -1 and below 1; for two lognormal facts, of their logarithms.
    """

    between: tuple[str, str]
    coefficient: float
    source: str = ""


def stated_facts(proposal: Proposal) -> Iterator[Uncertain]:
    """The facts of a proposal of which a spread is stated, but for what the reader chooses, such as the horizon.

    Regions that take a default take the same one: it is one fact, drawn once for them all. Shares of a fleet sum to 1, so none is
    uncertain alone.
    """

    def fact(row: Input, path: str, columns: tuple[int, ...], values: Sequence[Value | None]) -> Iterator[Uncertain]:
        origin = origin_of(values[0])
        stated = stated_spread(row, origin)
        if stated and stated.get("low", 0) != stated.get("high", 1):
            base = origin.base if origin else row.default
            moves = tuple(value.base - base if value else 0.0 for value in values)
            yield Uncertain(row, path, columns, moves, stated)

    for row in inputs().values():
        if row.chosen:
            continue
        if row.axis == "scalar":
            yield from fact(row, row.name, (0,), [proposal.inputs.get(row.name)])
            continue
        said = [proposal.sites[fleet][region].get(row.name) for fleet, region in proposal.regions]
        for column, (fleet, region) in enumerate(proposal.regions):
            if origin_of(said[column]):
                yield from fact(row, f"{fleet}.{region}.{row.name}", (column,), [said[column]])
        default = tuple(column for column, value in enumerate(said) if not origin_of(value))
        if default:
            yield from fact(row, f"default.{row.name}", default, [said[column] for column in default])


def uncertain(proposal: Proposal) -> list[Uncertain]:
    """The uncertain facts of a proposal.

    Raises:
        InputError: a spread that no distribution has; the message names the input.
    """
    facts, problems = [], []
    for each in stated_facts(proposal):
        try:
            assert each.spread
            facts.append(each)
        except ValueError as error:
            problems.append(Problem(f"{each.path}: {error}"))
    if problems:
        raise InputError(problems)
    return facts


def matrix(correlations: Iterable[Correlation], paths: Sequence[str]) -> Array:
    """The correlation matrix over these facts, 1 on its diagonal and 0 where nothing is said."""
    found = np.eye(len(paths))
    for each in correlations:
        first, second = (paths.index(path) for path in each.between)
        found[first, second] = found[second, first] = each.coefficient
    return found


def correlation_problems(correlations: Sequence[Correlation], paths: Sequence[str]) -> list[tuple[int, str]]:
    """(index, message) of each correlation of facts that are not there, given twice, or at odds with those before it."""
    problems: list[tuple[int, str]] = []
    accepted: list[Correlation] = []
    for index, each in enumerate(correlations):
        first, second = each.between
        missing = [path for path in each.between if path not in paths]
        if missing:
            hint = did_you_mean(missing[0], paths) or f"; uncertain are {', '.join(paths)}"
            problems.append((index, f"'{missing[0]}' is not an uncertain fact of this proposal{hint}"))
        elif first == second:
            problems.append((index, f"'{first}' is correlated with itself; name two facts"))
        elif any(set(each.between) == set(other.between) for other in accepted):
            problems.append((index, f"{first} and {second} are given twice; keep one of the two"))
        elif not -1 < each.coefficient < 1:
            problems.append(
                (index, f"{first} and {second}: the correlation is {each.coefficient:g}; it lies above -1 and below 1")
            )
        elif not _positive_definite(matrix([*accepted, each], paths)):
            low, high = _allowed(accepted, each, paths)
            problems.append(
                (
                    index,
                    f"{first} and {second}: with the correlations before it, {each.coefficient:g} cannot be (the matrix is not "
                    f"positive definite); write a value above {low:.3g} and below {high:.3g}",
                )
            )
        else:
            accepted.append(each)
    return problems


def _positive_definite(correlations: Array) -> bool:
    return bool(np.linalg.eigvalsh(correlations)[0] > 1e-9)


def _allowed(accepted: list[Correlation], each: Correlation, paths: Sequence[str]) -> tuple[float, float]:
    """The ends of the interval of coefficients that leave the matrix positive definite."""
    # The determinant is a parabola in this one coefficient, positive between its two roots.
    tried = np.array([-1.0, 0.0, 1.0])
    heights = [np.linalg.det(matrix([*accepted, replace(each, coefficient=float(value))], paths)) for value in tried]
    low, high = sorted(np.roots(np.polyfit(tried, heights, 2)).real)
    return max(-1.0, float(low)), min(1.0, float(high))
