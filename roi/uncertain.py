"""What is uncertain about a proposal: each fact with its distribution, and which facts move together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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

    @property
    def label(self) -> str:
        """Its name for people: `Latency saved per step`, `GPU price (proposed, europe-west4)`, `Utilisation (default)`."""
        fleet, _, rest = self.path.partition(".")
        region = rest.rpartition(".")[0]
        place = f"{fleet}, {region}" if region else "default" if rest else ""
        return f"{self.row.label} ({place})" if place else self.row.label

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
        if not any(self.moves):
            return np.repeat(draws[:, np.newaxis], len(self.moves), axis=1) if len(self.moves) > 1 else draws[:, np.newaxis]
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
    facts, problems = list(stated_facts(proposal)), []
    for each in facts:
        try:
            distribution(**each.stated)
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
    """(index, message) of each correlation that cannot be: of facts that are not there, given twice, or against all others."""
    problems: list[tuple[int, str]] = []
    for index, each in enumerate(correlations):
        first, second = each.between
        missing = [path for path in each.between if path not in paths]
        if missing:
            hint = did_you_mean(missing[0], paths) or f"; uncertain are {', '.join(paths)}"
            problems.append((index, f"'{missing[0]}' is not an uncertain fact of this proposal{hint}"))
        elif first == second:
            problems.append((index, f"'{first}' is correlated with itself; name two facts"))
        elif any(set(each.between) == set(other.between) for other in correlations[:index]):
            problems.append((index, f"{first} and {second} are given twice; keep one of the two"))
    if problems or not correlations:
        return problems
    together = sorted({path for each in correlations for path in each.between})
    if _positive_definite(matrix(correlations, together)[np.newaxis])[0]:
        return []
    return [_at_fault(correlations, together)]


def _positive_definite(matrices: Array) -> npt.NDArray[np.bool_]:
    """Whether each is positive definite, with room for the rounding of its decomposition."""
    found: npt.NDArray[np.bool_] = np.linalg.eigvalsh(matrices)[:, 0] > 1e-9
    return found


def _at_fault(correlations: Sequence[Correlation], paths: Sequence[str]) -> tuple[int, str]:
    """The correlation that needs the smallest change for all to be possible at once, with what it can be; else the strongest."""
    tried = np.linspace(-0.999, 0.999, 1999)
    mends = []
    for index, each in enumerate(correlations):
        first, second = (paths.index(path) for path in each.between)
        matrices = np.repeat(matrix(correlations, paths)[np.newaxis], len(tried), axis=0)
        matrices[:, first, second] = matrices[:, second, first] = tried
        allowed = tried[_positive_definite(matrices)]
        if allowed.size:
            mends.append((float(abs(allowed - each.coefficient).min()), index, allowed[0], allowed[-1]))
    cannot = "cannot be together with the other correlations (their matrix is not positive definite)"
    if not mends:
        index = max(range(len(correlations)), key=lambda at: abs(correlations[at].coefficient))
        each = correlations[index]
        return (
            index,
            f"{' and '.join(each.between)}: {each.coefficient:g} {cannot}, nor could any one value; make all of them weaker",
        )
    _, index, low, high = min(mends)
    each = correlations[index]
    return index, f"{' and '.join(each.between)}: {each.coefficient:g} {cannot}; write {low:.3g} to {high:.3g}"
