"""The commands of the review's other questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roi.settings import FILE, changed_by, json_option, proposal_argument, settings_option
from roi.terminal import printable, say, say_columns, show

if TYPE_CHECKING:
    from roi.review.tco import Table

html_option = click.option("--html", type=FILE, metavar="FILE", help="Write it as one page instead, which prints.")


@click.command()
@proposal_argument
@settings_option
@html_option
@json_option
def tco_command(proposal: str, settings: tuple[str, ...], html: Path | None, json: bool) -> None:
    """Total cost of ownership: what each part of the two bills costs a month, a run, a release and a million tokens."""
    from roi.report import as_json
    from roi.results import Result
    from roi.review.tco import answer, as_data, by_month, by_work, notes, total_cost

    result = Result(changed_by(proposal, settings))
    if html:
        from roi.review.tco_view import section

        _write_page(html, result.proposal.name, section(result))
    if json:
        say(as_json(as_data(result)))
    elif html:
        say(str(html))
    else:
        fleets = total_cost(result)
        say(answer(fleets))
        for table in (by_month(fleets), by_work(fleets)):
            _print_table(table)
        _print_below(notes(result), result.flags)


@click.command()
@proposal_argument
@settings_option
@html_option
@json_option
def pitch_command(proposal: str, settings: tuple[str, ...], html: Path | None, json: bool) -> None:
    """For a board: the bill as GPUs grow from 8 to 128, and until when cash lasts with the deployment and without it."""
    from roi.report import as_json
    from roi.results import Result
    from roi.review.pitch import as_data, cost_answer, cost_table, notes, pitch, runway_answer, runway_table

    result = Result(changed_by(proposal, settings))
    found = pitch(result)
    if html:
        from roi.review.pitch_view import section

        _write_page(html, result.proposal.name, section(result))
    if json:
        say(as_json(as_data(found)))
    elif html:
        say(str(html))
    else:
        say(cost_answer(found))
        say(runway_answer(found))
        for table in (cost_table(found), runway_table(found)):
            _print_table(table)
        _print_below(notes(found), result.flags)


@click.command()
@click.argument("file", type=FILE, required=False, help="A YAML file of claims; without one, the claims that are shipped.")
@html_option
@json_option
def audit_command(file: Path | None, html: Path | None, json: bool) -> None:
    """Published claims: the arithmetic of each by units, what would have to be true, and the verdict that follows."""
    from roi.report import as_json
    from roi.review.claims import HEADINGS, NOTES, as_data, audit
    from roi.review.claims_reading import SHIPPED, read

    found = audit(read(file or SHIPPED))
    if html:
        from roi.review.claims_view import section

        _write_page(html, f"Claims in {Path(found.file).name}", section(found))
    if json:
        say(as_json(as_data(found)))
    elif html:
        say(str(html))
    else:
        say(found.answer)
        _print_wrapped(HEADINGS, [(str(each.number), each.claim.words, each.verdicts, each.requires) for each in found.claims])
        for each in found.claims:
            for other, clash in each.clashes:
                if other > each.number:
                    say(f"Claim {each.number}, {clash}.")
        _print_below(list(NOTES), [f"claim {each.number}: {flag}" for each in found.claims for flag in each.flags])


def _print_wrapped(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of sentences, as wide as the terminal, or as it needs to be where nobody looks at it."""
    from rich import box
    from rich.table import Table as Wrapped

    table = Wrapped(box=box.SIMPLE_HEAD, header_style="")
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    show(table)


@click.command()
@click.argument(
    "files",
    nargs=-1,
    metavar="[FILE]...",
    help="Tables with the columns gpus and minutes, or MLPerf logs, as 64=FILE where a log does not say its GPUs. "
    "Without any, the published times that are shipped.",
)
@click.option("--gpu-price", type=float, help="USD per GPU-hour; by default that of the inputs.")
@click.option("--queue-minutes", default=0.0, help="Minutes in the queue on the smallest count of GPUs.")
@click.option("--start-minutes", default=0.0, help="Minutes of starting up on the smallest count of GPUs.")
@click.option("--growth-per-node", default=0.0, help="By what share both grow for each further node, such as 0.05 for 5 %.")
@click.option("--gpus-per-node", type=int, help="By default what the files say, or else 8.")
@click.option("--deadline", type=float, metavar="HOURS", help="The cheapest count that is done within so many hours.")
@html_option
@json_option
def scaling_command(
    files: tuple[str, ...],
    gpu_price: float | None,
    queue_minutes: float,
    start_minutes: float,
    growth_per_node: float,
    gpus_per_node: int | None,
    deadline: float | None,
    html: Path | None,
    json: bool,
) -> None:
    """Time and cost against the number of GPUs: speed-up, efficiency, the laws that fit, the cheapest count for a deadline."""
    from roi.report import as_json
    from roi.review.scaling import Terms, answer, as_data, flags, headline, notes, scaling, sentences, table

    terms = Terms(gpu_price, queue_minutes, start_minutes, growth_per_node, gpus_per_node, deadline)
    found = scaling(files, terms)
    if html:
        from roi.review.scaling_view import section

        _write_page(html, "Scaling", section(found))
    if json:
        say(as_json(as_data(found)))
    elif html:
        say(str(html))
    else:
        if len(found) > 1:
            say(answer(found))
        for each in found:
            say(f"{each.series.name}: {headline(each)}")
            _print_table(table([each]))
            for sentence in sentences(each):
                say(f"  {sentence}")
        _print_below(notes(found), flags(found))


