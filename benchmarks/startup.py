"""`roi evaluate` from a cold shell against a bare import of NumPy, in turn: `.venv/bin/python benchmarks/startup.py`.

Prints median seconds and the ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
COMMANDS = {
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    "roi evaluate two-region": [str(Path(sys.executable).with_name("roi")), "evaluate", "two-region"],
}


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - start)
    first = statistics.median(next(iter(seconds.values())))
    print(f"{'from a cold shell':38} {'runs':>6} {'median':>9} {'ratio':>7}")
    for name, samples in seconds.items():
        print(f"{name:38} {len(samples):6} {statistics.median(samples):7.2f} s {statistics.median(samples) / first:7.2f}")


if __name__ == "__main__":
    main()
