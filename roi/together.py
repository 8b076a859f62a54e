"""Several proposals over the same draws of one world, so that their net gains can be added draw by draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from roi.inputs import inputs
from roi.lines import Array
from roi.problems import InputError, Problem
from roi.proposals import Proposal
from roi.simulate import DRAWS, SEED, outcomes, points, sample
from roi.uncertain import Correlation, Uncertain, correlation_problems, uncertain
from roi.values import origin_of


def net_gains(proposals: Mapping[str, Proposal], seed: int = SEED) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The net gain in USD of each proposal in each draw, and the facts that several share.

    What a proposal leaves at the default is a fact of the world, drawn once for all that leave it there. What a proposal gives
    itself is a fact of its own. Facts of the world that one proposal correlates are so for all; facts of two proposals move
    together only as far as each moves with the world.

    Args:
        proposals: by name.
        seed: from 0; the draws are those of `simulate` where there is one proposal alone.

    Raises:
        InputError: proposals that correlate facts of the world in ways that cannot be true of one world.
    """
    facts = {name: _facts(name, proposal) for name, proposal in proposals.items()}
    of_world = {each.path: each for name, held in facts.items() for each in held if not _own(name, each.path)}
    correlations = _of_one_world(proposals, of_world)
    columns = {path: column for column, path in enumerate(dict.fromkeys(each.path for held in facts.values() for each in held))}
    shares = points(len(columns), seed, 0, DRAWS)
    gains = {}
    for name, proposal in proposals.items():
        # Correlated facts take their draws from those before them: with all of the world first, each proposal has the same world.
        drawn = [*of_world.values(), *(each for each in facts[name] if _own(name, each.path))]
        paths = [each.path for each in drawn]
        joined = replace(proposal, correlations=correlations[name])
        values = sample(joined, drawn, shares[:, [columns[path] for path in paths]]).reshape(len(drawn), DRAWS)
        gains[name] = outcomes(proposal, facts[name], values[[paths.index(each.path) for each in facts[name]]]).net_gain
    held_by = Counter(each.path for held in facts.values() for each in held)
    return gains, tuple(path for path, count in held_by.items() if count > 1)


def _facts(name: str, proposal: Proposal) -> list[Uncertain]:
    """A proposal's uncertain facts; one of its own has the proposal's name before its path."""
    return [replace(each, path=_path(name, proposal, each.path)) for each in uncertain(proposal)]


def _path(name: str, proposal: Proposal, path: str) -> str:
    default = path.startswith("default.") or (path in inputs() and origin_of(proposal.inputs.get(path)) is None)
    return path if default else f"{name}: {path}"


def _own(name: str, path: str) -> bool:
    return path.startswith(f"{name}: ")


def _of_one_world(proposals: Mapping[str, Proposal], of_world: Mapping[str, Uncertain]) -> dict[str, tuple[Correlation, ...]]:
    """The correlations of each proposal, with those between facts of the world from whichever proposal states them."""
    world: dict[frozenset[str], Correlation] = {}
    own: dict[str, list[Correlation]] = {name: [] for name in proposals}
    problems = []
    for name, proposal in proposals.items():
        for each in proposal.correlations:
            first, second = (_path(name, proposal, path) for path in each.between)
            named = replace(each, between=(first, second))
            if not {first, second} <= of_world.keys():
                own[name].append(named)
                continue
            said = world.setdefault(frozenset((first, second)), named).coefficient
            if said != each.coefficient:
                problems.append(
                    f"{name}: {first} and {second} are correlated by {each.coefficient:g}, but by {said:g} in a proposal before "
                    "it, and both leave them at the default; write the same in both"
                )
    joined = {name: (*world.values(), *correlations) for name, correlations in own.items()}
    for name, correlations in joined.items():
        paths = [*of_world, *(each.path for each in _facts(name, proposals[name]))]
        problems += [f"{name}: {message}" for _, message in correlation_problems(correlations, paths)]
    if problems:
        raise InputError([Problem(each) for each in problems])
    return joined
