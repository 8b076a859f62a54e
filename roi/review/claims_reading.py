"""Reading claims from a YAML file, checked whole before anything is computed, with the line of every mistake.

`docs/claims.md` says what a file holds. No expression is ever run: it is parsed, and all but names, numbers, + - * / ** and
brackets is refused.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from roi import amounts
from roi.inputs import ROOT, inputs, model
from roi.lines import did_you_mean
from roi.problems import InputError, Problem
from roi.proposals import Proposal
from roi.reading import LARGEST_FILE, _line, _plain, _Reader, load
from roi.review.claims import TOO_DEEP, Audit, Claim, Claims, audit
from roi.review.claims_arithmetic import (
    CONSTANTS,
    LARGEST,
    SMALLEST,
    Amount,
    Given,
    Limit,
    Reading,
    is_share,
    times_read,
)
from roi.symbols import Call, Name, Number, Symbol
from roi.units import ONE, Unit, UnitError

SHIPPED = ROOT / "data" / "claims.yaml"

FIELDS = ("given", "derived", "arithmetic", "claimed", "tolerance", "solve_for", "condition", "limits")
"""What a claim says, and what another way to read it may say otherwise."""

MOST_CLAIMS = 200
LONGEST = {"expression": 300, "quantity": 100}
"""Characters; more is nothing that anyone reads."""

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_QUANTITY = re.compile(r"(?P<number>[^\s%]+?)(?:\s*(?P<percent>%.*)|\s+(?P<unit>\S.*))", re.DOTALL)
_LIMIT = re.compile(r"(?P<relation>at least|at most)\s+(?P<rest>.+)", re.DOTALL)


def read(path: Path) -> Claims:
    """The claims of a file.

    Raises:
        InputError: all that is wrong with it, each with file and line.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(
                [Problem(f"is larger than {LARGEST_FILE:,} bytes; a file of claims is a few pages of text", str(path))]
            )
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Problem("is not text in UTF-8; save it as UTF-8", str(path))]) from error
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", str(path))]) from error
    return parse(text, str(path))


def parse(text: str, file: str) -> Claims:
    """Check the text of a file of claims; `file` stands in the messages. Raises as `read` does."""
    reader = _ClaimsReader(file)
    claims = reader.file_of_claims(reader.document(text))
    if reader.problems:
        raise InputError(sorted(reader.problems, key=lambda problem: problem.line or len(text)))
    return Claims(file, claims)


def from_parameters(namespace: Mapping[str, Any]) -> Audit:
    """The audit for a notebook's parameters.

    Args:
        namespace: the notebook's `globals()`. `claims` is the path of a file; None stands for the claims that are shipped.

    Raises:
        InputError: an unknown name, or a file that is refused.
    """
    from roi.report import _parameters

    given = _parameters(namespace)
    path = given.pop("claims", None)
    problems = [f"'{name}' is not a parameter{did_you_mean(name, ['claims'])}" for name in given]
    if path is not None and not isinstance(path, str):
        problems.append(f"claims is {path!r}; write the path of a file, or None for the claims that are shipped")
    if problems:
        raise InputError([Problem(problem, "parameters") for problem in problems])
    return audit(read(Path(path) if path else SHIPPED))


# --- quantities and expressions ---------------------------------------------------------------------------------------------


def quantity(text: str, units: Iterable[str] = ()) -> Amount:
    """The amount in `0.62 USD/(gpu*hour)`, `12M USD`, `85 %` or `0.9 1`; what is not known in `unknown gpu`.

    Args:
        text: a number, a space and a unit; 1 is the unit of a pure number. A base unit may stand as people read it, such as GPUs
            for gpu.
        units: base units beside those of the model and of the constants.

    Raises:
        ValueError: it is none; the message says what to write instead.
    """
    found = _QUANTITY.fullmatch(text.strip())
    if not found or len(text) > LONGEST["quantity"]:
        raise ValueError(f"'{text[:60]}' is no quantity; write a number, a space and its unit, such as 12M USD, 85 % or 0.9 1")
    unknown = found["number"] == "unknown"
    if not unknown:
        try:
            value = amounts.parse_amount(found["number"])
        except ValueError as error:
            raise ValueError(f"{error}, then a space and the unit") from error
    known = {*_known_units(), *units}
    names = {word: base for base in known for word in amounts.unit_words(base)} | {base: base for base in known}
    written = found["unit"] or f"1{found['percent'][1:]}"
    try:
        unit = Unit.parse(re.sub(r"[A-Za-z]+", lambda word: names.get(word[0], word[0]), written))
    except UnitError as error:
        raise ValueError(str(error)) from error
    for base, _ in unit.powers:
        if base not in known:
            raise ValueError(f"'{base}' is not a unit{did_you_mean(base, known) or '; name it under units:'}")
    percent = found["percent"] is not None
    scale = 0.01 if percent else 1.0
    if unknown:
        return Amount(math.nan, unit, percent)
    return Amount(_in_range(value * scale, text), unit, percent, _rounding(found["number"]) * scale)


