"""The JavaScript back end: the traced model as one readable ES module of pure functions.

Each line is a function with the line's name and arguments; `evaluate` calls them in order. Numbers in, numbers out: a scalar line
is a number, a line by site or month an array. `simulate` runs through the same formulas for thousands of draws without a call or
an allocation for any of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

from roi.lines import REDUCTIONS, Model, ModelError
from roi.symbols import Call, Constant, Name, Symbol, Writer

_OVER_AXIS = (*REDUCTIONS, "running")

_HELPERS = """\
const total = (values) => {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum;
};
const lowest = (values) => {
  let low = Infinity;
  for (let i = 0; i < values.length; i++) low = Math.min(low, values[i]);
  return low;
};
const highest = (values) => {
  let high = -Infinity;
  for (let i = 0; i < values.length; i++) high = Math.max(high, values[i]);
  return high;
};
const running = (values) => { let sum = 0; return values.map((value) => (sum += value)); };
"""


class JavaScript(Writer):
    """Writes a formula in JavaScript, where only the helpers differ from Python."""

    def number(self, value: float) -> str:
        return repr(float(value)) if value % 1 else str(int(value))

    def function(self, name: str, arguments: list[str]) -> str:
        if name == "where":
            condition, then, otherwise = arguments
            return f"({condition} ? {then} : {otherwise})"
        return {"maximum": "Math.max", "minimum": "Math.min"}.get(name, name) + f"({', '.join(arguments)})"


class _InLoop(JavaScript):
    """Writes a formula inside of a loop over sites or months: of an array it takes the value at `i`, or all of it for a total."""

    def __init__(self, arrays: Collection[str]) -> None:
        self.arrays = arrays

    def write(self, symbol: Symbol) -> str:
        if isinstance(symbol, Call) and symbol.operator in REDUCTIONS:
            return JavaScript().write(symbol)
        return super().write(symbol)

    def name(self, name: str) -> str:
        return f"{name}[i]" if name in self.arrays else name


def module(model: Model, outcomes: Collection[str] = ()) -> str:
    """The source of an ES module that exports `evaluate(inputs, sites, months)` and one function for each line.

    `inputs` is an object of the scalar inputs, `sites` an array of objects of the site inputs with `is_proposed`, `months` an
    array of month numbers from 0. `evaluate` returns an object of all inputs and lines.

    Where `outcomes` names lines, scalar or by month, the module exports `simulate(inputs, sites, months, drawn)` as well. It
    returns these lines in every draw as an object of arrays: a line by month has all months of the first draw, then of the next.
    Each of `drawn` is `{name, site, values}`: an input, the index of the site or 0 for a scalar, and its value in each draw.

    Raises:
        ModelError: a formula uses a line both whole and value by value.
    """
    writer = JavaScript()
    constants: dict[str, Constant] = {}
    functions, calls = [], []
    for name in model.order:
        line, formula = model.lines[name], model.formulas[name]
        constants |= {number.value.name: number.value for number in formula.numbers() if isinstance(number.value, Constant)}
        arguments = ", ".join(line.arguments)
        functions.append(f"/** {line.label} [{line.unit}] */\nexport const {name} = ({arguments}) => {writer.write(formula)};\n")
        calls.append(f"  v.{name} = {_call(model, name)};\n")
    site_inputs = [name for name, variable in model.variables.items() if variable.axis == "site"]
    return "".join(
        [
            *(f"const {name} = {_literal(value)}; // {value.unit}\n" for name, value in constants.items()),
            _HELPERS,
            "\n",
            *functions,
            "\nexport function evaluate(inputs, sites, months) {\n",
            "  const v = { ...inputs, month: months };\n",
            f"  for (const name of {_listed(site_inputs)}) v[name] = sites.map((site) => site[name]);\n",
            *calls,
            "  return v;\n}\n",
            _simulate(model, outcomes) if outcomes else "",
        ]
    )


def _simulate(model: Model, outcomes: Collection[str]) -> str:
    """The function of many draws: a loop over them, in it the lines behind the outcomes, by site and by month in inner loops."""
    loops = _loops(model, model.behind(outcomes))
    place = {name: index for index, names in enumerate(loops) for name in names}
    read = {argument for name in place for argument in model.lines[name].arguments}
    scalars, by_site, by_month = (
        [name for name, each in model.variables.items() if name in read and each.axis == axis]
        for axis in ("scalar", "site", "month")
    )
    # Within its loop a value is a number; an array holds what is used after the loop, or in its next round.
    later = {each for name in place for each in model.lines[name].arguments if place.get(each) != place[name]}
    arrays = [
        name
        for name in place
        if model.axes[name] != "scalar" and (name in later or name in outcomes or _is_running(model.formulas[name]))
    ]
    writer = _InLoop({*by_site, *by_month, *arrays})
    months = [name for name in outcomes if model.axes[name] == "month"]
    numbers = [name for name in outcomes if name not in months]
    return "".join(
        [
            "\nexport function simulate(inputs, sites, months, drawn) {\n",
            "  const given = {};\n",
            f"  for (const name of {_listed(scalars)}) given[name] = Float64Array.of(inputs[name]);\n",
            f"  for (const name of {_listed(by_site)}) given[name] = Float64Array.from(sites, (site) => site[name]);\n",
            f"  const {{ {', '.join(by_site)} }} = given;\n",
            *(f"  const {name} = Float64Array.from(months);\n" for name in by_month),
            *(f"  const {name} = new Float64Array({model.axes[name]}s.length);\n" for name in arrays),
            "  const facts = drawn.filter(({ name }) => name in given)\n",
            "    .map(({ name, site, values }) => ({ place: given[name], site, values }));\n",
            "  const draws = drawn[0].values.length, found = {};\n",
            f"  for (const name of {_listed(numbers)}) found[name] = new Float64Array(draws);\n",
            f"  for (const name of {_listed(months)}) found[name] = new Float64Array(draws * months.length);\n",
            "  for (let draw = 0; draw < draws; draw++) {\n",
            "    for (const { place, site, values } of facts) place[site] = values[draw];\n",
            *(f"    const {name} = given.{name}[0];\n" for name in scalars),
            *(_loop(model, names, writer) for names in loops),
            *(f"    found.{name}[draw] = {name};\n" for name in numbers),
            *(f"    found.{name}.set({name}, draw * months.length);\n" for name in months),
            "  }\n  return found;\n}\n",
        ]
    )


def _loops(model: Model, names: list[str]) -> list[list[str]]:
    """The lines in the order of computing, together where one loop over the sites or the months can compute them."""
    loops: list[list[str]] = []
    known = set(model.variables)
    while left := [name for name in names if name not in known]:
        together: list[str] = []
        for axis in ("scalar", "site", "month"):
            for name in left:
                whole, single = _uses(model.formulas[name], REDUCTIONS)
                if model.axes[name] == axis and whole <= known and single <= known | set(together):
                    together.append(name)
            if together:
                break
        loops.append(together)
        known.update(together)
    return loops


def _loop(model: Model, names: list[str], writer: _InLoop) -> str:
    """The statements that compute some lines of one axis in one draw."""
    axis, statements = model.axes[names[0]], []
    for name in names:
        formula = model.formulas[name]
        if _is_running(formula):
            text = f"(i ? {name}[i - 1] : 0) + {writer.write(formula.arguments[0])}"
        else:
            text = writer.write(formula)
        statements.append(f"{'' if name in writer.arrays else 'const '}{writer.name(name)} = {text};\n")
    if axis == "scalar":
        return "".join(f"    {each}" for each in statements)
    inside = "".join(f"      {each}" for each in statements)
    return f"    for (let i = 0; i < {axis}s.length; i++) {{\n{inside}    }}\n"


def _is_running(formula: Symbol) -> TypeGuard[Call]:
    return isinstance(formula, Call) and formula.operator == "running"


def _listed(names: list[str]) -> str:
    return repr(names).replace("'", '"')


def _literal(value: Constant) -> str:
    return {float("inf"): "Infinity"}.get(float(value), "NaN" if value != value else repr(float(value)))


def _call(model: Model, name: str) -> str:
    """The call of a line's function, once, or once for each site or month."""
    whole, single = _uses(model.formulas[name])
    both = whole & {each for each in single if model.axes[each] != "scalar"}
    if both:
        raise ModelError(
            f"line {name} uses {', '.join(sorted(both))} both whole and value by value; make the total a line of its own"
        )
    by_value = [each for each in model.lines[name].arguments if each not in whole and model.axes[each] != "scalar"]
    arguments = ", ".join(f"v.{each}[i]" if each in by_value else f"v.{each}" for each in model.lines[name].arguments)
    if not by_value:
        return f"{name}({arguments})"
    return f"v.{by_value[0]}.map((_, i) => {name}({arguments}))"


def _uses(formula: Symbol, over_axis: Collection[str] = _OVER_AXIS, inside: bool = False) -> tuple[set[str], set[str]]:
    """Names that a formula uses whole, inside `total` and the like, and those that it uses value by value."""
    if isinstance(formula, Name):
        return ({formula.name}, set()) if inside else (set(), {formula.name})
    whole: set[str] = set()
    single: set[str] = set()
    if isinstance(formula, Call):
        for argument in formula.arguments:
            more_whole, more_single = _uses(argument, over_axis, inside or formula.operator in over_axis)
            whole |= more_whole
            single |= more_single
    return whole, single
