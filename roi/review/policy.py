"""Scaling policies against a trace of jobs: what each bills, how often it changes the fleet, and how long jobs wait.

Jobs are served first come, first served, on nodes of some GPUs each. After each event a policy says how many nodes it wants. Time
is whole milliseconds and amounts are whole GPU-milliseconds, each counted on its own, so that

    billed = work + idle + start-up + lost to pre-emptions

holds exactly, and not by subtraction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

import numpy as np

from roi.payback import gpu_cost
from roi.review.policy_trace import DAY, HOUR, MINUTE, Job

# --- the fleet --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fleet:
    """The nodes that may be rented.

    Attributes:
        minimum, maximum: nodes.
        start_up: from ordering a node until it takes jobs, in milliseconds; it is billed.
        gpu_price, spot_price: USD per GPU-hour.
        spot_share: of the maximum, spread evenly over the nodes in the order in which they are ordered.
        preemptions_per_day: of each spot node, as a Poisson process of its own that is the same under every policy.
        checkpoint: time between two checkpoints of a job, in milliseconds.
    """

    gpus_per_node: int
    minimum: int
    maximum: int
    start_up: int
    gpu_price: float = 0.0
    spot_price: float = 0.0
    spot_share: float = 0.0
    preemptions_per_day: float = 0.0
    checkpoint: int = 30 * MINUTE
    seed: int = 1

    def nodes_for(self, gpus: int) -> int:
        """Nodes that a job of so many GPUs stands on: whole ones, and a part of another for the rest."""
        return -(-gpus // self.gpus_per_node)

    def is_spot(self, slot: int) -> bool:
        """Whether the node in this place of the fleet, from 0, is a spot node."""
        share = Fraction(self.spot_share).limit_denominator(10_000)
        return math.floor((slot + 1) * share) > math.floor(slot * share)


# --- policies ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What a policy sees when it decides.

    Attributes:
        now: milliseconds since the first submission.
        nodes: rented, those that start up included.
        needed: nodes with a job on them, and what the jobs that wait would take beside these, at most `maximum`.
        busy_gpus: GPUs that jobs run on.
        submitted_gpus: GPUs that all jobs until now asked for.
    """

    now: int
    nodes: int
    needed: int
    busy_gpus: int
    submitted_gpus: int
    gpus_per_node: int
    maximum: int


@dataclass
class Policy:
    """Decides how many nodes there should be. Its fields are its settings; what it remembers begins anew with each replay."""

    @property
    def label(self) -> str:
        """What it is called in what is printed."""
        raise NotImplementedError

    def wanted(self, seen: Seen) -> tuple[int, int | None]:
        """Nodes, and when to ask again if nothing happens until then. A node with a job on it is never let go."""
        raise NotImplementedError


@dataclass
class Nothing(Policy):
    """Do nothing: all nodes are there from the beginning to the end."""

    @property
    def label(self) -> str:
        return "do nothing"

    def wanted(self, seen: Seen) -> tuple[int, int | None]:
        return seen.maximum, None


