"""How a result reads in words: the verdict, and each number on a page.

The sentences are data, so that the browser fills the very same ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from roi import amounts
from roi.breakeven import nearest
from roi.inputs import inputs, model
from roi.proposals import Proposal, provenance_flags
from roi.results import Result
from roi.sensitivity import Estimate, Sensitivity, without_effect
from roi.uncertain import stated_facts

if TYPE_CHECKING:
    from roi.information import Information
    from roi.portfolio import Odds
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
    "odds": "{odds} odds of a gain ({share} of {draws} draws). 8 in 10 outcomes lie between {low} and {high}.",
    "if_it_loses": "Where it loses, it loses {loss} on average.",
    "no_odds": "No input has a plausible range, so there are no odds.",
    "recommend_nothing": "Do not fund it: nothing that is compared here has {figure} above zero.",
    "recommend_now": "Fund it now: {figure} of {npv}, the highest of what is compared here.",
    "recommend_later": "Not now. {name}: {figure} of {npv}, against {now} for starting now.",
    "recommend_staged": "Measure first, for {cost}, then start or not: {figure} of {npv}, against {now} for starting now.",
    "recommend_other": "Not this. {name} instead: {figure} of {npv}, against {now} for starting this now.",
    "npv": "an NPV",
    "expected_npv": "an average NPV over the draws",
    "reverses": "'{name}' becomes better if {condition} about {value}.",
    "stands": "No {input} on its slider changes that.",
    "worst": "One outcome in twenty is worse than {worst}.",
    "cash_out": "The most out of pocket stays within {peak} in 9 of 10 outcomes.",
    "returns": "Comes back to zero in month {first}, and stays there from month {last}.",
    "returns_once": "Comes back to zero in month {first}, and stays there.",
    "returns_at_once": "No money is ever out of pocket.",
    "returns_never": "Does not come back to zero within {horizon}.",
    "returns_then_falls": "Comes back to zero in month {first}, and falls below it again.",
    "decides": "{now}, flips {flips}",
    "decides_never": "{now}, no allowed value flips the answer",
    "measure": "Measuring the {fact} first is worth at most {worth}; knowing everything at most {everything}.",
    "measure_together": "Measuring any one fact first is worth nothing; knowing everything is worth at most {everything}.",
    "measure_nothing": "Nothing is worth measuring first: the decision would be the same.",
    "sobol": "Sobol' indices, shares of the variance of the net gain with 95 % confidence",
    "pawn": "PAWN, how far knowing a fact moves the distribution of the net gain, 0 to 1 (median and both ends of ten slices)",
    "delta": "Delta, how far knowing a fact moves the density of the net gain, 0 to 1, with 95 % confidence",
    "as_asked": "{method}, as asked.",
    "none_correlated": "{method}, because no facts are correlated.",
    "some_correlated": "{method}, because shares of the variance cannot be told apart where facts are correlated: {pairs}.",
    "interactions": "{share} of the variance comes from facts acting together.",
    "without_effect": "A range that does not move the net gain: {facts}.",
    "nearly_sure": "More than 9 in 10",
    "hardly_ever": "Fewer than 1 in 10",
    "in_ten": "{count} in 10",
    "flips_below": "below {value}",
    "flips_from": "from {value}",
    "flips_above": "above {value}",
    "flips_nowhere": "no allowed value",
    "never_month": "not within {horizon}",
    "month": "month {month}",
    "no_cash_out": "at once",
    "undefined": "not defined",
    "averaged": "averaged",
}

ASKED_FIRST = ("value_per_release_day", "upfront_cost", "latency_saved")
"""Inputs whose break-even the verdict names first; the other main inputs follow."""

MEASURES = {"first_order": "First-order share", "total": "Total share", "pawn": "PAWN", "delta": "Delta"}
"""Heads of the columns of a sensitivity table."""

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
    if share >= 0.95:
        return SENTENCES["nearly_sure"]
    return SENTENCES["hardly_ever"] if share < 0.05 else SENTENCES["in_ten"].format(count=math.floor(share * 10 + 0.5))


def odds_sentence(simulation: Simulation | Odds | None) -> str:
    """The odds of a gain, what most outcomes lie between, and what a loss would be."""
    if simulation is None:
        return SENTENCES["no_odds"]
    sentence = SENTENCES["odds"].format(
        odds=odds(simulation.p_gain),
        share=f"{amounts.half_up(simulation.p_gain * 100, 0):.0f} %",
        draws=f"{simulation.draws:,}",
        low=amounts.money(simulation.p10),
        high=amounts.money(simulation.p90),
    )
    loss = simulation.expected_loss
    return f"{sentence} {SENTENCES['if_it_loses'].format(loss=amounts.money(loss))}" if loss else sentence


def worst_sentence(simulation: Simulation | None) -> str:
    """How bad it can plausibly get."""
    return SENTENCES["no_odds"] if simulation is None else SENTENCES["worst"].format(worst=amounts.money(simulation.p05))


def cash_out_sentence(simulation: Simulation | None) -> str:
    """How much money can plausibly be out of pocket."""
    return "" if simulation is None else SENTENCES["cash_out"].format(peak=amounts.money(simulation.peak_cash_out_p90))


def returns_sentence(result: Result) -> str:
    """When cumulative cash first comes back to zero and when it does so for good."""
    first, last = result["payback_month"], result["payback_sustained"]
    if not first:
        key = "returns_at_once"
    elif math.isinf(first):
        key = "returns_never"
    elif math.isinf(last):
        key = "returns_then_falls"
    else:
        key = "returns_once" if first == last else "returns"
    shown = {
        name: f"{amounts.half_up(month, 1):.1f}" for name, month in (("first", first), ("last", last)) if math.isfinite(month)
    }
    return SENTENCES[key].format(horizon=months(result["horizon"]), **shown)


def decides(result: Result, name: str, value: float | None) -> str:
    """What a main input is now, and where the answer flips."""
    key = "decides_never" if value is None else "decides"
    return SENTENCES[key].format(now=inputs()[name].show(result[name]), flips=flips(result, name, value))


def measure_sentence(found: Information) -> str:
    """What is most worth measuring before the decision, and what that is worth at most."""
    everything = amounts.money(found.evpi)
    if found.worthwhile:
        first = found.worthwhile[0]
        fact = first.label if first.label[1:2].isupper() else first.label[0].lower() + first.label[1:]
        return SENTENCES["measure"].format(fact=fact, worth=amounts.money(first.evppi), everything=everything)
    return SENTENCES["measure_together" if everything != amounts.money(0) else "measure_nothing"].format(everything=everything)


def influence_rows(found: Sensitivity) -> list[list[str]]:
    """A table of how each fact moves the net gain, its heads first, and then the fact that moves it most."""
    ordered = sorted(found.facts, key=lambda each: -list(each.measures.values())[-1].value)
    heads = ["Fact", *(MEASURES[name] for name in found.facts[0].measures)]
    return [heads, *([each.label, *(_estimate(found.method, of) for of in each.measures.values())] for each in ordered)]


def _estimate(method: str, found: Estimate) -> str:
    """A measure with its interval: a share as `35.1 % (28.5 to 41.7)`, any other as `0.237 (0.098 to 0.639)`."""
    # An estimate near 0 or 1 can lie a little beyond.
    value, low, high = (min(max(each, 0.0), 1.0) for each in (found.value, found.low, found.high))
    if method == "sobol":
        return f"{value * 100:.1f} % ({low * 100:.1f} to {high * 100:.1f})"
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def sensitivity_sentences(proposal: Proposal, found: Sensitivity) -> list[str]:
    """What facts do together, which ones do nothing, and which method says so and why."""
    sentences = []
    if found.interactions is not None:
        sentences.append(SENTENCES["interactions"].format(share=f"{found.interactions * 100:.0f} %"))
    if found.without_effect:
        sentences.append(without_effect_sentence(proposal, found.without_effect))
    key = "as_asked" if found.asked else "some_correlated" if found.correlated else "none_correlated"
    pairs = "; ".join(" and ".join(pair) for pair in found.correlated)
    return [*sentences, SENTENCES[key].format(method=SENTENCES[found.method], pairs=pairs)]


def without_effect_sentence(proposal: Proposal, paths: Sequence[str]) -> str:
    """The facts that have a range but do not move the net gain."""
    labels = {each.path: each.label for each in stated_facts(proposal)}
    return SENTENCES["without_effect"].format(facts="; ".join(labels[path] for path in paths))


def standing_flags(proposal: Proposal, today: date) -> list[str]:
    """What is odd but legal in where the proposal's numbers come from and in how sure they are, whatever a slider says."""
    idle = without_effect(proposal)
    return [*provenance_flags(proposal, today), *([without_effect_sentence(proposal, idle)] if idle else [])]


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
