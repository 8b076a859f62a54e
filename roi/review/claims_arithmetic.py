"""The arithmetic of a claim: amounts with units, what an expression comes to, and what a quantity of it would have to be.

A quantity is found by undoing the arithmetic from the outside in, so that its unit follows from the units of all else. What a
claim says of the payback model is asked of the model's own lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Literal

import numpy as np

from roi import amounts
from roi.breakeven import along, crossings
from roi.evidence.quantities import HOURS_PER_MONTH
from roi.inputs import inputs, model
from roi.payback import hours_per_day, minutes_per_hour, months_per_year, ms_per_hour
from roi.proposals import Proposal
from roi.results import Result, evaluate
from roi.symbols import Call, Constant, Name, Number, Symbol, Writer
from roi.units import ONE, Unit, UnitError

Relation = Literal["", "at least", "at most"]
FLIPPED: dict[Relation, Relation] = {"": "", "at least": "at most", "at most": "at least"}

CONSTANTS = {
    each.name: each
    for each in (
        ms_per_hour,
        Constant("seconds_per_minute", 60, "second/minute"),
        minutes_per_hour,
        hours_per_day,
        Constant("days_per_week", 7, "day/week"),
        Constant("hours_per_month", HOURS_PER_MONTH, "hour/month"),
        Constant("days_per_quarter", 91.25, "day/quarter"),
        Constant("quarters_per_year", 4, "quarter/year"),
        months_per_year,
        Constant("days_per_year", 365, "day/year"),
        Constant("gb_per_pb", 1_000_000, "GB/PB"),
    )
}
"""The factors that an expression may name. A month is a twelfth of 365 days, and a quarter a fourth of them."""

SHARES = ("share", "utilisation", "efficiency")
"""The last word of a name that is a share of a whole, and so lies between 0 and 1."""

ROUNDING = 1e-9
"""Relative; what the arithmetic of doubles may leave over."""

SMALLEST, LARGEST = 1e-15, 1e18
"""Sizes between which a number is written down, if it is not 0, and the second of which no calculation passes."""


class UnsolvableError(Exception):
    """No value of a quantity gives what is claimed."""


class NotSolvedError(Exception):
    """Whether a value of a quantity gives what is claimed cannot be found here."""


class NeverError(Exception):
    """A moment that a claim asks the model for does not come within the horizon."""


@dataclass(frozen=True)
class Amount:
    """A number with its unit.

    Attributes:
        value: not a number where it is not known.
        percent: it is shown in hundredths.
        rounding: how far it may be from what was meant, by the digits with which it was written.
        relation: what it bounds is at least or at most that; empty where it is just that.
    """

    value: float
    unit: Unit = ONE
    percent: bool = False
    rounding: float = 0.0
    relation: Relation = ""

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)

    @property
    def _shown_unit(self) -> str:
        return f"%{str(self.unit)[1:]}" if self.percent else str(self.unit)

    def __str__(self) -> str:
        """As the arithmetic shows it: `0.62 USD/(gpu*hour)`, `4 %`, `8`, and `unknown gpu` for what is not known."""
        if not self.known:
            return f"unknown {self._shown_unit}"
        number = amounts.figures(self.value * 100 if self.percent else self.value)
        return number if self._shown_unit == "1" else f"{number} {self._shown_unit}"

    @property
    def words(self) -> str:
        """As people read it: `$12.0M`, `40,323 GPUs`, `26.25 PB/year`."""
        if not self.known:
            return str(self)
        last = self._shown_unit.partition("/")[0].rpartition("*")[2]
        if last.isupper() and last != "USD":  # an abbreviation takes no s
            return f"{amounts.figures(self.value)} {amounts.unit_words(self._shown_unit)[0]}"
        return amounts.quantity(self.value, self._shown_unit)

    @property
    def bound(self) -> str:
        """As people read it, with what it bounds: `at most 64 GPUs`."""
        return f"{self.relation} {self.words}".strip()


@dataclass(frozen=True)
class Given:
    """A quantity of a claim, as it is written, and where it comes from if that is not the claim."""

    amount: Amount
    written: str
    source: str = ""

    @property
    def words(self) -> str:
        """As it is written, and what a percentage is understood as: `85 %, understood as 0.85`."""
        understood = f", understood as {amounts.plain(self.amount.value)}" if self.amount.percent and self.amount.known else ""
        return f"{self.written}{understood}{f' ({self.source})' if self.source else ''}"


@dataclass(frozen=True)
class Limit:
    """What a quantity is, or is at least or at most."""

    relation: Relation
    symbol: Symbol


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a claim.

    Attributes:
        what: how it is read, in words; empty for the claim as it stands.
        given: its quantities by name; one that is not known is what is asked for.
        derived: what follows from them, by name.
        arithmetic: what is to give the claimed amount; None for a claim that only states something.
        tolerance: how far the result may be from it, relative; None for the rounding of its own words.
        solve_for: the quantities for which another value is asked where the result differs.
        condition: what would have to be true, in words with `{name}` for amounts.
        limits: what quantities can be, by name.
        proposal: whose model an expression may name; None for none.
        line: where it stands in its file.
    """

    what: str = ""
    given: Mapping[str, Given] = field(default_factory=dict)
    derived: Mapping[str, Symbol] = field(default_factory=dict)
    arithmetic: Symbol | None = None
    claimed: Amount | None = None
    tolerance: float | None = None
    solve_for: tuple[str, ...] = ()
    condition: str = ""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    proposal: Proposal | None = None
    line: int | None = None

    @property
    def allowed(self) -> float:
        """How far a result may be from what is claimed. What bounds a number does so whatever that number's digits."""
        assert self.claimed is not None
        rounding = 0.0 if self.claimed.relation else self.claimed.rounding
        allowed = rounding if self.tolerance is None else self.tolerance * abs(self.claimed.value)
        return allowed + ROUNDING * abs(self.claimed.value)


