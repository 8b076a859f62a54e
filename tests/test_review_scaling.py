"""Scaling: published speed-ups, costs worked by hand, laws that are found again, and every file that is refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roi import InputError
from roi.__main__ import main
from roi.inputs import inputs
from roi.review.scaling import (
    Curve,
    Terms,
    answer,
    as_data,
    deadline_sentence,
    fit,
    fit_sentence,
    flags,
    headline,
    law_hours,
    notes,
    scaling,
    sentences,
    signed_percent,
    table,
)
from roi.review.scaling_lines import fastest_gpus
from roi.review.scaling_points import read
from roi.review.scaling_view import section
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.mutations import mutated

Make = Callable[[str | bytes], str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a file, each time another one, and says its path."""

    def write(content: str | bytes) -> str:
        path = tmp_path / f"runs-{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def rows(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def log(
    gpus: tuple[Any, Any] | None, seconds: float, samples: int = 3072, batch: int = 8, status: str = "success", task: str = "lora"
) -> str:
    """A log of MLPerf's as short as it can be: nodes and GPUs per node, and a run of so many seconds."""

    def event(key: str, time: float, value: Any = None, **metadata: Any) -> str:
        return f":::MLLOG {json.dumps({'key': key, 'time_ms': int(time * 1000), 'value': value, 'metadata': metadata})}"

    system = {"accelerator_model_name": "H100"}
    if gpus:
        system |= {"number_of_nodes": gpus[0], "accelerators_per_node": gpus[1]}
    return rows(
        f":::SYSJSON {json.dumps(system)}",
        event("submission_benchmark", 0, task),
        event("global_batch_size", 0, batch),
        event("run_start", 100),
        event("run_stop", 100 + seconds, 0.92, samples_count=samples, status=status),
    )


def only(given: Sequence[str], **terms: Any) -> Curve:
    (curve,) = scaling(given, Terms(**terms))
    return curve


def refused(*given: str) -> str:
    with pytest.raises(InputError) as error:
        read(given)
    return str(error.value)


# --- published answers ------------------------------------------------------------------------------------------------------


# MLPerf Training v4.0, official minutes: speed-up = minutes / minutes, efficiency = speed-up / GPU ratio, cost factor = GPU ratio
# / speed-up, as 28.07 / 5.235 = 5.36, 5.36 / 8 = 0.67 and 8 / 5.36 = 1.49.
@pytest.mark.parametrize(
    ("task", "gpus", "speed_up", "efficiency", "cost_factor"),
    [
        ("Llama-2 70B LoRA", (8, 64), 5.36, 0.67, 1.49),
        ("Stable Diffusion", (8, 64), 6.51, 0.81, 1.23),
        ("BERT", (8, 64), 6.09, 0.76, 1.31),
        ("GPT-3", (512, 11616), 14.7, 0.65, 1.54),
        ("GPT-3 on TPU v5p", (1024, 2048), 2.016, 1.01, 0.99),
    ],
)
def test_the_published_times_that_are_shipped(
    task: str, gpus: tuple[int, int], speed_up: float, efficiency: float, cost_factor: float
):
    (found,) = (each for each in scaling() if each.series.task == task)
    first, last = found.counts
    assert (first.gpus, last.gpus) == gpus
    assert (first.speed_up, first.efficiency, first.cost_factor) == (1, 1, 1)
    assert last.speed_up == pytest.approx(speed_up, rel=0.003)
    assert (round(last.efficiency, 2), round(last.cost_factor, 2)) == (efficiency, cost_factor)
    assert any("MLPerf Training v4.0" in note and "2024-06-12" in note for note in found.series.notes)


def test_the_one_series_that_beats_linear_scaling_is_flagged_and_no_law_bends_to_it():
    found = scaling()
    assert [each.series.task for each in found if any("Super-linear" in flag for flag in each.flags)] == ["GPT-3 on TPU v5p"]
    (law,) = found[-1].fits
    assert (law.contention, law.coherency, law.explained, law.highest_speed_up) == (0, 0, 0, None)
    assert "explains nothing" in fit_sentence(found[-1], law)


def test_the_fastest_count_is_that_of_the_package_usl_for_r():
    # tests/peak-scalability.R of usl 3.0.3: contention 0.001 and coherency 0.00001 peak at 316.0696, sqrt(0.999 / 0.00001).
    assert fastest_gpus(1.0, 0.001, 0.00001) == pytest.approx(316.0696, rel=1e-4)


