"""The JavaScript back end gives what Python gives, on every line, in a real browser."""

import json
import math
from dataclasses import replace
from datetime import date

import msgspec
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
from roi.reading import parse, shipped
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
Object.assign(window, { yamlOf, simulate, unpacked, quantiles, simulationOf, oddsSentence });
window.setUnits = (words) => { unitWords = words; };
window.stateWith = (proposal, changes) => {
  const copied = (each) => ({ ...each, numbers: { ...each.numbers } });
  const state = { numbers: { ...proposal.numbers }, sites: proposal.sites.map(copied) };
  for (const [path, value] of Object.entries(changes)) {
    const parts = path.split("."), name = parts.pop();
    const place = parts.length ? state.sites.find((site) => site.fleet === parts[0] && site.region === parts[1]) : state;
    place.numbers[name] = value;
  }
  return state;
};
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


def described(proposal: Proposal) -> dict:
    """The data of a page with this proposal, as the browser reads it."""
    return json.loads(json.dumps(payload({proposal.key: proposal}, proposal.key, None, date(2026, 12, 1), False)))


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
        [described(result.proposal), name, list(words.TILES)],
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
    found = page.evaluate(
        """([data, key, changes]) => {
            setUnits(data.unit_words);
            const proposal = data.proposals[key];
            const simulation = simulationOf(data, stateWith(proposal, changes), proposal, unpacked(data, proposal));
            return { ...simulation, sentence: oddsSentence(data, simulation) };
        }""",
        [described(proposal), proposal.key, changes],
    )
    assert found["sentence"] == words.odds_sentence(expected)
    for name in ("draws", "p_gain", "p10", "p90", "expected_loss"):
        assert found[name] == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert [row["month"] for row in found["fan"]] == list(range(len(expected.fan["p50"])))
    for name, percentile in (("low", "p10"), ("high", "p90")):
        assert [row[name] for row in found["fan"]] == pytest.approx(expected.fan[percentile], rel=1e-9), name


def test_a_proposal_that_was_moved_already_has_the_same_odds_in_both_languages(page):
    proposal = roi.load("two-region").with_values({"latency_saved": 90, "proposed.europe-west4.utilisation": 0.7})
    found = page.evaluate(
        """([data, key]) => {
            const proposal = data.proposals[key];
            return simulationOf(data, proposal, proposal, unpacked(data, proposal));
        }""",
        [described(proposal), proposal.key],
    )
    expected = on_a_page(proposal)[2]
    assert (found["p_gain"], found["p10"]) == (expected.p_gain, pytest.approx(expected.p10, rel=1e-9))


@pytest.mark.parametrize("name", shipped())
def test_the_draws_are_unpacked_to_the_last_bit(page, name):
    proposal = roi.load(name)
    unpack = "([data, name]) => unpacked(data, data.proposals[name]).map((values) => [...values])"
    found = page.evaluate(unpack, [described(proposal), name])
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
        return value if row.chosen or row.whole or low == high else msgspec.structs.replace(value, low=low, high=high)

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


# --- the file that the page gives back ---------------------------------------------------------------------------------------

SHAPES = """
name: Of every shape
owner: platform team
decision: Fund it, or not
inputs:
  latency_saved: {base: 120, shape: empirical, file: measured.csv, source: Trial, date: 2026-06-24}
  value_per_release_day: {base: 250_000, low: 150_000, high: 500_000, covers: 0.9, shape: lognormal}
  releases_per_month: {base: 0.6, low: 0.5, high: 0.9, covers: 0.95, shape: pert}
  critical_path_share: {base: 0.8, shape: discrete, values: [0.6, 0.8, 1], weights: [0.2, 0.5, 0.3]}
  upfront_cost: {base: 2e6, low: 1.5e6, high: 2.5e6, shape: normal}
  steps_per_run: {base: 1_440_000, low: 1_200_000, high: 1_500_000, shape: uniform}
  delay: 2
baseline:
  us-central1: {gpu_price: {base: 11, low: 9, high: 13}}
proposed:
  us-central1: {share: 0.5}
  "a: \\"b\\"": {share: 0.5}
correlations:
  - {between: [default.utilisation, latency_saved], coefficient: -0.6, source: "Busy fleets, slow steps"}
  - {between: [value_per_release_day, releases_per_month], coefficient: 0.5}
pilot: {months: 2, cost: 50_000, measures: [value_per_release_day, default.utilisation], date: 2026}
"""
PLACE = "proposed.us-central1"


@pytest.fixture(scope="module")
def of_every_shape(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "measured.csv").write_text("latency_saved\n60\n95\n118\n121\n140\n180\n", encoding="utf-8")
    (folder / "shapes.yaml").write_text(SHAPES, encoding="utf-8")
    return roi.load(folder / "shapes.yaml")


def downloaded(page, proposal: Proposal, changes: dict[str, float]) -> Proposal:
    """What the page's file holds after these changes, read in a folder without the file of measurements."""
    text = page.evaluate(
        "([data, key, changes]) => yamlOf(data, data.proposals[key], stateWith(data.proposals[key], changes))",
        [described(proposal), proposal.key, changes],
    )
    return parse(text, f"{proposal.key}.yaml", proposal.key)


