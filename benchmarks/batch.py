"""Many reports: `roi report` against the commands of papermill and nbconvert one after the other, in one run:
`.venv/bin/python benchmarks/batch.py [PROPOSALS] [COMMANDS]`.

Prints the seconds for each report both ways, and the most memory. The commands are timed for COMMANDS of the proposals (3), since
each takes as long as the other. Memory is the sum of what each process holds of its own and of its share of what it shares, on
Linux.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

BIN = Path(sys.executable).parent
NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "proposal.ipynb"
FIRST, STEP, JOBS = 50.0, 0.5, "3"


def batch(folder: Path, proposals: int) -> list[str]:
    """The command of a batch of so many proposals: as many values of one input."""
    last = FIRST + STEP * (proposals - 1)
    sweep = f"latency_saved={FIRST}:{last}:{STEP}"
    return [str(BIN / "roi"), "report", "two-region", "--sweep", sweep, "-o", str(folder / "out"), "--jobs", JOBS]


def by_batch(folder: Path, proposals: int) -> tuple[float, float]:
    """Seconds for each report, start and index included, and the most memory in MB."""
    peak, begin = 0.0, time.perf_counter()
    with (folder / "log").open("w") as log, subprocess.Popen(batch(folder, proposals), stdout=log) as started:
        while started.poll() is None:
            peak = max(peak, memory(started.pid))
            time.sleep(1)
    assert started.returncode == 0
    assert len(finished(folder)) == proposals
    return (time.perf_counter() - begin) / proposals, peak


def by_commands(folder: Path, proposals: int) -> float:
    """Seconds for each notebook with its page; the workbook and the numbers, which these commands do not write, are not timed."""
    begin = time.perf_counter()
    for number in range(proposals):
        run = str(folder / f"{number}.ipynb")
        parameters = ["-p", "proposal", "two-region", "-p", "latency_saved", str(FIRST + STEP * number)]
        for command in (
            [str(BIN / "papermill"), str(NOTEBOOK), run, *parameters],
            [str(BIN / "jupyter"), "nbconvert", "--to", "html", "--no-input", run],
        ):
            subprocess.run(command, check=True, capture_output=True)
    return (time.perf_counter() - begin) / proposals


def memory(process: int) -> float:
    """What a process and all that it started hold, in MB."""
    held = 0
    try:
        for each in (parent := psutil.Process(process), *parent.children(recursive=True)):
            try:
                held += each.memory_full_info().pss
            except psutil.Error:
                continue
    except psutil.Error:
        return 0.0
    return held / 1e6


def finished(folder: Path) -> set[str]:
    """The reports that are finished, whose numbers can be read."""
    records = (folder / "out").glob("*/done.json")
    return {path.parent.name for path in records if json.loads((path.parent / "results.json").read_bytes())["lines"]}


def main() -> None:
    arguments = [*map(int, sys.argv[1:])]
    proposals, commands = [*arguments, *(100, 3)[len(arguments) :]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        each, peak = by_batch(folder, proposals)
        print(
            f"{proposals} reports, {JOBS} jobs       {each:6.2f} s each, {each * proposals:.0f} s in all, at most {peak:.0f} MB"
        )
        slow = by_commands(folder, commands)
        print(f"papermill, then nbconvert  {slow:6.2f} s each: {slow / each:.0f} x")


if __name__ == "__main__":
    main()