def test_a_published_benchmark_peaks_about_where_its_authors_say(make: Make):
    # SPEC SDM91 on a SPARCcenter 2000, as in the package usl: throughput at each load, so 1 / throughput is a time. The package
    # says a peak at 96.52 by least squares of throughput; relative deviations of time weigh the small loads more.
    loads = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
    found = only([make(rows("gpus,hours", *(f"{load},{1000 / rate:.9f}" for load, rate in loads.items())))])
    assert found.fits[-1].fastest_gpus == pytest.approx(96.52, rel=0.06)
    assert "216 GPUs are no faster than 144." in found.flags


# --- costs by hand ----------------------------------------------------------------------------------------------------------


def test_48_gpus_cost_more_than_32_where_the_queue_grows(make: Make):
    # Linear scaling: 32 GPUs take 3 hours, 48 take 2, so both train for 96 GPU-hours. The queue is 30 minutes at 32 GPUs (4 nodes
    # of 8) and grows by a quarter for each further node: 30 x (1 + 2 x 0.25) = 45 minutes at 48.
    # 32 x (3 + 0.5) x 10 = 1,120 USD; 48 x (2 + 0.75) x 10 = 1,320 USD.
    path = make(rows("gpus,hours", "32,3", "48,2"))
    found = only([path], gpu_price=10, queue_minutes=30, growth_per_node=0.25)
    assert [each.run_cost for each in found.counts] == pytest.approx([1120, 1320])
    assert [each.hours_in_all for each in found.counts] == pytest.approx([3.5, 2.75])
    assert [each.relative_cost for each in found.counts] == pytest.approx([1, 1320 / 1120])
    assert [each.cost_factor for each in found.counts] == pytest.approx([1, 1])
    assert "48 GPUs take 2.75 hours at a cost of $1,320.00 a run; 32 GPUs take 3.5 hours at a cost of $1,120.00." in headline(
        found
    )
    # Half of the queue is start-up, of nodes of 4: 15 x (1 + 4 x 0.25) + 15 x (1 + 4 x 0.25) = 60 minutes, and 48 x 3 x 10 USD.
    nodes = only([path], gpu_price=10, queue_minutes=15, start_minutes=15, growth_per_node=0.25, gpus_per_node=4)
    assert nodes.counts[-1].run_cost == pytest.approx(1440)


def test_the_cost_of_the_same_work_is_not_that_of_the_run_where_work_grows(make: Make):
    # 11.53 USD/GPU-hour. As run: 8 x 10/60 x 11.53 = 15.37, and 16 x 11/60 x 11.53 = 33.82. The second run did twice the work, so
    # the same work takes 5.5 of its 11 minutes: 16.91.
    found = only([make(rows("gpus,minutes,scaling", "8,10,weak", "16,11,weak"))], gpu_price=11.53)
    shown = table([found])
    columns = {head: [row[place] for row in shown.rows] for place, head in enumerate(shown.heads)}
    assert columns["Cost of the same work"] == ["$15.37", "$16.91"]
    assert columns["Cost as run"] == ["$15.37", "$33.82"]
    # With 5 minutes in the queue: 16 x (5.5 + 5)/60 x 11.53 = 32.28 and 16 x (11 + 5)/60 x 11.53 = 49.19.
    waited = only([found.series.points[0].place.rpartition(":")[0]], gpu_price=11.53, queue_minutes=5, deadline=0.2)
    assert (waited.counts[1].run_cost, waited.counts[1].measured_cost) == pytest.approx((32.284, 49.195), abs=0.001)
    assert "16 GPUs take 10.5 minutes at a cost of $32.28 for the same work; 8 GPUs take" in headline(waited)
    assert "for $32.28, as measured, for the work of the run on 8 GPUs." in deadline_sentence(waited)


def test_where_all_did_the_same_work_its_cost_is_that_of_the_run(make: Make):
    found = only([make(rows("gpus,minutes", "8,10", "16,6"))], gpu_price=10)
    assert "Cost as run" not in table([found]).heads
    assert [each.measured_cost for each in found.counts] == [each.run_cost for each in found.counts]


def test_what_is_assumed_is_said(make: Make):
    path = make(rows("gpus,minutes", "8,60", "16,30"))
    price = inputs()["gpu_price"]
    said = " ".join(notes([only([path], start_minutes=5, growth_per_node=0.1)]))
    assert price.show(price.default) in said
    assert price.source.title in said
    assert "5 minutes" in said
    assert "10 % more for each further node of 8 GPUs (as in data/gpu_prices.csv" in said
    assert "taken as strong scaling" in said
    assert "SkyPilot" not in " ".join(notes([only([path], gpu_price=2)]))


