"""Scaling: time and cost of the same work against the number of GPUs, the laws that fit, and the cheapest count for a deadline.

The formulas stand in `scaling_lines.py`, the reading of files in `scaling_points.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from roi import amounts
from roi.inputs import inputs
from roi.lines import Array
from roi.problems import InputError, Problem
from roi.review.scaling_lines import MODEL
from roi.review.scaling_points import MOST_GPUS, PUBLISHED, Series, read
from roi.review.tco import Table

EXTRAPOLATED = 4
"""A deadline that no measured count meets is looked for up to so many times the largest of them, and called extrapolated."""

GPUS_PER_NODE = 8
"""As the machines have that `data/gpu_prices.csv` lists for the H100 and the A100-80GB."""

DRAWN = 60
"""Counts along the curve of a chart."""

NONE = 1e-12
"""A parameter or a deviation below it is rounding and counts as none."""

MET = 1e-9
"""A law that is off by no more than this at any count meets them all: the rest is rounding of the least squares."""

MOST_TIME = 1_000_000
"""Minutes of queue and start-up, and hours until a deadline; more is in another unit."""

WIDEST_GAP = 4
"""Where a count is more than so many times the one before, the curve between the two stands on nothing."""

SAME = 0.02
"""An efficiency that a file states may differ by so much from that of its times: it is rounded."""


@dataclass(frozen=True)
class Terms:
    """What a run costs and waits for beside its own time.

    Attributes:
        gpu_price: USD per GPU-hour; None for the default of `data/inputs.yaml`.
        queue_minutes, start_minutes: at the smallest count of GPUs.
        growth_per_node: by what share of that both grow for each node beyond the smallest count's.
        gpus_per_node: None for what the files say, or else `GPUS_PER_NODE`.
        deadline: hours from the queue to the end of the run; None where there is none.

    Raises:
        InputError: one of them cannot be right.
    """

    gpu_price: float | None = None
    queue_minutes: float = 0.0
    start_minutes: float = 0.0
    growth_per_node: float = 0.0
    gpus_per_node: int | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        problems = []
        if self.gpu_price is not None:
            try:
                inputs()["gpu_price"].check(self.gpu_price)
            except ValueError as error:
                problems.append(Problem(str(error), "--gpu-price"))
        for option, minutes in (("--queue-minutes", self.queue_minutes), ("--start-minutes", self.start_minutes)):
            if not 0 <= minutes <= MOST_TIME:
                found = f"{amounts.plain(minutes)} is no such time; write minutes from 0 to {MOST_TIME:,}"
                problems.append(Problem(found, option))
        growth = self.growth_per_node
        if not 0 <= growth <= 1:
            percent = f"; {amounts.plain(growth)} % is {amounts.plain(growth / 100)}" if 1 < growth <= 100 else ""
            problems.append(Problem(f"{amounts.plain(growth)} is no share from 0 to 1{percent}", "--growth-per-node"))
        elif growth and not self.waits:
            problems.append(Problem("says how other times grow; give --queue-minutes or --start-minutes", "--growth-per-node"))
        if self.gpus_per_node is not None and not 1 <= self.gpus_per_node <= MOST_GPUS:
            found = f"{self.gpus_per_node} is no such number; write a whole number from 1 to {MOST_GPUS:,}"
            problems.append(Problem(found, "--gpus-per-node"))
        if self.deadline is not None and not 0 < self.deadline <= MOST_TIME:
            found = f"{amounts.plain(self.deadline)} is no such time; write hours above 0, and no more than {MOST_TIME:,}"
            problems.append(Problem(found, "--deadline"))
        if problems:
            raise InputError(problems)

    @property
    def waits(self) -> bool:
        """Whether anything is known of queue and start-up."""
        return self.queue_minutes > 0 or self.start_minutes > 0

    @property
    def price(self) -> float:
        """USD per GPU-hour."""
        return inputs()["gpu_price"].default if self.gpu_price is None else self.gpu_price


@dataclass(frozen=True)
class Count:
    """One count of GPUs, for the work that the run on the smallest count does, except what is measured.

    Attributes:
        measured_hours: as it was measured; None where it was not, and `run_hours` are those of the law.
        measured_cost: USD of the run as it was measured, from the queue to the end; None where it was not.
        waiting_hours: in the queue and starting up.
        relative_cost: over that at the smallest count; without queue and start-up it is the cost factor.
        run_cost: USD, from the queue to the end of the same work.
        residual: the law's time over the measured one, less 1; None where it was not measured.
    """

    gpus: int
    measured_hours: float | None
    measured_cost: float | None
    run_hours: float
    speed_up: float
    efficiency: float
    cost_factor: float
    waiting_hours: float
    hours_in_all: float
    relative_cost: float
    run_cost: float
    residual: float | None


@dataclass(frozen=True)
class Fit:
    """A law fitted to the times of a series; the time at the smallest count is taken as it was measured.

    Attributes:
        law: Amdahl's law, or the universal scalability law.
        contention: of Amdahl's law the serial share of the run at the smallest count.
        coherency: 0 of Amdahl's law, by definition.
        residuals: the law's time over the measured one, less 1, for each count.
        explained: share of the squared residuals of linear scaling that the law takes away; None where scaling is linear.
        tested: whether the counts say how well it fits: no more of them than it has parameters it meets by construction, unless
            a parameter is at its bound.
        fastest_gpus: the count at which its time is shortest; None where each more GPU saves time.
        highest_speed_up: what no count reaches, of Amdahl's law; None where there is no such limit.
    """

    law: str
    contention: float
    coherency: float
    residuals: tuple[float, ...]
    explained: float | None
    tested: bool
    fastest_gpus: float | None
    highest_speed_up: float | None


@dataclass(frozen=True)
class Deadline:
    """The cheapest count that meets a deadline.

    Attributes:
        hours: from the queue to the end.
        cheapest: None where no count does.
        extrapolated: it is beyond what was measured.
        searched: the largest count that was looked at.
    """

    hours: float
    cheapest: Count | None
    extrapolated: bool
    searched: int


@dataclass(frozen=True)
class Curve:
    """What a series shows.

    Attributes:
        counts: the measured ones, the smallest first.
        fits: Amdahl's law, and with three counts or more the universal scalability law, by which the curve then goes.
        drawn: for a chart: `gpus`, `hours` and `relative_cost` of the law, and `ideal_hours` of linear scaling.
        flags: what is odd but legal, in sentences.
    """

    series: Series
    terms: Terms
    gpus_per_node: int
    counts: tuple[Count, ...]
    fits: tuple[Fit, ...]
    drawn: tuple[dict[str, float], ...]
    deadline: Deadline | None
    flags: tuple[str, ...]

    @property
    def same_work(self) -> bool:
        """Whether every run did the same work, so that its time and its cost are those of the same work."""
        return all(count.measured_hours is None or math.isclose(count.measured_hours, count.run_hours) for count in self.counts)


def scaling(given: Sequence[str] = (), terms: Terms | None = None) -> tuple[Curve, ...]:
    """The curves of all series that some files hold; of the published times where no file is given.

    Args:
        given: paths; before that of a log may stand its number of GPUs, as in `64=run.log`.

    Raises:
        InputError: a file, or one of the terms, cannot be right.
        OSError: a file cannot be read.
    """
    terms = terms or Terms()
    return tuple(curve(series, terms) for series in read(given or [str(PUBLISHED)]))


def curve(series: Series, terms: Terms) -> Curve:
    """Everything that is said of one series.

    Raises:
        InputError: its files say two numbers of GPUs per node, and the terms do not say which holds.
    """
    scaled = _Scaled(series, terms)
    counts = scaled.counts(scaled.gpus)
    return Curve(
        series,
        terms,
        scaled.gpus_per_node,
        counts,
        scaled.fits,
        scaled.drawn(),
        None if terms.deadline is None else scaled.deadline(terms.deadline),
        tuple(_flags(series, counts)),
    )


# --- fits -------------------------------------------------------------------------------------------------------------------


def fit(gpus: Array, hours: Array, parameters: int) -> Fit:
    """The law that comes nearest to the times, by least squares of their relative deviations, with no parameter below zero.

    The law is a plane over its parameters, so that the least squares have one answer and need no start: `lsq_linear` of scipy
    with bounds. What a parameter adds to the time is the law with it at 1, less the law without.

    Args:
        gpus: the counts, ascending.
        hours: of the same work at each.
        parameters: 1 for contention alone, which is Amdahl's law; 2 for contention and coherency.
    """
    from scipy.optimize import lsq_linear  # type: ignore[import-untyped]

    linear = law_hours(gpus, hours, 0.0, 0.0)
    parts = [law_hours(gpus, hours, *corner) - linear for corner in ((1.0, 0.0), (0.0, 1.0))[:parameters]]
    matrix = np.column_stack(parts) / hours[:, None]
    found = lsq_linear(matrix, 1 - linear / hours, bounds=(0, [1.0, np.inf][:parameters]), method="bvls").x
    contention, coherency = (*(0.0 if each < NONE else float(each) for each in found), 0.0)[:2]
    residuals = law_hours(gpus, hours, contention, coherency) / hours - 1
    lost, left = (float((each**2).sum()) for each in (linear / hours - 1, residuals))
    limits = _lines("fastest_gpus", "highest_speed_up", smallest_gpus=gpus[0], contention=contention, coherency=coherency)
    fastest, highest = (None if np.isnan(each) else float(each) for each in limits.values())
    return Fit(
        "Amdahl's law" if parameters == 1 else "Universal scalability law",
        contention,
        coherency,
        tuple(residuals.tolist()),
        max(0.0, 1 - left / lost) if lost > NONE**2 else None,
        len(gpus) > parameters + 1 or bool(np.abs(residuals).max() > MET),
        fastest,
        highest if parameters == 1 else None,
    )


def law_hours(gpus: Array, hours: Array, contention: float, coherency: float) -> Array:
    """Hours by the law at some counts, from those at the smallest, which are the first of both arrays."""
    found = _lines(
        "law_hours", gpus=gpus, smallest_gpus=gpus[0], first_hours=hours[0], contention=contention, coherency=coherency
    )
    return found["law_hours"]


def _lines(*names: str, **values: Any) -> dict[str, Array]:
    return MODEL.evaluate({name: np.asarray(value, dtype=float) for name, value in values.items()}, names)


# --- one series -------------------------------------------------------------------------------------------------------------


class _Scaled:
    """A series with its terms and the laws that fit it, at any count of GPUs."""

    def __init__(self, series: Series, terms: Terms) -> None:
        self.points, self.terms = series.points, terms
        self.gpus = np.array([float(each.gpus) for each in self.points])
        self.hours = same_work_hours(series)
        self.fits = tuple(fit(self.gpus, self.hours, each) for each in (1, 2) if each < len(self.points))
        self.gpus_per_node = self._gpus_per_node()
        self.first_gpu_hours = self._cost(self.gpus[:1], self.hours[:1], 1.0)["gpu_hours"]

    def _gpus_per_node(self) -> int:
        said = {each.gpus_per_node: each for each in self.points if each.gpus_per_node}
        if self.terms.gpus_per_node is None and self.terms.growth_per_node and len(said) > 1:
            both = " and ".join(f"{number} in {point.place}" for number, point in said.items())
            raise InputError([Problem(f"is needed, for the files say {both}", "--gpus-per-node")])
        return self.terms.gpus_per_node or next(iter(said), None) or GPUS_PER_NODE

    def _law(self, gpus: Array) -> Array:
        """Hours by the last of the fitted laws."""
        with_first = np.concatenate((self.gpus[:1], gpus))
        return law_hours(with_first, self.hours, self.fits[-1].contention, self.fits[-1].coherency)[1:]

    def _cost(self, gpus: Array, run_hours: Array, first_gpu_hours: Any) -> dict[str, Array]:
        return _lines(
            *("speed_up", "efficiency", "cost_factor", "queue_hours", "start_hours", "hours_in_all", "gpu_hours"),
            *("relative_cost", "run_cost"),
            gpus=gpus,
            smallest_gpus=self.gpus[0],
            first_hours=self.hours[0],
            run_hours=run_hours,
            first_gpu_hours=first_gpu_hours,
            gpus_per_node=self.gpus_per_node,
            queue_minutes=self.terms.queue_minutes,
            start_minutes=self.terms.start_minutes,
            growth_per_node=self.terms.growth_per_node,
            gpu_price=self.terms.price,
        )

    def _run_hours(self, gpus: Array) -> tuple[Array, Array, Array]:
        """Hours at some counts, measured or else by the law; whether they are measured; and where they stand in the series."""
        place = np.searchsorted(self.gpus, gpus).clip(max=len(self.gpus) - 1)
        measured = self.gpus[place] == gpus
        return np.where(measured, self.hours[place], self._law(gpus)), measured, place

    def counts(self, gpus: Array) -> tuple[Count, ...]:
        """What holds at some counts."""
        run_hours, measured, place = self._run_hours(gpus)
        found, residuals = self._cost(gpus, run_hours, self.first_gpu_hours), self._law(gpus) / run_hours - 1
        measured_hours = np.array([self.points[each].hours for each in place])
        measured_cost = self._cost(gpus, measured_hours, self.first_gpu_hours)["run_cost"]
        waiting = found["queue_hours"] + found["start_hours"] + np.zeros_like(gpus)
        return tuple(
            Count(
                gpus=int(gpus[row]),
                measured_hours=float(measured_hours[row]) if measured[row] else None,
                measured_cost=float(measured_cost[row]) if measured[row] else None,
                run_hours=float(run_hours[row]),
                waiting_hours=float(waiting[row]),
                residual=float(residuals[row]) if measured[row] else None,
                **{
                    name: float(found[name][row])
                    for name in ("speed_up", "efficiency", "cost_factor", "hours_in_all", "relative_cost", "run_cost")
                },
            )
            for row in range(len(gpus))
        )

    def deadline(self, hours: float) -> Deadline:
        """The cheapest of the measured counts and the multiples of the smallest between them; beyond, only if none meets it."""
        smallest, largest = self.gpus[0], self.gpus[-1]
        multiples = np.arange(smallest, EXTRAPOLATED * largest + 1, smallest)
        within = np.union1d(self.gpus, multiples[multiples < largest])
        for gpus in (within, multiples[multiples > largest]):
            found = self._cost(gpus, self._run_hours(gpus)[0], self.first_gpu_hours)
            cost = np.where(found["hours_in_all"] <= hours * (1 + NONE), found["run_cost"], np.inf)
            best = int(cost.argmin())
            if np.isfinite(cost[best]):
                return Deadline(hours, self.counts(gpus[best : best + 1])[0], bool(gpus[best] > largest), int(gpus[-1]))
        return Deadline(hours, None, False, int(multiples[-1]))

    def drawn(self) -> tuple[dict[str, float], ...]:
        gpus = np.geomspace(self.gpus[0], self.gpus[-1], DRAWN)
        columns = {
            "gpus": gpus,
            "hours": self._law(gpus),
            "relative_cost": self._cost(gpus, self._law(gpus), self.first_gpu_hours)["relative_cost"],
            "ideal_hours": law_hours(gpus, self.hours, 0.0, 0.0),
        }
        return tuple(dict(zip(columns, row, strict=True)) for row in np.column_stack(list(columns.values())).tolist())


def same_work_hours(series: Series) -> Array:
    """Hours at each count for the work that the run on the smallest does."""
    hours, work = (np.array([getattr(each, name) for each in series.points]) for name in ("hours", "work"))
    return _lines("same_work_hours", measured_hours=hours, work=work, first_work=work[0])["same_work_hours"]


def _flags(series: Series, counts: Sequence[Count]) -> Iterator[str]:
    first, last = series.points[0], series.points[-1]
    for count, point in zip(counts, series.points, strict=True):
        if count.efficiency > 1 + NONE:
            yield (
                f"Super-linear: {count.gpus:,} GPUs are {count.speed_up:.3g} times as fast as {first.gpus:,}, which is more than "
                f"{count.gpus / first.gpus:.3g} times the GPUs (efficiency {count.efficiency:.2f}). Was the smallest count short "
                "of memory, or set up in another way?"
            )
        if point.efficiency is not None and abs(point.efficiency - count.efficiency) > SAME:
            yield (
                f"{point.place} says an efficiency of {point.efficiency:g} at {_gpus(count.gpus)}; its times say "
                f"{count.efficiency:.2f}."
            )
    for before, after in pairwise(counts):
        if after.run_hours >= before.run_hours:
            yield f"{after.gpus:,} GPUs are no faster than {before.gpus:,}."
        if after.gpus > WIDEST_GAP * before.gpus:
            yield f"Nothing was measured between {before.gpus:,} and {after.gpus:,} GPUs, where the curve is only fitted."
    if series.way == "strong" and first.work and last.work and first.work != last.work:
        found = _lines(
            *("speed_up", "efficiency", "cost_factor"),
            gpus=last.gpus, smallest_gpus=first.gpus, first_hours=first.hours, run_hours=last.hours,
        )  # fmt: skip
        speed_up, efficiency, cost_factor = map(float, found.values())
        yield (
            f"The run on {last.gpus:,} GPUs did {amounts.figures(last.work / first.work)} times the work of that on "
            f"{first.gpus:,}, and times are compared for the same work. As measured, it is {speed_up:.2f} times as fast: "
            f"efficiency {efficiency:.2f}, cost factor {cost_factor:.2f}."
        )


# --- words ------------------------------------------------------------------------------------------------------------------


def headline(found: Curve) -> str:
    """What the largest count that was measured gains and costs against the smallest."""
    first, last = found.counts[0], found.counts[-1]
    said = (
        f"{last.gpus:,} GPUs are {last.speed_up:,.2f} times as fast as {first.gpus:,}, and the same work costs "
        f"{last.cost_factor:.2f} times as much (efficiency {last.efficiency:.2f})."
    )
    if found.terms.waits:
        ends = [
            f"{_gpus(each.gpus, 'takes', 'take')} {duration(each.hours_in_all)} at a cost of {usd(each.run_cost)}"
            for each in (last, first)
        ]
        said += f" Queue and start-up included, {ends[0]} {'a run' if found.same_work else 'for the same work'}; {ends[1]}."
    return said


def _gpus(count: int, one: str = "", more: str = "") -> str:
    """A count of GPUs, and what follows it after one and after more: `1 GPU takes`, `1,024 GPUs take`."""
    return f"{amounts.quantity(count, 'gpu')} {one if count == 1 else more}".rstrip()


def answer(found: Sequence[Curve]) -> str:
    """All curves in one sentence."""
    if len(found) == 1:
        return headline(found[0])
    factors = sorted(each.counts[-1].cost_factor for each in found)
    return (
        f"On the largest count of GPUs the same work costs {factors[0]:.2f} to {factors[-1]:.2f} times as much as on the "
        f"smallest, over {len(found)} series."
    )


def deadline_sentence(found: Curve) -> str:
    """The cheapest count for the deadline, if there is one; nothing where none was asked for."""
    deadline = found.deadline
    if deadline is None:
        return ""
    within, largest = f"Within {duration(deadline.hours)}", found.counts[-1].gpus
    best = deadline.cheapest
    if best is None:
        fastest = found.fits[-1].fastest_gpus
        why = f" The law is fastest at about {fastest:,.0f} GPUs." if fastest and fastest < deadline.searched else ""
        return (
            f"{within}: no count does it, of those measured or, by the law, of the multiples of {_gpus(found.counts[0].gpus)} "
            f"up to {deadline.searched:,}, {EXTRAPOLATED} times the largest measured.{why}"
        )
    how = "as measured" if best.measured_hours is not None else f"by {_named(found.fits[-1])}"
    if not found.same_work and best.gpus != found.counts[0].gpus:
        how += f", for the work of the run on {_gpus(found.counts[0].gpus)}"
    cheapest = f"{_gpus(best.gpus, 'is', 'are')} the cheapest"
    said = f"{within}: {cheapest}, with {duration(best.hours_in_all)} for {usd(best.run_cost)}, {how}."
    if deadline.extrapolated:
        said += f" This is extrapolated: no count up to {largest:,} does it, and nothing beyond was measured."
    return said


def fit_sentence(found: Curve, fit: Fit) -> str:
    """A law's parameters, what they mean, and how well it fits."""
    first, last = found.counts[0].gpus, found.counts[-1].gpus
    if fit.explained is None:
        return f"{fit.law}: the runs scale linearly, and there is no loss to explain."
    if not (fit.contention or fit.coherency):
        return (
            f"{fit.law} explains nothing: its parameters are at their bound of 0, which is linear scaling, and these runs scale "
            "better than that."
        )
    if fit.highest_speed_up is not None:
        said = (
            f"{fit.law}: {amounts.quantity(fit.contention, '%')} of the run on {_gpus(first)} is serial, so that no number of "
            f"GPUs is more than {amounts.figures(fit.highest_speed_up)} times as fast."
        )
    else:
        parameters = zip(("contention", "coherency"), (fit.contention, fit.coherency), strict=True)
        shown = [
            f"{name} {amounts.quantity(value, '%')}{' (at its bound)' if not value or value == 1 else ''}"
            for name, value in parameters
        ]
        said = f"{fit.law}: {', '.join(shown)}, per {_gpus(first)}."
        fastest = fit.fastest_gpus
        if fastest is None:
            said += " No count is the fastest."
        elif fastest <= first:
            said += f" More GPUs than {first:,} only take longer."
        else:
            beyond = f", beyond the {last:,} that were measured" if fastest > last else ""
            said += (
                f" It is fastest at about {fastest:,.0f} GPUs, {fastest / first:.3g} times the smallest count{beyond}; "
                "with more, the run takes longer."
            )
    if not fit.tested:
        return f"{said} It meets {len(fit.residuals)} points by construction, so that they do not test it."
    worst = max(range(len(fit.residuals)), key=lambda each: abs(fit.residuals[each]))
    return (
        f"{said} It explains {amounts.quantity(fit.explained, '%')} of what is lost against linear scaling, and is off by "
        f"{signed_percent(fit.residuals[worst])} at most, at {found.counts[worst].gpus:,} GPUs."
    )


