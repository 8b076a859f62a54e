"""`roi evidence`: values for inputs from the files that people already have."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from roi.evidence.evidence import Evidence
from roi.problems import InputError, Problem
from roi.report import as_json
from roi.settings import Json
from roi.terminal import say

app = typer.Typer(
    help="Values for inputs from what was measured: each reader says what it read, set aside and did not understand.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="One or more files, read together.")]
Write = Annotated[
    str, typer.Option("--write", metavar="PROPOSAL", help="Put the values into this proposal's file, after saying what changes.")
]
Sites = Annotated[
    list[str] | None,
    typer.Option("--site", metavar="FLEET.REGION", help="Where a value by site goes, such as proposed.europe-west4; repeatable."),
]


class Basis(StrEnum):
    """How a price comes about."""

    on_demand = "on-demand"
    spot = "spot"
    commitment = "commitment"


Bases = Annotated[Basis | None, typer.Option("--basis", help="Which prices --write takes.")]


def show(found: Evidence, json: bool, write: str, sites: list[str] | None, basis: Basis | None = None) -> None:
    """Print what a reader found, and put it into a proposal if one is named."""
    if not write:
        for option, given in (("--site", sites), ("--basis", basis)):
            if given:
                raise InputError([Problem("says what is written; give --write PROPOSAL with it", option)])
        say(as_json(found.as_data()) if json else str(found))
        return
    from roi.evidence.write import update

    wanted = [each for each in found.findings if basis is None or each.basis in ("", basis)]
    planned = update(wanted, write, sites or (), found.mode)
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


class Unit(StrEnum):
    """The units of a step's time."""

    ms = "ms"
    s = "s"


@app.command("steps")
def steps_(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="The log of a training run as it is today.")],
    candidate: Annotated[Path | None, typer.Argument(metavar="CANDIDATE", help="A log after the change.")] = None,
    unit: Annotated[
        Unit | None, typer.Option(help="The unit of a CSV that does not say it, or to say that an odd time is right.")
    ] = None,
    write: Write = "",
    sites: Sites = None,
    json: Json = False,
) -> None:
    """Step time from a training log, and what a second log saves of it.

    Reads logs of Megatron-LM, nanoGPT, torchtitan, NeMo and MLPerf, a trainer_state.json, TensorBoard events and CSV.
    """
    from roi.evidence.steps import read

    show(read(baseline, candidate, unit.value if unit else ""), json, write, sites)


@app.command("waits")
def waits_(files: Files, write: Write = "", sites: Sites = None, json: Json = False) -> None:
    """Queue wait and start-up of jobs, from objects as kubectl prints them or from CSV.

    Reads pods, workloads of Kueue, TFJob, PyTorchJob and the like, and TrainJob, as YAML or JSON; one kind at a time.
    """
    from roi.evidence.waits import read

    show(read(files), json, write, sites)


class Cost(StrEnum):
    """The cost columns of FOCUS that can be counted."""

    effective = "effective"
    billed = "billed"


@app.command("billing")
def billing_(
    files: Files,
    cost: Annotated[Cost, typer.Option(help="The one cost column to count: with what was prepaid spread, or as invoiced.")],
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="Set aside what was charged for other months.")] = "",
    write: Write = "",
    sites: Sites = None,
    basis: Bases = None,
    json: Json = False,
) -> None:
    """Prices of GPUs, storage and egress from billing exports in FOCUS 1.0 to 1.2, as CSV or Parquet."""
    from roi.evidence.billing import read

    if month and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month, re.ASCII):
        raise InputError([Problem(f"'{month}' is not a month; write it like 2026-05", "--month")])
    show(read(files, cost.value, month), json, write, sites, basis)


@app.command("opencost")
def opencost_(files: Files, write: Write = "", sites: Sites = None, json: Json = False) -> None:
    """Utilisation and prices from answers of OpenCost's allocation API, or from its list of default prices, as JSON."""
    from roi.evidence.opencost import read

    show(read(files), json, write, sites)


@app.command("prices")
def prices_(
    gpu: Annotated[str, typer.Option(metavar="NAME", help="The GPU, such as H100, with its variants.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Price lists; without any, the list that is shipped.")
    ] = None,
    region: Annotated[str, typer.Option(help="Only this region, as the lists write it.")] = "",
    date: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The day on which a list that names no day was fetched.")
    ] = None,
    write: Write = "",
    sites: Sites = None,
    basis: Bases = None,
    json: Json = False,
) -> None:
    """USD per GPU-hour from SkyPilot's catalogs and other price lists, as CSV or JSON."""
    from roi.evidence.prices import GPU_PRICES, read

    show(read(files or [GPU_PRICES], gpu, region, date.date() if date else None), json, write, sites, basis)


class Together(StrEnum):
    """How regions work together."""

    placement_only = "placement_only"
    sync_cross_region = "sync_cross_region"
    low_comm = "low_comm"


@app.command("network")
def network_(
    regions: Annotated[list[str], typer.Argument(metavar="REGION REGION", help="Two or more regions, in the order of the ring.")],
    parameters: Annotated[float, typer.Option(help="How many parameters the model has, such as 7e9.")],
    bytes_per_parameter: Annotated[float, typer.Option(help="What is sent for each; 2 is bf16.")] = 2.0,
    bandwidth: Annotated[float | None, typer.Option(metavar="GBIT/S", help="Your own measurement, for all links.")] = None,
    round_trip: Annotated[float | None, typer.Option(metavar="MS", help="Your own measurement, for all links.")] = None,
    overlap: Annotated[float, typer.Option(metavar="MS", help="What of each synchronisation runs beside computing.")] = 0.0,
    every: Annotated[int, typer.Option(metavar="STEPS", help="From one to the next in low-communication training.")] = 500,
    mode: Annotated[Together | None, typer.Option(help="How the regions work together; gives the values of a proposal.")] = None,
    write: Write = "",
    json: Json = False,
) -> None:
    """What it takes to synchronise training across regions, at every step or every few hundred.

    Round trips and bandwidths are those in data/network.csv, unless they are given.
    """
    from roi.evidence.network import Job, read

    if write and mode is None:
        raise InputError([Problem("each mode has its own values; say which with --mode", "--write")])
    job = Job(parameters, bytes_per_parameter, overlap, every, bandwidth, round_trip)
    found = read(regions, job, mode.value if mode else "")
    show(found, json, write, [f"proposed.{each}" for each in regions] if write else None)