@dataclass
class Threshold(Policy):
    """Start what waiting jobs need; once utilisation was under a threshold for a while, let go until it no longer is."""

    percent: int = 70
    minutes: int = 10
    _under_since: int | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"threshold of {self.percent} %, {self.minutes} min"

    def wanted(self, seen: Seen) -> tuple[int, int | None]:
        kept = max(seen.nodes, seen.needed)
        if seen.busy_gpus * 100 >= self.percent * seen.nodes * seen.gpus_per_node:
            self._under_since = None
            return kept, None
        if self._under_since is None:
            self._under_since = seen.now
        if seen.now >= self._under_since + self.minutes * MINUTE:
            self._under_since = seen.now
            kept = max(seen.needed, seen.busy_gpus * 100 // (self.percent * seen.gpus_per_node))
        return kept, self._under_since + self.minutes * MINUTE


@dataclass
class Delayed(Policy):
    """As many nodes as were needed at any time within the delay: a node goes once it was not needed for the whole delay."""

    minutes: int = 30
    # Until when so many nodes were needed: the most first, and of fewer only what came later. The last is needed now.
    _recent: deque[tuple[int, int]] = field(default_factory=deque, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"delayed termination, {self.minutes} min"

    def wanted(self, seen: Seen) -> tuple[int, int | None]:
        recent, delay = self._recent, self.minutes * MINUTE
        if recent:
            recent[-1] = seen.now, recent[-1][1]
        while recent and recent[0][0] + delay <= seen.now:
            recent.popleft()
        while recent and recent[-1][1] <= seen.needed:
            recent.pop()
        recent.append((seen.now, seen.needed))
        until, most = recent[0]
        return most, until + delay if len(recent) > 1 else None


KEPT = 10
"""Minutes of delay with which the predictive policy lets nodes go."""


@dataclass
class Predictive(Policy):
    """What jobs need, those in the queue included, and what some minutes will bring at the pace of the last hour."""

    ahead: int = 15
    # What lets nodes go; GPUs submitted until some moments of the last hour, and until before it.
    _kept: Delayed = field(default_factory=lambda: Delayed(KEPT), init=False, repr=False, compare=False)
    _submitted: deque[tuple[int, int]] = field(default_factory=deque, init=False, repr=False, compare=False)
    _before: int = field(default=0, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"predictive, {self.ahead} min ahead"

    def wanted(self, seen: Seen) -> tuple[int, int | None]:
        submitted = self._submitted
        if seen.submitted_gpus > (submitted[-1][1] if submitted else self._before):
            submitted.append((seen.now, seen.submitted_gpus))
        while submitted and submitted[0][0] + HOUR <= seen.now:
            self._before = submitted.popleft()[1]
        expected = (seen.submitted_gpus - self._before) * self.ahead * MINUTE
        spare = -(-expected // (HOUR * seen.gpus_per_node))
        kept, again = self._kept.wanted(seen)
        times = [again] if again is not None else []
        times += [submitted[0][0] + HOUR] if submitted else []
        return max(kept, seen.needed + spare), min(times, default=None)


# --- replay -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replay:
    """What became of a trace under a policy. Amounts are GPU-milliseconds, and times milliseconds since the first submission.

    Attributes:
        end: when the last job ended; nothing is billed after it.
        billed, start_up: of on-demand nodes, and of spot nodes.
        work: GPUs times duration of every job that ended.
        idle: GPUs that were ready and that no job ran on.
        lost: of pre-empted jobs, what came after their last checkpoint.
        started, terminated: nodes ordered and let go after the beginning and before the end.
        preempted: spot nodes that were taken away, and at once replaced by one that starts up.
        restarts: jobs that had to begin again from their last checkpoint.
        waits: of each job, all time in the queue.
        first_starts, ends: of each job.
        leases: whether it was a spot node, when it was ordered and until when it was billed; one row for each.
    """

    policy: Policy
    fleet: Fleet
    end: int
    billed: tuple[int, int]
    start_up: tuple[int, int]
    work: int
    idle: int
    lost: int
    started: int
    terminated: int
    preempted: int
    restarts: int
    waits: tuple[int, ...]
    first_starts: tuple[int, ...]
    ends: tuple[int, ...]
    leases: tuple[tuple[bool, int, int], ...]

    @property
    def churn(self) -> int:
        """Nodes started or terminated after the beginning."""
        return self.started + self.terminated

    @property
    def cost(self) -> float:
        """USD."""
        return self._dollars(*self.billed)

    @property
    def start_up_cost(self) -> float:
        """USD; part of the cost."""
        return self._dollars(*self.start_up)

    def _dollars(self, on_demand: int, spot: int) -> float:
        return float(gpu_cost(on_demand / HOUR, self.fleet.gpu_price) + gpu_cost(spot / HOUR, self.fleet.spot_price))

    @property
    def mean_wait(self) -> float:
        """Minutes."""
        return sum(self.waits) / len(self.waits) / MINUTE

    def wait(self, share: float) -> float:
        """Minutes within which this share of the jobs waited."""
        return float(np.quantile(self.waits, share)) / MINUTE

    @property
    def daily_costs(self) -> list[float]:
        """USD of each whole day, of 24 hours from the first submission."""
        midnights = range(0, self.end + 1, DAY)
        spot, ordered, until = (np.array(column) for column in zip(*self.leases, strict=True))
        billed = [[int(np.clip(time - ordered, 0, until - ordered)[spot == of].sum()) for time in midnights] for of in (0, 1)]
        size = self.fleet.gpus_per_node
        return [self._dollars(on_demand * size, spots * size) for on_demand, spots in np.diff(billed).T.tolist()]

    @property
    def daily_variation(self) -> float:
        """Standard deviation of the daily costs over their mean; not a number for less than two whole days or costs of zero."""
        costs = self.daily_costs
        return float(np.std(costs) / np.mean(costs)) if len(costs) > 1 and any(costs) else math.nan


class _Kind(IntEnum):
    """Events in the order in which those of one moment count: what ends makes room for what is submitted."""

    END = 0
    READY = 1
    PREEMPT = 2
    ASK = 3


@dataclass(eq=False, slots=True)
class _Node:
    """A rented node.

    Attributes:
        lease: tells it from earlier nodes of its place.
        start_up: tells its latest start-up from earlier ones; that one was begun at `began`.
        jobs: GPUs of each job on it.
    """

    slot: int
    spot: bool
    lease: int
    ordered: int
    free: int
    start_up: int = -1
    began: int = 0
    jobs: dict[int, int] = field(default_factory=dict)


def replay(jobs: Sequence[Job], fleet: Fleet, policy: Policy) -> Replay:
    """Replay jobs, in the order of their submission, the first at 0, on a fleet under a policy.

    Every job fits into the fleet's maximum. Nodes of the beginning are ready, and cost no churn.
    """
    return _Run(jobs, fleet, replace(policy)).replay()


class _Run:
    """The state of a replay at one moment."""

    def __init__(self, jobs: Sequence[Job], fleet: Fleet, policy: Policy) -> None:
        self.jobs, self.fleet, self.policy = jobs, fleet, policy
        self.now = 0
        self.events: list[tuple[int, _Kind, int, int]] = []
        self.asked = -1
        # The fleet: nodes by their place, those that start up, and the others by their free GPUs, the latest last.
        self.nodes: dict[int, _Node] = {}
        self.starting: dict[_Node, None] = {}
        self.by_free: list[dict[_Node, None]] = [{} for _ in range(fleet.gpus_per_node + 1)]
        self.slots = list(range(fleet.maximum))  # those that are free, as a heap
        self.numbers = count()
        self.streams: dict[int, Iterator[int]] = {}
        self.next_preemption: dict[int, int] = {}
        # The jobs: how many were submitted, which wait, and for each its time of queueing, its progress and its nodes.
        self.submitted = self.submitted_gpus = self.busy_gpus = self.ended = 0
        self.waiting: deque[int] = deque()
        self.queued = [job.submitted for job in jobs]
        self.waits, self.first_starts, self.ends = [0] * len(jobs), [-1] * len(jobs), [-1] * len(jobs)
        self.progress, self.runs = [0] * len(jobs), [0] * len(jobs)
        self.began: dict[int, int] = {}
        self.held: dict[int, list[_Node]] = {}
        # The account.
        self.leases: list[tuple[bool, int, int]] = []
        self.start_up = [0, 0]
        self.work = self.idle = self.lost = self.started = self.terminated = self.preempted = self.restarts = 0

    def replay(self) -> Replay:
        for _ in range(self._wanted()[0]):
            node = self._rent()
            self.by_free[node.free][node] = None
        while self.ended < len(self.jobs):
            self._advance()
            self._happen()
            if self.ended < len(self.jobs):
                self._settle()
        for node in list(self.nodes.values()):
            self._return(node)
        billed = [sum(end - start for of, start, end in self.leases if of is spot) for spot in (False, True)]
        return Replay(
            self.policy,
            self.fleet,
            self.now,
            (billed[0] * self.fleet.gpus_per_node, billed[1] * self.fleet.gpus_per_node),
            (self.start_up[0], self.start_up[1]),
            self.work,
            self.idle,
            self.lost,
            self.started,
            self.terminated,
            self.preempted,
            self.restarts,
            tuple(self.waits),
            tuple(self.first_starts),
            tuple(self.ends),
            tuple(self.leases),
        )

    # --- time ---

    def _advance(self) -> None:
        """Go to the next moment at which something happens, and account for the GPUs that are idle until then."""
        times = [self.events[0][0]] if self.events else []
        if self.submitted < len(self.jobs):
            times.append(self.jobs[self.submitted].submitted)
        if not times:
            raise RuntimeError(f"{self.policy} leaves {len(self.waiting)} jobs in the queue for ever")
        ready = (len(self.nodes) - len(self.starting)) * self.fleet.gpus_per_node
        self.idle += (ready - self.busy_gpus) * (min(times) - self.now)
        self.now = min(times)

    def _happen(self) -> None:
        """All that happens at this moment, before jobs are placed."""
        while self.events and self.events[0][0] == self.now:
            _, kind, subject, version = heappop(self.events)
            node = self.nodes.get(subject)
            if kind is _Kind.END and self.runs[subject] == version:
                self._end(subject)
            elif kind is _Kind.READY and node and node.start_up == version:
                self._ready(node)
            elif kind is _Kind.PREEMPT and node and node.lease == version:
                self._preempt(node)
        while self.submitted < len(self.jobs) and self.jobs[self.submitted].submitted == self.now:
            self.waiting.append(self.submitted)
            self.submitted_gpus += self.jobs[self.submitted].gpus
            self.submitted += 1

    def _settle(self) -> None:
        """Place jobs and do as the policy wants, and ask it again about what came of that, until it wants nothing else."""
        missing = 1
        while missing:
            while self.waiting and self._fits(self.jobs[self.waiting[0]].gpus):
                self._start(self.waiting.popleft())
            wanted, again = self._wanted()
            missing = wanted - len(self.nodes)
            for _ in range(missing):
                self.started += 1
                self._begin_start_up(self._rent())
            for _ in range(-missing):
                self.terminated += 1
                idle = self.by_free[-1]
                self._return(next(iter(idle)) if idle else next(reversed(self.starting)))
            if again is not None and self.now < again and not self.now < self.asked <= again:
                self.asked = again
                heappush(self.events, (again, _Kind.ASK, -1, 0))

    def _wanted(self) -> tuple[int, int | None]:
        fleet, occupied = self.fleet, len(self.nodes) - len(self.starting) - len(self.by_free[-1])
        needed = self._needed(occupied) if self.waiting else occupied
        nodes, busy, submitted = len(self.nodes), self.busy_gpus, self.submitted_gpus
        wanted, again = self.policy.wanted(Seen(self.now, nodes, needed, busy, submitted, fleet.gpus_per_node, fleet.maximum))
        return max(fleet.minimum, occupied, min(wanted, fleet.maximum)), again

    # --- jobs ---

    def _needed(self, occupied: int) -> int:
        """Nodes with jobs, and those that the waiting jobs would take beside these, at most the maximum."""
        size, needed = self.fleet.gpus_per_node, occupied
        parts = [len(nodes) for nodes in self.by_free]
        for each in self.waiting:
            if needed >= self.fleet.maximum:
                break
            whole, rest = divmod(self.jobs[each].gpus, size)
            needed += whole
            if rest:
                free = next((free for free in range(rest, size) if parts[free]), size)
                if free == size:
                    needed += 1
                else:
                    parts[free] -= 1
                parts[free - rest] += 1
        return min(needed, self.fleet.maximum)

    def _fits(self, gpus: int) -> bool:
        whole, rest = divmod(gpus, self.fleet.gpus_per_node)
        spare = len(self.by_free[-1]) - whole
        return spare > 0 or (spare == 0 and (not rest or any(self.by_free[rest:-1])))

    def _start(self, job: int) -> None:
        """Place a job: on whole nodes, the latest used first, and the rest where it leaves the fewest GPUs free."""
        gpus, size = self.jobs[job].gpus, self.fleet.gpus_per_node
        whole, rest = divmod(gpus, size)
        nodes = [self._take(size, size, job) for _ in range(whole)]
        if rest:
            free = next(free for free in range(rest, size + 1) if self.by_free[free])
            nodes.append(self._take(free, rest, job))
        self.held[job], self.began[job] = nodes, self.now
        self.busy_gpus += gpus
        self.runs[job] += 1
        self.waits[job] += self.now - self.queued[job]
        if self.first_starts[job] < 0:
            self.first_starts[job] = self.now
        end = self.now + self.jobs[job].duration - self.progress[job]
        heappush(self.events, (end, _Kind.END, job, self.runs[job]))

    def _take(self, free: int, gpus: int, job: int) -> _Node:
        node, _ = self.by_free[free].popitem()
        node.free -= gpus
        node.jobs[job] = gpus
        self.by_free[node.free][node] = None
        return node

    def _leave(self, job: int) -> None:
        """Take a job off its nodes."""
        for node in self.held.pop(job):
            del self.by_free[node.free][node]
            node.free += node.jobs.pop(job)
            self.by_free[node.free][node] = None
        self.busy_gpus -= self.jobs[job].gpus

    def _end(self, job: int) -> None:
        self._leave(job)
        self.ends[job] = self.now
        self.ended += 1
        self.work += self.jobs[job].gpus * self.jobs[job].duration

    def _interrupt(self, job: int) -> None:
        """Back into the queue, in the order of submission, with what the last checkpoint holds."""
        self._leave(job)
        done = self.progress[job] + self.now - self.began[job]
        kept = done - done % self.fleet.checkpoint
        self.lost += (done - kept) * self.jobs[job].gpus
        self.progress[job], self.queued[job] = kept, self.now
        self.runs[job] += 1  # so that the end that was expected is none
        self.restarts += 1
        self.waiting.insert(bisect_left(self.waiting, job), job)

    # --- nodes ---

    def _rent(self) -> _Node:
        slot = heappop(self.slots)
        node = _Node(slot, self.fleet.is_spot(slot), next(self.numbers), self.now, self.fleet.gpus_per_node)
        self.nodes[slot] = node
        self._expect_preemption(node)
        return node

    def _begin_start_up(self, node: _Node) -> None:
        node.start_up, node.began = next(self.numbers), self.now
        self.starting[node] = None
        if self.fleet.start_up:
            heappush(self.events, (self.now + self.fleet.start_up, _Kind.READY, node.slot, node.start_up))
        else:
            self._ready(node)

    def _ready(self, node: _Node) -> None:
        self._end_start_up(node)
        self.by_free[node.free][node] = None

    def _end_start_up(self, node: _Node) -> None:
        del self.starting[node]
        self.start_up[node.spot] += (self.now - node.began) * self.fleet.gpus_per_node

    def _return(self, node: _Node) -> None:
        if node in self.starting:
            self._end_start_up(node)
        else:
            del self.by_free[node.free][node]
        self.leases.append((node.spot, node.ordered, self.now))
        del self.nodes[node.slot]
        heappush(self.slots, node.slot)

    def _preempt(self, node: _Node) -> None:
        """A spot node is taken away and replaced, in the same place, by one that starts up: the policy did not ask for either."""
        self.preempted += 1
        for job in list(node.jobs):
            self._interrupt(job)
        if node in self.starting:
            self._end_start_up(node)
        else:
            del self.by_free[node.free][node]
        self._begin_start_up(node)
        self._expect_preemption(node)

    def _expect_preemption(self, node: _Node) -> None:
        if not (node.spot and self.fleet.preemptions_per_day):
            return
        if node.slot not in self.streams:
            self.streams[node.slot] = _preemptions(self.fleet, node.slot)
            self.next_preemption[node.slot] = next(self.streams[node.slot])
        while self.next_preemption[node.slot] <= self.now:
            self.next_preemption[node.slot] = next(self.streams[node.slot])
        heappush(self.events, (self.next_preemption[node.slot], _Kind.PREEMPT, node.slot, node.lease))


def _preemptions(fleet: Fleet, slot: int) -> Iterator[int]:
    """When a spot node of this place is taken away, if there is one."""
    generator = np.random.Generator(np.random.PCG64([fleet.seed, slot]))
    time = 0
    while True:
        time += math.ceil(generator.exponential(DAY / fleet.preemptions_per_day))
        yield time
