"""Forked kernels against ordinary ones: `.venv/bin/python benchmarks/kernels.py`.

Prints how long each takes until it answers and until it has the workbook's imports, in turn, as medians and ratios; the memory
that each has for itself with a board opened, as in the app; how long ten viewers at once wait for the server, without what their
browsers take; and what is left of many starts and stops.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.kernelspec import KernelSpecManager

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from roi.assets import SCRIPT_ADDRESS
from roi.kernels import PARENT, OwnKernel, OwnPython
from tests.test_serve import Channel, Server, settled

ROUNDS, AT_ONCE, STARTS = 10, 5, 500
POOLS, VIEWERS = (0, 2, 10), 10
WAYS = {"ordinary": lambda: KernelSpecManager(kernel_dirs=[]), "forked": OwnPython}
IMPORTS, BOARD = "from roi.board import Board", "board = Board()"


@asynccontextmanager
async def kernel(way: str) -> AsyncIterator[tuple[psutil.Process, Any, float]]:
    """The process of a kernel that answers, its client, and the seconds until it did."""
    start = time.perf_counter()
    manager = OwnKernel(kernel_spec_manager=WAYS[way]())
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=120)
    seconds = time.perf_counter() - start
    yield psutil.Process(manager.provisioner.process.pid), client, seconds
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


async def run(client: Any, code: str) -> None:
    reply = await client.execute_interactive(code, timeout=120)
    assert reply["content"]["status"] == "ok", reply["content"]


async def start_times() -> dict[str, tuple[list[float], list[float]]]:
    """Seconds until a kernel answers, and until it has the imports."""
    found: dict[str, tuple[list[float], list[float]]] = {way: ([], []) for way in WAYS}
    for _ in range(ROUNDS):
        for way, (ready, imported) in found.items():
            start = time.perf_counter()
            async with kernel(way) as (_, client, seconds):
                await run(client, IMPORTS)
                ready.append(seconds)
                imported.append(time.perf_counter() - start)
    return found


async def memory(way: str) -> list[float]:
    """MB that each of some kernels at once has for itself, with a board."""

    async def one(opened: asyncio.Barrier) -> float:
        async with kernel(way) as (process, client, _):
            await run(client, f"{IMPORTS}\n{BOARD}")
            await opened.wait()
            size: float = process.memory_full_info().uss / 1e6
            await opened.wait()
            return size

    opened = asyncio.Barrier(AT_ONCE)
    return sorted(await asyncio.gather(*(one(opened) for _ in range(AT_ONCE))))


def waits(pool: int, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds that each of several viewers at once waits for the page, and until the board in its kernel answers."""
    server = Server(folder / "log", sys.executable, "-m", "roi", "serve", "--port", "0", "--pool", str(pool))

    def view(_: int) -> tuple[float, float]:
        start = time.perf_counter()
        _, kernel_id = server.page()
        page = time.perf_counter() - start
        with Channel.to(server, kernel_id) as channel:
            channel.ping()
            answered = time.perf_counter() - start
        server.close_tab(kernel_id)
        return page, answered

    with ThreadPoolExecutor(VIEWERS) as viewers:
        view(0)
        settled(server)
        pages, answers = zip(*viewers.map(view, range(VIEWERS)), strict=True)
    server.process.send_signal(signal.SIGINT)
    server.process.wait()
    (folder / "log").unlink()
    return sorted(pages), sorted(answers)


def left(forking: psutil.Process, folder: Path) -> dict[str, int]:
    """What there is besides kernels in use."""
    gc.collect()
    here = psutil.Process()
    return {
        "processes": len(here.children(recursive=True)),
        "descriptors here": here.num_fds(),
        "descriptors of the process to fork from": forking.num_fds(),
        "files": len(list(folder.iterdir())),
    }


async def many(forking: psutil.Process, folder: Path) -> tuple[float, dict[str, int]]:
    """Seconds for many starts and stops, some at once, and how much more is there after them than after the first few."""

    async def one() -> None:
        async with kernel("forked"):
            pass

    await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    before, start = left(forking, folder), time.perf_counter()
    for _ in range(STARTS // AT_ONCE):
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    seconds, after = time.perf_counter() - start, left(forking, folder)
    return seconds, {name: after[name] - before[name] for name in before}


async def main() -> None:
    os.environ[SCRIPT_ADDRESS] = "/roi/board.js"  # as a server does, from which a page has the script
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        start = time.perf_counter()
        PARENT.start()
        async with kernel("forked") as (process, _, _):
            first, forking = time.perf_counter() - start, process.parent()
        assert forking
        times = await start_times()
        sizes = {way: await memory(way) for way in WAYS}
        shared = forking.memory_info().rss / 1e6
        seconds, more = await many(forking, Path(folder))
        PARENT.close()
        waited = {pool: await asyncio.to_thread(waits, pool, Path(folder)) for pool in POOLS}

    print(f"{'seconds from the start of a kernel':36} {'runs':>5} {'answers':>9} {'ratio':>7} {'imports':>9} {'ratio':>7}")
    for way, (ready, imported) in times.items():
        medians = [statistics.median(each) for each in (ready, imported)]
        slowest = [statistics.median(each) for each in times["ordinary"]]
        cells = [f"{each:9.2f} {one / each:6.1f}x" for each, one in zip(medians, slowest, strict=True)]
        print(f"{way:36} {len(ready):5} {' '.join(cells)}")
    print(f"{'the first fork, with what it is from':36} {1:5} {first:9.2f}")
    print()
    print(f"{'MB of its own, with a board':36} {'least':>7} {'median':>7} {'most':>7}")
    for way, each in sizes.items():
        print(f"{way:36} {each[0]:7.0f} {statistics.median(each):7.0f} {each[-1]:7.0f}")
    print(f"{'the process to fork from, in all':36} {shared:7.0f}")
    print()
    print(f"{f'{VIEWERS} viewers at once, seconds':36} {'page':>9} {'slowest':>9} {'answers':>9} {'slowest':>9}")
    for pool, (pages, answers) in waited.items():
        cells = [f"{value:9.2f}" for each in (pages, answers) for value in (statistics.median(each), each[-1])]
        print(f"{f'of a pool of {pool}':36} {' '.join(cells)}")
    print()
    print(f"{STARTS} forked kernels started and stopped, {AT_ONCE} at once, in {seconds:.0f} s; more than before:")
    for name, count in more.items():
        print(f"  {name:40} {count:4}")


if __name__ == "__main__":
    asyncio.run(main())
