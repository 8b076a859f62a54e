"""What interruptions cost a batch of many reports: `.venv/bin/python benchmarks/interrupted.py [PROPOSALS] [KILLS]`.

First the batch is killed at random moments until it is done. Then the same batch runs on a local Dask cluster of two workers, of
which one is killed midway, and its numbers are compared with the first, byte for byte.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.batch import JOBS, batch, finished
from tests.test_cluster import dask


def wait_for(folder: Path, wanted: int, running: subprocess.Popen[bytes]) -> None:
    """Waits until so many reports are finished, or the batch has ended."""
    while running.poll() is None and len(list((folder / "out").glob("*/done.json"))) < wanted:
        time.sleep(0.05)


def killed(folder: Path, proposals: int, kills: int) -> None:
    """Kills a batch at random moments, and counts what is made in all."""
    chance, made, vain = random.Random(1), 0, 0
    for kill in range(kills + 1):
        with subprocess.Popen(batch(folder, proposals), stdout=subprocess.DEVNULL) as started:
            wanted = (
                proposals + 1 if kill == kills else made + max(1, round(chance.uniform(0.2, 1.2) * (proposals - made) / kills))
            )
            wait_for(folder, wanted, started)
            if started.poll() is None:
                time.sleep(chance.uniform(0, 1))
                # What is in the making when it is killed is made again.
                vain += len(list((folder / "out" / ".unfinished").glob("*"))) or int(JOBS)
                os.kill(started.pid, signal.SIGKILL)
        made = len(finished(folder))
        print(f"  {made:4} of {proposals} finished after {'the last run' if kill == kills else f'kill {kill + 1}'}")
    left = sorted(path.name for path in (folder / "out").iterdir() if path.name.startswith("."))
    assert made == proposals
    assert not left
    assert started.returncode == 0
    print(f"{made} made once, at most {vain} begun in vain: {(made + vain) / proposals:.2f} x the work")


def on_a_cluster(folder: Path, proposals: int, same: Path) -> None:
    """Runs the batch on two workers, kills one midway, and compares the numbers."""
    begin = time.perf_counter()
    with dask(folder, workers=2) as cluster, cluster.watched() as client:
        client.wait_for_workers(2, timeout=60)
        command = [*batch(folder, proposals), "--cluster", cluster.address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as started:
            wait_for(folder, proposals // 2, started)
            cluster.busy(client).kill()
        assert started.returncode == 0
    names = finished(folder)
    assert names == finished(same)
    differing = [
        each
        for each in names
        if (folder / "out" / each / "results.json").read_bytes() != (same / "out" / each / "results.json").read_bytes()
    ]
    assert not differing
    seconds = time.perf_counter() - begin
    print(f"{len(names)} on two Dask workers, one killed midway: the same results.json, byte for byte; {seconds:.0f} s")


def main() -> None:
    arguments = [*map(int, sys.argv[1:])]
    proposals, kills = [*arguments, *(200, 10)[len(arguments) :]]
    with tempfile.TemporaryDirectory() as local, tempfile.TemporaryDirectory() as elsewhere:
        killed(Path(local), proposals, kills)
        on_a_cluster(Path(elsewhere), proposals, Path(local))


if __name__ == "__main__":
    main()
