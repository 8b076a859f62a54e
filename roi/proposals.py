"""Proposals: one YAML file each, checked whole before anything is computed, with the line of every mistake.

A proposal holds only what differs from `data/inputs.yaml`, and the sites of its two fleets.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scalarfloat import ScalarFloat
from ruamel.yaml.scalarint import ScalarInt
from ruamel.yaml.timestamp import TimeStamp

from roi.inputs import PRICE_AGE_DAYS, ROOT, Input, SourceDate, _Record, describe, inputs
from roi.lines import did_you_mean
from roi.problems import InputError, Problem

PROPOSALS = ROOT / "data" / "proposals"
FLEETS = ("baseline", "proposed")
MOST_REGIONS = 12
"""Columns of regions that a page shows side by side."""

MOST_PROBLEMS = 100
"""Mistakes of one file that are listed; nobody reads more."""

LARGEST_FILE = 1_000_000
"""Bytes; a proposal is a page of text."""


class Value(_Record):
    """One input's value in a proposal, as far as the file says more than the number."""

    base: float
    low: float | None = None
    high: float | None = None
    covers: float | None = Field(default=None, gt=0, lt=1)
    shape: str | None = None
    source: str = ""
    link: str = ""
    date: SourceDate | None = None
    owner: str = ""
    basis: str = ""
    measured: bool = False


class MovedValue(Value):
    """A value that was set by hand, with what the proposal says; its uncertainty moves along with it."""

    origin: Value | None

    @classmethod
    def of(cls, row: Input, said: Value | None, number: float) -> MovedValue:
        origin = said.origin if isinstance(said, MovedValue) else said
        low, high = plausible(row, origin) or (None, None)
        return cls(base=number, low=low, high=high, source="set by hand", origin=origin)


def plausible(row: Input, value: Value | None) -> tuple[float, float] | None:
    """The plausible range of an input: that of a proposal's value where it gives one, else the default's; None if not said."""
    if value is None:
        return (row.spread.low, row.spread.high) if row.spread else None
    return None if value.low is None or value.high is None else (value.low, value.high)


@dataclass(frozen=True)
class Proposal:
    """A checked proposal.

    Attributes:
        key: the file's name without its ending.
        inputs: what the file says of scalar inputs, by name.
        sites: what the file says of site inputs: fleet -> region -> name.
    """

    key: str
    name: str
    owner: str
    decision: str
    inputs: Mapping[str, Value]
    sites: Mapping[str, Mapping[str, Mapping[str, Value]]]

    def number(self, name: str) -> float:
        """The value of a scalar input, the default where the file does not give one."""
        return self.inputs[name].base + 0.0 if name in self.inputs else inputs()[name].default

    def site_number(self, fleet: str, region: str, name: str) -> float:
        """The value of a site input in one region, the default where the file does not give one."""
        values = self.sites[fleet][region]
        return values[name].base + 0.0 if name in values else inputs()[name].default

    @property
    def regions(self) -> list[tuple[str, str]]:
        """(fleet, region) of every site, the baseline first, in the order of the file."""
        return [(fleet, region) for fleet in FLEETS for region in self.sites[fleet]]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of every number that the model is given; equal numbers have equal fingerprints."""
        numbers: dict[str, Any] = {name: self.number(name) for name, each in inputs().items() if each.axis == "scalar"}
        numbers["sites"] = [
            [
                fleet,
                region,
                {name: self.site_number(fleet, region, name) for name, each in inputs().items() if each.axis == "site"},
            ]
            for fleet, region in self.regions
        ]
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()

    def with_values(self, changes: Mapping[str, Any]) -> Proposal:
        """The proposal with other numbers: `latency_saved`, or `proposed.europe-west4.gpu_price` for one region.

        Raises:
            InputError: an unknown name, a value that its input refuses, or shares that no longer sum to 1.
        """
        scalars = dict(self.inputs)
        sites = {fleet: {region: dict(values) for region, values in regions.items()} for fleet, regions in self.sites.items()}
        problems = []
        for path, number in changes.items():
            try:
                name, place = _find(path, self)
                row = inputs()[name]
                said = self.sites[place[0]][place[1]].get(name) if place else self.inputs.get(name)
                value = MovedValue.of(row, said, row.check(number))
            except ValueError as error:
                problems.append(Problem(str(error)))
                continue
            if place is None:
                scalars[name] = value
            else:
                sites[place[0]][place[1]][name] = value
        changed = replace(self, inputs=scalars, sites=sites)
        problems += [Problem(message) for _, message in _share_problems(changed)]
        if problems:
            raise InputError(problems)
        return changed


def _find(path: str, proposal: Proposal) -> tuple[str, tuple[str, str] | None]:
    """The input's name and, for a site input, its fleet and region."""
    known = inputs()
    fleet, _, rest = path.partition(".")
    region, _, name = rest.rpartition(".")
    if fleet in FLEETS and rest:
        if region not in proposal.sites[fleet]:
            raise ValueError(f"{path}: {fleet} has no region '{region}'; it has {', '.join(proposal.sites[fleet])}")
        site_names = [each.name for each in known.values() if each.axis == "site"]
        if name not in site_names:
            raise ValueError(f"{path}: '{name}' is not an input of a site{did_you_mean(name, site_names)}")
        return name, (fleet, region)
    if path not in known:
        raise ValueError(f"'{path}' is not an input{did_you_mean(path, known)}")
    if known[path].axis == "site":
        example = ".".join((*proposal.regions[-1], path))
        raise ValueError(f"'{path}' has a value for each site; write for example {example}")
    return path, None


