"""Total cost of ownership: what each fleet's bill is made of, by month, by run, by release and by million tokens.

The bill's parts are the lines of the model that it sums, so a cost that is added to the model is a part here as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from roi import amounts
from roi.inputs import inputs, model
from roi.proposals import FLEETS, Proposal
from roi.results import Result

TRAINING = "training_cost"
"""The part of a bill that would be left if a GPU-hour were all that there is to pay: the hours that train, at their price."""

WORK = {"run": "A run", "release": "A release", "million_tokens": "A million tokens"}
"""What a fleet gets done: the end of the name of its line of cost, and how a page calls it."""


@dataclass(frozen=True)
class Part:
    """One part of a fleet's bill.

    Attributes:
        name: the line or input that says it for each site.
        cost: in USD/month, over the sites of the fleet.
        share: of the fleet's bill; not a number where the bill is zero.
    """

    name: str
    label: str
    cost: float
    share: float


@dataclass(frozen=True)
class Fleet:
    """What a fleet costs.

    Attributes:
        bill: in USD/month.
        per: USD for each of `WORK`; not a number where none is done or, for tokens, where nobody says how many.
    """

    name: str
    bill: float
    parts: tuple[Part, ...]
    per: dict[str, float]

    @property
    def training(self) -> Part:
        """The GPU-hours that train."""
        return next(each for each in self.parts if each.name == TRAINING)

    @property
    def largest_other(self) -> Part:
        """The largest part beside the GPU-hours that train."""
        return max((each for each in self.parts if each.name != TRAINING), key=lambda each: each.cost)


def total_cost(result: Result) -> tuple[Fleet, Fleet]:
    """The baseline fleet and the proposed fleet of a result."""
    baseline, proposed = (_fleet(result, fleet) for fleet in FLEETS)
    return baseline, proposed


def part_names() -> list[str]:
    """What a bill sums, the GPU cost by what the GPUs do."""
    lines = model().lines
    gpu = [name for name in lines["gpu_cost_difference"].arguments if name != "gpu_cost"]
    return [*gpu, *(name for name in lines["site_bill"].arguments if name != "gpu_cost")]


def _fleet(result: Result, fleet: str) -> Fleet:
    mine = [index for index, (each, _) in enumerate(result.proposal.regions) if each == fleet]
    bill = result[f"{fleet}_bill"]
    costs = {name: float(result[name][mine].sum()) for name in part_names()}
    return Fleet(
        fleet,
        bill,
        tuple(Part(name, _label(name), cost, cost / bill if bill else math.nan) for name, cost in costs.items()),
        {work: result[f"{fleet}_cost_per_{work}"] for work in WORK},
    )


def _label(name: str) -> str:
    lines = model().lines
    return lines[name].label if name in lines else inputs()[name].label


# --- what people and programs read ------------------------------------------------------------------------------------------


def answer(fleets: tuple[Fleet, Fleet]) -> str:
    """What the hours that train are of each bill, and what makes the proposed one higher or lower."""
    baseline, proposed = fleets
    return " ".join([*_shares(proposed, "Of the proposed bill"), *_shares(baseline, "Of the baseline bill"), _change(fleets)])


def _shares(fleet: Fleet, beginning: str) -> list[str]:
    """The share of training, and for the fleet that is proposed what else there is."""
    if not fleet.bill:
        return [f"The {fleet.name} bill is zero."]
    training, other = fleet.training, fleet.largest_other
    percent = math.floor(training.share * 100 + 0.5)
    said = f"{beginning} of {amounts.money(fleet.bill)} a month, GPU-hours that train are {percent} %"
    if fleet.name == FLEETS[0]:
        return [f"{said}."]
    rest = fleet.bill - training.cost
    largest = f", of which {_in_a_sentence(other.label)} {amounts.money(other.cost)}" if other.cost > 0 else ""
    return [f"{said} ({amounts.money(training.cost)}); all else is {100 - percent} % ({amounts.money(rest)}{largest})."]


NAMED = 3
"""Parts that the sentence on the change names, the largest first."""


def _change(fleets: tuple[Fleet, Fleet]) -> str:
    """How much higher or lower the proposed bill is, and by which parts."""
    baseline, proposed = fleets
    change = proposed.bill - baseline.bill
    changes = [(new.label, new.cost - old.cost) for old, new in zip(baseline.parts, proposed.parts, strict=True)]
    moved = sorted((each for each in changes if abs(each[1]) >= 0.005), key=lambda each: -abs(each[1]))
    if not moved:
        return "The two bills are the same."
    size = f"{amounts.money(abs(change))} a month {'higher' if change > 0 else 'lower'}" if abs(change) >= 0.005 else "as high"
    named = [f"{_in_a_sentence(label)} {_signed(amount)}" for label, amount in moved[:NAMED]]
    rest = [f"all else {_signed(sum(amount for _, amount in moved[NAMED:]))}"] if moved[NAMED:] else []
    return f"The proposed bill is {size}: {', '.join([*named, *rest])}."


def _signed(amount: float) -> str:
    return ("+" if amount > 0 else "") + amounts.money(amount)


def _in_a_sentence(label: str) -> str:
    return label if label[1:2].isupper() else label[0].lower() + label[1:]


@dataclass(frozen=True)
class Table:
    """A table as people read it: its heads, the first of the parts, and its rows, the last of which is their sum."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def by_month(fleets: tuple[Fleet, Fleet]) -> Table:
    """Each part of the two bills in USD/month with its share, and what changes from the one to the other."""
    (old, old_shares), (new, new_shares) = (
        (adding_up([each.cost for each in fleet.parts], 2), adding_up([each.share * 100 for each in fleet.parts], 1))
        for fleet in fleets
    )
    changes = [round(after - before, 2) for before, after in zip(old, new, strict=True)]
    columns = [
        ("Baseline a month", [_dollars(each, 2) for each in old]),
        ("Share", [_shown(each, 1, " %") for each in old_shares]),
        ("Proposed a month", [_dollars(each, 2) for each in new]),
        ("Share", [_shown(each, 1, " %") for each in new_shares]),
        ("Change", [("+" if each > 0 else "") + _dollars(each, 2) for each in changes]),
    ]
    return _table("Part of the bill", "The bill", columns, fleets)


