"""Step times as training programs write them: one small function for each format, and one collector of what they find.

A format is known by what a file holds, never by its name. What each writes:

- Megatron-LM and Megatron-DeepSpeed: the mean since the line before, `elapsed time per iteration (ms): 1380.6 |`, or in `(s)`;
- nanoGPT: one iteration, `iter 100: loss 2.5, time 25.13ms, mfu 12.1%`;
- NeMo: one step, `global_step: 10 | ... | train_step_timing in s: 2.505`, or with `=` in a progress bar;
- torchtitan: `2026-05-18 16:04:46,338 - root - INFO - step: 14  loss: ...`, of which the clock is read;
- MLPerf: `:::MLLOG {...}`, a block of training steps between two evaluations;
- the Trainer of Hugging Face: `trainer_state.json`, the time of all steps together;
- TensorBoard: event files with a step's time under a name that is known here, or else the clock of a training curve;
- CSV: a column of steps and one of times, whose name says the unit.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roi.evidence import stream
from roi.evidence.evidence import Account
from roi.evidence.tables import Table, read_json, refuse
from roi.lines import Array
from roi.problems import InputError, Problem

EXPECTED = (
    "a training log of Megatron-LM, nanoGPT, torchtitan, NeMo or MLPerf, a trainer_state.json, TensorBoard events, "
    "or a CSV with the columns step and step_time_ms"
)
MS = {"ms": 1.0, "s": 1000.0}

SLOW_DEVIATIONS, SLOW_SHARE = 5, 0.05
"""A step is slow if it is above the median by more than 5 standard deviations, estimated from the median absolute deviation as
1.4826 of it, and by more than 5 %."""

_REASONS = ("", "evaluation", "checkpoint", "compilation", "warm-up", "skipped updates", "printed again after a restart")
EVALUATION, CHECKPOINT, COMPILATION, WARM_UP, SKIPPED, COPY = range(1, len(_REASONS))
"""Why a step is set aside."""

_WORDS = (
    (EVALUATION, b"evaluat"),
    (EVALUATION, b"validat"),
    (EVALUATION, b"val loss"),
    (CHECKPOINT, b"checkpoint"),
    (CHECKPOINT, b"saving model"),
    (COMPILATION, b"compil"),
)
"""Words of a line, in small letters, after which a step that is slow is put down to what they say."""

_OTHER = "without a step's time"
_EXAMPLES = 3


class Step(NamedTuple):
    """What a record says of one step, or of the mean of those since the record before.

    Attributes:
        ms: its time; or `clock`, milliseconds of a clock at its end.
        unit: in which the record writes the time; empty where it has clock times.
        covers: how many steps a block of them holds, where the record is one.
        skipped: how many of the steps since the record before changed no weights (an overflow in mixed precision).
        batch: samples in a step; 0 where the record does not say it.
    """

    number: int
    ms: float = 0.0
    clock: float | None = None
    unit: str = ""
    covers: int = 0
    skipped: int = 0
    batch: int = 0


class Pause(NamedTuple):
    """Time that a record says went into something else than steps."""

    why: str
    ms: float


@dataclass(frozen=True)
class StepTimes:
    """The step times of one file, and what became of all its records.

    Attributes:
        name: what the file is called in what is printed.
        ms: the time of each step or block that is kept.
        covers: how many steps each block holds; None where a record is no block.
        aside: how many steps or blocks are set aside.
        median_of_all: in ms, with what is set aside.
        unit: in which the file writes times; empty where it has clock times.
        batch: samples in a step; 0 where the file does not say it.
    """

    file: str
    name: str
    format: str
    records: str
    total: int
    ms: Array
    covers: Array | None
    aside: int
    median_of_all: float
    accounts: tuple[Account, ...]
    unit: str
    batch: int
    dated: date | None
    notes: tuple[str, ...]


def step_times(path: Path, unit: str = "") -> StepTimes:
    """The step times of a file in any of the formats.

    Args:
        unit: `ms` or `s`, of a CSV whose column does not say it; elsewhere it must be what the file says.

    Raises:
        InputError: the file is none of these, mixes two, or has no step that can be used.
        OSError: it cannot be read.
    """
    first = stream.head(path, EXPECTED)
    if first[12:13] == b"\x09" and b"brain.Event:" in first[:64]:
        found = _tensorboard(path)
    elif stream.is_binary(first):
        raise refuse(path, "is binary", EXPECTED)
    elif first.lstrip()[:1] == b"{" and b'"log_history"' in first:
        found = _trainer_state(path)
    elif not _STEP_COLUMNS.isdisjoint(stream.columns(first)):
        found = _csv(path, unit)
    else:
        found = _log(path, first)
    if unit and found.unit != unit:
        says = f"writes times in {found.unit}" if found.unit else "holds clock times"
        raise refuse(path, f"{says}, where --unit says {unit}", "the unit that the file has; leave --unit out")
    return found.finish()


# --- formats that write lines -----------------------------------------------------------------------------------------------

_NUMBER = rb"(\d+\.?\d*(?:[eE][+-]?\d+)?)"
_MEGATRON = re.compile(
    rb"iteration\s+(\d+)/.*?elapsed time per iteration \((ms|s)\):\s*" + _NUMBER + rb"\s*\|"
    rb"(?:.*?global batch size:\s*(\d+))?(?:.*?number of skipped iterations:\s*(\d+))?"
)
_NANOGPT = re.compile(rb"iter (\d+): loss .*?, time " + _NUMBER + rb"ms")
_NEMO = re.compile(
    rb"(?:global_batch_size[=:]\s*(\d+).*?)?global_step[=:]\s*(\d+).*train_step_timing in s[=:]\s*" + _NUMBER + rb"[^\d.eE+-]",
    re.DOTALL,
)
_TORCHTITAN = re.compile(rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) - \S+ - INFO - step:\s*(\d+)\s+loss:")
# `[rank0]:` and `[default7]:` of torchrun, `12: ` of srun, `[1,0]<stdout>:` of mpirun, `[pod/name/container]` of kubectl; but not
# the `12:` of a time of day.
_RANK = re.compile(rb"\s*(\[pod/[^\]\s]+\]|\[?(?:rank|default|\d+,)?\s?\d+\]?(?:<std(?:out|err)>)?:(?!\d))", re.IGNORECASE)
_DATE = re.compile(rb"(?<!\d)(20\d\d-[01]\d-[0-3]\d)[ T][0-2]\d:[0-5]\d")


def _megatron(line: bytes) -> Step:
    number, unit, time, batch, skipped = _groups(_MEGATRON, line)
    said = unit.decode()
    return Step(_whole(number), float(time) * MS[said], None, said, skipped=_whole(skipped or b"0"), batch=_whole(batch or b"0"))


def _nanogpt(line: bytes) -> Step:
    number, time = _groups(_NANOGPT, line)
    return Step(_whole(number), float(time), None, "ms")


def _nemo(line: bytes) -> Step:
    batch, number, time = _groups(_NEMO, line)
    return Step(_whole(number), float(time) * 1000, None, "s", batch=_whole(batch or b"0"))


def _torchtitan(line: bytes) -> Step:
    clock, thousandths, number = _groups(_TORCHTITAN, line)
    second = datetime.fromisoformat(clock.decode()).replace(tzinfo=UTC).timestamp()
    return Step(_whole(number), clock=second * 1000 + int(thousandths))


def _groups(pattern: re.Pattern[bytes], line: bytes) -> tuple[bytes, ...]:
    found = pattern.search(line)
    if not found:
        raise ValueError("the line has another form")
    return found.groups()


def _whole(digits: bytes | str) -> int:
    number = int(digits)
    if not 0 <= number < 1 << 63:
        raise ValueError("no step has such a number")
    return number


class _MLPerf:
    """The events of an MLPerf log, https://github.com/mlcommons/logging.

    `block_start` and `block_stop` say at which sample a block of steps begins and ends, `eval_start` and `eval_stop` when the
    evaluation after it does.
    """

    def __init__(self) -> None:
        self.batch = 0
        self.first_ms = 0.0
        self.seconds: dict[str, float] = defaultdict(float)
        self._started: dict[str, tuple[float, int]] = {}

    def __call__(self, line: bytes) -> Step | Pause | None:
        event, _ = json.JSONDecoder().raw_decode(line.partition(b":::MLLOG")[2].decode(errors="replace").lstrip())
        key, time = event["key"], float(event["time_ms"])
        if not 0 <= time < 1e15:
            raise ValueError("the event has no time")
        self.first_ms = self.first_ms or time
        if key == "global_batch_size":
            self.batch = _whole(str(event["value"]))
        what, _, edge = str(key).rpartition("_")
        if what not in ("run", "block", "eval") or edge not in ("start", "stop"):
            return None
        samples = _whole(str(event["metadata"].get("samples_count", 0)))
        if edge == "start":
            self._started[what] = time, samples
            return None
        start, before = self._started.pop(what)
        if what == "block" and samples - before < self.batch:
            raise ValueError("the block has no step")
        self.seconds[what] += (time - start) / 1000
        if what == "block":
            covers = (samples - before) // self.batch
            return Step(samples // self.batch, (time - start) / covers, covers=covers, batch=self.batch)
        return Pause(_REASONS[EVALUATION], time - start) if what == "eval" else None

    def report(self, log: _Collector) -> None:
        """What the run's time went into."""
        if self.first_ms:
            log.dated = datetime.fromtimestamp(self.first_ms / 1000, UTC).date()
        if not self.seconds["run"]:
            return
        run, training, evaluation = (self.seconds[what] for what in ("run", "block", "eval"))
        rest = run - training - evaluation
        words = f"{log.path.name}: a run of {run:,.1f} s = {training:,.1f} s of training + {evaluation:,.1f} s of evaluation"
        log.notes.append(f"{words} + {rest:,.1f} s of other things." if rest >= 0.05 else f"{words}.")


