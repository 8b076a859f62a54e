"""Lines: what the model refuses when it is built, its three axes, and the shapes of what it computes."""

import importlib.util

import numpy as np
import pytest

from roi.lines import (
    NEVER,
    UNDEFINED,
    Model,
    ModelError,
    Variable,
    did_you_mean,
    highest,
    line,
    lines_of,
    lowest,
    maximum,
    minimum,
    running,
    total,
    where,
)
from roi.symbols import Constant, Name, SymbolError
from roi.units import Unit

hours_per_day = Constant("hours_per_day", 24, "hour/day")

HOURS = Variable("hours", Unit.parse("hour"), "scalar")
BILL = Variable("bill", Unit.parse("USD"), "site")
CASH = Variable("cash", Unit.parse("USD"), "month")
MONTH = Variable("month", Unit.parse("month"), "month")


def built(*functions, variables):
    return Model([function.line for function in functions], variables)


@line("day", "Days")
def days(hours):
    return hours / hours_per_day


def refused(*functions, variables):
    with pytest.raises(ModelError) as error:
        built(*functions, variables=variables)
    return str(error.value)


# --- what is refused when the model is built ----------------------------------------------------------------------------------


def test_an_unknown_name_is_refused_with_what_was_meant():
    @line("day", "Days")
    def days(huors):
        return huors / hours_per_day

    assert refused(days, variables=[HOURS]) == "line days reads huors, which is neither a line nor an input; did you mean hours?"


def test_a_circle_is_named():
    @line("hour", "One")
    def one(three):
        return three * 1

    @line("hour", "Two")
    def two(one):
        return one * 1

    @line("hour", "Three")
    def three(two):
        return two * 1

    said = "lines go round in a circle: one -> three -> two -> one"
    assert refused(one, two, three, variables=[]) == said


def test_two_lines_of_one_name_are_refused():
    assert refused(days, days, variables=[HOURS]) == "two lines are named days; give one of them another name"
    also = Variable("days", Unit.parse("day"), "scalar")
    assert "days is both a line and an input" in refused(days, variables=[HOURS, also])


