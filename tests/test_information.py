"""Value of information: published answers, laws over any gains, and the shipped proposal."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri
from scipy.stats import qmc

import roi
from roi import InputError, words
from roi.information import evpi, evppi, value_of_measuring
from tests.test_cli import Run, refused, run, strict  # noqa: F401
from tests.test_simulate import only

# --- published answers ------------------------------------------------------------------------------------------------------

# Vignette of the R package voi, exact: the net benefit is p1 - p2 with p1 ~ N(1, 1) and p2 ~ N(0, 2), or 0 for doing nothing.
# It gains with p_gain = Phi(1 / sd), sd of the net benefit. 0.67263958 = Phi(1 / sqrt(1 + 2^2)), while Phi(1 / sqrt(1 + 2)) would
# be 0.718, so the second parameter is a standard deviation.
P_GAIN, EVPI, EVPPI_P1, EVPPI_P2 = 0.67263958, 0.47981071, 0.08331547, 0.39559311


def go_or_no_go(draws, seed):
    shares = qmc.Sobol(2, rng=np.random.default_rng(seed)).random(draws)
    p1, p2 = 1 + ndtri(shares[:, 0]), 2 * ndtri(shares[:, 1])
    return p1 - p2, p1, p2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_normal_go_or_no_go_decision_has_its_exact_answer(seed):
    gains, p1, p2 = go_or_no_go(1 << 14, seed)
    # Three standard errors of as many independent draws, which a Sobol sequence stays well below.
    error = 3 * np.sqrt(P_GAIN * (1 - P_GAIN) / len(gains))
    assert (gains > 0).mean() == pytest.approx(P_GAIN, abs=error)
    # With what is known, the gain is expected to be the gain itself, p1 - 0, and 1 - p2; a loss is spared.
    for found, exact, expected in (
        (evpi(gains), EVPI, gains),
        (evppi(gains, p1), EVPPI_P1, p1),
        (evppi(gains, p2), EVPPI_P2, 1 - p2),
    ):
        error = 3 * np.minimum(expected, 0).std() / np.sqrt(len(gains))
        assert found == pytest.approx(exact, abs=error)
        assert found == pytest.approx(exact, rel=0.01)  # where independent draws are up to 7 % off


def test_the_estimate_nears_the_exact_answer_with_the_draws():
    def misses(draws):
        return [abs(evppi(gains, p1) - EVPPI_P1) for gains, p1, _ in (go_or_no_go(draws, seed) for seed in range(8))]

    assert max(misses(1 << 16)) < np.mean(misses(256)) / 2
    assert max(misses(1 << 16)) < 0.0005


def test_options_that_exclude_each_other_have_the_best_of_each_draw():
    # Heizer and Render, Operations Management: a large plant gains 200,000 or loses 180,000, a small one gains 100,000 or loses
    # 20,000, with probabilities 0.6 and 0.4; or nothing. EVPI = 0.6 x 200,000 + 0.4 x 0 - 52,000.
    gains = np.array([[200_000, 100_000, 0]] * 3 + [[-180_000, -20_000, 0]] * 2, dtype=float)
    assert gains.mean(axis=0).tolist() == [48_000, 52_000, 0]
    assert evpi(gains) == pytest.approx(68_000)
    market, coin = np.array([1, 1, 1, 0, 0]), np.array([1, 1, 1, 1, 1])
    assert evppi(gains, market) == pytest.approx(68_000)
    assert evppi(gains, coin) == 0


# --- laws -------------------------------------------------------------------------------------------------------------------

AMOUNTS = st.floats(-1e9, 1e9, width=32)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(arrays(float, n, elements=AMOUNTS), arrays(float, n, elements=AMOUNTS))))
def test_knowing_one_fact_is_worth_no_less_than_nothing_and_no_more_than_knowing_everything(drawn):
    gains, values = drawn
    assert 0 <= evppi(gains, values) <= evpi(gains)


@given(arrays(float, st.tuples(st.integers(1, 300), st.integers(1, 4)), elements=AMOUNTS), st.randoms(use_true_random=False))
def test_so_it_is_with_several_options(gains, random):
    values = np.array([random.random() for _ in gains])
    assert 0 <= evppi(gains, values) <= evpi(gains)
    assert evpi(gains) == pytest.approx(gains.max(axis=1).mean() - gains.mean(axis=0).max(), abs=1e-6 * max(1, abs(gains).max()))


@given(arrays(float, st.integers(1, 100), elements=AMOUNTS), AMOUNTS)
def test_a_constant_says_nothing(gains, value):
    assert evppi(gains, np.full(len(gains), value)) == pytest.approx(0, abs=1e-6 * max(1, abs(gains).max()))


def test_funding_or_nothing_is_a_pair_of_options():
    gains = go_or_no_go(1024, 1)[0]
    assert evpi(gains) == evpi(np.column_stack([gains, np.zeros(1024)]))
    assert evpi(gains) == pytest.approx(np.maximum(gains, 0).mean() - max(gains.mean(), 0))


def test_the_gain_itself_says_everything():
    gains = go_or_no_go(1 << 13, 1)[0]
    assert evppi(gains, gains) == pytest.approx(evpi(gains), rel=0.005)  # the draws on either side of 0 that share a group


def test_a_few_values_give_the_means_of_their_groups():
    gains, values = np.array([3.0, -1, -2, 1, -6]), np.array([0, 0, 1, 1, 7])
    # means 1, -0.5 and -6 of 2, 2 and 1 draws; on average it loses, so nothing is done
    assert evppi(gains, values) == pytest.approx(1 * 2 / 5)


def test_equal_values_are_known_together():
    # Most draws have the same value, as where a range clips its spread: what they are is not told apart by their order.
    gains = np.concatenate([np.full(500, -1.0), np.full(400, 2.0), np.linspace(0.1, 1, 100)])
    values = np.concatenate([np.zeros(900), np.arange(1, 101)])
    assert evppi(gains, values) == 0
    assert evpi(gains) == pytest.approx(0.5)


def test_a_fact_that_says_nothing_is_worth_next_to_nothing():
    gains, p1, _ = go_or_no_go(1 << 13, 1)
    for seed in range(5):
        assert evppi(gains, np.random.default_rng(seed).permutation(p1)) < 0.001 * EVPI


# --- a proposal -------------------------------------------------------------------------------------------------------------


def test_the_shipped_proposal_is_worth_measuring():
    found = value_of_measuring(roi.load("two-region"))
    assert found == value_of_measuring(roi.load("two-region"))
    assert found != value_of_measuring(roi.load("two-region"), seed=2)
    assert [each.path for each in found.facts[:2]] == ["latency_saved", "value_per_release_day"]
    assert [each.evppi for each in found.facts] == sorted((each.evppi for each in found.facts), reverse=True)
    assert all(0 <= each.evppi <= found.evpi for each in found.facts)
    again = value_of_measuring(roi.load("two-region"), draws=30_000, seed=5)
    for one, other in zip(found.facts[:4], again.facts[:4], strict=True):
        assert one.path == other.path
        assert one.evppi == pytest.approx(other.evppi, rel=0.05)


def test_the_only_fact_is_everything():
    # The claim gains 21.6 v - 2,000,000; with v uniform over 0 to 200,000 that is uniform over -2,000,000 to 2,320,000.
    found = value_of_measuring(only("value_per_release_day", 20_000, 100_000, 180_000, "uniform"))
    assert found.evpi == pytest.approx(
        2_000_000**2 / 2 / 4_320_000, rel=0.005
    )  # the mean loss that is spared; the mean is a gain
    assert [each.evppi for each in found.facts] == [pytest.approx(found.evpi, rel=0.005)]


def test_what_to_measure_in_a_sentence():
    proposal = roi.load("two-region")
    assert words.measure_sentence(value_of_measuring(proposal)) == (
        "Measuring the latency saved per step first is worth at most $569K; knowing everything at most $961K."
    )
    sure = proposal.with_values({"latency_saved": 300, "value_per_release_day": 1_000_000})
    assert words.measure_sentence(value_of_measuring(sure)) == (
        "Nothing is worth measuring first: the decision would be the same."
    )


def test_what_no_one_fact_decides_is_said():
    together = replace(value_of_measuring(roi.load("two-region"), draws=100), evpi=400_000.0, facts=())
    assert words.measure_sentence(together) == (
        "Measuring any one fact first is worth nothing; knowing everything is worth at most $400K."
    )


def test_the_command_ranks_the_facts(run: Run):  # noqa: F811
    outcome = run("information", "two-region")
    assert (outcome.code, outcome.err) == (0, "")
    first, *ranking, last = outcome.out.splitlines()
    assert first.startswith("Measuring the latency saved per step first is worth at most $569K")
    assert ranking[:2] == ["     $569K  Latency saved per step", "     $377K  Value of a release day"]
    assert not any("$0" in line for line in ranking)
    assert "net gain, not discounted" in last


def test_the_command_gives_every_fact_as_json(run: Run):  # noqa: F811
    once, again = (run("information", "two-region", "--json", "--draws", "1000", "--seed", "3") for _ in range(2))
    assert once == again
    found = strict(once.out)
    assert (found["draws"], found["seed"]) == (1000, 3)
    assert {each["path"] for each in found["facts"]} >= {"latency_saved", "default.utilisation"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--draws", "99"], "draws is 99; allowed is 100 to 1,000,000"),
        (["--draws", "1000001"], "draws is 1,000,001; allowed is 100 to 1,000,000"),
        (["--seed", "-1"], "the seed is -1; write a whole number from 0"),
        (["--set", "latency_savd=1"], "did you mean latency_saved?"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run: Run, arguments, said):  # noqa: F811
    assert said in refused(run("information", "two-region", *arguments))


def test_without_any_range_nothing_can_be_measured():
    with pytest.raises(InputError, match="nothing to draw"):
        value_of_measuring(only("latency_saved", 120, 120, 120))
