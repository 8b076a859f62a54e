"""Units of measurement: parse, multiply, divide, compare.

A unit is a product of base units raised to whole powers. Every base unit is unrelated to every other, `hour` to `day` and
`month` to `year` included, so a conversion factor left out of a formula shows as a unit that does not add up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class UnitError(ValueError):
    """A unit cannot be read, or two units cannot be combined."""


@dataclass(frozen=True)
class Unit:
    """Base units and their powers, sorted by name; the empty product is the unit of a pure number, written `1`."""

    powers: tuple[tuple[str, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Unit:
        """Read `USD/(gpu*hour)`, `1/year` or `1`.

        Raises:
            UnitError: the text is not a product and quotient of base units.
        """
        return _Parser(text).parse()

    def __mul__(self, other: Unit) -> Unit:
        return self._combined(other, 1)

    def __truediv__(self, other: Unit) -> Unit:
        return self._combined(other, -1)

    def _combined(self, other: Unit, sign: int) -> Unit:
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, 0) + sign * power
        return Unit(tuple(sorted((name, power) for name, power in powers.items() if power)))

    def __str__(self) -> str:
        def product(factors: list[tuple[str, int]]) -> str:
            return "*".join(name for name, power in factors for _ in range(abs(power)))

        above = [factor for factor in self.powers if factor[1] > 0]
        below = [factor for factor in self.powers if factor[1] < 0]
        top = product(above) or "1"
        if not below:
            return top
        bottom = product(below)
        return f"{top}/({bottom})" if "*" in bottom else f"{top}/{bottom}"


ONE = Unit()


class _Parser:
    """Recursive descent over `factor (('*' | '/') factor)*`, where a factor is a name, `1` or a bracketed unit."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"[A-Za-z]+|\S", text)
        self.at = 0

    def parse(self) -> Unit:
        unit = self.product()
        if self.at < len(self.tokens):
            raise self.error()
        return unit

    def product(self) -> Unit:
        unit = self.factor()
        while self.peek() in ("*", "/"):
            operator = self.take()
            right = self.factor()
            unit = unit * right if operator == "*" else unit / right
        return unit

    def factor(self) -> Unit:
        token = self.take()
        if token == "1":
            return ONE
        if token.isalpha():
            return Unit(((token, 1),))
        if token == "(":
            unit = self.product()
            if self.take() == ")":
                return unit
        raise self.error()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def error(self) -> UnitError:
        return UnitError(f"cannot read the unit '{self.text}'; write it like USD/(gpu*hour), 1/year or 1")
