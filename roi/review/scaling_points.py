"""Measured times against counts of GPUs, from tables and MLPerf logs: one series for each task and way of scaling."""

from __future__ import annotations

import codecs
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeGuard

from roi import amounts
from roi.evidence import stream
from roi.evidence.quantities import number
from roi.evidence.tables import Record, Table, is_parquet, refuse, start
from roi.inputs import ROOT
from roi.problems import InputError, Problem

EXPECTED = "a table with the columns gpus and minutes (or hours, or seconds), or MLPerf logs, which hold :::MLLOG"
PUBLISHED = ROOT / "data" / "scaling.csv"
"""Published times, each with its source and date."""

MOST_GPUS = 1_000_000
SHORTEST, LONGEST = 1e-6, 1e6
"""Hours that a run can take: from 4 milliseconds to a century."""

HIGHEST_SHARE = 2
"""An efficiency above it is taken for per cent. Above 1 it is legal: some runs scale better than linearly."""

Way = Literal["strong", "weak"]
"""Strong scaling: the same work at every count. Weak scaling: work that grows with the GPUs."""


@dataclass(frozen=True)
class Point:
    """One measured run.

    Attributes:
        hours: its time as it was measured.
        work: what it did, in a unit of its own series; None where that is not said.
        batch: samples in a step; None where that is not said.
        gpus_per_node: None where that is not said.
        efficiency: what its file says it is, as a share; None where it says nothing.
        place: where it stands, as file:line or the log's path.
        source: where the file says that it comes from, with its date.
    """

    gpus: int
    hours: float
    place: str
    work: float | None = None
    batch: int | None = None
    gpus_per_node: int | None = None
    efficiency: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Series:
    """The runs of one task, the smallest count first, each with its work.

    Attributes:
        task: what was run; empty where the files do not say.
        notes: what a reader should know before using them.
    """

    task: str
    way: Way
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in what is printed."""
        return f"{self.task or 'Measured runs'}, {self.way} scaling"

    @property
    def short_name(self) -> str:
        """The same where there is little room: strong scaling goes without saying."""
        return self.name.removesuffix(", strong scaling")


@dataclass(frozen=True)
class _Run:
    """A point before its series is known: `way` is empty where its file does not say it."""

    task: str
    way: str
    point: Point
    notes: tuple[str, ...] = ()


def read(given: Sequence[str]) -> tuple[Series, ...]:
    """The series that some files hold.

    Args:
        given: paths; before that of a log may stand its number of GPUs, as in `64=run.log`.

    Raises:
        InputError: a file is none of these or holds what cannot be right; all that is wrong is said in one go.
        OSError: a file cannot be read.
    """
    runs: list[_Run] = []
    problems: list[Problem] = []
    for each in given:
        try:
            runs += _file(each)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    by_task: dict[tuple[str, str], list[_Run]] = defaultdict(list)
    for run in runs:
        by_task[run.task, run.way].append(run)
    series = []
    for group in by_task.values():
        problems += _repeated(group)
        try:
            series.append(_series(group))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tuple(series)


def _file(given: str) -> list[_Run]:
    counted = re.fullmatch(r"(\d{1,18})=(.+)", given, re.DOTALL)
    path = Path(counted[2] if counted else given)
    if not is_parquet(path) and b":::MLLOG" in stream.head(path, EXPECTED):
        return [_Log(path).run(int(counted[1]) if counted else None)]
    if counted:
        raise refuse(path, f"is no MLPerf log, so that no count can stand before it as in {counted[1]}=", EXPECTED)
    return _table(path)


def _place(point: Point) -> tuple[str, int | None]:
    """The file of a point, and its line where it has one."""
    file, _, line = point.place.rpartition(":")
    return (file, int(line)) if file and line.isdigit() else (point.place, None)


def _repeated(runs: Sequence[_Run]) -> Iterator[Problem]:
    """Counts that stand twice in one series: which of two times counts is not for us to say."""
    seen: dict[int, Point] = {}
    for run in runs:
        before = seen.setdefault(run.point.gpus, run.point)
        if before is not run.point:
            gpus = amounts.quantity(run.point.gpus, "gpu")
            yield Problem(
                f"gives a time for {gpus}, and so does {before.place}; keep one, or write their mean as one",
                *_place(run.point),
            )


# --- series -----------------------------------------------------------------------------------------------------------------


def _series(runs: Sequence[_Run]) -> Series:
    points = sorted((run.point for run in runs), key=lambda each: each.gpus)
    task = runs[0].task
    counts = {each.gpus for each in points}
    if len(counts) < 2:
        found = f"holds {task or 'runs'} at one count of GPUs, {points[0].gpus:,}"
        wanted = "a curve needs two (the same task and GPU model, under one name), and the universal scalability law three"
        raise InputError([Problem(f"{found}; {wanted}", *_place(points[0]))])
    notes = [note for run in runs for note in run.notes]
    if len({each.batch for each in points}) > 1:
        # With another batch a run may need other samples to learn as much: that is part of how it scales, and no luck.
        points = [replace(each, work=None) for each in points]
        notes.append("The runs have batches of different sizes, so that their times are compared as they are.")
    way, how = _way(runs[0].way, points)
    notes += [how] if how else []
    if way == "weak":
        notes.append("Weak scaling: times are compared for the work of the smallest count, as if larger batches learnt as much.")
    notes += [f"Source: {each}." for each in dict.fromkeys(each.source for each in points if each.source)]
    points = [replace(each, work=each.work or float(each.gpus if way == "weak" else 1)) for each in points]
    return Series(task, way, tuple(points), tuple(dict.fromkeys(notes)))


def _way(said: str, points: Sequence[Point]) -> tuple[Way, str]:
    """The way of scaling, and how it is known where the files do not say it in so many words.

    Raises:
        InputError: the work of the runs tells neither.
    """
    works = [each.work for each in points if each.work is not None]
    if 0 < len(works) < len(points):
        bare = next(each for each in points if each.work is None)
        raise InputError([Problem("says no work, where other runs of its task do; say it for each or for none", *_place(bare))])
    if said == "weak":
        return "weak", ""
    if said == "strong" or not works:
        how = "" if said else "No column says which way the runs scale: taken as strong scaling, the same work at every count."
        return "strong", how
    per_gpu = [work / each.gpus for work, each in zip(works, points, strict=True)]
    if max(works) <= 1.01 * min(works):
        return "strong", "The work is the same at every count: strong scaling."
    if max(per_gpu) <= 1.01 * min(per_gpu):
        return "weak", "The work grows with the GPUs: weak scaling."
    found = f"has work of {', '.join(f'{work:g}' for work in works)}, neither the same at every count nor the same per GPU"
    raise InputError([Problem(f"{found}; say strong or weak in a column scaling", _place(points[0])[0])])


# --- tables -----------------------------------------------------------------------------------------------------------------


def require_utf8(path: Path, expected: str) -> None:
    """Refuse a table with a byte that is no text: `Table` puts one sign in the place of any, so that two names become one.

    Raises:
        InputError: there is such a byte, with its line; or the file is empty, binary or damaged.
        OSError: it cannot be read.
    """
    if is_parquet(path):
        return
    encoding, _ = start(path, expected)
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    try:
        for chunk in stream.chunks(path, expected):
            line += decoder.decode(chunk).count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        line += error.object[: error.start].count(b"\n")
        raise InputError([Problem("has a byte that is not text in UTF-8; save the file as UTF-8", str(path), line)]) from error


def limits(text: str) -> str:
    """What `number` reads, for a refusal of what it does not: nothing where the text has no digits, and so is none at all."""
    return " of at most 15 digits before the point and 30 after it" if re.search(r"\d", text) else ""


_HOURS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), Decimal(1) / 3_600_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1) / 3600),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Decimal(1) / 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(1)),
    **dict.fromkeys(("day", "days"), Decimal(24)),
}
_NO_TIME = {"gpu", "gpus", "per"}
"""Words of columns such as gpu_hours and samples_per_second, which are no time of a run."""

_TIME = {"time", "runtime", "duration"}


def _words(column: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", column)}


def _time_column(path: Path, columns: Sequence[str]) -> tuple[str, Decimal]:
    """The column of times, and how many hours its unit is."""
    of_time = [name for name in columns if not _words(name) & _NO_TIME]
    found = {name: units for name in of_time if (units := _words(name) & _HOURS.keys())}
    if len(found) != 1 or len(*found.values()) != 1:
        bare = [name for name in of_time if _words(name) & _TIME and name not in found]
        if found:
            says = f"has more than one time: {stream.listed(list(found))}"
        elif bare:
            says = f"has a column '{bare[0]}' that does not say its unit; call it {bare[0]}_minutes, or what it is"
        else:
            says = f"has no column of times; its columns are {stream.listed(columns)}"
        raise refuse(path, says, EXPECTED)
    name, units = found.popitem()
    return name, _HOURS[units.pop()]


def _table(path: Path) -> list[_Run]:
    require_utf8(path, EXPECTED)
    names = Table(path, EXPECTED, ()).columns
    gpus = next((name for name in names if name.lower() in ("gpus", "accelerators", "chips")), "gpus")
    time, hours = _time_column(path, names) if gpus in names else ("", Decimal(0))
    table = Table(path, EXPECTED, (gpus, time, "work", "efficiency", "gpus_per_node"))
    known = ("task", "scaling", "work", "efficiency", "gpus_per_node", "source", "date")
    table.require(
        [gpus, *([time] if time else []), *(name for name in known if table.place(name) is not None)], "a scaling curve"
    )
    found, problems = [], []
    for record in table.records():
        row = _Row(table, record)
        if len(record.values) == len(table.columns):
            found.append(row.run(gpus, time, hours))
        else:
            values = amounts.quantity(len(record.values), "value")
            row.wrong(f"has {values} for {amounts.quantity(len(table.columns), 'column')}; is the file cut off?")
        problems += row.problems
    if problems:
        raise InputError(problems)
    if not found:
        raise refuse(path, "has no row below the names of its columns", EXPECTED)
    return found


class _Row:
    """One row of a table, and what is wrong with it."""

    def __init__(self, table: Table, record: Record) -> None:
        self.table, self.record = table, record
        self.problems: list[Problem] = []

    def run(self, gpus: str, time: str, hours: Decimal) -> _Run:
        way = self._text("scaling").lower()
        if self.table.place("scaling") is not None and way not in ("strong", "weak"):
            self.wrong(f"has '{way}' under scaling; write strong or weak")
        share = self._number("efficiency")
        if share is not None and share > HIGHEST_SHARE:
            self.wrong(f"has an efficiency of {share}, which is no share; {share} % is {share / 100}")
        source = ", ".join(filter(None, (self._text("source"), self._text("date"))))
        run_hours = float((self._number(time) or 1 / hours) * hours)
        if not SHORTEST <= run_hours <= LONGEST:
            self.wrong(f"has {self._text(time)} under {time}, which is no time of a run; is it in another unit?")
        point = Point(
            gpus=self._whole(gpus) or 1,
            hours=run_hours,
            place=f"{self.table.path}:{self.record.line}",
            work=None if (work := self._number("work")) is None else float(work),
            gpus_per_node=self._whole("gpus_per_node"),
            efficiency=None if share is None else float(share),
            source=source,
        )
        return _Run(self._text("task"), way, point)

    def wrong(self, message: str) -> None:
        self.problems.append(Problem(message, str(self.table.path), self.record.line))

    def _text(self, name: str) -> str:
        place = self.table.place(name)
        return "" if place is None else self.record.values[place].strip()

    def _number(self, name: str) -> Decimal | None:
        """A number above zero; None where the table has no such column, or where there is something wrong with it."""
        if self.table.place(name) is None:
            return None
        text = self._text(name)
        value = number(text, self.table.mark)
        if not text:
            self.wrong(f"has nothing under {name}; write a number, or take the row out")
        elif text.endswith("%"):
            self.wrong(f"has '{text}' under {name}; write per cent as a share, such as 0.85")
        elif value is None:
            unclear = f"{'can be read in two ways or ' if ',' in text else ''}is no number{limits(text)}"
            self.wrong(f"has '{text[:40]}' under {name}, which {unclear}; write it like 28.07, its unit in the column's name")
        elif value <= 0:
            self.wrong(f"has {text[:40]} under {name}; it must be above zero")
        else:
            return value
        return None

    def _whole(self, name: str) -> int | None:
        value = self._number(name)
        if value is not None and (value != value.to_integral_value() or value > MOST_GPUS):
            self.wrong(f"has {value} under {name}; write a whole number from 1 to {MOST_GPUS:,}")
            return None
        return None if value is None else int(value)


# --- MLPerf logs ------------------------------------------------------------------------------------------------------------


class _Log:
    """What an MLPerf log says of its run as a whole, https://github.com/mlcommons/logging; SYSJSON describes the system.

    The time is that from `run_start` to `run_stop`, by which MLPerf ranks: evaluations included, start-up left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: dict[str, tuple[int, Any]] = {}
        self.system: dict[str, Any] = {}
        self.damaged = 0
        line = 0
        for block in stream.blocks(path, EXPECTED):
            for text in block.splitlines():
                line += 1
                if found := re.search(rb":::(MLLOG|SYSJSON)\s*(\{.*)", text):
                    self._add(line, found[1] == b"SYSJSON", found[2])

    def _add(self, line: int, of_system: bool, text: bytes) -> None:
        try:
            fields, _ = json.JSONDecoder().raw_decode(text.decode(errors="replace"))
        except (ValueError, RecursionError):
            self.damaged += 1
            return
        if of_system:
            if self.system and self.system != fields:
                raise InputError([Problem("describes a second system; give one log for each run", str(self.path), line)])
            self.system = fields
            return
        key = str(fields.get("key"))
        if key in ("run_start", "run_stop") and key in self.events:
            raise InputError([Problem(f"holds a second {key}; give one log for each run", str(self.path), line)])
        self.events[key] = line, fields

    def run(self, given: int | None) -> _Run:
        """Its run; `given` is the count of GPUs that stands before its path."""
        task = self._value("submission_benchmark")
        model = self.system.get("accelerator_model_name")
        batch = self._value("global_batch_size")
        batch = batch if _is_count(batch) else None
        samples = self._metadata("run_stop").get("samples_count")
        work = float(samples) if batch and _is_count(samples) else None
        notes = ["MLPerf trains to the same quality at every count: strong scaling."]
        if work:
            notes.append("The runs have one batch size, so that the samples that each happened to need count as its work.")
        if self.damaged:
            notes.append(f"Of {self.path.name} this leaves out {amounts.quantity(self.damaged, 'damaged line')}.")
        point = Point(
            gpus=self._gpus(given),
            hours=self._hours(),
            place=str(self.path),
            work=work,
            batch=batch,
            gpus_per_node=_count(self.system.get("accelerators_per_node")),
        )
        return _Run(" on ".join(str(each) for each in (task, model) if each), "strong", point, tuple(notes))

    def _value(self, key: str) -> Any:
        return self.events[key][1].get("value") if key in self.events else None

    def _metadata(self, key: str) -> dict[str, Any]:
        found = self.events[key][1].get("metadata") if key in self.events else None
        return found if isinstance(found, dict) else {}

    def _gpus(self, given: int | None) -> int:
        nodes, each = (_count(self.system.get(name)) for name in ("number_of_nodes", "accelerators_per_node"))
        said = nodes * each if nodes and each else None
        count = said if given is None else given
        if count is None:
            found = "does not say on how many GPUs it ran (SYSJSON with number_of_nodes and accelerators_per_node)"
            raise InputError([Problem(f"{found}; write the count before it, as in 64={self.path}", str(self.path))])
        if said is not None and said != count:
            own = amounts.quantity(said, "gpu")
            raise InputError([Problem(f"ran on {own} by its own word, and not on {count:,}", str(self.path))])
        if not 0 < count <= MOST_GPUS:
            raise InputError([Problem(f"is said to have run on {count:,} GPUs; 1 to {MOST_GPUS:,} are possible", str(self.path))])
        return count

    def _hours(self) -> float:
        for key in ("run_start", "run_stop"):
            if key not in self.events:
                raise refuse(self.path, f"has no {key}: it is cut off, or its run did not end", "a log of a whole run")
        (_, start), (line, stop) = self.events["run_start"], self.events["run_stop"]
        status = self._metadata("run_stop").get("status", "success")
        if status != "success":
            found = f"ended with the status {str(status)[:40]!r}, so that its time says nothing"
            raise InputError([Problem(found, str(self.path), line)])
        times = [fields.get("time_ms") for fields in (start, stop)]
        if not all(isinstance(each, int | float) and 0 <= each < 1e15 for each in times) or times[0] >= times[1]:
            raise InputError([Problem("stops no later than it starts, or at no time", str(self.path), line)])
        return float(times[1] - times[0]) / 3_600_000


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63


def _count(value: Any) -> int | None:
    """A count that SYSJSON writes as text or as a number; None where it is neither."""
    text = str(value)
    return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII) else None
