"""Scaling policies: five jobs by hand under each, the laws of a replay, traces that are refused or flagged, and the page."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roi import InputError
from roi.__main__ import main
from roi.review import policy
from roi.review.policy import Delayed, Fleet, Nothing, Policy, Predictive, Replay, Threshold, replay
from roi.review.policy_frontier import SETTINGS, Terms, answer, as_data, compare, facts, flags, notes, policies
from roi.review.policy_frontier import settings as table_of_settings
from roi.review.policy_trace import DAY, HOUR, JOB_SIZES, MINUTE, Job, Trace, drawn, generate, read
from roi.review.policy_view import section, shipped
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.mutations import mutated


def jobs_of(*rows: tuple[float, int, float]) -> list[Job]:
    """Jobs by the minute of their submission, their GPUs and their minutes."""
    return [Job(round(at * MINUTE), gpus, round(minutes * MINUTE)) for at, gpus, minutes in rows]


def minutes(times: tuple[int, ...]) -> list[float]:
    return [time / MINUTE for time in times]


def account(found: Replay) -> dict[str, float]:
    """GPU-minutes."""
    parts = {"work": found.work, "idle": found.idle, "start_up": sum(found.start_up), "lost": found.lost}
    return {name: amount / MINUTE for name, amount in (parts | {"billed": sum(found.billed)}).items()}


# --- five jobs by hand ------------------------------------------------------------------------------------------------------

# Nodes of 2 GPUs, none at the beginning and two at the most; 10 minutes to start up. Work is 2 x 20 + 15 + 10 + 2 x 10 + 10 = 95
# GPU-minutes. In the timelines a column is five minutes; s is start-up, a dot an idle GPU, and a row one GPU.
FLEET = Fleet(gpus_per_node=2, minimum=0, maximum=2, start_up=10 * MINUTE)
FIVE = jobs_of((0, 2, 20), (5, 1, 15), (15, 1, 10), (40, 2, 10), (80, 1, 10))


def test_five_jobs_with_nothing_done() -> None:
    # minute  0    10   20   30   40   50   60   70   80   90
    # node 1  A A  A A  . .  . .  D D  . .  . .  . .  E E
    #         A A  A A  . .  . .  D D  . .  . .  . .  . .
    # node 2  . B  B B  . .  . .  . .  . .  . .  . .  . .
    #         . .  . C  C .  . .  . .  . .  . .  . .  . .
    found = replay(FIVE, FLEET, Nothing())
    assert minutes(found.first_starts) == [0, 5, 15, 40, 80]
    assert account(found) == {"work": 95, "idle": 265, "start_up": 0, "lost": 0, "billed": 2 * 2 * 90}
    assert (found.churn, found.mean_wait) == (0, 0)


def test_five_jobs_with_a_delay_of_20_minutes() -> None:
    # minute  0    10   20   30   40   50   60   70   80   90   100
    # node 1  s s  A A  A A  . .  . .| terminated, 20 minutes after A
    #         s s  A A  A A  . .  . .|
    # node 2    s  s B  B B  . .  D D  . .  . .| terminated, 20 minutes after D
    #           s  s C  C .  . .  D D  . .  . .|
    # node 3                                      s s  E E
    #                                             s s  . .
    found = replay(FIVE, FLEET, Delayed(20))
    assert minutes(found.first_starts) == [10, 15, 15, 40, 90]
    assert minutes(found.ends) == [30, 30, 25, 50, 100]
    assert sorted((start / MINUTE, end / MINUTE) for _, start, end in found.leases) == [(0, 50), (5, 70), (80, 100)]
    # Idle: node 1 has 2 x 40 - 40, node 2 has 2 x 55 - 45, node 3 has 2 x 10 - 10.
    assert account(found) == {"work": 95, "idle": 40 + 65 + 10, "start_up": 3 * 2 * 10, "lost": 0, "billed": 2 * (50 + 65 + 20)}
    assert (found.started, found.terminated, found.churn) == (3, 2, 5)
    assert minutes(found.waits) == [10, 10, 0, 0, 10]
    assert (found.mean_wait, found.wait(0.5), found.wait(1)) == (6, 10, 10)


def test_five_jobs_with_a_threshold_of_70_percent_for_10_minutes() -> None:
    # Utilisation is 0 from 30 to 40, where D comes and takes the node used last: 50 %, so the other goes; then 0 from 50 to 60.
    # minute  0    10   20   30   40   50   60   70   80   90   100
    # node 1  s s  A A  A A  . .|
    #         s s  A A  A A  . .|
    # node 2    s  s B  B B  . .  D D  . .|
    #           s  s C  C .  . .  D D  . .|
    # node 3                                      s s  E E
    #                                             s s  . .
    found = replay(FIVE, FLEET, Threshold(70, 10))
    assert sorted((start / MINUTE, end / MINUTE) for _, start, end in found.leases) == [(0, 40), (5, 60), (80, 100)]
    assert account(found) == {"work": 95, "idle": 20 + 45 + 10, "start_up": 60, "lost": 0, "billed": 2 * (40 + 55 + 20)}
    assert (found.churn, found.mean_wait) == (5, 6)


def test_five_jobs_with_a_prediction_of_30_minutes() -> None:
    # Half of the GPUs of the last hour are expected: one node more for up to 4 GPUs, two for more. It keeps nodes for 10 minutes.
    # minute  0    10   20   30   40   50   60   70   80   90
    # node 1  s s  A A  A A  . .  D D  . .| at 60 A is an hour ago, so that one node is enough
    #         s s  A A  A A  . .  D D  . .|
    # node 2  s s  B B  B .  .| at 35 two nodes were not needed for 10 minutes
    #         s s  . C  C .  .|
    # node 3                      s s  . .  . .  . .  E E
    #                             s s  . .  . .  . .  . .
    # node 4                                          s s
    #                                                 s s
    found = replay(FIVE, FLEET, Predictive(30))
    assert minutes(found.first_starts) == [10, 10, 15, 40, 80]
    assert sorted((start / MINUTE, end / MINUTE) for _, start, end in found.leases) == [(0, 35), (0, 60), (40, 90), (80, 90)]
    assert account(found) == {
        "work": 95,
        "idle": 25 + 40 + 70,
        "start_up": 4 * 2 * 10,
        "lost": 0,
        "billed": 2 * (35 + 60 + 50 + 10),
    }
    assert (found.churn, found.mean_wait) == (4 + 2, 3)


def test_a_preempted_job_restarts_from_its_last_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    # minute  0    10   20   30   40   50   60   70   80
    # node 1  A A  A A  A A  x x  s s  A A  A A  A A       x was lost: the last checkpoint of 15 minutes was at 30
    monkeypatch.setattr(policy, "_preemptions", lambda fleet, slot: iter([40 * MINUTE, 10 * DAY]))
    fleet = Fleet(2, 0, 1, 10 * MINUTE, 10.0, 4.0, spot_share=1, preemptions_per_day=1, checkpoint=15 * MINUTE)
    found = replay(jobs_of((0, 2, 60)), fleet, Nothing())
    assert minutes(found.ends) == [80]
    assert account(found) == {"work": 120, "idle": 0, "start_up": 20, "lost": 20, "billed": 160}
    assert (found.preempted, found.restarts, found.churn, minutes(found.waits)) == (1, 1, 0, [10])
    assert found.cost == pytest.approx(160 / 60 * 4)
    assert found.start_up_cost == pytest.approx(20 / 60 * 4)


def test_a_large_job_at_the_head_of_the_queue_holds_up_the_small_ones_behind_it() -> None:
    # One node of 4 GPUs: the second job waits for all of it, and the third for the second.
    found = replay(jobs_of((0, 2, 10), (1, 4, 10), (2, 1, 10)), Fleet(4, 0, 1, 0), Nothing())
    assert minutes(found.first_starts) == [0, 10, 20]


def test_the_costs_of_days_are_those_of_whole_days() -> None:
    # One node of one GPU at 2 USD an hour: all of the first day, 12 hours of the second, and all of the third.
    jobs = jobs_of((0, 1, 36 * 60), (48 * 60, 1, 30 * 60))
    found = replay(jobs, Fleet(1, 0, 1, 0, gpu_price=2.0), Delayed(0))
    assert found.daily_costs == [48, 24, 48]
    assert found.daily_variation == pytest.approx(np.std([2, 1, 2]) / np.mean([2, 1, 2]))
    assert found.cost == pytest.approx((36 + 30) * 2)


# --- laws -------------------------------------------------------------------------------------------------------------------

POLICIES = st.one_of(
    st.just(Nothing()),
    st.builds(Threshold, st.integers(1, 100), st.integers(0, 30)),
    st.builds(Delayed, st.integers(0, 40)),
    st.builds(Predictive, st.integers(0, 90)),
)


@st.composite
def fleets(draw: st.DrawFn, start_up: st.SearchStrategy[int] = st.integers(0, 15), spot: bool = False) -> Fleet:  # noqa: B008
    size, maximum = draw(st.sampled_from([1, 2, 3, 8])), draw(st.integers(1, 6))
    fleet = Fleet(size, draw(st.integers(0, maximum)), maximum, draw(start_up) * MINUTE)
    if not spot:
        return fleet
    share, often = draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])), draw(st.sampled_from([0.0, 5.0, 40.0]))
    return Fleet(size, fleet.minimum, maximum, fleet.start_up, 2.0, 1.0, share, often, 2 * MINUTE, draw(st.integers(0, 99)))


@st.composite
def traces(draw: st.DrawFn, fleet: Fleet) -> list[Job]:
    most = fleet.maximum * fleet.gpus_per_node
    sizes = st.integers(1, most) | st.sampled_from([1, fleet.gpus_per_node, most])
    row = st.tuples(st.integers(0, 90), sizes, st.integers(1, 25))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=12)), key=lambda each: each[0])
    return jobs_of(*((at - rows[0][0], gpus, length) for at, gpus, length in rows))


@st.composite
def cases(draw: st.DrawFn, **options: Any) -> tuple[list[Job], Fleet]:
    fleet = draw(fleets(**options))
    return draw(traces(fleet)), fleet


@given(cases(spot=True), POLICIES)
@settings(max_examples=300)
def test_what_is_billed_is_work_idle_start_up_and_lost_work_exactly(case: tuple[list[Job], Fleet], chosen: Policy) -> None:
    jobs, fleet = case
    found = replay(jobs, fleet, chosen)
    assert sum(found.billed) == found.work + found.idle + sum(found.start_up) + found.lost
    assert min(found.work, found.idle, *found.start_up, found.lost) >= 0
    # The work is that of the trace, under every policy, so none bills less than it.
    assert found.work == sum(job.gpus * job.duration for job in jobs) <= sum(found.billed)
    assert found.cost >= found.work / HOUR * min(fleet.gpu_price, fleet.spot_price)


@given(cases(spot=True), POLICIES)
@settings(max_examples=300)
def test_every_job_runs_once_to_its_end(case: tuple[list[Job], Fleet], chosen: Policy) -> None:
    jobs, fleet = case
    found = replay(jobs, fleet, chosen)
    # From submission to end a job waits, works, or does work that a pre-emption takes: what is left of the time is that.
    again = [end - job.submitted - wait - job.duration for job, wait, end in zip(jobs, found.waits, found.ends, strict=True)]
    assert min(again) >= 0
    assert sum(job.gpus * lost for job, lost in zip(jobs, again, strict=True)) == found.lost
    assert found.end == max(found.ends)
    assert all(wait >= 0 for wait in found.waits)
    assert all(start >= job.submitted for job, start in zip(jobs, found.first_starts, strict=True))
    if not found.restarts:
        assert found.lost == 0
        assert list(found.first_starts) == sorted(found.first_starts)  # first come, first served


@given(cases(), POLICIES)
def test_jobs_never_run_on_more_gpus_than_are_rented(case: tuple[list[Job], Fleet], chosen: Policy) -> None:
    jobs, fleet = case
    found = replay(jobs, fleet, chosen)
    moments = sorted({0, *found.first_starts, *(time for _, start, end in found.leases for time in (start, end))} - {found.end})
    for moment in moments:
        running = zip(jobs, found.first_starts, found.ends, strict=True)
        busy = sum(job.gpus for job, start, end in running if start <= moment < end)
        rented = sum(start <= moment < end for _, start, end in found.leases)
        assert fleet.minimum <= rented <= fleet.maximum
        assert busy <= rented * fleet.gpus_per_node


@given(cases(spot=True))
def test_doing_nothing_has_no_churn_and_bills_the_whole_fleet(case: tuple[list[Job], Fleet]) -> None:
    jobs, fleet = case
    found = replay(jobs, fleet, Nothing())
    assert found.churn == 0
    assert sum(found.billed) == fleet.maximum * fleet.gpus_per_node * found.end


@given(cases(spot=True), POLICIES)
def test_a_replay_is_the_same_each_time(case: tuple[list[Job], Fleet], chosen: Policy) -> None:
    # What a policy remembers of one replay is not there in the next.
    assert replay(*case, chosen) == replay(*case, chosen)


# --- delay and churn --------------------------------------------------------------------------------------------------------


@given(cases(start_up=st.just(0)), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=500)
def test_without_start_up_a_longer_delay_never_raises_churn(case: tuple[list[Job], Fleet], delay: int, more: int) -> None:
    shorter, longer = replay(*case, Delayed(delay)), replay(*case, Delayed(delay + more))
    assert shorter.first_starts == longer.first_starts
    assert longer.churn <= shorter.churn


@given(cases(), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=500)
def test_a_longer_delay_never_raises_churn_where_it_moves_no_job(case: tuple[list[Job], Fleet], delay: int, more: int) -> None:
    shorter, longer = replay(*case, Delayed(delay)), replay(*case, Delayed(delay + more))
    if shorter.first_starts == longer.first_starts:
        assert longer.churn <= shorter.churn


def running_maximum_churn(jobs: list[Job], minimum: int, delay: int, end: int) -> int:
    """The variation of the most whole-node jobs that ran at once within the delay, where jobs start when they are submitted."""

    def at_once(moment: int) -> int:
        return sum(job.gpus for job in jobs if job.submitted <= moment < job.submitted + job.duration)

    changes = sorted({job.submitted for job in jobs} | {job.submitted + job.duration for job in jobs})
    moments = sorted({each for each in (*changes, *(change + delay for change in changes)) if 0 <= each < end})
    # The most within the delay is that at one of the changes, or just before what lies a delay ago.
    fleet = [
        max(minimum, at_once(now), *(at_once(change) for change in changes if now - delay < change <= now), at_once(now - delay))
        for now in moments
    ]
    return sum(abs(after - before) for before, after in pairwise([minimum, *fleet]))


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 4), st.integers(1, 25)), min_size=1, max_size=10), st.integers(0, 30)
)
@settings(max_examples=400)
def test_the_nodes_are_the_most_that_were_needed_within_the_delay(rows: list[tuple[int, int, int]], delay: int) -> None:
    # The reason for the law: a running maximum over a longer time has no more ups and downs.
    rows = sorted(rows)
    jobs = jobs_of(*((at - rows[0][0], nodes, length) for at, nodes, length in rows))
    found = replay(jobs, Fleet(1, 1, 40, 0), Delayed(delay))
    assert found.churn == running_maximum_churn(jobs, 1, delay * MINUTE, found.end)


def test_with_start_up_a_longer_delay_can_raise_churn() -> None:
    # One-GPU nodes that take 10 minutes; four jobs A to D. s is start-up, and a column five minutes.
    # minute       0    10   20   30   40   50   60   70
    # 5 minutes    s s  A A  .|s  s s  B B  C C  D         C comes 2 minutes after B, which started late
    # 10 minutes   s s  A A  . B  B B  . .| s s  C C  D    B starts at once and ends earlier, so the node goes before C
    #                                            s s  .    D finds C on the only node, and orders another
    jobs, fleet = jobs_of((0, 1, 10), (28, 1, 10), (50, 1, 10), (61, 1, 5)), Fleet(1, 0, 9, 10 * MINUTE)
    shorter, longer = replay(jobs, fleet, Delayed(5)), replay(jobs, fleet, Delayed(10))
    assert minutes(shorter.first_starts) == [10, 38, 50, 61]
    assert minutes(longer.first_starts) == [10, 28, 60, 70]
    assert (shorter.started, shorter.terminated) == (2, 1)
    assert (longer.started, longer.terminated) == (3, 1)


# --- spot nodes -------------------------------------------------------------------------------------------------------------


def test_spot_nodes_are_spread_over_the_fleet() -> None:
    fleet = Fleet(8, 0, 10, 0, spot_share=0.3)
    assert sum(fleet.is_spot(slot) for slot in range(10)) == 3
    assert [slot for slot in range(10) if fleet.is_spot(slot)] == [3, 6, 9]
    assert not any(Fleet(8, 0, 10, 0).is_spot(slot) for slot in range(10))
    assert all(Fleet(8, 0, 10, 0, spot_share=1.0).is_spot(slot) for slot in range(10))


def test_preemptions_come_as_often_as_is_said() -> None:
    # Four nodes for 100 days at 3 a day: 1,200 on average, with a standard deviation of 35.
    fleet = Fleet(1, 0, 4, 0, spot_share=1.0, preemptions_per_day=3.0, checkpoint=MINUTE)
    found = replay(jobs_of((0, 1, 1), (100 * 24 * 60 - 1, 1, 1)), fleet, Nothing())
    assert abs(found.preempted - 1200) < 4 * 35


def test_every_policy_meets_the_same_preemptions() -> None:
    fleet = Fleet(1, 4, 4, 0, spot_share=1.0, preemptions_per_day=3.0, checkpoint=MINUTE)
    jobs = jobs_of(*((at * 60, 2, 50) for at in range(48)))
    first, *others = (replay(jobs, fleet, each) for each in (Nothing(), Threshold(), Delayed(), Predictive()))
    assert all((each.preempted, each.ends) == (first.preempted, first.ends) for each in others)  # none of the four may go


# --- the choice -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate(7, 4, 500, 64)


@given(st.integers(0, 50), st.sampled_from([None, 0.0, 5.0, 30.0, 300.0]))
@settings(max_examples=8)
def test_the_frontier_is_what_no_other_setting_beats(seed: int, wait: float | None) -> None:
    found = compare(generate(seed, 2, 60, 16), Terms(max_nodes=2, wait_minutes=wait))
    points = [(each, each.cost, each.mean_wait) for each in found.replays]
    for each, cost, waited in points:
        beaten = any(a <= cost and b <= waited and (a, b) != (cost, waited) for _, a, b in points)
        assert (each in found.frontier) is not beaten
    within = [each for each in found.replays if wait is not None and each.mean_wait <= wait]
    assert bool(found.chosen) is bool(within)
    if found.chosen:
        assert found.chosen.cost == min(each.cost for each in within)


def test_the_answer_names_the_cheapest_within_the_wait_and_what_nothing_costs(trace: Trace) -> None:
    free = compare(trace, Terms())
    cheapest = free.frontier[0]
    loose = compare(trace, Terms(wait_minutes=1000))
    assert loose.chosen is not None
    assert loose.chosen.policy == cheapest.policy
    assert f"within 1,000 minutes is '{cheapest.policy.label}' at " in answer(loose)
    assert "Doing nothing costs $" in answer(loose)
    # Nobody chooses for a reader who does not say what wait will do.
    assert free.chosen is None
    assert answer(free).startswith(f"Cost and wait are a choice: from '{cheapest.policy.label}'")
    assert "--wait-minutes" in answer(free)
    quickest = min(each.mean_wait for each in free.replays)
    assert quickest > 0
    tight = compare(trace, Terms(wait_minutes=quickest / 2))
    assert answer(tight).startswith("No setting keeps the mean wait within")


def test_one_setting_can_be_best_on_both() -> None:
    # A single job on a node that is always there: every setting gives the same.
    found = compare(Trace(tuple(jobs_of((0, 1, 10))), "one"), Terms(min_nodes=1, max_nodes=1))
    assert len(found.frontier) == len(SETTINGS)  # equal settings do not beat each other
    assert found.frontier[0].cost == pytest.approx(8 / 6 * 11.53)  # a node of 8 GPUs for 10 minutes
    assert answer(found).startswith(
        "No setting is cheaper or has shorter waits than 'do nothing' at $15 and a mean wait of 0 minutes"
    )
    assert section(found)


def test_the_policies_stand_side_by_side_and_add_up_as_printed(trace: Trace) -> None:
    found = compare(trace, Terms(spot_share=0.5, preemptions_per_day=2, checkpoint_minutes=30))
    table = policies(found)
    assert table.heads == (
        "Policy",
        "Do nothing",
        "Threshold of 70 %, 10 min",
        "Delayed termination, 30 min",
        "Predictive, 15 min ahead",
    )
    rows = {row[0]: row[1:] for row in table.rows}
    for column in range(4):
        hours = [round(float(row[column].replace(",", "")) * 10) for name, row in rows.items() if name.startswith("GPU-hours")]
        assert sum(hours[:-1]) == hours[-1]
    assert rows["Nodes started or terminated"][0] == "0"
    assert len(set(rows["GPU-hours of work"])) == 1
    assert len(table_of_settings(found).rows) == len(SETTINGS)


def test_what_stands_in_is_said_with_its_source(trace: Trace) -> None:
    said = " ".join(notes(compare(trace, Terms())))
    assert "64 GPUs at the most (Kubeflow GPU Cluster Provisioning" in said
    assert "15 minutes for a node to start up (Kubeflow GPU Cluster Provisioning" in said
    assert "$11.53/GPU-hour (SkyPilot catalog v9" in said
    assert "seed 7 (PCG64), not measured" in said
    assert "spot" not in said
    spot = Terms(gpu_price=2, start_minutes=1, max_nodes=8, spot_share=0.5, preemptions_per_day=1, checkpoint_minutes=30)
    said = " ".join(notes(compare(trace, spot)))
    assert "$6.27/GPU-hour for spot (H100 in us-central1, gpu_prices.csv, 2026)" in said
    assert "SkyPilot" not in said


def test_the_facts_of_a_trace() -> None:
    # 20 + 10 minutes of 4 GPUs and 60 of 2: 4 GPU-hours in two hours, and 6 GPUs at once from minute 60 to 70.
    found = compare(Trace(tuple(jobs_of((0, 4, 20), (60, 2, 60), (60, 4, 10))), "mine"), Terms(max_nodes=1))
    assert facts(found) == (
        "mine: 3 jobs in 0.1 days run for 4 GPU-hours: 2 GPUs on average and 6 at the most if none waited, of 1 node of 8, 8 "
        "GPUs. The largest asks for 4 GPUs; half of them run for 20 minutes or less."
    )


def test_odd_fleets_and_outcomes_are_flagged() -> None:
    crowd = Trace(tuple(jobs_of(*((0, 8, 60) for _ in range(3)))), "crowd")
    terms = Terms(max_nodes=1, gpu_price=2, spot_price=3, spot_share=0.5, preemptions_per_day=0, checkpoint_minutes=30)
    growing, swapped = flags(compare(crowd, terms))
    assert "the queue grows under every policy" in growing
    assert "The spot price (3) is above the other (2)" in swapped
    # The four jobs of the counterexample above.
    rising = Trace(tuple(jobs_of((0, 8, 10), (28, 8, 10), (50, 8, 10), (61, 8, 5))), "rising")
    assert flags(compare(rising, Terms(start_minutes=10))) == [
        "A longer delay raised the nodes started or terminated here, from 3 (delayed termination, 5 min) to 4 (delayed "
        "termination, 10 min): nodes that were kept moved the times of jobs."
    ]


REFUSED_TERMS: list[tuple[dict[str, Any], str]] = [
    ({"gpus_per_node": 0}, "--gpus-per-node: is 0; write a whole number from 1 to 10,000"),
    ({"min_nodes": -1}, "--min-nodes: is -1; write a whole number from 0"),
    ({"max_nodes": 0}, "--max-nodes: is 0; write a whole number from 1"),
    ({"min_nodes": 9}, "--min-nodes: is 9, and the fleet has at most 8 nodes; give --max-nodes"),
    ({"seed": -1}, "--seed: is -1; write a whole number from 0 to 9,223,372,036,854,775,807"),  # 2 ** 63 - 1
    ({"seed": 2**63}, "--seed: is 9223372036854775808; write a whole number from 0 to 9,223,372,036,854,775,807"),
    ({"wait_minutes": 100_000.1}, "--wait-minutes: is 100000.1; write a number from 0 to 100,000"),
    ({"min_nodes": 2, "max_nodes": 1}, "--min-nodes: is 2, and the fleet has at most 1 node; give --max-nodes"),
    ({"gpu_price": float("nan")}, "--gpu-price: gpu_price is nan, which is not a finite number"),
    ({"gpu_price": -1.0}, "--gpu-price: gpu_price is -1"),
    ({"start_minutes": -1.0}, "--start-minutes: cold_start_minutes is -1"),
    ({"wait_minutes": float("nan")}, "--wait-minutes: is nan; write a number from 0 to 100,000"),
    ({"spot_share": 85.0}, "--spot-share: is 85, which is no share from 0 to 1; 85 % is 0.85"),
    ({"spot_share": 1.0000001}, "--spot-share: is 1.0000001, which is no share from 0 to 1\n"),
    ({"spot_share": 0.5}, "--preemptions-per-day: is needed with --spot-share: it says how often each spot node is taken away"),
    ({"spot_share": 0.5, "preemptions_per_day": 1.0}, "--checkpoint-minutes: is needed with --spot-share"),
    ({"spot_price": 2.0}, "--spot-price: is about spot nodes; give --spot-share with it"),
    ({"spot_share": 1.0, "preemptions_per_day": -1.0, "checkpoint_minutes": 30.0}, "--preemptions-per-day: is -1"),
    (
        {"spot_share": 1.0, "preemptions_per_day": 1.0, "checkpoint_minutes": 0.0},
        "--checkpoint-minutes: is 0; write a number from 1",
    ),
]


@pytest.mark.parametrize(("given_terms", "message"), REFUSED_TERMS, ids=[message[:40] for _, message in REFUSED_TERMS])
def test_a_fleet_that_cannot_be_is_refused(given_terms: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Terms(**given_terms)
    assert message in str(error.value)


def test_one_of_anything_is_said_in_the_singular() -> None:
    # One job of one GPU for a minute. Doing nothing pays for two nodes of one GPU; all else starts one, for the job.
    one = Trace(tuple(jobs_of((0, 1, 1))), "one")
    found = compare(one, Terms(1, max_nodes=2, start_minutes=0, gpu_price=1, wait_minutes=0))
    said = " ".join([answer(found), facts(found), *notes(found)])
    assert "with 1 node started or terminated" in said
    assert "A fleet of 0 to 2 nodes of 1 GPU; jobs" in said
    assert "1 GPU on average" in said
    spot = Terms(1, max_nodes=1, spot_share=1, preemptions_per_day=1, checkpoint_minutes=1)
    said += " ".join(notes(compare(one, spot)))
    assert "A fleet of 0 to 1 node of 1 GPU; jobs" in said
    assert (
        "each pre-empted 1 time a day on average (seed 1) and replaced at once; jobs restart from checkpoints every 1 minute"
        in said
    )
    assert not re.search(r"\b1 (nodes|GPUs|jobs|times|minutes|days)\b", said)


def test_a_job_that_could_hardly_ever_end_is_refused() -> None:
    # 8 spot nodes, each taken 24 times a day, must all last 15 minutes of start-up and 45 to a checkpoint: 8 pre-emptions.
    terms = Terms(spot_share=1, preemptions_per_day=24, checkpoint_minutes=45)
    with pytest.raises(InputError, match=re.escape("pre-empted 8.0 times on average")):
        compare(Trace(tuple(jobs_of((0, 64, 100))), "large"), terms)


# --- traces from a seed -----------------------------------------------------------------------------------------------------


def test_a_seed_always_draws_the_same_jobs() -> None:
    assert generate(1, 7, 500, 64) == generate(1, 7, 500, 64)
    assert generate(1, 7, 500, 64).jobs != generate(2, 7, 500, 64).jobs


def test_drawn_jobs_are_distributed_as_is_said() -> None:
    jobs = generate(1, 70, 20_000, 64).jobs
    assert jobs[0].submitted == 0
    assert abs(len(jobs) - 20_000) < 5 * 20_000**0.5  # Poisson
    for size, share in JOB_SIZES.items():
        assert sum(job.gpus == size for job in jobs) / len(jobs) == pytest.approx(share, abs=5 * (share / len(jobs)) ** 0.5)
    assert np.median([job.duration for job in jobs]) / MINUTE == pytest.approx(30, rel=0.05)
    assert np.std(np.log([job.duration for job in jobs])) == pytest.approx(1.2, rel=0.03)
    # A day of the weekend has half the jobs of another: 2 / 2 of 5 + 2 / 2 parts of a week. The trace begins early on a Monday.
    weekend = sum(job.submitted // DAY % 7 >= 5 for job in jobs) / len(jobs)
    assert weekend == pytest.approx(1 / 6, abs=0.02)
    # By the cosine the 12 hours around 15:00 have 1/2 + 0.6 / pi of the jobs.
    busy = sum(9 <= job.submitted // HOUR % 24 < 21 for job in jobs) / len(jobs)
    assert busy == pytest.approx(0.5 + 0.6 / np.pi, abs=0.03)


def test_no_job_is_drawn_that_the_fleet_cannot_take() -> None:
    assert max(job.gpus for job in generate(1, 14, 1000, 8).jobs) == 8
    assert {job.gpus for job in generate(1, 14, 100, 1).jobs} == {1}


@pytest.mark.parametrize(
    ("days", "jobs", "message"),
    [
        (0, None, "--days: is 0; write a whole number from 1 to 3,660"),
        (3, -5, "--jobs: is -5; write a whole number from 1 to 1,000,000"),
        (1, 1, "--jobs: draws no job from seed 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(days: int, jobs: int | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        drawn(0, days, jobs, 64)
    assert message in str(error.value)


# --- traces from a table ----------------------------------------------------------------------------------------------------

Make = Callable[[str | bytes], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a file, each time another one."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / f"jobs-{len(list(tmp_path.iterdir()))}.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# Submitted at 10:00, 10:05 and 12:00 UTC; 1 hour, 90 minutes and a day and a half.
THREE = [Job(0, 8, HOUR, 2), Job(5 * MINUTE, 1, 90 * MINUTE, 3), Job(2 * HOUR, 16, 36 * HOUR, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "id,submit,gpus,duration\na,2026-05-01T10:00:00Z,8,01:00:00\nb,2026-05-01T10:05:00Z,1,1:30:00\n"
        "c,2026-05-01 12:00Z,16,1-12:00:00\n",
        "submit;gpus;duration_hours\n2026-05-01T10:00:00Z;8;1\n2026-05-01T10:05:00Z;1;1,5\n2026-05-01T12:00:00Z;16;36\n",
        "GPUs\tDuration (minutes)\tSubmit_minutes\n8\t60\t-10\n1\t90\t-5\n16\t2160\t110\n",
        "job_id,gpu_num,submit_time_s,elapsed\n1,8,1777629600,1:00:00\n2,1,1777629900,1:30:00\n3,16,1777636800,36:00:00\n",
    ],
    ids=["with ids and clocks", "decimal commas", "minutes", "seconds"],
)
def test_a_job_list_is_read_as_it_may_be_written(make: Make, text: str) -> None:
    assert list(read(make(text)).jobs) == THREE


def test_the_option_says_the_unit_where_no_column_does(make: Make) -> None:
    found = read(make("submit,gpus,duration\n0,8,60\n5,1,90\n120,16,2160\n"), "min")
    assert list(found.jobs) == THREE
    assert found.flags == ()


def test_jobs_are_put_in_the_order_of_their_submission(make: Make) -> None:
    found = read(make("submit_h,gpus,duration_h\n2,1,1\n1,2,1\n"))
    assert found.jobs == (Job(0, 2, HOUR, 3), Job(HOUR, 1, HOUR, 2))


GOOD = "id,submit,gpus,duration_minutes\na,2026-05-01T10:00:00Z,8,60\n"
WRONG = [
    ("b,2026-05-01T11:00:00Z,8,-60", ":3: has -60 under duration_minutes: it ends before it begins; are two times swapped?"),
    ("b,2026-05-01T11:00:00Z,,60", ":3: has nothing under gpus; write how many GPUs the job asks for, 0 if none"),
    ("b,2026-05-01T11:00:00Z,eight,60", ":3: has 'eight' under gpus; write a whole number of GPUs from 0 to 1,000,000"),
    ("b,2026-05-01T11:00:00Z,2.5,60", ":3: has '2.5' under gpus"),
    ("b,2026-05-01T11:00:00Z,-8,60", ":3: has '-8' under gpus"),
    ("b,2026-05-01T11:00:00Z,8,", ":3: has nothing under duration_minutes; a job that has not ended has no duration"),
    ("b,2026-05-01T11:00:00Z,8,NaN", ":3: has nothing under duration_minutes"),
    ("b,2026-05-01T11:00:00Z,8,long", ":3: has 'long' under duration_minutes; write it like 02:30:00"),
    (
        "b,2026-05-01T11:00:00Z,8,9999999",
        ":3: has 9999999 under duration_minutes, which is more than 3,660 days; is the unit right?",
    ),
    ("b,,8,60", ":3: has nothing under submit; write when the job was submitted"),
    ("b,1777629600,8,60", ":3: has 1777629600 under submit, which does not say its unit; call the column submit_seconds"),
    ("b,2026-05-01,8,60", ":3: has '2026-05-01' under submit, which is no time; write it like 2026-05-01T10:00:00Z"),
    ("b,2026-13-01T11:00:00Z,8,60", ":3: has '2026-13-01T11:00:00Z' under submit, which is no time"),
    (
        "b,2026-05-01T11:00:00,8,60",
        ":3: has a time without a zone under submit, where line 2 has a time with a zone; write all of",
    ),
    ("a,2026-05-01T11:00:00Z,8,60", ":3: is job a again, which line 2 is; a job runs once, so keep one of them"),
    (",2026-05-01T11:00:00Z,8,60", ":3: has no id, where other jobs have one"),
    (
        "b,2026-05-01T11:00:00Z,8",
        ":3: is one of the rows with more or fewer values than there are columns (is the file cut off?)",
    ),
    ("b,2096-05-01T11:00:00Z,8,60", ":3: is submitted 25,568 days after the first job; is the unit right?"),
]


@pytest.mark.parametrize(("row", "message"), WRONG, ids=[row for row, _ in WRONG])
def test_a_row_that_cannot_be_right_is_refused_with_its_line(make: Make, row: str, message: str) -> None:
    path = make(f"{GOOD}{row}\n")
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}{message}")
    assert len(error.value.problems) == 1


def test_all_that_is_wrong_is_said_in_one_go(make: Make) -> None:
    path = make(GOOD + "a,2026-05-01T11:00:00Z,,-1\n" + "c,2026-05-01T11:00:00Z,,1\n" * 2)
    with pytest.raises(InputError) as error:
        read(path)
    assert [problem.line for problem in error.value.problems] == [3, 3, 3, 4, 5, 5]
    with pytest.raises(InputError) as error:
        read(make("submit_h,gpus,duration_h\n" + "1,,1\n" * 500))
    assert len(error.value.problems) == 21
    assert str(error.value.problems[-1]).endswith("and 480 more lines like these")


def test_numbers_and_times_are_not_mixed(make: Make) -> None:
    with pytest.raises(InputError, match="line 2 has a number; write all of them one way"):
        read(make("submit,gpus,duration\n0,1,1\n2026-05-01T11:00:00Z,1,1\n"), "h")


def test_a_byte_that_is_no_utf_8_is_refused_with_its_line(make: Make) -> None:
    # In Latin-1 these are two ids; with one sign for either they would be one, given twice.
    path = make("id,submit_h,gpus,duration_h\na,0,8,1\n\u00e9,0,8,1\n\u00e8,0,8,1\n".encode("latin-1"))
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value) == f"{path}:3: has a byte that is not text in UTF-8; save the file as UTF-8"
    assert len(read(make(path.read_bytes().decode("latin-1"))).jobs) == 3


NO_TRACE = [
    ("", "is empty"),
    (b"\x00\x01\x02", "is binary"),
    ("{}", "looks like JSON"),
    ("submit_h,gpus,duration_h\n", "holds no job that takes GPUs for a time"),
    ("submit_h,gpus,duration_h\n0,0,1\n", "holds no job that takes GPUs for a time"),
    ("submit_h,duration_h\n1,1\n", "has no column gpus, which a job list has; its 2 columns are submit_h, duration_h"),
    ("submit_h,gpus,duration_h,duration_min\n1,1,1,1\n", "has more than one column of duration: duration_h and duration_min"),
    ("submit_h,gpus,GPUs,duration_h\n1,1,1,1\n", "has two columns gpus"),
]


@pytest.mark.parametrize(("content", "message"), NO_TRACE, ids=[message for _, message in NO_TRACE])
def test_what_is_no_job_list_is_refused_in_one_message(make: Make, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(make(content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("submit,gpus,duration_h\n2026-05-01T10:00,1,1\n", "No time has a time zone (line 2 on)"),
        (
            "submit,gpus,duration_h\n2026-05-01T10:00Z,1,1\n2026-05-01T13:00+02:00,1,1\n",
            "Times are given in 2 time zones, the second from line 3 on; each is taken as it says.",
        ),
        (
            "submit_h,gpus,duration_h\n0,1,1\n1,0,1\n2,1,0\n",
            "Left out, because no GPUs or no time are asked for: 2, the first in line 3.",
        ),
        (
            "submit_h,gpus,duration_h\n0,1,1\n0,1,1\n0,1,1\n",
            "2 rows repeat an earlier row in all that is read, the first in line 3",
        ),
        ("submit_h,gpus,duration_h\n0,1,1\n0,1,1\n", "1 row repeats an earlier row in all that is read, the first in line 3"),
        ("submit_h,gpus,duration_h\n0,1,1\n96,1,1\n", "Nothing is submitted for 4 days before line 3; if jobs are missing there"),
        ("submit_h,gpus,duration_h\n0,1,1000\n", "The job in line 2 lasts 41.67 days; is the unit right?"),
    ],
)
def test_what_is_odd_but_legal_is_flagged_with_its_line(make: Make, text: str, message: str) -> None:
    (flag,) = read(make(text)).flags
    assert flag.startswith(message)


def test_a_job_of_another_zone_is_submitted_at_its_own_time(make: Make) -> None:
    found = read(make("submit,gpus,duration_h\n2026-05-01T10:00Z,1,1\n2026-05-01T13:00+02:00,1,1\n"))
    assert found.jobs[1].submitted == HOUR


def test_a_job_that_is_larger_than_the_fleet_is_refused_with_its_line(make: Make) -> None:
    path = make("submit_h,gpus,duration_h\n0,8,1\n0,17,1\n1,100,1\n")
    with pytest.raises(InputError) as error:
        compare(read(path), Terms(max_nodes=2))
    assert str(error.value).splitlines() == [
        f"{path}:3: asks for 17 GPUs, and the fleet has at most 2 nodes of 8, 16 GPUs",
        f"{path}:4: asks for 100 GPUs, and the fleet has at most 2 nodes of 8, 16 GPUs",
        f"{path}: 2 jobs are larger than the fleet; give --max-nodes 13, or take the jobs out",
    ]
    compare(read(path), Terms(max_nodes=13))


SEEDS = [
    b"id,submit,gpus,duration\na,2026-05-01T10:00:00Z,8,01:00:00\nb,2026-05-01T10:05:00+02:00,1,1:30:00\n",
    b"submit_h,gpus,duration_minutes\n0,8,60\n1,2,30\n2,4,1e3\n",
]


@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_file_gives_a_trace_or_a_message(make: Make, content: bytes, seed: int) -> None:
    path = make(mutated(content, Random(seed)))
    with suppress(InputError):
        found = read(path)
        assert found.jobs[0].submitted == 0
        assert all(job.gpus > 0 and job.duration > 0 and job.line > 0 for job in found.jobs)
    path.unlink()


# --- command and page -------------------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["roi", "policy", *arguments])
    try:
        main()
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_says_the_answer_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], make: Make
) -> None:
    path = make("submit_minutes,gpus,duration_minutes\n0,2,20\n5,1,15\n15,1,10\n40,2,10\n80,1,10\n")
    options = ("--gpus-per-node", "2", "--max-nodes", "2", "--start-minutes", "10", "--gpu-price", "3")
    code, out, err = run(monkeypatch, capsys, str(path), *options, "--wait-minutes", "0")
    assert (code, err) == (0, "")
    # Nothing else leaves no job waiting. Two nodes of two GPUs for 90 minutes: 6 GPU-hours at 3 USD.
    assert out.startswith(
        "The cheapest setting with a mean wait within 0 minutes is 'do nothing' at $18 and a mean wait of 0 minutes"
    )
    assert "  GPU-hours billed" in out
    code, out, err = run(monkeypatch, capsys, str(path), *options, "--json")
    found = json.loads(out)
    assert (code, err, found["chosen"]) == (0, "", None)
    delayed = next(each for each in found["settings"] if each["policy"] == "delayed" and each["setting"] == {"minutes": 20})
    assert delayed["gpu_hours"]["billed"] == pytest.approx(270 / 60)  # as in the timeline above
    assert delayed["churn"] == 5
    assert delayed["cost"] == pytest.approx(270 / 60 * 3)
    assert found["trace"] == {
        "source": str(path),
        "jobs": 5,
        "days": 90 / 1440,
        "gpu_hours": pytest.approx(95 / 60),
        "most_gpus": 4,
        "drawn": "",
    }


def test_the_command_refuses_with_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], make: Make
) -> None:
    code, out, err = run(monkeypatch, capsys, str(make("submit,gpus,duration\n0,1,1\n")))
    assert (code, out) == (2, "")
    assert "give --unit" in err
    code, out, err = run(monkeypatch, capsys, "jobs.csv", "--days", "3")
    assert (code, out, err) == (2, "", "--days: says how jobs are drawn, which jobs.csv takes the place of\n")


def test_the_json_is_the_comparison(trace: Trace) -> None:
    found = compare(trace, Terms(wait_minutes=60))
    data = as_data(found)
    assert data["settings"][data["chosen"]]["label"] == (found.chosen and found.chosen.policy.label)
    for each in data["settings"]:
        hours = each["gpu_hours"]
        assert hours["billed"] == pytest.approx(hours["work"] + hours["idle"] + hours["start_up"] + hours["lost"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_is_readable_and_shuts_nobody_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, browser: Any, size: dict[str, int]
) -> None:
    path = tmp_path / "policy.html"
    code, out, _ = run(monkeypatch, capsys, "--days", "3", "--wait-minutes", "30", "--html", str(path))
    assert (code, out) == (0, f"{path}\n")
    seen = visit(browser, path.as_uri(), viewport=size)
    assert seen.quiet()
    assert seen.asked == [path.as_uri()]
    assert barriers(seen.page) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert seen.page.locator(".policy svg").count() == 1
    assert seen.page.locator(".policy svg").bounding_box()["width"] > 300


def test_a_file_cannot_write_into_the_page(make: Make) -> None:
    path = make("submit,gpus,duration_h\n2026-05-01T10:00,1,1\n")
    odd = path.rename(path.with_name("<script>.csv"))
    page = section(compare(read(odd), Terms()))
    assert "<script>" not in page
    assert "&lt;script&gt;.csv: 1 job in" in page


def test_the_shipped_view_needs_nothing() -> None:
    assert shipped().startswith('<section class="policy">')


def test_what_runs_at_most_at_once_makes_room_before_it_takes_it() -> None:
    trace = Trace(tuple(jobs_of((0, 4, 10), (10, 3, 10), (15, 2, 10))), "mine")
    assert trace.most_gpus() == 5
