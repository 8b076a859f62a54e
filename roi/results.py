"""Evaluate a proposal, and ask the result where a number comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from roi import amounts
from roi.inputs import inputs, model
from roi.lines import Array, did_you_mean
from roi.proposals import FLEETS, Proposal

if TYPE_CHECKING:
    import pandas as pd

ZERO = 0.005
"""A check line counts as zero below this: half a cent, or half a per cent of a share."""


def arrays(proposal: Proposal) -> dict[str, Array]:
    """A proposal's numbers as the model takes them: `(1, 1)`, `(1, sites)` and `(1, months)`."""
    rows = inputs().values()
    values = {row.name: np.array([[proposal.number(row.name)]]) for row in rows if row.axis == "scalar"}
    for row in rows:
        if row.axis == "site":
            values[row.name] = np.array([[proposal.site_number(fleet, region, row.name) for fleet, region in proposal.regions]])
    values["is_proposed"] = np.array([[float(fleet == FLEETS[1]) for fleet, _ in proposal.regions]])
    values["month"] = np.arange(proposal.number("horizon") + 1)[np.newaxis]
    return values


@dataclass(frozen=True)
class Explanation:
    """A number, the formula that gives it, and the numbers that the formula reads."""

    name: str
    label: str
    value: float | list[float]
    unit: str
    formula: str
    parts: tuple[Explanation, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        shown = (
            amounts.quantity(self.value, self.unit)
            if isinstance(self.value, float)
            else f"{amounts.quantity(self.value[0], self.unit)} .. {amounts.quantity(self.value[-1], self.unit)}"
        )
        formula = f" = {self.formula}" if self.formula else "  (input)"
        lines = [f"{indent}{self.name}: {shown}{formula}"]
        for part in self.parts:
            lines += part._lines(indent + "  ")
        return lines


class Result:
    """Every line of the model for one proposal.

    `result.net_gain` is a float; `result["cumulative"]` an array of shape `(months,)`, a site line one of shape `(sites,)`.
    `result.payback_month` is infinite when the proposal does not pay back within the horizon.
    """

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.values = arrays(proposal)
        self.lines = model().evaluate(self.values)

    def __getitem__(self, name: str) -> Any:
        """The value of a line or input.

        Raises:
            KeyError: there is no line or input of that name.
        """
        values = self.lines[name] if name in self.lines else self.values.get(name)
        if values is None:
            raise KeyError(f"there is no line or input '{name}'{did_you_mean(name, [*self.lines, *self.values])}")
        return float(values[0, 0]) if model().axes[name] == "scalar" else values[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.lines]

    @cached_property
    def scalars(self) -> dict[str, float]:
        """The lines that are one number each."""
        return {name: self[name] for name in self.lines if model().axes[name] == "scalar"}

    @cached_property
    def months(self) -> dict[str, list[float]]:
        """The lines that have a value for each month, 0 to the horizon."""
        return {name: self[name].tolist() for name in self.lines if model().axes[name] == "month"}

    @cached_property
    def checks(self) -> dict[str, bool]:
        """Whether each check line is zero."""
        return {name: abs(self[name]) < ZERO for name in model().checks}

    @cached_property
    def flags(self) -> list[str]:
        """Sentences on what is odd but legal in the numbers."""
        sentences = []
        for name in model().flags:
            raised = self.lines[name][0]
            for index in np.flatnonzero(raised):
                sentences.append(_fill(model().lines[name].flag, self, int(index)))
        return sentences

    def explain(self, name: str) -> Explanation:
        """The tree of lines and inputs behind a number, with values and units."""
        value = self[name]
        line = model().lines.get(name)
        label = line.label if line else inputs()[name].label if name in inputs() else name
        return Explanation(
            name,
            label,
            value if isinstance(value, float) else value.tolist(),
            str(model().unit(name)),
            str(model().formulas[name]) if line else "",
            tuple(self.explain(argument) for argument in line.arguments) if line else (),
        )

    def to_frame(self) -> pd.DataFrame:
        """The lines by month, one row for each month."""
        import pandas as pd

        return pd.DataFrame(self.months, index=pd.RangeIndex(len(self["month"]), name="month"))


def _fill(sentence: str, result: Result, index: int) -> str:
    """A flag's sentence with the values of the site at `index`."""
    words = {"site": result.proposal.regions[index % len(result.proposal.regions)][1]}
    for name in model().axes:
        if "{" + name + "}" in sentence:
            values = (result.lines.get(name, result.values.get(name)))[0]  # type: ignore[index]
            value = float(values[index if len(values) > 1 else 0])
            words[name] = inputs()[name].show(value) if name in inputs() else amounts.quantity(value, str(model().unit(name)))
    return sentence.format(**words)


def evaluate(proposal: Proposal, overrides: Mapping[str, Any] | None = None, **more: Any) -> Result:
    """Every line for a proposal, with some inputs set to other values.

    Args:
        proposal: a loaded proposal.
        overrides: other values by name; a site's as `{"proposed.europe-west4.gpu_price": 12}`.
        more: other values of scalar inputs, as in `evaluate(proposal, latency_saved=90)`.

    Raises:
        InputError: an unknown name or a value that its input refuses.
    """
    changes = {**(overrides or {}), **more}
    return Result(proposal.with_values(changes) if changes else proposal)