def test_weak_and_strong_scaling_stand_apart(make: Make):
    # Weak: 16 GPUs do twice the work of 8 in 66 minutes instead of 60, so the same work in 33: 1.818 times as fast.
    path = make(
        rows("task,gpus,minutes,scaling", "a,8,60,weak", "a,8,240,strong", "a,16,66,weak", "a,32,78,weak", "a,32,72,strong")
    )
    weak, strong = scaling([path])
    assert [weak.series.way, strong.series.way] == ["weak", "strong"]
    assert [each.run_hours * 60 for each in weak.counts] == pytest.approx([60, 33, 19.5])
    assert weak.counts[1].speed_up == pytest.approx(60 / 33)
    assert weak.counts[1].measured_hours == pytest.approx(1.1)
    assert strong.counts[-1].cost_factor == pytest.approx(4 * 72 / 240)
    # 60, 66, 78 minutes are 60 x (1 + 0.1 (n - 1)): contention of 10 %, no coherency.
    assert weak.fits[-1].contention == pytest.approx(0.1)
    assert weak.fits[-1].coherency == pytest.approx(0, abs=1e-9)
    assert any("Weak scaling" in note for note in notes([weak]))


@pytest.mark.parametrize(("works", "way"), [((5, 5), "strong"), ((5, 10), "weak")])
def test_a_column_of_work_tells_which_way_it_scales(make: Make, works: tuple[int, int], way: str):
    found = only([make(rows("gpus,minutes,work", f"8,60,{works[0]}", f"16,40,{works[1]}"))])
    assert found.series.way == way
    # 60 / 40 = 1.5 times as fast, and twice that if twice the work was done.
    assert found.counts[-1].speed_up == pytest.approx(1.5 * works[1] / works[0])


# --- laws -------------------------------------------------------------------------------------------------------------------

counts = st.lists(st.integers(1, 4096), min_size=4, max_size=8, unique=True).map(sorted)


@given(counts, st.floats(0.01, 0.9), st.floats(1e-4, 0.1), st.floats(0.01, 1000))
@settings(max_examples=60, deadline=None)
def test_a_law_is_found_again_from_its_own_times(gpus, contention, coherency, first):
    at = np.array(gpus, dtype=float)
    hours = law_hours(at, np.array([first]), contention, coherency)
    found = fit(at, hours, 2)
    assert found.contention == pytest.approx(contention, rel=1e-5, abs=1e-7)
    assert found.coherency == pytest.approx(coherency, rel=1e-5)
    assert max(map(abs, found.residuals)) < 1e-7
    assert found.tested
    # At the fastest count, a little less or more takes longer.
    near = np.array([gpus[0], *(found.fastest_gpus * each for each in (0.99, 1, 1.01))])
    _, before, best, after = law_hours(near, np.array([first]), contention, coherency)
    assert best <= min(before, after)


@given(st.lists(st.tuples(st.integers(1, 4096), st.floats(0.01, 1000)), min_size=3, max_size=8, unique_by=lambda each: each[0]))
@settings(max_examples=60, deadline=None)
def test_whatever_the_times(points):
    gpus, hours = np.array(sorted(points)).T
    amdahl, usl = fit(gpus, hours, 1), fit(gpus, hours, 2)
    for law in (amdahl, usl):
        assert 0 <= law.contention <= 1
        assert law.coherency >= 0
        assert law.residuals[0] == pytest.approx(0, abs=1e-12)  # the smallest count is taken as measured
    # Who has one parameter more never fits worse.
    assert np.square(usl.residuals).sum() <= np.square(amdahl.residuals).sum() * (1 + 1e-9) + 1e-12
    longer = fit(gpus, hours * 60, 2)
    assert longer.contention == pytest.approx(usl.contention, rel=1e-6, abs=1e-9)
    assert longer.coherency == pytest.approx(usl.coherency, rel=1e-6, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 4096), st.floats(0.01, 1000)), min_size=2, max_size=8, unique_by=lambda each: each[0]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_holds_of_every_curve(make, points):
    found = only([make(rows("gpus,hours", *(f"{gpus},{hours}" for gpus, hours in points)))], gpu_price=3)
    for each in found.counts:
        assert each.efficiency * each.cost_factor == pytest.approx(1)
        assert each.relative_cost == pytest.approx(each.cost_factor)  # with neither queue nor start-up
        assert each.run_cost == pytest.approx(3 * each.gpus * each.measured_hours)
    over = [each for each in found.counts if each.efficiency > 1 + 1e-9]
    assert sum("Super-linear" in flag for flag in found.flags) == len(over)


