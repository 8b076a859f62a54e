"""The JavaScript back end gives what Python gives, on every line, in a real browser."""

import json
import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import roi
from roi import amounts, charts, words
from roi.board.page import IN_EVERY_DRAW, payload, script
from roi.drivers import drivers
from roi.inputs import Input, inputs, model
from roi.javascript import module
from roi.lines import Constant, Line, Model, ModelError, Variable, total
from roi.proposals import Proposal
from roi.reading import shipped
from roi.results import Result
from roi.simulate import on_a_page, outcomes, points, sample
from roi.uncertain import uncertain
from roi.units import ONE
from roi.values import Value
from tests.browser import chromium, visit
from tests.strategies import proposals

# The board's own functions, made reachable for the test.
REACHABLE = """
Object.assign(window, { evaluate, money, quantity, figures, boxed, parseAmount });
Object.assign(window, { verdictOf, showLine, solve, flagSentences, driversOf, flipWords, nearestCrossing, CHARTS });
Object.assign(window, { simulate, unpacked, quantiles, simulationOf, oddsSentence });
window.setUnits = (words) => { unitWords = words; };
"""


@pytest.fixture(scope="module")
def page():
    with chromium() as browser:
        seen = visit(browser)
        seen.page.add_script_tag(content=script() + REACHABLE, type="module")
        yield seen.page
        assert seen.quiet(), seen.said


def given_to_javascript(proposal: Proposal) -> dict:
    """The numbers of a proposal as the module's `evaluate` takes them."""
    scalars = {row.name: proposal.number(row.name) for row in inputs().values() if row.axis == "scalar"}
    sites = [
        {row.name: proposal.site_number(fleet, region, row.name) for row in inputs().values() if row.axis == "site"}
        | {"is_proposed": float(fleet == "proposed")}
        for fleet, region in proposal.regions
    ]
    return {"inputs": scalars, "sites": sites, "months": list(range(int(scalars["horizon"]) + 1))}


# Playwright hands back Infinity and NaN as they are.
EVALUATE = "({ inputs, sites, months }) => evaluate(inputs, sites, months)"


def assert_same(name: str, python: float, javascript: float, scale: float) -> None:
    """Equal to 1e-9 of the largest amount that goes into the line: sums that cancel keep the rounding of their parts."""
    if math.isnan(python) or math.isinf(python):
        assert repr(float(javascript)) == repr(python), name
    else:
        assert javascript == pytest.approx(python, rel=1e-9, abs=1e-9 * scale), name


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(proposal=proposals())
def test_every_line_is_the_same_in_python_and_in_javascript(page, proposal):
    result = Result(proposal)
    answer = page.evaluate(EVALUATE, given_to_javascript(proposal))
    money = max(1.0, abs(result["cumulative"]).max(), result["baseline_bill"], result["proposed_bill"], result["upfront_cost"])
    for name, line in model().lines.items():
        python = result.lines[name][0].tolist()
        javascript = answer[name] if isinstance(answer[name], list) else [answer[name]]
        assert len(python) == len(javascript), name
        scale = money if "USD" in str(line.unit) else 1.0
        for left, right in zip(python, javascript, strict=True):
            assert_same(name, left, right, scale)


def test_a_line_missing_from_the_module_is_noticed(page):
    answer = page.evaluate(EVALUATE, given_to_javascript(roi.load("two-region")))
    assert set(model().lines) <= set(answer)


def test_a_formula_that_uses_a_line_whole_and_by_value_is_refused():
    def odd(bills):
        return bills / total(bills)

    line = Line("odd", "Odd", ONE, odd, ("bills",), "", False, "")
    with pytest.raises(ModelError, match=r"line odd uses bills both whole and value by value; make the total a line of its own"):
        module(Model([line], [Variable("bills", ONE, "site")]))


