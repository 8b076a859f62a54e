"""The page of a proposal: rendered here from `board.html`, complete without scripts, with the data that `board.js` runs on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

import roi
from roi import amounts, charts, drawing, words
from roi.alternatives import COLUMNS, alternative_result, known_alternative, rows, sentences
from roi.board.intake import choices
from roi.board.views import VIEWS
from roi.breakeven import grid
from roi.decision import DECIDERS, decide, recommendation
from roi.drivers import drivers, without_range
from roi.inputs import Input, inputs, model
from roi.javascript import module
from roi.modes import mode_rules
from roi.proposals import Proposal
from roi.records import Record
from roi.results import Result
from roi.simulate import DRAWS_ON_A_PAGE, SEED, STEPS, on_a_page
from roi.typeset import mathml
from roi.values import Value, origin_of, plausible

HERE = Path(__file__).parent
IN_EVERY_DRAW = ("net_gain", "payback_month", "peak_cash_out", "cumulative")
"""The lines that the page computes in every draw it carries."""

_templates = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined)


def tiles(result: Result) -> list[tuple[str, str]]:
    """The lines at the top with their words."""
    lines = model().lines
    rate = amounts.quantity(result["discount_rate"], "%")
    return [(name, f"NPV at {rate}" if name == "npv" else lines[name].label) for name in words.TILES]


def site_lines() -> list[str]:
    """The lines that the table of regions shows under its inputs: the bill of a region and the lines that it sums."""
    known = model().lines
    return [*(name for name in known["site_bill"].arguments if name in known), "site_bill"]


def versus(result: Result, other: Result | None) -> str:
    """The difference in net gain against another choice, with its sign."""
    difference = result["net_gain"] - (other["net_gain"] if other else 0.0)
    return ("+" if difference > 0 else "") + amounts.money(difference)


def assumptions(proposal: Proposal) -> list[dict[str, str]]:
    """Rows of the assumptions table: every scalar input, and every site input that the proposal gives."""
    rows = [_assumption(row, row.name, "", proposal.inputs.get(row.name)) for row in inputs().values() if row.axis == "scalar"]
    given: dict[str, Any] = {}
    for fleet, region in proposal.regions:
        for name, value in proposal.sites[fleet][region].items():
            given[f"{fleet}.{region}.{name}"] = (inputs()[name], f"{fleet}, {region}", value)
    rows += [_assumption(row, path, place, value) for path, (row, place, value) in given.items()]
    # Site inputs of which some region keeps the default: the default and its source.
    kept = [
        row
        for row in inputs().values()
        if row.axis == "site" and any(row.name not in proposal.sites[fleet][region] for fleet, region in proposal.regions)
    ]
    return rows + [_assumption(row, f"default.{row.name}", "where a region gives none", None) for row in kept]


def _assumption(row: Input, path: str, place: str, value: Value | None) -> dict[str, str]:
    """One row, from the proposal's own words where it gives a value, else from the inputs' file."""
    ends = plausible(row, value)
    measured = value.measured or value.shape == "empirical" if value else row.source.measured
    dated = value.date if value else row.source.date
    return {
        "path": path,
        "label": row.label,
        "note": row.note,
        "place": place,
        "value": row.show(value.base if value else row.default),
        "spread": row.show_range(*ends) if ends else "",
        "basis": ", ".join(filter(None, ("measured" if measured else "assumed", value.basis if value else "", _count(value)))),
        "source": (value.source or "no source given") if value else row.source.title,
        "link": (value.link if value else row.source.link)
        if (value.link if value else row.source.link).startswith("https://")
        else "",
        "date": "" if dated is None else str(dated),
        "owner": (value.owner or "not named") if value else row.source.owner,
    }


def _count(value: Value | None) -> str:
    """How many measurements a value stands on."""
    count = (value.count or len(value.values if value.shape == "empirical" else ())) if value else 0
    return f"{count:,} value{'' if count == 1 else 's'}" if count else ""


def assumed(proposal: Proposal) -> dict[str, str]:
    """Where the value of each main input comes from, in one line."""
    found = {row["path"]: row for row in assumptions(proposal)}
    return {
        name: ", ".join(filter(None, (found[name]["source"], found[name]["date"], found[name]["owner"], found[name]["basis"])))
        for name in words.main_inputs()
    }


def flags(result: Result, today: date) -> list[str]:
    """All plausibility flags: on the numbers, on where they come from, and on how sure they are."""
    return [*result.flags, *words.standing_flags(result.proposal, today)]


def html(
    result: Result, proposals: Iterable[Proposal], alternative: Proposal | None, today: date, with_views: bool = True
) -> str:
    """The page of one proposal as an HTML element, complete without scripts; where a server fills the views in, without them."""
    proposal, other = result.proposal, alternative_result(result.proposal, alternative)
    passed = sum(result.checks.values())
    odds, decision, moving = on_a_page(proposal)[2], decide(proposal), drivers(result)
    ordered = [inputs()[name] for name in words.main_inputs()]
    return _templates.get_template("board.html").render(
        id=f"roi-{proposal.fingerprint[:8]}",
        proposal=proposal,
        proposals=list(proposals),
        alternative=alternative if other else None,
        result=result,
        tiles=tiles(result),
        verdict=words.verdict(result),
        left_out=words.LEFT_OUT,
        recommendation=recommendation(decision),
        odds=words.odds_sentence(odds),
        worst=words.worst_sentence(odds),
        cash_out=words.cash_out_sentence(odds),
        returns=words.returns_sentence(result),
        measure=words.measure_sentence(decision.information) if decision.information else words.SENTENCES["no_odds"],
        deciders=moving[:DECIDERS],
        decider=words.decides,
        assumed=assumed(proposal),
        columns=COLUMNS,
        alternatives=rows(decision.found),
        alternatives_said=sentences(proposal, decision.found, DRAWS_ON_A_PAGE),
        fan=odds is not None,
        draws=f"{DRAWS_ON_A_PAGE:,}",
        drivers=moving,
        without_range=without_range(result),
        inputs=inputs(),
        flips=words.flips,
        versus_nothing=versus(result, None),
        versus_alternative=versus(result, other),
        gain_over_alternative=result["net_gain"] - other["net_gain"] if other else 0.0,
        flags=flags(result, today),
        main=ordered,
        others=[row for row in inputs().values() if row.axis == "scalar" and not row.main],
        site_rows=[row for row in inputs().values() if row.axis == "site"],
        site_lines=site_lines(),
        lines=model().lines,
        axes=model().axes,
        formulas=_typeset(),
        assumptions=assumptions(proposal),
        checks=f"{passed} of {len(result.checks)}",
        svg={name: Markup(charts.static_svg(name, result)) for name in charts.SPECIFICATIONS},
        show_line=words.show_line,
        quantity=lambda value, unit: amounts.quantity(float(value), unit),
        money=lambda value: amounts.money(float(value)),
        boxed=amounts.boxed,
        unit_words=amounts.unit_words,
        choices=choices(proposal),
        views=VIEWS,
        sections=with_views,
        footer=f"roi {roi.__version__}. Inputs {proposal.fingerprint[:12]}. {DRAWS_ON_A_PAGE:,} draws, seed {SEED}. "
        f"Checks passed {passed} of {len(result.checks)}. Flags as of {today}.",
    )


@cache
def _typeset() -> dict[str, Markup]:
    return {name: Markup(mathml(formula)) for name, formula in model().formulas.items()}


def payload(
    proposals: Mapping[str, Proposal],
    selected: str,
    alternative: Proposal | None,
    today: date,
    with_html: bool,
    among: Iterable[Proposal] = (),
) -> dict[str, Any]:
    """All that `board.js` needs, as plain data.

    Args:
        proposals: those to choose from, by key.
        selected: the key of the one shown first.
        alternative: the proposal that the others are compared with.
        today: the day as of which sources are old or not.
        with_html: whether the page of each proposal comes along, for a host that has none yet and fills in the views.
        among: what the pages offer to choose from, where it is more than these proposals.
    """
    known = model()
    results = {key: Result(proposal) for key, proposal in proposals.items()}
    described = {}
    for key, proposal in proposals.items():
        described[key] = _described(proposal) | {
            "flags": words.standing_flags(proposal, today),
            "odds": _draws(proposal),
            "assumed": assumed(proposal),
        }
        if with_html:
            described[key]["html"] = html(results[key], among or proposals.values(), alternative, today, with_views=False)
    return {
        "version": roi.__version__,
        "selected": selected,
        "proposals": described,
        "alternative": None if alternative is None else _described(alternative),
        "inputs": {
            row.name: {
                "label": row.label,
                "unit": row.unit,
                "display_unit": row.display_unit,
                "axis": row.axis,
                "default": row.default,
                "spread": row.spread and msgspec.structs.asdict(row.spread),
                "range": row.range,
                "slider": row.slider,
                "whole": row.whole,
                "less": row.less,
                "more": row.more,
                "allowed": row.allowed,
            }
            for row in inputs().values()
        },
        "lines": {
            name: {
                "label": line.label,
                "unit": str(line.unit),
                "axis": known.axes[name],
                "arguments": line.arguments,
                "formula": str(known.formulas[name]),
                "flag": line.flag,
            }
            for name, line in known.lines.items()
        },
        "checks": known.checks,
        "deciders": DECIDERS,
        "steps": STEPS,
        "unit_words": {unit: amounts.unit_words(unit) for unit in _units()},
        "site_lines": site_lines(),
        "main": words.main_inputs(),
        "asked": words.asked(),
        "grids": {name: grid(name) for name in words.asked()},
        "sentences": words.SENTENCES,
        "charts": {name: specification() for name, specification in charts.SPECIFICATIONS.items()},
        "bridge": [{"line": name, "label": label, "sign": sign} for name, (label, sign) in charts.BRIDGE.items()],
        "scenario_lines": [*words.TILES, "payback_sustained", "benefit_cost_ratio", "roi_net", "baseline_bill", "proposed_bill"],
    }


def _draws(proposal: Proposal) -> list[dict[str, Any]]:
    """The draws of each uncertain fact, so that the page can compute the odds of other settings."""
    facts, packed, _ = on_a_page(proposal)
    return [
        {"path": each.path, "name": each.row.name, "columns": each.columns, "moves": each.moves}
        | {"low": drawn.low, "high": drawn.high, "draws": drawn.text}
        for each, drawn in zip(facts, packed, strict=True)
    ]


def _units() -> set[str]:
    """Every unit that a page shows a value in."""
    return {str(line.unit) for line in model().lines.values()} | {row.display_unit for row in inputs().values()} | {"1", "%"}


def _described(proposal: Proposal) -> dict[str, Any]:
    """A proposal as data: its words, what its file says, and every number that the model is given."""

    def said(values: Mapping[str, Value]) -> dict[str, Any]:
        return {name: _plain(origin) for name, value in values.items() if (origin := origin_of(value))}

    return {
        "key": proposal.key,
        "name": proposal.name,
        "owner": proposal.owner,
        "decision": proposal.decision,
        "correlations": [asdict(each) for each in proposal.correlations],
        "pilot": proposal.pilot and _plain(proposal.pilot),
        "mode": proposal.mode and _plain(proposal.mode),
        "rules": [rule._asdict() for rule in mode_rules(proposal)],
        "said": said(proposal.inputs),
        "plausible": {name: plausible(inputs()[name], proposal.inputs.get(name)) for name in words.main_inputs()},
        "numbers": {row.name: proposal.number(row.name) for row in inputs().values() if row.axis == "scalar"},
        "sites": [
            {
                "fleet": fleet,
                "region": region,
                "said": said(proposal.sites[fleet][region]),
                "numbers": {
                    row.name: proposal.site_number(fleet, region, row.name) for row in inputs().values() if row.axis == "site"
                },
            }
            for fleet, region in proposal.regions
        ],
    }


def _plain(record: Record) -> Any:
    """What a file says in a record, as data."""
    return msgspec.to_builtins(record, enc_hook=str)


@cache
def script() -> str:
    """The ES module of the board: the model, the amounts and `board.js`."""
    written = ((HERE / name).read_text(encoding="utf-8") for name in ("amounts.js", "intake.js", "board.js"))
    return "\n".join([module(model(), IN_EVERY_DRAW), *written])


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as vl-convert ships them, in a scope of their own; sets `window.vegaEmbed`."""
    return "(() => {" + drawing.bundle() + "})();\n"


def style() -> str:
    """The style sheet of the board."""
    return (HERE / "board.css").read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that cannot close the script element it stands in, whatever a proposal's text holds."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


class Page:
    """One proposal as a self-contained page whose sliders work without a server and without a network.

    In a notebook it displays as the page itself.
    """

    def __init__(self, proposal: Proposal, today: date | None = None) -> None:
        self.proposal = proposal
        self.today = today or date.today()

    def _repr_html_(self) -> str:
        """The page as an HTML element with its style and scripts."""
        alternative = known_alternative()
        data = payload({self.proposal.key: self.proposal}, self.proposal.key, alternative, self.today, with_html=False)
        return (
            f"<style>{style()}</style>\n"
            f'<div class="roi-page">{html(Result(self.proposal), [self.proposal], alternative, self.today)}</div>\n'
            f'<script type="application/json" class="roi-data">{_json(data)}</script>\n'
            f"<script>{vega()}</script>\n"
            f'<script type="module">{script()}\nmountPages();</script>\n'
        )

    def document(self) -> str:
        """The page as a whole HTML document."""
        return _templates.get_template("document.html").render(title=self.proposal.name, body=Markup(self._repr_html_()))
