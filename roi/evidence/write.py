"""Findings into a proposal's file, in its place: whatever is not replaced stays as it is, to the byte."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from roi import amounts
from roi.evidence.evidence import Finding
from roi.files import write_whole
from roi.inputs import Input, inputs
from roi.problems import InputError, Problem
from roi.proposals import Proposal
from roi.reading import find, load, parse
from roi.values import Value

KEPT = ("owner", "reason")
"""What stays of what is replaced: whose word a value is, and a mode's reason. The rest said how the old one came about."""


@dataclass(frozen=True)
class Update:
    """A proposal's text with findings in it, checked and not yet written.

    Attributes:
        before, after: the proposal as it was and as it would be.
        changes: a sentence for each value, from what to what.
        left: findings that belong to none of the proposal's regions.
    """

    path: Path
    text: str
    before: Proposal
    after: Proposal
    changes: tuple[str, ...]
    left: tuple[Finding, ...]

    def save(self) -> None:
        """Put the text in the place of the file, whole or not at all.

        Raises:
            InputError: the file cannot be written.
        """
        write_whole(self.path, self.text)


def update(findings: Sequence[Finding], proposal: str, sites: Sequence[str] = (), mode: str = "") -> Update:
    """Put findings, and how regions work together, into a proposal.

    A finding for a site input goes to the sites that are named; or, if it says its region, to each site in that region.

    Args:
        proposal: the path of a YAML file, or a shipped proposal's name.
        sites: such as `proposed.europe-west4`.
        mode: as in `roi.modes`; it stays as it is where none is given.

    Raises:
        InputError: the proposal is refused as it is or as it would be, a site is not in it, nothing can be written, two findings
            are for one place, or a finding for a site has no region.
    """
    path = find(proposal)
    load(path)
    return plan(findings, path, path.read_bytes().decode("utf-8-sig"), sites, mode)


def plan(findings: Sequence[Finding], path: Path, text: str, sites: Sequence[str] = (), mode: str = "") -> Update:
    """The same for the text of a proposal, whether or not its file says it; raises as `update` does."""
    before = parse(text, str(path), path.stem)
    wanted = [_site(each, before) for each in sites]
    targets: dict[tuple[str, ...], Finding] = {}
    left = []
    for finding in findings:
        places = _places(finding, before, wanted)
        if not places:
            left.append(finding)
        for place in places:
            if place in targets:
                both = f"'{targets[place]}' and '{finding}'"
                raise InputError([Problem(f"{'.'.join(place)} would get both {both}; give files that hold one", "--write")])
            targets[place] = finding
    if not targets:
        what = ", ".join(dict.fromkeys(f"{each.input} in {each.place}" for each in left)) or "no value of an input"
        raise InputError([Problem(f"gets nothing: the evidence holds {what}", str(path))])
    for place, finding in targets.items():
        text = _put(text, place, {name: _written(field) for name, field in finding.value().items()})
    if mode:
        text = _put(text, ("mode",), {"kind": mode})
    try:
        after = parse(text, str(path), path.stem)
    except InputError as error:
        problems = [Problem(f"would be refused with these values: {each.message}", each.file) for each in error.problems]
        raise InputError(problems) from error
    changes = tuple(f"{'.'.join(place)}: {_shown(before, place)} -> {_shown(after, place)}" for place in targets)
    if mode:
        changes += (f"mode: {before.mode or 'not said'} -> {after.mode}",)
    return Update(path, text, before, after, changes, tuple(left))


def _site(text: str, proposal: Proposal) -> tuple[str, str]:
    fleet, _, region = text.partition(".")
    if (fleet, region) not in proposal.regions:
        there = ", ".join(".".join(each) for each in proposal.regions)
        raise InputError([Problem(f"'{text}' is no site of this proposal; it has {there}", "--site")])
    return fleet, region