def assert_same_outcomes(found: Proposal, expected: Proposal) -> None:
    """The base numbers to the last bit, and the odds as far as other draws of the same facts tell."""
    numbers, there = Result(expected), Result(found)
    assert {name: repr(value) for name, value in there.scalars.items()} == {name: repr(v) for name, v in numbers.scalars.items()}
    drawn, again = on_a_page(expected)[2], on_a_page(found)[2]
    assert again.p_gain == pytest.approx(drawn.p_gain, abs=0.015)
    for name in ("p10", "p50", "p90"):
        assert getattr(again, name) == pytest.approx(getattr(drawn, name), abs=0.03 * (drawn.p90 - drawn.p10)), name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"latency_saved": 90, "value_per_release_day": 275_000, "releases_per_month": 0.65},
        {"steps_per_run": 1_300_000, "upfront_cost": 1.7e6, "baseline.us-central1.gpu_price": 10, "delay": 3},
        {f"{PLACE}.utilisation": 0.65, f"{PLACE}.gpu_price": 9},
        {f"{PLACE}.utilisation": 0.65, "baseline.us-central1.utilisation": 0.62, 'proposed.a: "b".utilisation': 0.7},
    ],
    ids=str,
)
def test_the_file_of_the_page_has_the_odds_that_the_page_shows(page, of_every_shape, changes):
    found = downloaded(page, of_every_shape, changes)
    assert_same_outcomes(found, of_every_shape.with_values(changes))


def test_a_moved_value_takes_along_all_that_is_said_of_its_spread(page, of_every_shape):
    changes = {"latency_saved": 90, "value_per_release_day": 300_000, "critical_path_share": 0.85, "gpus": 80}
    found = downloaded(page, of_every_shape, changes).inputs
    assert found["latency_saved"].values == (30, 65, 88, 91, 110, 150)
    assert found["latency_saved"].file == ""
    moved = found["value_per_release_day"]
    assert (moved.low, moved.high, moved.covers, moved.shape) == (200_000, 550_000, 0.9, "lognormal")
    assert moved.source == "set by hand in the app; its range moved along"
    assert (found["critical_path_share"].values, found["critical_path_share"].weights) == ((0.65, 0.85, 1), (0.2, 0.5, 0.3))
    assert (found["gpus"].low, found["gpus"].high, found["gpus"].covers) == (64, 112, 0.8)  # the default has 48 to 96 about 64
    assert "delay" in found  # as the file has it, without a spread
    assert found["delay"].low is None


def test_the_file_of_the_page_keeps_the_pilot_and_what_moves_together(page, of_every_shape):
    untouched = downloaded(page, of_every_shape, {})
    assert untouched.correlations == of_every_shape.correlations
    assert untouched.pilot == of_every_shape.pilot
    moved = downloaded(page, of_every_shape, {f"{PLACE}.utilisation": 0.65})
    own = f"{PLACE}.utilisation"
    coefficients = {each.between: each.coefficient for each in moved.correlations}
    assert coefficients == {
        ("default.utilisation", "latency_saved"): -0.6,
        (own, "latency_saved"): pytest.approx(-0.6, abs=0.001),
        ("value_per_release_day", "releases_per_month"): 0.5,
        ("default.utilisation", own): 0.999,
    }
    assert moved.pilot.measures == ("value_per_release_day", "default.utilisation", own)


def test_what_no_distribution_can_be_moved_to_is_left_out_with_what_rests_on_it(page, of_every_shape):
    # 150,000 to 500,000 moved by -240,000 would start below 0; 0.6, 0.8 and 1 moved by 0.2 meet at 1.
    found = downloaded(page, of_every_shape, {"value_per_release_day": 10_000, "critical_path_share": 1})
    assert found.inputs["value_per_release_day"].low is None
    assert found.inputs["value_per_release_day"].source == "set by hand in the app"
    assert found.inputs["critical_path_share"].values == (0.8, 1)
    assert found.inputs["critical_path_share"].weights == pytest.approx((0.2, 0.8))
    assert [each.between for each in found.correlations] == [("default.utilisation", "latency_saved")]
    assert found.pilot.measures == ("default.utilisation",)


def test_the_file_of_a_page_whose_proposal_was_moved_already_is_that_of_the_moved_one(page):
    proposal = roi.load("two-region").with_values({"latency_saved": 300, "proposed.europe-west4.utilisation": 0.7})
    found = downloaded(page, proposal, {"gpus": 80})
    assert (found.inputs["latency_saved"].low, found.inputs["latency_saved"].high) == (220, 360)
    assert_same_outcomes(found, proposal.with_values({"gpus": 80}))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(proposal=uncertain_proposals(), other=proposals())
def test_whatever_is_set_in_the_page_its_file_can_be_read(page, proposal, other):
    changes = {name: value.base for name, value in other.inputs.items()}
    assert Result(downloaded(page, proposal, changes)).net_gain == Result(proposal.with_values(changes)).net_gain