def test_amdahl_through_two_points_by_hand(make: Make):
    # T = s + (1 - s) / n: 28.07 to 5.235 minutes at n = 8 gives s = (0.186498 - 0.125) / 0.875 = 0.070284: 14.23 times at most.
    found = only([make(rows("gpus,minutes", "8,28.07", "64,5.235"))])
    (law,) = found.fits
    assert law.contention == pytest.approx((5.235 / 28.07 - 1 / 8) / (1 - 1 / 8))
    assert law.highest_speed_up == pytest.approx(14.228, rel=1e-4)
    assert not law.tested
    assert "do not test it" in fit_sentence(found, law)
    assert any("fitted to three counts or more" in note for note in notes([found]))


@pytest.mark.parametrize(
    ("runs", "parameters", "worst"),
    [
        # Contention alone: 10 x ((1 - s) / n + s) is 5 + 5 s and 2.5 + 7.5 s minutes. Over 6 and 3 less 1 they are (5 s - 1) / 6
        # and (7.5 s - 0.5) / 3, whose squares are least at s = (5/36 + 3.75/9) / (25/36 + 56.25/9) = 0.08: -0.1 and 0.0333.
        # Coherency k adds 10 k / 6 and 30 k / 3, and -0.1 x 10 / 6 + 0.0333 x 10 is above 0: it stays at its bound.
        (("32,3", "8,10", "16,6"), (0.08, 0), "-10.0 % at most, at 16 GPUs"),
        # 16 GPUs slower than 8: the law says 10 minutes at most, where all is serial, and 10 / 20 - 1 is -50 %.
        (("8,10", "16,20"), (1, 0), "-50.0 % at most, at 16 GPUs"),
    ],
)
def test_a_law_at_its_bound_meets_no_point_by_construction(make: Make, runs: tuple[str, ...], parameters, worst: str):
    found = only([make(rows("gpus,minutes", *runs))])
    law = found.fits[-1]
    assert (law.contention, law.coherency) == pytest.approx(parameters)
    assert law.tested
    said = fit_sentence(found, law)
    assert "by construction" not in said
    assert said.endswith(f"is off by {worst}.")


