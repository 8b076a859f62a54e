"""How a result reads in words: the verdict, and each number on a page.

The sentences are data, so that the browser fills the very same ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roi import amounts
from roi.breakeven import nearest
from roi.inputs import inputs, model
from roi.results import Result

if TYPE_CHECKING:
    from roi.simulate import Simulation

SENTENCES = {
    "pays": "Pays back in month {month}. Net gain {gain} over {horizon}.",
    "at_once": "No money is ever out of pocket. Net gain {gain} over {horizon}.",
    "relapses": "Comes back to zero in month {month} but does not stay there. Net gain {gain} over {horizon}.",
    "never": "Does not pay back within {horizon}. Net gain {gain}.",
    "even": "Saves nothing and costs nothing. Net gain {gain} over {horizon}.",
    "stops": "It stops paying back if {condition} {value}.",
    "starts": "It would pay back if {condition} {value}.",
    "firm": "No value of a single main input, within its range, changes that.",
    "odds": "{odds} odds of a gain ({share}). 8 in 10 outcomes lie between {low} and {high}.",
    "if_it_loses": "Where it loses, it loses {loss} on average.",
    "no_odds": "No input has a plausible range, so there are no odds.",
    "nearly_sure": "More than 19 in 20",
    "hardly_ever": "Fewer than 1 in 20",
    "in_ten": "{count} in 10",
    "flips_below": "below {value}",
    "flips_from": "from {value}",
    "flips_above": "above {value}",
    "flips_nowhere": "no allowed value",
    "never_month": "not within {horizon}",
    "month": "month {month}",
    "no_cash_out": "at once",
    "undefined": "not defined",
}

ASKED_FIRST = ("value_per_release_day", "upfront_cost", "latency_saved")
"""Inputs whose break-even the verdict names first; the other main inputs follow."""

TILES = ("net_gain", "npv", "payback_month", "peak_cash_out")
"""The lines that stand at the top of every page."""


LEFT_OUT = (
    "Spot pre-emptions and price changes within the horizon; taxes and depreciation; revenue that an earlier release wins for "
    "good; the worth of surviving the loss of a region. Cash is counted at the end of its month. Net gain is not discounted; NPV "
    "is, at an effective annual rate."
)
"""What the model does not count, said on every page."""


def main_inputs() -> list[str]:
    """Names of the inputs that stand up front, in their order."""
    return [row.name for row in sorted((row for row in inputs().values() if row.main), key=lambda row: row.main or 0)]


def asked() -> list[str]:
    """Main inputs in the order in which the verdict looks for a break-even."""
    return [*ASKED_FIRST, *(name for name in main_inputs() if name not in ASKED_FIRST)]


def months(count: float) -> str:
    """`18 months`, `1 month`."""
    return f"{amounts.figures(count)} month{'' if count == 1 else 's'}"


def whole_month(month: float) -> str:
    """A month in a sentence: the nearest whole one."""
    return amounts.figures(math.floor(month + 0.5))


def show_line(result: Result, name: str) -> str:
    """The value of a scalar line as a page shows it."""
    value, unit = result[name], str(model().unit(name))
    if value != value:
        return SENTENCES["undefined"]
    if name.startswith("payback_"):
        if math.isinf(value):
            return SENTENCES["never_month"].format(horizon=months(result["horizon"]))
        return SENTENCES["month"].format(month=f"{amounts.half_up(value, 1):.1f}") if value else SENTENCES["no_cash_out"]
    if unit == "USD":
        return amounts.money(value)
    return amounts.quantity(value, unit)


def flips(result: Result, name: str, value: float | None) -> str:
    """Beyond which value of an input the answer flips, as `below $227K/day`."""
    if value is None:
        return SENTENCES["flips_nowhere"]
    row = inputs()[name]
    key = "flips_below" if value < result[name] else "flips_from" if row.whole else "flips_above"
    return SENTENCES[key].format(value=row.show(value))


def odds(share: float) -> str:
    """A probability as people say it: `7 in 10`."""
    if share > 0.95:
        return SENTENCES["nearly_sure"]
    return SENTENCES["hardly_ever"] if share < 0.05 else SENTENCES["in_ten"].format(count=math.floor(share * 10 + 0.5))


def odds_sentence(simulation: Simulation | None) -> str:
    """The odds of a gain, what most outcomes lie between, and what a loss would be."""
    if simulation is None:
        return SENTENCES["no_odds"]
    sentence = SENTENCES["odds"].format(
        odds=odds(simulation.p_gain),
        share=f"{amounts.half_up(simulation.p_gain * 100, 0):.0f} %",
        low=amounts.money(simulation.p10),
        high=amounts.money(simulation.p90),
    )
    loss = simulation.expected_loss
    return f"{sentence} {SENTENCES['if_it_loses'].format(loss=amounts.money(loss))}" if loss else sentence


def condition(result: Result) -> str:
    """What would have to be true for the answer to flip, as a sentence."""
    gains = result["net_gain"] >= 0
    for name in asked():
        value = nearest(result, name)
        if value is not None:
            row = inputs()[name]
            # The answer flips beyond the crossing, on the side away from the present value.
            words = row.less if value < result[name] else row.more
            # The words already say per what: "a release day is worth less than $227K".
            shown = row.show(value).split("/")[0] if row.unit.startswith("USD") else row.show(value)
            return SENTENCES["stops" if gains else "starts"].format(condition=words, value=shown)
    return SENTENCES["firm"]


def verdict(result: Result) -> str:
    """The answer in one or two sentences: whether and when it pays back, how much, and what would change that."""
    first, gain = result["payback_month"], result["net_gain"]
    if not first:
        key = "at_once" if gain else "even"
    elif math.isinf(first):
        key = "never"
    else:
        key = "pays" if gain >= 0 else "relapses"
    month = whole_month(first) if math.isfinite(first) else ""
    answer = SENTENCES[key].format(month=month, gain=amounts.money(gain), horizon=months(result["horizon"]))
    return f"{answer} {condition(result)}"
