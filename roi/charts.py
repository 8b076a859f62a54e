"""The charts, authored in Altair: specifications for the browser, and the same drawn as static SVG.

Colours are CSS variables of the page, so that one drawing serves light, dark and print. Scales that must hold still while a
slider moves are parameters, which the browser sets when the slider is let go.
"""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from roi import amounts
from roi.drivers import Driver, drivers
from roi.inputs import inputs
from roi.results import Result
from roi.words import show_line

# jsonschema compiles a grammar of internationalised addresses on import, which takes seconds and which no chart needs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import altair as alt  # noqa: E402
import vl_convert  # noqa: E402

Rows = list[dict[str, Any]]
Spec = dict[str, Any]

MONEY_AXIS = (
    "(datum.value < 0 ? '-$' : '$') + (abs(datum.value) >= 1e9 ? format(abs(datum.value) / 1e9, '~g') + 'B' : "
    "abs(datum.value) >= 1e6 ? format(abs(datum.value) / 1e6, '~g') + 'M' : "
    "abs(datum.value) >= 1e3 ? format(abs(datum.value) / 1e3, '~g') + 'K' : format(abs(datum.value), '~g'))"
)

BRIDGE = {
    "release_benefit_total": ("Release gain", 1),
    "saving_benefit_total": ("Compute saving", 1),
    "running_cost_total": ("Added running cost", -1),
    "upfront_cost": ("Upfront cost", -1),
    "net_gain": ("Net gain", 0),
}
"""Rows of the bridge, from the lines of the model: their words, and whether they add to the net gain or take from it."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def _configured(chart: Any) -> Spec:
    spec: Spec = (
        chart.configure(font=FONT, background="transparent", autosize=alt.AutoSizeParams(type="fit", contains="padding"))
        .configure_view(stroke=None)
        .configure_axis(
            labelColor="var(--quiet)",
            titleColor="var(--quiet)",
            gridColor="var(--rule)",
            domainColor="var(--rule)",
            tickColor="var(--rule)",
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_text(fontSize=13, color="var(--ink)")
        .to_dict()
    )
    return spec


def cumulative() -> Spec:
    """Cumulative cash by month with the zero line and the payback marked; data sets `months` and `payback`."""
    low, high, last = (alt.param(name=name, value=value) for name, value in (("low", -1.0), ("high", 1.0), ("last", 18)))
    x = alt.X("month:Q", title="month", scale=alt.Scale(domain=[0, {"expr": "last"}]), axis=alt.Axis(grid=False, tickMinStep=1))
    y = alt.Y(
        "cumulative:Q",
        title=None,
        scale=alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=True, zero=False),
        axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=6),
    )
    months = alt.Chart(alt.NamedData(name="months")).encode(x=x, y=y)
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)", strokeWidth=1).encode(y="zero:Q")
    line = months.mark_line(color="var(--ink)", strokeWidth=2.5, clip=True)
    points = months.mark_point(size=60, opacity=0, filled=True, clip=True).encode(tooltip=[alt.Tooltip("text:N", title=" ")])
    payback = alt.Chart(alt.NamedData(name="payback")).encode(x="month:Q", y="zero:Q")
    dot = payback.mark_point(filled=True, size=90, color="var(--gain)", opacity=1, clip=True)
    words = payback.mark_text(align="right", baseline="bottom", dx=-8, dy=-6, color="var(--gain)", fontWeight=600).encode(
        text="text:N"
    )
    chart = alt.layer(zero, line, points, dot, words).add_params(low, high, last)
    return _configured(chart.properties(width="container", height=260))


def bridge() -> Spec:
    """Where the net gain comes from and goes: one bar for each part, each from where the last one ends; data set `parts`."""
    order = [label for label, _ in BRIDGE.values()]
    low, high = (alt.param(name=name, value=value) for name, value in (("low", -1.0), ("high", 1.0)))
    base = (
        alt.Chart(alt.NamedData(name="parts"))
        .transform_window(end_of_parts="sum(signed)", frame=[None, 0])
        .transform_calculate(
            end="datum.kind == 'total' ? datum.amount : datum.end_of_parts",
            start="datum.kind == 'total' ? 0 : datum.end_of_parts - datum.signed",
            edge="max(datum.start, datum.end)",
        )
        .encode(
            y=alt.Y(
                "label:N",
                sort=order,
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=170, labelPadding=8, labelColor="var(--ink)"),
            )
        )
    )
    scale = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=True)
    colour = alt.Color(
        "kind:N",
        legend=None,
        scale=alt.Scale(domain=["gain", "loss", "total"], range=["var(--gain)", "var(--loss)", "var(--ink)"]),
    )
    bars = base.mark_bar(size=22, clip=True).encode(
        x=alt.X("start:Q", title=None, scale=scale, axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=5)), x2="end:Q", color=colour
    )
    words = base.mark_text(align="left", dx=6).encode(x="edge:Q", text="text:N")
    return _configured(alt.layer(bars, words).add_params(low, high).properties(width="container", height=200))


def tornado() -> Spec:
    """The net gain over each main input's plausible range, below zero in the colour of loss; data set `swings`."""
    low, high = (alt.param(name=name, value=value) for name, value in (("low", -1.0), ("high", 1.0)))
    base = (
        alt.Chart(alt.NamedData(name="swings"))
        .transform_calculate(left="min(datum.at_low, datum.at_high)", right="max(datum.at_low, datum.at_high)")
        .transform_calculate(
            loss_left="min(datum.left, 0)",
            loss_right="min(datum.right, 0)",
            gain_left="max(datum.left, 0)",
            gain_right="max(datum.right, 0)",
        )
        .encode(
            y=alt.Y(
                "label:N",
                sort=alt.EncodingSortField(field="rank", op="min"),
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=190, labelPadding=8, labelColor="var(--ink)"),
            )
        )
    )
    scale = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=True)
    axis = alt.Axis(labelExpr=MONEY_AXIS, tickCount=5)
    loss, gain = (
        base.mark_bar(size=15, clip=True, color=f"var(--{kind})").encode(
            x=alt.X(f"{kind}_left:Q", title=None, scale=scale, axis=axis),
            x2=f"{kind}_right:Q",
            tooltip=[alt.Tooltip("text:N", title=" ")],
        )
        for kind in ("loss", "gain")
    )
    # On a narrow page the words would not fit beside the bars; the table below holds them too.
    shown: dict[str, Any] = {"fontSize": 11, "color": "var(--quiet)", "opacity": alt.expr("width < 300 ? 0 : 1")}
    left = base.mark_text(align="right", dx=-5, **shown).encode(x="left:Q", text="left_text:N")
    right = base.mark_text(align="left", dx=5, **shown).encode(x="right:Q", text="right_text:N")
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)", strokeWidth=1).encode(x="zero:Q")
    present = (
        alt.Chart(alt.NamedData(name="present"))
        .mark_rule(color="var(--ink)", strokeWidth=1, strokeDash=[3, 3])
        .encode(x="net_gain:Q")
    )
    return _configured(
        alt.layer(loss, gain, zero, present, left, right).add_params(low, high).properties(width="container", height=240)
    )


