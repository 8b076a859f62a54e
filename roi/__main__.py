"""The command line, `roi`. Every command says what is wrong in plain words on standard error and then exits 2."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from roi import InputError, Proposal, Result, __version__, evaluate, load, report
from roi.inputs import inputs, model
from roi.problems import Problem
from roi.proposals import provenance_flags

app = typer.Typer(
    help="Decide whether a multi-region Kubeflow GPU-training deployment pays back.",
    epilog="PROPOSAL is the path of a YAML file, or the name of a proposal that is shipped, such as two-region.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OneProposal = Annotated[str, typer.Argument(metavar="PROPOSAL", help="A YAML file, or a shipped proposal's name.")]
Proposals = Annotated[list[str], typer.Argument(metavar="PROPOSAL...", help="YAML files, or shipped proposals' names.")]


def main() -> None:
    """Run the command line on the arguments of the process."""
    try:
        app()
    except InputError as error:
        complain(str(error))
        sys.exit(2)


def say(text: str, error: bool = False) -> None:
    """Print text as it is, but for characters that would steer the terminal, which show as their escapes."""
    typer.echo("".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text), err=error)


def complain(text: str) -> None:
    """Say it on standard error."""
    say(text, error=True)


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
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8866,
    ip: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets others in.")] = "127.0.0.1",
    token: Annotated[str, typer.Option(help="Ask every viewer for this token.")] = "",
    base_url: Annotated[str, typer.Option(help="The path under which a proxy serves the app.")] = "/",
) -> None:
    """Serve the director's app."""
    from roi import serve as server

    server.serve(port=port, ip=ip, token=token, base_url=base_url)


@app.command()
def check(proposals: Proposals) -> None:
    """Check proposals: all that is wrong, with file and line, or what is odd but legal."""
    good, bad = _load_each(proposals)
    for given, proposal in good.items():
        say(f"{given}: good ({proposal.name})")
        for flag in _flags(Result(proposal)):
            say(f"{given}: flag: {flag}")
    for error in bad.values():
        complain(str(error))
    if bad:
        raise typer.Exit(2)


@app.command("evaluate")
def evaluate_(
    proposal: OneProposal,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another value for an input, such as latency_saved=90 or proposed.europe-west4.gpu_price=12; repeatable.",
        ),
    ] = None,
    explain: Annotated[str, typer.Option(metavar="NAME", help="Show where this number comes from instead.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object; infinite and undefined values are null.")] = False,
) -> None:
    """Evaluate a proposal: the verdict and every line of the model."""
    result = evaluate(load(proposal), _changes(settings or []))
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


@app.command("report")
def report_(
    proposals: Proposals,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder that receives the reports.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many reports to make at once.")] = 1,
) -> None:
    """Write a report for each proposal, and an index that compares them.

    Each proposal gets a folder in DIR with report.html, report.ipynb and results.json. A proposal that is refused does not
    stop the others; the summary names it, and the command exits 2.
    """
    good, bad = _load_each(proposals)
    for error in bad.values():
        complain(str(error))
    report.refuse_folders(good, output)
    failed = {given: str(error) for given, error in bad.items()}
    if good:
        failed |= _report_each(good, output, jobs)
        report.write_index(good, failed, output)
        say(f"{output / 'index.html'}: compares {len(proposals) - len(failed)} of {len(proposals)} proposals")
    if failed:
        complain(f"{len(failed)} of {len(proposals)} failed: {', '.join(failed)}")
        raise typer.Exit(2)
