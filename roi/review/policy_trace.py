"""Demand for GPUs over time: jobs from a table, or jobs that are drawn at random from a seed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from roi import amounts
from roi.evidence.quantities import blank, number
from roi.evidence.tables import DAMAGED, Record, Table, refuse
from roi.problems import InputError, Problem
from roi.review.scaling_points import require_utf8

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
"""In milliseconds, the unit of all times here."""

EXPECTED = (
    "a table of jobs with the columns submit, gpus and duration, and id if jobs have one; submit is like 2026-05-01T10:00:00Z, "
    "duration like 02:30:00, or a number under duration_minutes"
)
LONGEST = 3_660
"""Days; a trace or a job that lasts longer is in another unit than its column says."""

ODD_DURATION, ODD_GAP = 30, 3
"""Days; a longer job, or a longer time in which nothing is submitted, is flagged. A weekend is shorter."""

MOST_GPUS, MOST_JOBS, MOST_PROBLEMS = 1_000_000, 1_000_000, 20


class Job(NamedTuple):
    """One job: when it was submitted and how long it runs, in milliseconds, and the line of its file, or 0."""

    submitted: int
    gpus: int
    duration: int
    line: int = 0


@dataclass(frozen=True)
class Trace:
    """Jobs in the order of their submission, the first at 0.

    Attributes:
        source: the file, or what the jobs are drawn from.
        flags: what is odd but legal about them.
        drawn: the settings of the generator, in words; empty for a file.
    """

    jobs: tuple[Job, ...]
    source: str
    flags: tuple[str, ...] = ()
    drawn: str = ""

    @property
    def work(self) -> int:
        """GPU-milliseconds that the jobs run for."""
        return sum(job.gpus * job.duration for job in self.jobs)

    @property
    def span(self) -> int:
        """Milliseconds from the first submission until the last job would end if none waited."""
        return max(job.submitted + job.duration for job in self.jobs)

    def most_gpus(self) -> int:
        """The most GPUs at once if no job waited; what ends at a moment makes room for what begins then."""
        changes = [(job.submitted, job.gpus) for job in self.jobs]
        changes += [(job.submitted + job.duration, -job.gpus) for job in self.jobs]
        return max(accumulate(gpus for _, gpus in sorted(changes)))


# --- from a table -----------------------------------------------------------------------------------------------------------

UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR),
}
"""Milliseconds of the units that the end of a column's name, or an option, may say."""

_NAMES = {
    "id": ("id", "job", "jobid"),
    "submit": ("submit", "submitted", "submittime", "submittedat", "submission", "submissiontime"),
    "gpus": ("gpus", "gpu", "gpunum", "gpucount", "numgpus", "gpunumber"),
    "duration": ("duration", "runtime", "elapsed"),
}
"""What a table may call its columns, in letters alone."""

NO_ZONE = "a time without a zone"

_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)", re.ASCII)
_EPOCH = datetime(1970, 1, 1)


class _Column(NamedTuple):
    """A column by its name, and milliseconds of its unit where that is known."""

    name: str
    unit: int | None


def read(path: Path, unit: str = "") -> Trace:
    """The jobs of a table, as delimited text or Parquet.

    Args:
        unit: one of `UNITS`, of numbers under `submit` and `duration` where the columns' names do not say it.

    Raises:
        InputError: the file is no such table, or holds what cannot be right; all of its lines are said in one go.
        OSError: it cannot be read.
    """
    require_utf8(path, EXPECTED)
    names = Table(path, EXPECTED, ()).columns
    columns = {role: _column(path, names, role, UNITS.get(unit)) for role in _NAMES}
    found = {role: column for role, column in columns.items() if column is not None}
    table = Table(path, EXPECTED, [found[role].name for role in ("submit", "gpus", "duration") if role in found])
    table.require([found[role].name if role in found else role for role in _NAMES if role != "id" or role in found], "a job list")
    return _Reading(table, found).trace()


