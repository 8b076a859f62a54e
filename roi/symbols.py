"""Symbols: what a line's function is called with to learn its formula.

Arithmetic on a symbol builds a tree instead of a number; nothing is simplified, so the tree is what the analyst wrote.
Back ends turn the tree into text with a `Writer` of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, NoReturn


class SymbolError(TypeError):
    """A formula does something with its inputs that cannot be traced."""


class Constant(float):
    """A number with a name and a unit, such as `hours_per_day`; in arithmetic on numbers it is a plain float.

    Args:
        name: the name that formulas in every back end show.
        value: the number.
        unit: its unit, or "any" for a value that stands beside any unit.
    """

    def __new__(cls, name: str, value: float, unit: str) -> Constant:
        constant = super().__new__(cls, value)
        constant.name = name
        constant.unit = unit
        return constant

    name: str
    unit: str

    def _combine(self, other: object, operation: Callable[[float, object], object]) -> object:
        if isinstance(other, Constant):
            raise SymbolError(
                f"{self.name} and {other.name} are combined before they meet an input, which would lose their units; "
                "combine each with an input instead"
            )
        return operation(float(self), other)

    def __mul__(self, other: object):  # type: ignore[no-untyped-def]
        return NotImplemented if isinstance(other, Symbol) else self._combine(other, lambda a, b: a * b)  # type: ignore[operator]

    def __truediv__(self, other: object):  # type: ignore[no-untyped-def]
        return NotImplemented if isinstance(other, Symbol) else self._combine(other, lambda a, b: a / b)  # type: ignore[operator]


class Symbol:
    """A node of a formula. Supports + - * / ** and < <= > >= with symbols and plain numbers, and nothing else."""

    __array_ufunc__ = None  # NumPy functions refuse a symbol instead of mapping over it
    __hash__ = object.__hash__

    def __add__(self, other: object) -> Symbol:
        return Call("+", self, other)

    def __radd__(self, other: object) -> Symbol:
        return Call("+", other, self)

    def __sub__(self, other: object) -> Symbol:
        return Call("-", self, other)

    def __rsub__(self, other: object) -> Symbol:
        return Call("-", other, self)

    def __mul__(self, other: object) -> Symbol:
        return Call("*", self, other)

    def __rmul__(self, other: object) -> Symbol:
        return Call("*", other, self)

    def __truediv__(self, other: object) -> Symbol:
        return Call("/", self, other)

    def __rtruediv__(self, other: object) -> Symbol:
        return Call("/", other, self)

    def __pow__(self, other: object) -> Symbol:
        return Call("**", self, other)

    def __rpow__(self, other: object) -> Symbol:
        return Call("**", other, self)

    def __lt__(self, other: object) -> Symbol:
        return Call("<", self, other)

    def __le__(self, other: object) -> Symbol:
        return Call("<=", self, other)

    def __gt__(self, other: object) -> Symbol:
        return Call(">", self, other)

    def __ge__(self, other: object) -> Symbol:
        return Call(">=", self, other)

    def __eq__(self, other: object) -> NoReturn:
        raise SymbolError("a formula compares with == or !=, which rounding breaks; write it with <, <=, > or >=")

    __ne__ = __eq__

    def __bool__(self) -> NoReturn:
        raise SymbolError(
            "a formula asks whether a value is true (if, and, or, not, min, max), which one number can answer but "
            "ten thousand draws or a spreadsheet cannot. Instead of `a if x > 0 else b` write `where(x > 0, a, b)`; "
            "instead of `max(a, b)` write `maximum(a, b)`; instead of `x > 0 and y > 0` nest one where in another"
        )

    def __float__(self) -> NoReturn:
        raise SymbolError("a formula turns a value into a Python number (float, math, round); write plain arithmetic")

    __int__ = __index__ = __float__

    def __abs__(self) -> NoReturn:
        raise SymbolError("a formula uses abs(x); write maximum(x, 0 - x)")

    def __neg__(self) -> NoReturn:
        raise SymbolError("a formula uses -x; write 0 - x, which every back end reads the same way")

    def __iter__(self) -> NoReturn:
        raise SymbolError("a formula loops over a value; write total(line) or running(line)")

    def __str__(self) -> str:
        return Writer().write(self)

    def names(self) -> Iterator[str]:
        """Names of the inputs and lines the formula reads, in order, with repeats."""
        if isinstance(self, Name):
            yield self.name
        elif isinstance(self, Call):
            for argument in self.arguments:
                yield from argument.names()

    def numbers(self) -> Iterator[Number]:
        """The numbers and named constants in the formula, in order."""
        if isinstance(self, Number):
            yield self
        elif isinstance(self, Call):
            for argument in self.arguments:
                yield from argument.numbers()


class Name(Symbol):
    """An input or a line, by name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Number(Symbol):
    """A literal number or a named constant."""

    def __init__(self, value: float) -> None:
        self.value = value


class Call(Symbol):
    """An operator or helper with its arguments."""

    def __init__(self, operator: str, *arguments: object) -> None:
        self.operator = operator
        self.arguments = tuple(as_symbol(argument) for argument in arguments)


def as_symbol(value: object) -> Symbol:
    """A symbol unchanged, a plain number as a `Number`.

    Raises:
        SymbolError: anything else, such as text, a truth value or an array.
    """
    if isinstance(value, Symbol):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and type(value).__module__ != "numpy":
        return Number(value)
    raise SymbolError(f"a formula combines a value with {value!r}; only plain numbers, inputs and lines can be combined")


class Writer:
    """Turns a formula into text. This one writes Python; a back end overrides what it writes differently."""

    precedence: ClassVar = {"<": 1, "<=": 1, ">": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "**": 4}

    def write(self, symbol: Symbol) -> str:
        if isinstance(symbol, Name):
            return self.name(symbol.name)
        if isinstance(symbol, Number):
            return self.constant(symbol.value) if isinstance(symbol.value, Constant) else self.number(symbol.value)
        if isinstance(symbol, Call):
            if symbol.operator in self.precedence:
                return self.infix(symbol)
            return self.function(symbol.operator, [self.write(argument) for argument in symbol.arguments])
        raise TypeError(f"not a formula: {symbol!r}")

    def name(self, name: str) -> str:
        return name

    def constant(self, constant: Constant) -> str:
        return constant.name

    def number(self, value: float) -> str:
        return repr(value)

    def function(self, name: str, arguments: list[str]) -> str:
        return f"{name}({', '.join(arguments)})"

    def operator(self, operator: str) -> str:
        return f" {operator} "

    def infix(self, call: Call) -> str:
        left, right = call.arguments
        # Of equal rank, the left operand needs no brackets (a - b - c) except under a power, the right one always does.
        return (
            self.operand(left, call.operator, brackets_when_equal=call.operator == "**")
            + self.operator(call.operator)
            + self.operand(right, call.operator, brackets_when_equal=True)
        )

    def operand(self, symbol: Symbol, outer: str, brackets_when_equal: bool) -> str:
        text = self.write(symbol)
        if isinstance(symbol, Call) and symbol.operator in self.precedence:
            inner_rank, outer_rank = self.precedence[symbol.operator], self.precedence[outer]
            if inner_rank < outer_rank or (inner_rank == outer_rank and brackets_when_equal):
                return self.bracketed(text)
        return text

    def bracketed(self, text: str) -> str:
        return f"({text})"
