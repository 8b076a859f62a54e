"""The commands for how sure the answer is: odds, break-even, what to measure, and where the spread comes from."""

from __future__ import annotations

import math
from dataclasses import asdict

import click

from roi import InputError, Result, report
from roi.inputs import inputs
from roi.lines import did_you_mean
from roi.problems import Problem
from roi.settings import (
    Whole,
    changed_by,
    cluster_option,
    draws_option,
    json_option,
    proposal_argument,
    seed_option,
    settings_option,
)
from roi.terminal import say, say_columns


@click.command()
@proposal_argument
@settings_option
@draws_option
@seed_option
@click.option(
    "--jobs",
    type=Whole(min=1),
    default=1,
    help="How many blocks to compute at once; the answer does not depend on it.",
)
@cluster_option
@json_option
def simulate_command(
    proposal: str, settings: tuple[str, ...], draws: int, seed: int, jobs: int, address: str, json: bool
) -> None:
    """The odds of a gain, over the plausible ranges of the inputs."""
    from roi import amounts, words
    from roi.simulate import simulate

    changed = changed_by(proposal, settings)
    if address:
        from roi import cluster

        with cluster.connected(address) as client:
            found = cluster.simulated(client, changed, draws, seed)
    else:
        found = simulate(changed, draws, seed, jobs)
    if json:
        say(report.as_json(asdict(found)))
        return
    say(words.odds_sentence(found))
    error = amounts.half_up(found.p_gain_error * 100, 2)
    say(f"Odds of a gain {found.p_gain:.1%} (at most {error} points of error from {found.draws:,} draws, seed {found.seed}).")
    say(f"Odds of a payback within the horizon {found.p_payback:.1%}.")
    say(f"Median {amounts.money(found.p50)}, mean {amounts.money(found.mean)}.")
    say(f"Peak cash out stays within {amounts.money(found.peak_cash_out_p90)} in 9 of 10 outcomes.")
    say(f"One outcome in twenty is worse than {amounts.money(found.p05)}.")
    say(f"Drawn, each on its own but for what moves together: {', '.join(found.uncertain)}.")
    for each in changed.correlations:
        say(f"Moves together: {' and '.join(each.between)}, with a correlation of {each.coefficient:g}.")


@click.command()
@proposal_argument
@settings_option
@click.option("--input", "names", multiple=True, metavar="NAME", help="An input; repeatable. The main ones by default.")
@click.option(
    "--pair",
    "both",
    nargs=2,
    metavar="FIRST SECOND",
    help="Instead, the SECOND input that it takes for values of the FIRST.",
)
@click.option("--target", default=0.0, help="The net gain to be met, in USD.")
@click.option("--json", is_flag=True, help="Print one JSON object: every crossing of each input.")
def breakeven_command(
    proposal: str,
    settings: tuple[str, ...],
    names: tuple[str, ...],
    both: tuple[str, str] | None,
    target: float,
    json: bool,
) -> None:
    """What would have to be true: the values at which the net gain meets a target."""
    from roi import words
    from roi.breakeven import crossings

    result = Result(changed_by(proposal, settings))
    known = [row.name for row in inputs().values() if row.axis == "scalar"]
    problems = [
        Problem(
            f"'{name.split('.')[-1]}' has a value for each region; a break-even is searched for inputs of the whole proposal"
            if name.split(".")[-1] in inputs()
            else f"'{name}' is not an input{did_you_mean(name, known)}",
            option,
        )
        for option, given in (("--input", names), ("--pair", both or ()))
        for name in given
        if name not in known
    ]
    if both and names:
        problems.append(Problem("asks for a curve, and --input for single values; give one of the two", "--pair"))
    if both and both[0] == both[1]:
        problems.append(Problem(f"{both[0]} is given twice; name two inputs", "--pair"))
    if not math.isfinite(target):
        problems.append(Problem(f"{target} is not an amount; write a number of dollars", "--target"))
    if problems:
        raise InputError(problems)
    if both:
        _print_pair(result, *both, target, json)
        return
    found = {name: crossings(result, name, target) for name in names or words.main_inputs()}
    if json:
        say(report.as_json({"proposal": result.proposal.key, "target": target, "breakeven": found}))
        return
    for name, values in found.items():
        row = inputs()[name]
        met = " and ".join(row.show(value) for value in values) or "no value in its range does it"
        say(f"{row.label}: {met} (now {row.show(result[name])})")


def _print_pair(result: Result, first: str, second: str, target: float, json: bool) -> None:
    """The break-even curve of two inputs: all of it as JSON, some of its points for people."""
    from roi import amounts
    from roi.breakeven import pair

    found = pair(result, first, second, target)
    if json:
        curve = [{first: value, second: values} for value, values in found]
        say(report.as_json({"proposal": result.proposal.key, "target": target, "pair": [first, second], "curve": curve}))
        return
    one, other = inputs()[first], inputs()[second]
    say(f"{other.label} at which the net gain is {amounts.money(target)}, for values of '{one.label}':")
    shown = {one.show(value): values for value, values in found[:: max(1, len(found) // 8)]}
    width = max(map(len, shown))
    for value, values in shown.items():
        say(f"  {value:>{width}}  {' and '.join(map(other.show, values)) or 'none'}")
    say(f"Now {one.show(result[first])} and {other.show(result[second])}.")


@click.command()
@proposal_argument
@settings_option
@draws_option
@seed_option
@click.option("--json", is_flag=True, help="Print one JSON object: what every fact is worth, in USD.")
def information_command(proposal: str, settings: tuple[str, ...], draws: int, seed: int, json: bool) -> None:
    """What to measure first: what knowing a fact before the decision is worth at most.

    The decision is to fund or to do nothing, and what it gains is the net gain, which is not discounted.
    """
    from roi import amounts, words
    from roi.information import value_of_measuring

    found = value_of_measuring(changed_by(proposal, settings), draws, seed)
    if json:
        say(report.as_json(asdict(found)))
        return
    say(words.measure_sentence(found))
    for each in found.worthwhile:
        say(f"  {amounts.money(each.evppi):>8}  {each.label}")
    say(f"Worth at most, in net gain, not discounted, of funding or doing nothing; {found.draws:,} draws, seed {found.seed}.")


@click.command()
@proposal_argument
@settings_option
@click.option("--method", help="sobol, or where facts are correlated pawn or delta. By default what suits the proposal.")
@click.option("--draws", type=int, help="How many draws of each fact, a power of 2 for sobol. By default what the method needs.")
@seed_option
@click.option("--json", is_flag=True, help="Print one JSON object: every measure of every fact.")
def sensitivity_command(
    proposal: str, settings: tuple[str, ...], method: str | None, draws: int | None, seed: int, json: bool
) -> None:
    """Which facts the spread of the net gain comes from: the share of its variance that goes with each, alone and in all."""
    from roi import words
    from roi.sensitivity import sensitivity

    changed = changed_by(proposal, settings)
    found = sensitivity(changed, method, draws, seed)
    if json:
        say(report.as_json(asdict(found)))
        return
    rows = words.influence_rows(found)
    say_columns(rows, right=range(1, len(rows[0])))
    for sentence in words.sensitivity_sentences(changed, found):
        say(sentence)
    say(f"{found.draws:,} draws of each fact, seed {found.seed}.")