@click.command()
@click.argument(
    "files",
    nargs=-1,
    metavar="[[QUANTITY=]FILE]...",
    help="Tables, range queries of Prometheus, OpenCost's allocations; what one holds may stand before it, as in "
    "utilisation=gpus.json or latency_ms=steps.json.",
)
@click.option("--answers", type=FILE, metavar="FILE", help="Answers to the checklist, and scores from 0 to 1 for the scorecard.")
@click.option("--thresholds", type=FILE, metavar="FILE", help="Other thresholds, items and weights, as in data/readiness.yaml.")
@html_option
@json_option
def readiness_command(
    files: tuple[str, ...], answers: Path | None, thresholds: Path | None, html: Path | None, json: bool
) -> None:
    """Is it ready for production? A gate of latency, utilisation and cost variance, a checklist and a weighted scorecard.

    Exits 0 when the gate was evaluated, whether or not it is passed. Without a file it shows what is asked.
    """
    from roi.report import as_json
    from roi.review import readiness
    from roi.review.readiness_criteria import NONE, SHIPPED, criteria
    from roi.review.readiness_criteria import answers as read_answers
    from roi.review.readiness_series import read

    asked = criteria(thresholds or SHIPPED)
    found = readiness.evaluate(asked, read(files), read_answers(answers, asked) if answers else NONE)
    if html:
        from roi.review.readiness_view import section

        _write_page(html, "Readiness for production", section(found))
    if json:
        say(as_json(readiness.as_data(found)))
    elif html:
        say(str(html))
    else:
        for line in readiness.printed(found):
            say(line)
        _print_below(readiness.notes(found), found.flags)


@click.command()
@click.argument(
    "trace",
    type=FILE,
    required=False,
    help="A table of jobs with the columns submit, gpus and duration, and id where jobs have one. Without it, jobs are "
    "drawn at random.",
)
@click.option(
    "--unit", type=click.Choice(["s", "min", "h"]), help="The unit of submit and duration where their names do not say it."
)
@click.option("--days", type=int, metavar="N", help="Days of jobs to draw; 14 by default.")
@click.option("--jobs", type=int, metavar="N", help="Jobs to draw on average; 90 a day by default.")
@click.option("--seed", default=1, help="Of the jobs that are drawn, and of pre-emptions.")
@click.option("--gpus-per-node", default=8, help="GPUs of a node.")
@click.option("--min-nodes", default=0, help="Nodes that are always there.")
@click.option("--max-nodes", type=int, metavar="N", help="The most nodes; by default the GPUs of the inputs.")
@click.option(
    "--start-minutes", type=float, help="Until a node that is ordered takes jobs; by default the cold start of the inputs."
)
@click.option("--gpu-price", type=float, help="USD per GPU-hour; by default that of the inputs.")
@click.option("--spot-share", default=0.0, help="Share of the most nodes that are spot nodes, such as 0.5.")
@click.option("--spot-price", type=float, help="USD per GPU-hour of spot nodes; by default that of an H100.")
@click.option("--preemptions-per-day", type=float, help="How often each spot node is taken away.")
@click.option("--checkpoint-minutes", type=float, help="Between two checkpoints, from which jobs restart.")
@click.option("--wait-minutes", type=float, help="The cheapest setting whose mean wait is at most this.")
@html_option
@json_option
def policy_command(
    trace: Path | None,
    unit: str | None,
    days: int | None,
    jobs: int | None,
    seed: int,
    gpus_per_node: int,
    min_nodes: int,
    max_nodes: int | None,
    start_minutes: float | None,
    gpu_price: float | None,
    spot_share: float,
    spot_price: float | None,
    preemptions_per_day: float | None,
    checkpoint_minutes: float | None,
    wait_minutes: float | None,
    html: Path | None,
    json: bool,
) -> None:
    """Which scaling policy: a trace of jobs replayed under thresholds, delayed termination, prediction, and doing nothing."""
    from roi.problems import InputError, Problem
    from roi.report import as_json
    from roi.review.policy_frontier import Terms, answer, as_data, compare, facts, flags, notes, policies, settings
    from roi.review.policy_trace import drawn, read

    terms = Terms(
        gpus_per_node,
        min_nodes,
        max_nodes,
        start_minutes,
        gpu_price,
        spot_share,
        spot_price,
        preemptions_per_day,
        checkpoint_minutes,
        wait_minutes,
        seed,
    )
    if trace:
        given = [option for option, value in (("--days", days), ("--jobs", jobs)) if value is not None]
        if given:
            raise InputError([Problem(f"says how jobs are drawn, which {trace} takes the place of", option) for option in given])
    found = compare(read(trace, unit or "") if trace else drawn(seed, days, jobs, terms.largest), terms)
    if html:
        from roi.review.policy_view import section

        _write_page(html, "Scaling policy", section(found))
    if json:
        say(as_json(as_data(found)))
    elif html:
        say(str(html))
    else:
        say(answer(found))
        say(facts(found))
        for table in (policies(found), settings(found)):
            _print_table(table)
        _print_below(notes(found), flags(found))


def _print_table(table: Table | None) -> None:
    """A table, where there is one, its numbers to the right."""
    if table is not None:
        say_columns([table.heads, *table.rows], right=range(1, len(table.heads)))


def _print_below(notes: list[str], flags: list[str]) -> None:
    for flag in flags:
        say(f"Flag: {flag}")
    for note in notes:
        say(note)


def _write_page(path: Path, title: str, section: str) -> None:
    """Write a section as a page of its own, in the style of the app."""
    from markupsafe import Markup

    from roi.board.page import _templates, style
    from roi.files import write_whole

    page = Markup('<style>{}</style>\n<article class="roi-board">\n<header><h1>{}</h1></header>\n{}</article>')
    body = page.format(Markup(style()), title, Markup(section))
    write_whole(path, _templates.get_template("document.html").render(title=title, body=body))
