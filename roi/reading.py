"""Reading a proposal from its YAML file, checked whole before anything is computed, with the line of every mistake."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace as with_fields
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scalarfloat import ScalarFloat
from ruamel.yaml.scalarint import ScalarInt
from ruamel.yaml.timestamp import TimeStamp

from roi.inputs import ROOT, Input, inputs
from roi.lines import did_you_mean
from roi.modes import MODES, Mode, mode_problems
from roi.problems import InputError, Problem
from roi.proposals import FLEETS, Pilot, Proposal, share_problems
from roi.records import AnyRecord, RecordError, field_names, read
from roi.uncertain import Correlation, correlation_problems, stated_facts
from roi.values import Value, distribution_of

PROPOSALS = ROOT / "data" / "proposals"
MOST_PROBLEMS = 100
"""Mistakes of one file that are listed; nobody reads more."""

LARGEST_FILE = 1_000_000
"""Bytes; a proposal is a page of text."""


def shipped() -> list[str]:
    """Names of the proposals under `data/proposals/`, the realistic one first."""
    names = sorted(path.stem for path in PROPOSALS.glob("*.yaml"))
    return sorted(names, key=lambda name: name != "two-region")


def find(path_or_name: str | Path) -> Path:
    """The file of a proposal given by path, or by its name under `data/proposals/`.

    Raises:
        InputError: there is no such file; the message lists the names there are.
    """
    path = Path(path_or_name)
    if path.is_file():
        return path
    if path.name == str(path_or_name) and (PROPOSALS / f"{path_or_name}.yaml").is_file():
        return PROPOSALS / f"{path_or_name}.yaml"
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a YAML file or one of {', '.join(shipped())}")
    raise InputError(
        f"there is no proposal '{path_or_name}'{did_you_mean(str(path_or_name), shipped()).rstrip('?')}; "
        f"give the path of a YAML file or one of {', '.join(shipped())}"
    )


def load(path_or_name: str | Path) -> Proposal:
    """Read and check a proposal.

    Args:
        path_or_name: the path of a YAML file, or a name under `data/proposals/`.

    Raises:
        InputError: all that is wrong with it, each with file and line.
    """
    path = find(path_or_name)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError([Problem(f"is larger than {LARGEST_FILE:,} bytes; a proposal is a page of text", str(path))])
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Problem("is not text in UTF-8; save it as UTF-8", str(path))]) from error
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", str(path))]) from error
    return parse(text, str(path), path.stem)


def parse(text: str, file: str, key: str) -> Proposal:
    """Check the text of a proposal; `file` stands in the messages. Raises as `load` does."""
    reader = _Reader(file)
    proposal = reader.proposal(reader.document(text), key)
    if reader.problems or proposal is None:
        raise InputError(sorted(reader.problems, key=lambda problem: problem.line or len(text)))
    return proposal


class _Constructor(RoundTripConstructor):
    """Names the line of whatever cannot be built, such as the 31st of February."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except YAMLError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from error


def _yaml() -> YAML:
    yaml = YAML()
    yaml.Constructor = _Constructor
    return yaml


