"""The commands for what a proposal comes to: check it, evaluate it, and say why two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from roi import InputError, Proposal, Result, load, report
from roi.inputs import model
from roi.problems import Problem
from roi.settings import changed_by, json_option, proposal_argument, proposals_argument, settings_option
from roi.terminal import complain, say, say_columns


@click.command()
@proposals_argument
def check_command(proposals: tuple[str, ...]) -> None:
    """Check proposals and say what is wrong or odd.

    All that is wrong is said in one go, with file and line, and the command exits 2.
    """
    good, bad = _load_each(proposals)
    for given, proposal in good.items():
        say(f"{given}: good ({proposal.name})")
        for flag in report.flags(Result(proposal)):
            say(f"{given}: flag: {flag}")
    for error in bad.values():
        complain(str(error))
    if bad:
        raise click.exceptions.Exit(2)


@click.command()
@proposal_argument
@settings_option
@click.option("--explain", default="", show_default=False, metavar="NAME", help="Show where this number comes from instead.")
@click.option("--json", is_flag=True, help="Print one JSON object; infinite and undefined values are null.")
def evaluate_command(proposal: str, settings: tuple[str, ...], explain: str, json: bool) -> None:
    """Evaluate a proposal: the verdict and every line of the model."""
    result = Result(changed_by(proposal, settings))
    if explain:
        try:
            tree = result.explain(explain)
        except KeyError as error:
            raise InputError([Problem(error.args[0], "--explain")]) from error
        say(report.as_json(asdict(tree)) if json else str(tree))
    elif json:
        say(report.as_json({"proposal": result.proposal.key, "lines": result.scalars, "months": result.months}))
    else:
        _print(result)


@click.command()
@click.argument("first", metavar="PROPOSAL", help="The one to start from.")
@click.argument("second", metavar="OTHER", help="The one to arrive at.")
@json_option
def compare_command(first: str, second: str, json: bool) -> None:
    """Why the answer changed: what each difference does to the net gain, one after another."""
    from roi import amounts
    from roi.compare import bridge

    before, after = load(first), load(second)
    steps, ends = bridge(before, after), [Result(each).net_gain for each in (before, after)]
    if json:
        say(report.as_json({"from": ends[0], "to": ends[1], "steps": [asdict(step) for step in steps]}))
        return
    say(f"{before.name}: {amounts.exact_money(ends[0])}")
    for step in steps:
        say(f"  {amounts.exact_money(step.amount):>18}  {step.label}: {step.before} to {step.after}")
    say(f"{after.name}: {amounts.exact_money(ends[1])}")
    if not steps and before.fingerprint != after.fingerprint:
        say("No number differs, but how sure the numbers are does, or what a pilot measures; `roi decide` of each shows it.")


def _load_each(proposals: Sequence[str]) -> tuple[dict[str, Proposal], dict[str, InputError]]:
    """The proposals that are good and what is wrong with the others, by path or name as given."""
    good, bad = {}, {}
    for given in proposals:
        try:
            good[given] = load(given)
        except InputError as error:
            bad[given] = error
    return good, bad


def _print(result: Result) -> None:
    """The verdict, all lines that are one number each, and what is odd."""
    from roi import words

    say(result.proposal.name)
    say(words.verdict(result))
    lines = ((model().lines[name].label, words.show_line(result, name), name) for name in result.scalars)
    say_columns([("Line", "Value", "Name"), *lines], right=[1])
    for name, is_zero in result.checks.items():
        if not is_zero:
            say(f"Does not add up: {model().lines[name].label}")
    for flag in report.flags(result):
        say(f"Flag: {flag}")