def by_work(fleets: tuple[Fleet, Fleet]) -> Table | None:
    """What each part costs for a run, a release and a million tokens, as far as these are defined; None where none is."""
    columns = []
    for work, head in WORK.items():
        if all(math.isfinite(fleet.per[work]) for fleet in fleets):
            decimals = max(_decimals(fleet.per[work]) for fleet in fleets)
            for fleet in fleets:
                costs = adding_up([part.share * fleet.per[work] for part in fleet.parts], decimals)
                columns.append((f"{head}, {fleet.name}", [_dollars(each, decimals) for each in costs]))
    return _table("Part of the cost", "All of it", columns, fleets) if columns else None


def _table(first: str, last: str, columns: list[tuple[str, list[str]]], fleets: tuple[Fleet, Fleet]) -> Table:
    labels = [*(part.label for part in fleets[0].parts), last]
    return Table((first, *(head for head, _ in columns)), tuple(zip(labels, *(cells for _, cells in columns), strict=True)))


def adding_up(values: Sequence[float], decimals: int) -> list[float]:
    """The values rounded, and then their rounded sum, which they give exactly: what rounding leaves over is in the largest."""
    rounded, whole = [round(each, decimals) for each in values], round(sum(values), decimals)
    largest = max(range(len(values)), key=lambda index: abs(values[index]))
    rounded[largest] = round(rounded[largest] + whole - sum(rounded), decimals)
    return [*rounded, whole]


def _decimals(whole: float) -> int:
    """Cents, and as many places more as it takes to show five figures of a small whole."""
    return max(2, 4 - math.floor(math.log10(abs(whole)))) if whole else 2


def _dollars(value: float, decimals: int) -> str:
    return _shown(value, decimals, before="$")


def _shown(value: float, decimals: int, after: str = "", before: str = "") -> str:
    if not math.isfinite(value):
        return "not defined"
    return f"{'-' if value < 0 else ''}{before}{abs(value):,.{decimals}f}{after}"


def notes(result: Result) -> list[str]:
    """What a reader should know: what is not defined and how to define it, what the words mean, and whose figures these are."""
    said = []
    if not result["releases_per_month"]:
        said.append(
            "There are no releases in a month (releases_per_month is 0), so the cost of a run or a release is not defined."
        )
    if not result["tokens_per_step"]:
        said.append(
            "Tokens per step are not given, so there is no cost of a million tokens. Write `tokens_per_step: 4_194_304`, or what "
            "it is, under `inputs:` in the proposal: tokens of a sequence times sequences of a step, over all GPUs."
        )
    said += [
        "Idle is what is billed for each hour of training beyond that hour. A part of a run, a release or a million tokens is "
        "the part's share of the bill times the cost of the whole. Parts are rounded so that they add up as printed.",
        *stand_ins(result.proposal, ["baseline_bill", "proposed_bill"]),
    ]
    return said


def stand_ins(proposal: Proposal, lines: Iterable[str]) -> list[str]:
    """A sentence on the prices that stand in where the proposal gives none, of all that these lines are computed from.

    Utilisation is among them, since all that is idle hangs on it. Amounts of zero are left out: what is not there costs nothing.
    """
    read = {argument for name in model().behind(lines) for argument in model().lines[name].arguments}
    by_source: dict[str, list[str]] = {}
    for row in inputs().values():
        given = (
            [proposal.inputs] if row.axis == "scalar" else [proposal.sites[fleet][region] for fleet, region in proposal.regions]
        )
        is_price = row.price or row.name == "utilisation" or (row.unit.startswith("USD") and row.default)
        if is_price and row.name in read and not all(row.name in values for values in given):
            by_source.setdefault(f"{row.source.title}, {row.source.date}", []).append(f"{row.label} {row.show(row.default)}")
    listed = "; ".join(f"{', '.join(values)} ({source})" for source, values in by_source.items())
    return [f"Where the proposal gives none, these prices and shares stand in: {listed}."] if listed else []


def as_data(result: Result) -> dict[str, Any]:
    """Plain data for JSON: amounts in USD, each part by month and for each of what is done."""
    return {"proposal": result.proposal.key, "flags": result.flags, "notes": notes(result)} | {
        fleet.name: {
            "bill": fleet.bill,
            "per": fleet.per,
            "parts": {
                part.name: {"month": part.cost, "share": part.share}
                | {work: part.share * whole for work, whole in fleet.per.items()}
                for part in fleet.parts
            },
        }
        for fleet in total_cost(result)
    }
