"""The page of readiness: the gate with its measures day by day, the checklist, and the scorecard."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import altair as alt
import jinja2
from markupsafe import Markup

from roi import amounts
from roi.charts import MONEY_AXIS, Rows, Spec, _configured, _drawn
from roi.review.readiness import (
    Measured,
    Readiness,
    answer,
    checklist_answer,
    cited,
    evaluate,
    notes,
    scorecard_answer,
    weights,
)
from roi.review.readiness_criteria import criteria

WIDTH, HEIGHT, BESIDE = 460, 150, 90
"""Size of a chart, and how much of its width is for the words beside its last day, in pixels."""

AXES = {
    "latency": "format(datum.value, '~g') + ' ms'",
    "utilisation": "format(datum.value * 100, '~g') + ' %'",
    "cost": MONEY_AXIS,
}


def section(found: Readiness | None = None) -> str:
    """Readiness as an HTML section; where nothing is given, the criteria that are shipped and how to give data."""
    found = found or evaluate(criteria())
    return _templates().render(
        found=found,
        answer=answer(found),
        checklist_answer=checklist_answer(found),
        scorecard_answer=scorecard_answer(found),
        weights=weights(found),
        cited=cited,
        figures=amounts.figures,
        colours={"pass": "gain", "fail": "loss"},
        charts=[(_caption(each), Markup(_svg(each))) for each in found.gate if len(each.by_day) > 1],
        ratio=f"{WIDTH}/{HEIGHT}",
        notes=notes(found),
    )


def _caption(measured: Measured) -> str:
    threshold = measured.threshold
    if threshold.name == "cost":
        return "Cost of each complete day"
    return f"{threshold.label}, {threshold.statistic_words.removeprefix('The ')} of each day"


def _svg(measured: Measured) -> str:
    """A measure day by day, with what it is held against: its threshold, of cost the mean."""
    # Each day stands at its own midnight, whatever the zone.
    offset = measured.zone.utcoffset(None).total_seconds()
    days: Rows = [{"x": (day + offset) * 1000, "y": value} for day, value in measured.by_day]
    values = [value for _, value in measured.by_day]
    threshold = measured.threshold
    is_cost = threshold.name == "cost"
    against = sum(values) / len(values) if is_cost else threshold.threshold
    words = f"mean\n{amounts.money(against)}" if is_cost else threshold.words
    low, high = min(*values, against), max(*values, against)
    room = 0.1 * (high - low or abs(high) or 1.0)
    line: Rows = [{"x": days[-1]["x"], "y": against, "text": words}]
    limits = {"low": low - room, "high": high + room, "first": days[0]["x"], "last": days[-1]["x"]}
    svg = _drawn(_by_day(threshold.name), {"days": days, "against": line}, limits)
    return svg.replace('role="img"', f'role="img" aria-label="{_caption(measured)}"', 1)


@cache
def _by_day(measure: str) -> Spec:
    """A dot for each day and a line to hold them against; data sets `days` and `against`."""
    params = [alt.param(name=name, value=0.0) for name in ("low", "high", "first", "last")]
    across = alt.Scale(domain=[{"expr": "first"}, {"expr": "last"}], nice=False, type="utc")
    up = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=False, zero=False)
    x = alt.X("x:T", title=None, scale=across, axis=alt.Axis(grid=False, tickCount=4, format="%-d %b"))
    y = alt.Y("y:Q", title=None, scale=up, axis=alt.Axis(labelExpr=AXES[measure], tickCount=4))
    days, against = (alt.Chart(alt.NamedData(name=name)) for name in ("days", "against"))
    rule = against.mark_rule(color="var(--loss)", strokeDash=[4, 3]).encode(y=y)
    words = against.mark_text(align="left", baseline="middle", dx=10, lineBreak="\n", lineHeight=15, fontSize=12)
    line = days.mark_line(strokeWidth=2, color="var(--ink)", point=alt.OverlayMarkDef(color="var(--ink)", size=28))
    chart = alt.layer(rule, line.encode(x=x, y=y), words.encode(x=x, y=y, text="text:N")).add_params(*params)
    return _configured(chart.properties(width=WIDTH, height=HEIGHT, padding={"left": 5, "right": BESIDE, "top": 8, "bottom": 5}))


@cache
def _templates() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("readiness.html.j2")
