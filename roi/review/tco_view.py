"""The page of total cost: the answer, the two bills part by part as bars, and the figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import altair as alt
import jinja2
from markupsafe import Markup

from roi import amounts
from roi.charts import Rows, Spec, _configured, _drawn
from roi.results import Result
from roi.review.tco import Fleet, answer, by_month, by_work, notes, total_cost

WIDTH, ROW = 460, 32
"""Width of the chart and height of the two bars of a part, in pixels."""


def section(result: Result) -> str:
    """The total cost of a result as an HTML section."""
    fleets = total_cost(result)
    parts = _shown_parts(fleets)
    return _templates().render(
        answer=answer(fleets),
        svg=Markup(_svg(fleets, parts)),
        ratio=f"{WIDTH}/{ROW * len(parts)}",
        tables=[table for table in (by_month(fleets), by_work(fleets)) if table],
        flags=result.flags,
        notes=notes(result),
    )


def _shown_parts(fleets: tuple[Fleet, Fleet]) -> list[str]:
    """The parts that cost something in either fleet, or else all of them."""
    names = [part.name for part in fleets[0].parts]
    costing = {part.name for fleet in fleets for part in fleet.parts if part.cost}
    return [name for name in names if name in costing] or names


def _svg(fleets: tuple[Fleet, Fleet], parts: list[str]) -> str:
    rows: Rows = [
        {
            "label": part.label,
            "fleet": fleet.name,
            "cost": part.cost,
            # The first two bars say whose they are.
            "text": f"{f'{fleet.name} ' if part.name == parts[0] else ''}{amounts.money(part.cost)}",
        }
        for fleet in fleets
        for part in fleet.parts
        if part.name in parts
    ]
    low, high = min(0.0, *(row["cost"] for row in rows)), max(0.0, *(row["cost"] for row in rows))
    room = (high - low or 1.0) * 0.35
    svg = _drawn(_bars(len(parts)), {"parts": rows}, {"low": low, "high": high + room})
    return svg.replace('role="img"', 'role="img" aria-label="The two bills, part by part, in USD a month"', 1)


@cache
def _bars(parts: int) -> Spec:
    """A bar of each fleet for each part, with its amount beside it; data set `parts`."""
    low, high = (alt.param(name=name, value=value) for name, value in (("low", 0.0), ("high", 1.0)))
    # Room for the longest label in any typeface.
    axis = alt.Axis(ticks=False, domain=False, labelLimit=150, labelPadding=8, minExtent=130, labelColor="var(--ink)")
    base = alt.Chart(alt.NamedData(name="parts")).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=axis, scale=alt.Scale(paddingInner=0.25)),
        yOffset=alt.YOffset("fleet:N", sort=None, scale=alt.Scale(paddingInner=0.1)),
    )
    scale = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=False)
    colour = alt.Color(
        "fleet:N", legend=None, scale=alt.Scale(domain=["baseline", "proposed"], range=["var(--quiet)", "var(--ink)"])
    )
    bars = base.mark_bar().encode(x=alt.X("cost:Q", title=None, scale=scale, axis=None), color=colour)
    ends = base.transform_calculate(end="max(datum.cost, 0)")
    words = ends.mark_text(align="left", baseline="middle", dx=5, fontSize=12).encode(
        x=alt.X("end:Q", scale=scale), text="text:N"
    )
    return _configured(alt.layer(bars, words).add_params(low, high).properties(width=WIDTH, height=ROW * parts))


@cache
def _templates() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("tco.html.j2")
