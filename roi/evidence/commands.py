"""`roi evidence`: values for inputs from the files that people already have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import click

from roi.evidence.evidence import Evidence
from roi.modes import MODES
from roi.problems import InputError, Problem
from roi.report import as_json
from roi.settings import FILE, json_option
from roi.terminal import say

files_argument = click.argument(
    "files", type=FILE, nargs=-1, required=True, metavar="FILE...", help="One or more files, read together."
)
write_option = click.option(
    "--write",
    default="",
    show_default=False,
    metavar="PROPOSAL",
    help="Put the values into this proposal's file, after saying what changes.",
)
sites_option = click.option(
    "--site",
    "sites",
    multiple=True,
    metavar="FLEET.REGION",
    help="Where a value by site goes, such as proposed.europe-west4; repeatable.",
)
basis_option = click.option("--basis", type=click.Choice(["on-demand", "spot", "commitment"]), help="Which prices --write takes.")


class InOrder(click.Group):
    """Lists its commands in the order of this file, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder)
def evidence_command() -> None:
    """Values for inputs from what was measured: each reader says what it read, set aside and did not understand."""


def show(found: Evidence, json: bool, write: str, sites: Sequence[str], basis: str | None = None) -> None:
    """Print what a reader found, and put it into a proposal if one is named."""
    if not write:
        for option, given in (("--site", sites), ("--basis", basis)):
            if given:
                raise InputError([Problem("says what is written; give --write PROPOSAL with it", option)])
        say(as_json(found.as_data()) if json else str(found))
        return
    from roi.evidence.write import update

    wanted = [each for each in found.findings if basis is None or each.basis in ("", basis)]
    planned = update(wanted, write, sites, found.mode)
    if json:
        planned.save()
        say(as_json({**found.as_data(), "written": str(planned.path), "changes": planned.changes}))
        return
    say(str(found))
    for change in planned.changes:
        say(change)
    for finding in planned.left:
        say(f"Not written, for no site is in {finding.place}: {finding}")
    planned.save()
    say(f"{planned.path}: written")


@evidence_command.command()
@click.argument("baseline", type=FILE, help="The log of a training run as it is today.")
@click.argument("candidate", type=FILE, required=False, help="A log after the change.")
@click.option(
    "--unit",
    type=click.Choice(["ms", "s"]),
    help="The unit of a CSV that does not say it, or to say that an odd time is right.",
)
@write_option
@sites_option
@json_option
def steps_command(
    baseline: Path, candidate: Path | None, unit: str | None, write: str, sites: tuple[str, ...], json: bool
) -> None:
    """Step time from a training log, and what a second log saves of it.

    Reads logs of Megatron-LM, nanoGPT, torchtitan, NeMo and MLPerf, a trainer_state.json, TensorBoard events and CSV.
    """
    from roi.evidence.steps import read

    show(read(baseline, candidate, unit or ""), json, write, sites)


@evidence_command.command()
@files_argument
@write_option
@sites_option
@json_option
def waits_command(files: tuple[Path, ...], write: str, sites: tuple[str, ...], json: bool) -> None:
    """Queue wait and start-up of jobs, from objects as kubectl prints them or from CSV.

    Reads pods, workloads of Kueue, TFJob, PyTorchJob and the like, and TrainJob, as YAML or JSON; one kind at a time.
    """
    from roi.evidence.waits import read

    show(read(files), json, write, sites)


@evidence_command.command()
@files_argument
@click.option(
    "--cost",
    type=click.Choice(["effective", "billed"]),
    required=True,
    help="The one cost column to count: with what was prepaid spread, or as invoiced.",
)
@click.option("--month", default="", show_default=False, metavar="YYYY-MM", help="Set aside what was charged for other months.")
@write_option
@sites_option
@basis_option
@json_option
def billing_command(
    files: tuple[Path, ...],
    cost: Literal["effective", "billed"],
    month: str,
    write: str,
    sites: tuple[str, ...],
    basis: str | None,
    json: bool,
) -> None:
    """Prices of GPUs, storage and egress from billing exports in FOCUS 1.0 to 1.2, as CSV or Parquet."""
    from roi.evidence.billing import read

    if month and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month, re.ASCII):
        raise InputError([Problem(f"'{month}' is not a month; write it like 2026-05", "--month")])
    show(read(files, cost, month), json, write, sites, basis)


@evidence_command.command()
@files_argument
@write_option
@sites_option
@json_option
def opencost_command(files: tuple[Path, ...], write: str, sites: tuple[str, ...], json: bool) -> None:
    """Utilisation and prices from answers of OpenCost's allocation API, or from its list of default prices, as JSON."""
    from roi.evidence.opencost import read

    show(read(files), json, write, sites)


@evidence_command.command()
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...", help="Price lists; without any, the list that is shipped.")
@click.option("--gpu", required=True, metavar="NAME", help="The GPU, such as H100, with its variants.")
@click.option("--region", default="", show_default=False, help="Only this region, as the lists write it.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="The day on which a list that names no day was fetched.")
@write_option
@sites_option
@basis_option
@json_option
def prices_command(
    files: tuple[Path, ...],
    gpu: str,
    region: str,
    date: datetime | None,
    write: str,
    sites: tuple[str, ...],
    basis: str | None,
    json: bool,
) -> None:
    """USD per GPU-hour from SkyPilot's catalogs and other price lists, as CSV or JSON."""
    from roi.evidence.prices import GPU_PRICES, read

    show(read(files or [GPU_PRICES], gpu, region, date.date() if date else None), json, write, sites, basis)


@evidence_command.command()
@click.argument(
    "regions", nargs=-1, required=True, metavar="REGION REGION...", help="Two or more regions, in the order of the ring."
)
@click.option("--parameters", type=float, required=True, help="How many parameters the model has, such as 7e9.")
@click.option("--bytes-per-parameter", default=2.0, help="What is sent for each; 2 is bf16.")
@click.option("--bandwidth", type=float, metavar="GBIT/S", help="Your own measurement, for all links.")
@click.option("--round-trip", type=float, metavar="MS", help="Your own measurement, for all links.")
@click.option("--overlap", default=0.0, metavar="MS", help="What of each synchronisation runs beside computing.")
@click.option("--every", default=500, metavar="STEPS", help="From one to the next in low-communication training.")
@click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    help="How the regions work together; gives the values of a proposal.",
)
@write_option
@json_option
def network_command(
    regions: tuple[str, ...],
    parameters: float,
    bytes_per_parameter: float,
    bandwidth: float | None,
    round_trip: float | None,
    overlap: float,
    every: int,
    mode: str | None,
    write: str,
    json: bool,
) -> None:
    """What it takes to synchronise training across regions, at every step or every few hundred.

    Round trips and bandwidths are those in data/network.csv, unless they are given.
    """
    from roi.evidence.network import Job, read

    if write and mode is None:
        raise InputError([Problem("each mode has its own values; say which with --mode", "--write")])
    job = Job(parameters, bytes_per_parameter, overlap, every, bandwidth, round_trip)
    found = read(regions, job, mode or "")
    show(found, json, write, [f"proposed.{each}" for each in regions] if write else ())