class _Format(NamedTuple):
    """A format that writes lines.

    Attributes:
        hint: what each line that says something of a step holds.
        parse: what a line says; it raises what Python raises where the line is another or damaged.
    """

    name: str
    hint: bytes
    parse: Callable[[bytes], Step | Pause | None]


_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def _log(path: Path, first: bytes) -> _Collector:
    mlperf = _MLPerf()
    formats = (
        _Format("Megatron-LM", b"elapsed time per iteration", _megatron),
        _Format("nanoGPT", b", time ", _nanogpt),
        _Format("NeMo", b"train_step_timing in s", _nemo),
        _Format("torchtitan", b" - INFO - step:", _torchtitan),
        _Format("MLPerf", b":::MLLOG", mlperf),
    )
    log = _Collector(path, "lines")
    log.dated = _dated(first)
    chosen: _Format | None = None
    since = others = 0
    for block in stream.blocks(path, EXPECTED):
        lower = block.lower()  # what a block does not hold need not be looked for in each of its lines
        hinted = [each for each in formats if each.hint in block]
        words = [(reason, word) for reason, word in _WORDS if word in lower]
        for line in block.splitlines(keepends=True):
            log.total += 1
            damaged = False
            for each in hinted:
                if each.hint not in line:
                    continue
                try:
                    found = each.parse(line)
                except _DAMAGED:
                    damaged |= each is chosen
                    continue
                if chosen is None:
                    chosen, since = each, log.total
                elif chosen is not each:
                    both = f"holds step times of {chosen.name} from line {since:,} on, and of {each.name} here"
                    raise InputError([Problem(f"{both}; keep the lines of one of the two", str(path), log.total)])
                if isinstance(found, Step):
                    rank = _RANK.match(line)
                    log.add(found, rank[1] if rank else b"")
                elif found:
                    log.aside(found.why, found.ms)
                else:
                    others += 1
                break
            else:
                reason = next((reason for reason, word in words if word in line.lower()), 0) if words else 0
                log.reason = log.reason or reason
                if damaged and not reason:
                    log.unclear("damaged or cut off")
                else:
                    others += 1
    if others:
        log.aside(_OTHER, count=others)
    if chosen is None:
        begins = first.lstrip()[:60].splitlines()[0].decode(errors="replace")
        raise refuse(path, f"holds no step's time in its {log.total:,} lines, the first of which is '{begins}'", EXPECTED)
    log.format = chosen.name
    mlperf.report(log)
    return log


