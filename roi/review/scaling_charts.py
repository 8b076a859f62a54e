"""The charts of scaling: time and cost against the number of GPUs, measured and by the law, as static SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from roi import amounts
from roi.charts import Rows, Spec, _configured, _drawn
from roi.review.scaling import Curve

WIDTH, HEIGHT = 460, 300
"""Size of a chart in pixels."""

LETTER, TEXT_LINE, MOST_ROOM = 7.0, 15.0, 0.4
"""Pixels for a letter and for a line of text, and the largest share of the width that is left to words."""

LONG = 3
"""Hours; a chart of longer runs counts in hours, any other in minutes."""

GROUPED = "format(datum.value, datum.value < 1000 ? '~g' : ',')"

Scale = Literal["log", "linear"]

FEW = 6
"""Up to so many points of a single series each bear their value; otherwise the first and the last do."""


def time_svg(found: Sequence[Curve]) -> str:
    """Time of the same work: points as measured, a line for the law, and a dashed one for linear scaling."""
    longest = max(count.run_hours for each in found for count in each.counts)
    unit, per_hour = ("hours", 1) if longest > LONG else ("minutes", 60)
    points = [_point(each, count.gpus, count.run_hours * per_hour) for each in found for count in each.counts]
    data = {
        "points": points,
        "law": [_point(each, row["gpus"], row["hours"] * per_hour) for each in found for row in each.drawn],
        "ideal": [_point(each, row["gpus"], row["ideal_hours"] * per_hour) for each in found for row in each.drawn],
        "words": _words(found, points),
    }
    return _svg("log", unit, data, "Time of the same work against GPUs, measured and by the law")


def cost_svg(found: Sequence[Curve]) -> str:
    """Cost over that at the smallest count: points as measured, a line for the law, and a dashed one where it stays the same."""
    points = [_point(each, count.gpus, count.relative_cost) for each in found for count in each.counts]
    data = {
        "points": points,
        "law": [_point(each, row["gpus"], row["relative_cost"]) for each in found for row in each.drawn],
        "ideal": [_point(each, row["gpus"], 1.0) for each in found for row in each.drawn],
        "words": _words(found, points),
    }
    label = "Cost of the same work against GPUs, over that at the smallest count"
    return _svg("linear", "cost over that at the smallest count", data, label)


def _point(found: Curve, gpus: float, value: float) -> dict[str, Any]:
    return {"series": found.series.name, "gpus": gpus, "value": value}


def _words(found: Sequence[Curve], points: Rows) -> Rows:
    """What stands beside the points: the name of each series at its last, or the values of the only one."""
    if len(found) > 1:
        last = {row["series"]: row for row in points}
        return [last[each.series.name] | {"text": each.series.short_name} for each in found]
    named = [row | {"text": amounts.figures(row["value"])} for row in points]
    return named if len(named) <= FEW else [named[0], named[-1]]


def _svg(scale: Scale, title: str, data: dict[str, Rows], label: str) -> str:
    gpus = [row["gpus"] for row in data["points"]]
    values = [row["value"] for name in ("points", "law", "ideal") for row in data[name]]
    (left, right), (low, high) = ((min(each), max(each)) for each in (gpus, values))
    # Words stand at the right of their point, where the last ones need room.
    room = min(MOST_ROOM, max(len(word["text"]) for word in data["words"]) * LETTER / WIDTH + 0.03)
    width = math.log(right / left)
    limits = {"left": left / math.exp(width * 0.05), "right": right * math.exp(width * room / (1 - room))}
    if scale == "log":
        limits |= {"low": low / (high / low) ** 0.06, "high": high * (high / low) ** 0.06}
        ticks = [step * 10.0**power for power in range(-6, 10) for step in (1, 2, 5)]
        ticks = [tick for tick in ticks if limits["low"] <= tick <= limits["high"]]
    else:
        limits |= {"low": low - ((high - low) or 1.0) * 0.1, "high": high + ((high - low) or 1.0) * 0.1}
        ticks = []
    _part(data["words"], limits, scale)
    several = len({row["series"] for row in data["points"]}) > 1
    svg = _drawn(_chart(scale, title, tuple(sorted(set(gpus))), tuple(ticks), several), data, limits)
    return svg.replace('role="img"', f'role="img" aria-label="{label}"', 1)


def _part(words: Rows, limits: dict[str, float], scale: Scale) -> None:
    """Move words apart that stand at one count of GPUs and would cover each other."""
    at = math.log if scale == "log" else float
    per_pixel = (at(limits["high"]) - at(limits["low"])) / HEIGHT
    for before, after in pairwise(sorted(words, key=lambda each: (each["gpus"], each["value"]))):
        lacking = TEXT_LINE * per_pixel - (at(after["value"]) - at(before["value"]))
        if after["gpus"] == before["gpus"] and lacking > 0:
            after["value"] = after["value"] * math.exp(lacking) if scale == "log" else after["value"] + lacking


@cache
def _chart(scale: Scale, title: str, counts: tuple[int, ...], ticks: tuple[float, ...], several: bool) -> Spec:
    """Lines and points over GPUs on a logarithmic axis; data sets `points`, `law`, `ideal` and `words`."""
    params = [alt.param(name=name, value=1.0) for name in ("left", "right", "low", "high")]
    across = alt.Scale(type="log", domain=[{"expr": "left"}, {"expr": "right"}], nice=False)
    up = alt.Scale(type=scale, domain=[{"expr": "low"}, {"expr": "high"}], nice=False, zero=False)
    counted: dict[str, Any] = {"labelOverlap": "greedy", "labelSeparation": 8, "grid": False}
    x = alt.X("gpus:Q", title="GPUs", scale=across, axis=alt.Axis(values=list(counts), labelExpr=GROUPED, **counted))
    chosen: dict[str, Any] = {"values": list(ticks)} if ticks else {"tickCount": 5}
    y = alt.Y("value:Q", title=title, scale=up, axis=alt.Axis(labelExpr=GROUPED, labelOverlap="greedy", **chosen))
    points, law, ideal, words = (alt.Chart(alt.NamedData(name=name)) for name in ("points", "law", "ideal", "words"))
    dashed = ideal.mark_line(color="var(--quiet)", strokeWidth=1, strokeDash=[4, 4], aria=False)
    solid = law.mark_line(color="var(--ink)", strokeWidth=2)
    dots = points.mark_point(filled=True, size=60, color="var(--ink)", opacity=1)
    # Time falls from a point to the right, so words stand above it; cost rises, so they stand below. No line goes on behind the
    # name of a series, which can stand closer.
    beside: dict[str, Any] = {"align": "left", "dx": 7 if several else 4, "fontSize": 12, "aria": False}
    away = -3 if several else 4
    beside |= {"baseline": "bottom", "dy": -away} if scale == "log" else {"baseline": "top", "dy": away}
    halo = words.mark_text(stroke="var(--paper)", strokeWidth=4, **beside)
    texts = words.mark_text(**beside)
    lines = [each.encode(x=x, y=y, detail="series:N") for each in (dashed, solid)]
    labels = [each.encode(x=x, y=y, text="text:N") for each in (halo, texts)]
    chart = alt.layer(*lines, dots.encode(x=x, y=y), *labels).add_params(*params)
    return _configured(chart.properties(width=WIDTH, height=HEIGHT))
