"""What several commands of `roi` take: proposals, the values of `--set`, and how to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from roi import InputError, Proposal, load
from roi.problems import Problem


class Whole(click.IntRange):
    """A whole number within a range. Where it is none, click would say that it "is not a valid integer range"."""

    name = "integer"


FILE = click.Path(path_type=Path)

proposal_argument = click.argument("proposal", help="A YAML file, or a shipped proposal's name.")
proposals_argument = click.argument(
    "proposals", nargs=-1, required=True, metavar="PROPOSAL...", help="YAML files, or shipped proposals' names."
)
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value for an input, such as latency_saved=90 or proposed.europe-west4.gpu_price=12; repeatable.",
)
draws_option = click.option("--draws", default=8192, help="How many draws of the uncertain inputs.")
seed_option = click.option("--seed", default=1, help="The same seed gives the same answer.")
cluster_option = click.option(
    "--cluster",
    "address",
    default="",
    show_default=False,
    metavar="ADDRESS",
    help="Compute on this Dask cluster, such as tcp://scheduler:8786, in all its threads.",
)
json_option = click.option("--json", is_flag=True, help="Print one JSON object.")


def changed_by(proposal: str, settings: Sequence[str]) -> Proposal:
    """A proposal with the values of `--set`.

    Raises:
        InputError: the proposal or a value is refused.
    """
    loaded, changes = load(proposal), _changes(settings)
    try:
        return loaded.with_values(changes) if changes else loaded
    except InputError as error:
        raise InputError([replace(problem, file="--set") for problem in error.problems]) from error


def _changes(settings: Sequence[str]) -> dict[str, float | str]:
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
