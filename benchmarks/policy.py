"""Replays of a trace of 90 days: `.venv/bin/python benchmarks/policy.py`.

Prints the seconds of each policy, and of all settings that `roi policy` compares, for 8,000 jobs on 64 GPUs and for ten times as
many jobs on ten times as many GPUs. The processor's time is taken, which other work on the machine hardly changes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from roi.review.policy import replay
from roi.review.policy_frontier import NAMED, Terms, compare
from roi.review.policy_trace import generate

DAYS, JOBS, NODES = 90, 8_000, 8


def main() -> None:
    for times in (1, 10):
        terms = Terms(max_nodes=NODES * times)
        trace = generate(1, DAYS, JOBS * times, NODES * 8)
        print(f"{len(trace.jobs):,} jobs in {DAYS} days, at most {terms.largest:,} GPUs")
        for policy in NAMED.values():
            start = time.process_time()
            found = replay(trace.jobs, terms.fleet, policy)
            print(f"  {policy.label:28} {time.process_time() - start:6.2f} s  {found.churn:8,} nodes started or terminated")
        start = time.process_time()
        found = compare(trace, terms)
        print(f"  {f'all {len(found.replays)} settings':28} {time.process_time() - start:6.2f} s")


if __name__ == "__main__":
    main()