# --- loading ----------------------------------------------------------------------------------------------------------------


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
        depth = 0
        found = len(self.problems)
        for event in YAML().parse(io.StringIO(text)):
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
        self.keys(document, ("name", "owner", "decision", "inputs", *FLEETS), "in a proposal")
        words = {field: self.words(document, field) for field in ("name", "owner", "decision")}
        scalars = self.values(document, "inputs", "scalar", "inputs")
        sites, unsure = {}, set()
        for fleet in FLEETS:
            before = len(self.problems)
            sites[fleet] = self.fleet(document, fleet)
            if len(self.problems) > before:
                unsure.add(fleet)  # a share may be among what is refused
        proposal = Proposal(key, words["name"], words["owner"], words["decision"], scalars, sites)
        for fleet, message in _share_problems(proposal):
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
        if len(self.problems) > problems:
            return None
        try:
            value = Value.model_validate(fields)
        except ValidationError as error:
            for each in error.errors():
                field = str(each["loc"][0])
                hint = did_you_mean(field, Value.model_fields) if each["type"] == "extra_forbidden" else ""
                self.refuse(f"{place}: {row.name}: {describe(each)}{hint}", lines.get(field, line))
            return None
        if (value.low is None) != (value.high is None):
            self.refuse(
                f"{place}: {row.name} has {'high' if value.low is None else 'low'} alone; write low and high, or neither", line
            )
        elif value.low is not None and value.high is not None and not value.low <= value.base <= value.high:
            self.refuse(
                f"{place}: {row.name} has low {value.low:g}, base {value.base:g}, high {value.high:g}, which are out of order; "
                "write low <= base <= high",
                line,
            )
        return value


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


def _share_problems(proposal: Proposal) -> list[tuple[str, str]]:
    """(fleet, message) of each fleet whose shares do not sum to 1."""
    problems = []
    for fleet in FLEETS:
        shares = {region: proposal.site_number(fleet, region, "share") for region in proposal.sites[fleet]}
        if abs(sum(shares.values()) - 1) > 1e-9:
            listed = ", ".join(f"{region} {share:g}" for region, share in shares.items())
            problems.append((fleet, f"{fleet}: the shares sum to {sum(shares.values()):.6g} ({listed}); they must sum to 1"))
    return problems


# --- what is odd about where the numbers come from --------------------------------------------------------------------------


def provenance_flags(proposal: Proposal, today: date) -> list[str]:
    """Sentences on prices without a source or older than 180 days, on spot prices above on-demand ones, and on too many regions.

    `today` is an argument because the answer changes with it while the numbers do not.
    """
    unsourced: dict[str, list[str]] = {}
    old: dict[str, list[str]] = {}
    by_basis: dict[str, dict[str, float]] = {}
    for fleet, region in proposal.regions:
        for row in inputs().values():
            if not row.price:
                continue
            value = proposal.sites[fleet][region].get(row.name)
            if value and row.name == "gpu_price" and value.basis:
                by_basis.setdefault(region, {})[value.basis] = value.base
            title, dated = (value.source, value.date) if value else (row.source.title, row.source.date)
            if not title or dated is None:
                unsourced.setdefault(row.label, []).append(region)
            elif (today - dated).days > PRICE_AGE_DAYS:
                old.setdefault(f"{row.label} ({dated})", []).append(region)
    flags = [f"{label} in {_listed(regions)} has no dated source." for label, regions in unsourced.items()]
    if len(proposal.regions) > MOST_REGIONS:
        flags.append(
            f"{len(proposal.regions)} regions are more than a page holds side by side ({MOST_REGIONS}): the tables scroll, and a "
            "print cuts them. The workbook holds them all."
        )
    if old:
        listed = "; ".join(f"{label} in {_listed(regions)}" for label, regions in old.items())
        flags.append(f"Older than {PRICE_AGE_DAYS} days: {listed}.")
    for region, prices in by_basis.items():
        if prices.get("spot", 0) > prices.get("on-demand", float("inf")):
            flags.append(f"{region}: the spot price is above the on-demand price. Are they swapped?")
    return flags


def _listed(regions: list[str]) -> str:
    return ", ".join(dict.fromkeys(regions))
