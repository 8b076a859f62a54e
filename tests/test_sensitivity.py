"""Sensitivity: published indices, facts that are correlated, and facts that move nothing."""

import re
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

import roi
from roi import InputError, Result, report
from roi.board import Page
from roi.reading import parse
from roi.sensitivity import delta, pawn, sensitivity, sobol, without_effect
from roi.uncertain import uncertain
from tests.test_cli import Run, refused, run, strict  # noqa: F401
from tests.test_proposals import GOOD
from tests.test_simulate import only

CORRELATED = """\
name: Correlated
owner: me
decision: no
inputs:
  latency_saved: {base: 120, low: 40, high: 180}
  queue_hours_saved: {base: 2, low: 0, high: 8}
baseline:
  a: {}
proposed:
  a: {egress: 0, egress_price: {base: 0.05, low: 0.02, high: 0.1}}
correlations:
  - {between: [latency_saved, queue_hours_saved], coefficient: 0.6}
"""


def correlated():
    return parse(CORRELATED, "correlated.yaml", "correlated")


# --- published answers ------------------------------------------------------------------------------------------------------


def ishigami(shares):
    """Ishigami and Homma, with a = 7 and b = 0.1, on the cube from -pi to pi."""
    x = np.pi * (2 * shares - 1)
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def linear(shares):
    return shares @ np.array([3.0, 2.0, 1.0])


# Ishigami as in SALib, exact values recomputed. Of a linear model the shares are the squares of the coefficients, and no facts
# interact.
@pytest.mark.parametrize(
    ("function", "first", "total"),
    [
        (ishigami, (0.31390519, 0.44241114, 0), (0.55758886, 0.44241114, 0.24368366)),
        (linear, (9 / 14, 4 / 14, 1 / 14), (9 / 14, 4 / 14, 1 / 14)),
    ],
)
def test_indices_are_the_exact_ones(function, first, total):
    found = sobol(function, 3, 1 << 13, 1)
    for estimates, exact in zip(found, (first, total), strict=True):
        for estimate, answer in zip(estimates, exact, strict=True):
            assert estimate.value == pytest.approx(answer, abs=0.005)
            assert estimate.low <= answer <= estimate.high


def test_the_function_is_given_points_in_blocks():
    counts = []

    def counting(shares):
        counts.append(len(shares))
        return linear(shares)

    sobol(counting, 3, 1 << 13, 1)
    assert sum(counts) == (1 << 13) * 5
    assert max(counts) <= 1 << 13


@given(st.integers(0, 2**64))
def test_any_seed_gives_the_same_answer_twice(seed):
    assert sobol(linear, 3, 128, seed) == sobol(linear, 3, 128, seed)


def test_a_constant_has_no_shares():
    first, total = sobol(lambda shares: np.ones(len(shares)), 2, 128, 1)
    assert [each.value for each in first + total] == [0, 0, 0, 0]
    assert [each.value for each in delta(np.random.default_rng(1).random((2, 500)), np.ones(500), 1)] == [0, 0]


def spread_out(draws):
    """Draws of x and of a fact that says nothing, shaped `(facts, draws)`."""
    return qmc.Sobol(2, rng=np.random.default_rng(1)).random(draws).T


def test_what_a_fact_does_to_the_distribution_is_between_nothing_and_everything():
    values = spread_out(1 << 14)
    alone, nothing = pawn(values, values[0])
    # Gains equal to x: nine tenths of x lie on one side of an outer slice, and half on either side of a middle one.
    assert alone.low == pytest.approx(0.5, abs=0.01)
    assert alone.high == pytest.approx(0.9, abs=0.01)
    assert nothing.value < 0.02
    alone, nothing = delta(values[:, :512], values[0, :512], 1)
    assert alone.value > 0.6
    assert nothing.value < 0.2


def test_every_value_of_a_discrete_fact_counts():
    values = np.vstack([spread_out(1 << 14)[0] > 0.95, spread_out(1 << 14)[1]]).astype(float)
    assert pawn(values, values[0] + values[1])[0].high > 0.4  # SALib by itself leaves the highest value out


def test_salib_leaves_the_process_as_it_was():
    values = spread_out(128)
    before = np.random.get_state()[1].copy(), warnings.formatwarning, list(warnings.filters)
    assert delta(values, values[0], 0) == delta(values, values[0], 0)
    assert np.array_equal(np.random.get_state()[1], before[0])
    assert (warnings.formatwarning, list(warnings.filters)) == before[1:]


# --- a proposal -------------------------------------------------------------------------------------------------------------


def test_a_proposal_has_shares_in_the_order_of_its_facts():
    proposal = roi.load("two-region")
    found = sensitivity(proposal, draws=256)
    assert found == sensitivity(proposal, draws=256)
    assert found != sensitivity(proposal, draws=256, seed=2)
    assert (found.method, found.asked, found.correlated) == ("sobol", False, ())
    assert [each.path for each in found.facts] == [each.path for each in uncertain(proposal)]
    first = sum(each.measures["first_order"].value for each in found.facts)
    assert found.interactions == pytest.approx(1 - first)
    assert max(found.facts, key=lambda each: each.measures["total"].value).path == "latency_saved"


def test_the_only_fact_has_the_whole_variance():
    found = sensitivity(only("value_per_release_day", 20_000, 100_000, 180_000, "uniform"))
    (fact,) = found.facts
    assert fact.measures["first_order"].value == pytest.approx(1, abs=0.02)
    assert fact.measures["total"].value == pytest.approx(1, abs=0.02)
    assert found.interactions == pytest.approx(0, abs=0.02)


def test_a_proposal_that_nothing_moves_has_no_shares():
    found = sensitivity(only("saving_realised", 0.2, 0.5, 0.8).with_values({"latency_saved": 0}), draws=128)
    assert found.interactions == 0
    assert found.without_effect == ("saving_realised",)