def _places(finding: Finding, proposal: Proposal, wanted: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Where a finding goes: keys from the top of the document down."""
    if inputs()[finding.input].axis == "scalar":
        return [("inputs", finding.input)]
    wanted = list(wanted)
    if not wanted and not finding.place:
        example = ".".join(proposal.regions[-1])
        raise InputError([Problem(f"{finding.input} has a value for each site; say which, such as --site {example}", "--site")])
    sites = wanted or proposal.regions
    return [(fleet, region, finding.input) for fleet, region in sites if finding.place in ("", region)]


def _shown(proposal: Proposal, place: tuple[str, ...]) -> str:
    """A value as people read it, with its interval."""
    row = inputs()[place[-1]]
    values: Mapping[str, Value] = proposal.inputs if len(place) == 2 else proposal.sites[place[0]][place[1]]
    value = values.get(row.name)
    if value is None:
        return f"{row.show(row.default)} by default"
    return row.show(value.base) + _interval(row, value)


def _interval(row: Input, value: Value) -> str:
    if value.low is None or value.high is None:
        return ""
    return f" ({row.show_range(value.low, value.high)})"


# --- the text ---------------------------------------------------------------------------------------------------------------
# The nodes of a composed document say where each stands in the text, so that a value can be replaced and all else left alone;
# a dump of the document would write all of it anew.


def _put(text: str, place: tuple[str, ...], fields: Mapping[str, str]) -> str:
    """The text of a proposal that can be read, with these fields at a place."""
    node: Any = YAML().compose(io.StringIO(text))
    for depth, key in enumerate(place):
        rest = _nested(place[depth + 1 :], fields)
        pair = next((pair for pair in node.value if pair[0].value == key), None)
        if pair is None:
            return _insert(text, node, f"{key}: {rest}")
        name, node = pair
        if isinstance(node, ScalarNode) and (depth < len(place) - 1 or not node.value):  # a section with nothing in it
            colon = text.index(":", name.end_mark.index) + 1
            return text[:colon] + f" {rest}" + text[max(colon, _end(text, node)) if node.value else colon :]
    if isinstance(node, MappingNode) and not node.flow_style:
        return _in_lines(text, node, fields)
    if isinstance(node, MappingNode):
        kept = {name.value: text[value.start_mark.index : _end(text, value)] for name, value in node.value if name.value in KEPT}
        fields = {**fields, **kept}
    start, end = int(node.start_mark.index), _end(text, node)
    return text[:start] + _nested((), fields) + text[end:]


def _nested(keys: tuple[str, ...], fields: Mapping[str, str]) -> str:
    """`{key: {base: 1, ...}}`."""
    if keys:
        return f"{{{keys[0]}: {_nested(keys[1:], fields)}}}"
    return f"{{{', '.join(f'{name}: {field}' for name, field in fields.items())}}}"


def _insert(text: str, mapping: MappingNode, entry: str) -> str:
    """The text with one more entry at the end of a mapping."""
    if mapping.flow_style:
        at = _end(text, mapping.value[-1][1]) if mapping.value else int(mapping.start_mark.index) + 1
        return text[:at] + (", " if mapping.value else "") + entry + text[at:]
    at = _line_end(text, _end(text, mapping))
    return text[:at] + _newline(text) + " " * int(mapping.value[0][0].start_mark.column) + entry + text[at:]


def _in_lines(text: str, mapping: MappingNode, fields: Mapping[str, str]) -> str:
    """The text with other fields in a mapping that has one on each line; comments stay but on lines that go."""
    edits, last, missing = [], 0, dict(fields)
    for name, value in mapping.value:
        if name.value in fields:
            edits.append((value.start_mark.index, _end(text, value), missing.pop(name.value)))
        elif name.value not in KEPT:
            edits.append(
                (text.rfind("\n", 0, name.start_mark.index) + 1, text.find("\n", _end(text, value)) + 1 or len(text), "")
            )
            continue
        last = _line_end(text, _end(text, value))
    margin = _newline(text) + " " * int(mapping.value[0][0].start_mark.column)
    edits.append((last, last, "".join(f"{margin}{name}: {field}" for name, field in missing.items())))
    changed = text
    for start, end, new in sorted(edits, reverse=True):
        changed = changed[:start] + new + changed[end:]
    return changed


def _end(text: str, node: Node) -> int:
    """Where a node's text ends. As the marks have it, a mapping in lines has the comments and blank lines after it as well, and a
    block of text those after it."""
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _end(text, node.value[-1][1])
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _end(text, node.value[-1])
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if isinstance(node, ScalarNode) and node.style in ("|", ">") else end


def _line_end(text: str, index: int) -> int:
    """Where the line ends on which an index stands, comment included."""
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _written(field: Any) -> str:
    """A field as YAML writes it; six figures are more than any of these measurements has."""
    if isinstance(field, bool):
        return "true" if field else "false"
    if isinstance(field, str):
        return json.dumps("".join(each if each.isprintable() else "?" for each in field), ensure_ascii=False)
    return amounts.plain(float(f"{field:.6g}")) if isinstance(field, float) else str(field)
