"""Series of latency, utilisation and cost: from tables, answers of Prometheus to range queries, and OpenCost's allocations.

A sample stands for the time until the next one, and never for more than the usual step of its series: what is in a gap is not
known, and is not filled. What cannot be right is refused with its place; what is odd is flagged with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from roi import amounts
from roi.evidence import opencost
from roi.evidence.quantities import blank, number
from roi.evidence.tables import DAMAGED, Record, Table, is_parquet, read_json, refuse, start
from roi.lines import Array, did_you_mean
from roi.problems import InputError, Problem
from roi.review.readiness_criteria import MEASURES, Measure
from roi.review.scaling_points import limits, require_utf8

EXPECTED = (
    "a table with the columns time and latency_ms, utilisation or cost_usd, an answer of Prometheus to a range query, or one of "
    "OpenCost's allocation API"
)

GAP, SLACK = 1.5, 0.01
"""A sample is missing where the next one comes after more than so many usual steps; less than a hundredth of one is no gap."""

HOUR, DAY = 3600.0, 86_400.0
FIRST, LAST = 1e9, 1e11
"""Unix times in seconds from 2001 on; what is outside is in another unit, or no time."""

LISTED, EXAMPLES = 20, 3
"""Mistakes of one file that are listed, and places that a flag names."""


class Quantity(NamedTuple):
    """What a column or a series holds.

    Attributes:
        divisor: turns it into the unit of its measure: ms, a share, USD.
        kind: the value of a moment or of an interval, a cost per hour, or a total that runs on.
        highest: above it a value cannot be right.
    """

    measure: Measure
    divisor: float = 1.0
    kind: Literal["value", "per hour", "running total"] = "value"
    highest: float = float("inf")


QUANTITIES = {
    "latency_ms": Quantity("latency"),
    "latency_seconds": Quantity("latency", 0.001),
    "utilisation": Quantity("utilisation", highest=1),
    "utilisation_percent": Quantity("utilisation", 100, highest=100),
    "cost_usd": Quantity("cost"),
    "cost_usd_per_hour": Quantity("cost", kind="per hour"),
    "cost_usd_total": Quantity("cost", kind="running total"),
}
"""By the name of a column, which says the unit. `cost_usd` is spent from its time to that of the next row."""

SPELLINGS = {"utilization": "utilisation", "utilization_percent": "utilisation_percent", "latency_s": "latency_seconds"}

METRICS = {
    "DCGM_FI_DEV_GPU_UTIL": (
        "utilisation_percent",
        "per cent of the time in which any kernel ran, an upper end of what is used; divided by 100",
    ),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("utilisation", "the share of the time in which the engine was active"),
    "node_total_hourly_cost": ("cost_usd_per_hour", "USD per hour of a node"),
}
"""Metrics whose quantity is published, by DCGM's exporter (etc/default-counters.csv) and by OpenCost (integrations/metrics), and
what they are in words."""


class Flag(NamedTuple):
    """Something to know about one place: a noun that is counted, what there is to know, and where it stands."""

    noun: str
    what: str
    place: str


@dataclass(frozen=True)
class Series:
    """The samples of one series in order of time.

    Attributes:
        zone: that of its times, by which days are counted.
        times, covers: when each sample begins to count and for how long, in seconds.
        values: in ms, as a share, or in USD that were spent while the sample counts.
        step: the usual time between samples, in seconds.
        gaps: begin and end of what no sample covers between the first and the last, shaped (gaps, 2).
        places: where the first and the last sample stand.
    """

    measure: Measure
    name: str
    zone: timezone
    times: Array
    covers: Array
    values: Array
    step: float
    gaps: Array
    flags: tuple[Flag, ...]
    places: tuple[str, str]

    @property
    def start(self) -> float:
        return float(self.times[0])

    @property
    def end(self) -> float:
        return float((self.times + self.covers)[-1])


def read(given: Sequence[str]) -> tuple[Series, ...]:
    """The series that some files hold.

    Args:
        given: paths; before one may stand what it holds, as in `utilisation=gpus.json` or `latency_ms=step.csv`.

    Raises:
        InputError: a file is none of these or holds what cannot be right; all that is wrong is said in one go.
        OSError: a file cannot be read.
    """
    series: list[Series] = []
    problems: list[Problem] = []
    for each in given:
        try:
            series += _file(each)
        except InputError as error:
            problems += error.problems
    if not problems:
        problems += _overlaps(series)
    if problems:
        raise InputError(problems)
    return tuple(series)


def sentences(series: Iterable[Series]) -> list[str]:
    """What is odd about some series, each kind once, with how often and where."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in series:
        for flag in each.flags:
            found[flag.noun, flag.what].append(flag.place)
    return [
        f"{len(places):,} {noun}{'' if len(places) == 1 or noun == 'series' else 's'} {what} "
        f"({', '.join(places[:EXAMPLES])}{', ...' if len(places) > EXAMPLES else ''})."
        for (noun, what), places in found.items()
    ]


