"""Symbols: the text of a traced formula means what the formula computes, and what cannot be traced is refused with advice."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roi.lines import maximum, minimum, where
from roi.symbols import Constant, Name, Symbol, SymbolError

a, b, c = Name("a"), Name("b"), Name("c")
days = Constant("hours_per_day", 24, "hour/day")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (a + b - c, "a + b - c"),
        (a - (b - c), "a - (b - c)"),
        (a + (b + c), "a + (b + c)"),
        (a / b / c, "a / b / c"),
        (a / (b * c), "a / (b * c)"),
        (a * (b + c), "a * (b + c)"),
        (a * b + c, "a * b + c"),
        ((a**b) ** c, "(a ** b) ** c"),
        (a ** (b**c), "a ** (b ** c)"),
        ((1 + a) ** (0 - b), "(1 + a) ** (0 - b)"),
        (2 - a, "2 - a"),
        (2 / a, "2 / a"),
        (2**a, "2 ** a"),
        (a * 1 + 0, "a * 1 + 0"),  # nothing is simplified
        (a / days, "a / hours_per_day"),
        (days * a, "hours_per_day * a"),
        (where(a < b, maximum(a, 0), minimum(b, c)), "where(a < b, maximum(a, 0), minimum(b, c))"),
    ],
)
def test_a_formula_is_written_as_it_was_made(formula, text):
    assert str(formula) == text


numbers = st.floats(0.5, 4).map(lambda value: round(value, 2))
TREES = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "2"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda parts: f"({' '.join(parts)})")
        # 1 < 2 alone is a Python truth value, which formulas refuse: an input stands on the left.
        | st.tuples(st.just("a"), st.sampled_from(["<", ">="]), inner).map(lambda parts: f"({' '.join(parts)})")
        | st.tuples(st.sampled_from(["maximum", "minimum"]), st.just("a"), inner).map(
            lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"
        )
    ),
    max_leaves=12,
)


@given(TREES, numbers, numbers, numbers)
def test_the_written_formula_computes_what_the_formula_computes(source, first, second, third):
    helpers = {"maximum": maximum, "minimum": minimum}
    traced = eval(source, helpers | {"a": a, "b": b, "c": c})  # our own text
    values = {"a": np.float64(first), "b": np.float64(second), "c": np.float64(third)}
    with np.errstate(all="ignore"):
        direct = eval(source, helpers | values)
        written = eval(str(traced), helpers | values)
    assert float(written) == pytest.approx(float(direct), nan_ok=True)


def test_names_and_numbers_are_listed_in_order():
    formula = a * days + where(b > 0, a, 1)
    assert list(formula.names()) == ["a", "b", "a"]
    assert [number.value for number in formula.numbers()] == [24, 0, 1]


@pytest.mark.parametrize(
    ("attempt", "advice"),
    [
        (lambda: a if a > 0 else b, r"write `where\(x > 0, a, b\)`"),
        (lambda: max(a, b), r"write `maximum\(a, b\)`"),
        (lambda: 0 < a < b, "nest one where in another"),
        (lambda: a and b, "asks whether a value is true"),
        (lambda: a == b, "write it with <, <=, > or >="),
        (lambda: a != b, "write it with <, <=, > or >="),
        (lambda: abs(a), r"write maximum\(x, 0 - x\)"),
        (lambda: -a, "write 0 - x"),
        (lambda: float(a), "write plain arithmetic"),
        (lambda: math.exp(a), "write plain arithmetic"),
        (lambda: int(a), "write plain arithmetic"),
        (lambda: sum(a), r"write total\(line\)"),
        (lambda: a + "1", "only plain numbers"),
        (lambda: a * True, "only plain numbers"),
        (lambda: a * None, "only plain numbers"),
        (lambda: a * np.array([1.0]), "only plain numbers"),
        (lambda: np.float64(2) * a, "only plain numbers"),
        (lambda: days * Constant("minutes_per_hour", 60, "minute/hour") * a, "combine each with an input instead"),
    ],
)
def test_what_cannot_be_traced_is_refused_with_what_to_write(attempt, advice):
    with pytest.raises(TypeError, match=advice):
        attempt()


@pytest.mark.parametrize("function", [np.minimum, np.exp, np.where, np.add])
def test_numpy_functions_do_not_map_over_a_symbol(function):
    arguments = {np.exp: [a], np.where: [a > 0, a, b]}.get(function, [a, 5.0])
    with pytest.raises((TypeError, SymbolError)):
        function(*arguments)


def test_a_constant_is_a_plain_number_among_numbers():
    assert 48 / days == 2
    assert days * 2.0 == 48
    assert not isinstance(days * 2.0, Symbol)
