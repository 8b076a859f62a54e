"""A batch of reports: which are asked for, and each in its place once, however often the batch is killed and started again.

A report is finished when its folder holds `done.json`, which is written last and says from what the report was made and what is
in its files. Until then everything stands in a folder of its own, `.unfinished`, which the next batch clears.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import product
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TextIO

import roi
from roi import report
from roi.drawing import for_kernels
from roi.inputs import ROOT, inputs
from roi.lines import did_you_mean
from roi.problems import InputError, Problem
from roi.proposals import FLEETS, Proposal
from roi.reading import LARGEST_FILE, find, load

if TYPE_CHECKING:
    from roi.store import Remote

DONE, LOCK, UNFINISHED = "done.json", ".lock", ".unfinished"
MOST_REPORTS = 10_000
WARM_UP = "roi.report:warm_up"
"""What the process calls that kernels are forked from, before the first of them."""


@dataclass(frozen=True)
class Order:
    """A report that is asked for.

    Attributes:
        given: the path or name under which the user knows it.
        source: where its text stands.
        text: the proposal as its file has it.
        changes: other values for its inputs, by name or by path such as `proposed.europe-west4.gpu_price`.
        proposal: the text as it was read, with these values, and with the key and the name of the report.
    """

    given: str
    source: Path
    text: str
    proposal: Proposal
    changes: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Names the report's folder."""
        return self.proposal.key

    def changed(self, given: str, key: str, name: str, changes: Mapping[str, float]) -> Order:
        """The same with other values on top, under another name. Raises InputError for a value that its input refuses."""
        proposal = replace(self.proposal.with_values(changes), key=key, name=name)
        return replace(self, given=given, proposal=proposal, changes={**self.changes, **changes})

    def files(self, on_step: Callable[[], None]) -> dict[str, bytes]:
        """Its files by name, as `roi.report.files_of` makes them."""
        said = {"text": self.text, "key": self.key, "folder": str(self.source.parent.absolute()), "name": self.proposal.name}
        return report.files(self.proposal, said, self.changes, on_step)


# --- which reports are asked for --------------------------------------------------------------------------------------------


def read(given: Sequence[str], sweeps: Sequence[str] = ()) -> tuple[list[Order], dict[str, InputError]]:
    """The reports that are asked for, and what is wrong with the others, by path or name as given.

    Args:
        given: paths and shipped names of proposals, and paths of tables of them, which end in `.csv`.
        sweeps: such as `latency_saved=60:180:20`; each proposal is reported with every combination of their values.

    Raises:
        InputError: a sweep is refused, or too many reports are asked for.
    """
    swept = _sweeps(sweeps)
    orders: list[Order] = []
    bad: dict[str, InputError] = {}
    for each in dict.fromkeys(given):
        try:
            found = read_table(Path(each)) if each.lower().endswith(".csv") else [_order(each)]
            count = (len(orders) + len(found)) * math.prod(map(len, swept.values()))
            if count > MOST_REPORTS:
                raise InputError([Problem(f"asks for more than {MOST_REPORTS:,} reports; ask for fewer at once", each)])
            orders += [order for one in found for order in _swept(one, swept)]
        except InputError as error:
            bad[each] = error
    return orders, bad


def _order(given: str) -> Order:
    proposal, path = load(given), find(given)
    return Order(given, path, path.read_text(encoding="utf-8-sig"), proposal)


def _sweeps(sweeps: Sequence[str]) -> dict[str, list[Decimal]]:
    """The values of each input that is swept."""
    problems: list[Problem] = []
    found: dict[str, list[Decimal]] = {}
    for sweep in sweeps:
        name, _, ends = (part.strip() for part in sweep.partition("="))
        try:
            if name in found:
                raise ValueError(f"{name} is swept twice; keep one of the two")
            if why := unknown_input(name):
                raise ValueError(why)
            found[name] = _steps(sweep, ends)
            if "." not in name:
                for value in found[name]:
                    inputs()[name].check(float(value))
        except ValueError as error:
            problems.append(Problem(str(error), "--sweep"))
    if math.prod(map(len, found.values())) > MOST_REPORTS:
        problems.append(Problem(f"asks for more than {MOST_REPORTS:,} reports; take wider steps", "--sweep"))
    if problems:
        raise InputError(problems)
    return found


