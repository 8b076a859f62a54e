"""From key press to changed headline and chart, in Chromium, all in one run: `.venv/bin/python benchmarks/slider.py`.

Three ways to move the same slider of the same model: the page from a disk, the board in Voila, and a slider whose observer
computes in the kernel and sends the headline and the chart back. Prints median, 95th percentile and the ratio to the page.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from roi import load
from roi.board import Page
from tests.browser import chromium, visit

MOVES = 300

KERNEL = """
import ipywidgets, roi
proposal = roi.load("two-region")
slider = ipywidgets.FloatSlider(value=120, min=-60, max=300, step=5)
headline, chart = ipywidgets.HTML(), ipywidgets.HTML()

def show(change=None):
    result = roi.evaluate(proposal, latency_saved=slider.value)
    points = " ".join(f"{40 * month},{200 - cash / 2e4:.1f}" for month, cash in enumerate(result["cumulative"]))
    headline.value = f'<b data-line="net_gain">{result.net_gain:,.0f}</b>'
    line = f'<polyline fill="none" stroke="black" points="{points}"/>'
    chart.value = f'<svg data-chart="cumulative" width="720" height="400">{line}</svg>'

slider.observe(show, "value")
show()
ipywidgets.VBox([slider, headline, chart])
"""
SERVE = "import pathlib, sys; from roi import serve; serve.NOTEBOOK = pathlib.Path(sys.argv[1]);serve.serve(port=0, pool=1)"
WATCH = """
([slider, headline, chart]) => {
  window.samples = [];
  let start = 0, waiting = new Set();
  document.addEventListener("keydown", (event) => { start = event.timeStamp; waiting = new Set([headline, chart]); }, true);
  // Widgets may put new elements in the place of old ones, so the whole page is watched.
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      for (const selector of [...waiting]) {
        const inside = [target, ...addedNodes].some((node) => {
          const found = node.nodeType === 1 ? node : node.parentElement;
          return found?.closest(selector) || found?.querySelector?.(selector) && addedNodes.length;
        });
        if (inside) waiting.delete(selector);
      }
    }
    if (start && !waiting.size) { window.samples.push(performance.now() - start); start = 0; }
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}
"""


def measured(browser: Any, address: str, slider: str, chart: str) -> tuple[list[float], list[str]]:
    """Milliseconds of each move, and what the console said beside warnings."""
    seen = visit(browser, address)
    page = seen.page
    page.wait_for_selector('[data-line="net_gain"]', timeout=60_000)
    page.wait_for_selector(chart, timeout=60_000)
    page.wait_for_timeout(1_000)
    page.evaluate(WATCH, [slider, '[data-line="net_gain"]', chart])
    page.focus(slider)
    for move in range(MOVES):
        page.keyboard.press("ArrowRight" if move // 20 % 2 else "ArrowLeft")
        deadline = time.monotonic() + 10
        while page.evaluate("window.samples.length") <= move:
            assert time.monotonic() < deadline, "the headline or the chart did not change"
    said = [each for each in seen.said if each.startswith(("error", "uncaught"))]
    samples: list[float] = page.evaluate("window.samples")
    page.close(run_before_unload=True)
    return samples, said


def served(notebook: Path) -> tuple[Any, str]:
    """A server process and its address."""
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(notebook)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, re.search(r"http://\S+", process.stdout.readline())[0]  # type: ignore[index]


def main() -> None:
    rows: dict[str, tuple[list[float], list[str]]] = {}
    ours, chart = 'input[name="latency_saved"]', '[data-chart="cumulative"] svg'
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder) / "page.html"
        page.write_text(Page(load("two-region")).document(), encoding="utf-8")
        rows["page from a disk"] = measured(browser, page.as_uri(), ours, chart)

        kernel = Path(folder) / "kernel.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(KERNEL)]), kernel)
        for name, notebook, slider in (
            ("board in Voila", Path("notebooks/app.ipynb").resolve(), ours),
            ("slider through the kernel", kernel, ".noUi-handle"),
        ):
            process, address = served(notebook)
            try:
                rows[name] = measured(browser, address, slider, chart if slider == ours else "svg[data-chart]")
            finally:
                process.terminate()
                process.wait()

    first = float(np.median(rows["page from a disk"][0]))
    print(f"{'key press to headline and chart':32} {'moves':>6} {'median':>9} {'p95':>9} {'ratio':>7}  console errors")
    for name, (samples, said) in rows.items():
        middle, late = float(np.median(samples)), float(np.percentile(samples, 95))
        print(f"{name:32} {len(samples):6} {middle:6.1f} ms {late:6.1f} ms {middle / first:7.2f}  {len(said)}")


if __name__ == "__main__":
    main()