@given(st.lists(st.tuples(st.integers(1, 4096), st.floats(0.01, 1000)), min_size=2, max_size=3, unique_by=lambda each: each[0]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_a_law_without_residuals_meets_its_points_by_construction(make: Make, points):
    found = only([make(rows("gpus,hours", *(f"{gpus},{hours}" for gpus, hours in points)))])
    law = found.fits[-1]
    if "by construction" in fit_sentence(found, law):
        assert [signed_percent(count.residual) for count in found.counts] == ["0.0 %"] * len(points)
    # Within its bounds a law has as many parameters as there are points beyond the first, and so it meets them.
    if 1e-9 < law.contention < 1 - 1e-9 and (law.coherency > 1e-9 or len(points) == 2):
        assert not law.tested


def test_linear_scaling_has_nothing_to_explain(make: Make):
    found = only([make(rows("gpus,minutes", "8,64", "16,32", "32,16"))])
    assert all(each.explained is None for each in found.fits)
    assert found.flags == ()
    assert any("linearly" in each for each in sentences(found))


def test_no_count_saves_time_where_all_of_the_run_is_serial(make: Make):
    found = only([make(rows("gpus,minutes", "8,60", "16,60", "32,60"))])
    assert found.fits[-1].contention == pytest.approx(1)
    assert found.flags == ("16 GPUs are no faster than 8.", "32 GPUs are no faster than 16.")
    assert any("at its bound" in each for each in sentences(found))


# --- a deadline -------------------------------------------------------------------------------------------------------------


def usl_runs(make: Make) -> str:
    """Hours by the law with contention 0.02 and coherency 0.01 over 8 GPUs: fastest at 8 x sqrt(0.98 / 0.01) = 79.2 GPUs."""
    gpus = np.array([8.0, 16.0, 32.0, 64.0])
    return make(rows("gpus,hours", *(f"{at:g},{hours:.12f}" for at, hours in zip(gpus, usl_hours(gpus), strict=True))))


def usl_hours(gpus):
    return law_hours(gpus, np.array([10.0]), 0.02, 0.01)


def test_the_cheapest_count_for_a_deadline(make: Make):
    # Every multiple of 8: the first whose time is short enough is the cheapest, since each more GPU adds to the cost.
    grid = np.arange(8, 65, 8.0)
    wanted = int(grid[usl_hours(grid) <= 2.5][0])
    best = only([usl_runs(make)], deadline=2.5).deadline
    assert (best.cheapest.gpus, best.extrapolated, best.cheapest.measured_hours) == (wanted, False, None)
    assert wanted == 48  # 10 x (0.98 / 6 + 0.02 + 0.01 x 5) = 2.333 hours; 40 GPUs take 10 x (0.98 / 5 + 0.02 + 0.04) = 2.56
    assert best.cheapest.run_hours == pytest.approx(7 / 3)
    assert "by the universal scalability law" in deadline_sentence(only([usl_runs(make)], deadline=2.5))
    measured = only([usl_runs(make)], deadline=usl_hours(np.array([8.0, 32.0]))[-1] + 1e-9)
    assert measured.deadline.cheapest.gpus == 32
    assert "as measured" in deadline_sentence(measured)


def test_a_deadline_counts_queue_and_start_up(make: Make):
    assert only([usl_runs(make)], deadline=2.5, queue_minutes=20).deadline.cheapest.gpus > 48
    flat = make(rows("gpus,hours", "8,8", "16,4", "32,2"))
    # Linear scaling and no waiting: 16 and 32 GPUs cost the same, and fewer GPUs do it.
    assert only([flat], deadline=4).deadline.cheapest.gpus == 16


def test_beyond_what_was_measured_it_says_so_or_that_none_does(make: Make):
    # At 72 GPUs 10 x (0.98 / 9 + 0.02 + 0.08) = 2.0889 hours, below the 2.125 of 64.
    found = only([usl_runs(make)], deadline=2.1)
    assert (found.deadline.cheapest.gpus, found.deadline.extrapolated) == (72, True)
    assert "extrapolated" in deadline_sentence(found)
    none = only([usl_runs(make)], deadline=1)
    assert none.deadline.cheapest is None
    assert "no count does it" in deadline_sentence(none)
    assert "fastest at about 79 GPUs" in deadline_sentence(none)
    assert none.deadline.searched == 256


# --- MLPerf logs ------------------------------------------------------------------------------------------------------------


def test_logs_say_their_gpus_and_the_time_of_their_run(make: Make):
    found = only([make(log(("8", "8"), 300)), make(log(("1", 8), 1600))])
    assert found.series.task == "lora on H100"
    assert [(each.gpus, each.measured_hours) for each in found.counts] == [(8, 1600 / 3600), (64, 300 / 3600)]
    assert found.counts[-1].efficiency == pytest.approx(1600 / 300 / 8)
    assert found.gpus_per_node == 8


def test_runs_of_one_batch_size_are_compared_by_their_samples(make: Make):
    # As the two logs of MLPerf Training v4.0, NVIDIA Eos: 1,629.043 s for 3,072 samples on 8 GPUs, 343.293 s for 3,456 on 64. Per
    # sample 5.3385 times as fast, efficiency 0.667; per run 1629.043 / 343.293 = 4.745, efficiency 0.593, cost factor 1.686.
    found = only([make(log((1, 8), 1629.043, 3072)), make(log((8, 8), 343.293, 3456))])
    last = found.counts[-1]
    assert last.speed_up == pytest.approx(1629.043 / 343.293 * 3456 / 3072, rel=1e-5)
    assert round(last.efficiency, 2) == 0.67
    assert any("4.75 times as fast: efficiency 0.59, cost factor 1.69" in flag for flag in found.flags)
    assert "Same work" in table([found]).heads


def test_runs_of_two_batch_sizes_are_compared_as_they_are(make: Make):
    found = only([make(log((1, 8), 1600, 3072, batch=8)), make(log((8, 8), 400, 6144, batch=64))])
    assert found.counts[-1].speed_up == pytest.approx(4)
    assert any("batches of different sizes" in note for note in notes([found]))


def test_a_count_before_a_log_that_says_none(make: Make):
    small, large = make(log(None, 1600)), make(log(("8", "N/A"), 300))
    assert [each.gpus for each in only([f"8={small}", f"64={large}"]).counts] == [8, 64]
    said = refused(small, large)
    assert f"as in 64={small}" in said
    assert said.count("does not say on how many GPUs") == 2
    assert "64 GPUs by its own word, and not on 32" in refused(f"32={make(log((8, 8), 300))}")
    assert "ran on 1 GPU by its own word, and not on 2" in refused(f"2={make(log((1, 1), 300))}")


def test_a_count_of_0_before_a_log_is_refused(make: Make):
    assert "ran on 8 GPUs by its own word, and not on 0" in refused(f"0={make(log((1, 8), 300))}")
    assert "is said to have run on 0 GPUs; 1 to 1,000,000 are possible" in refused(f"0={make(log(None, 300))}")


def test_logs_of_two_tasks_make_no_curve(make: Make):
    said = refused(make(log((1, 8), 1600)), make(log((8, 8), 300, task="bert")))
    assert said.count("at one count of GPUs") == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (log((1, 8), 1600, status="aborted"), ":5: ended with the status 'aborted'"),
        (log((1, 8), 1600) + log((1, 8), 1600), ":9: holds a second run_start"),
        (rows(*log((1, 8), 1600).splitlines()[:-1]), "has no run_stop: it is cut off, or its run did not end"),
        (log((1, 8), 0), "stops no later than it starts"),
        (log((1, 8), 1600) + log((2, 8), 1600).splitlines()[0], "describes a second system"),
        (log((9_999_999, 8), 1600), "is said to have run on 79,999,992 GPUs"),
    ],
)
def test_a_log_that_times_no_run_is_refused(make: Make, content: str, said: str):
    assert said in refused(make(content))