def _steps(sweep: str, ends: str) -> list[Decimal]:
    """The values of `FROM:TO:STEP`, in decimal figures, so that 0.1 and 0.2 make 0.3."""
    example = "write it like latency_saved=60:180:20, from, to and step"
    try:
        first, last, step = (Decimal(part.strip()) for part in ends.split(":"))
    except (ValueError, InvalidOperation):
        raise ValueError(f"'{sweep}' is not NAME=FROM:TO:STEP; {example}") from None
    if not all(each.is_finite() for each in (first, last, step)):
        raise ValueError(f"'{sweep}' holds a number that is not finite; {example}")
    if step <= 0 or last < first:
        raise ValueError(f"'{sweep}' does not go upwards; {example}")
    if (last - first) / step >= MOST_REPORTS:
        raise ValueError(f"'{sweep}' has more than {MOST_REPORTS:,} values; take wider steps")
    return [first + step * index for index in range(int((last - first) / step) + 1)]


def _swept(order: Order, swept: Mapping[str, Sequence[Decimal]]) -> list[Order]:
    """The order with every combination of the values, or itself where nothing is swept."""
    found: list[Order] = []
    problems: dict[Problem, None] = {}
    for values in product(*swept.values()):
        changes = {name: float(value) for name, value in zip(swept, values, strict=True)}
        suffix = "".join(f",{name}={value:f}" for name, value in zip(swept, values, strict=True))
        words = "".join(f", {_label(name)} {inputs()[name.split('.')[-1]].show(value)}" for name, value in changes.items())
        if not swept:
            return [order]
        try:
            found.append(order.changed(order.given + suffix, order.key + suffix, order.proposal.name + words, changes))
        except InputError as error:
            problems |= dict.fromkeys(replace(problem, file="--sweep") for problem in error.problems)
    if problems:
        raise InputError(list(problems))
    return found


def _label(name: str) -> str:
    """An input in words, with its region: `GPU price in europe-west4 (proposed)`."""
    place, _, last = name.rpartition(".")
    fleet, _, region = place.partition(".")
    label = inputs()[last].label
    return f"{label} in {region} ({fleet})" if place else label


def unknown_input(name: str) -> str:
    """Why no proposal has an input of this name or path; empty where some proposal has it."""
    place, dot, last = name.rpartition(".")
    known = [row.name for row in inputs().values() if row.axis == ("site" if dot else "scalar")]
    if dot:
        of_a_site = place.partition(".")[0] in FLEETS and last in known
        return "" if of_a_site else f"'{name}' is not an input of a site{did_you_mean(last, known)}"
    if name in inputs() and name not in known:
        return f"{name} has a value for each site; write for example proposed.europe-west4.{name}"
    return "" if name in known else f"'{name}' is not an input{did_you_mean(name, known)}"


