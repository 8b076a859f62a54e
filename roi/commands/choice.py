"""The commands for what to do: the decision, the alternatives to a proposal, and which of several to fund."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

import click

from roi import InputError, load, report
from roi.problems import Problem
from roi.settings import (
    changed_by,
    draws_option,
    json_option,
    proposal_argument,
    proposals_argument,
    seed_option,
    settings_option,
)
from roi.terminal import printable, say, say_columns, show


@click.command()
@proposal_argument
@settings_option
@json_option
def decide_command(proposal: str, settings: tuple[str, ...], json: bool) -> None:
    """The decision in a few lines: what to do, what would reverse that, how sure it is and what to measure first."""
    from roi import decision

    found = decision.decide(changed_by(proposal, settings))
    if json:
        say(report.as_json(decision.as_data(found)))
        return
    for sentence in decision.sentences(found):
        say(sentence)


@click.command()
@proposal_argument
@click.argument(
    "others", nargs=-1, metavar="[OTHER]...", help="Other proposals, each in this one's world. raise-utilisation by default."
)
@settings_option
@click.option("--later", default=6, help="By how many months a later start is later.")
@draws_option
@seed_option
@click.option("--json", is_flag=True, help="Print one JSON object; what is not defined is null.")
def alternatives_command(
    proposal: str, others: tuple[str, ...], settings: tuple[str, ...], later: int, draws: int, seed: int, json: bool
) -> None:
    """Do nothing, start now, start later, measure first, or do something else: present values and odds side by side."""
    from rich import box
    from rich.table import Table

    from roi.alternatives import COLUMNS, alternatives, cost_of_waiting, rows, sentences, switching_input

    changed = changed_by(proposal, settings)
    twice = [each for index, each in enumerate(others) if each in others[:index]]
    if twice:
        raise InputError([Problem(f"{twice[0]} is named twice; name each alternative once", "OTHER")])
    found = alternatives(changed, [load(each) for each in others] if others else None, draws, seed, later)
    if json:
        contents = {"proposal": changed.key, "draws": draws, "seed": seed, "cost_of_waiting": cost_of_waiting(changed)}
        contents |= {"switching_input": switching_input(), "alternatives": [asdict(each) for each in found]}
        say(report.as_json(contents))
        return
    table = Table(box=box.SIMPLE_HEAD, header_style="")
    *columns, note = COLUMNS
    for name in columns:
        table.add_column(textwrap.fill(COLUMNS[name], 11), justify="left" if name == "name" else "right", overflow="fold")
    for row in rows(found):
        table.add_row(*(printable(row[name]) for name in columns))
    show(table)
    for row in rows(found):
        say(f"{row['name']}: {row[note]}.")
    for sentence in sentences(changed, found, draws):
        say(sentence)


@click.command()
@proposals_argument
@click.option("--budget", required=True, metavar="USD", help="The most that may be out of pocket, such as 3000000, 3M or $3M.")
@click.option("--exclusive", multiple=True, metavar="A,B", help="Take at most one of these, named as given; repeatable.")
@click.option(
    "--independent",
    multiple=True,
    metavar="A,B",
    help="Add the gains of these up, although they change the same fleet; repeatable.",
)
@click.option("--seed", default=1, help="The same seed gives the same odds.")
@json_option
def portfolio_command(
    proposals: tuple[str, ...],
    budget: str,
    exclusive: tuple[str, ...],
    independent: tuple[str, ...],
    seed: int,
    json: bool,
) -> None:
    """Which of several proposals to fund: the set with the highest net present value within a budget.

    A proposal takes its peak cash out from the budget, the most money that is out of pocket at any time. Two proposals that
    change the same fleet are refused until they are declared exclusive or independent.
    """
    from roi.portfolio import HEADINGS, contents, drawn, fund, read, read_budget, rows, sentences

    try:
        limit = read_budget(budget)
    except ValueError as error:
        raise InputError([Problem(str(error), "--budget")]) from error
    apart, added = ([each.split(",") for each in given] for given in (exclusive, independent))
    found = fund(read(proposals), limit, apart, added, seed)
    if json:
        say(report.as_json(contents(found)))
        return
    answer, *more = sentences(found)
    table = [HEADINGS, *rows(found)]
    say(answer)
    say_columns(table, right=[1, 2])
    for sentence in (*more, drawn(found)):
        say(sentence)