class _Reader:
    """Walks one document and collects every problem on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def refuse(self, message: str, line: int | None = None) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            problem = Problem(message, self.file, line)
            if problem not in self.problems:
                self.problems.append(problem)
        elif len(self.problems) == MOST_PROBLEMS:
            self.problems.append(Problem("has more mistakes than are listed; mend these first", self.file))

    def document(self, text: str) -> Any:
        try:
            if not self.plain(text):
                return None
            return _yaml().load(io.StringIO(text))
        except DuplicateKeyError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            key = re.search(r'key "(.*?)"', str(error.problem))
            self.refuse(f"'{key[1] if key else 'a key'}' is given twice; keep one of the two", line)
            tolerant = _yaml()
            tolerant.allow_duplicate_keys = True
            try:
                return tolerant.load(io.StringIO(text))
            except (YAMLError, ValueError, RecursionError):
                return None
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.refuse(f"is not YAML: {error.problem or error.context}", mark.line + 1 if mark else None)
        except ReaderError as error:
            self.refuse(f"is not YAML: {error.reason} (character {error.character:#x})", text.count("\n", 0, error.position) + 1)
        except Exception as error:  # whatever the reader of YAML trips over is a file that cannot be read
            self.refuse(f"is not YAML: {error}")
        return None

    def plain(self, text: str) -> bool:
        """Whether the text has no tags and no deep nesting: asked of its events, before anything is built."""
        try:
            # The compiled parser takes a tenth of the time; what it cannot read, the other one says in plainer words.
            return self.all_plain(YAML(typ="safe", pure=False).parse(io.StringIO(text)))
        except YAMLError:
            return self.all_plain(YAML().parse(io.StringIO(text)))

    def all_plain(self, events: Iterator[Any]) -> bool:
        depth = 0
        found = len(self.problems)
        for event in events:
            line = event.start_mark.line + 1
            depth += isinstance(event, MappingStartEvent | SequenceStartEvent) - isinstance(
                event, MappingEndEvent | SequenceEndEvent
            )
            if depth > 8:
                self.refuse("is nested too deeply to be a proposal", line)
                return False
            tag = getattr(event, "ctag", None)
            if tag is not None and str(tag) not in ("None", ""):
                self.refuse(f"has the YAML tag {tag}; tags are not read here, write the plain value", line)
            if isinstance(event, AliasEvent):
                self.refuse(f"the alias *{event.anchor} is not read here; write the values out", line)
        return len(self.problems) == found

    def proposal(self, document: Any, key: str) -> Proposal | None:
        if document is None:
            if not self.problems:
                self.refuse("is empty; a proposal has name, owner, decision, baseline and proposed", 1)
            return None
        if not isinstance(document, CommentedMap):
            self.refuse("is not a proposal; write lines such as `name: ...`, `inputs:`, `baseline:` and `proposed:`", 1)
            return None
        self.tags(document)
        self.keys(document, ("name", "owner", "decision", "inputs", *FLEETS, "correlations", "pilot", "mode"), "in a proposal")
        words = {field: self.words(document, field) for field in ("name", "owner", "decision")}
        scalars = self.values(document, "inputs", "scalar", "inputs")
        sites, unsure = {}, set()
        for fleet in FLEETS:
            before = len(self.problems)
            sites[fleet] = self.fleet(document, fleet)
            if len(self.problems) > before:
                unsure.add(fleet)  # a share may be among what is refused
        proposal = Proposal(key, words["name"], words["owner"], words["decision"], scalars, sites)
        # While an input is refused, it is not known which facts there are.
        facts = None if self.problems else [each.path for each in stated_facts(proposal)]
        proposal = replace(proposal, correlations=self.correlations(document, facts), pilot=self.pilot(document, facts))
        proposal = replace(proposal, mode=self.mode(document))
        if not self.problems:
            for message in mode_problems(proposal):
                self.refuse(message, _line(document, "mode"))
        for fleet, message in share_problems(proposal):
            if fleet not in unsure:
                self.refuse(message, _line(document, fleet))
        return None if self.problems else proposal

    def tags(self, node: Any, depth: int = 0) -> None:
        """Refuse what makes a file mean more than it shows, or more than can be written down again: tags that build objects,
        merge keys, deep nesting, halves of characters."""
        if depth > 8:
            self.refuse("is nested too deeply to be a proposal", node.lc.line + 1 if hasattr(node, "lc") else None)
            return
        children: Iterator[tuple[Any, Any]] = iter(())
        if isinstance(node, CommentedMap):
            if node.merge:
                self.refuse("a merge key << is not read here; write the values out", node.lc.line + 1)
            children = iter(node.items())
        elif isinstance(node, CommentedSeq):
            children = enumerate(node)
        for key, child in children:
            line = _line(node, key)
            if any(0xD800 <= ord(character) < 0xE000 for text in (key, child) if isinstance(text, str) for character in text):
                self.refuse("holds half a character, written as an escape like \\ud83d; write the character itself", line)
            tag = getattr(child, "tag", None)
            if isinstance(child, TaggedScalar) or (
                isinstance(child, CommentedMap | CommentedSeq) and tag is not None and tag.value
            ):
                self.refuse(
                    f"'{key}' has the YAML tag {tag.value if tag else ''}; tags are not read here, write the plain value", line
                )
            self.tags(child, depth + 1)

    def keys(self, mapping: CommentedMap, known: tuple[str, ...], where: str) -> None:
        for name in mapping:
            if name not in known:
                self.refuse(f"'{name}' is not known {where}{did_you_mean(str(name), known)}", _line(mapping, name))

    def words(self, document: CommentedMap, field: str) -> str:
        words = document.get(field)
        if isinstance(words, str) and words.strip():
            return str(words)
        if field in document:
            self.refuse(f"{field} is {_plain(words)!r}; write it as words", _line(document, field))
        else:
            self.refuse(f"{field} is missing; write a line `{field}: ...`", 1)
        return ""

    def fleet(self, document: CommentedMap, fleet: str) -> dict[str, dict[str, Value]]:
        regions = document.get(fleet)
        if not isinstance(regions, CommentedMap) or not regions:
            self.refuse(
                f"{fleet} has no sites; write `{fleet}:` and under it one line for each region, such as `us-central1: {{}}`",
                _line(document, fleet) if fleet in document else 1,
            )
            return {}
        found = {}
        for region in regions:
            if not isinstance(region, str) or not region.strip():
                self.refuse(
                    f"{fleet}: a region is named {_plain(region)!r}; write its name as words, in quotes if needed",
                    _line(regions, region),
                )
            elif any(ord(character) < 32 for character in region):
                self.refuse(f"{fleet}: the region name {region!r} holds control characters", _line(regions, region))
            else:
                found[str(region)] = self.values(regions, region, "site", f"{fleet}.{region}")
        return found

    def values(self, parent: CommentedMap, key: str, axis: str, place: str) -> dict[str, Value]:
        """The inputs of one axis under a key of the document."""
        mapping = parent.get(key)
        if mapping is None:
            return {}
        if not isinstance(mapping, CommentedMap):
            self.refuse(f"{place} is {_plain(mapping)!r}; write one line `name: number` for each input", _line(parent, key))
            return {}
        known = inputs()
        found = {}
        for name in mapping:
            line = _line(mapping, name)
            row = known.get(name) if isinstance(name, str) else None
            if row is None:
                same_axis = [each.name for each in known.values() if each.axis == axis]
                self.refuse(f"{place}: '{name}' is not an input{did_you_mean(str(name), same_axis)}", line)
            elif row.axis != axis:
                belongs = "each region under baseline and proposed" if row.axis == "site" else "inputs"
                self.refuse(f"{place}: {name} does not belong here; write it under {belongs}", line)
            else:
                value = self.value(row, mapping[name], place, line)
                if value:
                    found[str(name)] = value
        return found

    def value(self, row: Input, raw: Any, place: str, line: int | None) -> Value | None:
        if not isinstance(raw, CommentedMap):
            raw = {"base": raw}
        fields = {str(field): _plain(content) for field, content in raw.items()}
        lines = {field: _line(raw, field) or line for field in raw}
        problems = len(self.problems)
        if "base" not in fields:
            self.refuse(f"{place}: {row.name} has no base; write {{base: {row.default:g}, ...}}", line)
        for field in ("base", "low", "high"):
            if field in fields:
                try:
                    fields[field] = row.check(fields[field])
                except ValueError as error:
                    what = "" if field == "base" else f"{field}: "
                    self.refuse(f"{place}: {what}{error}", lines.get(field, line))
        if "file" in fields:
            fields["values"] = self.measurements(row, fields, place, lines["file"])
        elif "values" in fields:
            fields["values"] = self.numbers(row.check, fields["values"], f"{place}: {row.name}: values", lines["values"])
        if "weights" in fields:
            fields["weights"] = self.numbers(_share, fields["weights"], f"{place}: {row.name}: weights", lines["weights"])
        if len(self.problems) > problems:
            return None
        value = self.record(Value, fields, f"{place}: {row.name}", lambda path: lines.get(path[0], line))
        if value:
            self.spread(row, value, place, line)
        return value

    def record(
        self, kind: type[AnyRecord], fields: Mapping[str, Any], where: str, line_of: Callable[[tuple[str, ...]], int | None]
    ) -> AnyRecord | None:
        """A record of its fields; None where it is refused, each mistake with the line that `line_of` finds for its path."""
        try:
            return read(kind, fields)
        except RecordError as error:
            for each in error.mistakes:
                self.refuse(f"{where}: {each.message}", line_of(each.path))
            return None

    def spread(self, row: Input, value: Value, place: str, line: int | None) -> None:
        """Refuse what is said of how sure a value is where it contradicts itself, or says less than it seems to."""
        what = f"{place}: {row.name}"
        if row.name == "share" and (value.low is not None or value.values or value.shape or value.covers):
            self.refuse(
                f"{what} has a spread, but the shares of a fleet sum to 1 and none is uncertain alone; write base alone", line
            )
            return
        drawn_from_values = value.shape in ("discrete", "empirical")
        if (value.low is None) != (value.high is None):
            self.refuse(f"{what} has {'high' if value.low is None else 'low'} alone; write low and high, or neither", line)
        elif drawn_from_values and (value.low is not None or value.covers is not None):
            self.refuse(
                f"{what}: low, high and covers of a spread that is {value.shape} follow from its values; leave them out", line
            )
        elif drawn_from_values and not value.values:
            more = "weights: [0.6, 0.4]" if value.shape == "discrete" else "or file: measured.csv"
            self.refuse(f"{what}: a spread that is {value.shape} has no values; write values: [...], {more}", line)
        elif value.values and not drawn_from_values:
            self.refuse(f"{what} has values; write shape: empirical beside them, or shape: discrete with their weights", line)
        elif value.weights and value.shape != "discrete":
            self.refuse(f"{what} has weights; write shape: discrete beside them, or leave them out", line)
        elif value.low is None and not drawn_from_values and (value.shape or value.covers):
            said = "shape" if value.shape else "covers"
            self.refuse(f"{what} has {said} without low and high, which would say nothing; write them, or leave it out", line)
        elif value.low is not None and value.high is not None and not value.low <= value.base <= value.high:
            self.refuse(
                f"{what} has low {value.low:g}, base {value.base:g}, high {value.high:g}, which are out of order; "
                "write low <= base <= high",
                line,
            )
        else:
            try:
                distribution_of(row, value)
            except ValueError as error:
                self.refuse(f"{what}: {error}", line)

    def numbers(self, check: Callable[[Any], float], raw: Any, what: str, line: int | None) -> tuple[float, ...]:
        if not isinstance(raw, CommentedSeq):
            self.refuse(f"{what} is {_plain(raw)!r}; write a list such as [90, 120, 150]", line)
            return ()
        found = []
        for each in raw:
            try:
                found.append(check(_plain(each)))
            except ValueError as error:
                self.refuse(f"{what}: {error}", line)
        return tuple(found)

    def measurements(self, row: Input, fields: dict[str, Any], place: str, line: int | None) -> tuple[float, ...]:
        """The values of a file of measurements: one number a line, or a CSV with a column that has the input's name."""
        what = f"{place}: {row.name}"
        if "values" in fields:
            self.refuse(f"{what} has values and file; keep one of the two", line)
            return ()
        if not isinstance(fields["file"], str):
            self.refuse(f"{what}: file is {fields['file']!r}; write the path of a file, from the folder of this proposal", line)
            return ()
        path = Path(self.file).parent / fields["file"]
        try:
            text = path.read_text(encoding="utf-8-sig") if path.stat().st_size <= LARGEST_FILE else None
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or "it is not text in UTF-8"
            self.refuse(f"{what}: the measurements in {path} cannot be read: {reason}", line)
            return ()
        if text is None:
            self.refuse(f"{what}: {path} is larger than {LARGEST_FILE:,} bytes; write a sample of the measurements", line)
            return ()
        table = [(number, cells) for number, cells in enumerate(csv.reader(io.StringIO(text)), 1) if any(map(str.strip, cells))]
        column, width = 0, len(table[0][1]) if table else 1
        if table and not _is_number(table[0][1][0]):
            names = [cell.strip() for cell in table.pop(0)[1]]
            if row.name not in names:
                # A first line that is neither a number nor the name may be another measure, or a number with a slip in it.
                self.refuse(f"{what}: {path} has the columns {', '.join(names)}; name one of them {row.name}", line)
                return ()
            column = names.index(row.name)
        elif table and len(table[0][1]) > 1:
            self.refuse(
                f"{what}: {path} has several columns without names; give it a first line, with one column {row.name}", line
            )
            return ()
        found = []
        for number, cells in table:
            cell = cells[column].strip() if column < len(cells) else ""
            try:
                if len(cells) > width:
                    raise ValueError(f"has {len(cells)} columns where {width} stand above; write numbers without commas")
                found.append(row.check(float(cell) if _is_number(cell) else cell))
            except ValueError as error:
                problem = Problem(str(error), str(path), number)
                if len(self.problems) < MOST_PROBLEMS:
                    self.problems.append(problem)
        if not found and not self.problems:
            self.refuse(f"{what}: {path} holds no measurements", line)
        return tuple(found)

    def correlations(self, document: CommentedMap, facts: list[str] | None) -> tuple[Correlation, ...]:
        """The pairs of facts that move together."""
        rows = document.get("correlations")
        if rows is None:
            return ()
        example = "- {between: [latency_saved, queue_hours_saved], coefficient: 0.5, source: ...}"
        if not isinstance(rows, CommentedSeq):
            self.refuse(
                f"correlations is {_plain(rows)!r}; write one line for each pair: {example}", _line(document, "correlations")
            )
            return ()
        found, lines = [], []
        for index, row in enumerate(rows):
            line = rows.lc.item(index)[0] + 1
            if not isinstance(row, CommentedMap):
                self.refuse(f"correlations: {_plain(row)!r} is not a pair; write {example}", line)
                continue
            problems = len(self.problems)
            self.keys(row, ("between", "coefficient", "source", "date", "owner"), "in a correlation")
            between, coefficient = row.get("between"), _plain(row.get("coefficient"))
            if not isinstance(between, CommentedSeq) or len(between) != 2 or not all(isinstance(each, str) for each in between):
                self.refuse(f"correlations: between names two uncertain facts; write {example}", line)
            if isinstance(coefficient, bool) or not isinstance(coefficient, int | float) or not -1 < coefficient < 1:
                self.refuse(
                    f"correlations: coefficient is {coefficient!r}; write a number above -1 and below 1, such as 0.5", line
                )
            if not isinstance(_plain(row.get("source", "")), str):
                self.refuse(f"correlations: source is {_plain(row['source'])!r}; write it as words", line)
            if len(self.problems) == problems:
                found.append(Correlation((str(between[0]), str(between[1])), float(coefficient), str(row.get("source", ""))))
                lines.append(line)
        for index, message in correlation_problems(found, facts) if facts is not None else ():
            self.refuse(f"correlations: {message}", lines[index])
        return tuple(found)

    def pilot(self, document: CommentedMap, facts: list[str] | None) -> Pilot | None:
        """The measurement that could be made before the decision."""
        raw = document.get("pilot")
        if raw is None:
            return None
        example = "pilot: {months: 1, cost: 60_000, measures: [latency_saved], source: ...}"
        if not isinstance(raw, CommentedMap):
            self.refuse(f"pilot is {_plain(raw)!r}; write {example}", _line(document, "pilot"))
            return None
        problems = len(self.problems)
        self.keys(raw, field_names(Pilot), "in a pilot")
        fields = {str(field): _plain(content) for field, content in raw.items()}
        lines = {field: _line(raw, field) for field in raw}
        for field in ("months", "cost", "measures"):
            if field not in fields:
                self.refuse(f"pilot has no {field}; write {example}", _line(document, "pilot"))
            elif field == "measures":
                fields[field] = self.measured(raw[field], facts, lines[field])
            else:
                try:
                    fields[field] = _pilot_rows()[field].check(fields[field])
                except ValueError as error:
                    self.refuse(f"pilot: {error}", lines[field])
        if len(self.problems) > problems:
            return None
        return self.record(Pilot, fields | {"months": int(fields["months"])}, "pilot", lambda path: lines.get(path[0]))

    def mode(self, document: CommentedMap) -> Mode | None:
        """How the proposed regions work together: its name alone, or with a reason."""
        raw, line = document.get("mode"), _line(document, "mode")
        if raw is None:
            return None
        if isinstance(raw, CommentedMap):
            self.keys(raw, field_names(Mode), "in a mode")
            fields = {str(field): _plain(content) for field, content in raw.items() if field in field_names(Mode)}
        else:
            fields = {"kind": _plain(raw)}
        kind = fields.get("kind")
        if not isinstance(kind, str) or kind not in MODES:
            given = "has no kind" if kind is None else f"is {kind!r}, which is none"
            hint = did_you_mean(str(kind), MODES) or "; write one of " + ", ".join(f"{name} ({MODES[name]})" for name in MODES)
            self.refuse(f"mode {given}{hint}", line)
            return None
        return self.record(Mode, fields, "mode", lambda _: line)

    def measured(self, raw: Any, facts: list[str] | None, line: int | None) -> tuple[str, ...]:
        """The facts that a pilot measures."""
        if not isinstance(raw, CommentedSeq) or not raw:
            self.refuse(f"pilot: measures is {_plain(raw)!r}; write a list of uncertain facts such as [latency_saved]", line)
            return ()
        found = [_plain(each) for each in raw]
        for index, path in enumerate(found):
            line = raw.lc.item(index)[0] + 1
            if facts is not None and path not in facts:
                hint = did_you_mean(str(path), facts) or f"; uncertain are {', '.join(facts)}"
                self.refuse(f"pilot: measures: {path!r} is not an uncertain fact of this proposal{hint}", line)
            elif path in found[:index]:
                self.refuse(f"pilot: measures: {path!r} is given twice; keep one of the two", line)
        return tuple(found)


@cache
def _pilot_rows() -> dict[str, Input]:
    """What the numbers of a pilot are checked as: it is waited for, and paid for, as a start is."""
    wait, cost = inputs()["wait"], inputs()["upfront_cost"]
    months = with_fields(wait, name="months", range=(1.0, wait.range[1]), default=1.0)
    return {"months": months, "cost": with_fields(cost, name="cost")}


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a share; write a number from 0 to 1")
    return float(value)


def _is_number(text: str) -> bool:
    try:
        return text.isascii() and float(text) == float(text)
    except ValueError:
        return False


def _plain(value: Any) -> Any:
    """A YAML scalar as the plain Python value that it stands for."""
    if isinstance(value, ScalarFloat):
        return float(value)
    if isinstance(value, ScalarInt):
        return int(value)
    if isinstance(value, TimeStamp | datetime):
        return str(value)
    if isinstance(value, str):
        return str(value)
    return value


def _line(mapping: Any, key: Any) -> int | None:
    """The line of a key, counted from 1."""
    try:
        return int(mapping.lc.key(key)[0]) + 1
    except (AttributeError, KeyError, TypeError):
        return None
