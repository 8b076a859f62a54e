"""Readiness for production: a gate of three measures, a checklist, and a weighted scorecard.

Each measure passes, fails, or has not enough data, with the number, the window, and what would make it pass. Nothing is filled
in: without data there is no number, without an answer no verdict, and without each score no scorecard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timezone
from typing import Any, Literal

import numpy as np

from roi import amounts
from roi.amounts import exact_money
from roi.inputs import Source
from roi.lines import Array
from roi.review.readiness_criteria import NONE, Answer, Answers, Criteria, Criterion, Item, Measure, Threshold
from roi.review.readiness_series import DAY, HOUR, SLACK, Series, duration, midnights, sentences

Verdict = Literal["pass", "fail", "not enough data", "not answered"]

HOW: dict[Measure, str] = {
    "latency": "a table with the columns time and latency_ms, or latency_ms=FILE with an answer of Prometheus to a range query",
    "utilisation": "a table with the columns time and utilisation, or DCGM_FI_DEV_GPU_UTIL from a range query to Prometheus",
    "cost": "a table with the columns time and cost_usd, or OpenCost's allocations with step=1d and includeIdle=true",
}
"""How each measure is given."""


@dataclass(frozen=True)
class Measured:
    """One measure of the gate.

    Attributes:
        number: its statistic, in the unit of the threshold; None where there is nothing to compute it from.
        start, end: the window, in seconds since 1970; of cost that of its complete days.
        days: how long the window is; of cost how many complete days it has.
        coverage: the share of the window for which there are samples.
        remedy: what would make it pass; empty where it does.
        by_day: the statistic of each day, of cost its USD, by the day's beginning in seconds since 1970.
    """

    threshold: Threshold
    verdict: Verdict
    number: float | None = None
    start: float = 0.0
    end: float = 0.0
    days: float = 0.0
    samples: int = 0
    series: int = 0
    coverage: float = 0.0
    remedy: str = ""
    zone: timezone = UTC
    by_day: tuple[tuple[float, float], ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def window(self) -> str:
        """`2026-05-01 00:00 to 2026-05-08 00:00 UTC, 7 days, 2,016 samples of 8 series`."""
        if not self.samples:
            return "no data yet"
        first, last = (datetime.fromtimestamp(each, self.zone).strftime("%Y-%m-%d %H:%M") for each in (self.start, self.end))
        of_series = f" of {self.series:,} series" if self.series > 1 else ""
        length = _count(self.days, "complete day") if self.threshold.name == "cost" else _length(self.days)
        return f"{first} to {last} {self.zone}, {length}, {_count(self.samples, 'sample')}{of_series}"

    @property
    def shown(self) -> str:
        """The number with its unit."""
        return "no number" if self.number is None else self.threshold.show(self.number)


@dataclass(frozen=True)
class Checked:
    """One item of the checklist, with its answer where there is one."""

    item: Item
    answer: Answer | None

    @property
    def verdict(self) -> Verdict:
        if self.answer is None:
            return "not answered"
        return "pass" if self.item.holds(self.answer.value) else "fail"

    @property
    def remedy(self) -> str:
        """What would make it pass; empty where it does."""
        if self.answer is None:
            return f"needs an answer, {self.item.words}"
        return "" if self.verdict == "pass" else self.item.remedy(self.answer.value)


@dataclass(frozen=True)
class Scored:
    """One criterion of the scorecard, with its score from 0 to 1 where there is one."""

    criterion: Criterion
    answer: Answer | None


@dataclass(frozen=True)
class Readiness:
    """The gate, the checklist and the scorecard, and what is odd about the data."""

    criteria: Criteria
    gate: tuple[Measured, ...]
    checklist: tuple[Checked, ...]
    scorecard: tuple[Scored, ...]

    @property
    def passed(self) -> bool | None:
        """Whether the gate is passed; None where nothing fails and something is not known."""
        verdicts = [each.verdict for each in self.gate]
        return False if "fail" in verdicts else True if set(verdicts) == {"pass"} else None

    @property
    def missing_scores(self) -> list[str]:
        """Labels of the criteria without a score."""
        return [each.criterion.label for each in self.scorecard if each.answer is None]

    @property
    def score(self) -> float | None:
        """The weighted mean of the scores; None as long as one is missing."""
        scored = [(each.criterion.weight, each.answer.value) for each in self.scorecard if each.answer]
        if len(scored) < len(self.scorecard):
            return None
        return _rounded(sum(weight * score for weight, score in scored) / sum(weight for weight, _ in scored))

    @property
    def flags(self) -> list[str]:
        unsourced = [
            *(each.item.label for each in self.checklist if each.answer and not each.answer.source),
            *(each.criterion.label for each in self.scorecard if each.answer and not each.answer.source),
        ]
        said = [f"Answered without a source: {', '.join(unsourced)}."] if unsourced else []
        odd = [each.item.odd(each.answer.value) for each in self.checklist if each.answer]
        return [*(f"{each.threshold.label}: {flag}" for each in self.gate for flag in each.flags), *filter(None, odd), *said]


def evaluate(criteria: Criteria, series: Sequence[Series] = (), answers: Answers = NONE) -> Readiness:
    """The gate over some series, and the checklist and the scorecard over some answers."""
    gate = []
    for measure, threshold in criteria.gate.items():
        own = [each for each in series if each.measure == measure]
        gate.append(_costs(threshold, own) if measure == "cost" else _samples(threshold, own))
    return Readiness(
        criteria,
        tuple(gate),
        tuple(Checked(item, answers.checklist.get(name)) for name, item in criteria.checklist.items()),
        tuple(Scored(criterion, answers.scores.get(name)) for name, criterion in criteria.scorecard.items()),
    )


# --- the gate ---------------------------------------------------------------------------------------------------------------


def statistic(name: str, values: Array, covers: Array) -> float | None:
    """A statistic of samples that each count for some time.

    Args:
        name: `p95` and the like, of the samples, between two of them in a straight line (type 7 of Hyndman and Fan, The American
            Statistician 50, 1996); `time_weighted_mean`; or `coefficient_of_variation`, the standard deviation (n - 1) over
            the mean.

    Returns:
        None where it is not defined: of no samples, over no time, of a single day, or with a mean of zero.
    """
    if name == "time_weighted_mean":
        return _rounded(float(np.average(values, weights=covers))) if covers.sum() > 0 else None
    if name == "coefficient_of_variation":
        defined = len(values) > 1 and values.mean() > 0
        return _rounded(float(values.std(ddof=1) / values.mean())) if defined else None
    return _rounded(float(np.quantile(values, int(name[1:]) / 100))) if len(values) else None


def _rounded(value: float) -> float:
    """A number without what is left of it by rounding, so that a mean of nothing but 0.85 is 0.85 and not above it."""
    return float(f"{value:.12g}")


def _samples(threshold: Threshold, series: Sequence[Series]) -> Measured:
    """A measure whose statistic is that of its samples."""
    if not series:
        return _without_data(threshold)
    times, covers, values = (np.concatenate([getattr(each, name) for each in series]) for name in ("times", "covers", "values"))
    start, end = min(each.start for each in series), max(each.end for each in series)
    covered = sum(last - first for first, last in _merged(series))
    number = statistic(threshold.statistic, values, covers)
    days, coverage = (end - start) / DAY, covered / (end - start) if end > start else 0.0
    step = _finest(series)
    zone = series[0].zone
    day_of = midnights(times, zone)
    by_day = []
    for day in np.unique(day_of):
        of_day = statistic(threshold.statistic, values[day_of == day], covers[day_of == day])
        by_day += [(float(day), of_day)] if of_day is not None else []
    wanted, short = threshold.minimum, []
    # A window that is shorter by less than a step misses nothing.
    if (end - start) + step * (1 - SLACK) < wanted.days * DAY:
        short.append(f"{_length(days)} of {_length(wanted.days)}; {_length(wanted.days - days)} more are needed")
    if wanted.samples and len(values) < wanted.samples:
        short.append(_short(len(values), wanted.samples, "sample"))
    if wanted.coverage and coverage < wanted.coverage:
        share, asked = (amounts.quantity(each, "%") for each in (coverage, wanted.coverage))
        more = duration(wanted.coverage * (end - start) - covered)
        short.append(f"samples for {share} of the window, of {asked}: samples for {more} of it are missing")
    flags = [*sentences(series), *_flags_of_samples(threshold, series, values, covers)]
    verdict, remedy = _judged(threshold, number, short)
    return Measured(
        threshold,
        verdict,
        number,
        start=start,
        end=end,
        days=days,
        samples=len(values),
        series=len(series),
        coverage=coverage,
        remedy=remedy,
        zone=zone,
        by_day=tuple(by_day),
        flags=tuple(flags),
    )


def _flags_of_samples(threshold: Threshold, series: Sequence[Series], values: Array, covers: Array) -> list[str]:
    start, end, step = min(each.start for each in series), max(each.end for each in series), max(each.step for each in series)
    flags = []
    partial = [each for each in series if each.start - start > step or end - each.end > step]
    if partial:
        begin, end_ = ("begins", "ends") if len(partial) == 1 else ("begin", "end")
        flags.append(
            f"{len(partial):,} of {len(series):,} series {begin} later or {end_} earlier than the window ({partial[0].name[:80]}"
            f"{', ...' if len(partial) > 1 else ''}); what is absent is not counted as idle."
        )
    missing = sum(float((each.gaps[:, 1] - each.gaps[:, 0]).sum()) for each in series)
    if missing and threshold.name == "utilisation" and threshold.statistic == "time_weighted_mean" and covers.sum() > 0:
        idle = statistic(threshold.statistic, np.append(values, 0.0), np.append(covers, missing))
        assert idle is not None
        flags.append(
            f"If all was idle in the gaps, {duration(missing)} over all series, the mean would be {threshold.show(idle)}."
        )
    return flags


def _costs(threshold: Threshold, series: Sequence[Series]) -> Measured:
    """Cost, whose statistic is that of its complete days."""
    if not series:
        return _without_data(threshold)
    zone = series[0].zone
    times, values = (np.concatenate([getattr(each, name) for each in series]) for name in ("times", "values"))
    day_of, covered = midnights(times, zone), _merged(series)
    step = _finest(series)
    torn = np.concatenate([each.gaps for each in series])
    complete: list[float] = []
    partial: list[float] = []
    for day in np.unique(np.append(day_of, midnights(torn.ravel(), zone))):
        missing = DAY - sum(max(0.0, min(last, day + DAY) - max(first, day)) for first, last in covered)
        # A day that is short by less than a step, or an hour, has each of its samples.
        whole = missing < min(step, HOUR) * (1 - SLACK) and not any(first < day + DAY and last > day for first, last in torn)
        (complete if whole else partial).append(float(day))
    costs = np.array([values[day_of == day].sum() for day in complete])
    number = statistic(threshold.statistic, costs, np.full(len(costs), DAY))
    flags = sentences(series)
    if partial:
        shown = ", ".join(datetime.fromtimestamp(day, zone).strftime("%Y-%m-%d") for day in partial[:3])
        flags.append(f"{_count(len(partial), 'incomplete day')} left out ({shown}{', ...' if len(partial) > 3 else ''}).")
    if len(series) > 1:
        flags.append(f"Cost is the sum of {len(series):,} series; each cost should be in one of them alone.")
    short = []
    if len(complete) < threshold.minimum.days:
        short.append(_short(len(complete), threshold.minimum.days, "complete day"))
    elif number is None:
        short.append("every day costs nothing, so that a coefficient of variation is not defined")
    verdict, remedy = _judged(threshold, number, short)
    if verdict == "fail":
        mean = float(costs.mean())
        farthest = int(np.abs(costs - mean).argmax())
        day = datetime.fromtimestamp(complete[farthest], zone).strftime("%Y-%m-%d")
        remedy += (
            f": the standard deviation of a day's cost from {exact_money((number or 0.0) * mean)} to under "
            f"{exact_money(threshold.threshold * mean)} at the mean of {exact_money(mean)}. Farthest from it is {day} with "
            f"{exact_money(float(costs[farthest]))}"
        )
    start, end = (complete[0], complete[-1] + DAY) if complete else (float(times.min()), max(each.end for each in series))
    by_day = tuple(zip(complete, costs.tolist(), strict=True))
    coverage = len(complete) * DAY / (end - start) if end > start else 0.0
    return Measured(
        threshold,
        verdict,
        number,
        start=start,
        end=end,
        days=len(complete),
        samples=len(values),
        series=len(series),
        coverage=coverage,
        remedy=remedy,
        zone=zone,
        by_day=by_day,
        flags=tuple(flags),
    )


def _finest(series: Sequence[Series]) -> float:
    """The shortest usual step of the series, in seconds; 0 where each has a single sample."""
    return min((each.step for each in series if each.step), default=0.0)


def _merged(series: Sequence[Series]) -> list[tuple[float, float]]:
    """When there are samples of at least one series: begins and ends that do not touch, in order."""
    spans = sorted((float(begin), float(end)) for each in series for begin, end in _spans(each))
    merged: list[tuple[float, float]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _spans(series: Series) -> list[tuple[float, float]]:
    """When there are samples of one series."""
    begins = [series.start, *series.gaps[:, 1].tolist()]
    return list(zip(begins, [*series.gaps[:, 0].tolist(), series.end], strict=True))


def _judged(threshold: Threshold, number: float | None, short: list[str]) -> tuple[Verdict, str]:
    """The verdict on a number, and what would make it pass."""
    if number is None and not short:
        short = ["its samples cover no time"]
    if number is None or short:
        return "not enough data", "; ".join(short)
    if threshold.holds(number):
        return "pass", ""
    return "fail", f"{threshold.statistic_words} {threshold.remedy(number)}"


def _without_data(threshold: Threshold) -> Measured:
    return Measured(threshold, "not enough data", remedy=f"give {HOW[threshold.name]}")


def _length(days: float) -> str:
    """A time that is given in days: in days from one on, or else in hours, minutes or seconds."""
    return _count(days, "day") if days >= 1 else duration(days * DAY)


def _short(found: float, wanted: float, noun: str) -> str:
    missing = amounts.figures(float(f"{wanted - found:.12g}"))
    return f"{amounts.figures(found)} of {_count(wanted, noun)}; {missing} more {'is' if missing == '1' else 'are'} needed"


def _count(number: float, noun: str) -> str:
    return f"{amounts.figures(number)} {noun}{'' if number == 1 else 's'}"


# --- what people and programs read ------------------------------------------------------------------------------------------


def answer(found: Readiness) -> str:
    """The answer in one sentence."""
    if not any(each.samples for each in found.gate):
        return "There is no data yet, so that nothing is known of readiness."
    first = {True: "The gate is passed", False: "The gate is not passed", None: "Whether the gate is passed is not known yet"}
    said = [
        f"{each.threshold.label[0].lower()}{each.threshold.label[1:]} {verb}"
        for verdict, verb in (("fail", "fails"), ("not enough data", "has not enough data"), ("pass", "passes"))
        for each in found.gate
        if each.verdict == verdict
    ]
    return f"{first[found.passed]}: {', '.join(said)}."


def checklist_answer(found: Readiness) -> str:
    """How many items of the checklist pass, fail and are not answered."""
    verdicts = [each.verdict for each in found.checklist]
    passing, failing, open_ = (verdicts.count(each) for each in ("pass", "fail", "not answered"))
    verbs = [
        f"{passing} {'passes' if passing == 1 else 'pass'}",
        f"{failing} {'fails' if failing == 1 else 'fail'}",
        f"{open_} {'is' if open_ == 1 else 'are'} not answered",
    ]
    return f"Of {_count(len(verdicts), 'item')} {verbs[0]}, {verbs[1]} and {verbs[2]}."


def scorecard_answer(found: Readiness) -> str:
    """The score, or which scores are missing."""
    if found.score is None:
        return f"Not computed: there is no score for {', '.join(each.lower() for each in found.missing_scores)}."
    return f"{amounts.figures(found.score)} of 1, the weighted mean of {_count(len(found.scorecard), 'score')}."


def printed(found: Readiness) -> list[str]:
    """The whole of it as lines for a terminal."""
    lines = [answer(found), "", "Gate"]
    for each in found.gate:
        lines.append(f"  {each.threshold.label}: {each.verdict}")
        if each.number is not None:
            so_far = " so far" if each.verdict == "not enough data" else ""
            lines.append(f"    {each.threshold.statistic_words} is {each.shown}{so_far}, and must be {each.threshold.words}")
        lines.append(f"    Measured: {each.window}")
        lines += [f"    To pass: {each.remedy}"] if each.remedy else []
        lines.append(f"    Threshold: {each.threshold.words} ({cited(each.threshold.source)})")
        minimum = each.threshold.minimum
        lines.append(f"    Needs at least: {minimum.words} ({cited(minimum.source)})")
    lines += ["", f"Checklist: {checklist_answer(found)}"]
    for item in found.checklist:
        value = f", {item.item.show(item.answer.value)} ({_from(item.answer)})" if item.answer else ""
        remedy = f"; {item.remedy}" if item.remedy else ""
        lines.append(f"  {item.item.label}: {item.verdict}{value}{remedy}")
        lines.append(f"    Threshold: {item.item.words} ({cited(item.item.source)})")
    lines += ["", f"Scorecard: {scorecard_answer(found)}"]
    for score in found.scorecard:
        value = f"{amounts.figures(score.answer.value)} ({_from(score.answer)})" if score.answer else "no score"
        lines.append(f"  {score.criterion.label}: {value}")
        lines.append(f"    Weight: {amounts.figures(score.criterion.weight)} ({cited(score.criterion.source)})")
    return lines


def _from(given: Answer) -> str:
    return ", ".join(filter(None, (given.source or "no source", str(given.date or ""))))


def weights(found: Readiness) -> str:
    """How much each criterion counts."""
    said = [f"{each.criterion.label.lower()} {amounts.figures(each.criterion.weight)}" for each in found.scorecard]
    return f"Weights: {', '.join(said)}."


def cited(source: Source) -> str:
    """A source in a line: title, date, owner."""
    return f"{source.title}, {source.date}, {source.owner}"


def notes(found: Readiness) -> list[str]:
    """What the numbers of the gate are, and where the criteria are from."""
    return [
        *(f"{each.threshold.label}: {each.threshold.note}" for each in found.gate if each.threshold.note),
        "A percentile lies between two samples in a straight line. A sample counts for the time until the next, and for no more "
        "than the usual step of its series. The standard deviation is that of a sample (n - 1). A day is complete when no step "
        "of it lacks a cost; days begin at midnight in the zone in which the times are written.",
        f"Thresholds, items and weights are those of {found.criteria.file}; --thresholds takes others.",
    ]


def as_data(found: Readiness) -> dict[str, Any]:
    """Plain data for JSON; times in seconds since 1970, shares from 0 to 1, null for what is not known."""
    return {
        "passed": found.passed,
        "criteria": found.criteria.file,
        "gate": {
            each.threshold.name: {
                "verdict": each.verdict,
                "number": each.number,
                "unit": each.threshold.unit,
                "statistic": each.threshold.statistic,
                "passes": each.threshold.passes,
                "threshold": each.threshold.threshold,
                "threshold_source": cited(each.threshold.source),
                "start": each.start if each.samples else None,
                "end": each.end if each.samples else None,
                "window": each.window,
                "days": each.days,
                "samples": each.samples,
                "coverage": each.coverage if each.samples else None,
                "what_would_make_it_pass": each.remedy,
                "flags": list(each.flags),
            }
            for each in found.gate
        },
        "checklist": {
            each.item.name: {
                "verdict": each.verdict,
                "value": each.answer.value if each.answer else None,
                "unit": each.item.unit,
                "passes": each.item.passes,
                "threshold": each.item.threshold,
                "threshold_source": cited(each.item.source),
                "source": each.answer.source if each.answer else "",
                "what_would_make_it_pass": each.remedy,
            }
            for each in found.checklist
        },
        "scorecard": {
            "score": found.score,
            "missing": found.missing_scores,
            "criteria": {
                each.criterion.name: {
                    "weight": each.criterion.weight,
                    "score": each.answer.value if each.answer else None,
                    "weight_source": cited(each.criterion.source),
                    "source": each.answer.source if each.answer else "",
                }
                for each in found.scorecard
            },
        },
        "flags": found.flags,
        "notes": notes(found),
    }