def _overlaps(series: Sequence[Series]) -> Iterator[Problem]:
    """Series of one name that say something of the same time, and costs whose days are counted in different zones."""
    by_name: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for each in series:
        by_name[each.measure, each.name].append(each)
    for (measure, name), group in by_name.items():
        for before, after in pairwise(sorted(group, key=lambda each: each.start)):
            if after.start <= before.times[-1]:
                until = datetime.fromtimestamp(float(before.times[-1]), UTC).strftime("%Y-%m-%d %H:%M:%S")
                yield Problem(
                    f"{measure} of {name} is given twice up to {until} UTC, at {before.places[1]} and {after.places[0]}; "
                    "keep one, or end one where the other begins"
                )
    costs = [each for each in series if each.measure == "cost"]
    for each in costs:
        if each.zone != costs[0].zone:
            yield Problem(
                f"{each.places[0]}: cost is given in days of {each.zone}, and of {costs[0].zone} at {costs[0].places[0]}; "
                "write both with one offset"
            )
            break


def _file(given: str) -> list[Series]:
    path, prefix = Path(given), ""
    before, _, after = given.partition("=")
    if after and not path.exists():
        prefix, path = SPELLINGS.get(before, before), Path(after)
        if prefix not in (*QUANTITIES, *MEASURES):
            known = (*QUANTITIES, *MEASURES)
            hint = did_you_mean(prefix, known) or f"; write one of {', '.join(known)}"
            raise InputError([Problem(f"'{before}' before = is nothing that is measured here{hint}", given)])
    if not is_parquet(path) and start(path, EXPECTED)[1][0] in "{[":
        answer = read_json(path, EXPECTED)
        traces = _prometheus(answer, path, prefix) if _is_prometheus(answer) else [_opencost(answer, path, prefix)]
    else:
        traces = _table(path, prefix)
    problems: list[Problem] = []
    series = []
    for trace in traces:
        found = trace.series()
        problems += trace.problems
        if found is not None:
            series.append(found)
    problems.sort(key=lambda each: each.line or 0)
    if len(problems) > LISTED:
        more = amounts.quantity(len(problems) - LISTED, "more mistake")
        problems[LISTED:] = [Problem(f"has {more} like these", str(path))]
    if problems:
        raise InputError(problems)
    return series


# --- one series -------------------------------------------------------------------------------------------------------------


@dataclass
class _Sample:
    """A row of a table or an element of JSON: its number, time and value, NaN where it has none, in the file's own units.

    Attributes:
        length: for how long it counts, in seconds, where that is said.
    """

    mark: int
    time: float
    value: float
    length: float | None = None


