"""Step times, and what a change saves of each, from training logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from roi import amounts
from roi.evidence.evidence import Account, Evidence, Finding, Measure
from roi.evidence.step_logs import EXPECTED, MS, StepTimes, step_times
from roi.evidence.tables import refuse
from roi.inputs import inputs
from roi.lines import Array
from roi.problems import InputError, Problem

SPREAD_COVERS = 0.8
"""Of a step's time: low and high are the 10th and the 90th percentile of the steps."""

SAVED_COVERS = 0.9
"""Of the time saved: low and high are the 5th and the 95th percentile over resamples of both logs."""

ROLES = ("baseline", "candidate")
RESAMPLES, SEED = 10_000, 1
FEW = 10
"""Below this many measurements a spread says little."""

PLAUSIBLE_MS = (10.0, 600_000.0)
"""Outside of this a median step is taken for a mistaken unit, until --unit says that it is none."""


def read(baseline: Path, candidate: Path | None = None, unit: str = "") -> Evidence:
    """The step time of a training log, and what a second log saves of it.

    The step time is the median of the steps that `roi.evidence.step_logs` keeps, with their 10th and 90th percentile. Where a log
    gives blocks of many steps, it is all their time over all their steps. The saving is the difference of both step times, with
    the 5th and the 95th percentile of that difference over resamples of the steps of each log (the percentile bootstrap). Steps
    count as independent of each other; where slow ones come in spells the interval is too narrow.

    Args:
        unit: `ms` or `s`, for a CSV whose column does not say it, or to say that an odd time is meant.

    Raises:
        InputError: a file is no log that can be read, its times cannot be right, or the two logs cannot be compared.
        OSError: a file cannot be read.
    """
    if unit not in ("", *MS):
        raise InputError([Problem(f"'{unit}' is no unit of step times; write ms or s", "--unit")])
    logs = [step_times(path, unit) for path in (baseline, candidate) if path is not None]
    if len({log.name for log in logs}) < len(logs):
        logs = [replace(log, name=log.file) for log in logs]
    for log in logs:
        _check(log, unit)
    findings, notes = [_step_time(logs[0])], [each for log in logs for each in _notes(log)]
    if len(logs) == 2:
        _check_pair(*logs)
        saved = _saved(*logs)
        findings.append(saved)
        notes.append(saved.note)
    return Evidence(
        "steps",
        tuple(log.file for log in logs),
        logs[0].records if len({log.records for log in logs}) == 1 else "records",
        sum(log.total for log in logs),
        tuple(_of(log, account, len(logs)) for log in logs for account in log.accounts),
        tuple(findings),
        tuple(_mean(log, role) for role, log in zip(ROLES, logs, strict=False) if log.covers is None),
        tuple(notes),
        sum(account.amount or 0 for log in logs for account in log.accounts),
        "s" if all(log.covers is not None for log in logs) else "s of step times",
    )


def _check(log: StepTimes, unit: str) -> None:
    center, (least, most) = step_time(log), PLAUSIBLE_MS
    if log.unit and not unit and not least <= center <= most:
        odd = "short" if center < least else "long"
        other = "s" if log.unit == "ms" else "ms"
        raise refuse(
            Path(log.file),
            f"has a median step of {amounts.figures(center / MS[log.unit])} {log.unit}, which is {odd} for a training step: "
            f"are these {other}?",
            f"a time in the unit that the file names; --unit {log.unit} says that it is right",
        )
    try:
        inputs()["step_time"].check(center)
    except ValueError as error:
        raise refuse(Path(log.file), str(error), EXPECTED) from error


def _check_pair(baseline: StepTimes, candidate: StepTimes) -> None:
    names = f"{baseline.file} and {candidate.file}"
    if baseline.batch and candidate.batch and baseline.batch != candidate.batch:
        raise InputError(
            f"{names} have steps of {baseline.batch:,} and of {candidate.batch:,} samples, which are not the same work; "
            "compare logs with one batch size"
        )
    before, after = step_time(baseline), step_time(candidate)
    if not 1e-2 < before / after < 1e2:
        raise InputError(
            f"{names} have steps of {amounts.figures(before)} and of {amounts.figures(after)} ms, which no change explains; "
            "is one of the two in another unit?"
        )


def step_time(log: StepTimes) -> float:
    """Milliseconds of a step: the median, or of blocks all their time over all their steps."""
    return float(np.median(log.ms) if log.covers is None else np.average(log.ms, weights=log.covers))


