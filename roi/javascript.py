"""The JavaScript back end: the traced model as one readable ES module of pure functions.

Each line is a function with the line's name and arguments; `evaluate` calls them in order. Numbers in, numbers out: a scalar line
is a number, a line by site or month an array.
"""

from __future__ import annotations

from roi.lines import REDUCTIONS, Model, ModelError
from roi.symbols import Call, Constant, Name, Symbol, Writer

_OVER_AXIS = (*REDUCTIONS, "running")

_HELPERS = """\
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const lowest = (values) => values.reduce((low, value) => Math.min(low, value));
const highest = (values) => values.reduce((high, value) => Math.max(high, value));
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


def module(model: Model) -> str:
    """The source of an ES module that exports `evaluate(inputs, sites, months)` and one function for each line.

    `inputs` is an object of the scalar inputs, `sites` an array of objects of the site inputs with `is_proposed`, `months` an
    array of month numbers from 0. `evaluate` returns an object of all inputs and lines.

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
            f"  for (const name of {site_inputs!r}) v[name] = sites.map((site) => site[name]);\n".replace("'", '"'),
            *calls,
            "  return v;\n}\n",
        ]
    )


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


def _uses(formula: Symbol, inside: bool = False) -> tuple[set[str], set[str]]:
    """Names that a formula uses whole, inside `total` and the like, and those that it uses value by value."""
    if isinstance(formula, Name):
        return ({formula.name}, set()) if inside else (set(), {formula.name})
    whole: set[str] = set()
    single: set[str] = set()
    if isinstance(formula, Call):
        for argument in formula.arguments:
            more_whole, more_single = _uses(argument, inside or formula.operator in _OVER_AXIS)
            whole |= more_whole
            single |= more_single
    return whole, single
