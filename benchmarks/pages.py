"""From asking for the app to its first number, and until its sliders move it, in Chromium, against plain Voila on the same
notebook, in one run: `.venv/bin/python benchmarks/pages.py`.

Plain Voila starts a kernel for each page. Each page is opened in a browser context of its own, which has nothing cached, and
closed when its kernel has answered. Prints medians, the slowest, ratios, and the memory that each viewer's kernel has for itself.
"""

from __future__ import annotations

import asyncio
import re
import socket
import statistics
import subprocess
import sys
from pathlib import Path

import psutil
from playwright.async_api import Browser, async_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import ARGUMENTS  # noqa: E402

NOTEBOOK = ROOT / "notebooks" / "app.ipynb"
PLAIN, WARM, AT_ONCE = 5, 10, 10
WATCH = """(function look() {
  window.seen ??= {};
  if (document.querySelector('[data-line="net_gain"]')?.textContent) window.seen.number ??= performance.now() / 1000;
  if (document.querySelector('[data-role="tabs"]:not([hidden])')) window.seen.moves ??= performance.now() / 1000;
  else requestAnimationFrame(look);
})()"""
"""Notes in which frame the net gain is on the page, and in which its script has it, by the page's own clock, which starts when
its address is asked for."""

Seconds = tuple[float, float]
"""Until the net gain is on the page, and until it follows the sliders."""


async def opened(browser: Browser, address: str) -> Seconds:
    """Opens a page, waits for its kernel, and closes it as a reader closes it."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    await page.add_init_script(WATCH)
    await page.goto(address, wait_until="commit", timeout=120_000)
    await page.wait_for_selector('[data-role="intake"]:not([hidden])', timeout=120_000)
    seen = await page.evaluate("window.seen")
    async with page.expect_event("close"):
        await page.close(run_before_unload=True)
    await context.close()
    return seen["number"], seen["moves"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def name_of(process: psutil.Process) -> str:
    """What a process under the server is for."""
    command = " ".join(process.cmdline())
    names = {"ipykernel_launcher": "kernel", "roi.kernel_parent": "forks kernels", "roi.drawing": "draws"}
    return next((name for part, name in names.items() if part in command), command)


def processes_of(server: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes under a server: its kernels, what they are forked from, and what draws."""
    return [each for each in psutil.Process(server.pid).children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]


async def main() -> None:
    rows: dict[str, list[Seconds]] = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        port = free_port()
        command = [sys.executable, "-m", "voila", str(NOTEBOOK), "--no-browser", f"--port={port}", "--Voila.log_level=ERROR"]
        plain = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        try:
            await asyncio.sleep(8)
            rows["plain voila, a page at a time"] = [await opened(browser, f"http://127.0.0.1:{port}/") for _ in range(PLAIN)]
        finally:
            plain.terminate()
            plain.wait()

        command = [sys.executable, "-m", "roi", "serve", "--port", "0"]
        ours = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert ours.stdout
        try:
            found = re.search(r"http://\S+", ours.stdout.readline())
            assert found
            rows["roi serve, at once after its start"] = [await opened(browser, found[0])]
            await asyncio.sleep(20)
            warm = []
            for _ in range(WARM):
                warm.append(await opened(browser, found[0]))
                await asyncio.sleep(3)
            rows["roi serve, a page at a time"] = warm
            await asyncio.sleep(10)
            rows[f"roi serve, {AT_ONCE} pages at once"] = list(
                await asyncio.gather(*(opened(browser, found[0]) for _ in range(AT_ONCE)))
            )
            await asyncio.sleep(10)
            pages = [await (await browser.new_context()).new_page() for _ in range(4)]
            for page in pages:
                await page.goto(found[0], wait_until="commit")
                await page.wait_for_selector('[data-role="intake"]:not([hidden])', timeout=120_000)
            sizes = sorted((each.memory_full_info().uss / 1e6, name_of(each)) for each in processes_of(ours))
        finally:
            ours.terminate()
            ours.wait()
        await browser.close()

    first = [statistics.median(each) for each in zip(*next(iter(rows.values())), strict=True)]
    print(f"{'':38} {'pages':>6} {'median':>9} {'slowest':>9} {'plain / this':>13}")
    for name, seconds in rows.items():
        for what, plain_, each in zip(("first number", "sliders move"), first, zip(*seconds, strict=True), strict=True):
            middle = statistics.median(each)
            ratio = f"{plain_ / middle:12.1f}x"
            print(f"{name:38} {len(seconds):6} {middle:7.2f} s {max(each):7.2f} s {ratio}  {what}")
    listed = ", ".join(f"{name} {each:.0f}" for each, name in sizes)
    print(f"memory of its own of each process under the server with 4 viewers and a pool of 2, MB: {listed}")


if __name__ == "__main__":
    asyncio.run(main())