def test_shares_of_correlated_facts_are_refused_and_another_measure_is_given():
    with pytest.raises(InputError, match="these are correlated: latency_saved and queue_hours_saved; write pawn or delta"):
        sensitivity(correlated(), "sobol")
    found = sensitivity(correlated())
    assert (found.method, found.asked, found.interactions) == ("pawn", False, None)
    assert found.correlated == (("latency_saved", "queue_hours_saved"),)
    measured = {each.path: each.measures["pawn"].value for each in found.facts}
    # What queue hours say of the latency that they move with counts as theirs.
    alone = {
        each.path: each.measures["pawn"].value
        for each in sensitivity(parse(CORRELATED.partition("correlations")[0], "a", "a"), "pawn").facts
    }
    assert measured["queue_hours_saved"] > 3 * alone["queue_hours_saved"]


def test_delta_on_request():
    lone = only("value_per_release_day", 20_000, 100_000, 180_000)
    found = sensitivity(lone, "delta", 256, seed=0)
    assert found == sensitivity(lone, "delta", 256, seed=0)
    assert found.asked
    assert found.facts[0].measures["delta"].value > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--method", "sobl"], "there is no method 'sobl'; write one of sobol, pawn, delta; did you mean sobol?"),
        (["--draws", "1000"], "draws is 1,000; the method sobol takes a power of 2, such as 1,024"),
        (["--draws", "64"], "draws is 64; allowed is 100 to 16,384"),
        (["--draws", "0"], "draws is 0; allowed is 100 to 16,384"),
        (["--method", "pawn", "--draws", "1000000"], "draws is 1,000,000; allowed is 100 to 131,072"),
        (["--seed", "-1"], "the seed is -1; write a whole number from 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(run: Run, arguments, said):  # noqa: F811
    assert said in refused(run("sensitivity", "two-region", *arguments))


def test_the_command_says_which_method_and_why(run: Run, tmp_path):  # noqa: F811
    outcome = run("sensitivity", "two-region", "--draws", "256")
    assert (outcome.code, outcome.err) == (0, "")
    heads, first, *_ = outcome.out.splitlines()
    assert heads.split()[0] == "Fact"
    assert first.strip().startswith("Latency saved per step")
    assert "% of the variance comes from facts acting together." in outcome.out
    assert (
        "Sobol' indices, shares of the variance of the net gain with 95 % confidence, because no facts are correlated."
        in outcome.out
    )

    (tmp_path / "mine.yaml").write_text(CORRELATED)
    outcome = run("sensitivity", "mine.yaml")
    assert "cannot be told apart where facts are correlated: latency_saved and queue_hours_saved.\n" in outcome.out
    assert re.search(r"^A range that does not move the net gain: .*Egress price \(proposed, a\)", outcome.out, re.MULTILINE)
    assert "correlated: latency_saved and queue_hours_saved" in refused(run("sensitivity", "mine.yaml", "--method", "sobol"))


def test_the_command_gives_every_measure_as_json(run: Run):  # noqa: F811
    once, again = (run("sensitivity", "two-region", "--json", "--draws", "128", "--seed", "0") for _ in range(2))
    assert once == again
    found = strict(once.out)
    assert (found["method"], found["draws"], found["seed"]) == ("sobol", 128, 0)
    assert set(found["facts"][0]["measures"]) == {"first_order", "total"}
    assert set(found["facts"][0]["measures"]["total"]) == {"value", "low", "high"}


# --- facts that move nothing ------------------------------------------------------------------------------------------------

SENTENCE = "A range that does not move the net gain: Egress price (proposed, a)."


def test_a_range_that_moves_nothing_is_flagged_on_every_face(run: Run, tmp_path):  # noqa: F811
    proposal = correlated()
    assert without_effect(proposal) == ["proposed.a.egress_price"]
    assert SENTENCE in report.flags(Result(proposal))
    assert Page(proposal).document().count(SENTENCE) == 2  # as it is read, and in the data for another proposal's turn
    (tmp_path / "mine.yaml").write_text(CORRELATED)
    assert f"mine.yaml: flag: {SENTENCE}\n" in run("check", "mine.yaml").out


def test_a_range_that_moves_something_is_not_flagged():
    for name in ("two-region", "published-claim", "raise-utilisation"):
        assert without_effect(roi.load(name)) == []
    # A default's range is not the proposal's to answer for, and a value without a range has none.
    assert without_effect(parse(GOOD, "mine.yaml", "mine")) == []
    assert without_effect(parse(CORRELATED.replace("egress: 0", "egress: 1_000"), "a", "a")) == []


def test_a_value_that_is_hardly_ever_drawn_is_an_effect():
    rare = "{base: 0, shape: discrete, values: [0, 1_000_000], weights: [0.9999, 0.0001]}"
    assert without_effect(
        parse(
            CORRELATED.replace("{base: 2, low: 0, high: 8}", rare)
            .replace("queue_hours_saved:", "upfront_cost:")
            .partition("correlations")[0],
            "a",
            "a",
        )
    ) == ["proposed.a.egress_price"]


def test_a_value_set_by_hand_keeps_the_range_that_its_file_gives():
    assert without_effect(correlated().with_values({"proposed.a.egress_price": 0.07})) == ["proposed.a.egress_price"]
    # of a default it is still the default's
    assert without_effect(roi.load("two-region").with_values({"latency_saved": 90, "saving_realised": 0.1})) == []


def test_looking_for_what_moves_nothing_takes_no_time():
    proposal = correlated()
    without_effect(proposal)
    # Of the time of this process alone, so that a busy machine makes no difference.
    began = time.process_time()
    without_effect(proposal)
    assert time.process_time() - began < 0.05
