"""The charts, authored in Altair: specifications for the browser, and the same drawn as static SVG.

Colours are CSS variables of the page, so that one drawing serves light, dark and print. Scales that must hold still while a
slider moves are parameters, which the browser sets when the slider is let go.
"""

from __future__ import annotations

import math
import re
import sys
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from roi import amounts, drawing
from roi.breakeven import along, span
from roi.breakeven import pair as break_even
from roi.drivers import Driver, drivers
from roi.inputs import inputs
from roi.results import Result
from roi.simulate import on_a_page
from roi.words import show_line

if TYPE_CHECKING:
    from roi.portfolio import Portfolio

# jsonschema compiles a grammar of internationalised addresses on import, which takes seconds and which no chart needs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import altair as alt  # noqa: E402
import numpy as np  # noqa: E402

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
    "upfront_total": ("Upfront cost", -1),
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


@cache
def cumulative() -> Spec:
    """Cumulative cash by month with the zero line, the payback and what 8 in 10 draws lie between; `fan` may be empty.

    Its data sets are `months`, `payback` and `fan`.
    """
    low, high, last = (alt.param(name=name, value=value) for name, value in (("low", -1.0), ("high", 1.0), ("last", 18)))
    x = alt.X("month:Q", title="month", scale=alt.Scale(domain=[0, {"expr": "last"}]), axis=alt.Axis(grid=False, tickMinStep=1))
    y = alt.Y(
        "cumulative:Q",
        title=None,
        scale=alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=True, zero=False),
        axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=6),
    )
    band = alt.Chart(alt.NamedData(name="fan")).mark_area(color="var(--quiet)", opacity=0.18, clip=True)
    band = band.encode(x=x, y="low:Q", y2="high:Q")
    months = alt.Chart(alt.NamedData(name="months")).encode(x=x, y=y)
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)", strokeWidth=1).encode(y="zero:Q")
    line = months.mark_line(color="var(--ink)", strokeWidth=2.5, clip=True)
    points = months.mark_point(size=60, opacity=0, filled=True, clip=True).encode(tooltip=[alt.Tooltip("text:N", title=" ")])
    payback = alt.Chart(alt.NamedData(name="payback")).encode(x="month:Q", y="zero:Q")
    dot = payback.mark_point(filled=True, size=90, color="var(--gain)", opacity=1, clip=True)
    words = payback.mark_text(align="right", baseline="bottom", dx=-8, dy=-6, color="var(--gain)", fontWeight=600).encode(
        text="text:N"
    )
    chart = alt.layer(band, zero, line, points, dot, words).add_params(low, high, last)
    return _configured(chart.properties(width="container", height=260))


@cache
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


@cache
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


@lru_cache(maxsize=8)
def data(result: Result) -> dict[str, dict[str, Rows]]:
    """The rows of each chart's data sets, as `board.js` makes them for other settings."""
    payback = result["payback_month"]
    odds = on_a_page(result.proposal)[2]
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
            "fan": [
                {"month": month, "low": low, "high": high}
                for month, (low, high) in enumerate(zip(odds.fan["p10"], odds.fan["p90"], strict=True))
            ]
            if odds
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
        values = [row["cumulative"] for row in rows["months"]] + [row[end] for row in rows["fan"] for end in ("low", "high")]
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
    rows = data(result)[name]
    return _drawn({**SPECIFICATIONS[name](), "width": width}, rows, limits(name, rows))


def _drawn(spec: Spec, rows: dict[str, Rows], values: dict[str, float]) -> str:
    """A specification with its data sets and the values of its parameters as an SVG element."""
    params = [{**param, "value": values[param["name"]]} for param in spec["params"]]
    svg = drawing.svg({**spec, "datasets": spec.get("datasets", {}) | rows, "params": params})
    # Fixed sizes give way to the viewBox, and Vega's own class names to nothing that could clash.
    head, rest = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f'{head} role="img">{rest}'