def _step_time(log: StepTimes) -> Finding:
    center, low, high = step_time(log), None, None
    if log.ms.size > 1:
        tails = (1 - SPREAD_COVERS) / 2, (1 + SPREAD_COVERS) / 2
        if log.covers is None:
            low, high = np.quantile(log.ms, tails).tolist()
        else:
            low, high = np.quantile(log.ms, tails, weights=log.covers, method="inverted_cdf").tolist()
        low, high = min(low, center), max(high, center)  # a mean need not lie between the percentiles
    covers = None if low is None else SPREAD_COVERS
    return Finding("step_time", center, low, high, covers, _count(log), _source(log), log.dated)


def _saved(baseline: StepTimes, candidate: StepTimes) -> Finding:
    saved = step_time(baseline) - step_time(candidate)
    low = high = None
    if baseline.ms.size > 1 and candidate.ms.size > 1:
        generator = np.random.default_rng(SEED)
        differences = resampled(baseline, generator) - resampled(candidate, generator)
        low, high = np.quantile(differences, ((1 - SAVED_COVERS) / 2, (1 + SAVED_COVERS) / 2)).tolist()
        low, high = min(low, saved), max(high, saved)
    change = f"a step takes {amounts.figures(abs(saved))} ms {'less' if saved > 0 else 'more'} in {candidate.name}"
    if low is None or high is None:
        note = f"{change}; how sure that is cannot be said of a log that gives one time for all steps."
    elif low <= 0 <= high:
        note = f"{change}, but the interval of the difference, {low:,.1f} to {high:,.1f} ms, includes zero: "
        note += "these logs do not show that one is faster."
    else:
        note = f"{change}; the interval of the difference, {low:,.1f} to {high:,.1f} ms, leaves zero out."
    source = f"{_source(baseline)}; less {_source(candidate)}"
    covers = None if low is None else SAVED_COVERS
    dates = [log.dated for log in (baseline, candidate) if log.dated]
    return Finding(
        "latency_saved", saved, low, high, covers, _count(baseline) + _count(candidate), source, max(dates, default=None),
        note=f"{note[0].upper()}{note[1:]}",
    )  # fmt: skip


def resampled(log: StepTimes, generator: np.random.Generator) -> Array:
    """The step times of resamples of a log's steps, drawn with replacement.

    The median of a resample of n values is the one whose rank is the middle one of n random ranks. So the middle order statistics
    of n uniform numbers are drawn, which are beta-distributed, and not the n values of each resample: the same distribution at a
    cost that does not grow with n.
    """
    count = log.ms.size
    if log.covers is not None:
        drawn = generator.integers(count, size=(RESAMPLES, count))
        return np.asarray((log.ms * log.covers)[drawn].sum(axis=1) / log.covers[drawn].sum(axis=1))
    ordered = np.sort(log.ms)
    lower = (count + 1) // 2
    first = generator.beta(lower, count + 1 - lower, RESAMPLES)
    middle: Array = ordered[_ranks(first, count)]
    if count % 2:
        return middle
    second = first + (1 - first) * generator.beta(1, count - lower, RESAMPLES)
    middle = (middle + ordered[_ranks(second, count)]) / 2
    return middle


def _ranks(shares: Array, count: int) -> Array:
    return np.minimum((shares * count).astype(np.int64), count - 1)


def _count(log: StepTimes) -> int:
    return log.ms.size if log.covers is None else int(log.covers.sum())


def _source(log: StepTimes) -> str:
    how = f"training time over {_count(log):,} steps" if log.covers is not None else f"median of {log.ms.size:,} {log.records}"
    aside = f", {log.aside:,} set aside" if log.aside else ""
    return f"{log.name} ({log.format}): {how}{aside}"


def _mean(log: StepTimes, role: str) -> Measure:
    """What times the count of steps makes their time, as a median does not where some steps are slow."""
    return Measure(f"{role}_mean", f"Mean of the steps of {log.name}", float(log.ms.mean()), "ms")


def _notes(log: StepTimes) -> list[str]:
    notes = list(log.notes)
    if log.covers is None:
        kept, everything = step_time(log), log.median_of_all
        notes.insert(0, f"{log.name}: the median is {kept:,.1f} ms, and {everything:,.1f} ms with what is set aside.")
        if log.ms.size < FEW:
            notes.append(f"{log.name}: {log.ms.size} {log.records} are few; the spread says little.")
    return notes


def _of(log: StepTimes, account: Account, logs: int) -> Account:
    """An account that says of which log it is, where there are two."""
    return account if logs == 1 else replace(account, why=f"{account.why} in {log.name}")