def _rounding(number: str) -> float:
    """Half of the last digit of a number as it is written: 0.05 for `2.1`, 50,000 for `2.1M`."""
    mantissa, suffix = re.fullmatch(r".*?([\d.,_]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)", number).groups()  # type: ignore[union-attr]
    digits, _, power = mantissa.lower().partition("e")
    places = len(digits.partition(".")[2])
    return float(0.5 * 10.0 ** (int(power or 0) - places) * amounts.SUFFIXES[suffix])


@cache
def _known_units() -> frozenset[str]:
    """The base units of the model and of the constants."""
    units = [model().unit(name) for name in (*model().lines, *model().variables)]
    units += [Unit.parse(each.unit) for each in CONSTANTS.values()]
    return frozenset(base for unit in units for base, _ in unit.powers)


def expression(text: str) -> Symbol:
    """The formula in a text of names, numbers, + - * / ** and brackets.

    Raises:
        ValueError: it is none; the message says what stands there.
    """
    if len(text) > LONGEST["expression"]:
        raise ValueError(
            f"has {len(text)} characters; write at most {LONGEST['expression']}, and name parts of it under derived:"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"'{text}' is no expression; write names, numbers, + - * / ** and brackets") from error
    return _symbol(tree, text)


def _symbol(node: ast.expr, text: str) -> Symbol:
    match node:
        case ast.Name(id=name):
            return Name(name)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Number(_number(value, text))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(value, bool):
            return Number(-_number(value, text))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Call(_OPERATORS[type(operator)], _symbol(left, text), _symbol(right, text))
    raise ValueError(
        f"'{ast.get_source_segment(text.strip(), node) or text}' is not read here; write names, numbers, + - * / ** and brackets"
    )


def _number(value: float, text: str) -> float:
    try:
        return _in_range(float(value), text)
    except OverflowError:  # a whole number that is none of the doubles
        return _in_range(math.inf, text)


def _in_range(value: float, text: str) -> float:
    """A number as it is.

    Raises:
        ValueError: it is so large or so small that it is taken for a mistake.
    """
    if value and not SMALLEST <= abs(value) <= LARGEST:
        size = "large" if abs(value) > LARGEST else "small"
        raise ValueError(
            f"'{text[:60]}' has a number that is too {size}; write one from {SMALLEST:g} to {LARGEST:g}, or take another unit"
        )
    return value


# --- files ------------------------------------------------------------------------------------------------------------------