def is_share(name: str, unit: Unit) -> bool:
    """Whether a quantity is a share of a whole, by its name and its unit."""
    return unit == ONE and name.rpartition("_")[2] in SHARES


class Quantities:
    """What the names in a reading stand for.

    Args:
        reading: the reading.
        found: other values for some of the quantities that it gives.
    """

    def __init__(self, reading: Reading, found: Mapping[str, Amount] | None = None) -> None:
        self.reading = reading
        self.found = dict(found or {})
        self._known: dict[str, Amount] = {}

    def __getitem__(self, name: str) -> Amount:
        """The amount of a name.

        Raises:
            UnitError: its units do not add up.
            ArithmeticError: it has no value.
            NeverError: it is a moment that does not come within the horizon.
        """
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]

    def _look_up(self, name: str) -> Amount:
        if name in self.found:
            return self.found[name]
        if name in self.reading.given:
            return self.reading.given[name].amount
        if name in self.reading.derived:
            amount = value(self.reading.derived[name], self)
            return replace(amount, percent=amount.percent or is_share(name, amount.unit))
        if name == "claimed" and self.reading.claimed:
            return self.reading.claimed
        if name in CONSTANTS:
            return Amount(float(CONSTANTS[name]), Unit.parse(CONSTANTS[name].unit))
        return Amount(self._of_the_model(name), model().unit(name))

    def _of_the_model(self, name: str) -> float:
        """A number of the model; not known where a quantity behind it is not."""
        behind = _inputs_behind(name) if name in model().lines else set()
        if any(name in behind and not self[name].known for name in self.reading.given):
            return math.nan
        number: float = self.result[name]
        if math.isnan(number):
            raise ArithmeticError(f"{name} is not defined for {self.result.proposal.key}; give the inputs that it needs")
        if math.isinf(number):
            what = "it never pays back" if "payback" in name or "recovery" in name else f"{spaced(name)} does not come"
            raise NeverError(f"{what} within the horizon, {amounts.quantity(self.result['horizon'], 'month')}")
        return number

    @cached_property
    def result(self) -> Result:
        """The model's numbers for the proposal, with the inputs that the reading gives."""
        assert self.reading.proposal is not None
        given = {name: self[name] for name in self.reading.given if name in inputs()}
        return evaluate(self.reading.proposal, {name: amount.value for name, amount in given.items() if amount.known})

    def derived(self) -> dict[str, Amount]:
        """What follows, as far as it is known."""
        found = {name: self[name] for name in self.reading.derived}
        return {name: amount for name, amount in found.items() if amount.known}


# --- what an expression comes to --------------------------------------------------------------------------------------------


def value(symbol: Symbol, quantities: Quantities) -> Amount:
    """The amount of an expression; not known where a part of it is not.

    Raises:
        UnitError: its units do not add up.
        ArithmeticError: it has no value.
        NeverError: it asks for a moment that does not come within the horizon.
    """
    if isinstance(symbol, Name):
        return quantities[symbol.name]
    if isinstance(symbol, Number):
        return Amount(symbol.value)
    assert isinstance(symbol, Call)
    left, right = (value(each, quantities) for each in symbol.arguments)
    return _combined(symbol.operator, left, right)