def _column(path: Path, names: Sequence[str], role: str, unit: int | None) -> _Column | None:
    """The column of a role, whose name may end in a unit."""
    found = []
    for name in names:
        words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
        of_unit = UNITS.get(words[-1]) if role in ("submit", "duration") and len(words) > 1 else None
        if "".join(words[:-1] if of_unit else words) in _NAMES[role]:
            found.append(_Column(name, of_unit or unit))
    if len({column.name.lower() for column in found}) > 1:
        listed = " and ".join(column.name for column in found)
        raise refuse(path, f"has more than one column of {role}: {listed}; keep one of them", EXPECTED)
    return found[0] if found else None


class _Reading:
    """The rows of a table, and what is wrong or odd with them."""

    def __init__(self, table: Table, columns: dict[str, _Column]) -> None:
        self.table, self.columns = table, columns
        self.problems: list[Problem] = []
        self.jobs: list[Job] = []
        self.ids: dict[str, int] = {}
        self.kinds: dict[str, int] = {}
        self.zones: dict[timedelta, int] = {}
        self.without_work: list[int] = []
        self.seen: dict[Job, int] = {}
        self.repeated: list[int] = []

    def trace(self) -> Trace:
        for record in self.table.records():
            self._read(record)
        if len(self.kinds) > 1:
            (other, line), (kind, here), *_ = self.kinds.items()
            found = f"has {kind} under {self.columns['submit'].name}, where line {line} has {other}; write all of them one way"
            self.problems.append(Problem(found, str(self.table.path), here))
        if len(self.problems) > MOST_PROBLEMS:
            more = amounts.quantity(len(self.problems) - MOST_PROBLEMS, "more line")
            self.problems[MOST_PROBLEMS:] = [Problem(f"and {more} like these", str(self.table.path))]
        if self.problems:
            raise InputError(self.problems)
        if not self.jobs:
            raise refuse(self.table.path, "holds no job that takes GPUs for a time", EXPECTED)
        first = min(job.submitted for job in self.jobs)
        jobs = sorted((job._replace(submitted=job.submitted - first) for job in self.jobs), key=lambda job: job.submitted)
        if jobs[-1].submitted > LONGEST * DAY:
            found = f"is submitted {jobs[-1].submitted // DAY:,} days after the first job; is the unit right?"
            raise InputError([Problem(found, str(self.table.path), jobs[-1].line)])
        return Trace(tuple(jobs), str(self.table.path), tuple(self._flags(jobs)))

    def _read(self, record: Record) -> None:
        if len(record.values) != len(self.table.columns):
            self._wrong(record, f"is one of the {DAMAGED}")
            return
        before = len(self.problems)
        self._identify(record)
        job = Job(self._submitted(record), self._gpus(record), self._duration(record), record.line)
        if len(self.problems) > before:
            return
        if not job.gpus * job.duration:
            self.without_work.append(record.line)
            return
        self.jobs.append(job)
        if "id" not in self.columns and self.seen.setdefault(job._replace(line=0), record.line) != record.line:
            self.repeated.append(record.line)

    def _wrong(self, record: Record, message: str) -> None:
        self.problems.append(Problem(message, str(self.table.path), record.line))

    def _text(self, record: Record, role: str) -> str:
        place = self.table.place(self.columns[role].name)
        return "" if place is None else blank(record.values[place])

    def _identify(self, record: Record) -> None:
        if "id" not in self.columns:
            return
        name = self._text(record, "id")
        if not name:
            self._wrong(record, "has no id, where other jobs have one")
        elif name in self.ids:
            found = f"is job {name[:60]} again, which line {self.ids[name]} is; a job runs once, so keep one of them"
            self._wrong(record, found)
        self.ids.setdefault(name, record.line)

    def _gpus(self, record: Record) -> int:
        text, name = self._text(record, "gpus"), self.columns["gpus"].name
        value = number(text, self.table.mark)
        if not text:
            self._wrong(record, f"has nothing under {name}; write how many GPUs the job asks for, 0 if none")
        elif value is None or value != value.to_integral_value() or not 0 <= value <= MOST_GPUS:
            self._wrong(record, f"has '{text[:40]}' under {name}; write a whole number of GPUs from 0 to {MOST_GPUS:,}")
        else:
            return int(value)
        return 0

    def _duration(self, record: Record) -> int:
        text, (name, unit) = self._text(record, "duration"), self.columns["duration"]
        value = number(text, self.table.mark)
        clock = _CLOCK.fullmatch(text)
        if clock:
            days, hours, minutes, seconds = (Decimal(part or 0) for part in clock.groups())
            value, unit = ((days * 24 + hours) * 60 + minutes) * 60 + seconds, UNITS["s"]
        if not text:
            self._wrong(record, f"has nothing under {name}; a job that has not ended has no duration: take its row out")
        elif value is None:
            self._wrong(
                record, f"has '{text[:40]}' under {name}; write it like 02:30:00, or a number, its unit in the column's name"
            )
        elif value < 0:
            self._wrong(record, f"has {text[:40]} under {name}: it ends before it begins; are two times swapped?")
        elif unit is None:
            self._wrong(record, f"has {text[:40]} under {name}, which does not say its unit; {self._say_unit(name)}")
        elif value * unit > LONGEST * DAY:
            self._wrong(record, f"has {text[:40]} under {name}, which is more than {LONGEST:,} days; is the unit right?")
        else:
            return round(value * unit)
        return 0

    def _submitted(self, record: Record) -> int:
        text, (name, unit) = self._text(record, "submit"), self.columns["submit"]
        value = number(text, self.table.mark)
        if not text:
            self._wrong(record, f"has nothing under {name}; write when the job was submitted")
        elif value is not None and unit is None:
            self._wrong(record, f"has {text[:40]} under {name}, which does not say its unit; {self._say_unit(name)}")
        elif value is not None and unit is not None:
            self.kinds.setdefault("a number", record.line)
            return round(value * unit)
        else:
            return self._moment(record, text, name)
        return 0

    def _moment(self, record: Record, text: str, name: str) -> int:
        try:
            moment = datetime.fromisoformat(text) if ":" in text else None
        except ValueError:
            moment = None
        if moment is None:
            self._wrong(record, f"has '{text[:40]}' under {name}, which is no time; write it like 2026-05-01T10:00:00Z")
            return 0
        zone = moment.utcoffset()
        self.kinds.setdefault(NO_ZONE if zone is None else "a time with a zone", record.line)
        if zone is not None:
            self.zones.setdefault(zone, record.line)
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return round((moment - _EPOCH) / timedelta(milliseconds=1))

    @staticmethod
    def _say_unit(name: str) -> str:
        return f"call the column {name}_seconds, {name}_minutes or {name}_hours, or give --unit"

    def _flags(self, jobs: Sequence[Job]) -> list[str]:
        flags = []
        if NO_ZONE in self.kinds:
            flags.append(
                f"No time has a time zone (line {self.kinds[NO_ZONE]} on): all are taken from one clock that never changes, so "
                "where it went over to summer time or back, an hour is left out or counted twice."
            )
        if len(self.zones) > 1:
            second = sorted(self.zones.values())[1]
            flags.append(
                f"Times are given in {len(self.zones)} time zones, the second from line {second} on; each is taken as it says."
            )
        if self.without_work:
            count, first = len(self.without_work), self.without_work[0]
            flags.append(f"Left out, because no GPUs or no time are asked for: {count:,}, the first in line {first}.")
        if self.repeated:
            rows, verb = amounts.quantity(len(self.repeated), "row"), "repeats" if len(self.repeated) == 1 else "repeat"
            flags.append(
                f"{rows} {verb} an earlier row in all that is read, the first in line {self.repeated[0]}; "
                "without a column id each counts as a job."
            )
        before, after = max(pairwise(jobs), key=lambda pair: pair[1].submitted - pair[0].submitted, default=(jobs[0], jobs[0]))
        gap = after.submitted - before.submitted
        if gap > ODD_GAP * DAY:
            flags.append(
                f"Nothing is submitted for {amounts.figures(gap / DAY)} days before line {after.line}; if jobs are missing "
                "there, idle time is too high."
            )
        longest = max(jobs, key=lambda job: job.duration)
        if longest.duration > ODD_DURATION * DAY:
            days = amounts.figures(longest.duration / DAY)
            flags.append(f"The job in line {longest.line} lasts {days} days; is the unit right?")
        return flags


