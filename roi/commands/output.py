"""The commands that make what others look at: the served app, reports, and single files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roi import InputError, Result, load, report
from roi.files import write_whole
from roi.settings import FILE, Whole, cluster_option, proposal_argument
from roi.terminal import complain, printable, say, show

if TYPE_CHECKING:
    from roi.batch import Order, Outcome
    from roi.store import Place

JOBS, USUAL = min(os.cpu_count() or 1, 4), "as many as there are processors, 4 at most"


@click.command()
@click.option("--port", type=Whole(0, 65535), default=8866, help="The port to listen on; 0 takes a free one.")
@click.option("--ip", default="127.0.0.1", help="The address to listen on; 0.0.0.0 lets others in.")
@click.option("--token", default="", show_default=False, help="Ask every viewer for this token.")
@click.option("--base-url", default="/", help="The path under which a proxy serves the app.")
@click.option("--pool", type=Whole(min=0), default=2, help="How many kernels to keep ready for the next viewers.")
def serve_command(port: int, ip: str, token: str, base_url: str, pool: int) -> None:
    """Serve the director's app."""
    from roi import serve as server

    server.serve(port=port, ip=ip, token=token, base_url=base_url, pool=pool)


@click.command()
@click.argument(
    "proposals",
    nargs=-1,
    required=True,
    metavar="PROPOSAL...",
    help="YAML files, shipped proposals' names, or CSV files of one a line.",
)
@click.option(
    "--output", "-o", required=True, metavar="DIR", help="The folder that receives the reports, or a URL such as s3://..."
)
@click.option("--jobs", type=Whole(min=1), default=JOBS, show_default=USUAL, help="How many reports to make at once.")
@cluster_option
@click.option(
    "--sweep",
    multiple=True,
    metavar="NAME=FROM:TO:STEP",
    help="A report for each value of an input; repeatable, for every combination.",
)
@click.option("--force", is_flag=True, help="Make reports again that are finished.")
def report_command(proposals: tuple[str, ...], output: str, jobs: int, address: str, sweep: tuple[str, ...], force: bool) -> None:
    """Write reports, and an index that compares them.

    Each proposal gets a folder in DIR with report.html, report.ipynb, workbook.xlsx and results.json. A proposal that
    is refused does not stop the others; the summary names it, and the command exits 2. Reports that are finished, and
    would be no different today, are skipped: a batch that was killed goes on where it was.
    """
    from roi import batch
    from roi.store import opened

    orders, bad = batch.read(proposals, sweep)
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
        raise click.exceptions.Exit(2)


@click.command()
@proposal_argument
@click.option("--html", type=FILE, metavar="FILE", help="The page, as one self-contained file.")
@click.option("--xlsx", type=FILE, metavar="FILE", help="A workbook with live formulas.")
@click.option("--pptx", type=FILE, metavar="FILE", help="Three slides with native charts.")
def export_command(proposal: str, html: Path | None, xlsx: Path | None, pptx: Path | None) -> None:
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


def _report_each(orders: list[Order], place: Place, jobs: int, force: bool, address: str) -> dict[str, Outcome]:
    """Make the reports with a progress bar on a terminal, elsewhere with a line for each; what became of each, in order."""
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
    return {order.given: outcomes[order.given] for order in orders}


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
    show(table)
