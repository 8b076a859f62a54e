"""The pitch to a board: what the fleets cost a month as GPUs grow, and until when cash lasts with the deployment or without."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from roi import amounts, words
from roi.inputs import inputs
from roi.results import Result, evaluate
from roi.review.tco import Table, _dollars, stand_ins

GPU_COUNTS = (8, 16, 24, 32, 48, 64, 96, 128)
"""GPUs of the cost curve beside the proposal's own: from one machine of eight to twice the default fleet."""


@dataclass(frozen=True)
class Point:
    """The bills of a number of GPUs, in USD/month."""

    gpus: float
    baseline_bill: float
    proposed_bill: float
    bill_change: float


@dataclass(frozen=True)
class Pitch:
    """A result with its cost curve.

    Attributes:
        curve: from the fewest GPUs to the most.
        no_gain: the same, if none of the release gain comes in as cash.
    """

    result: Result
    curve: tuple[Point, ...]
    no_gain: Result

    @property
    def own(self) -> Point:
        """The point of the proposal's own GPUs."""
        return next(each for each in self.curve if each.gpus == self.result["gpus"])

    @property
    def has_runway(self) -> bool:
        """Whether the cash at hand is given."""
        return bool(self.result["cash_at_hand"])


def pitch(result: Result) -> Pitch:
    """The cost curve of a result, at `GPU_COUNTS` and at its own GPUs, and what its runway is without the release gain."""
    curve = []
    for gpus in sorted({*map(float, GPU_COUNTS), result["gpus"]}):
        found = evaluate(result.proposal, gpus=gpus)
        curve.append(Point(gpus, found.baseline_bill, found.proposed_bill, found.bill_change))
    return Pitch(result, tuple(curve), evaluate(result.proposal, value_per_release_day=0))


# --- what people and programs read ------------------------------------------------------------------------------------------


def cost_answer(found: Pitch) -> str:
    """What the proposal's own GPUs cost, what a GPU more adds, and the bill at the far end of the curve."""
    own, first, last = found.own, found.curve[0], found.curve[-1]
    far = first if own is last else last
    more = (last.proposed_bill - first.proposed_bill) / (last.gpus - first.gpus)
    cost = "costs" if own.gpus == 1 else "cost"
    return (
        f"{_gpus(own)} as proposed {cost} {amounts.money(own.proposed_bill)} a month, against {amounts.money(own.baseline_bill)} "
        f"in the baseline. Each GPU more adds {amounts.exact_money(more)} a month; {_gpus(far)} would cost "
        f"{amounts.money(far.proposed_bill)}."
    )


def runway_answer(found: Pitch) -> str:
    """Until when the cash lasts, and what the deployment takes of it at the worst; or how to learn that."""
    if not found.has_runway:
        return (
            "Until when the cash lasts is not known. Write `cash_at_hand` (in USD) and `burn` (in USD a month, spent net of "
            "income) under `inputs:` in the proposal."
        )
    result, money = found.result, amounts.money
    with_it, no_gain = lasts(result, "with"), lasts(found.no_gain, "with")
    also = "also" if no_gain == with_it else f"or {no_gain}"
    return (
        f"Cash of {money(result['cash_at_hand'])} lasts {lasts(result, 'without')} without the deployment; with it, {with_it}, "
        f"{also} if none of the release gain comes in as cash. At the worst the deployment needs "
        f"{money(result['peak_cash_out'])} more than doing nothing; the lowest cash is {money(result['lowest_cash_with'])} with "
        f"it, {money(result['lowest_cash_without'])} without."
    )


def _gpus(point: Point) -> str:
    return inputs()["gpus"].show(point.gpus)


def lasts(result: Result, side: str) -> str:
    """The runway `with` the deployment or `without` it, in a sentence on cash that lasts."""
    month = result[f"runway_{side}"]
    if math.isinf(month):
        return f"beyond {words.months(result['horizon'])}"
    return f"to month {amounts.half_up(month, 1):.1f}" if month else "not even over the start"


def cost_table(found: Pitch) -> Table:
    """The bills at each point of the curve, to the dollar, and of what is printed the change."""
    rows = []
    for each in found.curve:
        baseline, proposed = round(each.baseline_bill), round(each.proposed_bill)
        rows.append((_gpus(each), *(_dollars(amount, 0) for amount in (baseline, proposed, proposed - baseline))))
    return Table(("GPUs", "Baseline a month", "Proposed a month", "Change"), tuple(rows))


def runway_table(found: Pitch) -> Table | None:
    """Until when cash lasts and how low it goes; None where no cash at hand is given."""
    if not found.has_runway:
        return None
    sides = {
        "Without the deployment": (found.result, "without"),
        "With it": (found.result, "with"),
        "With it, no release gain as cash": (found.no_gain, "with"),
    }
    rows = [
        (label, lasts(result, side), *map(amounts.money, (result[f"lowest_cash_{side}"], float(result[f"cash_{side}"][-1]))))
        for label, (result, side) in sides.items()
    ]
    return Table(("", "Cash lasts", "Lowest cash", f"Cash at month {amounts.figures(found.result['horizon'])}"), tuple(rows))


def notes(found: Pitch) -> list[str]:
    """What is held along the curve, what the cash counts, and whose figures these are."""
    result = found.result
    said = [
        "Along the curve all is held but the number of GPUs, the length of a run included: here more GPUs do the same work in "
        "the same time, so the bill is a straight line. That more GPUs make a run shorter is not claimed; `roi scaling` is about "
        "that.",
    ]
    if found.has_runway:
        said.append(
            "Without the deployment cash falls by the burn of each month, what is spent net of income, today's bill included. "
            "With it, the deployment's upfront cost, its higher or lower bill and its gain come on top. Cash is counted at the "
            "end of its month, in a straight line within a month, and to the horizon."
        )
        if not result["burn"]:
            said.append("burn is 0, so that without the deployment the cash stays as it is. Is that meant?")
    elif result["burn"]:
        said.append(f"burn is {inputs()['burn'].show(result['burn'])}, but without `cash_at_hand` there is no runway.")
    return [*said, *stand_ins(result.proposal, ["baseline_bill", "proposed_bill"])]


def as_data(found: Pitch) -> dict[str, Any]:
    """Plain data for JSON: USD and months; a runway of null is beyond the horizon, and no runway where no cash is given."""
    result = found.result
    names = ("cash_at_hand", "burn", "horizon", "runway_without", "runway_with", "lowest_cash_without", "lowest_cash_with")
    runway = {name: result[name] for name in names} | {
        "peak_cash_out": result["peak_cash_out"],
        "runway_with_no_release_gain": found.no_gain["runway_with"],
        "cash_without": result["cash_without"].tolist(),
        "cash_with": result["cash_with"].tolist(),
    }
    return {
        "proposal": result.proposal.key,
        "curve": [asdict(each) for each in found.curve],
        "runway": runway if found.has_runway else None,
        "flags": result.flags,
        "notes": notes(found),
    }