def test_the_named_constants_keep_their_names():
    source = module(model())
    assert "const ms_per_hour = 3600000.0; // ms/hour" in source
    assert isinstance(model().formulas["step_hours_saved"].arguments[1].value, Constant)


# --- amounts, held to the same answers as roi/amounts.py ---------------------------------------------------------------------

AMOUNTS = [
    0.0, -0.0, 0.4, 0.5, 1, -1, 2.5, 11.53, 0.62, 0.005, 0.02, 99.995, 999.49, 999.5, 1000, 1234.5, 329_000, 328_974.18,
    -400_000, -0.3, 999_499, 999_500, 1e6, 1.25e6, 1_250_000.1, 99.94e6, 99.95e6, 999.4e6, 999.5e6, 1e9, 99.95e9, 1e12, -1e15,
    1e-7, 123456.789, 16.0579,
]  # fmt: skip


def test_amounts_read_the_same_in_both_languages(page):
    units = ["1", "%", "%/year", "month", "gpu", "ms/step", "USD", "USD/day", "USD/(gpu*hour)", "GB/month", "release/month"]
    page.evaluate("(words) => setUnits(words)", {unit: amounts.unit_words(unit) for unit in units})
    for value in AMOUNTS:
        assert page.evaluate("(value) => money(value)", value) == amounts.money(value), value
        assert page.evaluate("(value) => boxed(value)", value) == amounts.boxed(value), value
        for unit in units:
            assert page.evaluate("([value, unit]) => quantity(value, unit)", [value, unit]) == amounts.quantity(value, unit)


UNDERSTOOD = ["1.2M", "150k", "$1,000", "-$0.4M", "\u22125", "12%", "1e6", "250_000", " 7 ", "USD 3", ".5", "2bn", "$1.5B"]
REFUSED = ["", "abc", "1,5", "1.000,50", "1,00", "NaN", "Infinity", "$", "--1", "1 2", "1e999", "12%%", "0x10", "1k5"]


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_typed_amounts_are_understood_the_same(page, text):
    assert page.evaluate("(text) => parseAmount(text)", text) == amounts.parse_amount(text)


@pytest.mark.parametrize("text", REFUSED)
def test_refused_amounts_are_refused_with_the_same_words(page, text):
    with pytest.raises(ValueError, match=r"^'") as python:
        amounts.parse_amount(text)
    javascript = page.evaluate(
        "(text) => { try { parseAmount(text); return ''; } catch (error) { return error.message; } }", text
    )
    assert javascript == str(python.value)


# --- words -------------------------------------------------------------------------------------------------------------------

SETTINGS = [
    ("two-region", {}),
    ("two-region", {"latency_saved": 90}),
    ("two-region", {"latency_saved": -50}),
    ("two-region", {"latency_saved": 1300}),
    ("two-region", {"value_per_release_day": 0}),
    ("two-region", {"horizon": 1}),
    ("two-region", {"horizon": 60, "ramp": 0, "delay": 0}),
    ("two-region", {"delay": 60}),
    ("two-region", {"wait": 6}),
    ("two-region", {"wait": 20}),
    ("two-region", {"proposed.europe-west4.utilisation": 0.96, "proposed.us-central1.storage_price": 2}),
    ("published-claim", {}),
    ("published-claim", {"upfront_cost": 0}),
    ("published-claim", {"upfront_cost": 0, "latency_saved": 0}),
    ("raise-utilisation", {}),
    ("raise-utilisation", {"gpus": 1, "upfront_cost": 1e9}),
]


