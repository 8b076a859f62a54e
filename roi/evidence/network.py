"""What it takes to synchronise training across regions: from round trips and bandwidths between them, as they were measured."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

import numpy as np

from roi import amounts
from roi.evidence import synchronisation
from roi.evidence.evidence import Account, Evidence, Finding, Measure
from roi.evidence.quantities import day
from roi.inputs import ROOT, inputs
from roi.lines import Model, Variable, did_you_mean, lines_of
from roi.modes import MODES
from roi.problems import InputError, Problem
from roi.units import Unit

NETWORK = ROOT / "data" / "network.csv"
ROUND_TRIP, BANDWIDTH = "round trip", "bandwidth"
BYTES_PER_PARAMETER = 2.0
"""Gradients in bf16."""

FEW_STEPS = 500
"""Steps between synchronisations of low-communication training in DiLoCo (Douillard et al., arXiv:2311.08105, 2023)."""

FAST_LINK = 100.0
"""Gbit/s of a dedicated interconnect, for comparison."""

COVERS = 0.8
"""What is taken to lie between the lowest and the highest of a few measurements."""

_UNITS = {"parameters": "1", "bytes_per_parameter": "byte", "regions": "1", "round_trip": "ms", "bandwidth": "Gbit/s"}
_UNITS |= {"overlap": "ms/sync", "steps_per_sync": "step/sync"}


@dataclass(frozen=True)
class Link:
    """One measure from a region to another, with every value that was measured.

    Attributes:
        values: in ms for a round trip, in Gbit/s for a bandwidth.
        count: how many measurements these stand on; a value may be the median of several.
        lines: of the table, as file:line.
    """

    values: tuple[float, ...]
    count: int
    sources: tuple[str, ...]
    dated: date | None
    lines: tuple[str, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.values))


@cache
def model() -> Model:
    """The lines of a synchronisation, traced and checked."""
    return Model(lines_of(synchronisation), [Variable(name, Unit.parse(unit), "scalar") for name, unit in _UNITS.items()])


@cache
def links() -> dict[tuple[str, str, str], Link]:
    """The shipped measurements by measure and regions, a round trip in both orders.

    Raises:
        InputError: a row lacks its regions, its date, its source or a value above zero.
    """
    found: dict[tuple[str, str, str], Link] = {}
    with NETWORK.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            dated, place = day(row["date"]), f"{NETWORK.name}:{line}"
            try:
                value, count = float(row["value"]), int(row["count"])
            except ValueError:
                value = math.nan
            if not (value > 0 and count > 0 and dated and row["source"] and row["from_region"] and row["to_region"]):
                raise InputError([Problem("lacks its regions, a date, a source or a value above zero", str(NETWORK), line)])
            ends = (row["from_region"], row["to_region"])
            for each in {ends, ends[::-1]} if row["measure"] == ROUND_TRIP else {ends}:
                key = (row["measure"], *each)
                old = found.get(key, Link((), 0, (), None, ()))
                sources = tuple(dict.fromkeys((*old.sources, row["source"])))
                oldest = min(filter(None, (old.dated, dated)))
                found[key] = Link((*old.values, value), old.count + count, sources, oldest, (*old.lines, place))
    return found


@dataclass(frozen=True)
class Job:
    """What is synchronised, and how.

    Attributes:
        parameters: of the model.
        bytes_per_parameter: of what is sent for each.
        overlap: ms of each synchronisation that run beside computing.
        every: steps from one synchronisation to the next in low-communication training.
        bandwidth, round_trip: in Gbit/s and ms where they are given and not looked up.
    """

    parameters: float
    bytes_per_parameter: float = BYTES_PER_PARAMETER
    overlap: float = 0.0
    every: int = FEW_STEPS
    bandwidth: float | None = None
    round_trip: float | None = None


def read(regions: Sequence[str], job: Job, mode: str = "") -> Evidence:
    """What a synchronisation of these regions takes, at every step and every few hundred.

    Args:
        regions: two or more, in the order of the ring; its slowest link is what all wait for.
        mode: of `roi.modes`; the values are then those that a proposal of this mode has.

    Raises:
        InputError: regions that are not known, a link that was not measured, or numbers that cannot be.
    """
    _check(regions, job)
    trips, bandwidths = _ring(regions, ROUND_TRIP, job.round_trip), _ring(regions, BANDWIDTH, job.bandwidth)
    slowest = min(bandwidths, key=lambda each: each.median)
    farthest = max(trips, key=lambda each: each.median)
    one = _evaluated(regions, job, farthest.median, slowest.median)
    # The best and the worst of what was measured on every link; in either all wait for the worst link of the ring.
    best = _evaluated(regions, job, max(min(each.values) for each in trips), min(max(each.values) for each in bandwidths))
    worst = _evaluated(regions, job, max(max(each.values) for each in trips), min(min(each.values) for each in bandwidths))
    fast = _evaluated(regions, job, farthest.median, FAST_LINK)
    looked_up = [link for link in (*trips, *bandwidths) if link.lines]
    rows = list(dict.fromkeys(line for link in looked_up for line in link.lines))
    return Evidence(
        kind="network",
        files=(str(NETWORK),) if looked_up else (),
        records="measurements of these links",
        total=len(rows),
        accounts=(Account("read", "rows of data/network.csv", len(rows), None, tuple(rows[:4])),) if rows else (),
        findings=_findings(regions, job, mode, (one, best, worst), farthest, slowest),
        measures=tuple(Measure(*each) for each in _measures(one, job, farthest, slowest)),
        notes=_notes(regions, job, one, fast, farthest, slowest, [each for link in bandwidths for each in link.values]),
        mode=mode,
    )


def _check(regions: Sequence[str], job: Job) -> None:
    known = sorted({end for _, *ends in links() for end in ends})
    problems = []
    if len(regions) < 2 or len(set(regions)) < len(regions):
        problems.append(Problem("name two or more regions, each once", "REGION"))
    if job.bandwidth is None or job.round_trip is None:
        for region in regions:
            if region not in known:
                hint = did_you_mean(region.lower(), known) or f"; known are {', '.join(known)}"
                more = "give both --round-trip and --bandwidth where it is none of those"
                problems.append(Problem(f"nothing was measured of '{region}'{hint} ({more})", "REGION"))
    for option, value, least in (
        ("--parameters", job.parameters, 1),
        ("--bytes-per-parameter", job.bytes_per_parameter, 0.01),
        ("--overlap", job.overlap, 0),
        ("--every", job.every, 2),
        ("--bandwidth", job.bandwidth, 0.001),
        ("--round-trip", job.round_trip, 0.001),
    ):
        if value is not None and not (math.isfinite(value) and least <= value <= 1e15):
            problems.append(Problem(f"{value:g} cannot be; write {least:g} or more", option))
    if problems:
        raise InputError(problems)


def _ring(regions: Sequence[str], measure: str, given: float | None) -> list[Link]:
    """The links of the ring, or what is given for each of them."""
    if given is not None:
        return [Link((given,), 1, (), None, ())]
    ring = list(zip(regions, [*regions[1:], regions[0]], strict=True))
    missing = [f"{a} to {b}" for a, b in ring if (measure, a, b) not in links()]
    if missing:
        option = f"--{measure.replace(' ', '-')}"
        raise InputError([Problem(f"no {measure} was measured from {', '.join(missing)}; give one with {option}", str(NETWORK))])
    return [links()[measure, a, b] for a, b in ring]


def _evaluated(regions: Sequence[str], job: Job, round_trip: float, bandwidth: float) -> Mapping[str, float]:
    values = {"parameters": job.parameters, "bytes_per_parameter": job.bytes_per_parameter, "regions": len(regions)}
    values |= {"round_trip": round_trip, "bandwidth": bandwidth, "overlap": job.overlap, "steps_per_sync": job.every}
    found = model().evaluate({name: np.array([[float(value)]]) for name, value in values.items()})
    return {name: float(value[0, 0]) for name, value in found.items()}


def _findings(
    regions: Sequence[str],
    job: Job,
    mode: str,
    evaluated: Sequence[Mapping[str, float]],
    trip: Link,
    bandwidth: Link,
) -> tuple[Finding, ...]:
    """The values of a proposal of this mode; of none where the mode is not said, since each has its own."""
    if not mode:
        return ()
    together = mode != "placement_only"
    one, best, worst = ({name: value * together for name, value in each.items()} for each in evaluated)
    steps = float(job.every) if mode == "low_comm" else 1.0
    measured = bool(trip.lines and bandwidth.lines)
    source = (
        f"Ring all-reduce of {amounts.figures(evaluated[0]['gradient_size'])} GB over {' and '.join(regions)}: "
        f"{amounts.figures(bandwidth.median)} Gbit/s ({_source(bandwidth)}), "
        f"{amounts.figures(trip.median)} ms round trip ({_source(trip)})"
        + (f", of which {amounts.figures(job.overlap)} ms overlap with computing" if job.overlap else "")
        if together
        else f"Mode {mode}: {MODES[mode]}"
    )
    dated = min(filter(None, (trip.dated, bandwidth.dated)), default=None) if measured and together else None
    count = trip.count + bandwidth.count if measured and together else 1

    def finding(name: str, value: float, low: float | None = None, high: float | None = None, place: str = "") -> Finding:
        low, high, covers = (None, None, None) if low == high else (low, high, COVERS)
        return Finding(name, value, low, high, covers, count, source, dated, place=place, measured=measured and together)

    return (
        Finding("steps_per_sync", steps, None, None, None, 1, f"Mode {mode}: {MODES[mode]}", measured=False),
        finding("sync_time", one["sync_time"], best["sync_time"], worst["sync_time"]),
        *(finding("egress_per_sync", one["sent_per_sync"], place=region) for region in regions),
    )


def _source(link: Link) -> str:
    return "; ".join(link.sources) or "as given"


def _measures(one: Mapping[str, float], job: Job, trip: Link, bandwidth: Link) -> list[tuple[str, str, float, str]]:
    lines = model().lines
    return [
        ("round_trip", "Round trip", trip.median, "ms"),
        ("bandwidth", "Bandwidth", bandwidth.median, "Gbit/s"),
        *((name, lines[name].label, one[name], str(lines[name].unit)) for name in ("gradient_size", "sent_per_sync")),
        *((name, lines[name].label, one[name], str(lines[name].unit)) for name in ("trip_time", "sending_time", "sync_time")),
        ("every_step", "Added to each step, synchronising at every step", one["sync_time"], "ms/step"),
        ("every_few_steps", f"Added to each step, synchronising every {job.every:,}", one["sync_time_per_step"], "ms/step"),
    ]


def _notes(
    regions: Sequence[str],
    job: Job,
    one: Mapping[str, float],
    fast: Mapping[str, float],
    trip: Link,
    bandwidth: Link,
    values: Sequence[float],
) -> tuple[str, ...]:
    count, size, sent = len(regions), amounts.figures(one["gradient_size"]), amounts.figures(one["sent_per_sync"])
    rounds = 2 * (count - 1)

    def seconds(value: float) -> str:
        return f"{amounts.figures(amounts.half_up(value / 1000, 2))} s"

    notes = [
        f"{amounts.figures(job.parameters)} parameters of {job.bytes_per_parameter:g} bytes are {size} GB. Around a ring of "
        f"{count} regions each sends {rounds}/{count} of it: {sent} GB x 8 / {amounts.figures(bandwidth.median)} Gbit/s = "
        f"{seconds(one['sending_time'])}, and {rounds} x {amounts.figures(trip.median)} ms / 2 = {seconds(one['trip_time'])} on "
        f"the way; {job.overlap:g} ms overlap with computing.",
        f"Over a dedicated link of {FAST_LINK:g} Gbit/s the sending would take {seconds(fast['sending_time'])}.",
        "placement_only, each job whole in one region, synchronises nothing and makes no step faster.",
    ]
    if len(values) > 1:
        notes.append(
            f"Taken are medians, and of the links of the ring the slowest. Of the bandwidth {amounts.figures(min(values))} to "
            f"{amounts.figures(max(values))} Gbit/s were measured, in {len(values)} runs of one machine over a few seconds, on "
            "all links of the ring: a measurement of your own, with --bandwidth, is better."
        )
    if not one["sync_time"]:
        whole = amounts.figures(one["trip_time"] + one["sending_time"])
        notes.append(f"All of a synchronisation, {whole} ms, is taken to overlap with computing, so that nothing is left of it.")
    if job.every == FEW_STEPS:
        notes.append(f"Every {FEW_STEPS} steps is what DiLoCo does (arXiv:2311.08105); --every says another number.")
    row = inputs()["step_time"]
    notes.append(f"For comparison, a whole step takes {row.show(row.default)} where a proposal says nothing else.")
    return tuple(notes)