def read_table(path: Path) -> list[Order]:
    """The reports of a CSV: columns `key` and `proposal`, and one for each input that a row may set; an empty cell sets nothing.

    Raises:
        InputError: all that is wrong with it, each with its line.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError([Problem(f"is larger than {LARGEST_FILE:,} bytes; ask for fewer at once", str(path))])
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Problem("is not text in UTF-8; save it as CSV in UTF-8", str(path))]) from error
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", str(path))]) from error
    problems: list[Problem] = []
    orders: list[Order] = []
    rows = _rows(text, path)
    head, names = next(rows, (1, []))
    for name in names:
        if names.count(name) > 1:
            problems.append(Problem(f"has the column '{name}' twice; keep one of the two", str(path), head))
        elif name not in ("key", "proposal") and (why := unknown_input(name)):
            problems.append(Problem(why, str(path), head))
    for name in ("key", "proposal"):
        if name not in names:
            problems.append(
                Problem(f"has no column '{name}'; begin it with a line such as key,proposal,latency_saved", str(path), head)
            )
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    bases: dict[str, Order | InputError] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        try:
            order = _row(path, names, cells, bases)
            if order.key in lines:
                raise InputError(f"key '{order.key}' stands in line {lines[order.key]} as well; give each row its own")
            lines[order.key] = line
            orders.append(order)
        except InputError as error:
            problems += [Problem(_flat(problem), str(path), line) for problem in error.problems]
    if not orders and not problems:
        problems.append(Problem("holds no proposals; write one on each line under the names of the columns", str(path)))
    if problems:
        raise InputError(problems)
    return orders


def _flat(problem: Problem) -> str:
    return str(problem).replace("\n", " ")


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold anything, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, [cell.strip() for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError([Problem(f"is not CSV: {error}", str(path), line)]) from error


def _row(path: Path, names: list[str], cells: list[str], bases: dict[str, Order | InputError]) -> Order:
    """The report of one row. A base that many rows name is read once."""
    if len(cells) != len(names):
        raise InputError(f"has {len(cells)} values for {len(names)} columns; write numbers without commas")
    row = dict(zip(names, cells, strict=True))
    problems = []
    key, given = row.pop("key"), row.pop("proposal")
    if not key:
        problems.append(Problem("has no key, which names the report's folder"))
    elif why := report.key_problem(key):
        problems.append(Problem(f"the key cannot name a folder, {why}; write another"))
    changes: dict[str, Any] = {}
    for name, cell in row.items():
        if cell:
            try:
                changes[name] = float(cell) if cell.isascii() else cell
            except ValueError:
                changes[name] = cell  # which its input refuses in its own words
    if not given:
        problems.append(Problem("names no proposal to start from; write a path or a shipped name"))
        raise InputError(problems)
    if given not in bases:
        try:
            # A path is one from the folder of the table, as a file in a proposal is one from the folder of the proposal.
            beside = path.parent / given
            bases[given] = _order(str(beside) if beside.is_file() else given)
        except InputError as error:
            bases[given] = error
    base = bases[given]
    if isinstance(base, InputError):
        raise InputError([*problems, *base.problems])
    try:
        order = base.changed(f"{path}: {key}", key, f"{base.proposal.name}: {key}", changes)
    except InputError as error:
        raise InputError([*problems, *error.problems]) from error
    if problems:
        raise InputError(problems)
    return order


# --- what is finished -------------------------------------------------------------------------------------------------------


def input_hash(order: Order, today: date) -> str:
    """SHA-256 of everything that changes a report: the proposal and its measurements, the program, and the day.

    The day counts, since every page says as of when its prices are old.
    """
    proposal = order.proposal
    said = [order.text, proposal.key, proposal.name, order.changes, proposal.fingerprint, str(today)]
    said += [roi.__version__, _program(report.NOTEBOOK)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@cache
def _program(notebook: Path) -> str:
    """SHA-256 of the files that a report is made with: the notebook, the package with its templates, and the shipped data."""
    package = Path(roi.__file__).parent
    files = [
        notebook,
        *sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"),
        *sorted(path for path in (ROOT / "data").rglob("*") if path.is_file()),
    ]
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()


def finished(place: Path | Remote, wanted: str) -> bool:
    """Whether the report in a folder is whole, and made from what has this hash."""
    try:
        record = json.loads((place / DONE).read_bytes())
        whole = record["files"] == {name: _said_of((place / name).read_bytes()) for name in report.FILES}
        return whole and (record["input_hash"], record["version"]) == (wanted, roi.__version__)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _said_of(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def put(folder: Path, key: str, contents: Mapping[str, bytes], made_from: str) -> None:
    """Put the files of a report in their place, and the record that it is finished last.

    Raises:
        InputError: a file cannot be written; the report that stood there before stays whole.
    """
    record = {
        "input_hash": made_from,
        "version": roi.__version__,
        "files": {name: _said_of(content) for name, content in contents.items()},
    }
    place, staged = folder / key, folder / UNFINISHED / key
    try:
        try:
            staged.mkdir(parents=True)
            for name, content in {**contents, DONE: json.dumps(record, indent=2).encode() + b"\n"}.items():
                (staged / name).write_bytes(content)
            if place.exists():
                (place / DONE).unlink(missing_ok=True)
                for name in (*contents, DONE):
                    (staged / name).replace(place / name)
            else:
                staged.rename(place)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise InputError([Problem(f"cannot be written: {error.strerror}", str(place))]) from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds a folder for one batch at a time, and clears what a killed one has left in it.

    The lock goes with the process that holds it, however that ends.

    Raises:
        InputError: another batch holds it; the message names its process. Or the folder cannot be locked.
    """
    path = folder / LOCK
    try:
        file = _locked(path)
    except OSError as error:
        raise InputError([Problem(f"cannot be locked: {error.strerror}", str(folder))]) from error
    try:
        try:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            if (folder / UNFINISHED).exists():
                shutil.rmtree(folder / UNFINISHED)
        except OSError as error:
            raise InputError([Problem(f"cannot be written to: {error.strerror}", str(folder))]) from error
        yield
    finally:
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
        path.unlink(missing_ok=True)
        file.close()