# --- from a seed ------------------------------------------------------------------------------------------------------------

JOB_SIZES = {1: 0.30, 2: 0.15, 4: 0.20, 8: 0.25, 16: 0.07, 32: 0.03}
"""How often a drawn job asks for so many GPUs."""

MEDIAN_MINUTES, SIGMA = 30.0, 1.2
"""Of the lognormal duration: a mean of 62 minutes, and one job in a hundred of more than 8 hours."""

DAYS, JOBS_PER_DAY = 14, 90
"""Of a trace that is drawn, unless something else is asked for."""

DAILY_SWING, BUSIEST_HOUR, WEEKEND = 0.6, 15, 0.5
"""Arrivals swing by so much around the mean of a day, which begins at midnight on a Monday; on a weekend there are so many."""


def drawn(seed: int, days: int | None, jobs: int | None, largest: int) -> Trace:
    """Jobs drawn at random; None stands for `DAYS`, and for `JOBS_PER_DAY`.

    Raises:
        InputError: as many are not drawn.
    """
    length = DAYS if days is None else days
    count = length * JOBS_PER_DAY if jobs is None else jobs
    problems = []
    if not 1 <= length <= LONGEST:
        problems.append(Problem(f"is {length}; write a whole number from 1 to {LONGEST:,}", "--days"))
    elif not 1 <= count <= MOST_JOBS:
        problems.append(Problem(f"is {count}; write a whole number from 1 to {MOST_JOBS:,}", "--jobs"))
    if problems:
        raise InputError(problems)
    return generate(seed, length, count, largest)