class _ClaimsReader(_Reader):
    """Walks one document and collects every problem on the way."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.units: tuple[str, ...] = ()

    def refuse(self, message: str, line: int | None = None) -> None:
        super().refuse(message.removesuffix(" to be a proposal"), line)

    def file_of_claims(self, document: Any) -> tuple[Claim, ...]:
        if document is None:
            if not self.problems:
                self.refuse("is empty; a file of claims has source and claims", 1)
            return ()
        if not isinstance(document, CommentedMap):
            self.refuse("is not a file of claims; write lines such as `source: {title: ...}` and `claims:`", 1)
            return ()
        self.tags(document)
        if self.problems and any("YAML tag" in problem.message for problem in self.problems):
            return ()
        self.keys(document, ("source", "units", "claims"), "in a file of claims")
        self.units = tuple(self.texts(document, "units", "in the file"))
        for unit in self.units:
            if not (unit.isascii() and unit.isalpha()):
                self.refuse(
                    f"units: '{unit}' is no name of a unit; write letters alone, such as engineer", _line(document, "units")
                )
        source = self.source(document, "the file")
        rows = document.get("claims")
        if not isinstance(rows, CommentedMap) or not rows:
            self.refuse(
                "claims is empty or missing; write `claims:` and under it one name for each claim",
                _line(document, "claims") if "claims" in document else 1,
            )
            return ()
        if len(rows) > MOST_CLAIMS:
            self.refuse(f"has {len(rows)} claims; write at most {MOST_CLAIMS} in one file", _line(document, "claims"))
            return ()
        found = []
        for key in rows:
            try:
                found.append(self.claim(rows, key, source))
            except RecursionError:
                self.refuse(f"{key} {TOO_DEEP}", _line(rows, key))
        return tuple(filter(None, found))

    def claim(self, rows: CommentedMap, key: Any, source: str) -> Claim | None:
        raw, line, where = rows[key], _line(rows, key), str(key)
        if not isinstance(key, str) or not key.strip():
            self.refuse(f"a claim is named {_plain(key)!r}; write its name as words, in quotes if needed", line)
        if not isinstance(raw, CommentedMap):
            self.refuse(f"{where} is {_plain(raw)!r}; write words, given, arithmetic and claimed under it", line)
            return None
        found = len(self.problems)
        self.keys(raw, ("words", "source", "proposal", *FIELDS, "facts", "readings", "missing", "note"), f"in {where}")
        words, note = self.text(raw, "words", where, line), self.text(raw, "note", where) if "note" in raw else ""
        own = self.source(raw, where) if "source" in raw else source
        if not own:
            self.refuse(f"{where} has no source; write `source: {{title: ..., date: ...}}` for it or for the whole file", line)
        first = self.reading(raw, where, Reading(proposal=self.model_of(raw, where), line=line))
        others = self.other_readings(raw, where, replace(first, solve_for=()))
        facts, missing = self.limits(raw, "facts", where), tuple(self.texts(raw, "missing", where))
        if first.arithmetic is None and not first.condition and not {"arithmetic", "condition"} & raw.keys():
            self.refuse(
                f"{where} has no arithmetic; write it, or a condition in words that says what would have to be true", line
            )
        if len(self.problems) > found:
            return None  # what is refused may be what a name stands for
        self.known_names(first, facts, where, raw)
        for reading, row in others:
            self.known_names(reading, {}, f"{where}: {reading.what}", row)
        if len(self.problems) > found:
            return None
        if "solve_for" not in raw and first.arithmetic is not None:
            first = replace(
                first, solve_for=tuple(name for name in first.given if times_read(first.arithmetic, name, first) == 1)
            )
        readings = (first, *(reading for reading, _ in others))
        return Claim(str(key), words, own, readings, facts, missing, note, tuple(_flags(readings, facts)))

    def other_readings(self, raw: CommentedMap, where: str, first: Reading) -> list[tuple[Reading, CommentedMap]]:
        """The other ways to read a claim, each with where it is written."""
        rows = raw.get("readings")
        if rows is None:
            return []
        if not isinstance(rows, CommentedSeq):
            self.refuse(f"{where}: readings is {_plain(rows)!r}; write a list of `- what: ...`", _line(raw, "readings"))
            return []
        found = []
        for index, row in enumerate(rows):
            line = rows.lc.item(index)[0] + 1
            if not isinstance(row, CommentedMap):
                self.refuse(f"{where}: readings: {_plain(row)!r} is no reading; write `- what: ...` and what differs", line)
                continue
            self.keys(row, ("what", *FIELDS), f"in a reading of {where}")
            what = self.text(row, "what", f"{where}: readings", line)
            found.append((self.reading(row, f"{where}: {what}", replace(first, what=what, line=line)), row))
        return found

    def reading(self, raw: CommentedMap, where: str, base: Reading) -> Reading:
        """A reading that is as the base in all that it does not say."""
        given, derived = self.given(raw, where, base), self.derived(raw, where, base)
        for name in given.keys() & derived.keys():
            self.refuse(f"{where}: {name} is given and derived; keep one of the two", _line(raw["derived"], name))
        changed: dict[str, Any] = {
            "given": {name: each for name, each in base.given.items() if name not in derived} | given,
            "derived": {name: each for name, each in base.derived.items() if name not in given} | derived,
        }
        if "arithmetic" in raw:
            changed["arithmetic"] = self.formula(raw, "arithmetic", where)
        if "claimed" in raw:
            changed["claimed"] = self.claimed(raw, where)
        if "tolerance" in raw:
            changed["tolerance"] = self.tolerance(raw, where)
        if "solve_for" in raw:
            changed["solve_for"] = tuple(self.texts(raw, "solve_for", where))
        if "condition" in raw:
            changed["condition"] = self.text(raw, "condition", where)
        if "limits" in raw:
            changed["limits"] = {**base.limits, **self.limits(raw, "limits", where)}
        return replace(base, **changed)

    def given(self, raw: CommentedMap, where: str, base: Reading) -> dict[str, Given]:
        found = {}
        for name, content, line in self.entries(raw, "given", where, "name: 20 day", base.proposal):
            source = ""
            if isinstance(content, CommentedMap):
                self.keys(content, ("value", "source", "date"), f"in {where}: {name}")
                if "value" not in content:
                    self.refuse(f"{where}: {name} has no value; write {{value: 20 day, source: ...}}", line)
                    continue
                source = ", ".join(str(_plain(content[field])) for field in ("source", "date") if content.get(field) is not None)
                content = content["value"]
            amount = self.amount(content, f"{where}: {name}", line)
            if amount is None:
                continue
            found[name] = Given(amount, str(content).strip(), source)
            if base.proposal and name in inputs():
                self.as_input(name, amount, f"{where}: {name}", line)
        return found

    def as_input(self, name: str, amount: Amount, what: str, line: int | None) -> None:
        """Refuse a quantity with the name of an input of the model that the input refuses."""
        row = inputs()[name]
        if row.axis == "site":
            self.refuse(f"{what} has a value for each site in the model; give it another name", line)
        elif amount.unit != Unit.parse(row.unit):
            self.refuse(
                f"{what} is in {amount.unit}, but the model has {name} in {row.unit}; convert it, or give it another name", line
            )
        elif amount.known:
            try:
                row.check(amount.value)
            except ValueError as error:
                self.refuse(f"{what}: {error}", line)

    def derived(self, raw: CommentedMap, where: str, base: Reading) -> dict[str, Symbol]:
        found = {}
        for name, _, _ in self.entries(raw, "derived", where, "growth: after / before", base.proposal):
            formula = self.formula(raw["derived"], name, f"{where}: derived")
            if formula is not None:
                found[name] = formula
        return found

    def entries(
        self, raw: CommentedMap, field: str, where: str, example: str, proposal: Proposal | None = None
    ) -> list[tuple[str, Any, int | None]]:
        """Name, content and line of each entry of a field that names quantities; a name of the model is not for new ones."""
        mapping = raw.get(field)
        if mapping is None:
            return []
        if not isinstance(mapping, CommentedMap):
            self.refuse(f"{where}: {field} is {_plain(mapping)!r}; write lines such as `{example}`", _line(raw, field))
            return []
        found = []
        for name, content in mapping.items():
            line = _line(mapping, name)
            if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
                self.refuse(
                    f"{where}: {field}: {_plain(name)!r} is no name; write letters and underscores, such as gpu_price", line
                )
            elif name in CONSTANTS or name == "claimed":
                self.refuse(f"{where}: {field}: {name} has a meaning of its own here; choose another name", line)
            elif proposal and name in model().axes and not (field == "given" and name in inputs()):
                self.refuse(
                    f"{where}: {field}: {name} follows in the model; give what it follows from, or choose another name", line
                )
            else:
                found.append((str(name), content, line))
        return found

    def amount(self, content: Any, what: str, line: int | None) -> Amount | None:
        if not isinstance(content, str):
            number = f"{_plain(content)!r}" if content is not None else "left empty"
            hint = f"{_plain(content)} gpu" if isinstance(content, int | float) and not isinstance(content, bool) else "20 day"
            self.refuse(f"{what} is {number}, without a unit; write it like `{hint}`, `85 %`, or `0.9 1` for a pure number", line)
            return None
        try:
            return quantity(str(content), self.units)
        except ValueError as error:
            self.refuse(f"{what}: {error}", line)
            return None

    def claimed(self, raw: CommentedMap, where: str) -> Amount | None:
        content, line = raw["claimed"], _line(raw, "claimed")
        limit = _LIMIT.fullmatch(content.strip()) if isinstance(content, str) else None
        amount = self.amount(limit["rest"] if limit else content, f"{where}: claimed", line)
        if amount and not amount.known:
            self.refuse(f"{where}: claimed is unknown; write what is claimed", line)
        return replace(amount, relation=limit["relation"]) if amount and limit else amount  # type: ignore[arg-type]

    def tolerance(self, raw: CommentedMap, where: str) -> float | None:
        line = _line(raw, "tolerance")
        amount = self.amount(raw["tolerance"], f"{where}: tolerance", line)
        if amount and not (amount.unit == ONE and 0 <= amount.value < 1):
            self.refuse(f"{where}: tolerance is '{raw['tolerance']}'; write a share of what is claimed, such as 1 %", line)
        return amount.value if amount else None

    def limits(self, raw: CommentedMap, field: str, where: str) -> dict[str, Limit]:
        found = {}
        for name, content, line in self.entries(raw, field, where, "speed_up: at most growth"):
            limit = _LIMIT.fullmatch(content.strip()) if isinstance(content, str) else None
            try:
                symbol = expression(limit["rest"] if limit else str(_plain(content)))
            except ValueError as error:
                self.refuse(f"{where}: {field}: {name}: {error}", line)
            else:
                found[name] = Limit(limit["relation"] if limit else "", symbol)  # type: ignore[arg-type]
        return found

    def formula(self, raw: CommentedMap, field: str, where: str) -> Symbol | None:
        try:
            return expression(str(_plain(raw[field])))
        except ValueError as error:
            self.refuse(f"{where}: {field}: {error}", _line(raw, field))
            return None

    def model_of(self, raw: CommentedMap, where: str) -> Proposal | None:
        """The proposal whose model a claim speaks of."""
        name = self.text(raw, "proposal", where) if "proposal" in raw else ""
        try:
            return load(name) if name else None
        except InputError as error:
            self.refuse(f"{where}: proposal: {error}", _line(raw, "proposal"))
            return None

    def source(self, raw: CommentedMap, where: str) -> str:
        """Title and date of a source in one line; empty where there is none."""
        content, line = raw.get("source"), _line(raw, "source")
        if content is None:
            return ""
        if not isinstance(content, CommentedMap):
            self.refuse(f"source of {where} is {_plain(content)!r}; write {{title: ..., date: 2026-06-24}}", line)
            return ""
        self.keys(content, ("title", "date", "link"), f"in the source of {where}")
        title, dated = self.text(content, "title", f"source of {where}", line), content.get("date")
        if dated is not None and type(dated) is not date and not (type(dated) is int and 1900 < dated < 2200):
            self.refuse(f"source of {where}: {_plain(dated)!r} is not a date; write it like 2026-06-24", _line(content, "date"))
        link = self.text(content, "link", f"source of {where}") if "link" in content else ""
        return ", ".join(filter(None, (title, "" if dated is None else str(dated), link)))

    def text(self, raw: CommentedMap, field: str, where: str, line: int | None = None) -> str:
        content = raw.get(field)
        if isinstance(content, str) and content.strip():
            return " ".join(content.split())
        if field in raw:
            self.refuse(f"{where}: {field} is {_plain(content)!r}; write it as words", _line(raw, field))
        else:
            self.refuse(f"{where}: {field} is missing; write a line `{field}: ...`", line)
        return ""

    def texts(self, raw: CommentedMap, field: str, where: str) -> list[str]:
        content = raw.get(field)
        if content is None:
            return []
        if not isinstance(content, CommentedSeq) or not all(isinstance(each, str) and each.strip() for each in content):
            self.refuse(f"{where}: {field} is {_plain(content)!r}; write a list of words such as [one, other]", _line(raw, field))
            return []
        return [str(each) for each in content]

    def known_names(self, reading: Reading, facts: Mapping[str, Limit], where: str, raw: CommentedMap) -> None:
        """Refuse names that mean nothing, derived quantities that go round in a circle, and what cannot be solved for."""
        line = reading.line
        own = [*reading.given, *reading.derived]
        known = [*own, *CONSTANTS, *(["claimed"] if reading.claimed else [])]
        if reading.proposal:
            known += [name for name, axis in model().axes.items() if axis == "scalar"]
        said = {f"derived: {name}": symbol for name, symbol in reading.derived.items()}
        said |= {f"limits: {name}": limit.symbol for name, limit in reading.limits.items()}
        said |= {f"facts: {name}": limit.symbol for name, limit in facts.items()}
        said |= {} if reading.arithmetic is None else {"arithmetic": reading.arithmetic}
        for what, symbol in said.items():
            field, _, entry = what.partition(": ")
            place = (_line(raw.get(field), entry) if entry else _line(raw, field)) or line
            for name in dict.fromkeys(symbol.names()):
                if name not in known:
                    self.refuse(f"{where}: {what}: '{name}' is not known here{self.meant(name, known, reading)}", place)
        for field, names in (
            ("condition", re.findall(r"\{(.*?)\}", reading.condition)),
            ("solve_for", reading.solve_for),
            ("limits", reading.limits),
        ):
            allowed = list(reading.given) if field == "solve_for" else known
            for name in names:
                if name not in allowed:
                    self.refuse(
                        f"{where}: {field}: '{name}' is not known here{did_you_mean(name, allowed)}", _line(raw, field) or line
                    )
        circle = _circle(reading.derived)
        if circle:
            place = _line(raw.get("derived"), circle[0]) or line
            self.refuse(f"{where}: derived quantities go round in a circle: {' -> '.join(circle)}", place)
        elif reading.arithmetic is not None:
            self.solvable(reading, where, _line(raw, "arithmetic") or line)

    def meant(self, name: str, known: list[str], reading: Reading) -> str:
        if not reading.proposal and name in model().axes:
            return "; it is the model's: write `proposal: published-claim` or another one whose model is meant"
        if reading.proposal and name in model().axes:
            return "; it has a value for each site or month, and only a single number can stand here"
        return did_you_mean(name, known) or "; write it under given:, with its unit"

    def solvable(self, reading: Reading, where: str, line: int | None) -> None:
        assert reading.arithmetic is not None
        if reading.claimed is None:
            self.refuse(f"{where} has arithmetic, but nothing is claimed; write `claimed: 12M USD`", line)
        times = {name: times_read(reading.arithmetic, name, reading) for name in reading.given}
        unknown = [name for name, each in reading.given.items() if not each.amount.known and times[name]]
        if len(unknown) > 1:
            self.refuse(f"{where}: {' and '.join(unknown)} are both unknown in one arithmetic; give all but one of them", line)
        for name in (*unknown, *reading.solve_for):
            if name in times and times[name] > 1:
                self.refuse(
                    f"{where}: {name} stands {times[name]} times in the arithmetic; it can be solved for where it stands once",
                    line,
                )
            elif name in times and not times[name]:
                self.refuse(f"{where}: solve_for: the arithmetic does not read {name}", line)


def _circle(derived: Mapping[str, Symbol]) -> list[str]:
    """Names of derived quantities that go round in a circle, the first again at the end; empty where none do."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in derived:
            return []
        for inner in derived[name].names():
            circle = visit(inner, [*path, name])
            if circle:
                return circle
        done.add(name)
        return []

    return next(filter(None, (visit(name, []) for name in derived)), [])


def _flags(readings: tuple[Reading, ...], facts: Mapping[str, Limit]) -> list[str]:
    """What is odd but legal in how a claim is written down, as sentences."""
    found: dict[str, None] = {}
    of_the_model = set(inputs()) if readings[0].proposal else set()
    limits = [limit.symbol for reading in readings for limit in (*reading.limits.values(), *facts.values())]
    formulas = [each for reading in readings for each in (reading.arithmetic, *reading.derived.values()) if each is not None]
    read_names = {name for symbol in (*formulas, *limits) for name in symbol.names()} | of_the_model
    for reading in readings:
        read_names.update(re.findall(r"\{(\w+)\}", reading.condition))
    for reading in readings:
        for name, each in reading.given.items():
            amount = each.amount
            if is_share(name, amount.unit) and not amount.percent and amount.value > 1:
                number = amounts.plain(amount.value)
                found[f"{name} is {number}, more than the whole. If a percentage is meant, write {number} %."] = None
            if name not in read_names:
                found[f"{name} is given, and no arithmetic reads it."] = None
    return list(found)