@dataclass
class _Trace:
    """One series as it is read.

    Attributes:
        quantity: a name in QUANTITIES.
        element: of JSON, where the samples stand.
    """

    path: Path
    quantity: str
    name: str
    element: str = ""
    zone: timezone = field(default=UTC)
    samples: list[_Sample] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)

    def place(self, mark: int) -> str:
        return f"{self.path.name}: {self.element}[{mark}]" if self.element else f"{self.path.name}:{mark}"

    def wrong(self, mark: int, message: str) -> None:
        if self.element:
            self.problems.append(Problem(f"{self.element}[{mark}] {message}", str(self.path)))
        else:
            self.problems.append(Problem(message, str(self.path), mark))

    def flag(self, mark: int, noun: str, what: str) -> None:
        self.flags.append(Flag(noun, what, self.place(mark)))

    def add(self, mark: int, time: float, text: str, decimal_mark: str = ".", length: float | None = None) -> None:
        """Take one sample, or say what is wrong with it."""
        try:
            value = _value(self.quantity, text, decimal_mark)
        except ValueError as error:
            self.wrong(mark, str(error))
            return
        if value is None:
            self.flag(mark, "sample", "without a value, the time of which is not counted")
        self.samples.append(_Sample(mark, time, float("nan") if value is None else value, length))

    def series(self) -> Series | None:
        """The series; None where something is wrong with it, or where nothing is left of it."""
        for before, after in pairwise(self.samples):
            if after.time < before.time:
                self.flag(after.mark, "sample", "below a later one, put in order")
        samples = sorted(self.samples, key=lambda each: each.time)
        for before, after in pairwise(samples):
            if after.time == before.time:
                self.wrong(
                    after.mark, f"has the time of {self.place(before.mark)} again; keep one of the two{self._series_hint()}"
                )
        if self.problems or not samples:
            return None
        quantity = QUANTITIES[self.quantity]
        times = np.array([each.time for each in samples])
        values = np.array([each.value for each in samples]) / quantity.divisor
        between = np.diff(times)
        step = float(np.median(between)) if len(between) else 0.0
        until_next = np.append(between, step)
        covers = np.where(until_next > GAP * step, step, until_next)
        lengths = [each.length for each in samples]
        if None not in lengths:
            covers = np.minimum(np.array(lengths, dtype=float), until_next if len(between) else np.inf)
            step = step or float(covers[0])
        self._oddities(samples, values, quantity)
        if quantity.kind == "running total":
            spent = np.append(np.diff(values), np.nan)
            for index in np.flatnonzero(spent < 0):
                self.flag(samples[index + 1].mark, "fall", "of a running total (a reset): what was spent before it is not known")
            values = np.where(spent < 0, np.nan, spent)
        elif quantity.kind == "per hour":
            values = values * covers / HOUR
        return self._counted(samples, times, covers, values, step, quantity)

    def _counted(
        self, samples: list[_Sample], times: Array, covers: Array, values: Array, step: float, quantity: Quantity
    ) -> Series | None:
        """The samples that count, and the gaps between them."""
        kept = np.flatnonzero(np.isfinite(values))
        if not len(kept):
            self.wrong(samples[0].mark, f"has no value that counts as {self.quantity}, and nor has any sample after it")
            return None
        times, covers, values, marks = times[kept], covers[kept], values[kept], [samples[index].mark for index in kept]
        if quantity.measure == "cost":
            self._within_days(marks, times, covers)
        ends = times + covers
        apart = np.flatnonzero(times[1:] - ends[:-1] > SLACK * step)
        gaps = np.column_stack([ends[apart], times[apart + 1]])
        for index, (begin, end) in zip(apart, gaps, strict=True):
            place = f"{duration(end - begin)} before {self.place(marks[index + 1])}"
            self.flags.append(Flag("gap", "without samples, the time of which is not counted", place))
        places = self.place(marks[0]), self.place(marks[-1])
        flags = tuple(self.flags)
        return Series(quantity.measure, self.name, self.zone, times, covers, values, step, gaps, flags, places)

    def _within_days(self, marks: list[int], times: Array, covers: Array) -> None:
        """Refuse costs that fall on two days; an hour over midnight is let pass, and counts for the day on which it began."""
        midnight = midnights(times, self.zone) + DAY
        for index in np.flatnonzero(times + covers - midnight > HOUR):
            stands = duration(float(covers[index]))
            self.wrong(
                marks[index],
                f"has a cost for {stands}, which falls on two days or more; give costs of each hour or day, from midnight",
            )

    def _series_hint(self) -> str:
        return "" if self.element else ", or say in a column series which GPU, node or job each row is of"

    def _oddities(self, samples: list[_Sample], values: Array, quantity: Quantity) -> None:
        """What is likely to be another unit or another kind of quantity, and cannot be known to be."""
        known = values[np.isfinite(values)]
        first = samples[0].mark
        rises = np.diff(known) > 0
        if quantity.kind == "value" and quantity.measure != "utilisation" and len(rises) > 8 and rises.mean() > 0.9:
            what = f"of {self.quantity} that rise from nearly every sample to the next, as a counter does"
            total = " (name it cost_usd_total)" if quantity.measure == "cost" else " (ask Prometheus for a rate or a quantile)"
            self.flag(first, "series", what + total)
        if self.quantity == "latency_ms" and len(known) and float(np.median(known)) < 1:
            self.flag(first, "series", "of latency_ms with a median below 1 ms: are these seconds (latency_seconds)?")
        if self.quantity == "utilisation_percent" and len(known) and 0 < float(known.max()) <= 0.01:
            self.flag(first, "series", "of utilisation_percent that never exceed 1 %: are these shares (utilisation)?")