@pytest.mark.parametrize(("name", "changes"), SETTINGS)
def test_verdict_tiles_and_flags_read_the_same(page, name, changes):
    result = roi.evaluate(roi.load(name), changes)
    data = payload({name: result.proposal}, name, None, date(2026, 12, 1), False)
    answer = page.evaluate(
        """([data, name, lines]) => {
            setUnits(data.unit_words);
            const state = data.proposals[name], values = solve(state.numbers, state.sites);
            const drivers = driversOf(data, state, state.plausible);
            const simulation = simulationOf(data, state, state, unpacked(data, state));
            return { verdict: verdictOf(data, state, values), flags: flagSentences(data, state, values),
                     tiles: lines.map((line) => showLine(data, values, line)),
                     flips: drivers.map(({ name }) => flipWords(data, state, name, nearestCrossing(data, state, name))),
                     charts: Object.fromEntries(
                         Object.entries(CHARTS).map(([chart, rows]) => [chart, rows(data, values, drivers, simulation)])) };
        }""",
        [json.loads(json.dumps(data)), name, list(words.TILES)],
    )
    assert answer["verdict"] == words.verdict(result)
    assert answer["flags"] == result.flags
    assert answer["flips"] == [words.flips(result, driver.name, driver.flips) for driver in drivers(result)]
    assert answer["tiles"] == [words.show_line(result, line) for line in words.TILES]
    for chart, sets in charts.data(result).items():
        for rows_name, rows in sets.items():
            found = answer["charts"][chart][rows_name]
            assert [row.get("text") for row in found] == [row.get("text") for row in rows]
            for row, expected in zip(found, rows, strict=True):
                assert row == {
                    key: pytest.approx(value, rel=1e-9, abs=1e-6) if isinstance(value, float) else value
                    for key, value in expected.items()
                }


def test_the_shipped_proposals_are_all_covered():
    assert {name for name, _ in SETTINGS} == set(shipped())


# --- odds --------------------------------------------------------------------------------------------------------------------

MOVES = [
    {},
    {"latency_saved": 90},
    {"latency_saved": -200, "delay": 5},
    {"critical_path_share": 1},
    {"horizon": 36},
    {"wait": 3},
    {"proposed.europe-west4.utilisation": 0.8, "proposed.europe-west4.gpu_price": 5},
]


@pytest.mark.parametrize("changes", MOVES, ids=str)
def test_odds_are_the_same_over_the_same_draws(page, changes):
    proposal = roi.load("two-region")
    _, _, expected = on_a_page(proposal.with_values(changes))
    data = payload({proposal.key: proposal}, proposal.key, None, date(2026, 12, 1), False)
    found = page.evaluate(
        """([data, key, changes]) => {
            setUnits(data.unit_words);
            const proposal = data.proposals[key];
            const copied = (each) => ({ ...each, numbers: { ...each.numbers } });
            const state = { numbers: { ...proposal.numbers }, sites: proposal.sites.map(copied) };
            for (const [path, value] of Object.entries(changes)) {
                const parts = path.split("."), name = parts.pop();
                const place = parts.length ? state.sites.find((s) => s.fleet === parts[0] && s.region === parts[1]) : state;
                place.numbers[name] = value;
            }
            const simulation = simulationOf(data, state, proposal, unpacked(data, proposal));
            return { ...simulation, sentence: oddsSentence(data, simulation) };
        }""",
        [json.loads(json.dumps(data)), proposal.key, changes],
    )
    assert found["sentence"] == words.odds_sentence(expected)
    for name in ("draws", "p_gain", "p10", "p90", "expected_loss"):
        assert found[name] == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert [row["month"] for row in found["fan"]] == list(range(len(expected.fan["p50"])))
    for name, percentile in (("low", "p10"), ("high", "p90")):
        assert [row[name] for row in found["fan"]] == pytest.approx(expected.fan[percentile], rel=1e-9), name


def test_a_proposal_that_was_moved_already_has_the_same_odds_in_both_languages(page):
    proposal = roi.load("two-region").with_values({"latency_saved": 90, "proposed.europe-west4.utilisation": 0.7})
    data = payload({proposal.key: proposal}, proposal.key, None, date(2026, 12, 1), False)
    found = page.evaluate(
        """([data, key]) => {
            const proposal = data.proposals[key];
            return simulationOf(data, proposal, proposal, unpacked(data, proposal));
        }""",
        [json.loads(json.dumps(data)), proposal.key],
    )
    expected = on_a_page(proposal)[2]
    assert (found["p_gain"], found["p10"]) == (expected.p_gain, pytest.approx(expected.p10, rel=1e-9))


