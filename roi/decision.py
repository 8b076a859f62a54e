"""The recommendation: of the alternatives, the one with the highest expected net present value, and what would reverse it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from roi import amounts, words
from roi.alternatives import Alternative, alternatives, expected_npvs, others_to, switching_input
from roi.drivers import drivers
from roi.information import Information, value_of_measuring
from roi.inputs import inputs
from roi.proposals import Proposal
from roi.results import Result
from roi.simulate import DRAWS_ON_A_PAGE, on_a_page
from roi.uncertain import uncertain

DECIDERS = 3
"""Main inputs that are named as those that decide it."""

TRIED = 9
"""Values of the switching input, evenly along its slider, at which the alternatives are weighed again."""


@dataclass(frozen=True)
class Decision:
    """What to do, and why.

    Attributes:
        found: every alternative, the proposal's own start among them.
        best: the recommended one.
        information: what measuring is worth; None where nothing is uncertain.
        reversal: the value of the switching input, nearest to the present one, beyond which another alternative is best, in a
            straight line between the values tried; None where none of these does it.
        instead: that other alternative.
    """

    proposal: Proposal
    found: tuple[Alternative, ...]
    best: Alternative
    information: Information | None
    reversal: float | None
    instead: Alternative | None


@lru_cache(maxsize=64)
def decide(proposal: Proposal) -> Decision:
    """The recommendation for a proposal among the alternatives to it, over as many draws as a page carries."""
    others = others_to(proposal)
    found = tuple(alternatives(proposal, others, DRAWS_ON_A_PAGE))
    best = max(found, key=expected)
    information = value_of_measuring(proposal, DRAWS_ON_A_PAGE) if uncertain(proposal) else None
    reversal, instead = _reversal(proposal, others, found, best)
    by_name = {each.name: each for each in found}
    return Decision(proposal, found, best, information, reversal, by_name[instead] if instead else None)


def expected(alternative: Alternative) -> float:
    """The expected net present value in USD; that of the base values where nothing is uncertain."""
    return alternative.npv if alternative.expected_npv is None else alternative.expected_npv


def _reversal(
    proposal: Proposal, others: Sequence[Proposal], found: Sequence[Alternative], best: Alternative
) -> tuple[float | None, str | None]:
    """Where along the switching input another alternative becomes the best one, and which.

    The draws of the input move along with its value. Between two values tried, the lead of the best over the other is taken to
    fall in a straight line.
    """
    name = switching_input()
    low, high, _ = inputs()[name].slider
    now = proposal.number(name)

    @cache
    def weighed(value: float) -> dict[str, float]:
        if value == now:
            return {each.name: expected(each) for each in found}
        return expected_npvs(proposal.with_values({name: value}), others, DRAWS_ON_A_PAGE)

    tried = sorted({now, *np.linspace(low, high, TRIED).tolist()})
    at = tried.index(now)
    crossings = []
    for walk in (tried[at::-1], tried[at:]):
        for near, far in pairwise(walk):
            overtaking = max(weighed(far), key=weighed(far).__getitem__)
            if overtaking != best.name:
                leads = [weighed(value)[best.name] - weighed(value)[overtaking] for value in (near, far)]
                crossings.append((near + (far - near) * leads[0] / (leads[0] - leads[1]), overtaking))
                break
    return min(crossings, key=lambda each: abs(each[0] - now)) if crossings else (None, None)


def sentences(decision: Decision) -> list[str]:
    """The decision as it is read: the recommendation, the answer, its odds, what decides it, what to measure first."""
    result = Result(decision.proposal)
    odds = on_a_page(decision.proposal)[2]
    return [
        recommendation(decision),
        words.verdict(result),
        words.odds_sentence(odds),
        *([words.worst_sentence(odds), words.cash_out_sentence(odds)] if odds else []),
        words.returns_sentence(result),
        *(f"{inputs()[each.name].label}: {words.decides(result, each.name, each.flips)}." for each in drivers(result)[:DECIDERS]),
        *([words.measure_sentence(decision.information)] if decision.information else []),
    ]


def as_data(decision: Decision) -> dict[str, Any]:
    """The decision as plain data, money in USD."""
    return {
        "proposal": decision.proposal.key,
        "input_hash": decision.proposal.fingerprint,
        "draws": DRAWS_ON_A_PAGE,
        "recommendation": recommendation(decision),
        "best": decision.best.kind,
        "reversal": None if decision.reversal is None else {switching_input(): decision.reversal},
        "instead": decision.instead.kind if decision.instead else None,
        "alternatives": [asdict(each) for each in decision.found],
        "information": asdict(decision.information) if decision.information else None,
    }


def recommendation(decision: Decision) -> str:
    """What to do first, and the condition that reverses it."""
    best, by_kind = decision.best, {each.kind: each for each in decision.found}
    now, pilot = by_kind["now"], decision.proposal.pilot
    figure = "npv" if best.expected_npv is None else "expected_npv"
    said = words.SENTENCES[f"recommend_{best.kind}"].format(
        name=best.name,
        figure=words.SENTENCES[figure],
        npv=amounts.money(expected(best)),
        now=amounts.money(expected(now)),
        cost=amounts.money(pilot.cost) if pilot else "",
    )
    row = inputs()[switching_input()]
    if decision.reversal is None or decision.instead is None:
        return f"{said} {words.SENTENCES['stands'].format(input=row.label.lower())}"
    less = decision.reversal < decision.proposal.number(row.name)
    reverses = words.SENTENCES["reverses"].format(
        name=decision.instead.name, condition=row.less if less else row.more, value=row.show(decision.reversal).split("/")[0]
    )
    return f"{said} {reverses}"