SPECIFICATIONS = {"cumulative": cumulative, "bridge": bridge, "tornado": tornado}


def data(result: Result) -> dict[str, dict[str, Rows]]:
    """The rows of each chart's data sets, as `board.js` makes them for other settings."""
    payback = result["payback_month"]
    parts = []
    for name, (label, sign) in BRIDGE.items():
        amount = sign * result[name] if sign else result[name]
        kind = "total" if not sign else "gain" if sign > 0 else "loss"
        parts.append(
            {"label": label, "amount": amount, "signed": amount if sign else 0.0, "kind": kind, "text": amounts.money(amount)}
        )
    return {
        "cumulative": {
            "months": [
                {"month": month, "cumulative": float(value), "text": f"month {month}: {amounts.money(float(value))}"}
                for month, value in enumerate(result["cumulative"])
            ],
            "payback": [{"month": payback, "zero": 0, "text": show_line(result, "payback_month")}]
            if 0 < payback < math.inf
            else [],
        },
        "bridge": {"parts": parts},
        "tornado": {
            "swings": [_swing(rank, driver) for rank, driver in enumerate(drivers(result))],
            "present": [{"net_gain": result["net_gain"]}],
        },
    }


def _swing(rank: int, driver: Driver) -> dict[str, Any]:
    """One bar of the tornado: the input's ends stand at the net gains that they give."""
    row = inputs()[driver.name]
    low, high = row.show(driver.low), row.show(driver.high)
    left, right = (low, high) if driver.at_low <= driver.at_high else (high, low)
    text = f"{low}: {amounts.money(driver.at_low)}; {high}: {amounts.money(driver.at_high)}"
    return {
        "label": row.label,
        "rank": rank,
        "at_low": driver.at_low,
        "at_high": driver.at_high,
        "left_text": left,
        "right_text": right,
        "text": text,
    }


def limits(name: str, rows: dict[str, Rows]) -> dict[str, float]:
    """The parameters of a chart's scales that fit its rows, with room for the words beside the bars."""
    if name == "cumulative":
        values = [row["cumulative"] for row in rows["months"]]
        return {"low": min(0.0, *values), "high": max(0.0, *values) or 1.0, "last": rows["months"][-1]["month"]}
    if name == "tornado":
        ends = [0.0, *(row[end] for row in rows["swings"] for end in ("at_low", "at_high")), rows["present"][0]["net_gain"]]
        room = (max(ends) - min(ends) or 1.0) * 0.2
        return {"low": min(ends) - room, "high": max(ends) + room}
    ends = [0.0]
    for row in rows["parts"]:
        ends.append(row["amount"] if row["kind"] == "total" else ends[-1] + row["signed"])
    low, high = min(ends), max(ends)
    room = (high - low or 1.0) * 0.3
    return {"low": low, "high": high + room}


def static_svg(name: str, result: Result, width: int = 640) -> str:
    """The chart of a result as an SVG element that fits its container, for pages without scripts, for print and for decks."""
    spec, rows = SPECIFICATIONS[name](), data(result)[name]
    spec["width"] = width
    spec["datasets"] = spec.get("datasets", {}) | rows
    values = limits(name, rows)
    spec["params"] = [{**param, "value": values[param["name"]]} for param in spec["params"]]
    svg = vl_convert.vegalite_to_svg(spec)
    # Fixed sizes give way to the viewBox, and Vega's own class names to nothing that could clash.
    head, rest = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f'{head} role="img">{rest}'
