"""The command line, `roi`. Every command says what is wrong in plain words on standard error and then exits 2."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roi import InputError, Proposal, Result, __version__, load, report
from roi.evidence.commands import app as evidence
from roi.files import write_whole
from roi.inputs import inputs, model
from roi.lines import did_you_mean
from roi.problems import Problem
from roi.review.commands import app as review
from roi.settings import OneProposal, Settings, changed_by
from roi.terminal import complain, printable, say, say_columns

if TYPE_CHECKING:
    from rich.table import Table

    from roi.batch import Order, Outcome
    from roi.store import Place

app = typer.Typer(
    help="Decide whether a multi-region Kubeflow GPU-training deployment pays back.",
    epilog="PROPOSAL is the path of a YAML file, or the name of a proposal that is shipped, such as two-region.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(evidence, name="evidence")
app.add_typer(review)

Address = Annotated[
    str,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Compute on this Dask cluster, such as tcp://scheduler:8786, in all its threads."
    ),
]
JOBS, USUAL = min(os.cpu_count() or 1, 4), "as many as there are processors, 4 at most"
Proposals = Annotated[list[str], typer.Argument(metavar="PROPOSAL", help="YAML files, or shipped proposals' names.")]


def main() -> None:
    """Run the command line on the arguments of the process."""
    # Where jsonschema finds this, its import builds a grammar of international addresses for a second; no schema here needs it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    try:
        app()
    except InputError as error:
        complain(str(error))
        sys.exit(2)
    except OSError as error:
        complain(": ".join(str(each) for each in (error.filename, error.strerror) if each))
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"roi {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8866,
    ip: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets others in.")] = "127.0.0.1",
    token: Annotated[str, typer.Option(help="Ask every viewer for this token.")] = "",
    base_url: Annotated[str, typer.Option(help="The path under which a proxy serves the app.")] = "/",
    pool: Annotated[int, typer.Option(min=0, help="How many kernels to keep ready for the next viewers.")] = 2,
) -> None:
    """Serve the director's app."""
    from roi import serve as server

    server.serve(port=port, ip=ip, token=token, base_url=base_url, pool=pool)


@app.command()
def check(proposals: Proposals) -> None:
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
        raise typer.Exit(2)


@app.command("evaluate")
def evaluate_(
    proposal: OneProposal,
    settings: Settings = None,
    explain: Annotated[str, typer.Option(metavar="NAME", help="Show where this number comes from instead.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object; infinite and undefined values are null.")] = False,
) -> None:
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