def _dated(text: bytes) -> date | None:
    """The first date with a time of day that a text holds."""
    for found in _DATE.finditer(text):
        with suppress(ValueError):
            return date.fromisoformat(found[1].decode())
    return None


# --- formats that are read as a whole, or by columns ------------------------------------------------------------------------


def _trainer_state(path: Path) -> _Collector:
    """`train_runtime` is the time of the whole training in seconds, evaluations included (`Trainer.train` of transformers)."""
    state = read_json(path, EXPECTED)
    history = state.get("log_history")
    if not isinstance(history, list):
        raise refuse(path, "has a log_history that is no list", EXPECTED)
    log = _Collector(path, "entries")
    log.format = "Hugging Face Trainer"
    log.total = len(history)
    evaluation, before = 0.0, 0
    for entry in history:
        fields = entry if isinstance(entry, dict) else {}
        runtime, paused, step = (_float(fields.get(name)) for name in ("train_runtime", "eval_runtime", "step"))
        if runtime is not None and step is not None and before < int(step) < 1 << 63:
            log.add(Step(int(step), (runtime - evaluation) * 1000 / (int(step) - before), covers=int(step) - before))
            evaluation, before = 0.0, int(step)
        elif paused is not None:
            evaluation += paused
            log.aside(_REASONS[EVALUATION], paused * 1000)
        elif runtime is not None or not fields:
            log.unclear("that are no entry, or whose step is missing")
        else:
            log.aside(_OTHER)
    if not log.times:
        raise refuse(
            path,
            "has no usable train_runtime, the time of the whole training; the copy in a checkpoint has none, the one in the "
            "output folder has it",
            EXPECTED,
        )
    log.notes.append(
        f"{path.name}: the time of all steps together, warm-up included; of a resumed run it is that of its last part."
    )
    return log


