"""A checked proposal: its values, its two fleets of regions, and what is odd about where its numbers come from.

A proposal holds only what differs from `data/inputs.yaml`; `roi/reading.py` reads one from its file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from roi.inputs import PRICE_AGE_DAYS, inputs
from roi.lines import did_you_mean
from roi.modes import Mode, mode_flags, mode_problems
from roi.problems import InputError, Problem
from roi.records import Record, SourceDate
from roi.uncertain import Correlation, stated_facts
from roi.values import MovedValue, Value, origin_of, stated_spread

FLEETS = ("baseline", "proposed")
MOST_REGIONS = 12
"""Columns of regions that a page shows side by side."""


class Pilot(Record, frozen=True):
    """A measurement before the decision: what it costs, how long it takes, and which uncertain facts are known after it.

    Attributes:
        months: from today until the proposal can start.
        cost: USD, paid today.
        measures: paths of the facts, as in `roi.uncertain`.
    """

    months: int
    cost: float
    measures: tuple[str, ...]
    source: str = ""
    date: SourceDate | None = None
    owner: str = ""


@dataclass(frozen=True)
class Proposal:
    """A checked proposal.

    Attributes:
        key: the file's name without its ending.
        inputs: what the file says of scalar inputs, by name.
        sites: what the file says of site inputs: fleet -> region -> name.
        correlations: which uncertain facts move together.
        pilot: what could be measured before the decision; None where the file declares nothing.
        mode: how the proposed regions work together; None where the file does not say it.
    """

    key: str
    name: str
    owner: str
    decision: str
    inputs: Mapping[str, Value]
    sites: Mapping[str, Mapping[str, Mapping[str, Value]]]
    correlations: tuple[Correlation, ...] = ()
    pilot: Pilot | None = None
    mode: Mode | None = None

    def __hash__(self) -> int:
        """Equal proposals are equal in all that they say, so that what is computed from one is kept; most differ in their key."""
        return hash(self.key)

    def number(self, name: str) -> float:
        """The value of a scalar input, the default where the file does not give one."""
        return self.inputs[name].base + 0.0 if name in self.inputs else inputs()[name].default

    def site_number(self, fleet: str, region: str, name: str) -> float:
        """The value of a site input in one region, the default where the file does not give one."""
        values = self.sites[fleet][region]
        return values[name].base + 0.0 if name in values else inputs()[name].default

    def at(self, path: str) -> float:
        """The value of an input by path, such as `latency_saved` or `proposed.europe-west4.gpu_price`."""
        name, place = _find(path, self)
        return self.site_number(*place, name) if place else self.number(name)

    @property
    def regions(self) -> list[tuple[str, str]]:
        """(fleet, region) of every site, the baseline first, in the order of the file."""
        return [(fleet, region) for fleet in FLEETS for region in self.sites[fleet]]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of every number that the model is given and of how uncertain each is; equal ones have equal answers."""
        numbers: dict[str, Any] = {name: self.number(name) for name, each in inputs().items() if each.axis == "scalar"}
        numbers["sites"] = [
            [
                fleet,
                region,
                {name: self.site_number(fleet, region, name) for name, each in inputs().items() if each.axis == "site"},
            ]
            for fleet, region in self.regions
        ]
        numbers["uncertain"] = [[each.path, each.stated, each.columns, each.moves] for each in stated_facts(self)]
        numbers["correlations"] = [[*each.between, each.coefficient] for each in self.correlations]
        numbers["pilot"] = self.pilot and [self.pilot.months, self.pilot.cost, self.pilot.measures]
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()

    def in_the_world_of(self, other: Proposal) -> Proposal:
        """This proposal as an alternative to another: what its own file does not set is as in the other, spread included."""
        shared = replace(self, inputs={**other.inputs, **self.inputs})
        facts = {each.path for each in stated_facts(shared)}
        # What the other is sure of can no longer move together with anything.
        return replace(shared, correlations=tuple(each for each in self.correlations if facts.issuperset(each.between)))

    def with_values(self, changes: Mapping[str, Any]) -> Proposal:
        """The proposal with other numbers: `latency_saved`, or `proposed.europe-west4.gpu_price` for one region.

        Raises:
            InputError: an unknown name, a value that its input refuses, or shares that no longer sum to 1.
        """
        scalars = dict(self.inputs)
        sites = {fleet: {region: dict(values) for region, values in regions.items()} for fleet, regions in self.sites.items()}
        problems = []
        for path, number in changes.items():
            try:
                name, place = _find(path, self)
                row = inputs()[name]
                said = self.sites[place[0]][place[1]].get(name) if place else self.inputs.get(name)
                value = MovedValue.of(row, said, row.check(number))
            except ValueError as error:
                problems.append(Problem(str(error)))
                continue
            if place is None:
                scalars[name] = value
            else:
                sites[place[0]][place[1]][name] = value
        changed = replace(self, inputs=scalars, sites=sites)
        problems += [Problem(message) for _, message in share_problems(changed)]
        if problems:
            raise InputError(problems)
        return changed