# --- two inputs -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def pair(first: str, second: str) -> Spec:
    """The break-even curve of two scalar inputs with the present values and the sides marked.

    The rows of its data sets `curve`, `sides` and `present` hold a value of each input as `first` and `second`.
    """
    params = [alt.param(name=name, value=value) for name, value in (("left", 0.0), ("right", 1.0), ("low", 0.0), ("high", 1.0))]
    across, up = (
        alt.Scale(domain=[{"expr": low}, {"expr": high}], zero=False, nice=False)
        for low, high in (("left", "right"), ("low", "high"))
    )
    x, y = alt.X("first:Q", scale=across, **_title(first)), alt.Y("second:Q", scale=up, **_title(second))
    curve, sides, present = (alt.Chart(alt.NamedData(name=name)).encode(x=x, y=y) for name in ("curve", "sides", "present"))
    curve = curve.encode(detail="branch:N")
    line = curve.mark_line(color="var(--ink)", strokeWidth=2.5, clip=True)
    points = curve.mark_point(size=60, opacity=0, filled=True, clip=True).encode(tooltip=[alt.Tooltip("text:N", title=" ")])
    colour = alt.Scale(domain=["gain", "loss"], range=["var(--gain)", "var(--loss)"])
    labels = sides.mark_text(fontWeight=600).encode(text="text:N", color=alt.Color("kind:N", legend=None, scale=colour))
    dot = present.mark_point(filled=True, size=90, color="var(--ink)", opacity=1)
    # The words stand on the side that has room for them, and the curve behind them gives way.
    on_the_right = "datum.first * 2 > left + right"
    beside: dict[str, Any] = {"align": alt.expr(f"{on_the_right} ? 'right' : 'left'"), "dx": alt.expr(f"{on_the_right} ? -9 : 9")}
    words = present.mark_text(baseline="bottom", dy=-4, **beside).encode(text="text:N")
    halo = present.mark_text(baseline="bottom", dy=-4, stroke="var(--paper)", strokeWidth=6, **beside).encode(text="text:N")
    chart = alt.layer(line, points, labels, halo, dot, words).add_params(*params)
    return _configured(chart.properties(width="container", height=300))


def _title(name: str) -> dict[str, Any]:
    """The title of an input's axis, and how values are written along it."""
    row = inputs()[name]
    written: dict[str, Any] = {"grid": False, "tickCount": 6}
    if row.unit.startswith("USD"):
        written["labelExpr"] = MONEY_AXIS
    elif row.display_unit.startswith("%"):
        written["labelExpr"] = "format(datum.value * 100, '~g')"
    return {"title": f"{row.label}, {amounts.unit_words(row.display_unit)[1]}", "axis": alt.Axis(**written)}


def pair_data(result: Result, first: str, second: str, target: float = 0.0) -> dict[str, Rows]:
    """The rows of the data sets of `pair`; a side is labelled near the corner that is furthest from the target, in USD."""

    def row(values: tuple[float, float], text: str, **more: Any) -> dict[str, Any]:
        return dict(zip(("first", "second"), values, strict=True)) | {"text": text} | more

    def shown(values: tuple[float, float]) -> str:
        return ", ".join(inputs()[name].show(value) for name, value in zip((first, second), values, strict=True))

    left, right, low, high = pair_limits(result, first, second).values()
    corners = [(left + (right - left) * x, low + (high - low) * y) for x in (0.15, 0.85) for y in (0.07, 0.93)]
    across, up = np.array(corners).T
    beyond = along(result, {first: across, second: up}, "net_gain") - target
    best, worst, over = int(beyond.argmax()), int(beyond.argmin()), f" {amounts.money(target)}" if target else ""
    sides = [row(corners[best], f"net gain above{over}" if over else "gain", kind="gain")] if beyond[best] >= 0 else []
    sides += [row(corners[worst], f"net gain below{over}" if over else "loss", kind="loss")] if beyond[worst] < 0 else []
    curve = [(value, at, branch) for value, found in break_even(result, first, second, target) for branch, at in enumerate(found)]
    now = (result[first], result[second])
    return {
        "curve": [row((value, at), shown((value, at)), branch=branch) for value, at, branch in curve],
        "sides": sides,
        "present": [row(now, f"now: {shown(now)}")],
    }


def pair_limits(result: Result, first: str, second: str) -> dict[str, float]:
    """The parameters of the scales of `pair`: what is plausible of either input, and where it stands now."""
    ends = [edge(*span(result, name), result[name]) for name in (first, second) for edge in (min, max)]
    return dict(zip(("left", "right", "low", "high"), ends, strict=True))


def pair_svg(result: Result, first: str, second: str, target: float = 0.0, width: int = 640) -> str:
    """The break-even curve of two scalar inputs as an SVG element that fits its container; `target` in USD."""
    rows = pair_data(result, first, second, target)
    return _drawn({**pair(first, second), "width": width}, rows, pair_limits(result, first, second))


# --- several proposals ------------------------------------------------------------------------------------------------------

PLOT = (560.0, 360.0)
"""Width and height of the plot of risk and return in pixels; its axes stand outside."""

LETTER, TEXT_LINE, POINT, BESIDE = 8.0, 17.0, 6.0, 10.0
"""Room for a letter, for a line of text, around the middle of a point, and from there to a name, in pixels."""

LONGEST_NAME = 32