def _float(value: Any) -> float | None:
    if value is None or isinstance(value, bool | str | list | dict):
        return None
    number = float(value)
    return number if math.isfinite(number) and number >= 0 else None


_STEP_COLUMNS = {"step", "steps", "iteration", "iter", "globalstep", "trainerglobalstep"}
_CLOCK_COLUMN = re.compile(r"wall|stamp|date|total|cumul|__min$|__max$", re.IGNORECASE)
_TIME_COLUMN = re.compile(r"time|timing|duration|latency|(?:ms|s|sec|seconds)[ _]?(?:per|/)", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
}


def _csv(path: Path, unit: str) -> _Collector:
    table = Table(path, EXPECTED, ())
    steps = [name for name in table.columns if re.sub(r"[^a-z0-9]", "", name.lower()) in _STEP_COLUMNS]
    times = [name for name in table.columns if _TIME_COLUMN.search(name) and not _CLOCK_COLUMN.search(name)]
    times = [name for name in times if re.search("step|iter", name, re.IGNORECASE)] or times
    if len(steps) != 1 or len(times) != 1:
        lacks = "one column of steps" if len(steps) != 1 else f"one column of step times, but {len(times)}"
        raise refuse(
            path,
            f"has the columns {stream.listed(table.columns)}, and among them not {lacks}",
            "one named step and one named step_time_ms",
        )
    said = {_UNITS[word.lower()] for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", times[0]) if word.lower() in _UNITS}
    if len(said) != 1 and not unit:
        raise refuse(
            path, f"has a column '{times[0]}' that does not say its unit", f"{times[0]}_ms or {times[0]}_s, or --unit ms or s"
        )
    log = _Collector(path, "rows")
    log.format = "CSV"
    log.unit = said.pop() if len(said) == 1 else unit
    step, time = table.columns.index(steps[0]), table.columns.index(times[0])
    for row in table.records():
        log.total += 1
        try:
            number, value = float(row.values[step]), float(row.values[time])
            log.add(Step(_whole(f"{number:.0f}"), value * MS[log.unit], None, log.unit), place=f"{path}:{row.line}")
        except (ValueError, IndexError):
            blank = time < len(row.values) and not row.values[time].strip()
            if blank:
                log.aside(_OTHER)
            else:
                log.unclear("whose step or time is no number", f"{path}:{row.line}")
    return log


_TAGS = ("iteration-time", "iteration-time/iteration-time", "train_step_timing in s", "time_metrics/end_to_end(s)")
"""Under which Megatron-LM, NeMo and torchtitan write a step's time to TensorBoard, in seconds, the last one's mean of several."""


def _tensorboard(path: Path) -> _Collector:
    unread: list[int] = []
    tags = Counter(each.tag for each in _scalars(path, unread))
    training = {tag: count for tag, count in tags.items() if not re.search(r"eval|val(?:id|_|/)", tag, re.IGNORECASE)}
    if not training:
        raise refuse(path, f"holds TensorBoard events with {len(tags)} curves, none of training", EXPECTED)
    known = next((tag for tag in _TAGS if tag in tags), None)
    chosen = known or max(training, key=lambda tag: training[tag])
    log = _Collector(path, "scalars")
    log.format = f"TensorBoard, {chosen}" if known else f"TensorBoard, the clock of {chosen}"
    if unread[0]:
        log.notes.append(f"{path.name}: {unread[0]:,} bytes after the last whole event are damaged or cut off, and not read.")
    for each in _scalars(path, unread):
        log.total += 1
        if each.tag == chosen:
            if log.dated is None:
                with suppress(ValueError, OverflowError, OSError):
                    log.dated = datetime.fromtimestamp(each.clock, UTC).date()
            log.add(Step(each.step, each.value * 1000, None, "s") if known else Step(each.step, clock=each.clock * 1000))
        else:
            if each.tag not in training:
                log.reason = log.reason or EVALUATION
            log.aside("of other curves")
    return log


class _Scalar(NamedTuple):
    """A point of a curve; `clock` in seconds."""

    step: int
    clock: float
    tag: str
    value: float


def _scalars(path: Path, unread: list[int]) -> Iterator[_Scalar]:
    """The points of an event file; puts into `unread` how many bytes follow the last whole event."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError as error:
        raise InputError(
            [Problem("holds TensorBoard events, which need tensorboard: pip install 'roi[tensorboard]'", str(path))]
        ) from error
    rest = path.stat().st_size
    try:
        for raw in RawEventFileLoader(str(path)).Load():
            rest -= len(raw) + 16  # its length, and a checksum of each
            event = Event.FromString(raw)
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    yield _Scalar(event.step, event.wall_time, value.tag, value.simple_value)
                elif value.HasField("tensor"):
                    numbers = make_ndarray(value.tensor)
                    if numbers.size == 1 and numbers.dtype.kind == "f":
                        yield _Scalar(event.step, event.wall_time, value.tag, numbers.item())
    except Exception as error:  # protobuf and the reader raise classes of their own for one and the same damage
        raise refuse(path, f"holds TensorBoard events that are damaged ({error})", EXPECTED) from error
    unread[:] = [rest]


# --- what they share --------------------------------------------------------------------------------------------------------


class _Collector:
    """Takes what a file's records say one after another and keeps 17 bytes of each step, however long the file is.

    Attributes:
        reason: why the next step may be slow, from what was read since the last one.
    """

    def __init__(self, path: Path, records: str) -> None:
        self.path, self.records = path, records
        self.format = self.unit = ""
        self.total = self.reason = 0
        self.batch = 0
        self.dated: date | None = None
        self.notes: list[str] = []
        self.times, self._numbers, self._covers, self._reasons = array("d"), array("q"), array("q"), bytearray()
        self._parts = [0]
        self._last: tuple[int, bytes] | None = None
        self._clock: float | None = None
        self._interval = 1
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ms: dict[str, float] = defaultdict(float)
        self._examples: dict[str, list[str]] = {}

    def add(self, step: Step, rank: bytes = b"", place: str = "") -> None:
        """A record of a step, from the process of this rank where the record names one."""
        if self._last is None:
            self._interval = step.number or 1
        elif step.number > self._last[0]:
            self._interval = step.number - self._last[0]
        elif step.number == self._last[0]:
            return self.aside("of the same step again, printed twice or by another rank")
        elif rank != self._last[1]:
            return self.aside("of another rank")
        else:  # the run was started again from a checkpoint
            self._parts.append(len(self.times))
            self._clock = None
        self._last = step.number, rank
        ms = step.ms
        if step.clock is not None:
            before, self._clock = self._clock, step.clock
            if before is None:
                return self.aside("from which the clock runs")
            ms = (step.clock - before) / self._interval
        if not 0 < ms < math.inf:
            return self.unclear("with a time that is not above zero", place)
        self.unit = self.unit or step.unit
        self.batch = step.batch or self.batch
        self.times.append(ms)
        self._numbers.append(step.number)
        if step.covers:
            self._covers.append(step.covers)
        self._reasons.append(SKIPPED if 2 * step.skipped > self._interval else self.reason)
        self.reason = 0

    def aside(self, why: str, ms: float = 0.0, count: int = 1) -> None:
        """Records that say nothing of a step's time, or nothing new."""
        self._counts["set aside", why] += count
        self._ms[why] += ms

    def unclear(self, why: str, place: str = "") -> None:
        """A record that cannot be read."""
        self._counts["not understood", why] += 1
        examples = self._examples.setdefault(why, [])
        if len(examples) < _EXAMPLES:
            examples.append(place or f"{self.path}:{self.total}")

    def finish(self) -> StepTimes:
        """Set aside what is no ordinary step.

        The first steps, and the first after a restart, are warm-up for as long as each is slow; a slow step after words of an
        evaluation, a checkpoint or a compilation is put down to it. Slow steps elsewhere stay: the run really took that long.

        Raises:
            InputError: nothing is left.
        """
        if not self.times:
            raise refuse(
                self.path, f"holds {self.total:,} {self.records} of {self.format}, and no step with a time above zero", EXPECTED
            )
        times, numbers = np.frombuffer(self.times), np.frombuffer(self._numbers, dtype=np.int64)
        reasons = np.frombuffer(self._reasons, dtype=np.uint8)
        covers = np.array(self._covers) if self._covers else None
        weights = times if covers is None else times * covers
        median = float(np.median(times))
        slow = np.zeros(times.size, dtype=bool)
        if covers is None:  # a block is many steps, whose mean one slow step hardly moves
            deviation = 1.4826 * float(np.median(np.abs(times - median)))
            slow = times > median + max(SLOW_DEVIATIONS * deviation, SLOW_SHARE * median)
        reasons[~slow & (reasons != SKIPPED)] = 0
        for part in self._parts:
            ordinary = np.flatnonzero(~slow[part:])
            reasons[part : part + ordinary[0] if ordinary.size else times.size] = WARM_UP
        if len(self._parts) > 1:
            _, first = np.unique(numbers + 1j * times, return_index=True)
            again = np.ones(times.size, dtype=bool)
            again[first] = False
            reasons[again] = COPY
            self.notes.append(f"{self.path.name}: the step number goes back {len(self._parts) - 1:,} times, as after restarts.")
        kept = reasons == 0
        if not kept.any():
            raise refuse(self.path, f"holds {times.size:,} steps of {self.format}, and each would have to be set aside", EXPECTED)
        unit = "s" if self._covers else "s of step times"
        accounts = [Account("read", f"of {self.format}", int(kept.sum()), float(weights[kept].sum()) / 1000, unit=unit)]
        for reason in np.unique(reasons[~kept]):
            these = np.flatnonzero(reasons == reason)
            steps = tuple(f"step {number}" for number in numbers[these[:_EXAMPLES]])
            accounts.append(Account("set aside", _REASONS[reason], these.size, float(weights[these].sum()) / 1000, steps, unit))
        for (fate, why), count in sorted(self._counts.items(), reverse=True):
            seconds = self._ms[why] / 1000 if self._ms[why] else None
            accounts.append(Account(fate, why, count, seconds, tuple(self._examples.get(why, ())), unit))
        return StepTimes(
            str(self.path),
            self.path.name,
            self.format,
            self.records,
            self.total,
            times[kept],
            None if covers is None else covers[kept],
            int((~kept).sum()),
            median,
            tuple(accounts),
            self.unit,
            self.batch,
            self.dated,
            tuple(self.notes),
        )