def test_a_line_written_twice_in_a_module_is_refused(tmp_path):
    path = tmp_path / "twice.py"
    once = 'from roi.lines import line\n\n@line("1", "A")\ndef a(b):\n    return b\n'
    path.write_text(once + once)
    spec = importlib.util.spec_from_file_location("twice", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(ModelError, match="twice has two lines named a"):
        lines_of(module)


def test_a_formula_that_cannot_be_traced_is_refused_with_its_name():
    @line("hour", "Most hours")
    def most(hours):
        return max(hours, 0)

    assert refused(most, variables=[HOURS]).startswith("line most cannot be traced: a formula asks whether a value is true")

    @line("hour", "Constant")
    def constant(hours):
        return 24

    assert refused(constant, variables=[HOURS]) == "line constant returns 24, not a formula of its inputs"


def test_an_argument_or_an_input_that_nothing_uses_is_refused():
    @line("hour", "Same")
    def same(hours, cash):
        return hours * 1

    assert refused(same, variables=[HOURS, CASH]) == "line same names cash but its formula does not use it"
    assert "no line reads the input cash" in refused(days, variables=[HOURS, CASH])


@pytest.mark.parametrize(
    ("unit", "formula", "variables", "said"),
    [
        ("day", lambda hours: hours * 1, [HOURS], "line odd is declared in day, but its formula hours * 1 gives hour"),
        ("day", lambda hours: hours * hours_per_day, [HOURS], "gives hour*hour/day"),
        (
            "USD",
            lambda cash, month: cash + month,
            [CASH, MONTH],
            "units do not add up in cash + month: cash in USD and month in month",
        ),
        ("USD", lambda cash: maximum(cash, 1), [CASH], "units do not add up in maximum(cash, 1)"),
        ("1", lambda cash, month: where(cash < month, 1, 0), [CASH, MONTH], "units do not add up in cash < month"),
        ("USD", lambda cash, hours: where(hours > 0, cash, hours), [CASH, HOURS], "units do not add up in where"),
        ("1", lambda hours: 2**hours, [HOURS], "in 2 ** hours, hours has the unit hour; a power takes pure numbers"),
    ],
)
def test_units_that_do_not_add_up_are_named(unit, formula, variables, said):
    formula.__name__ = "odd"
    assert said in refused(line(unit, "Odd")(formula), variables=variables)


def test_zero_never_and_not_defined_fit_any_unit():
    @line("USD", "Above zero")
    def above(cash):
        return where(cash > 0, cash, UNDEFINED)

    @line("month", "When")
    def when(month, above):
        return where(above > 0, month, NEVER)

    assert built(above, when, variables=[CASH, MONTH]).unit("when") == Unit.parse("month")


@pytest.mark.parametrize(
    ("formula", "variables", "said"),
    [
        (
            lambda bill, cash: bill + cash,
            [BILL, CASH],
            "mixes values by site with values by month; take total() of the site line first",
        ),
        (lambda hours: total(hours), [HOURS], "has nothing to go over; hours is a single number"),
        (lambda bill: running(bill), [BILL], "must be given a line by month"),
        (lambda bill: total(bill * 2), [BILL], "total(bill * 2) is given a calculation; make the calculation a line and name it"),
    ],
)
def test_axes_that_do_not_fit_are_named(formula, variables, said):
    formula.__name__ = "odd"
    assert said in refused(line("USD", "Odd")(formula), variables=variables)


def test_did_you_mean_says_nothing_where_nothing_is_near():
    assert did_you_mean("latency_savd", ["latency_saved", "gpus"]) == "; did you mean latency_saved?"
    assert did_you_mean("xyz", ["latency_saved", "gpus"]) == ""


# --- what is computed ---------------------------------------------------------------------------------------------------------


@line("USD", "Bills")
def bills(bill):
    return total(bill)


@line("USD", "Double bill")
def double_bill(bill, factor):
    return bill * factor


@line("USD", "Left")
def left(cash, bills):
    return cash - bills


@line("USD", "Sum so far")
def so_far(left):
    return running(left)


FACTOR = Variable("factor", Unit.parse("1"), "scalar")


@pytest.mark.parametrize("draws", [1, 7])
def test_shapes_are_draws_by_one_sites_or_months(draws):
    model = built(bills, double_bill, left, so_far, variables=[BILL, CASH, FACTOR])
    values = {"bill": np.ones((1, 3)), "cash": np.ones((1, 5)), "factor": np.arange(float(draws))[:, np.newaxis]}
    values["bill"] = np.repeat(values["bill"], draws, axis=0)
    found = model.evaluate(values)
    shapes = {name: found[name].shape for name in found}
    assert shapes == {"bills": (draws, 1), "double_bill": (draws, 3), "left": (draws, 5), "so_far": (draws, 5)}
    assert model.axes["bills"] == "scalar"
    assert found["so_far"][0].tolist() == [-2, -4, -6, -8, -10]  # 1 - 3 each month


def test_lines_come_in_the_order_in_which_they_are_written():
    model = built(so_far, left, bills, variables=[BILL, CASH])
    assert list(model.lines) == ["so_far", "left", "bills"]
    assert model.order.index("bills") < model.order.index("left") < model.order.index("so_far")


def test_a_line_that_is_no_number_is_an_error_and_never_a_silent_gap():
    @line("1/hour", "Inverse")
    def inverse(hours):
        return 1 / hours

    with pytest.raises(ModelError, match="line inverse = 1 / hours is not a finite number for these inputs"):
        built(inverse, variables=[HOURS]).evaluate({"hours": np.zeros((1, 1))})


@pytest.mark.parametrize(
    ("helper", "answer"), [(total, [[6.0]]), (lowest, [[1.0]]), (highest, [[3.0]]), (running, [[1.0, 3.0, 6.0]])]
)
def test_what_goes_over_an_axis(helper, answer):
    assert helper(np.array([[1.0, 2.0, 3.0]])).tolist() == answer
    assert str(helper(Name("cash"))) == f"{helper.__name__}(cash)"
    with pytest.raises(SymbolError):
        helper(Name("cash") + 1)


def test_what_goes_value_by_value():
    values = np.array([-1.0, 2.0])
    assert maximum(values, 0).tolist() == [0, 2]
    assert minimum(values, 0).tolist() == [-1, 0]
    assert where(values > 0, values, 5).tolist() == [5, 2]
    assert str(where(Name("cash") > 0, 1, 0)) == "where(cash > 0, 1, 0)"