def risk_and_return() -> Spec:
    """How sure each proposal is against what it gains on average: the chosen filled, the others hollow; data set `proposals`.

    Every row holds where its name stands, since no chart moves names apart that would cover each other.
    """
    widest, low, high = (alt.param(name=name, value=value) for name, value in (("widest", 1.0), ("low", -1.0), ("high", 1.0)))
    across = alt.Scale(domain=[0, {"expr": "widest"}], nice=False)
    up = alt.Scale(domain=[{"expr": "low"}, {"expr": "high"}], nice=False, zero=False)
    rows = alt.Chart(alt.NamedData(name="proposals"))
    axis = alt.Axis(labelExpr=MONEY_AXIS, tickCount=6, grid=False)
    base = rows.encode(
        x=alt.X("range:Q", title="range in which 8 in 10 outcomes of the net gain lie", scale=across, axis=axis),
        y=alt.Y("mean:Q", title="mean net gain", scale=up, axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=6)),
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)", strokeWidth=1).encode(y="zero:Q")
    moved = base.transform_filter("datum.name_at != datum.mean")
    leaders = moved.mark_rule(color="var(--quiet)", strokeWidth=0.75, aria=False).encode(x2="name_from:Q", y2="name_at:Q")
    chosen, others = (
        base.transform_filter(f"datum.chosen == {chosen}").mark_point(size=90, opacity=1, strokeWidth=2, color=colour, fill=fill)
        for chosen, colour, fill in (("true", "var(--gain)", "var(--gain)"), ("false", "var(--quiet)", "var(--paper)"))
    )
    towards = alt.expr("datum.name_from < datum.range ? 'right' : 'left'")
    names = rows.mark_text(align=towards, baseline="middle").encode(
        x=alt.X("name_from:Q", scale=across), y=alt.Y("name_at:Q", scale=up), text="name:N"
    )
    chart = alt.layer(zero, leaders, others, chosen, names).add_params(widest, low, high)
    spec = _configured(chart.properties(width=PLOT[0], height=PLOT[1]))
    # The plot has this size, whatever its axes take, so that names stand where they were placed.
    return spec | {"autosize": {"type": "pad"}}


def risk_svg(found: Portfolio) -> str:
    """The plot of risk and return of some proposals as an SVG element."""
    ranges = [each.p90 - each.p10 for each in found.odds.values()]
    means = [each.mean for each in found.odds.values()]
    room = (max(0.0, *means) - min(0.0, *means) or 1.0) * 0.1
    limits = {"widest": max(ranges) * 1.1 or 1.0, "low": min(0.0, *means) - room, "high": max(0.0, *means) + room}
    right, down = PLOT[0] / limits["widest"], PLOT[1] / (limits["high"] - limits["low"])
    names = [name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}" for name in found.odds]
    places = _places([(across * right, (limits["high"] - up) * down) for across, up in zip(ranges, means, strict=True)], names)
    rows: Rows = [
        {
            "name": name,
            "chosen": given in found.selection.chosen.names,
            "range": across,
            "mean": up,
            "name_from": across + moved_right / right,
            "name_at": up - moved_down / down,
        }
        for given, name, across, up, (moved_right, moved_down) in zip(found.odds, names, ranges, means, places, strict=True)
    ]
    svg = _drawn(risk_and_return(), {"proposals": rows}, limits)
    return svg.replace('role="img"', 'role="img" aria-label="Risk against return of each proposal"', 1)


Box = tuple[float, float, float, float]
"""Left, right, top and bottom in pixels."""


def _places(points: list[tuple[float, float]], names: list[str]) -> list[tuple[float, float]]:
    """How far to the right of its point (or, below zero, to the left) and how far below it each name begins, in pixels.

    It is the nearest place beside the point where the name covers no other and no point.
    """
    taken: list[Box] = [(x - POINT, x + POINT, y - POINT, y + POINT) for x, y in points]

    def is_free(left: float, right: float, top: float, bottom: float) -> bool:
        inside = left >= 0 and right <= PLOT[0] and top >= 0 and bottom <= PLOT[1]
        return inside and not any(left < each[1] and right > each[0] and top < each[3] and bottom > each[2] for each in taken)

    found = []
    for (x, y), name in zip(points, names, strict=True):
        boxes: dict[tuple[float, float], Box] = {}
        for line, below, side in product(range(int(PLOT[1] / TEXT_LINE)), (1, -1), (1, -1)):
            across, down = side * BESIDE, below * line * TEXT_LINE
            left, right = sorted((x + across, x + across + side * LETTER * len(name)))
            boxes[across, down] = (left, right, y + down - TEXT_LINE / 2, y + down + TEXT_LINE / 2)
        # Where a plot is so full that no place is free, a name stands beside its point all the same.
        place = next((each for each, box in boxes.items() if is_free(*box)), (BESIDE, 0.0))
        taken.append(boxes[place])
        found.append(place)
    return found
