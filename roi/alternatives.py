"""What else could be done: nothing, now, later, a measurement first, or another proposal, side by side.

The table is that of HM Treasury's Green Book (Central Government Guidance on Appraisal and Evaluation): every alternative is
appraised against doing nothing, by present values, with the switching value at which it is no longer worth doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np

from roi import amounts, words
from roi.breakeven import nearest
from roi.inputs import inputs
from roi.lines import Array
from roi.problems import InputError
from roi.proposals import Pilot, Proposal
from roi.reading import load
from roi.results import Result
from roi.simulate import BLOCK, DRAWS, SEED, block_of, check_draws, evaluated
from roi.uncertain import uncertain
from roi.values import Value

ALTERNATIVE = "raise-utilisation"
"""The shipped proposal that every other is compared with: what could be done without a second region."""

NOTHING = "Do nothing"

LATER = 6
"""Months by which the start is put off in the table."""

MOST = 1_000_000
"""Draws; a regression is over all of them at once."""

KNOTS = 7
"""Places along the draws of a measured fact at which a regression line may bend, evenly by count."""

COLUMNS = {
    "name": "Alternative",
    "pv_cost": "Present value of costs",
    "pv_benefit": "Present value of benefits",
    "npv": "Net present value",
    "expected_npv": "Average NPV over the draws",
    "benefit_cost_ratio": "Benefit-cost ratio",
    "roi_net": "ROI, net",
    "p_gain": "Odds of a gain",
    "switching": "Switching value",
    "note": "Note",
}
"""Columns of the table with their heads."""


@dataclass(frozen=True)
class Alternative:
    """One row of the table, present values in USD of today.

    Attributes:
        kind: `nothing`, `now`, `later`, `staged` or `other`.
        pv_cost, pv_benefit, npv: of the base values; of a staged start, means over the draws.
        benefit_cost_ratio, roi_net: benefits, and net present value, over costs; NaN where nothing is spent.
        p_gain: the share of draws with a net gain above zero; None where nothing is uncertain.
        expected_npv: the mean net present value of the draws; None where nothing is uncertain.
        switching: the value of the input of `switching_input` at which the net present value is zero; None where no value does,
            and of a staged start, whose net present value is no line of the model.
        note: what it spends, learns or takes for granted, in a few words.
    """

    kind: Literal["nothing", "now", "later", "staged", "other"]
    name: str
    pv_cost: float
    pv_benefit: float
    npv: float
    benefit_cost_ratio: float
    roi_net: float
    p_gain: float | None
    expected_npv: float | None
    switching: float | None
    note: str


@cache
def known_alternative() -> Proposal:
    """The shipped proposal that others are compared with."""
    return load(ALTERNATIVE)


def others_to(proposal: Proposal) -> list[Proposal]:
    """What a proposal is compared with where nothing else is named: the shipped alternative, unless it is that itself."""
    return [each for each in (known_alternative(),) if each.key != proposal.key]


def alternative_result(proposal: Proposal, alternative: Proposal | None) -> Result | None:
    """The alternative in the proposal's world; None where there is none, or where it is the proposal itself."""
    if alternative is None or alternative.key == proposal.key:
        return None
    return Result(alternative.in_the_world_of(proposal))


def alternatives(
    proposal: Proposal,
    others: Sequence[Proposal] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    later: int = LATER,
) -> list[Alternative]:
    """The rows of the table: do nothing, now, later, staged where the proposal declares a pilot, and each other proposal.

    Args:
        proposal: a loaded proposal.
        others: other proposals, each in this one's world; the shipped alternative where none are given.
        draws: how many, 100 to a million.
        seed: of the draws of every row, from 0.
        later: months by which the start is put off, 1 to 60.

    Raises:
        InputError: draws, seed or months out of range, or a spread that no distribution has.
    """
    check_draws(draws, seed, MOST)
    if later not in range(1, 61):
        raise InputError(f"later is {later}; write a whole number of months from 1 to 60")
    if others is None:
        others = others_to(proposal)
    found = [Alternative("nothing", NOTHING, 0.0, 0.0, 0.0, np.nan, np.nan, 0.0, 0.0, None, "Spends nothing, gains nothing")]
    found += [_row(option, draws, seed) for option in _starts(proposal, later)]
    if proposal.pilot:
        found.append(_staged(proposal, proposal.pilot, draws, seed))
    return found + [_row(option, draws, seed) for option in _others(proposal, others)]


