"""Records read from a file: what is refused, all of it at once, and in which words."""

from datetime import date
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from roi.records import Record, RecordError, Share, SourceDate, YearOnly, read


class Place(Record, frozen=True):
    name: str
    floor: int = 0


class Visit(Record, frozen=True):
    place: Place
    date: SourceDate
    length: float
    pair: tuple[float, float] = (0.0, 1.0)
    likely: Share | None = None
    people: Annotated[int, Meta(ge=1)] | None = None
    by: Literal["foot", "train", "car"] = "foot"
    other: Place | None = None

    def check_together(self) -> None:
        if self.by == "foot" and self.length > 50:
            raise ValueError("length is too far by foot")


GOOD = {"place": {"name": "here"}, "date": date(2026, 10, 14), "length": 3}


def refused(given: dict[str, object]) -> list[tuple[str, str]]:
    with pytest.raises(RecordError) as caught:
        read(Visit, given)
    return [(".".join(path), message) for path, message in caught.value.mistakes]


def test_a_good_record_is_read_with_its_defaults_and_a_whole_number_as_one_with_decimals() -> None:
    found = read(Visit, GOOD | {"date": 2026, "pair": (1, 2)})
    assert found == Visit(Place("here"), YearOnly(2026, 1, 1), 3.0, (1.0, 2.0))
    assert isinstance(found.length, float)
    assert str(found.date) == "2026"


def test_every_mistake_is_named_with_its_path() -> None:
    given = {"place": {"flor": 1}, "length": "far", "by": "plane", "other": 5, "colour": 1}
    assert refused(given) == [
        ("place.flor", "place.flor is not known here; did you mean floor?"),
        ("place.name", "place.name is missing"),
        ("length", "length is 'far'; write a number"),
        ("by", "by is 'plane'; write foot, train or car"),
        ("other", "other is 5; write name, floor under it"),
        ("colour", "colour is not known here"),
        ("date", "date is missing"),
    ]


@pytest.mark.parametrize(
    ("field", "content", "words"),
    [
        ("length", None, "left empty; write a number"),
        ("length", True, "True; write a number"),
        ("length", float("nan"), "nan; write a number"),
        ("pair", (0, float("inf")), "[0, inf]; write a list of 2 numbers"),
        ("pair", (1, 2, 3), "[1, 2, 3]; write a list of 2 numbers"),
        ("likely", 80, "80; write a number above 0 and below 1"),
        ("people", 0, "0; write a whole number at least 1"),
        ("people", 2.5, "2.5; write a whole number at least 1"),
        ("date", "2026-10-14", "'2026-10-14'; write a date without quotes, like 2026-10-14"),
    ],
)
def test_what_a_field_does_not_take_is_told_what_to_write(field: str, content: object, words: str) -> None:
    ((path, message),) = refused(GOOD | {field: content})
    assert path == field
    assert message.startswith(f"{field} is {words}")


def test_fields_that_contradict_one_another_are_refused_after_each_is_good_alone() -> None:
    assert refused(GOOD | {"length": 51}) == [("", "length is too far by foot")]
    assert len(refused(GOOD | {"length": 51, "people": 0})) == 1


def test_an_optional_field_may_be_left_empty() -> None:
    assert read(Visit, GOOD | {"likely": None, "other": None}) == read(Visit, GOOD)


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.tuples(st.floats())))
def test_anything_else_is_refused_and_nothing_else_raised(given: dict[str, object]) -> None:
    refused(given)