def _find(path: str, proposal: Proposal) -> tuple[str, tuple[str, str] | None]:
    """The input's name and, for a site input, its fleet and region."""
    known = inputs()
    fleet, _, rest = path.partition(".")
    region, _, name = rest.rpartition(".")
    if fleet in FLEETS and rest:
        if region not in proposal.sites[fleet]:
            raise ValueError(f"{path}: {fleet} has no region '{region}'; it has {', '.join(proposal.sites[fleet])}")
        site_names = [each.name for each in known.values() if each.axis == "site"]
        if name not in site_names:
            raise ValueError(f"{path}: '{name}' is not an input of a site{did_you_mean(name, site_names)}")
        return name, (fleet, region)
    if path not in known:
        raise ValueError(f"'{path}' is not an input{did_you_mean(path, known)}")
    if known[path].axis == "site":
        example = ".".join((*proposal.regions[-1], path))
        raise ValueError(f"'{path}' has a value for each site; write for example {example}")
    return path, None


def share_problems(proposal: Proposal) -> list[tuple[str, str]]:
    """(fleet, message) of each fleet whose shares do not sum to 1."""
    problems = []
    for fleet in FLEETS:
        shares = {region: proposal.site_number(fleet, region, "share") for region in proposal.sites[fleet]}
        if abs(sum(shares.values()) - 1) > 1e-9:
            listed = ", ".join(f"{region} {share:g}" for region, share in shares.items())
            problems.append((fleet, f"{fleet}: the shares sum to {sum(shares.values()):.6g} ({listed}); they must sum to 1"))
    return problems


# --- what is odd about where the numbers come from --------------------------------------------------------------------------


def provenance_flags(proposal: Proposal, today: date) -> list[str]:
    """Sentences on prices without a source or older than 180 days, on spot prices above on-demand ones, and on too many regions.

    `today` is an argument because the answer changes with it while the numbers do not.
    """
    unsourced: dict[str, list[str]] = {}
    old: dict[str, list[str]] = {}
    by_basis: dict[str, dict[str, float]] = {}
    defaulted: list[str] = []
    for fleet, region in proposal.regions:
        for row in inputs().values():
            if not row.price:
                continue
            value = proposal.sites[fleet][region].get(row.name)
            if value is None and row.name == "gpu_price":
                defaulted.append(f"{region} ({fleet})")
            if value and row.name == "gpu_price" and value.basis:
                by_basis.setdefault(region, {})[value.basis] = value.base
            title, dated = (value.source, value.date) if value else (row.source.title, row.source.date)
            if not title or dated is None:
                unsourced.setdefault(row.label, []).append(region)
            elif (today - dated).days > PRICE_AGE_DAYS:
                old.setdefault(f"{row.label} ({dated})", []).append(region)
    flags = [f"{label} in {_listed(regions)} has no dated source." for label, regions in unsourced.items()]
    if defaulted and len(proposal.regions) > 2:
        price = inputs()["gpu_price"]
        flags.append(
            f"No GPU price is given for {_listed(defaulted)}: {price.show(price.default)} is taken, which is that of "
            f"{price.source.title}. What does it cost there?"
        )
    if len(proposal.regions) > MOST_REGIONS:
        flags.append(
            f"{len(proposal.regions)} regions are more than a page holds side by side ({MOST_REGIONS}): the tables scroll, and a "
            "print cuts them. The workbook holds them all."
        )
    if old:
        listed = "; ".join(f"{label} in {_listed(regions)}" for label, regions in old.items())
        flags.append(f"Older than {PRICE_AGE_DAYS} days: {listed}.")
    flags += mode_problems(proposal) + mode_flags(proposal)
    flags += _bases_beyond_values(proposal)
    flags += [
        f"{inputs()[name].label}: has a range, but it is chosen and not drawn; the odds leave it as it is."
        for name, value in proposal.inputs.items()
        if inputs()[name].chosen and (said := origin_of(value)) and stated_spread(inputs()[name], said)
    ]
    for region, prices in by_basis.items():
        if prices.get("spot", 0) > prices.get("on-demand", float("inf")):
            flags.append(f"{region}: the spot price is above the on-demand price. Are they swapped?")
    return flags


def _bases_beyond_values(proposal: Proposal) -> list[str]:
    """Sentences on values whose base, which the headline is computed with, is none that their own measurements allow."""
    given = [(name, "", value) for name, value in proposal.inputs.items()]
    for fleet, region in proposal.regions:
        given += [(name, f" in {region}", value) for name, value in proposal.sites[fleet][region].items()]
    return [
        f"{inputs()[name].label}{place}: the headline takes {inputs()[name].show(said.base)}, but its own values are "
        f"{inputs()[name].show_range(min(said.values), max(said.values))}; the odds follow the values."
        for name, place, value in given
        if (said := origin_of(value)) and said.values and not min(said.values) <= said.base <= max(said.values)
    ]


def _listed(regions: list[str]) -> str:
    return ", ".join(dict.fromkeys(regions))