def midnights(times: Array, zone: timezone) -> Array:
    """The beginning of the day of each time, in seconds since 1970 as the times are."""
    offset = zone.utcoffset(None).total_seconds()
    return np.floor((times + offset) / DAY) * DAY - offset


def duration(seconds: float) -> str:
    """A time in words: `45 s`, `3.5 h`, `2 days`."""
    for size, unit in ((DAY, "days"), (HOUR, "h"), (60, "min")):
        if seconds >= 2 * size or (unit != "days" and seconds >= size):
            return f"{round(seconds / size, 1):g} {unit}"
    return f"{round(seconds, 1):g} s"


def _value(quantity: str, text: str, decimal_mark: str) -> float | None:
    """The number in a text; None where it stands for nothing.

    Raises:
        ValueError: it holds something that this quantity cannot be.
    """
    text = blank(text)
    if not text:
        return None
    highest = QUANTITIES[quantity].highest
    value = number(text, decimal_mark)
    if value is None and text.endswith("%") and number(text[:-1], decimal_mark) is not None:
        raise ValueError(f"has '{text[:40]}' under {quantity}; write it without the sign, 0.85 for 85 % under utilisation")
    if value is None:
        found = f"has '{text[:40]}' under {quantity}, which is no finite number{limits(text)}"
        raise ValueError(f"{found}; write it like 0.85, or leave it empty")
    if value < 0:
        raise ValueError(f"has {text[:40]} under {quantity}; it cannot be below zero")
    if value > highest and quantity == "utilisation":
        hint = f"; if per cent is meant, write {value / 100}, or name it utilisation_percent" if value <= 100 else ""
        raise ValueError(f"has {text[:40]} under utilisation, and no more than all of it, 1, can be used{hint}")
    if value > highest:
        raise ValueError(f"has {text[:40]} under {quantity}, and no more than all of it, {highest:g} %, can be used")
    return float(value)


# --- tables -----------------------------------------------------------------------------------------------------------------