def _terms(found: Curve) -> list[str]:
    """The price with its source, and what is assumed of queue and start-up."""
    terms, source = found.terms, inputs()["gpu_price"].source
    whence = f"{source.title}, {source.date}; --gpu-price changes it" if terms.gpu_price is None else "--gpu-price"
    said = [f"Every GPU, whatever its make, is counted at {inputs()['gpu_price'].show(terms.price)} ({whence})."]
    if terms.waits:
        grows = "the same at every count"
        if terms.growth_per_node:
            grows = f"{amounts.quantity(terms.growth_per_node, '%')} more for each further node of {_gpus(found.gpus_per_node)}"
            if terms.gpus_per_node is None and not any(each.gpus_per_node for each in found.series.points):
                grows += " (as in data/gpu_prices.csv; --gpus-per-node changes it)"
        said.append(
            f"Queue of {amounts.quantity(terms.queue_minutes, 'minute')} and start-up of "
            f"{amounts.quantity(terms.start_minutes, 'minute')} at the smallest count, {grows}; GPUs are paid for all the while."
        )
    return said


def sentences(found: Curve) -> list[str]:
    """What is said of a curve beside its headline, its table and its flags: the deadline, and the laws."""
    said = [deadline_sentence(found), *(fit_sentence(found, each) for each in found.fits)]
    return [each for each in said if each]


