"""Which proposals to fund: the best of all sets, what a bit more money buys, common draws, and what the command and notebook say.

Where a number was not computed by hand here, it is one that DESIGN gives for a shipped proposal: net present values 121,733.3125
and 3,011,793.9035, peak cash out 2,141,225.0912. For `raise-utilisation` both are those that `roi evaluate` prints.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import charts, report
from roi.choice import LISTED, MOST, Candidate, Choice, select
from roi.inputs import ROOT, inputs
from roi.portfolio import Odds, fund, read, read_budget
from roi.problems import InputError
from roi.proposals import Proposal
from roi.reading import PROPOSALS, parse
from roi.simulate import simulate
from roi.together import net_gains
from tests.browser import barriers, chromium, visit
from tests.test_cli import Run, refused, run, strict

__all__ = ["run"]  # a fixture

NOTEBOOK = ROOT / "notebooks" / "portfolio.ipynb"
PAPERMILL = Path(sys.executable).parent / "papermill"
BOTH = ["two-region", "raise-utilisation"]
EXCLUSIVE = ["--exclusive", "two-region,raise-utilisation"]
INDEPENDENT = ["--independent", "two-region,raise-utilisation"]


def candidates(**rows: tuple[float, float]) -> list[Candidate]:
    return [Candidate(name, cost, value) for name, (cost, value) in rows.items()]


# --- the choice -------------------------------------------------------------------------------------------------------------


# Two textbook cases of capital rationing (cost, net present value), from the project's list of published answers.
@pytest.mark.parametrize(
    ("rows", "best", "value"),
    [
        # 2.4 + 3.3; A and B cost as much and are worth 3.0 + 2.4
        ({"A": (6, 3.0), "B": (4, 2.4), "C": (6, 3.3)}, ("B", "C"), 5.7),
        # The best value for money is X, 9/6 against 7/5, and beside it nothing fits: 9, where Y and Z have 14.
        ({"X": (6, 9), "Y": (5, 7), "Z": (5, 7)}, ("Y", "Z"), 14),
    ],
)
def test_published_cases(rows: dict[str, tuple[float, float]], best: tuple[str, ...], value: float) -> None:
    found = select(candidates(**rows), 10)
    assert (found.chosen.names, found.chosen.cost, found.chosen.value) == (best, 10, value)
    assert found.as_good == ()


def test_what_a_bit_more_and_a_bit_less_money_does() -> None:
    found = select(candidates(A=(6, 3.0), B=(4, 2.4), C=(6, 3.3)), 10)
    # With 12 there is room for A and C, 6.3; with less than 10 for C alone, 3.3; 6.3 - 5.7 and 3.3 - 5.7
    assert found.with_more == Choice(("A", "C"), 12, 6.3, 0.6)
    assert found.with_less == Choice(("C",), 6, 3.3, -2.4)
    # and with 16 for all
    (more,) = [select(candidates(A=(6, 3.0), B=(4, 2.4), C=(6, 3.3)), 12).with_more]
    assert more is not None
    assert (more.names, more.cost) == (("A", "B", "C"), 16)


def test_with_enough_money_no_more_is_better_and_with_none_no_less() -> None:
    assert select(candidates(A=(6, 3), B=(4, 2)), 10).with_more is None
    assert select(candidates(A=(6, 3)), 0).with_less is None


def test_costs_are_added_as_the_decimals_that_are_written() -> None:
    # As binary numbers 0.1 + 0.2 is more than 0.3.
    assert select(candidates(A=(0.1, 1), B=(0.2, 1)), 0.3).chosen.cost == 0.3
    assert select(candidates(A=(1e-300, 1), B=(1e15, 1e-300)), 1e15).chosen.names == ("A",)


def test_another_set_that_is_as_good_is_named_and_the_cheapest_is_taken() -> None:
    found = select(candidates(A=(5, 7), B=(4, 7), C=(4, 7)), 5)
    assert found.chosen.names == ("B",)
    assert [each.names for each in found.as_good] == [("C",), ("A",)]
    # Of 6 alike 3 fit: 6! / (3! 3!) = 20 sets, of which one is taken.
    alike = select(candidates(**dict.fromkeys("ABCDEF", (1, 1))), 3)
    assert (alike.chosen.names, alike.as_good_count, len(alike.as_good)) == (("A", "B", "C"), 19, LISTED)


def test_why_each_is_left_out() -> None:
    rows = candidates(loses=(1, -1), nothing=(0, 0), dear=(11, 90), good=(6, 20), other=(5, 8), beside=(5, 5), free=(0, 1))
    found = select(rows, 10, exclusive=[("good", "other")])
    assert found.chosen.names == ("good", "free")
    assert {name: each.why for name, each in found.left_out.items()} == {
        "loses": "loses",
        "nothing": "adds nothing",
        "dear": "too dear",
        "other": "excluded",
        "beside": "does not fit",
    }
    assert found.left_out["other"].beside == ("good",)
    # other, beside and free cost 10 and are worth 8 + 5 + 1, against 20 + 1
    without_good = Choice(("other", "beside", "free"), 10, 14, -7)
    assert found.left_out["other"].with_it == found.left_out["beside"].with_it == without_good
    assert found.left_out["dear"].with_it is None


def test_of_a_group_at_most_one_is_taken() -> None:
    rows = candidates(A=(1, 3), B=(1, 2), C=(1, 2))
    assert select(rows, 3, exclusive=[("A", "B", "C")]).chosen.names == ("A",)
    assert select(rows, 3, exclusive=[("A", "B"), ("A", "C")]).chosen.names == ("B", "C")  # 4 against 3


@pytest.mark.parametrize(
    ("rows", "budget", "exclusive", "said"),
    [
        ([], 1, [], "there is nothing to choose from; name at least one proposal"),
        ([("A", 1, 1), ("A", 2, 2)], 1, [], "A is given 2 times; give it once"),
        (
            [(str(each), 1, 1) for each in range(21)],
            1,
            [],
            "21 proposals are more than can be weighed against each other exactly",
        ),
        ([("A", -1, 1)], 1, [], "A: the cost is -1; write a number from 0 to 1000000000000000"),
        ([("A", 1, float("nan"))], 1, [], "A: the value is nan; write a number from -1000000000000000"),
        ([("A", float("inf"), 1)], 1, [], "A: the cost is inf; write"),
        ([("A", 1, 1)], -1, [], "the budget is -1; write a number from 0"),
        ([("A", 1, 1)], float("nan"), [], "the budget is nan; write"),
        ([("A", 1, 1), ("Bee", 1, 1)], 1, [("A", "Be")], "exclusive: 'Be' is not among the proposals; did you mean Bee?"),
        ([("A", 1, 1), ("B", 1, 1)], 1, [("A", "x")], "exclusive: 'x' is not among the proposals; given are A and B"),
        ([("A", 1, 1), ("B", 1, 1)], 1, [("A",)], "exclusive: 'A' does not name two different proposals; write it like A,B"),
        ([("A", 1, 1), ("B", 1, 1)], 1, [("A", "A")], "exclusive: 'A,A' does not name two different proposals"),
    ],
)
def test_what_cannot_be_chosen_among_is_refused(rows: Any, budget: float, exclusive: Any, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        select([Candidate(*row) for row in rows], budget, exclusive)
    assert str(refusal.value).startswith(said)


def test_as_many_as_are_allowed_are_weighed() -> None:
    # Costs and values of 1, 2, 4, ...: every budget is spent to the last, which no other way of choosing does.
    rows = [Candidate(str(place), 2.0**place, 2.0**place) for place in range(MOST)]
    assert select(rows, 777_777).chosen.value == 777_777


# --- the choice: laws, against every set added up one by one ----------------------------------------------------------------

AMOUNTS = st.integers(0, 12).map(float) | st.floats(0, 1e6) | st.sampled_from([0.1, 0.2, 0.3, 1e-7])
ROWS = st.lists(st.tuples(AMOUNTS, AMOUNTS.flatmap(lambda size: st.sampled_from([size, -size, size]))), min_size=1, max_size=10)
PAIRS = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=4)


def every_set(rows: list[tuple[float, float]], apart: set[tuple[int, int]]) -> list[tuple[Fraction, Fraction, tuple[str, ...]]]:
    """Cost, value and names of every allowed set of what is worth something."""
    exact = [(Fraction(str(cost)), Fraction(str(value))) for cost, value in rows]
    worth = [index for index, (_, value) in enumerate(rows) if value > 0]
    sets = [chosen for count in range(len(worth) + 1) for chosen in combinations(worth, count)]
    allowed = [chosen for chosen in sets if not any(set(pair) <= set(chosen) for pair in apart)]
    return [
        (sum(exact[i][0] for i in chosen), sum(exact[i][1] for i in chosen), tuple(f"p{i}" for i in chosen)) for chosen in allowed
    ]


def named(rows: list[tuple[float, float]], apart: set[tuple[int, int]]) -> tuple[list[Candidate], list[tuple[str, str]]]:
    pairs = [(f"p{first}", f"p{second}") for first, second in apart if second < len(rows)]
    return [Candidate(f"p{index}", *row) for index, row in enumerate(rows)], pairs


@given(ROWS, AMOUNTS, PAIRS)
def test_it_is_the_best_of_all_sets_and_says_how_many_are_as_good(
    rows: list[tuple[float, float]], budget: float, apart: set[tuple[int, int]]
) -> None:
    given, pairs = named(rows, apart)
    found = select(given, budget, pairs)
    within = [each for each in every_set(rows, apart) if each[0] <= Fraction(str(budget))]
    best = max(value for _, value, _ in within)
    as_good = sorted((cost, names) for cost, value, names in within if value == best)
    assert found.chosen.value == float(best)
    assert found.chosen.cost == float(as_good[0][0])
    assert found.chosen.names in [names for cost, names in as_good if cost == as_good[0][0]]
    assert found.as_good_count == len(as_good) - 1
    assert all(value > 0 for each, (_, value) in zip(given, rows, strict=True) if each.name in found.chosen.names)
    for name, left in found.left_out.items():
        if left.with_it is not None:
            most = max(value for _, value, names in within if name in names)
            assert left.with_it.value == float(most)
            assert left.with_it.difference == float(most - best)


@given(ROWS, AMOUNTS, PAIRS)
def test_the_next_budget_is_the_next_and_the_last_dollars_are_the_last(
    rows: list[tuple[float, float]], budget: float, apart: set[tuple[int, int]]
) -> None:
    given, pairs = named(rows, apart)
    found = select(given, budget, pairs)
    sets = every_set(rows, apart)
    best = max(value for cost, value, _ in sets if cost <= Fraction(str(budget)))
    dearer = [(cost, value) for cost, value, _ in sets if value > best]
    if found.with_more is None:
        assert dearer == []
    else:
        least = min(cost for cost, _ in dearer)
        most = max(value for cost, value in dearer if cost == least)
        assert (found.with_more.cost, found.with_more.difference) == (float(least), float(most - best))
        assert least > Fraction(str(budget))
    spent = min(cost for cost, value, _ in sets if value == best)
    cheaper = [value for cost, value, _ in sets if cost < spent]
    if found.with_less is None:
        assert cheaper == []
    else:
        assert found.with_less.difference == float(max(cheaper) - best)


@given(ROWS, AMOUNTS, AMOUNTS, PAIRS)
def test_more_money_is_never_worth_less(
    rows: list[tuple[float, float]], one: float, other: float, apart: set[tuple[int, int]]
) -> None:
    given, pairs = named(rows, apart)
    low, high = sorted((one, other))
    assert select(given, low, pairs).chosen.value <= select(given, high, pairs).chosen.value


# --- common draws -----------------------------------------------------------------------------------------------------------


def claim(key: str, correlations: str = "", **given: str | None) -> Proposal:
    """The published claim, 21.6 release days of value less 2 million, with every input certain but those given.

    None leaves an input at its default, which has a spread; `{base: ..., low: ..., high: ...}` is a fact of the proposal's own.
    """
    plain = roi.load("published-claim")
    rows = {row.name: str(plain.number(row.name)) for row in inputs().values() if row.axis == "scalar"} | given
    lines = "".join(f"  {name}: {value}\n" for name, value in rows.items() if value is not None)
    site = ", ".join(f"{row.name}: {row.default}" for row in inputs().values() if row.axis == "site")
    text = f"name: One\nowner: me\ndecision: no\ninputs:\n{lines}baseline:\n  {key}: {{{site}}}\nproposed:\n  {key}: {{{site}}}\n"
    return parse(text + correlations, f"{key}.yaml", key)


def together(move: str, with_it: str, coefficient: float) -> str:
    return f"correlations:\n  - {{between: [{move}, {with_it}], coefficient: {coefficient}, source: a test}}\n"


OWN_VALUE = "{base: 250000, low: 100000, high: 400000}"
BARELY_OWN = "{base: 120, low: 119.999, high: 120.001}"


def test_one_proposal_alone_has_the_odds_that_simulate_gives() -> None:
    found, alone = fund(read(["two-region"]), 3e6, seed=5), simulate(roi.load("two-region"), seed=5)
    assert found.together == found.odds["two-region"]
    assert found.together is not None
    for name in ("p10", "p50", "p90", "mean", "p_gain", "expected_loss"):
        assert getattr(found.together, name) == getattr(alone, name)
    assert found.shared == ()


def test_a_default_is_one_fact_for_both() -> None:
    gains, shared = net_gains(
        {"a": claim("a", value_per_release_day=None), "b": claim("b", value_per_release_day=None, gpus="1")}
    )
    assert shared == ("value_per_release_day",)
    assert gains["a"] == pytest.approx(gains["b"])
    # The default's spread lies evenly about 250,000, at which the claim gains 3,400,000: the median of both is twice that.
    assert np.median(gains["a"] + gains["b"]) == pytest.approx(6_800_000, rel=1e-3)


def test_a_default_of_regions_is_one_fact_for_both() -> None:
    _, shared = net_gains(read(BOTH))
    assert "default.cold_share" in shared
    assert not any("utilisation" in path and "default" not in path for path in shared)  # one proposal's own


def test_the_odds_of_the_chosen_are_those_of_their_sum() -> None:
    proposals = {name: claim(name, value_per_release_day=None) for name in ("a", "b")}
    found = fund(proposals, 1e7)
    one, together = found.odds["a"], found.together
    assert found.selection.chosen.names == ("a", "b")
    # What moves as one adds up at every percentile.
    assert together is not None
    assert (together.p10, together.p50, together.p90, together.mean) == pytest.approx(
        (2 * one.p10, 2 * one.p50, 2 * one.p90, 2 * one.mean)
    )


def test_what_proposals_give_themselves_are_facts_of_their_own() -> None:
    own = {name: claim(name, value_per_release_day=OWN_VALUE) for name in ("a", "b")}
    gains, shared = net_gains(own)
    assert shared == ()
    assert np.corrcoef(gains["a"], gains["b"])[0, 1] == pytest.approx(0, abs=0.02)
    # Independent variances add up.
    assert np.var(gains["a"] + gains["b"]) == pytest.approx(np.var(gains["a"]) + np.var(gains["b"]), rel=0.02)
    # A fact of one is not the default of another, though both are the same input with the same spread.
    gains, shared = net_gains({"a": own["a"], "b": claim("b", value_per_release_day=None)})
    assert shared == ()
    assert np.corrcoef(gains["a"], gains["b"])[0, 1] == pytest.approx(0, abs=0.02)


def test_a_fact_of_the_world_stays_the_same_for_all_whoever_correlates_it() -> None:
    # In a, the value of a day moves with a latency that hardly moves, so that both claims gain the same in every draw.
    said = together("latency_saved", "value_per_release_day", 0.9)
    one = claim("a", said, latency_saved=BARELY_OWN, value_per_release_day=None)
    gains, shared = net_gains({"a": one, "b": claim("b", value_per_release_day=None)})
    assert shared == ("value_per_release_day",)
    assert gains["a"] == pytest.approx(gains["b"], rel=1e-3, abs=1e3)


def test_a_correlation_of_facts_of_the_world_holds_for_all() -> None:
    both = {"value_per_release_day": None, "releases_per_month": None}
    said = claim("a", together("value_per_release_day", "releases_per_month", -0.8), **both)
    gains, shared = net_gains({"a": said, "b": claim("b", **both)})
    assert shared == ("value_per_release_day", "releases_per_month")
    assert gains["a"] == pytest.approx(gains["b"])
    assert np.var(gains["b"]) < np.var(net_gains({"b": claim("b", **both)})[0]["b"]) / 2  # they counteract each other


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            together("value_per_release_day", "releases_per_month", 0.5),
            together("releases_per_month", "value_per_release_day", 0.4),
            "b: releases_per_month and value_per_release_day are correlated by 0.4, but by 0.5 in a proposal before it",
        ),
        (
            together("value_per_release_day", "releases_per_month", 0.9),
            together("latency_saved", "value_per_release_day", 0.7)
            + together("latency_saved", "releases_per_month", -0.7).removeprefix("correlations:\n"),
            "b: value_per_release_day and releases_per_month: 0.9 cannot be together with the other correlations",
        ),
    ],
)
def test_correlations_that_cannot_be_of_one_world_are_refused(first: str, second: str, said: str) -> None:
    both = {"value_per_release_day": None, "releases_per_month": None}
    with pytest.raises(InputError) as refusal:
        net_gains({"a": claim("a", first, **both), "b": claim("b", second, latency_saved=BARELY_OWN, **both)})
    assert str(refusal.value).startswith(said)


def test_without_any_range_the_odds_are_certain() -> None:
    found = fund({"a": claim("a")}, 3e6)
    assert found.together == Odds(3_400_000, 3_400_000, 3_400_000, 3_400_000, 1, 0)  # the published net gain


# --- proposals --------------------------------------------------------------------------------------------------------------


def test_the_budget_pays_for_the_most_money_out_of_pocket_not_only_for_the_upfront_cost() -> None:
    # Upfront it costs 2,000,000; running costs before the first benefits bring it to 2,141,225.09.
    proposals = read(["two-region"])
    assert fund(proposals, 2_000_000).selection.left_out["two-region"].why == "too dear"
    assert fund(proposals, 2_141_225.08).selection.chosen.names == ()
    chosen = fund(proposals, 2_141_225.09).selection.chosen
    assert chosen == Choice(("two-region",), 2_141_225.09, 121_733.31, 0)


def test_nothing_that_loses_is_funded_however_much_there_is() -> None:
    found = fund({"worse": roi.load("two-region").with_values({"latency_saved": 90})}, 1e9)
    assert (found.selection.chosen.names, found.together) == ((), None)
    assert found.selection.left_out["worse"].why == "loses"


def test_proposals_of_one_fleet_are_refused_until_they_are_declared() -> None:
    proposals = read(["two-region", "raise-utilisation", "published-claim"])
    with pytest.raises(InputError) as refusal:
        fund(proposals, 3e6, exclusive=[BOTH])
    first, second = str(refusal.value).splitlines()
    assert first == (
        "two-region and published-claim start from one fleet (us-central1, with the same figures), so they may gain the same "
        "twice. Declare them exclusive, if at most one is to be taken (--exclusive two-region,published-claim), or independent, "
        "if each gains as much beside the other (--independent two-region,published-claim)"
    )
    assert second.startswith("raise-utilisation and published-claim start from one fleet")
    assert fund(proposals, 1e7, exclusive=[[*proposals]]).selection.chosen.names == ("published-claim",)
    assert fund(proposals, 1e7, independent=[[*proposals]]).selection.chosen.names == tuple(proposals)


def test_proposals_of_different_fleets_add_up_unasked() -> None:
    here, there = claim("here"), claim("there")
    assert fund({"here": here, "there": there}, 1e7).selection.chosen.cost == 4_000_000
    # another figure in the same region is another fleet
    cheaper = roi.load("two-region").with_values({"baseline.us-central1.gpu_price": 11})
    assert fund({"one": roi.load("raise-utilisation"), "other": cheaper}, 1e7).selection.chosen.names == ("one",)


@pytest.mark.parametrize("order", [1, -1])
def test_a_proposal_that_starts_from_what_another_proposes_is_refused(order: int) -> None:
    first = roi.load("two-region")
    second = replace(first, sites={"baseline": first.sites["proposed"], "proposed": first.sites["baseline"]})
    second = second.with_values({"proposed.us-central1.utilisation": 0.7})
    proposals = dict([("first", first), ("second", second)][::order])
    with pytest.raises(InputError, match=r"^second starts from the fleet that first proposes, so it may gain nothing"):
        fund(proposals, 1e7)
    assert fund(proposals, 1e7, independent=[("first", "second")])


def test_horizons_that_differ_are_flagged() -> None:
    found = fund({"a": claim("a"), "b": claim("b", horizon="36")}, 1e7)
    assert found.flags == ("Horizon is not the same for all (a 18 months, b 36 months), so that they are not quite comparable.",)


@pytest.mark.parametrize(
    ("given", "budget"), [("3M", 3e6), ("$3,000,000", 3e6), (" 250k ", 250e3), ("0", 0), (3_000_000, 3e6), (0.5, 0.5)]
)
def test_a_budget_is_read_as_people_write_it(given: object, budget: float) -> None:
    assert read_budget(given) == budget


# --- the command ------------------------------------------------------------------------------------------------------------


def test_the_command_says_what_to_fund_and_why(run: Run) -> None:
    outcome = run("portfolio", *BOTH, "--budget", "3M", *EXCLUSIVE)
    assert (outcome.code, outcome.err) == (0, "")
    answer, heading, chosen, left_out, more, last, odds, drawn = outcome.out.splitlines()
    assert answer == (
        "Fund raise-utilisation: net present value $459,039.52, at most $150,000.00 out of pocket, of a budget of $3,000,000.00."
    )
    assert heading == "  Proposal           Peak cash out  Net present value  Decision"
    assert chosen == "  raise-utilisation    $150,000.00        $459,039.52  fund"
    assert left_out == (
        "  two-region         $2,141,225.09        $121,733.31  leave out: at most one of it and raise-utilisation is taken; the "
        "best set with it is worth $337,306.21 less"  # 459,039.52 - 121,733.31
    )
    assert more == "A bit more: no larger budget changes the choice."
    assert last == "The last dollars: on less than $150,000.00 the best is to fund none, worth $459,039.52 less."
    assert re.fullmatch(r"\d in 10 odds of a gain .*8 in 10 outcomes lie between .* The median is \$.*", odds)
    assert drawn.startswith("Drawn once for all that leave it at the default: releases_per_month, ")


def test_the_command_solves_the_published_knapsack(run: Run) -> None:
    # Proposals of one month: a day a release (1,440,000 steps x 60 ms are 24 hours), one release, nothing discounted, so the net
    # present value is the value of a day less the upfront cost: 15 - 6, 12 - 5 and 12 - 5 million.
    for name, upfront, value in (("X", 6, 15), ("Y", 5, 12), ("Z", 5, 12)):
        settled = "horizon: 1, delay: 0, ramp: 0, discount_rate: 0, critical_path_share: 1, latency_saved: 60, saving_realised: 0"
        inputs = f"{{{settled}, releases_per_month: 1, upfront_cost: {upfront}_000_000, value_per_release_day: {value}_000_000}}"
        fleets = f"baseline: {{{name}: {{}}}}\nproposed: {{{name}: {{}}}}\n"
        Path(f"{name}.yaml").write_text(f"name: {name}\nowner: me\ndecision: no\ninputs: {inputs}\n{fleets}")
    chosen = strict(run("portfolio", "X.yaml", "Y.yaml", "Z.yaml", "--budget", "10M", "--json").out)["chosen"]
    assert (chosen["names"], chosen["value"]) == (["Y.yaml", "Z.yaml"], 14_000_000)


def test_the_next_budget_that_is_named_gives_what_is_said_of_it(run: Run) -> None:
    first = strict(run("portfolio", *BOTH, "--budget", "1000000", *INDEPENDENT, "--json").out)
    assert first["chosen"]["names"] == ["raise-utilisation"]
    more = first["with_more"]
    assert (more["cost"], more["difference"]) == (2_291_225.09, 121_733.31)  # 150,000 + 2,141,225.09
    then = strict(run("portfolio", *BOTH, "--budget", str(more["cost"]), *INDEPENDENT, "--json").out)
    assert then["chosen"]["names"] == BOTH
    assert then["chosen"]["value"] == pytest.approx(first["chosen"]["value"] + more["difference"])


def test_as_good_and_nothing_to_fund_are_said(run: Run) -> None:
    Path("copy.yaml").write_text((PROPOSALS / "two-region.yaml").read_text())
    outcome = run("portfolio", "two-region", "copy.yaml", "--budget", "3M", "--exclusive", "two-region,copy.yaml")
    assert "As good: copy.yaml, at most $2,141,225.09 out of pocket.\n" in outcome.out
    assert "the best set with it is worth as much" in outcome.out
    outcome = run("portfolio", "two-region", "--budget", "2M")
    assert outcome.out.startswith(
        "Fund none of these: with $2,000,000.00 out of pocket none has a net present value above zero.\n"
    )
    assert "leave out: it takes more than the whole budget" in outcome.out
    assert "A bit more: from $2,141,225.09 on, $141,225.09 more, the best is two-region, worth $121,733.31 more." in outcome.out


def test_json_is_one_object_with_every_number(run: Run) -> None:
    outcome = run("portfolio", *BOTH, "--budget", "3M", *EXCLUSIVE, "--json", "--seed", "7")
    found = strict(outcome.out)
    assert found["chosen"] == {"names": ["raise-utilisation"], "cost": 150_000, "value": 459_039.52, "difference": 0}
    assert found["left_out"]["two-region"]["beside"] == ["raise-utilisation"]
    assert found["with_more"] is None
    assert found["proposals"]["two-region"]["npv"] == 121_733.31
    assert found["net_gain"] == found["proposals"]["raise-utilisation"]["net_gain"]
    assert (found["seed"], found["draws"], found["budget"]) == (7, 8192, 3_000_000)
    assert run("portfolio", *BOTH, "--budget", "3M", *EXCLUSIVE, "--json", "--seed", "7") == outcome
    assert run("portfolio", *BOTH, "--budget", "3M", *EXCLUSIVE, "--json", "--seed", "8") != outcome


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*BOTH, *EXCLUSIVE], "Missing option '--budget'"),
        (["--budget", "3M"], "Missing argument 'PROPOSAL"),
        ([*BOTH, *EXCLUSIVE, "--budget", "-5"], "--budget: -5 is out of range; allowed is 0 to 1000000000000000 dollars\n"),
        ([*BOTH, *EXCLUSIVE, "--budget", "nan"], "--budget: 'nan' is not an amount of dollars; write it like 3000000, 3M or"),
        ([*BOTH, *EXCLUSIVE, "--budget", "inf"], "--budget: 'inf' is not an amount of dollars"),
        ([*BOTH, *EXCLUSIVE, "--budget", "1e999"], "--budget: '1e999' is not an amount of dollars"),
        ([*BOTH, *EXCLUSIVE, "--budget", "1e300"], "--budget: 1e300 is out of range"),
        ([*BOTH, *EXCLUSIVE, "--budget", "12%"], "--budget: '12%' is not an amount of dollars"),
        ([*BOTH, *EXCLUSIVE, "--budget", "lots"], "--budget: 'lots' is not an amount of dollars"),
        ([*BOTH, *EXCLUSIVE, "--budget", ""], "--budget: '' is not an amount of dollars"),
        (["two-region", "two-region", "--budget", "3M"], "two-region is given 2 times; give it once\n"),
        (["two-region", str(PROPOSALS / "two-region.yaml"), "--budget", "3M"], "two-region.yaml are the same file; give it once"),
        (
            ["two-regoin", "two-region", "nowhere", "--budget", "3M"],
            "there is no proposal 'two-regoin'; did you mean two-region;",
        ),
        ([*map(str, range(21)), "--budget", "3M"], "21 proposals are more than can be weighed against each other exactly"),
        ([*BOTH, "--budget", "3M"], "two-region and raise-utilisation start from one fleet"),
        ([*BOTH, "--budget", "3M", *EXCLUSIVE, *INDEPENDENT], "two-region and raise-utilisation are declared both exclusive and"),
        ([*BOTH, "--budget", "3M", "--exclusive", "two-region"], "exclusive: 'two-region' does not name two different proposals"),
        (
            [*BOTH, "--budget", "3M", "--independent", "two-region,x"],
            "independent: 'x' is not among the proposals; given are two-",
        ),
        (
            [*BOTH, "--budget", "3M", "--exclusive", "two-regoin,x"],
            "exclusive: 'two-regoin' is not among the proposals; did you mean",
        ),
        ([*BOTH, "--budget", "3M", *EXCLUSIVE, "--seed", "-1"], "the seed is -1; write a whole number from 0\n"),
    ],
)
def test_what_cannot_be_funded_is_refused(run: Run, arguments: list[str], said: str) -> None:
    assert said in refused(run("portfolio", *arguments))


def test_all_proposals_that_are_wrong_are_named_in_one_go(run: Run) -> None:
    message = refused(run("portfolio", "two-regoin", "two-region", "nowhere", "--budget", "3M"))
    assert [line.split("'")[1] for line in message.splitlines()] == ["two-regoin", "nowhere"]


# --- the chart and the notebook ---------------------------------------------------------------------------------------------


def crowded() -> Any:
    """Six proposals, three of them at one point and one right beside it."""
    found = fund(read(BOTH), 3e6, exclusive=[BOTH])
    one, other = found.odds.values()
    near = replace(one, mean=one.mean + 50_000)
    names = {
        "two-region": one,
        "some/folder/with/a/long/name/mine.yaml": one,
        "third": one,
        "near": near,
        "raise-utilisation": other,
    }
    return replace(found, odds=names | {"loses": replace(other, mean=-2e6)})


def test_names_in_the_chart_cover_neither_each_other_nor_a_point() -> None:
    style = "<style>svg { width: 720px; --ink: black; --paper: white; }</style>"
    with chromium() as browser:
        page = visit(browser).page
        page.set_content(style + charts.risk_svg(crowded()))
        boxes = "all => all.map(each => each.getBoundingClientRect()).map(box => [box.left, box.right, box.top, box.bottom])"
        names = page.eval_on_selector_all(".mark-text.role-mark text", boxes)
        points = page.eval_on_selector_all(".mark-symbol.role-mark path", boxes)
        (whole,) = page.eval_on_selector_all("svg", boxes)
    assert (len(names), len(points)) == (6, 6)
    covers = [
        (one, other)
        for one, other in [*combinations(names, 2), *((name, point) for name in names for point in points)]
        if one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
    ]
    assert covers == []
    assert all(
        whole[0] <= left and right <= whole[1] and whole[2] <= top and bottom <= whole[3] for left, right, top, bottom in names
    )


def test_the_chart_takes_its_colours_from_the_page_and_fills_the_chosen() -> None:
    svg = charts.risk_svg(crowded())
    assert re.findall(r'<path[^>]* fill="(var[^"]*)"', svg).count("var(--gain)") == 1
    assert not re.search(r'(?:fill|stroke)="(?:#|rgb)', svg)
    assert "…" in svg  # a long name loses its beginning, since what tells paths apart is at their end
    assert not re.search(r"https?://(?!www\.w3\.org/)", svg)


def test_a_full_plot_is_drawn_all_the_same() -> None:
    found = crowded()
    odds = found.odds["two-region"]
    assert charts.risk_svg(replace(found, odds={f"{'x' * 40}{place}": odds for place in range(60)}))


def code_cells() -> list[Any]:
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


def test_the_notebook_is_stored_without_outputs_and_computes_nothing() -> None:
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code_cells())
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    for cell in code_cells():
        body = ast.parse(cell.source).body
        assert all(isinstance(each, allowed) for each in body)
        assert not [each for each in ast.walk(ast.Module(body, [])) if isinstance(each, ast.BinOp | ast.Lambda)]


def test_the_notebook_runs_with_papermill_and_its_page_needs_no_network(tmp_path: Path) -> None:
    (tmp_path / "<b>mine.yaml").write_text((PROPOSALS / "raise-utilisation.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    parameters = "{proposals: [two-region, <b>mine.yaml], budget: 3M, exclusive: [[two-region, <b>mine.yaml]]}"
    command = [str(PAPERMILL), str(NOTEBOOK), "out.ipynb", "-y", parameters]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (output,) = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[-1].outputs
    page = f'<!doctype html><html lang="en"><title>t</title><main><h1>t</h1>{output.data["text/html"]}</main></html>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with chromium() as browser:
        seen = visit(browser, (tmp_path / "page.html").as_uri())
        assert seen.page.text_content(".verdict") == (
            "Fund <b>mine.yaml: net present value $459,039.52, at most $150,000.00 out of pocket, of a budget of $3,000,000.00."
        )
        assert seen.page.locator("tbody tr").count() == 2
        assert seen.page.locator("figure svg").count() == 1
        assert (seen.said, len(seen.asked), barriers(seen.page)) == ([], 1, [])


def test_papermill_fails_on_an_unknown_parameter(tmp_path: Path) -> None:
    command = [str(PAPERMILL), str(NOTEBOOK), "out.ipynb", "-p", "budgte", "3000000"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "InputError: parameters: 'budgte' is not a parameter; did you mean budget?" in done.stderr


GIVEN: dict[str, Any] = {"proposals": BOTH, "budget": 3_000_000, "exclusive": [BOTH], "independent": []}


def test_parameters_give_a_portfolio() -> None:
    given = GIVEN | {"budget": "3M", "independent": None, "roi": roi, "_": "", "_i3": ""}
    assert report.portfolio_from_parameters(given).selection == fund(read(BOTH), 3e6, exclusive=[BOTH]).selection


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budgte": 1}, "parameters: 'budgte' is not a parameter; did you mean budget?"),
        ({"latency_saved": 90}, "parameters: 'latency_saved' is not a parameter"),
        (
            {"proposals": "two-region"},
            "parameters: proposals is 'two-region'; write a list of paths and shipped names, such as [two-",
        ),
        ({"proposals": [1]}, "parameters: proposals is [1]; write a list"),
        ({"proposals": []}, "there is nothing to choose from; name at least one proposal"),
        ({"budget": None}, "parameters: budget: None is not an amount of dollars; write it like 3000000, 3M or $3,000,000"),
        ({"budget": True}, "parameters: budget: True is not an amount of dollars"),
        ({"budget": float("nan")}, "parameters: budget: nan is not an amount of dollars"),
        ({"budget": 10**400}, "parameters: budget: "),
        ({"budget": -5}, "parameters: budget: -5 is out of range; allowed is 0 to 1000000000000000 dollars"),
        (
            {"exclusive": BOTH},
            "parameters: exclusive is ['two-region', 'raise-utilisation']; write a list of groups, such as [[two-",
        ),
        ({"exclusive": "two-region,x"}, "parameters: exclusive is 'two-region,x'; write a list of groups"),
        ({"independent": [[1, 2]]}, "parameters: independent is [[1, 2]]; write a list of groups"),
        ({"exclusive": []}, "two-region and raise-utilisation start from one fleet"),
    ],
)
def test_a_wrong_parameter_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refusal:
        report.portfolio_from_parameters(GIVEN | given)
    assert str(refusal.value).startswith(said)
