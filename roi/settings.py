"""What several commands of `roi` take: proposals, the values of `--set`, and how to answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from roi import InputError, Proposal, load
from roi.problems import Problem

OneProposal = Annotated[str, typer.Argument(metavar="PROPOSAL", help="A YAML file, or a shipped proposal's name.")]
Proposals = Annotated[list[str], typer.Argument(metavar="PROPOSAL", help="YAML files, or shipped proposals' names.")]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Compute on this Dask cluster, such as tcp://scheduler:8786, in all its threads."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another value for an input, such as latency_saved=90 or proposed.europe-west4.gpu_price=12; repeatable.",
    ),
]


def changed_by(proposal: str, settings: list[str] | None) -> Proposal:
    """A proposal with the values of `--set`.

    Raises:
        InputError: the proposal or a value is refused.
    """
    loaded, changes = load(proposal), _changes(settings or [])
    try:
        return loaded.with_values(changes) if changes else loaded
    except InputError as error:
        raise InputError([replace(problem, file="--set") for problem in error.problems]) from error


def _changes(settings: list[str]) -> dict[str, float | str]:
    """The values of `--set NAME=VALUE`. What is not a number stays text, which its input refuses in its own words."""
    changes: dict[str, float | str] = {}
    problems = []
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not name or not equals:
            problems.append(Problem(f"'{setting}' is not NAME=VALUE; write it like latency_saved=90", "--set"))
        elif name in changes:
            problems.append(Problem(f"{name} is set twice; keep one of the two", "--set"))
        else:
            try:
                changes[name] = float(text) if text.isascii() else text
            except ValueError:
                changes[name] = text
    if problems:
        raise InputError(problems)
    return changes