def _combined(operator: str, left: Amount, right: Amount) -> Amount:
    relation = _relation(operator, left, right)
    if operator in ("+", "-"):
        if left.unit != right.unit:
            raise UnitError(f"units do not add up in {left} {operator} {right}: {left.unit} and {right.unit}")
        found = left.value + right.value if operator == "+" else left.value - right.value
        return Amount(_within(found), left.unit, relation=relation)
    if operator == "*":
        # Whatever is not known, zero times it is zero.
        found = 0.0 if 0 in (left.value, right.value) else left.value * right.value
        return Amount(_within(found), left.unit * right.unit, relation=relation)
    if operator == "/":
        if right.value == 0:
            raise ZeroDivisionError(f"{left} is divided by zero")
        found = 0.0 if left.value == 0 else left.value / right.value
        return Amount(_within(found), left.unit / right.unit, relation=relation)
    for amount in (left, right):
        if amount.unit != ONE:
            raise UnitError(f"{amount} stands in a power, which takes pure numbers; its unit is {amount.unit}")
    if left.value < 0 and right.known and right.value % 1:
        raise ArithmeticError(f"{left} is below zero and has no power of {right}")
    if left.value == 0 and right.value < 0:
        raise ZeroDivisionError(f"zero has no power of {right}")
    try:
        found = left.value**right.value
    except OverflowError:  # which Python raises for a power alone
        found = math.inf
    return Amount(_within(found), relation=relation)


def _within(number: float) -> float:
    if abs(number) > LARGEST:
        raise OverflowError(f"a number is too large; nothing may pass {LARGEST:g}, so take other units")
    return number


def _relation(operator: str, left: Amount, right: Amount) -> Relation:
    """What a bound on one side of an operator makes of the result; below a line and in a power it is on what is above zero."""
    if left.relation and not right.relation:
        return left.relation if operator in ("+", "-") or right.value > 0 else FLIPPED[left.relation]
    if right.relation and not left.relation:
        rises = {"+": True, "-": False, "*": left.value > 0, "/": left.value < 0, "**": left.value > 1}
        return right.relation if rises[operator] else FLIPPED[right.relation]
    return left.relation if operator == "+" and left.relation == right.relation else ""


def equation(symbol: Symbol, quantities: Quantities) -> str:
    """An expression with its amounts and what it comes to, as in `64 gpu / 8 gpu = 8`.

    Raises:
        ArithmeticError: it has no value.
    """
    written = _Shown(quantities).write(symbol)
    if isinstance(symbol, Name):
        return f"{symbol.name} = {written}"
    try:
        return f"{written} = {value(symbol, quantities)}"
    except UnitError:
        return written


def derivation(name: str, quantities: Quantities) -> str:
    """A derived quantity with its amounts, as in `growth = 64 gpu / 8 gpu = 8`."""
    formula = quantities.reading.derived[name]
    written = formula.name if isinstance(formula, Name) else _Shown(quantities).write(formula)
    return f"{name} = {written} = {quantities[name]}"


class _Shown(Writer):
    """Writes an expression with the amounts that its names stand for."""

    def __init__(self, quantities: Quantities) -> None:
        self.quantities = quantities

    def name(self, name: str) -> str:
        return str(self.quantities[name])

    def constant(self, constant: Constant) -> str:
        return str(Amount(float(constant), Unit.parse(constant.unit)))

    def number(self, value: float) -> str:
        return amounts.figures(value)

    def operator(self, operator: str) -> str:
        return " \u00d7 " if operator == "*" else f" {operator} "


def preceding(symbol: Symbol, quantities: Quantities) -> list[str]:
    """The derivations behind an expression, each after those that it needs, but for those that are not known yet."""
    derived = quantities.reading.derived
    found: list[str] = []

    def visit(inner: Symbol) -> None:
        for name in inner.names():
            if name in derived and name not in found:
                visit(derived[name])
                found.append(name)

    visit(symbol)
    return [derivation(name, quantities) for name in dict.fromkeys(found) if quantities[name].known]


def of_the_model(quantities: Quantities) -> list[str]:
    """The lines of the model that lead from what a reading gives to what it asks for, with their amounts.

    Only lines of plain arithmetic that are a single number are shown; the others go over sites or months.
    """
    reading = quantities.reading
    if reading.proposal is None or reading.arithmetic is None:
        return []
    asked = [name for symbol in (reading.arithmetic, *reading.derived.values()) for name in symbol.names()]
    moved = {name for name in reading.given if name in inputs()}
    steps = []
    for name in model().behind(name for name in asked if name in model().lines):
        formula = model().formulas[name]
        if moved.isdisjoint(model().lines[name].arguments):
            continue
        moved.add(name)
        if model().axes[name] == "scalar" and _is_plain(formula) and quantities[name].known:
            steps.append(f"{name} = {_Shown(quantities).write(formula)} = {quantities[name]}")
    return steps