def expected_npvs(
    proposal: Proposal, others: Sequence[Proposal], draws: int = DRAWS, seed: int = SEED, later: int = LATER
) -> dict[str, float]:
    """The expected net present value of each alternative in USD, by its name; `alternatives` without the rest of the table."""
    found = {NOTHING: 0.0}
    for option in (*_starts(proposal, later), *_others(proposal, others)):
        drawn = _drawn(option.proposal, draws, seed, ["npv"])
        found[option.name] = Result(option.proposal).npv if drawn is None else float(drawn["npv"].mean())
    if proposal.pilot:
        staged = _staged(proposal, proposal.pilot, draws, seed)
        found[staged.name] = staged.npv
    return found


@dataclass(frozen=True)
class _Option:
    """An alternative that is a proposal of its own, before it is computed."""

    kind: Literal["now", "later", "other"]
    name: str
    proposal: Proposal
    note: str


def _starts(proposal: Proposal, later: int) -> list[_Option]:
    """The proposal itself, now and later."""
    wait, horizon = (words.months(proposal.number(name)) for name in ("wait", "horizon"))
    now = f"Start in {wait}" if proposal.number("wait") else "Start now"
    until = f"Learns nothing by waiting; the horizon still ends {horizon} from today"
    return [
        _Option("now", now, proposal, "Learns nothing before it spends"),
        _Option("later", f"Start {words.months(later)} later", starting_later(proposal, later), until),
    ]


def _others(proposal: Proposal, others: Sequence[Proposal]) -> list[_Option]:
    note = "What its own file does not set is as in the proposal"
    return [_Option("other", each.name, each.in_the_world_of(proposal), note) for each in others]


def starting_later(proposal: Proposal, months: int) -> Proposal:
    """The whole proposal so many months later, which may be beyond every horizon."""
    return replace(proposal, inputs={**proposal.inputs, "wait": Value(base=proposal.number("wait") + months)})


def cost_of_waiting(proposal: Proposal) -> float:
    """What one month of waiting takes from the net present value, in USD; below zero where it adds to it."""
    now, then = Result(proposal)["npv"], Result(starting_later(proposal, 1))["npv"]
    return float(now - then)


def switching_input() -> str:
    """The input whose switching value the table shows: the first that a verdict asks about."""
    return words.asked()[0]


def _row(option: _Option, draws: int, seed: int) -> Alternative:
    result = Result(option.proposal)
    drawn = _drawn(option.proposal, draws, seed, ["net_gain", "npv"])
    return Alternative(
        kind=option.kind,
        name=option.name,
        pv_cost=result.pv_cost,
        pv_benefit=result.pv_benefit,
        npv=result.npv,
        benefit_cost_ratio=result.benefit_cost_ratio,
        roi_net=result.roi_net,
        p_gain=None if drawn is None else float((drawn["net_gain"] > 0).mean()),
        expected_npv=None if drawn is None else float(drawn["npv"].mean()),
        switching=nearest(result, switching_input(), "npv"),
        note=option.note,
    )


def _staged(proposal: Proposal, pilot: Pilot, draws: int, seed: int) -> Alternative:
    """Pay for the pilot today, learn the measured facts, and start after it where what they tell promises a gain.

    It is worth E[max(E[NPV | measured], 0)] less the cost. Whether a draw goes on is for the expectation to say, since what was
    not measured is still unknown then; what it brings is the draw's own, so that costs and benefits add up.
    """
    names = ("net_gain", "npv", "pv_benefit", "pv_cost")
    drawn = _drawn(starting_later(proposal, pilot.months), draws, seed, names, pilot.measures)
    assert drawn is not None, "a pilot measures what is uncertain"
    goes = expected_given(np.array([drawn[path] for path in pilot.measures]), drawn["npv"]) > 0
    benefit, cost = (np.where(goes, drawn[name], 0.0).mean() for name in ("pv_benefit", "pv_cost"))
    npv, cost = float(benefit - cost - pilot.cost), float(cost + pilot.cost)
    measured = ", ".join(each.label for each in uncertain(proposal) if each.path in pilot.measures)
    started = _share(float(goes.mean()))
    return Alternative(
        kind="staged",
        name=f"Measure for {words.months(pilot.months)}, then start or not",
        pv_cost=cost,
        pv_benefit=float(benefit),
        npv=npv,
        benefit_cost_ratio=float(benefit) / cost if cost else np.nan,
        roi_net=npv / cost if cost else np.nan,
        p_gain=float((np.where(goes, drawn["net_gain"], 0.0) - pilot.cost > 0).mean()),
        expected_npv=npv,
        switching=None,
        note=f"Expected values; pays {amounts.money(pilot.cost)}, learns '{measured}', starts in {started} of draws",
    )


