"""Which scaling policy: the settings of each on one trace, cost against wait, and those that no other setting beats on both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from roi import amounts
from roi.evidence.prices import GPU_PRICES, SPOT
from roi.evidence.prices import read as read_prices
from roi.inputs import inputs
from roi.problems import InputError, Problem
from roi.review.policy import KEPT, Delayed, Fleet, Nothing, Policy, Predictive, Replay, Threshold, replay
from roi.review.policy_trace import DAY, HOUR, MINUTE, MOST_PROBLEMS, Trace
from roi.review.scaling import GPUS_PER_NODE
from roi.review.tco import Table

NAMED: dict[str, Policy] = {
    "nothing": Nothing(),
    "threshold": Threshold(),
    "delayed": Delayed(),
    "predictive": Predictive(),
}
"""The policies with the settings under which they are set side by side."""

SETTINGS: tuple[Policy, ...] = (
    Nothing(),
    *(Threshold(percent) for percent in (30, 50, 70, 90)),
    *(Delayed(minutes) for minutes in (0, 5, 10, 20, 30, 60, 120)),
    *(Predictive(minutes) for minutes in (5, 15, 30, 60, 120)),
)
"""All settings that are replayed."""

MOST_NODES, MOST_MINUTES, MOST_PER_DAY = 10_000, 100_000, 1_000
HIGHEST_SEED = 2**63 - 1
HARDEST = 3.0
"""Pre-emptions that a job may expect from its start-up to its first checkpoint. At three, one try in twenty succeeds."""


@dataclass(frozen=True)
class Terms:
    """The fleet as it is asked for; None stands for a default.

    Attributes:
        max_nodes: by default as many as the GPUs of `data/inputs.yaml`.
        start_minutes: from ordering a node until it takes jobs; by default the minutes of a cold start there.
        gpu_price: USD per GPU-hour; by default the GPU price there.
        spot_share: of the maximum of nodes.
        spot_price: USD per GPU-hour; by default that of an H100 in us-central1 in `data/gpu_prices.csv`.
        preemptions_per_day: of a spot node.
        checkpoint_minutes: between two checkpoints of a job.
        wait_minutes: the longest mean wait that will do; without it none is chosen.

    Raises:
        InputError: one of them cannot be right.
    """

    gpus_per_node: int = GPUS_PER_NODE
    min_nodes: int = 0
    max_nodes: int | None = None
    start_minutes: float | None = None
    gpu_price: float | None = None
    spot_share: float = 0.0
    spot_price: float | None = None
    preemptions_per_day: float | None = None
    checkpoint_minutes: float | None = None
    wait_minutes: float | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[Problem]:
        for option, count, least in (
            ("--gpus-per-node", self.gpus_per_node, 1),
            ("--min-nodes", self.min_nodes, 0),
            ("--max-nodes", self.max_nodes, 1),
        ):
            if count is not None and not least <= count <= MOST_NODES:
                yield Problem(f"is {count}; write a whole number from {least} to {MOST_NODES:,}", option)
        if not 0 <= self.seed <= HIGHEST_SEED:
            yield Problem(f"is {self.seed}; write a whole number from 0 to {HIGHEST_SEED:,}", "--seed")
        for option, name, price in (
            ("--gpu-price", "gpu_price", self.gpu_price),
            ("--spot-price", "gpu_price", self.spot_price),
            ("--start-minutes", "cold_start_minutes", self.start_minutes),
        ):
            try:
                inputs()[name].check(inputs()[name].default if price is None else price)
            except ValueError as error:
                yield Problem(str(error), option)
        for option, value, lowest, highest in (
            ("--preemptions-per-day", self.preemptions_per_day, 0.0, MOST_PER_DAY),
            ("--checkpoint-minutes", self.checkpoint_minutes, 1.0, MOST_MINUTES),
            ("--wait-minutes", self.wait_minutes, 0.0, MOST_MINUTES),
        ):
            if value is not None and not lowest <= value <= highest:
                yield Problem(f"is {amounts.plain(value)}; write a number from {lowest:g} to {highest:,}", option)
        yield from self._spot_problems()
        if 1 <= self.gpus_per_node <= MOST_NODES and self.min_nodes > self.nodes:
            most = amounts.quantity(self.nodes, "node")
            yield Problem(f"is {self.min_nodes}, and the fleet has at most {most}; give --max-nodes", "--min-nodes")

    def _spot_problems(self) -> Iterator[Problem]:
        if not 0 <= self.spot_share <= 1:
            share = amounts.plain(self.spot_share)
            percent = f"; {share} % is {amounts.plain(self.spot_share / 100)}" if 2 <= self.spot_share <= 100 else ""
            yield Problem(f"is {share}, which is no share from 0 to 1{percent}", "--spot-share")
        for option, amount, without in (
            ("--spot-price", self.spot_price, ""),
            ("--preemptions-per-day", self.preemptions_per_day, "how often each spot node is taken away"),
            ("--checkpoint-minutes", self.checkpoint_minutes, "how much of a job is lost when one of its nodes is taken away"),
        ):
            if self.spot_share and amount is None and without:
                yield Problem(f"is needed with --spot-share: it says {without}", option)
            if not self.spot_share and amount is not None:
                yield Problem("is about spot nodes; give --spot-share with it", option)

    @property
    def nodes(self) -> int:
        """The most nodes."""
        return self.max_nodes or -(-int(inputs()["gpus"].default) // self.gpus_per_node)

    @property
    def largest(self) -> int:
        """The GPUs of the fleet at its maximum, and so of the largest job."""
        return self.nodes * self.gpus_per_node

    @property
    def fleet(self) -> Fleet:
        """The fleet that is asked for."""
        return Fleet(
            gpus_per_node=self.gpus_per_node,
            minimum=self.min_nodes,
            maximum=self.nodes,
            start_up=round(_given(self.start_minutes, "cold_start_minutes") * MINUTE),
            gpu_price=_given(self.gpu_price, "gpu_price"),
            spot_price=(self.spot_price if self.spot_price is not None else _spot_price()[0]) if self.spot_share else 0.0,
            spot_share=self.spot_share,
            preemptions_per_day=self.preemptions_per_day or 0.0,
            checkpoint=round((self.checkpoint_minutes or 1) * MINUTE),
            seed=self.seed,
        )

    def assumptions(self) -> list[str]:
        """What stands in for what is not given, each with its source."""
        known = inputs()
        fleet, start, price = known["gpus"], known["cold_start_minutes"], known["gpu_price"]
        standing = [
            (self.max_nodes, f"{fleet.show(fleet.default)} at the most", fleet.source),
            (self.start_minutes, f"{amounts.quantity(start.default, 'minute')} for a node to start up", start.source),
            (self.gpu_price, price.show(price.default), price.source),
        ]
        said = [f"{words} ({source.title}, {source.date})" for given, words, source in standing if given is None]
        if self.spot_share and self.spot_price is None:
            usd, where = _spot_price()
            said.append(f"{price.show(usd)} for spot ({where})")
        return said


def _given(value: float | None, name: str) -> float:
    return inputs()[name].default if value is None else value


def _spot_price() -> tuple[float, str]:
    """USD per GPU-hour of the machine of the default GPU price as a spot node, and where that comes from."""
    found = next(each for each in read_prices([GPU_PRICES], "H100", "us-central1").findings if each.basis == SPOT)
    return found.base, f"H100 in us-central1, {GPU_PRICES.name}, {found.dated}"


@dataclass(frozen=True)
class Comparison:
    """Every setting on one trace.

    Attributes:
        replays: of `SETTINGS`, in that order.
    """

    trace: Trace
    terms: Terms
    fleet: Fleet
    replays: tuple[Replay, ...]

    @property
    def frontier(self) -> list[Replay]:
        """The settings that no other beats on cost and mean wait at once, the cheapest first."""
        kept = [each for each in self.replays if not any(_beats(other, each) for other in self.replays)]
        return sorted(kept, key=lambda each: (each.cost, each.mean_wait))

    @property
    def chosen(self) -> Replay | None:
        """The cheapest setting whose mean wait will do; None where no wait is asked for, or where none will do."""
        limit = self.terms.wait_minutes
        within = [each for each in self.frontier if limit is not None and each.mean_wait <= limit]
        return within[0] if within else None

    @property
    def named(self) -> list[Replay]:
        """The policies side by side."""
        return [next(each for each in self.replays if each.policy == policy) for policy in NAMED.values()]


def _beats(one: Replay, other: Replay) -> bool:
    costs, waits = (one.cost, other.cost), (one.mean_wait, other.mean_wait)
    return costs[0] <= costs[1] and waits[0] <= waits[1] and (costs[0] < costs[1] or waits[0] < waits[1])


def compare(trace: Trace, terms: Terms) -> Comparison:
    """Replay a trace under every setting.

    Raises:
        InputError: a job is larger than the fleet, or would hardly ever get from one checkpoint to the next.
    """
    fleet = terms.fleet
    too_large = [job for job in trace.jobs if fleet.nodes_for(job.gpus) > fleet.maximum]
    if too_large:
        most = max(job.gpus for job in too_large)
        problems = [
            Problem(f"asks for {job.gpus:,} GPUs, and the fleet has at most {_size(fleet)}", trace.source, job.line or None)
            for job in too_large[:MOST_PROBLEMS]
        ]
        more = f"{len(too_large):,} jobs are larger than the fleet; " if len(too_large) > 1 else ""
        problems.append(Problem(f"{more}give --max-nodes {fleet.nodes_for(most)}, or take the jobs out", trace.source))
        raise InputError(problems)
    spot = sum(fleet.is_spot(slot) for slot in range(fleet.maximum))
    nodes = min(spot, max(fleet.nodes_for(job.gpus) for job in trace.jobs))
    expected = fleet.preemptions_per_day * nodes * (fleet.start_up + fleet.checkpoint) / DAY
    if expected > HARDEST:
        found = (
            f"has the largest job pre-empted {expected:.1f} times on average from the start-up of its nodes to its first "
            f"checkpoint, so that it would hardly ever end; give fewer pre-emptions, shorter checkpoints or a lower --spot-share"
        )
        raise InputError([Problem(found, "--preemptions-per-day")])
    return Comparison(trace, terms, fleet, tuple(replay(trace.jobs, fleet, policy) for policy in SETTINGS))


def _size(fleet: Fleet) -> str:
    nodes = amounts.quantity(fleet.maximum, "node")
    return f"{nodes} of {fleet.gpus_per_node}, {amounts.quantity(fleet.maximum * fleet.gpus_per_node, 'gpu')}"


# --- what people and programs read ------------------------------------------------------------------------------------------


def answer(found: Comparison) -> str:
    """The cheapest setting within the wait that is asked for; without one, the two ends between which there is a choice."""
    limit, frontier, nothing = found.terms.wait_minutes, found.frontier, found.named[0]
    cheapest, quickest = frontier[0], min(found.replays, key=lambda each: (each.mean_wait, each.cost))
    if limit is not None and found.chosen is None:
        return (
            f"No setting keeps the mean wait within {_minutes(limit)}: the shortest is {_minutes(quickest.mean_wait)}, of "
            f"'{quickest.policy.label}', for {amounts.money(quickest.cost)}."
        )
    if found.chosen:
        rest = "" if found.chosen is nothing else f" Doing nothing costs {_at(nothing)}."
        return f"The cheapest setting with a mean wait within {_minutes(limit or 0)} is {_described(found.chosen)}.{rest}"
    if not quickest.mean_wait < cheapest.mean_wait:
        return f"No setting is cheaper or has shorter waits than {_described(cheapest)}."
    return (
        f"Cost and wait are a choice: from {_described(cheapest)}, to {_described(quickest)}. Of {len(found.replays)} settings "
        f"{len(frontier)} are such that no other beats them on both; a longest mean wait (--wait-minutes) chooses one of them."
    )


def _described(each: Replay) -> str:
    return f"'{each.policy.label}' at {_at(each)}, with {amounts.quantity(each.churn, 'node')} started or terminated"


def _at(each: Replay) -> str:
    return f"{amounts.money(each.cost)} and a mean wait of {_minutes(each.mean_wait)}"


def _minutes(value: float) -> str:
    return amounts.quantity(amounts.half_up(value, 1), "minute")


def facts(found: Comparison) -> str:
    """What the trace asks for."""
    trace, fleet = found.trace, found.fleet
    durations = sorted(job.duration for job in trace.jobs)
    mean = amounts.quantity(float(f"{trace.work / trace.span:.3g}"), "gpu")
    file, days = "" if trace.drawn else f"{trace.source}: ", amounts.quantity(amounts.half_up(trace.span / DAY, 1), "day")
    return (
        f"{file}{amounts.quantity(len(trace.jobs), 'job')} in {days} run for {amounts.quantity(trace.work / HOUR, 'gpu*hour')}: "
        f"{mean} on average and {trace.most_gpus():,} at the most if none waited, of {_size(fleet)}. The largest asks for "
        f"{amounts.quantity(max(job.gpus for job in trace.jobs), 'gpu')}; half of them run for "
        f"{_minutes(durations[len(durations) // 2] / MINUTE)} or less."
    )


def policies(found: Comparison) -> Table:
    """The policies side by side, one measure a row."""
    parts = [[round(part / HOUR, 1) for part in (each.work, each.idle, sum(each.start_up), each.lost)] for each in found.named]
    work, idle, start_up, lost = ([f"{hours:,.1f}" for hours in column] for column in zip(*parts, strict=True))
    rows = [
        ("GPU-hours of work", *work),
        ("GPU-hours idle", *idle),
        ("GPU-hours of start-up", *start_up),
        ("GPU-hours lost to pre-emptions", *lost),
        # The sum of what is printed above it: what rounding takes from the exact sum is in the cost.
        ("GPU-hours billed", *(f"{sum(each):,.1f}" for each in parts)),
        ("Cost", *(amounts.exact_money(each.cost) for each in found.named)),
        ("of which start-up", *(amounts.exact_money(each.start_up_cost) for each in found.named)),
        ("Variation of the cost of a day", *(_share(each.daily_variation) for each in found.named)),
        ("Nodes started or terminated", *(f"{each.churn:,}" for each in found.named)),
        ("Wait, mean, minutes", *(f"{each.mean_wait:,.1f}" for each in found.named)),
        ("Wait, median", *(f"{each.wait(0.5):,.1f}" for each in found.named)),
        ("Wait, P95", *(f"{each.wait(0.95):,.1f}" for each in found.named)),
        ("Wait, longest", *(f"{each.wait(1):,.1f}" for each in found.named)),
        ("Pre-emptions of nodes", *(f"{each.preempted:,}" for each in found.named)),
        ("Restarts of jobs", *(f"{each.restarts:,}" for each in found.named)),
    ]
    return Table(("Policy", *(_capital(each.policy.label) for each in found.named)), tuple(rows))


def _share(value: float) -> str:
    return amounts.quantity(amounts.half_up(value, 3), "%") if math.isfinite(value) else "not defined"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def settings(found: Comparison) -> Table:
    """Every setting, the cheapest first."""
    ordered = sorted(found.replays, key=lambda each: (each.cost, each.mean_wait))
    frontier = found.frontier
    rows = [
        (
            _capital(each.policy.label),
            amounts.exact_money(each.cost),
            f"{each.mean_wait:,.1f}",
            f"{each.wait(0.95):,.1f}",
            f"{each.churn:,}",
            "no" if each in frontier else "yes",
        )
        for each in ordered
    ]
    return Table(("Setting", "Cost", "Mean wait, minutes", "P95", "Nodes started or terminated", "Dominated"), tuple(rows))


def flags(found: Comparison) -> list[str]:
    """What is odd but legal about the trace, the fleet and what came out."""
    trace, fleet = found.trace, found.fleet
    said = list(trace.flags)
    if trace.work > fleet.maximum * fleet.gpus_per_node * trace.span:
        said.append(
            "The jobs run for more GPU-hours than the fleet has at its maximum, so that the queue grows under every policy."
        )
    if fleet.spot_share and fleet.spot_price > fleet.gpu_price:
        said.append(f"The spot price ({fleet.spot_price:g}) is above the other ({fleet.gpu_price:g}); are the two swapped?")
    delayed = [each for each in found.replays if isinstance(each.policy, Delayed)]
    for shorter, longer in pairwise(delayed):
        if longer.churn > shorter.churn:
            said.append(
                f"A longer delay raised the nodes started or terminated here, from {shorter.churn:,} ({shorter.policy.label}) to "
                f"{longer.churn:,} ({longer.policy.label}): nodes that were kept moved the times of jobs."
            )
    return said


def notes(found: Comparison) -> list[str]:
    """How the trace came about, what stands in for what is not given, and what the words mean."""
    said = [found.trace.drawn] if found.trace.drawn else []
    assumed = found.terms.assumptions()
    if assumed:
        said.append(f"Where nothing else is given, these stand in: {'; '.join(assumed)}.")
    fleet, nodes = found.fleet, amounts.quantity(found.fleet.maximum, "node")
    said.append(
        f"A fleet of {fleet.minimum:,} to {nodes} of {amounts.quantity(fleet.gpus_per_node, 'gpu')}; jobs are served first come, "
        "first served. A threshold lets idle nodes go until utilisation is no longer under it. Delayed termination lets a node "
        "go once it was not needed for so long. The predictive policy has as many nodes more as so many minutes ask for at the "
        f"pace of the last hour, and a delay of {KEPT} minutes. All three start nodes for jobs that wait."
    )
    if fleet.spot_share:
        often = amounts.quantity(fleet.preemptions_per_day, "time")
        said.append(
            f"Of the nodes {_share(fleet.spot_share)} are spot, each pre-empted {often} a day on average (seed {fleet.seed}) and "
            f"replaced at once; jobs restart from checkpoints every {amounts.quantity(fleet.checkpoint / MINUTE, 'minute')}."
        )
    return said


def as_data(found: Comparison) -> dict[str, Any]:
    """Plain data for JSON: GPU-hours, USD and minutes."""
    trace, frontier = found.trace, found.frontier
    kinds = {type(policy): name for name, policy in NAMED.items()}
    return {
        "answer": answer(found),
        "trace": {
            "source": trace.source,
            "jobs": len(trace.jobs),
            "days": trace.span / DAY,
            "gpu_hours": trace.work / HOUR,
            "most_gpus": trace.most_gpus(),
            "drawn": trace.drawn,
        },
        "fleet": asdict(found.fleet) | {"start_up": found.fleet.start_up / MINUTE, "checkpoint": found.fleet.checkpoint / MINUTE},
        "chosen": None if found.chosen is None else found.replays.index(found.chosen),
        "settings": [
            {
                "policy": kinds[type(each.policy)],
                "setting": {name: value for name, value in asdict(each.policy).items() if not name.startswith("_")},
                "label": each.policy.label,
                "dominated": each not in frontier,
                "gpu_hours": {
                    "billed": sum(each.billed) / HOUR,
                    "billed_spot": each.billed[1] / HOUR,
                    "work": each.work / HOUR,
                    "idle": each.idle / HOUR,
                    "start_up": sum(each.start_up) / HOUR,
                    "lost": each.lost / HOUR,
                },
                "cost": each.cost,
                "start_up_cost": each.start_up_cost,
                "daily_variation": each.daily_variation,
                "churn": each.churn,
                "started": each.started,
                "terminated": each.terminated,
                "wait_minutes": {"mean": each.mean_wait, "p50": each.wait(0.5), "p95": each.wait(0.95), "max": each.wait(1)},
                "preemptions": each.preempted,
                "restarts": each.restarts,
            }
            for each in found.replays
        ],
        "flags": flags(found),
        "notes": notes(found),
    }