def _is_plain(formula: Symbol) -> bool:
    return not isinstance(formula, Call) or (
        formula.operator in ("+", "-", "*", "/", "**") and all(map(_is_plain, formula.arguments))
    )


# --- what a quantity would have to be ---------------------------------------------------------------------------------------


def times_read(symbol: Symbol, name: str, reading: Reading) -> int:
    """How often an expression reads a quantity, behind derived quantities and lines of the model as well."""
    counted: dict[str, int] = {}

    def of_name(other: str) -> int:
        if other == name:
            return 1
        if other not in counted:
            if other in reading.derived:
                counted[other] = of_symbol(reading.derived[other])
            else:
                counted[other] = int(reading.proposal is not None and other in model().lines and name in _inputs_behind(other))
        return counted[other]

    def of_symbol(inner: Symbol) -> int:
        return sum(map(of_name, inner.names()))

    return of_symbol(symbol)


def _inputs_behind(line: str) -> set[str]:
    return {argument for name in model().behind([line]) for argument in model().lines[name].arguments}


def solved(name: str, quantities: Quantities) -> tuple[Amount, list[str]]:
    """The value of a quantity at which the arithmetic gives what is claimed, and the steps that lead there.

    The arithmetic reads the quantity once, and is in the unit of what is claimed. Of what is claimed to be at least or at most a
    number the value is a bound as well.

    Raises:
        UnsolvableError: no value does it.
        NotSolvedError: whether one does cannot be found here.
    """
    reading, steps = quantities.reading, list[str]()
    assert reading.arithmetic is not None
    assert reading.claimed is not None
    claimed = replace(reading.claimed, rounding=reading.allowed)
    found = _undone(reading.arithmetic, claimed, name, quantities, steps)
    amount = replace(found, percent=reading.given[name].amount.percent, rounding=0.0)
    return amount, [*steps, f"{name} = {amount}"] if amount.percent else steps


def rounding(name: str, amount: Amount, reading: Reading) -> float:
    """How far the value that was solved for may be from what was meant, by the digits of what is claimed."""
    assert reading.claimed is not None
    claimed = replace(reading.claimed, value=reading.claimed.value + reading.claimed.rounding)
    try:
        return abs(solved(name, Quantities(replace(reading, claimed=claimed)))[0].value - amount.value)
    except (UnsolvableError, NotSolvedError):
        return 0.0


def _undone(symbol: Symbol, target: Amount, name: str, quantities: Quantities, steps: list[str]) -> Amount:
    """The value of a name at which an expression has the target's value."""
    if isinstance(symbol, Name):
        if symbol.name == name:
            return target
        if symbol.name in quantities.reading.derived:
            return _undone(quantities.reading.derived[symbol.name], target, name, quantities, steps)
        return _of_a_line(symbol.name, target, name, quantities, steps)
    assert isinstance(symbol, Call)
    if symbol.operator in ("*", "/"):
        return _undone_product(symbol, target, name, quantities, steps)
    left, right = symbol.arguments
    in_left = bool(times_read(left, name, quantities.reading))
    inner, other = (left, right) if in_left else (right, left)
    known = _known(other, quantities, steps)
    if symbol.operator == "**":
        needed = (_base if in_left else _exponent)(target, known, name, steps)
    elif symbol.operator == "+":
        needed = _step("-", target, known, steps)
    else:
        needed = _step("+", target, known, steps) if in_left else _step("-", known, target, steps)
    return _undone(inner, needed, name, quantities, steps)


def _base(target: Amount, exponent: Amount, name: str, steps: list[str]) -> Amount:
    """What has the target as its power: the root above zero, or the one below zero where only that does it."""
    if exponent.value == 0:
        raise UnsolvableError(f"whatever {spaced(name)} is, its power of zero is 1")
    if target.value >= 0:
        return _step("**", target, Amount(1 / exponent.value), steps)
    if exponent.value % 2 != 1:
        raise UnsolvableError(f"{target} is below zero, and no power of {exponent} is")
    zero = Amount(0.0)
    root = _step("**", _step("-", zero, target, steps), Amount(1 / exponent.value), steps)
    return _step("-", zero, root, steps)