def test_a_damaged_line_of_a_log_is_said(make: Make):
    found = only([make(":::MLLOG {cut off\n" + log((1, 8), 1600)), make(log((8, 8), 300))])
    assert any("this leaves out 1 damaged line." in note for note in notes([found]))


# --- what is refused or flagged ---------------------------------------------------------------------------------------------

HEAD, GOOD = "gpus,minutes,efficiency", "8,60,1"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("16,30,85", "has an efficiency of 85, which is no share; 85 % is 0.85"),
        ("16,30,85%", "has '85%' under efficiency; write per cent as a share, such as 0.85"),
        ("16,0,1", "has 0 under minutes; it must be above zero"),
        ("16,-30,1", "has -30 under minutes; it must be above zero"),
        ("16,nan,1", "has 'nan' under minutes, which is no number"),
        ("16,30 min,1", "has '30 min' under minutes, which is no number"),
        ('16,"1,024",1', "has '1,024' under minutes, which can be read in two ways"),
        ("16,1e15,1", "has '1e15' under minutes, which is no number of at most 15 digits before the point and 30 after it"),
        ("16,,1", "has nothing under minutes"),
        (",30,1", "has nothing under gpus"),
        ("16.5,30,1", "has 16.5 under gpus; write a whole number"),
        ("0,30,1", "has 0 under gpus; it must be above zero"),
        ("16,30", "has 2 values for 3 columns; is the file cut off?"),
        ("16,900000000000,1", "is it in another unit?"),
        ("8,30,1", "gives a time for 8 GPUs, and so does"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused_with_its_line(make: Make, row: str, said: str):
    path = make(rows(HEAD, GOOD, row, "32,15,1"))
    found = refused(path)
    assert said in found
    assert found.startswith(f"{path}:3: ")


@pytest.mark.parametrize("line", [1, 3, 40_000])
def test_a_byte_that_is_no_utf_8_is_refused_with_its_line(make: Make, line: int):
    # Else U+FFFD would stand for either letter, and the tasks of two names would be one.
    lines = [b"gpus,minutes,task", *(b"%d,1,large language model on many GPUs" % gpus for gpus in range(1, 50_000))]
    lines[line - 1] += "\u00e9".encode("latin-1")
    path = make(b"\n".join(lines))
    assert refused(path) == f"{path}:{line}: has a byte that is not text in UTF-8; save the file as UTF-8"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_letters_of_any_alphabet_are_read(make: Make, encoding: str):
    path = make("gpus,minutes,task\n8,10,Gr\u00f6\u00dfe\n16,6,Gr\u00f6\u00dfe\n".encode(encoding))
    assert only([path]).series.task == "Gr\u00f6\u00dfe"


def test_all_that_is_wrong_is_said_at_once(make: Make):
    found = refused(make(rows(HEAD, "8,0,85", "x,60,1")), make(""), make(rows("gpus,time", "8,1")))
    assert len(found.splitlines()) == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        (b"\x00\x01\x02", "is binary"),
        (rows(HEAD), "has no row below the names"),
        (rows("gpus,minutes", "8,60"), ":2: holds runs at one count of GPUs, 8; a curve needs two"),
        (rows("gpus,time", "8,60", "16,30"), "column 'time' that does not say its unit; call it time_minutes"),
        (rows("gpus,minutes,queue_minutes", "8,60,1", "16,30,1"), "has more than one time: minutes, queue_minutes"),
        (rows("gpus,loss", "8,60", "16,30"), "has no column of times"),
        (rows("nodes,minutes", "8,60", "16,30"), "has no column gpus"),
        (rows("gpus,gpus,minutes", "8,8,60", "16,16,30"), "has two columns gpus"),
        (rows("gpus,minutes,scaling", "8,60,", "16,30,weak"), ":2: has '' under scaling; write strong or weak"),
        (rows("gpus,minutes,work", "8,60,1", "16,30,1.5"), "neither the same at every count nor the same per GPU"),
        ('{"gpus": 8}', "looks like JSON"),
        (b"PK\x03\x04", "is a zip archive or a workbook"),
    ],
)
def test_a_file_that_is_no_table_of_runs_is_refused(make: Make, content: str | bytes, said: str):
    assert said in refused(make(content))


