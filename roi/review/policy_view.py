"""The view of scaling policies: the answer, cost against wait as a frontier, the policies side by side, and every setting."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
from markupsafe import Markup

from roi.charts import MONEY_AXIS, Rows, Spec, _configured, _drawn
from roi.review.policy import Threshold
from roi.review.policy_frontier import Comparison, Terms, answer, compare, facts, flags, notes, policies, settings
from roi.review.policy_trace import drawn

WIDTH, HEIGHT = 420, 300
"""Size of the plot, without its axes, in pixels."""

LETTER, TEXT_LINE, BESIDE, BELOW = 7.0, 16.0, 9.0, 9.0
"""Room for a letter and a line of text, and how far beside its point and below it a name stands, in pixels."""


def section(found: Comparison) -> str:
    """A comparison of policies as an HTML section."""
    return _template().render(
        answer=answer(found),
        facts=facts(found),
        svg=Markup(_svg(found)),
        ratio=f"{WIDTH}/{HEIGHT}",
        tables=[policies(found), settings(found)],
        flags=flags(found),
        notes=notes(found),
    )


def shipped() -> str:
    """The section of a trace that is drawn at random, on the fleet of the defaults."""
    terms = Terms()
    return section(compare(drawn(terms.seed, None, None, terms.largest), terms))


def _svg(found: Comparison) -> str:
    """Cost against mean wait: filled on the frontier, hollow where another setting is better on both."""
    frontier, limits, limit = found.frontier, _limits(found), found.terms.wait_minutes
    settings: Rows = [
        {
            "wait": each.mean_wait,
            "cost": each.cost,
            "policy": type(each.policy).__name__,
            "order": order,
            "kind": "chosen" if each is found.chosen else "frontier" if each in frontier else "dominated",
        }
        for order, each in enumerate(found.replays)
    ]
    rows = {"settings": settings, "words": _words(found, limits), "limit": []}
    if limit is not None and limits["left"] <= limit <= limits["right"]:
        rows["limit"] = [{"wait": limit}]
    svg = _drawn(_chart(), rows, limits)
    return svg.replace('role="img"', 'role="img" aria-label="Cost against mean wait under every setting"', 1)


def _words(found: Comparison, limits: dict[str, float]) -> Rows:
    """What is named, and where: the setting of each policy that waits least, the cheapest of all, and the one that is chosen.

    Left of the frontier and below it no setting can be, so that a name is free there; where it has no room, it stands right of
    its point, and names move apart that would cover each other.
    """
    across, up = WIDTH / (limits["right"] - limits["left"]), HEIGHT / (limits["high"] - limits["low"])
    ends = {type(each.policy): each for each in found.replays if not isinstance(each.policy, Threshold)}
    ends[Threshold] = next(each for each in found.replays if isinstance(each.policy, Threshold))
    named = {each.policy.label: each for each in (*ends.values(), found.frontier[0], found.chosen) if each}
    rows: Rows = []
    sides = {"left": (-BESIDE, BELOW), "right": (BESIDE, -BELOW)}
    for side, (beside, below) in sides.items():
        free = -math.inf
        # From the top down on the left, and from the bottom up on the right.
        for name, each in sorted(named.items(), key=lambda item: item[1].cost * -below):
            at, down = (each.mean_wait - limits["left"]) * across, (limits["high"] - each.cost) * up
            if ("left" if each in found.frontier and at > BESIDE + LETTER * len(name) else "right") == side:
                free = max((down + below) * math.copysign(1, below), free)
                place = {"wait": limits["left"] + (at + beside) / across, "cost": limits["high"] - abs(free) / up}
                rows.append(place | {"side": side, "name": name, "kind": "chosen" if each is found.chosen else "other"})
                free += TEXT_LINE
    return rows


def _limits(found: Comparison) -> dict[str, float]:
    """The ends of the two axes, with room around the settings."""
    waits, costs = [each.mean_wait for each in found.replays], [each.cost for each in found.replays]
    beside, above = (max(waits) - min(waits) or 1.0) * 0.12, (max(costs) - min(costs) or 1.0) * 0.12
    return {
        "left": max(0.0, min(waits) - beside),
        "right": max(waits) + beside,
        "low": max(0.0, min(costs) - above),
        "high": max(costs) + above,
    }


@cache
def _chart() -> Spec:
    """Data sets `settings`, `words` and `limit`."""
    params = [alt.param(name=name, value=1.0) for name in ("left", "right", "low", "high")]
    across, up = (
        alt.Scale(domain=[{"expr": low}, {"expr": high}], nice=False, zero=False)
        for low, high in (("left", "right"), ("low", "high"))
    )
    x = alt.X("wait:Q", title="mean wait, minutes", scale=across, axis=alt.Axis(grid=False, tickCount=6))
    y = alt.Y("cost:Q", title=None, scale=up, axis=alt.Axis(labelExpr=MONEY_AXIS, tickCount=6))
    settings, words, limit = (alt.Chart(alt.NamedData(name=name)) for name in ("settings", "words", "limit"))
    rule = limit.mark_rule(color="var(--ink)", strokeDash=[4, 4], aria=False).encode(x=x)
    lines = settings.mark_line(color="var(--quiet)", strokeWidth=1, aria=False).encode(
        x=x, y=y, detail="policy:N", order="order:Q"
    )
    kinds = ["chosen", "frontier", "dominated"]
    stroke = alt.Scale(domain=kinds, range=["var(--gain)", "var(--ink)", "var(--quiet)"])
    fill = alt.Scale(domain=kinds, range=["var(--gain)", "var(--ink)", "var(--paper)"])
    points = settings.mark_point(size=60, opacity=1, strokeWidth=1.5).encode(
        x=x, y=y, stroke=alt.Stroke("kind:N", scale=stroke, legend=None), fill=alt.Fill("kind:N", scale=fill, legend=None)
    )
    beside: dict[str, Any] = {"align": alt.expr("datum.side == 'left' ? 'right' : 'left'"), "baseline": "middle", "fontSize": 12}
    halo = words.mark_text(stroke="var(--paper)", strokeWidth=4, aria=False, **beside).encode(x=x, y=y, text="name:N")
    ink = alt.Scale(domain=["chosen", "other"], range=["var(--gain)", "var(--ink)"])
    names = words.mark_text(**beside).encode(x=x, y=y, text="name:N", color=alt.Color("kind:N", scale=ink, legend=None))
    chart = alt.layer(rule, lines, halo, points, names).add_params(*params)
    # The plot has this size, whatever its axes take, so that names stand where they were placed.
    return _configured(chart.properties(width=WIDTH, height=HEIGHT)) | {"autosize": {"type": "pad"}}


@cache
def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("policy.html.j2")