def _exponent(target: Amount, base: Amount, name: str, steps: list[str]) -> Amount:
    """The power of a base that is the target, by logarithms."""
    if base.value == 1:
        raise UnsolvableError(f"whatever {spaced(name)} is, that power of 1 is 1")
    if base.value <= 0:
        raise NotSolvedError(f"{spaced(name)} stands in a power of {base}, for which this is not solved here")
    if target.value <= 0:
        raise UnsolvableError(f"no power of {base} is {target}")
    rises = base.value > 1
    found = math.log(target.value) / math.log(base.value)
    amount = Amount(found, relation=target.relation if rises else FLIPPED[target.relation])
    steps.append(f"log({target}) / log({base}) = {amount}")
    return amount


def _undone_product(symbol: Call, target: Amount, name: str, quantities: Quantities, steps: list[str]) -> Amount:
    """A product or quotient undone at once: the target over all other factors."""
    factors = list(_factors(symbol))
    at = next(place for place, (factor, _) in enumerate(factors) if times_read(factor, name, quantities.reading))
    inner, above = factors.pop(at)
    tops, bottoms = ([factor for factor, over in factors if over is wanted] for wanted in (True, False))
    if above and not tops:
        return _undone(inner, _step("*", target, _known(_product(bottoms), quantities, steps), steps), name, quantities, steps)
    others = Call("/", _product(tops), _product(bottoms)) if bottoms else _product(tops)
    known = _known(others, quantities, steps)
    if known.value == 0:
        raise UnsolvableError(f"whatever {spaced(name)} is, it is multiplied by zero")
    needed = _step("/", target, known, steps) if above else _step("/", known, target, steps)
    return _undone(inner, needed, name, quantities, steps)


def _product(factors: Sequence[Symbol]) -> Symbol:
    return reduce(lambda one, other: Call("*", one, other), factors) if factors else Number(1)


def _known(symbol: Symbol, quantities: Quantities, steps: list[str]) -> Amount:
    """The amount of a part that is known, with its step where it is a calculation."""
    if isinstance(symbol, Call):
        steps.append(equation(symbol, quantities))
    return value(symbol, quantities)


def _factors(symbol: Symbol, above: bool = True) -> Iterator[tuple[Symbol, bool]]:
    """The factors of a product, and whether each stands above the line."""
    if isinstance(symbol, Call) and symbol.operator in ("*", "/"):
        left, right = symbol.arguments
        yield from _factors(left, above)
        yield from _factors(right, above if symbol.operator == "*" else not above)
    else:
        yield symbol, above


def _step(operator: str, left: Amount, right: Amount, steps: list[str]) -> Amount:
    try:
        amount = _combined(operator, left, right)
    except OverflowError as error:
        raise NotSolvedError(str(error)) from error
    except ArithmeticError as error:
        raise UnsolvableError(str(error)) from error
    shown = "\u00d7" if operator == "*" else operator
    steps.append(f"{left} {shown} {right} = {amount}")
    return amount


def _of_a_line(line: str, target: Amount, name: str, quantities: Quantities, steps: list[str]) -> Amount:
    """The value of an input at which a line of the model meets a target.

    Where the line meets it once, what bounds the target bounds the input too, by whether the line rises.
    """
    row, result = inputs()[name], quantities.result
    found = crossings(result, name, target.value, line)
    if not found:
        raise UnsolvableError(f"no value of {spaced(name)} from {row.show_range(*row.range)} does it")
    # A whole input passes the target between two values, and a line that jumps at one, so only what meets it counts.
    tried = np.array(sorted({value - less for value in found for less in ((1.0, 0.0) if row.whole else (0.0,))}))
    there, first = along(result, {name: tried}, line), along(result, {name: np.array(row.range[:1])}, line)[0]
    allowed = max(target.rounding, 1e-6 * abs(target.value), ROUNDING * abs(first) if math.isfinite(first) else 0.0)
    meets = {
        "": np.abs(there - target.value) <= allowed,
        "at most": there <= target.value + allowed,
        "at least": there >= target.value - allowed,
    }[target.relation]
    met = tried[meets].tolist() if row.whole or not target.relation else found
    if not met:
        raise UnsolvableError(f"no value of {spaced(name)} from {row.show_range(*row.range)} does it")
    relation: Relation = ""
    if len(found) == 1:
        relation = target.relation if first < target.value else FLIPPED[target.relation]
    amount = Amount(min(met, key=lambda value: abs(value - result[name])), model().unit(name), relation=relation)
    steps.append(f"{line} = {target} where {name} = {amount}, by the model for {quantities.result.proposal.key}")
    return amount


def spaced(name: str) -> str:
    """A name as words."""
    return name.replace("_", " ")
