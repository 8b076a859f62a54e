"""The inputs of the model, read from `data/inputs.yaml`: what each is, its default, its range, its spread and its source."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from roi import amounts, payback, runway, total_cost
from roi.lines import Model, Variable, lines_of
from roi.problems import InputError, Problem
from roi.records import Record, RecordError, Share, SourceDate, read
from roi.units import Unit

ROOT = Path(__file__).resolve().parent.parent
INPUTS_FILE = ROOT / "data" / "inputs.yaml"
PRICE_AGE_DAYS = 180


class Source(Record, frozen=True):
    """Where a figure comes from, and whose word it is."""

    title: str
    date: SourceDate
    owner: str
    link: str = ""
    measured: bool = False


class Spread(Record, frozen=True):
    """Low and high, the share of outcomes between them, and the shape of the distribution."""

    low: float
    high: float
    covers: Share = 0.8
    shape: str = "triangular"


class Input(Record, frozen=True):
    """One row of `data/inputs.yaml`."""

    name: str
    label: str
    unit: str
    default: float
    range: tuple[float, float]
    slider: tuple[float, float, float]
    source: Source
    axis: Literal["scalar", "site"] = "scalar"
    spread: Spread | None = None
    whole: bool = False
    price: bool = False
    chosen: bool = False
    main: int | None = None
    less: str = ""
    more: str = ""
    note: str = ""

    def check_together(self) -> None:
        Unit.parse(self.unit)
        self.check(self.default)
        low, high, step = self.slider
        if not self.range[0] <= low < high <= self.range[1] or step <= 0:
            raise ValueError(f"slider {low} to {high} by {step} does not fit into the range {self.range[0]} to {self.range[1]}")
        if self.spread and not self.range[0] <= self.spread.low <= self.default <= self.spread.high <= self.range[1]:
            raise ValueError(f"spread {self.spread.low} to {self.spread.high} does not hold the default within the range")
        if self.main and not (self.less and self.more):
            raise ValueError("an input with `main` needs the words `less` and `more` of a break-even sentence")

    @property
    def display_unit(self) -> str:
        """The unit on a page: shares are shown as per cent, all else as it is."""
        return {"1": "%", "1/year": "%/year"}.get(self.unit, self.unit)

    def show(self, value: float) -> str:
        """A value of this input with its unit."""
        return amounts.quantity(value, self.display_unit)

    def show_range(self, low: float, high: float) -> str:
        """Two values of this input with the unit once: `40 to 180 ms/step`, `$100K to $400K/day`."""
        first = self.show(low)
        return f"{first.split('/' if self.unit.startswith('USD') else ' ')[0]} to {self.show(high)}"

    def check(self, value: Any) -> float:
        """The value as a number in the input's range.

        Raises:
            ValueError: text, a truth value, NaN, infinity, a fraction of something whole, or out of range; the message says what
                to write instead.
        """
        if isinstance(value, str):
            try:
                hint = f"write the number alone: {amounts.plain(amounts.parse_amount(value))}"
            except ValueError:
                hint = f"write a number alone, such as {amounts.plain(self.default)}"
            raise ValueError(f"{self.name} is the text '{value}'; {hint}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            kind = "left empty" if value is None else f"{type(value).__name__} {value!r}"
            raise ValueError(f"{self.name} is {kind}; write a number alone, such as {amounts.plain(self.default)}")
        try:
            value = float(value)
        except OverflowError as error:  # a whole number of more than 308 digits
            raise ValueError(f"{self.name} is out of range; {self.allowed}") from error
        if not math.isfinite(value):
            raise ValueError(f"{self.name} is {value}, which is not a finite number; {self.allowed}")
        if not self.range[0] <= value <= self.range[1]:
            raise ValueError(f"{self.name} is {amounts.plain(float(value))}{self._unit}, which is out of range; {self.allowed}")
        if self.whole and value != math.floor(value):
            raise ValueError(f"{self.name} is {amounts.plain(float(value))}, which is not whole; {self.allowed}")
        return float(value)

    @property
    def allowed(self) -> str:
        whole = "a whole number " if self.whole else ""
        return f"allowed is {whole}{amounts.plain(self.range[0])} to {amounts.plain(self.range[1])}{self._unit}"

    @property
    def _unit(self) -> str:
        return "" if self.unit == "1" else f" {self.unit}"


@cache
def inputs() -> dict[str, Input]:
    """Every input by name, in the order of the file.

    Raises:
        InputError: the file does not hold what it should; the message names the rows at fault.
    """
    try:
        rows = YAML(typ="safe").load(INPUTS_FILE)
    except (OSError, YAMLError) as error:
        raise InputError([Problem(f"cannot be read: {error}", str(INPUTS_FILE))]) from error
    if not isinstance(rows, dict):
        raise InputError([Problem("is not a table of inputs; write `name:` and under it its rows", str(INPUTS_FILE))])
    found, problems = {}, []
    for name, row in rows.items():
        if not isinstance(row, dict):
            problems.append(
                Problem(f"{name}: is {row!r}; write its label, unit, default and the rest under it", str(INPUTS_FILE))
            )
            continue
        try:
            # The file's lists become the tuples of the record; everything else must be of its type already.
            found[name] = read(Input, {"name": name} | {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
        except RecordError as error:
            problems += [Problem(f"{name}: {each.message}", str(INPUTS_FILE)) for each in error.mistakes]
    if problems:
        raise InputError(problems)
    return found


@cache
def model() -> Model:
    """The model over these inputs, traced and checked: payback, total cost, and runway."""
    variables = [Variable(each.name, Unit.parse(each.unit), each.axis) for each in inputs().values()]
    variables.append(Variable("is_proposed", Unit.parse("1"), "site"))
    variables.append(Variable("month", Unit.parse("month"), "month"))
    return Model([*lines_of(payback), *lines_of(total_cost), *lines_of(runway)], variables)