def flags(found: Sequence[Curve]) -> list[str]:
    """What is odd but legal, each once, with the tasks that it is true of where there are several."""
    tasks: dict[str, list[str]] = {}
    for each in found:
        for flag in each.flags:
            tasks.setdefault(flag, []).append(each.series.short_name)
    return [f"{', '.join(of)}: {flag}" if len(found) > 1 else flag for flag, of in tasks.items()]


def notes(found: Sequence[Curve]) -> list[str]:
    """What holds for the curves together: the price, queue and start-up, what is not fitted, and what their files say."""
    said = [sentence for each in found for sentence in _terms(each)]
    if any(len(each.fits) == 1 for each in found):
        said.append(
            "The universal scalability law has two parameters beyond the smallest count, and is fitted to three counts or more."
        )
    return list(dict.fromkeys([*said, *(note for each in found for note in each.series.notes)]))


def table(found: Sequence[Curve]) -> Table:
    """The counts that were measured. The same work, what was run, and the waiting have columns only where they differ."""
    rows = [_row(each, count, len(found) > 1) for each in found for count in each.counts]
    same = all(each.same_work for each in found)
    left_out = ({"Same work", "Cost as run"} if same else set()) | (
        set() if found[0].terms.waits else {"Queue and start-up", "In all"}
    )
    heads = tuple(head for head in rows[0] if head not in left_out)
    return Table(heads, tuple(tuple(row[head] for head in heads) for row in rows))