def _locked(path: Path) -> TextIO:
    """The file of a lock, locked. Raises InputError where another process has it."""
    import fcntl

    while True:
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            file.close()
            who = f"another batch, process {owner}," if owner else "another batch"
            raise InputError(
                [Problem(f"{who} writes reports here; wait until it has ended, or give another folder", str(path.parent))]
            ) from None
        except OSError:
            file.close()
            raise
        # Whoever had it before may have removed the file in between.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
        file.close()


# --- making them ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of an order: made, skipped or failed; how many seconds it took; and why it failed."""

    status: str
    seconds: float = 0.0
    why: str = ""


def unfinished(
    orders: Sequence[Order], folder: Path | Remote, force: bool, on_done: Callable[[Order, Outcome], None]
) -> list[Order]:
    """The orders whose reports are to be made; `on_done` is told of the others, which are finished in the folder."""
    today = date.today()
    left = []
    for order in orders:
        if not force and finished(folder / order.key, input_hash(order, today)):
            on_done(order, Outcome("skipped"))
        else:
            left.append(order)
    return left


@contextmanager
def warm() -> Iterator[None]:
    """Has ready what reports share: a process that their kernels are forked from, and one that draws for them."""
    from roi.kernels import PARENT

    with for_kernels():
        PARENT.start(WARM_UP)
        yield


def write_reports(
    orders: Sequence[Order],
    folder: Path,
    jobs: int,
    on_step: Callable[[], None],
    on_done: Callable[[Order, Outcome], None],
) -> None:
    """Write reports; one that fails stops no other, and no file is left half-written.

    Args:
        orders: each with a key of its own.
        folder: where `roi.report.prepare` has made room, and which this batch has `alone`.
        jobs: how many to make at once.
        on_step: called `roi.report.steps()` times for each report that is made.
        on_done: called with each order and what became of it.
    """
    from roi.kernels import OwnKernel

    if not orders:
        return
    # No report begins before all are known here, so that Ctrl-C finds each of them.
    begun, ended = Event(), Event()

    def make(order: Order) -> Outcome:
        begun.wait()
        if ended.is_set():
            return Outcome("failed")
        start = time.perf_counter()
        try:
            _make(order, folder, on_step)
        except Exception as error:  # one that fails stops no other
            return Outcome("failed", time.perf_counter() - start, str(error) or type(error).__name__)
        return Outcome("made", time.perf_counter() - start)

    with warm(), ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[Outcome], Order] = {}
        try:
            for order in orders:
                running[pool.submit(make, order)] = order
            begun.set()
            for future in as_completed(running):
                on_done(running[future], future.result())
        finally:
            # Only Ctrl-C leaves anything to be ended here, a kernel that is just being started included.
            ended.set()
            begun.set()
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in running):
                OwnKernel.kill_all()
                time.sleep(0.05)


def _make(order: Order, folder: Path, on_step: Callable[[], None]) -> None:
    """Make one report. All of it is there before the first file is written."""
    place = folder / order.key
    if place.exists() and not place.is_dir():
        raise InputError(
            [Problem("is a file, where the report's folder should be; remove it or give another folder", str(place))]
        )
    made_from = input_hash(order, date.today())
    put(folder, order.key, order.files(on_step), made_from)
    on_step()