def test_a_count_stands_before_logs_alone(make: Make):
    assert "no count can stand before it as in 8=" in refused(f"8={make(rows('gpus,minutes', GOOD))}")


@pytest.mark.parametrize(
    ("content", "hours"),
    [
        (rows("GPUs;Run time (min);Note", "8;28,07;a", "64;5,235;b"), [28.07 / 60, 5.235 / 60]),
        (rows("accelerators,trainSeconds,gpu_hours", "8,7200,16", "16,3600,16"), [2, 1]),
        (rows("gpus,wall_time_days,samples_per_second", "16,1,2", "8,2,1"), [48, 24]),
    ],
)
def test_tables_as_people_write_them(make: Make, content: str, hours: list[float]):
    assert [each.measured_hours for each in only([make(content)]).counts] == pytest.approx(hours)


def test_what_is_odd_but_legal_is_flagged(make: Make):
    found = only([make(rows(HEAD, "8,60,1", "64,12,0.85", "65,13,0.57"))])
    # 60 / 12 / 8 = 0.625 where the file says 0.85; 60 / 13 / 8.125 = 0.568 is its 0.57, rounded.
    assert any("says an efficiency of 0.85 at 64 GPUs; its times say 0.62" in flag for flag in found.flags)
    assert "Nothing was measured between 8 and 64 GPUs, where the curve is only fitted." in found.flags
    assert "65 GPUs are no faster than 64." in found.flags
    assert len(found.flags) == 3


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"gpu_price": -1}, "--gpu-price"),
        ({"gpu_price": float("nan")}, "--gpu-price"),
        ({"queue_minutes": -1}, "--queue-minutes"),
        ({"start_minutes": float("inf")}, "--start-minutes"),
        ({"growth_per_node": 5, "queue_minutes": 1}, "5 is no share from 0 to 1; 5 % is 0.05"),
        ({"growth_per_node": 0.1}, "give --queue-minutes or --start-minutes"),
        ({"gpus_per_node": 0}, "--gpus-per-node: 0 is no such number; write a whole number from 1 to 1,000,000"),
        ({"gpus_per_node": 10**7}, "--gpus-per-node: 10000000 is no such number; write a whole number from 1 to 1,000,000"),
        ({"deadline": 0}, "--deadline"),
        ({"deadline": 1e9}, "1000000000 is no such time; write hours above 0, and no more than 1,000,000"),
        ({"queue_minutes": 1_000_000.1}, "1000000.1 is no such time; write minutes from 0 to 1,000,000"),
    ],
)
def test_terms_that_cannot_be_right_are_refused(terms: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        Terms(**terms)


def test_nodes_of_two_sizes_need_a_word(make: Make):
    path = make(rows("gpus,minutes,gpus_per_node", "8,60,8", "16,30,4"))
    assert only([path]).counts
    with pytest.raises(InputError, match=r"--gpus-per-node: is needed, for the files say 8 in .*:2 and 4 in .*:3"):
        only([path], queue_minutes=1, growth_per_node=0.1)
    assert only([path], queue_minutes=1, growth_per_node=0.1, gpus_per_node=4).gpus_per_node == 4


RUNS = rows("task,gpus,minutes,scaling,work", "a,8,60,weak,1", "a,16,33,weak,2")


@pytest.mark.parametrize("content", [log((1, 8), 1600), RUNS])
def test_whatever_happens_to_a_file_it_is_read_or_refused(make: Make, content: str):
    other = make(log((8, 8), 300))
    for seed in range(150):
        path = make(mutated(content.encode(), random.Random(seed)))
        with suppress(InputError):
            assert answer(scaling([path, other] if "MLLOG" in content else [path]))


# --- what people read -------------------------------------------------------------------------------------------------------


def test_a_deviation_of_nothing_has_no_sign():
    assert [signed_percent(each) for each in (-1e-9, 0.031, -0.004)] == ["0.0 %", "+3.1 %", "-0.4 %"]


def test_one_gpu_is_said_in_the_singular(make: Make):
    # 1 GPU for 1 hour, 2 GPUs for 0.6: by the law s = (0.6 - 0.5) / 0.5 = 20 % is serial.
    found = only([make(rows("gpus,hours,gpus_per_node", "1,1,1", "2,0.6,1"))], queue_minutes=6, growth_per_node=0.1, deadline=2)
    said = " ".join([headline(found), *sentences(found), *notes([found])])
    assert not re.search(r"\b1 GPUs", said)
    assert "1 GPU takes 66 minutes" in said
    assert "1 GPU is the cheapest" in said
    assert "20 % of the run on 1 GPU is serial" in said
    assert "each further node of 1 GPU;" in said


def test_a_flag_of_several_series_is_said_once():
    said = flags(scaling())
    assert said[0].startswith("Llama-2 70B LoRA, Stable Diffusion, BERT: Nothing was measured between 8 and 64 GPUs")
    assert len(said) == len(set(said)) == 3


@pytest.mark.parametrize(
    "runs",
    [
        ("8,60", "16,30"),  # the same cost at every count
        ("8,60", "16,10"),  # a cost that falls
        ("1,9e5", "1000000,1e-2"),
        tuple(f"{gpus},{60 / gpus + 1}" for gpus in range(1, 40)),
    ],
)
def test_a_chart_is_drawn_of_any_curve(make: Make, runs: tuple[str, ...]):
    page = section([only([make(rows("gpus,minutes", *runs))])])
    assert page.count("<svg") == page.count('role="img" aria-label=') == 2
    assert not re.search(r"NaN|Infinity", page)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["roi", "scaling", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_the_command_says_the_published_answer(capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch)
    assert code == 0
    assert "64 GPUs are 5.36 times as fast as 8, and the same work costs 1.49 times as much (efficiency 0.67)." in out
    assert "Flag: GPT-3 on TPU v5p: Super-linear" in out


def test_the_command_prints_one_json_object(capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch, "--json", "--deadline", "0.2")
    assert code == 0
    found = json.loads(out)
    assert found == json.loads(json.dumps(as_data(scaling(terms=Terms(deadline=0.2)))))
    assert found["series"][0]["counts"][-1]["efficiency"] == pytest.approx(28.07 / 5.235 / 8)


def test_the_command_refuses_in_one_sentence(capsys, monkeypatch, make):
    code, out, err = run(capsys, monkeypatch, make(rows("gpus,minutes", "8,-1", "16,1")))
    assert (code, out) == (2, "")
    assert "has -1 under minutes" in err
    assert "Traceback" not in err


def test_the_page_holds_on_desk_and_phone(capsys, monkeypatch, make, tmp_path):
    path, page = make(rows("task,gpus,hours", "<b>a</b>,8,10", "<b>a</b>,16,5.2", "<b>a</b>,64,2.1")), tmp_path / "scaling.html"
    several = tmp_path / "several.html"
    assert run(capsys, monkeypatch, path, "--html", str(page), "--deadline", "4")[0] == 0
    assert run(capsys, monkeypatch, "--html", str(several))[0] == 0
    text = page.read_text()
    assert "<b>a" not in text
    assert "&lt;b&gt;a" in text
    assert "Within 4 hours" in text
    with chromium() as browser:
        for file in (page, several):
            for viewport in (DESKTOP, PHONE):
                seen = visit(browser, file.as_uri(), viewport=viewport)
                assert seen.quiet()
                assert all(each.startswith(("file:", "data:")) for each in seen.asked)
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
                assert seen.page.locator("section.scaling svg").count() == 2
                assert barriers(seen.page) == []
