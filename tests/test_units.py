"""Units multiply, divide and compare, and a forgotten factor shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roi.units import ONE, Unit, UnitError

units = st.dictionaries(st.sampled_from(["USD", "gpu", "hour", "day", "step"]), st.integers(-3, 3).filter(bool), max_size=4).map(
    lambda powers: Unit(tuple(sorted(powers.items())))
)


@pytest.mark.parametrize(
    ("text", "powers"),
    [
        ("1", ()),
        ("USD", (("USD", 1),)),
        ("USD/(gpu*hour)", (("USD", 1), ("gpu", -1), ("hour", -1))),
        ("USD/gpu/hour", (("USD", 1), ("gpu", -1), ("hour", -1))),
        ("1/year", (("year", -1),)),
        ("gpu * hour / month", (("gpu", 1), ("hour", 1), ("month", -1))),
        ("hour*hour", (("hour", 2),)),
        ("day/day", ()),
    ],
)
def test_a_unit_is_read_as_a_product_of_base_units(text, powers):
    assert Unit.parse(text) == Unit(powers)


@pytest.mark.parametrize("text", ["", "USD/", "*USD", "USD per day", "2", "USD^2", "(USD", "USD)", "USD//day", "$"])
def test_what_is_no_unit_is_refused(text):
    with pytest.raises(UnitError, match=r"cannot read the unit .*; write it like USD"):
        Unit.parse(text)


@given(units)
def test_a_written_unit_is_read_back(unit):
    assert Unit.parse(str(unit)) == unit


@given(units, units)
def test_division_undoes_multiplication(one, other):
    assert one * other / other == one
    assert one * other == other * one
    assert one * ONE == one == one / ONE
    assert one / one == ONE


def test_hours_are_not_days_and_months_are_not_years():
    assert Unit.parse("hour") != Unit.parse("day")
    assert Unit.parse("month") * Unit.parse("1/year") != ONE