def _drawn(proposal: Proposal, draws: int, seed: int, names: Sequence[str], paths: Sequence[str] = ()) -> dict[str, Array] | None:
    """These scalar lines and facts' draws, by names and paths, each shaped `(draws,)`; None where nothing is uncertain."""
    facts = uncertain(proposal)
    if not facts:
        return None
    blocks = []
    for start in range(0, draws, BLOCK):
        values = block_of(proposal, facts, start, draws, seed)
        lines = evaluated(proposal, facts, values, names)
        drawn = {each.path: row for each, row in zip(facts, values, strict=True) if each.path in paths}
        blocks.append(drawn | {name: lines[name][:, 0] for name in names})
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def expected_given(measured: Array, values: Array) -> Array:
    """The expectation of a value in each draw, given what was measured in it, by least squares over all draws.

    The regression has a constant, for each fact a line that may bend at `KNOTS` quantiles (a linear spline), and the product of
    every two facts, since what is saved and what it is worth multiply. As in Strong, Oakley and Brennan, "Estimating
    multiparameter partial expected value of perfect information from a probabilistic sensitivity analysis sample: a nonparametric
    regression approach", Medical Decision Making 34 (2014).

    Args:
        measured: draws of each fact, shaped `(facts, draws)`.
        values: of the same draws, shaped `(draws,)`.

    Returns:
        Shaped `(draws,)`, in the unit of the values.
    """
    spread = measured.std(axis=1, keepdims=True)
    facts = (measured - measured.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    knots = np.quantile(facts, np.arange(1, KNOTS + 1) / (KNOTS + 1), axis=1)
    bends = [np.maximum(fact - knot, 0) for fact, own in zip(facts, knots.T, strict=True) for knot in own]
    products = [first * second for first, second in combinations(facts, 2)]
    terms = np.column_stack([np.ones_like(values), *facts, *bends, *products])
    # The same least squares, over as many rows as there are terms instead of draws, which takes a twentieth of the time.
    turned, square = np.linalg.qr(terms)
    smallest = np.finfo(float).eps * max(terms.shape)
    fitted: Array = terms @ np.linalg.lstsq(square, turned.T @ values, rcond=smallest)[0]
    return fitted


# --- what people read -------------------------------------------------------------------------------------------------------


def rows(found: Sequence[Alternative]) -> list[dict[str, str]]:
    """The table in words, by the names of `COLUMNS`."""
    return [
        {
            "name": each.name,
            "pv_cost": amounts.money(each.pv_cost),
            "pv_benefit": amounts.money(each.pv_benefit),
            # The present values of a measurement are averages over the draws and have no base values.
            "npv": words.SENTENCES["averaged"] if each.kind == "staged" else amounts.money(each.npv),
            "expected_npv": "not known" if each.expected_npv is None else amounts.money(each.expected_npv),
            "benefit_cost_ratio": _ratio(each.benefit_cost_ratio),
            "roi_net": _share(each.roi_net),
            "p_gain": "not known" if each.p_gain is None else _share(each.p_gain),
            "switching": _switching(each),
            "note": each.note,
        }
        for each in found
    ]


def sentences(proposal: Proposal, found: Sequence[Alternative], draws: int) -> list[str]:
    """What stands under the table: the cost of waiting, what the columns mean, and what is left out."""
    waiting, switching = cost_of_waiting(proposal), inputs()[switching_input()]
    said = [
        f"Waiting one month {'adds' if waiting < 0 else 'costs'} {amounts.money(abs(waiting))} of net present value.",
        "Present values are of the base values, discounted to today at "
        f"{amounts.quantity(proposal.number('discount_rate'), '%/year')}. ROI is Forrester's: net present value over the present "
        f"value of costs. The odds are the share of {draws:,} draws with a net gain above zero. The switching value is that of "
        f"'{switching.label}' at which the net present value is zero.",
    ]
    now, staged = (next((each for each in found if each.kind == kind), None) for kind in ("now", "staged"))
    if proposal.pilot and now and staged and now.expected_npv is not None:
        said.append(
            "All figures of the measurement are averages over the draws; compare its net present value with the average of the "
            f"others, {amounts.money(now.expected_npv)} for starting without it. What it takes: "
            f"{proposal.pilot.source or 'no source given'}."
        )
    return [*said, f"Left out: {words.LEFT_OUT}"]


def _switching(each: Alternative) -> str:
    if each.kind == "staged":
        return "not computed"
    return "none" if each.switching is None else inputs()[switching_input()].show(each.switching)


def _ratio(ratio: float) -> str:
    return words.SENTENCES["undefined"] if np.isnan(ratio) else f"{amounts.half_up(ratio, 2):.2f}"


def _share(share: float) -> str:
    return words.SENTENCES["undefined"] if np.isnan(share) else f"{amounts.half_up(share * 100, 0):.0f} %"