def generate(seed: int, days: int, jobs: int, largest: int) -> Trace:
    """Jobs drawn at random: Poisson arrivals with a daily and a weekly cycle, lognormal durations, powers of two of GPUs.

    Args:
        jobs: how many there are on average.
        largest: GPUs; what asks for more is not drawn.

    Raises:
        InputError: no job was drawn.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    hours = np.arange(days * 24)
    rates = 1 + DAILY_SWING * np.cos(2 * np.pi * (hours % 24 - BUSIEST_HOUR) / 24)
    rates = np.where(hours // 24 % 7 >= 5, WEEKEND * rates, rates)
    arrivals = generator.poisson(jobs * rates / rates.sum())
    count = int(arrivals.sum())
    if not count:
        raise InputError([Problem(f"draws no job from seed {seed}; ask for more than {jobs:,} on average", "--jobs")])
    submitted = np.sort(np.repeat(hours, arrivals) * HOUR + generator.integers(0, HOUR, count))
    sizes = {size: share for size, share in JOB_SIZES.items() if size <= largest}
    shares = np.array(list(sizes.values())) / sum(sizes.values())
    gpus = generator.choice(list(sizes), size=count, p=shares)
    durations = np.maximum(1, np.rint(generator.lognormal(np.log(MEDIAN_MINUTES * MINUTE), SIGMA, count))).astype(np.int64)
    rows = zip((submitted - submitted[0]).tolist(), gpus.tolist(), durations.tolist(), strict=True)
    listed = ", ".join(f"{size} ({share * 100:.0f} %)" for size, share in zip(sizes, shares.tolist(), strict=True))
    mean, length = amounts.quantity(jobs, "job"), amounts.quantity(days, "day")
    drawn = (
        f"The jobs are drawn at random with seed {seed} (PCG64), not measured: a Poisson process of {mean} on average in "
        f"{length}, which swings by {DAILY_SWING * 100:g} % around the mean of a day, the most at {BUSIEST_HOUR}:00, and "
        f"has {WEEKEND * 100:g} % of the jobs on a day of the weekend; lognormal durations with a median of {MEDIAN_MINUTES:g} "
        f"minutes and a sigma of {SIGMA:g}; GPUs of a job, and their share: {listed}."
    )
    return Trace(tuple(Job(*row) for row in rows), f"seed {seed}", (), drawn)
