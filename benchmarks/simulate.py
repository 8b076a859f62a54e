"""A million draws of the shipped proposal against the same model by hand in NumPy: `.venv/bin/python benchmarks/simulate.py`.

Both take the same points and the same distributions in the same blocks, and give the same answers; the one by hand computes the
least it can. Each runs in a process of its own, in turn, so that neither warms the other's caches and each peak of memory is its
own. Prints seconds, ratios and peaks.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

DRAWS, FEW, ROUNDS = 1_000_000, 10_000, 5


def by_lines(draws: int, jobs: int) -> dict[str, float]:
    """The package."""
    from roi.reading import load
    from roi.simulate import simulate

    found = simulate(load("two-region"), draws, jobs=jobs)
    return {"p10": found.p10, "p50": found.p50, "p90": found.p90, "p_gain": found.p_gain, "peak": found.peak_cash_out_p90}


def by_hand(draws: int) -> dict[str, float]:
    """The same business case with every line that can be spared left out, and nothing computed twice."""
    from roi.reading import load
    from roi.simulate import BLOCK, points
    from roi.uncertain import uncertain

    facts = uncertain(load("two-region"))
    months = np.arange(19.0)
    # us-central1 today; us-central1 and europe-west4 as proposed
    share, proposed = np.array([1, 0.5, 0.5]), np.array([0, 1, 1])
    price, orchestration = np.array([11.53, 11.53, 14.69]), np.array([0, 0.62, 0.62])
    egress, egress_price, fixed = np.array([0, 50_000, 50_000]), np.array([0, 0.05, 0.05]), np.array([0, 20_073, 20_073])
    gains, peaks, paths = np.empty(draws), np.empty(draws), np.empty((draws, 19), dtype=np.float32)
    for start in range(0, draws, BLOCK):
        count = min(BLOCK, draws - start)
        shares = points(len(facts), 1, start, count)
        v: dict[str, Any] = {
            each.path.split(".")[-1]: each.draws(each_share) for each, each_share in zip(facts, shares.T, strict=True)
        }
        runs = v["releases_per_month"] * v["runs_per_release"]
        hours = v["steps_per_run"] * v["latency_saved"] / 3.6e6 + v["queue_hours_saved"]
        release = (
            hours * v["runs_per_release"] * v["critical_path_share"] / 24 * v["value_per_release_day"] * v["releases_per_month"]
        )
        minutes = v["cold_share"] * v["cold_start_minutes"] + (1 - v["cold_share"]) * v["warm_start_minutes"]
        storage = v["checkpoint_size"] * v["checkpoints_kept"] * v["storage_price"]
        change = np.zeros(count)
        for site in range(3):
            run_hours = v["steps_per_run"] * (v["step_time"] - v["latency_saved"] * proposed[site]) / 3.6e6
            billed = share[site] * v["gpus"] * runs * (run_hours / v["utilisation"] + v["starts_per_run"] * minutes / 60)
            over = orchestration[site] if proposed[site] else v["orchestration_overhead"]
            bill = billed * (price[site] + over + v["vcpus_per_gpu"] * v["vcpu_price"]) + storage
            bill += (
                egress[site] * egress_price[site] + fixed[site]
                if proposed[site]
                else v["egress"] * v["egress_price"] + v["fixed_cost"]
            )
            change += bill if proposed[site] else -bill
        monthly = release + np.maximum(-change, 0) * v["saving_realised"]
        adoption = np.clip((months - v["delay"][:, np.newaxis]) / np.maximum(v["ramp"], 1)[:, np.newaxis], 0, 1)
        adoption[:, 0] = 0
        cash = monthly[:, np.newaxis] * adoption
        cash[:, 1:] -= np.maximum(change, 0)[:, np.newaxis]
        cash[:, 0] -= v["upfront_cost"]
        cumulative = np.cumsum(cash, axis=1)
        gains[start : start + count] = cumulative[:, -1]
        peaks[start : start + count] = np.maximum(-cumulative.min(axis=1), 0)
        paths[start : start + count] = cumulative
    p10, p50, p90 = np.quantile(gains, [0.1, 0.5, 0.9])
    np.quantile(paths, [0.1, 0.5, 0.9], axis=0)
    return {"p10": p10, "p50": p50, "p90": p90, "p_gain": float((gains > 0).mean()), "peak": float(np.quantile(peaks, 0.9))}


WAYS = {
    "lines": lambda draws: by_lines(draws, 1),
    "lines, 2 jobs": lambda draws: by_lines(draws, 2),
    "by hand": by_hand,
}


def measured(way: str, draws: int) -> dict[str, Any]:
    """One run in a process of its own; imports and a first small run are not timed."""
    done = subprocess.run([sys.executable, __file__, way, str(draws)], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    if len(sys.argv) > 1:
        way, draws = WAYS[sys.argv[1]], int(sys.argv[2])
        way(FEW)
        start = time.perf_counter()
        answer = way(draws)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak": peak, "answer": answer}))
        return
    for draws in (FEW, DRAWS):
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way in WAYS:
                runs[way].append(measured(way, draws))
        lean = statistics.median(run["seconds"] for run in runs["by hand"])
        expected = runs["by hand"][0]["answer"]
        print(f"{draws:,} draws, medians of {ROUNDS} runs")
        for way, done in runs.items():
            seconds = statistics.median(run["seconds"] for run in done)
            far = max(abs(done[0]["answer"][name] / expected[name] - 1) for name in expected)
            peak = max(run["peak"] for run in done)
            print(f"  {way:14} {seconds * 1000:8.1f} ms  {seconds / lean:5.2f} x  peak {peak:4.0f} MB  differs by {far:.1e}")


if __name__ == "__main__":
    main()
