"""A model made of lines: `@line`, the helpers a line may call, and `Model`, which resolves, checks and evaluates them.

A line is a small function whose argument names are the inputs and lines it reads. It is written once and called by all:
with numbers for a result, with arrays for ten thousand draws, with symbols for a formula in another language.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from roi.symbols import Call, Constant, Name, Number, Symbol, SymbolError
from roi.units import ONE, Unit, UnitError

Axis = Literal["scalar", "site", "month"]
Array = np.ndarray[Any, np.dtype[np.float64]]

NEVER = Constant("never", float("inf"), "month")
"""A month that does not come within the horizon."""

UNDEFINED = Constant("not_defined", float("nan"), "any")
"""The value of a ratio whose denominator is zero."""


class ModelError(Exception):
    """The model itself is wrong: raised while it is built, never by a user's numbers."""


# --- helpers: everything a formula may use beside + - * / ** and comparisons ----------------------------------------------


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` where the condition holds, else `otherwise`."""
    if _any_symbol(condition, then, otherwise):
        return Call("where", condition, then, otherwise)
    return np.where(condition, then, otherwise)


def maximum(first: Any, second: Any) -> Any:
    """The larger of two values."""
    return Call("maximum", first, second) if _any_symbol(first, second) else np.maximum(first, second)


def minimum(first: Any, second: Any) -> Any:
    """The smaller of two values."""
    return Call("minimum", first, second) if _any_symbol(first, second) else np.minimum(first, second)


def total(values: Any) -> Any:
    """The sum of a line over its sites or months. Takes a line, never a calculation, so a sheet shows SUM(range)."""
    return _over_axis("total", values, lambda array: array.sum(axis=-1, keepdims=True))


def lowest(values: Any) -> Any:
    """The smallest value of a line over its sites or months."""
    return _over_axis("lowest", values, lambda array: array.min(axis=-1, keepdims=True))


def highest(values: Any) -> Any:
    """The largest value of a line over its sites or months."""
    return _over_axis("highest", values, lambda array: array.max(axis=-1, keepdims=True))


def running(values: Any) -> Any:
    """The sum of a line over the months up to and including each month."""
    return _over_axis("running", values, lambda array: array.cumsum(axis=-1))


REDUCTIONS = ("total", "lowest", "highest")


def _any_symbol(*arguments: Any) -> bool:
    return any(isinstance(argument, Symbol) for argument in arguments)


def _over_axis(helper: str, values: Any, function: Callable[[Array], Array]) -> Any:
    if isinstance(values, Symbol):
        if not isinstance(values, Name):
            raise SymbolError(f"{helper}({values}) is given a calculation; make the calculation a line and name it")
        return Call(helper, values)
    return function(np.asarray(values, dtype=float))


# --- lines ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One line of the model."""

    name: str
    label: str
    unit: Unit
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    note: str
    check: bool
    flag: str


@dataclass(frozen=True)
class Variable:
    """An input as the model sees it."""

    name: str
    unit: Unit
    axis: Axis


def line(unit: str, label: str, *, check: bool = False, flag: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a line of the model; the function itself is returned unchanged.

    Args:
        unit: the unit of the result, as in `USD/(gpu*hour)`.
        label: the words people read.
        check: the line must be zero, and every page shows whether it is.
        flag: the line is 1 where something is odd but legal, and every page then shows this sentence; `{name}` in it
            stands for the value of an input or line.
    """

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        arguments = tuple(inspect.signature(function).parameters)
        note = inspect.getdoc(function) or ""
        name = function.__name__
        function.line = Line(name, label, Unit.parse(unit), function, arguments, note, check, flag)  # type: ignore[attr-defined]
        return function

    return mark


def lines_of(module: Any) -> list[Line]:
    """The lines written in a module, in the order in which they are written.

    Raises:
        ModelError: two lines bear one name, so that Python kept only the second.
    """
    found = [value.line for value in vars(module).values() if hasattr(value, "line") and isinstance(value.line, Line)]
    written = [
        statement.name for statement in ast.parse(inspect.getsource(module)).body if isinstance(statement, ast.FunctionDef)
    ]
    for name in written:
        if written.count(name) > 1:
            raise ModelError(f"{module.__name__} has two lines named {name}; give one of them another name")
    return found


class Model:
    """Lines resolved against inputs: traced, ordered, and checked when built.

    Args:
        lines: the lines, in the order in which people read them.
        variables: the inputs, by name.

    Raises:
        ModelError: an unknown name, a duplicate, a circle, a formula that cannot be traced, units that do not add up, a site
            line that meets a month line without `total`, or an input that no line reads. The message names the line.
    """

    def __init__(self, lines: Iterable[Line], variables: Iterable[Variable]) -> None:
        self.variables = {variable.name: variable for variable in variables}
        self.lines: dict[str, Line] = {}
        for each in lines:
            if each.name in self.lines:
                raise ModelError(f"two lines are named {each.name}; give one of them another name")
            if each.name in self.variables:
                raise ModelError(f"{each.name} is both a line and an input; give one of them another name")
            self.lines[each.name] = each
        self._check_names()
        self.order = self._order()
        self.formulas = {name: self._trace(self.lines[name]) for name in self.order}
        self.axes: dict[str, Axis] = {name: variable.axis for name, variable in self.variables.items()}
        self._units = {name: variable.unit for name, variable in self.variables.items()}
        for name in self.order:
            self.axes[name] = self._axis(name, self.formulas[name])
            self._check_unit(name)

    def _check_names(self) -> None:
        known = [*self.variables, *self.lines]
        read = set()
        for each in self.lines.values():
            for argument in each.arguments:
                if argument not in known:
                    raise ModelError(
                        f"line {each.name} reads {argument}, which is neither a line nor an input{did_you_mean(argument, known)}"
                    )
                read.add(argument)
        unread = sorted(set(self.variables) - read)
        if unread:
            raise ModelError(
                f"no line reads the input {', '.join(unread)}; remove it from the inputs or write the line that uses it"
            )

    def _order(self) -> list[str]:
        """Names of all lines, each after those it reads, otherwise as written."""
        order: list[str] = []
        path: list[str] = []

        def visit(name: str) -> None:
            if name in order or name in self.variables:
                return
            if name in path:
                circle = [*path[path.index(name) :], name]
                raise ModelError(f"lines go round in a circle: {' -> '.join(circle)}")
            path.append(name)
            for argument in self.lines[name].arguments:
                visit(argument)
            path.pop()
            order.append(name)

        for name in self.lines:
            visit(name)
        return order

    def _trace(self, each: Line) -> Symbol:
        try:
            formula = each.function(*(Name(argument) for argument in each.arguments))
        except Exception as error:  # whatever a formula does that a symbol cannot follow is the same mistake
            raise ModelError(f"line {each.name} cannot be traced: {error}") from error
        if not isinstance(formula, Symbol):
            raise ModelError(f"line {each.name} returns {formula!r}, not a formula of its inputs")
        unused = [argument for argument in each.arguments if argument not in set(formula.names())]
        if unused:
            raise ModelError(f"line {each.name} names {', '.join(unused)} but its formula does not use it")
        return formula

    def _axis(self, name: str, formula: Symbol) -> Axis:
        if isinstance(formula, Name):
            return self.axes[formula.name]
        if not isinstance(formula, Call):
            return "scalar"
        inner: list[Axis] = [self._axis(name, argument) for argument in formula.arguments]
        if formula.operator in REDUCTIONS:
            if inner == ["scalar"]:
                raise ModelError(f"line {name}: {formula} has nothing to go over; {formula.arguments[0]} is a single number")
            return "scalar"
        if formula.operator == "running":
            if inner != ["month"]:
                raise ModelError(f"line {name}: {formula} must be given a line by month")
            return "month"
        kinds = {axis for axis in inner if axis != "scalar"}
        if len(kinds) > 1:
            raise ModelError(
                f"line {name}: {formula} mixes values by site with values by month; take total() of the site line first"
            )
        return kinds.pop() if kinds else "scalar"

    def _check_unit(self, name: str) -> None:
        declared = self.lines[name].unit
        try:
            found = self._unit(self.formulas[name])
        except UnitError as error:
            raise ModelError(f"line {name}: {error}") from None
        if found is not None and found != declared:
            raise ModelError(f"line {name} is declared in {declared}, but its formula {self.formulas[name]} gives {found}")
        self._units[name] = declared

    def _unit(self, formula: Symbol) -> Unit | None:
        """The unit of a formula; None where any unit fits (the number zero, `not_defined`)."""
        if isinstance(formula, Name):
            return self._units[formula.name]
        if isinstance(formula, Number):
            if isinstance(formula.value, Constant):
                return None if formula.value.unit == "any" else Unit.parse(formula.value.unit)
            return None if formula.value == 0 else ONE
        assert isinstance(formula, Call)
        units = [self._unit(argument) for argument in formula.arguments]
        if formula.operator in ("*", "/"):
            left, right = (ONE if unit is None else unit for unit in units)
            return left * right if formula.operator == "*" else left / right
        if formula.operator == "**":
            for part, unit in zip(formula.arguments, units, strict=True):
                if unit not in (None, ONE):
                    raise UnitError(f"in {formula}, {part} has the unit {unit}; a power takes pure numbers")
            return ONE
        compared = units[1:] if formula.operator == "where" else units
        known = [unit for unit in compared if unit is not None]
        if any(unit != known[0] for unit in known):
            names = [
                f"{part} in {unit}"
                for part, unit in zip(formula.arguments[-len(compared) :], compared, strict=True)
                if unit is not None
            ]
            raise UnitError(f"units do not add up in {formula}: {' and '.join(names)}")
        if formula.operator in ("<", "<=", ">", ">="):
            return ONE
        return known[0] if known else None

    @cached_property
    def flags(self) -> list[str]:
        """Names of the lines that are 1 where something is odd but legal."""
        return [name for name, each in self.lines.items() if each.flag]

    @cached_property
    def checks(self) -> list[str]:
        """Names of the lines that must be zero."""
        return [name for name, each in self.lines.items() if each.check]

    def unit(self, name: str) -> Unit:
        """The unit of a line or an input, by name."""
        return self._units[name]

    def behind(self, names: Iterable[str]) -> list[str]:
        """The lines that these lines are computed from, themselves included, in the order of computing."""
        found = set(names)
        for name in reversed(self.order):
            if name in found:
                found.update(self.lines[name].arguments)
        return [name for name in self.order if name in found]

    def evaluate(self, values: Mapping[str, Array], names: Iterable[str] | None = None) -> dict[str, Array]:
        """Every line's value.

        Args:
            values: every input's value, shaped `(draws, 1)`, `(draws, sites)` or `(draws, months)`; a first axis of 1
                serves all draws.
            names: the lines that are asked for, where not all are; only what they need is computed, and only they are returned.

        Returns:
            Values by line, in the order of the lines, shaped as the inputs are.

        Raises:
            ModelError: a line is not a finite number although its formula allows neither `never` nor `not_defined`.
        """
        known: dict[str, Array] = dict(values)
        order, wanted = (self.order, set(self.order)) if names is None else (self.behind(names), set(names))
        last_reader = {argument: name for name in order for argument in self.lines[name].arguments}
        # Both branches of a where are computed and one is thrown away, so a division by zero in the other is no error.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for name in order:
                each = self.lines[name]
                known[name] = each.function(*(known[argument] for argument in each.arguments))
                if name not in self._may_be_endless and not np.isfinite(known[name]).all():
                    raise ModelError(f"line {name} = {self.formulas[name]} is not a finite number for these inputs")
                for argument in each.arguments:
                    # What nobody reads any more gives its memory, still in the processor's cache, to the next line.
                    if last_reader[argument] == name and argument not in wanted:
                        del known[argument]
        return {name: known[name] for name in self.lines if name in known}

    @cached_property
    def _may_be_endless(self) -> set[str]:
        """Lines whose value may be `never` or `not_defined`: they say so, or read a line that does."""
        found: set[str] = set()
        for name in self.order:
            formula = self.formulas[name]
            if any(number.value in (NEVER,) or number.value != number.value for number in formula.numbers()):
                found.add(name)
            if found & set(self.lines[name].arguments):
                found.add(name)
        return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""