@app.command("decide")
def decide_(
    proposal: OneProposal,
    settings: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The decision in a few lines: what to do, what would reverse that, how sure it is and what to measure first."""
    from roi import decision

    found = decision.decide(changed_by(proposal, settings))
    if json:
        say(report.as_json(decision.as_data(found)))
        return
    for sentence in decision.sentences(found):
        say(sentence)


@app.command("simulate")
def simulate_(
    proposal: OneProposal,
    settings: Settings = None,
    draws: Annotated[int, typer.Option(help="How many draws of the uncertain inputs.")] = 8192,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many blocks to compute at once; the answer does not depend on it.")] = 1,
    address: Address = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
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


@app.command("breakeven")
def breakeven_(
    proposal: OneProposal,
    settings: Settings = None,
    names: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME", help="An input; repeatable. The main ones by default.")
    ] = None,
    both: Annotated[
        tuple[str, str] | None,
        typer.Option("--pair", metavar="FIRST SECOND", help="Instead, the SECOND input that it takes for values of the FIRST."),
    ] = None,
    target: Annotated[float, typer.Option(help="The net gain to be met, in USD.")] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: every crossing of each input.")] = False,
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
        for option, given in (("--input", names or ()), ("--pair", both or ()))
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


@app.command("information")
def information_(
    proposal: OneProposal,
    settings: Settings = None,
    draws: Annotated[int, typer.Option(help="How many draws of the uncertain inputs.")] = 8192,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: what every fact is worth, in USD.")] = False,
) -> None:
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


@app.command("sensitivity")
def sensitivity_(
    proposal: OneProposal,
    settings: Settings = None,
    method: Annotated[
        str | None, typer.Option(help="sobol, or where facts are correlated pawn or delta. By default what suits the proposal.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="How many draws of each fact, a power of 2 for sobol. By default what the method needs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: every measure of every fact.")] = False,
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


@app.command("compare")
def compare_(
    first: Annotated[str, typer.Argument(metavar="PROPOSAL", help="The one to start from.")],
    second: Annotated[str, typer.Argument(metavar="OTHER", help="The one to arrive at.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
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


@app.command("alternatives")
def alternatives_(
    proposal: OneProposal,
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="OTHER", help="Other proposals, each in this one's world. raise-utilisation by default."),
    ] = None,
    settings: Settings = None,
    later: Annotated[int, typer.Option(help="By how many months a later start is later.")] = 6,
    draws: Annotated[int, typer.Option(help="How many draws of the uncertain inputs.")] = 8192,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object; what is not defined is null.")] = False,
) -> None:
    """Do nothing, start now, start later, measure first, or do something else: present values and odds side by side."""
    from rich import box
    from rich.table import Table

    from roi.alternatives import COLUMNS, alternatives, cost_of_waiting, rows, sentences, switching_input

    changed = changed_by(proposal, settings)
    twice = [each for index, each in enumerate(others or []) if each in (others or [])[:index]]
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
    _show(table)
    for row in rows(found):
        say(f"{row['name']}: {row[note]}.")
    for sentence in sentences(changed, found, draws):
        say(sentence)


@app.command("portfolio")
def portfolio_(
    proposals: Proposals,
    budget: Annotated[str, typer.Option(metavar="USD", help="The most that may be out of pocket, such as 3000000, 3M or $3M.")],
    exclusive: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Take at most one of these, named as given; repeatable.")
    ] = None,
    independent: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Add the gains of these up, although they change the same fleet; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same odds.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
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
    apart, added = ([each.split(",") for each in given or []] for given in (exclusive, independent))
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


@app.command("report")
def report_(
    proposals: Annotated[
        list[str], typer.Argument(metavar="PROPOSAL", help="YAML files, shipped proposals' names, or CSV files of one a line.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The folder that receives the reports, or a URL such as s3://...")
    ],
    jobs: Annotated[int, typer.Option(min=1, help="How many reports to make at once.", show_default=USUAL)] = JOBS,
    address: Address = "",
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FROM:TO:STEP", help="A report for each value of an input; repeatable, for every combination."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Make reports again that are finished.")] = False,
) -> None:
    """Write reports, and an index that compares them.

    Each proposal gets a folder in DIR with report.html, report.ipynb, workbook.xlsx and results.json. A proposal that
    is refused does not stop the others; the summary names it, and the command exits 2. Reports that are finished, and
    would be no different today, are skipped: a batch that was killed goes on where it was.
    """
    from roi import batch
    from roi.store import opened

    orders, bad = batch.read(proposals, sweep or [])
    for error in bad.values():
        complain(str(error))
    outcomes = {given: batch.Outcome("failed", why=str(error)) for given, error in bad.items()}
    results: dict[str, Result] = {}
    if orders:
        with opened(output) as place:
            report.prepare({order.given: order.proposal for order in orders}, place.folder)
            with batch.alone(place.folder):
                outcomes |= _report_each(orders, place, jobs, force, address)
                results = {order.given: Result(order.proposal) for order in orders if not outcomes[order.given].why}
                failed = {given: outcome.why for given, outcome in outcomes.items() if outcome.why}
                if results:
                    report.write_index(results, failed, place.folder)
                    place.send("index.html")
            index = place.lasting / "index.html"
    _print_outcomes(outcomes, results)
    if results:
        say(f"{index}: all {len(results)} side by side")
    if refused := [given for given, outcome in outcomes.items() if outcome.why]:
        complain(f"{len(refused)} of {len(outcomes)} failed: {', '.join(refused)}")
        raise typer.Exit(2)


@app.command()
def export(
    proposal: OneProposal,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="The page, as one self-contained file.")] = None,
    xlsx: Annotated[Path | None, typer.Option("--xlsx", metavar="FILE", help="A workbook with live formulas.")] = None,
    pptx: Annotated[Path | None, typer.Option("--pptx", metavar="FILE", help="Three slides with native charts.")] = None,
) -> None:
    """Write a proposal as one file of each kind that is named, without running a notebook."""
    loaded = load(proposal)
    if not (html or xlsx or pptx):
        raise InputError("there is nothing to write; add --html FILE, --xlsx FILE or --pptx FILE")
    if html:
        from roi.board import Page

        _export(html, Page(loaded).document())
    if xlsx:
        from roi.sheet import workbook

        _export(xlsx, workbook(loaded))
    if pptx:
        from roi.slides import presentation

        _export(pptx, presentation(loaded))


def _export(path: Path, content: str | bytes) -> None:
    write_whole(path, content)
    say(str(path))


def _load_each(proposals: list[str]) -> tuple[dict[str, Proposal], dict[str, InputError]]:
    """The proposals that are good and what is wrong with the others, by path or name as given."""
    good, bad = {}, {}
    for given in proposals:
        try:
            good[given] = load(given)
        except InputError as error:
            bad[given] = error
    return good, bad


def _show(table: Table) -> None:
    """Print a table, as wide as it needs to be where nobody looks at it."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 1000, markup=False, emoji=False, highlight=False).print(table)


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


def _report_each(orders: list[Order], place: Place, jobs: int, force: bool, address: str) -> dict[str, Outcome]:
    """Make the reports with a progress bar on a terminal, elsewhere with a line for each; returns what became of each."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from roi import batch

    outcomes: dict[str, Outcome] = {}
    console = Console(stderr=True)
    steps = report.steps()
    columns = (TextColumn("Reports"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Reports", total=len(orders), rate="")

        def on_done(order: Order, outcome: Outcome) -> None:
            if outcome.status == "made":
                try:
                    place.send(order.key, last=batch.DONE)
                except InputError as error:
                    outcome = batch.Outcome("failed", outcome.seconds, str(error))
            outcomes[order.given] = outcome
            made = sum(each.status == "made" for each in outcomes.values())
            elapsed = bar.tasks[0].elapsed or 0
            rate = f"{made * 60 / elapsed:.1f} a minute" if made and elapsed else ""
            bar.update(task, completed=max(bar.tasks[0].completed, len(outcomes)), rate=rate)
            if outcome.why:
                complain(f"{order.given}: {outcome.why}")
            elif not console.is_terminal:
                done = " (skipped, it is finished)" if outcome.status == "skipped" else ""
                say(f"{place.lasting / order.key / report.FILES[0]}{done}")

        left = batch.unfinished(orders, place.lasting, force, on_done)
        if address and left:
            from roi import cluster

            with cluster.connected(address) as client:
                cluster.write_reports(client, left, place.folder, on_done)
        else:
            batch.write_reports(left, place.folder, jobs, lambda: bar.advance(task, 1 / steps), on_done)
    return outcomes


def _print_outcomes(outcomes: dict[str, Outcome], results: dict[str, Result]) -> None:
    """What became of each report, with its answer."""
    from rich import box
    from rich.table import Table

    from roi import amounts, words
    from roi.simulate import on_a_page

    table = Table(box=box.SIMPLE_HEAD, header_style="")
    table.add_column("Proposal", overflow="fold")
    for name in ("Net gain", "Payback", "Odds of a gain", "Seconds"):
        table.add_column(name, justify="right")
    table.add_column("Status")
    for given, outcome in outcomes.items():
        cells = ["", "", ""]
        if result := results.get(given):
            odds = on_a_page(result.proposal)[2]
            cells = [
                amounts.money(result.net_gain),
                words.show_line(result, "payback_month"),
                words.odds(odds.p_gain) if odds else "",
            ]
        seconds = f"{outcome.seconds:.1f}" if outcome.seconds else ""
        table.add_row(printable(given), *cells, seconds, outcome.status)
    _show(table)


if __name__ == "__main__":
    main()