def _row(found: Curve, count: Count, with_task: bool) -> dict[str, str]:
    """The cells of a row by the heads of their columns."""
    return {
        "GPUs": f"{found.series.short_name}: {count.gpus:,}" if with_task else f"{count.gpus:,}",
        "Time": duration(count.measured_hours or count.run_hours),
        "Same work": duration(count.run_hours),
        "Speed-up": f"{count.speed_up:,.2f}",
        "Efficiency": f"{count.efficiency:.2f}",
        "Cost factor": f"{count.cost_factor:.2f}",
        "Queue and start-up": duration(count.waiting_hours),
        "In all": duration(count.hours_in_all),
        "Cost of the same work": usd(count.run_cost),
        "Cost as run": usd(count.measured_cost or count.run_cost),
        "Law off by": signed_percent(count.residual or 0.0),
    }


def duration(hours: float) -> str:
    """A time in the unit that people would say it in: `28.07 minutes`, `3.5 hours`, `5 days`."""
    if hours < 2:
        return amounts.quantity(hours * 60, "minute") if hours >= 2 / 60 else amounts.quantity(hours * 3600, "second")
    return amounts.quantity(hours, "hour") if hours < 72 else amounts.quantity(hours / 24, "day")


def signed_percent(share: float) -> str:
    """A deviation in per cent: `+3.1 %`, `-0.4 %`, `0.0 %`."""
    text = f"{share * 100:+.1f}"
    return f"{'0.0' if float(text) == 0 else text} %"


def usd(amount: float) -> str:
    """Dollars close enough to compare two counts by: `$43.15`, `$4,946.03`, `$1.2M`."""
    if amount < 1000:
        return amounts.small_money(amount)
    return amounts.exact_money(amount) if amount < 1e6 else amounts.money(amount)


def _named(fit: Fit) -> str:
    return fit.law if fit.law.startswith("Amdahl") else "the universal scalability law"


def as_data(found: Sequence[Curve]) -> dict[str, Any]:
    """Plain data for JSON: hours, USD and shares."""
    return {
        "answer": answer(found),
        "gpu_price": found[0].terms.price,
        "terms": asdict(found[0].terms),
        "series": [
            {
                "task": each.series.task,
                "scaling": each.series.way,
                "counts": [asdict(count) for count in each.counts],
                "fits": [asdict(fit) for fit in each.fits],
                "deadline": None if each.deadline is None else asdict(each.deadline),
                "flags": list(each.flags),
                "notes": list(each.series.notes),
            }
            for each in found
        ],
    }