@pytest.mark.parametrize("name", shipped())
def test_the_draws_are_unpacked_to_the_last_bit(page, name):
    proposal = roi.load(name)
    data = payload({name: proposal}, name, None, date(2026, 12, 1), False)
    unpack = "([data, name]) => unpacked(data, data.proposals[name]).map((values) => [...values])"
    found = page.evaluate(unpack, [json.loads(json.dumps(data)), name])
    assert found == [each.values.tolist() for each in on_a_page(proposal)[1]]


@pytest.mark.parametrize("count", [1, 2, 3, 11, 2048])
@pytest.mark.parametrize("kind", ["random", "equal", "ascending", "descending", "few"])
def test_quantiles_are_those_of_numpy(page, count, kind):
    values = np.random.default_rng(count).normal(0, 1e6, count)
    kinds = {"equal": values * 0, "ascending": np.sort(values), "descending": -np.sort(values), "few": np.sign(values)}
    values = kinds.get(kind, values)
    shares = [0.0, 0.1, 0.5, 0.9, 1.0]
    found = page.evaluate("([values, shares]) => quantiles(Float64Array.from(values), shares)", [values.tolist(), shares])
    assert found == pytest.approx(np.quantile(values, shares).tolist(), rel=1e-12)


@st.composite
def uncertain_proposals(draw: st.DrawFn) -> Proposal:
    """Proposals drawn at random, of which some inputs have a spread around their value."""

    def spread(row: Input, value: Value) -> Value:
        reach = draw(st.sampled_from([0.0, 0.0, 0.1, 0.7])) * max(abs(value.base), 1.0)
        low, high = max(value.base - reach, row.range[0]), min(value.base + 2 * reach, row.range[1])
        return value if row.chosen or row.whole or low == high else value.model_copy(update={"low": low, "high": high})

    found = draw(proposals())
    inner = {name: spread(inputs()[name], value) for name, value in found.inputs.items()}
    sites = {
        fleet: {
            region: {name: value if name == "share" else spread(inputs()[name], value) for name, value in values.items()}
            for region, values in regions.items()
        }
        for fleet, regions in found.sites.items()
    }
    return replace(found, inputs=inner, sites=sites)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(proposal=uncertain_proposals())
def test_every_draw_is_the_same_in_python_and_in_javascript(page, proposal):
    facts = uncertain(proposal)
    assume(facts)
    drawn = sample(proposal, facts, points(len(facts), 1, 0, 64))
    expected = outcomes(proposal, facts, drawn)
    moved = [
        {"name": each.row.name, "site": column, "values": values.tolist()}
        for each, draws in zip(facts, drawn, strict=True)
        for column, values in zip(each.columns, each.moved(draws).T, strict=True)
    ]
    found = page.evaluate(
        """({ inputs, sites, months, drawn }) => {
            const facts = drawn.map((fact) => ({ ...fact, values: Float64Array.from(fact.values) }));
            const found = Object.entries(simulate(inputs, sites, months, facts));
            return Object.fromEntries(found.map(([name, values]) => [name, [...values]]));
        }""",
        given_to_javascript(proposal) | {"drawn": moved},
    )
    result = Result(proposal)
    bills = max(result["baseline_bill"], result["proposed_bill"]) * 100  # of an outlying draw
    scale = max(1.0, abs(expected.cumulative).max(), result["upfront_cost"], bills)
    for name in IN_EVERY_DRAW:
        python = getattr(expected, name).ravel()
        assert len(found[name]) == len(python), name
        for left, right in zip(python.tolist(), found[name], strict=True):
            assert_same(name, left, right, scale if name != "payback_month" else 1.0)
