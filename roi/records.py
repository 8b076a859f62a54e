"""Records that are read from a file: every field is checked against its type, and every mistake named, not the first alone.

msgspec alone stops at the first mistake; pydantic, which does not, takes longer to import than NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from roi.lines import did_you_mean

SourceDate = date
"""A date, or the year alone; in a record whose field is itself called `date`, which hides the type."""


Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class YearOnly(date):
    """A year of which no day is known. Its age counts from the first day, the oldest that the figure can be."""

    def isoformat(self) -> str:
        return f"{self.year}"

    __str__ = isoformat


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one place of a file says, by field."""

    def check_together(self) -> None:
        """Raise ValueError where fields that are good each contradict one another."""


class Mistake(NamedTuple):
    """One mistake in a record.

    Attributes:
        path: of the field, from the record inwards; empty where it is none alone.
        message: a sentence that names the field.
    """

    path: tuple[str, ...]
    message: str


class RecordError(ValueError):
    """What `read` refuses, with all `mistakes`."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__("; ".join(each.message for each in mistakes))
        self.mistakes = mistakes


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read(kind: type[AnyRecord], given: Mapping[str, Any]) -> AnyRecord:
    """A record of what a file gives, its lists as tuples.

    Raises:
        RecordError: a field is unknown, missing, of another type or out of bounds, or fields contradict one another.
    """
    return _read(kind, given, ())


def field_names(kind: type[Record]) -> tuple[str, ...]:
    return kind.__struct_fields__


def _read(kind: type[AnyRecord], given: Mapping[str, Any], path: tuple[str, ...]) -> AnyRecord:
    fields = _fields(kind)
    mistakes = []

    def refuse(message: str, *name: str) -> None:
        where = (*path, *name)
        mistakes.append(Mistake(where, f"{'.'.join(where)} {message}" if name else message))

    found = {}
    for name, content in given.items():
        if name not in fields:
            refuse(f"is not known here{did_you_mean(name, fields)}", name)
            continue
        try:
            found[name] = _content(fields[name].type, content, (*path, name))
        except RecordError as error:
            mistakes += error.mistakes
        except ValueError:
            shown = "left empty" if content is None else repr(list(content) if isinstance(content, tuple) else content)
            refuse(f"is {shown}; write {_wanted(fields[name].type)}", name)
    for name, field in fields.items():
        if field.required and name not in given:
            refuse("is missing", name)
    if not mistakes:
        record = kind(**found)
        try:
            record.check_together()
        except ValueError as error:
            refuse(str(error))
        else:
            return record
    raise RecordError(mistakes)


@cache
def _fields(kind: type[Record]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _content(kind: Any, content: Any, path: tuple[str, ...]) -> Any:
    """What a field holds, a whole number as a float where the field is one; ValueError where it is of another kind."""
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return None if content is None else _content(_some(kind), content, path)
    if isinstance(kind, type) and issubclass(kind, Record):
        if not isinstance(content, Mapping):
            raise ValueError
        return _read(kind, content, path)
    if kind is date:
        return _date(content)
    converted = msgspec.convert(content, kind)
    for number in converted if isinstance(converted, tuple) else (converted,):
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError
    return converted


def _some(kind: Any) -> Any:
    """The kind of an optional field where it is not left out."""
    return next(each for each in get_args(kind) if each is not NoneType)


def _date(content: Any) -> date:
    if isinstance(content, int) and not isinstance(content, bool) and 1900 < content < 2200:
        return YearOnly(content, 1, 1)
    if type(content) is date:
        return content
    raise ValueError


_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "words",
    date: "a date without quotes, like 2026-10-14, or the year alone where no more is known",
}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def _wanted(kind: Any) -> str:
    """What to write into a field of a kind."""
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, UnionType) or origin is Union:
        return _wanted(_some(kind))
    if origin is Annotated:
        bounds = [(word, getattr(kind.__metadata__[0], name)) for name, word in _BOUNDS.items()]
        stated = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        return f"{_wanted(arguments[0])} {stated}"
    if origin is Literal:
        return " or ".join(filter(None, (", ".join(arguments[:-1]), arguments[-1])))
    if origin is tuple:
        many = "" if arguments[-1] is Ellipsis else f"{len(arguments)} "
        return f"a list of {many}{'numbers' if arguments[0] is float else 'words'}"
    if issubclass(kind, Record):
        return f"{', '.join(_fields(kind))} under it"
    return _WORDS[kind]
