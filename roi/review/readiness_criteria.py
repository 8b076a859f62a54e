"""The criteria of a production review, `data/readiness.yaml`, and the answers to it; each mistake is refused with its line."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from roi import amounts
from roi.inputs import ROOT, Source, inputs
from roi.lines import did_you_mean
from roi.problems import InputError, Problem
from roi.reading import LARGEST_FILE, _line, _plain, _Reader
from roi.records import AnyRecord, Record, SourceDate
from roi.units import Unit

SHIPPED = ROOT / "data" / "readiness.yaml"

Measure = Literal["latency", "utilisation", "cost"]
MEASURES: tuple[Measure, ...] = ("latency", "utilisation", "cost")

_OF_SAMPLES, _OF_DAYS = r"p[1-9]\d?|time_weighted_mean", "coefficient_of_variation"
_OWN = {"latency": ("ms", "under", _OF_SAMPLES), "utilisation": ("1", "above", _OF_SAMPLES), "cost": ("1", "under", _OF_DAYS)}
"""Of each measure the unit, the side on which it passes, and its statistics."""

MOST_SHARE, HIGH_SHARE = 10, 2
"""No share is above the first, so that 85 is never read as 8,500 %; what is above the second is flagged."""

_HOLDS = {"under": operator.lt, "above": operator.gt, "at_most": operator.le, "at_least": operator.ge}


class _Bound(Record, frozen=True):
    """A number that passes on one side of a threshold, which itself passes at most and at least, and not under and above."""

    unit: str
    passes: Literal["under", "above", "at_most", "at_least"]
    threshold: float

    def holds(self, value: float) -> bool:
        return bool(_HOLDS[self.passes](value, self.threshold))

    @property
    def words(self) -> str:
        """`under 200 ms`, `at least 100 %`."""
        return f"{self.passes.replace('_', ' ')} {self._show(self.threshold)}"

    def show(self, value: float) -> str:
        """A value with its unit, to as many figures as tell it from the threshold."""
        text = self._show(value)
        if value == self.threshold or text != self._show(self.threshold):
            return text
        return f"{amounts.plain(value * (100 if self.unit == '1' else 1))} {amounts.unit_words(self._display)[1]}"

    def remedy(self, value: float) -> str:
        """How far a value that fails has to move: `must fall by more than 34 ms, to under 200 ms`."""
        down, open_ = self.passes in ("under", "at_most"), self.passes in ("under", "above")
        if value == self.threshold:
            return f"must {'fall' if down else 'rise'}, however little: exactly {self._show(value)} is not {self.passes}"
        missing = float(f"{abs(value - self.threshold):.12g}")
        amount = (
            amounts.quantity(float(f"{missing * 100:.12g}"), "percentage point")
            if self.unit == "1"
            else amounts.quantity(missing, self.unit)
        )
        return f"must {'fall' if down else 'rise'} by {'more than ' if open_ else ''}{amount}, to {self.words}"

    @property
    def _display(self) -> str:
        return "%" if self.unit == "1" else self.unit

    def _show(self, value: float) -> str:
        return amounts.quantity(value, self._display)


class Minimum(Record, frozen=True, kw_only=True):
    """What there must be before a number counts.

    Attributes:
        days: from the first sample to the last; of cost, complete days.
        coverage: share of that time for which there are samples.
    """

    days: Annotated[float, Meta(gt=0)]
    samples: Annotated[int, Meta(ge=1)] | None = None
    coverage: Annotated[float, Meta(gt=0, le=1)] | None = None
    source: Source

    @property
    def words(self) -> str:
        """`7 days, 200 samples`."""
        days, samples, coverage = (self.days, "day"), (self.samples, "sample"), self.coverage
        counted = [amounts.quantity(number, noun) for number, noun in (days, samples) if number]
        return ", ".join([*counted, *([f"samples for {amounts.quantity(coverage, '%')} of the time"] if coverage else [])])


class Threshold(_Bound, frozen=True):
    """One measure of the gate."""

    name: Measure
    label: str
    statistic: str
    minimum: Minimum
    source: Source
    note: str = ""

    def check_together(self) -> None:
        unit, passes, statistics = _OWN[self.name]
        if self.unit != unit:
            raise ValueError(f"unit is {self.unit!r}; write {unit!r}")
        if self.passes != passes:
            raise ValueError(f"passes is {self.passes!r}; {self.name} passes {passes} its threshold, so write {passes}")
        if not re.fullmatch(statistics, self.statistic):
            allowed = "p1 to p99, or time_weighted_mean" if statistics == _OF_SAMPLES else statistics
            raise ValueError(f"statistic is {self.statistic!r}; write {allowed}")
        if self.threshold <= 0:
            raise ValueError(f"threshold is {amounts.plain(self.threshold)}; write a number above zero")
        if unit == "1" and self.threshold >= 1:
            raise ValueError(f"threshold is {amounts.plain(self.threshold)}, which is no share below 1{_percent(self.threshold)}")
        if self.name == "cost" and (self.minimum.samples or self.minimum.coverage):
            raise ValueError("minimum has samples or coverage; of cost complete days are counted, so write days alone")
        if self.name == "cost" and self.minimum.days < 2:
            raise ValueError(
                f"minimum: days is {amounts.plain(self.minimum.days)}; one day has no deviation, so write at least 2"
            )

    @property
    def statistic_words(self) -> str:
        """What the statistic is, at the beginning of a sentence: `P95`."""
        return {
            "time_weighted_mean": "The time-weighted mean",
            "coefficient_of_variation": "The coefficient of variation of daily cost",
        }.get(self.statistic, self.statistic.upper())


class Item(_Bound, frozen=True):
    """One item of the checklist: what, why, how it is measured, and what passes."""

    name: str
    label: str
    why: str
    how: str
    range: tuple[float, float]
    source: Source
    note: str = ""

    def check_together(self) -> None:
        Unit.parse(self.unit)
        low, high = self.allowed
        if not low <= self.threshold <= high:
            hint = _percent(self.threshold, high) if self.unit == "1" else ""
            raise ValueError(
                f"threshold is {amounts.plain(self.threshold)}, outside the range {amounts.plain(low)} to "
                f"{amounts.plain(high)}{hint}"
            )

    @property
    def allowed(self) -> tuple[float, float]:
        """The range; of a share up to `MOST_SHARE` at most."""
        low, high = self.range
        return (low, min(high, MOST_SHARE)) if self.unit == "1" else (low, high)

    def odd(self, value: float) -> str:
        """What is odd about an answer, in a sentence; empty where nothing is."""
        if self.unit != "1" or value <= HIGH_SHARE:
            return ""
        meant = f"if per cent is meant, write {amounts.plain(value / 100)}"
        return f"{self.label}: answered with {amounts.plain(value)}, which is {self.show(value)}; {meant}."


class Criterion(Record, frozen=True):
    """One criterion of the scorecard."""

    name: str
    label: str
    what: str
    weight: Annotated[float, Meta(ge=0.001, le=1000)]
    source: Source


class Answer(Record, frozen=True):
    """A measured value of an item, or the score of a criterion, and where it is from."""

    value: float
    source: str = ""
    date: SourceDate | None = None


@dataclass(frozen=True)
class Criteria:
    """What is asked: the gate by measure, the checklist and the scorecard by name."""

    file: str
    gate: Mapping[str, Threshold]
    checklist: Mapping[str, Item]
    scorecard: Mapping[str, Criterion]


@dataclass(frozen=True)
class Answers:
    """What is answered, by the name of the item or the criterion."""

    checklist: Mapping[str, Answer]
    scores: Mapping[str, Answer]


NONE = Answers({}, {})


def criteria(path: Path = SHIPPED) -> Criteria:
    """The criteria of a file.

    Raises:
        InputError: all that is wrong with it, each with file and line.
    """
    reader = _FormReader(str(path))
    document = reader.mapping(_text(path), "gate, checklist and scorecard")
    reader.keys(document, ("gate", "checklist", "scorecard"), "in a file of criteria")
    gate = reader.records(document, "gate", Threshold)
    checklist = reader.records(document, "checklist", Item)
    scorecard = reader.records(document, "scorecard", Criterion)
    for measure in MEASURES:
        if isinstance(document.get("gate"), CommentedMap) and measure not in document["gate"]:
            reader.refuse(f"gate has no {measure}; copy its lines from {SHIPPED}", _line(document, "gate"))
    reader.done()
    return Criteria(
        "data/readiness.yaml" if path == SHIPPED else str(path),
        {measure: gate[measure] for measure in MEASURES},
        checklist,
        scorecard,
    )


def answers(path: Path, asked: Criteria) -> Answers:
    """The answers of a file: under `checklist` and `scores` a number for each name, or {value, source, date}.

    Raises:
        InputError: all that is wrong with it, each with file and line.
    """
    reader = _FormReader(str(path))
    document = reader.mapping(_text(path), "checklist or scores")
    reader.keys(document, ("checklist", "scores"), "in a file of answers")
    checklist = reader.answers(document, "checklist", {item.name: (item.unit, item.allowed) for item in asked.checklist.values()})
    scores = reader.answers(document, "scores", dict.fromkeys(asked.scorecard, ("1", (0.0, 1.0))))
    reader.done()
    return Answers(checklist, scores)


def _percent(value: float, highest: float = 1) -> str:
    """A hint for who writes 85 and means 85 %; nothing where that is hardly meant, as by 1.0001, or would be too high as well."""
    meant = HIGH_SHARE <= value <= 100 * highest
    return f"; {amounts.plain(value)} % is {amounts.plain(value / 100)}" if meant else ""


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError([Problem(f"is larger than {LARGEST_FILE:,} bytes; it should be a page of text", str(path))])
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Problem("is not text in UTF-8; save it as UTF-8", str(path))]) from error
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", str(path))]) from error


class _FormReader(_Reader):
    """Walks one document and collects every problem on the way."""

    def refuse(self, message: str, line: int | None = None) -> None:
        super().refuse(message.removesuffix(" to be a proposal"), line)

    def done(self) -> None:
        if self.problems:
            raise InputError(sorted(self.problems, key=lambda problem: problem.line or 0))

    def mapping(self, text: str, wanted: str) -> CommentedMap:
        document = self.document(text)
        if not self.problems and not isinstance(document, CommentedMap):
            self.refuse(f"{'is empty' if document is None else 'is no table'}; write {wanted}, and lines under each", 1)
        self.tags(document)
        if not isinstance(document, CommentedMap) or any("tag" in problem.message for problem in self.problems):
            self.done()
        assert isinstance(document, CommentedMap)
        return document

    def records(self, document: CommentedMap, field: str, kind: type[AnyRecord]) -> dict[str, AnyRecord]:
        rows, found = document.get(field), {}
        if not isinstance(rows, CommentedMap) or not rows:
            self.refuse(f"{field} is empty or missing; copy its lines from {SHIPPED}", _line(document, field) or 1)
            return {}
        for name, row in rows.items():
            line = _line(rows, name)
            if kind is Threshold and name not in MEASURES:
                hint = did_you_mean(str(name), MEASURES) or f"; write one of {', '.join(MEASURES)}"
                self.refuse(f"gate: '{name}' is not measured{hint}", line)
            elif not isinstance(row, CommentedMap):
                self.refuse(f"{field}: {name} is {_plain(row)!r}; write its label, its source and the rest under it", line)
            elif record := self.row(row, {"name": str(name)}, kind, f"{field}: {name}", line):
                found[str(name)] = record
        return found

    def row(
        self, row: CommentedMap, given: dict[str, Any], kind: type[AnyRecord], where: str, line: int | None
    ) -> AnyRecord | None:
        return self.record(kind, _deep(row) | given, where, lambda path: _line_of(row, path) or line)

    def answers(
        self, document: CommentedMap, field: str, asked: Mapping[str, tuple[str, tuple[float, float]]]
    ) -> dict[str, Answer]:
        rows, found = document.get(field), {}
        if rows is None:
            return {}
        if not isinstance(rows, CommentedMap):
            self.refuse(f"{field} is {_plain(rows)!r}; write one line `name: number` for each answer", _line(document, field))
            return {}
        for name, raw in rows.items():
            line = _line(rows, name)
            if name not in asked:
                hint = did_you_mean(str(name), asked) or f"; asked is {', '.join(asked)}"
                self.refuse(f"{field}: '{name}' is not asked{hint}", line)
                continue
            row = raw if isinstance(raw, CommentedMap) else CommentedMap({"value": raw})
            value, line_of_value = _plain(row.get("value")), _line(row, "value") or line
            unit, bounds = asked[name]
            # It is checked as an input of the model is: text, truth values and what is not finite are told how to be written.
            checked = replace(inputs()["share"], name=str(name), unit=unit, range=bounds, default=bounds[1])
            try:
                checked.check(value)
            except ValueError as error:
                share = isinstance(value, int | float) and unit == "1"
                self.refuse(f"{field}: {error}{_percent(value, bounds[1]) if share else ''}", line_of_value)
                continue
            if record := self.row(row, {"value": float(value)}, Answer, f"{field}: {name}", line):
                found[str(name)] = record
        return found


def _deep(node: Any) -> Any:
    """What the YAML holds as plain Python values, its lists as tuples."""
    if isinstance(node, CommentedMap):
        return {str(key): _deep(child) for key, child in node.items()}
    return tuple(map(_deep, node)) if isinstance(node, CommentedSeq) else _plain(node)


def _line_of(row: CommentedMap, path: tuple[str, ...]) -> int | None:
    """The line of the innermost part of a path that is written."""
    line, node = None, row
    for part in path:
        if not isinstance(node, CommentedMap) or part not in node:
            break
        line, node = _line(node, part), node[part]
    return line
