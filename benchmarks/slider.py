"""From key press to changed headline, chart and odds, in Chromium, all in one run: `.venv/bin/python benchmarks/slider.py`.

Three ways to move the same slider of the same model: the page from a disk, the board in Voila, and a slider whose observer
computes in the kernel and sends the headline and the chart back, without odds. Then the odds and the fan alone: as the page
computes them, by a call of `evaluate` for each draw, and in Python. Prints median, 95th percentile and the ratio to the page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from roi import load
from roi.board import Page
from roi.board.page import payload, script
from roi.simulate import DRAWS_ON_A_PAGE, on_a_page
from tests.browser import chromium, visit

MOVES = 300
LATENCIES = [60 + 7 * move % 120 for move in range(100)]
"""What the slider is moved to where the odds alone are measured, in ms/step."""

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
(watched) => {
  window.samples = [];
  let start = 0, waiting = new Set();
  document.addEventListener("keydown", (event) => { start = event.timeStamp; waiting = new Set(watched); }, true);
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


ODDS = """
([data, key, latencies]) => {
  const proposal = data.proposals[key], draws = unpacked(data, proposal), months = monthsOf(proposal.numbers.horizon);
  const state = { numbers: { ...proposal.numbers }, sites: proposal.sites };
  const byEvaluate = () => {
    const numbers = { ...proposal.numbers }, sites = proposal.sites.map(siteNumbers), gains = [], paths = [];
    const move = state.numbers.latency_saved - proposal.numbers.latency_saved;
    for (let draw = 0; draw < draws[0].length; draw++) {
      proposal.odds.forEach(({ name, columns }, fact) => columns.forEach((column) => {
        const scalar = data.inputs[name].axis === "scalar";
        (scalar ? numbers : sites[column])[name] = draws[fact][draw] + (name === "latency_saved" ? move : 0);
      }));
      const { net_gain, cumulative } = evaluate(numbers, sites, months);
      gains.push(net_gain);
      paths.push(cumulative);
    }
    return [gains, ...months.map((month) => paths.map((path) => path[month]))].map((values) => values.sort((a, b) => a - b));
  };
  const timed = (work) => latencies.map((latency) => {
    state.numbers.latency_saved = latency;
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return [timed(() => simulationOf(data, state, proposal, draws)), timed(byEvaluate)];
}
"""


def odds_and_fan(browser: Any) -> dict[str, list[float]]:
    """Milliseconds of the odds and the fan at each of some settings."""
    proposal = load("two-region")
    page = visit(browser).page
    reachable = "\nObject.assign(window, { unpacked, simulationOf, evaluate, monthsOf, siteNumbers });"
    page.add_script_tag(content=script() + reachable, type="module")
    data = payload({proposal.key: proposal}, proposal.key, None, date.today(), with_html=False)
    here, by_evaluate = page.evaluate(ODDS, [json.loads(json.dumps(data)), proposal.key, LATENCIES])
    in_python = []
    for latency in LATENCIES:
        moved = proposal.with_values({"latency_saved": latency + 0.5})
        start = time.perf_counter()
        on_a_page(moved)
        in_python.append((time.perf_counter() - start) * 1000)
    return {"in the page": here, "`evaluate` for each draw": by_evaluate, "in Python": in_python}


def measured(browser: Any, address: str, slider: str, watched: list[str]) -> tuple[list[float], list[str]]:
    """Milliseconds of each move until all that is watched has changed, and what the console said beside warnings."""
    seen = visit(browser, address)
    page = seen.page
    for each in watched:
        page.wait_for_selector(each, timeout=60_000)
    page.wait_for_timeout(1_000)
    page.evaluate(WATCH, watched)
    page.focus(slider)
    for move in range(MOVES):
        page.keyboard.press("ArrowRight" if move // 20 % 2 else "ArrowLeft")
        deadline = time.monotonic() + 10
        while page.evaluate("window.samples.length") <= move:
            assert time.monotonic() < deadline, "something that is watched did not change"
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
    ours, headline = 'input[name="latency_saved"]', '[data-line="net_gain"]'
    watched = [headline, '[data-chart="cumulative"] svg', "[data-role=odds]"]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder) / "page.html"
        page.write_text(Page(load("two-region")).document(), encoding="utf-8")
        rows["page from a disk"] = measured(browser, page.as_uri(), ours, watched)
        odds = odds_and_fan(browser)

        kernel = Path(folder) / "kernel.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(KERNEL)]), kernel)
        for name, notebook, slider in (
            ("board in Voila", Path("notebooks/app.ipynb").resolve(), ours),
            ("slider through the kernel", kernel, ".noUi-handle"),
        ):
            process, address = served(notebook)
            try:
                rows[name] = measured(browser, address, slider, watched if slider == ours else [headline, "svg[data-chart]"])
            finally:
                process.terminate()
                process.wait()

    table("key press to headline, chart and odds", {name: samples for name, (samples, _) in rows.items()})
    table(f"odds and fan over {DRAWS_ON_A_PAGE:,} draws", odds)
    for name, (_, said) in rows.items():
        print(f"console errors, {name}: {len(said)}")


def table(head: str, rows: dict[str, list[float]]) -> None:
    """Prints the median and the 95th percentile of each row in milliseconds, and the ratio of its median to the first."""
    print(f"{head:38} {'moves':>6} {'median':>9} {'p95':>9} {'ratio':>7}")
    first = float(np.median(next(iter(rows.values()))))
    for name, samples in rows.items():
        middle, late = float(np.median(samples)), float(np.percentile(samples, 95))
        print(f"{name:38} {len(samples):6} {middle:6.1f} ms {late:6.1f} ms {middle / first:7.2f}")


if __name__ == "__main__":
    main()
