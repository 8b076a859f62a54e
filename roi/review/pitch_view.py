"""The view for a board: the cost curve and the cash by month, each with its answer before it and its figures under it."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import altair as alt
import jinja2
from markupsafe import Markup

from roi import amounts
from roi.charts import MONEY_AXIS, Rows, Spec, _configured, _drawn
from roi.inputs import inputs
from roi.results import Result
from roi.review.pitch import Pitch, cost_answer, cost_table, lasts, notes, pitch, runway_answer, runway_table

WIDTH, HEIGHT = 420, 250
"""Size of a chart in pixels."""

APART = 0.18
"""How far the words of two lines stand apart at least, as a share of the height."""

COLOURS = ("var(--quiet)", "var(--ink)")
"""The line without the deployment, and the one with it."""


def section(result: Result) -> str:
    """The pitch of a result as an HTML section."""
    found = pitch(result)
    return _templates().render(
        cost_answer=cost_answer(found),
        runway_answer=runway_answer(found),
        ratio=f"{WIDTH}/{HEIGHT}",
        cost_svg=Markup(_cost_svg(found)),
        cash_svg=Markup(_cash_svg(found)) if found.has_runway else None,
        cost_table=cost_table(found),
        runway_table=runway_table(found),
        flags=result.flags,
        notes=notes(found),
    )


def _cost_svg(found: Pitch) -> str:
    """The bills of both fleets along the curve, with the proposal's own GPUs marked."""
    lines = {name: [(each.gpus, getattr(each, f"{name}_bill")) for each in found.curve] for name in ("baseline", "proposed")}
    words = {name: f"{name}\n{amounts.money(points[-1][1])}" for name, points in lines.items()}
    own = {"x": found.own.gpus, "y": 0.0, "text": inputs()["gpus"].show(found.own.gpus)}
    return _svg(lines, words, "GPUs", {"own": [own]}, "Cost per month of either fleet as GPUs grow")


def _cash_svg(found: Pitch) -> str:
    """Cash by month with the deployment and without it, with the months in which it runs out marked."""
    result = found.result
    months = result["month"].tolist()
    lines = {side: list(zip(months, result[f"cash_{side}"].tolist(), strict=True)) for side in ("without", "with")}
    words = {side: f"{side}\n{lasts(result, side)}" for side in lines}
    runs_out = [{"x": month, "y": 0.0} for side in lines if math.isfinite(month := result[f"runway_{side}"])]
    return _svg(lines, words, "month", {"runs_out": runs_out}, "Cash by month with the deployment and without it")


def _svg(
    lines: dict[str, list[tuple[float, float]]], words: dict[str, str], title: str, marks: dict[str, Rows], label: str
) -> str:
    """Two lines of points with words at the end of each, and with marks."""
    points: Rows = [{"line": name, "x": x, "y": y} for name, line in lines.items() for x, y in line]
    values = [0.0, *(y for line in lines.values() for _, y in line)]
    low, high = min(values), max(values)
    # Words whose lines end close to each other give way, the upper ones upwards and the lower ones downwards.
    lower, upper = sorted(lines, key=lambda name: lines[name][-1][1])
    gap = lines[upper][-1][1] - lines[lower][-1][1]
    away = max((high - low) * APART - gap, 0.0) / 2
    ends: Rows = [
        {"x": lines[name][-1][0], "y": lines[name][-1][1] + moved, "text": words[name]}
        for name, moved in ((lower, -away), (upper, away))
    ]
    data: dict[str, Rows] = {"own": [], "runs_out": [], **marks, "points": points, "ends": ends}
    limits = {"low": low, "high": high if high > low else low + 1.0, "last": float(points[-1]["x"])}
    svg = _drawn(_lines(title, tuple(lines)), data, limits)
    return svg.replace('role="img"', f'role="img" aria-label="{label}"', 1)


@cache
def _lines(title: str, names: tuple[str, ...]) -> Spec:
    """Two lines with their words at the right; data sets `points`, `ends`, `own` and `runs_out`."""
    params = [alt.param(name=name, value=0.0) for name in ("low", "high", "last")]
    across = alt.Scale(domain=[0, {"expr": "last"}], nice=False)
    up = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=False, zero=False)
    x = alt.X("x:Q", title=title, scale=across, axis=alt.Axis(grid=False, tickCount=6))
    y = alt.Y("y:Q", title=None, scale=up, axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=5))
    colour = alt.Color("line:N", legend=None, scale=alt.Scale(domain=list(names), range=list(COLOURS)))
    points, ends, own, runs_out = (alt.Chart(alt.NamedData(name=name)) for name in ("points", "ends", "own", "runs_out"))
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)", strokeWidth=1).encode(y="zero:Q")
    rule = own.mark_rule(color="var(--quiet)", strokeDash=[3, 3], aria=False).encode(x=x)
    towards = alt.expr("datum.x * 2 > last ? 'right' : 'left'")
    beside = alt.expr("datum.x * 2 > last ? -5 : 5")
    # At the foot of the rule, where the lines leave room.
    named = own.mark_text(align=towards, dx=beside, dy=-5, baseline="bottom", fontSize=12, aria=False)
    named = named.encode(x=x, y=y, text="text:N")
    drawn = points.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    dots = runs_out.mark_point(filled=True, size=90, color="var(--loss)", opacity=1, aria=False).encode(x=x, y=y)
    words = ends.mark_text(align="left", baseline="middle", dx=8, lineBreak="\n", lineHeight=15, fontSize=12)
    words = words.encode(x=x, y=y, text="text:N")
    chart = alt.layer(zero, rule, named, drawn, dots, words).add_params(*params)
    # At the right some room more than is measured, since the reader's typeface may be a wider one.
    return _configured(chart.properties(width=WIDTH, height=HEIGHT, padding={"left": 5, "right": 25, "top": 5, "bottom": 5}))


@cache
def _templates() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("pitch.html.j2")
