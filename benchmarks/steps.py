"""Reading training logs of a gigabyte: `.venv/bin/python benchmarks/steps.py`.

Two generated logs in the format of Megatron-LM: one in which a line in twenty holds a step's time, as among the warnings and the
timers of a real run, and one in which each line does. Each is read in a process of its own. Prints MB a second of processor time,
which other work on the machine hardly changes, and the peak of memory above that of a log of a megabyte.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SIZES = (1_000_000, 100_000_000, 1_000_000_000)
STEP = (
    " iteration {number:8d}/ 9000000 | consumed samples: {number:12d} | elapsed time per iteration (ms): {ms:.1f} | "
    "learning rate: 1.500E-04 | global batch size:     4 | lm loss: 7.5E+00 | number of skipped iterations:   0 |\n"
)
OTHER = (
    "[default7]:time (ms) | forward-compute: 176.39 | forward-recv: 127.53 | backward-compute: 514.82 | backward-send: 0.67 |\n"
)


def write(path: Path, size: int, others: int) -> None:
    """A log of some size, with so many other lines after each step."""
    number = written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            block = "".join(
                STEP.format(number=number + each, ms=1380 + (number + each) * 7919 % 100 / 10) + OTHER * others
                for each in range(1, 1001)
            )
            number += 1000
            written += file.write(block)


def measured(path: Path) -> dict[str, float]:
    """Seconds and the peak of memory in MB of one reading in a process of its own."""
    done = subprocess.run([sys.executable, __file__, str(path)], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    if len(sys.argv) > 1:
        from roi.evidence.steps import read

        start = time.process_time()
        found = read(Path(sys.argv[1]))
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak": peak, "steps": found.findings[0].count}))
        return
    for others in (19, 0):
        least = 0.0
        for size in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "train.log"
                write(path, size, others)
                run, actual = measured(path), path.stat().st_size
            least = least or run["peak"]
            print(
                f"{actual / 1e6:7,.0f} MB, 1 step in {others + 1:2} lines  {run['steps']:10,.0f} steps  {run['seconds']:6.2f} s  "
                f"{actual / 1e6 / run['seconds']:5.0f} MB/s  {run['peak'] - least:5.0f} MB above {least:.0f} MB"
            )


if __name__ == "__main__":
    main()