def _canonical(column: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")
    return SPELLINGS.get(name, name)


def _columns(table: Table, time: str, prefix: str) -> dict[str, str]:
    """The columns that are read, with the quantity of each."""
    others = [name for name in table.columns if name != time and _canonical(name) != "series"]
    named = {name: _canonical(name) for name in others if _canonical(name) in QUANTITIES}
    if prefix:
        measure = prefix if prefix in MEASURES else QUANTITIES[prefix].measure
        matching = {name: each for name, each in named.items() if prefix == each or prefix == measure == QUANTITIES[each].measure}
        if not matching and len(others) == 1 and not named and prefix in QUANTITIES:
            matching = {others[0]: prefix}
        if not matching:
            wanted = prefix if prefix in QUANTITIES else " or ".join(_named(prefix))
            raise refuse(table.path, f"has beside {time} the columns {', '.join(others)[:300]}", f"one column named {wanted}")
        return matching
    bare = next((name for name in others if _canonical(name) in ("latency", "cost")), None)
    if bare:
        wanted = " or ".join(_named(_canonical(bare)))
        raise refuse(table.path, f"has a column '{bare}' that does not say its unit", f"a column named {wanted}")
    if not named:
        found = f"has no column of a known name; its columns are {', '.join(table.columns)[:300]}"
        raise refuse(table.path, found, f"{EXPECTED}; or write what it holds before it, as in latency_ms={table.path}")
    return named


def _named(measure: str) -> list[str]:
    return [name for name, each in QUANTITIES.items() if each.measure == measure]


def _table(path: Path, prefix: str) -> list[_Trace]:
    require_utf8(path, EXPECTED)
    table = Table(path, EXPECTED, ())
    time = table.first("time", "timestamp")
    if not time:
        table.require(["time"], "a time series")
    columns = _columns(table, time, prefix)
    table = Table(path, EXPECTED, columns)
    table.require([time, *columns], "a time series")
    by_series: dict[tuple[str, str], _Trace] = {}
    damaged = _Trace(path, next(iter(columns.values())), "")
    offset: timedelta | None = None
    first = 0
    for record in table.records():
        try:
            at, own = _row_time(table, record, time)
            if offset is None:
                offset, first = own, record.line
            elif own != offset:
                zones = f"{timezone(own)}, and {timezone(offset)} there"
                raise ValueError(f"has another time zone than line {first}: {zones}; write all times in one, such as Z")
        except ValueError as error:
            damaged.wrong(record.line, str(error))
            continue
        series = table.place("series")
        name = record.values[series].strip() if series is not None else ""
        for column, quantity in columns.items():
            trace = by_series.setdefault((quantity, name), _Trace(path, quantity, name or str(path), zone=timezone(offset)))
            place = table.place(column)
            assert place is not None
            trace.add(record.line, at, record.values[place], table.mark)
    if not by_series and not damaged.problems:
        raise refuse(path, "has no row below the names of its columns", EXPECTED)
    unread = [name for name in table.columns if table.place(name) not in map(table.place, (time, "series", *columns))]
    for trace in list(by_series.values())[:1]:
        trace.flags += [Flag("column", "not read", f"{path.name}: {name[:40]}") for name in unread]
    return [damaged, *by_series.values()]


def _row_time(table: Table, record: Record, column: str) -> tuple[float, timedelta]:
    if len(record.values) != len(table.columns):
        raise ValueError(f"is one of the {DAMAGED}")
    place = table.place(column)
    assert place is not None
    return _time(record.values[place].strip())


def _time(text: str) -> tuple[float, timedelta]:
    """Seconds since 1970, and the offset that the text says.

    Raises:
        ValueError: it is no time, or says no zone.
    """
    example = "write it like 2026-05-01T10:00:00Z, or with its offset, +02:00"
    if re.fullmatch(r"\d+(\.\d*)?", text, re.ASCII):
        return _unix(Decimal(text)), timedelta(0)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"has '{text[:40]}' as its time; {example}") from None
    offset = found.utcoffset()
    if offset is None:
        raise ValueError(f"has the time {text}, which says no time zone; {example}")
    return _unix(Decimal(str(found.timestamp()))), offset


def _unix(seconds: Decimal) -> float:
    if FIRST <= seconds / 1000 < LAST <= seconds:
        raise ValueError(f"has the time {seconds}, which looks like milliseconds; divide it by 1000, to {seconds / 1000}")
    if not FIRST <= seconds < LAST:
        raise ValueError(f"has the time {seconds}, which is in no year from 2002 to 5000 as seconds since 1970")
    return float(seconds)


# --- Prometheus and OpenCost ------------------------------------------------------------------------------------------------


def _is_prometheus(answer: Any) -> bool:
    """Whether an answer is of Prometheus, failed ones included; OpenCost has a status as well."""
    data = answer.get("data") if isinstance(answer, dict) else None
    return isinstance(answer, dict) and (answer.get("status") == "error" or (isinstance(data, dict) and "resultType" in data))


def _prometheus(answer: dict[str, Any], path: Path, prefix: str) -> list[_Trace]:
    """The series of an answer to a range query, https://prometheus.io/docs/prometheus/latest/querying/api."""
    if answer.get("status") != "success":
        raise refuse(
            path, f"is an answer of Prometheus that failed: {str(answer.get('error', 'it says no reason'))[:200]}", EXPECTED
        )
    data = answer.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    rows = data.get("result") if isinstance(data, dict) else None
    if kind != "matrix" or not isinstance(rows, list):
        raise refuse(path, f"is an answer of Prometheus of the kind {str(kind)[:40]!r}", "a matrix, which query_range gives")
    if not rows:
        raise refuse(path, "holds no series: the query found nothing in its range", EXPECTED)
    traces = []
    for index, row in enumerate(rows):
        element = f"data.result[{index}]"
        labels, values = (row.get("metric"), row.get("values")) if isinstance(row, dict) else (None, None)
        if not isinstance(labels, dict) or not isinstance(values, list):
            native = isinstance(row, dict) and "histograms" in row
            extra = "; native histograms are not read, so ask for histogram_quantile()" if native else ""
            raise refuse(path, f"has no metric with values at {element}{extra}", EXPECTED)
        metric = str(labels.get("__name__", ""))
        own = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()) if key != "__name__")
        name = f"{metric}{{{own}}}" if labels else str(path)
        trace = _Trace(path, _quantity(metric, prefix, path), name, f"{element}.values")
        if metric in METRICS:
            trace.flags.append(Flag("series", f"of {metric}: {METRICS[metric][1]}", f"{path.name}: {element}"))
        for mark, pair in enumerate(values):
            try:
                at, text = _pair(pair)
            except ValueError as error:
                trace.wrong(mark, str(error))
            else:
                trace.add(mark, at, text)
        traces.append(trace)
    traces[0].flags += [Flag("warning", f"of Prometheus: {str(each)[:200]}", path.name) for each in answer.get("warnings") or ()]
    return traces


