"""Why an answer changed: a bridge from one proposal to another, input by input, that adds up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from roi.inputs import inputs
from roi.proposals import FLEETS, Proposal
from roi.results import Result


@dataclass(frozen=True)
class Step:
    """What one change does to the net gain, in USD, after all changes before it."""

    label: str
    before: str
    after: str
    amount: float


def bridge(first: Proposal, second: Proposal) -> list[Step]:
    """The steps from the first proposal's net gain to the second's, whose amounts sum to the difference.

    Inputs change one after another in the order of `data/inputs.yaml`, then each fleet as a whole. What an input does depends on
    what changed before it, so another order would share the difference out differently; the sum is the same.
    """
    now, gain = first, _cents(first)
    steps = []
    for row in inputs().values():
        if row.axis == "scalar" and first.number(row.name) != second.number(row.name):
            kept = {name: value for name, value in now.inputs.items() if name != row.name}
            given = {row.name: second.inputs[row.name]} if row.name in second.inputs else {}
            now = replace(now, inputs=kept | given)
            before, gain = gain, _cents(now)
            steps.append(
                Step(row.label, row.show(first.number(row.name)), row.show(second.number(row.name)), round(gain - before, 2))
            )
    for fleet in FLEETS:
        if _numbers(now, fleet) != _numbers(second, fleet):
            now = replace(now, sites={**now.sites, fleet: second.sites[fleet]})
            before, gain = gain, _cents(now)
            had, has = (", ".join(each.sites[fleet]) for each in (first, second))
            steps.append(Step(f"Regions of the {fleet} fleet", had, has, round(gain - before, 2)))
    return steps


def _cents(proposal: Proposal) -> float:
    """The net gain to the cent, so that the steps between such totals add up as they are printed."""
    return float(round(Result(proposal).net_gain, 2))


def _numbers(proposal: Proposal, fleet: str) -> list[list[float]]:
    names = [row.name for row in inputs().values() if row.axis == "site"]
    return [[proposal.site_number(fleet, region, name) for name in names] for region in proposal.sites[fleet]]