def _pair(pair: Any) -> tuple[float, str]:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], Decimal) or not isinstance(pair[1], str | Decimal):
        raise ValueError(f'is {str(pair)[:60]}, and not a time and a value, such as [1777593600, "0.85"]')
    return _unix(pair[0]), str(pair[1])


def _quantity(metric: str, prefix: str, path: Path) -> str:
    """What a metric holds, by its published meaning or by what stands before the file.

    Raises:
        InputError: neither says it, or they contradict each other.
    """
    known, _ = METRICS.get(metric, ("", ""))
    if known and prefix not in ("", known, QUANTITIES[known].measure):
        found = f"is said to hold {prefix}, but {metric} is {known}; write {known}=, or nothing, before it"
        raise InputError([Problem(found, str(path))])
    if known:
        return known
    if prefix not in QUANTITIES:
        names = _named(prefix) if prefix else list(QUANTITIES)
        found = f"holds {metric or 'series without a name'}, which does not say what is measured in which unit"
        instead = f"write one of {', '.join(names)} before it, as in {names[0]}={path}"
        raise InputError([Problem(f"{found}; {instead}", str(path))])
    if re.search(r"_(total|sum|count|bucket)$", metric) and QUANTITIES[prefix].kind != "running total":
        instead = "cost_usd_total=" if QUANTITIES[prefix].measure == "cost" else "a query with rate() or histogram_quantile()"
        raise InputError([Problem(f"holds {metric}, a counter by its name, which is no {prefix}; use {instead}", str(path))])
    return prefix


def _opencost(answer: Any, path: Path, prefix: str) -> _Trace:
    """The cost of each step of the window, idle cost included, from an answer of OpenCost's allocation API."""
    if prefix not in ("", "cost", "cost_usd"):
        raise InputError([Problem(f"is said to hold {prefix}, but OpenCost's allocations hold cost_usd", str(path))])
    trace = _Trace(path, "cost_usd", "", "data")
    costs: dict[float, Decimal] = defaultdict(Decimal)
    ends: dict[float, float] = defaultdict(float)
    clusters, seen = set(), set()
    for name, row in opencost._allocations(answer, path):
        try:
            begin, end, cost = _allocation(row)
        except ValueError as error:
            trace.problems.append(Problem(f"{name[:60]} {error}", str(path)))
            continue
        if (name, begin) in seen:
            trace.problems.append(Problem(f"{name[:60]} is given twice for one step; keep one", str(path)))
        seen.add((name, begin))
        properties = row.get("properties")
        clusters.add(str(properties.get("cluster", "")) if isinstance(properties, dict) else "")
        costs[begin] += cost
        # The step of today ends in the future; what has run in it tells how far it is.
        ends[begin] = max(ends[begin], end)
    trace.name = f"OpenCost {', '.join(sorted(clusters))}".strip()
    for mark, (begin, cost) in enumerate(sorted(costs.items())):
        trace.add(mark, begin, str(cost), length=ends[begin] - begin)
    return trace


def _allocation(row: Any) -> tuple[float, float, Decimal]:
    """When the step of an allocation begins, when the allocation ends in it, and what it cost in USD.

    Raises:
        ValueError: it does not say one of these.
    """
    cost = opencost._number(row.get("totalCost")) if isinstance(row, dict) and row.get("totalCost") is not None else None
    if cost is None:
        raise ValueError("has no totalCost that is a number")
    window = row.get("window") if isinstance(row.get("window"), dict) else row
    begin, _ = _time(str(window.get("start")))
    end, _ = _time(str(row.get("end") or window.get("end")))
    if end <= begin:
        raise ValueError(f"ends at {row.get('end')}, before its step begins")
    return begin, end, cost
