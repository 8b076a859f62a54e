"""The recommendation: the alternative that is worth most on average, and the value at which another overtakes it."""

import dataclasses

import pytest

import roi
from roi import amounts
from roi.decision import decide, expected, recommendation
from roi.reading import load, shipped
from tests.test_simulate import only


@pytest.mark.parametrize("name", shipped())
def test_the_best_alternative_is_recommended_with_its_figure(name):
    decision = decide(load(name))
    assert expected(decision.best) == max(map(expected, decision.found))
    assert amounts.money(expected(decision.best)) in recommendation(decision)


def test_the_reversal_is_where_another_is_worth_as_much():
    # Starting now brings 0.6 releases of 2 days for 18 months, which at 250,000 a day have a present value of 5,011,793.9035 (the
    # published NPV and its cost): 20.0472 for each dollar of a release day. Less 2,000,000 that is nothing at 99,764.68. Raising
    # utilisation brings less than nothing here, since none of a lower bill is given back.
    decision = decide(only("latency_saved", 120, 120, 120))
    assert (decision.best.kind, decision.instead.kind) == ("now", "nothing")
    assert decision.reversal == pytest.approx(2_000_000 / (5_011_793.9035 / 250_000), rel=1e-6)
    shown = amounts.money(decision.reversal)
    assert recommendation(decision).endswith(f"becomes better if a release day is worth less than about {shown}.")


def test_the_present_value_counts_by_hand_and_reversal_moves_with_it():
    dear = only("latency_saved", 120, 120, 120).with_values({"value_per_release_day": 10_000})
    decision = decide(dear)
    assert decision.best.kind in ("other", "nothing")
    assert decision.instead.kind == "now"
    assert "worth more than about" in recommendation(decision)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nothing", "Do not fund it: nothing that is compared here has an average NPV over the draws above zero."),
        ("now", "Fund it now: an average NPV over the draws of $"),
        ("later", "Not now. Start 6 months later: an average NPV over the draws of -$"),
        ("staged", "Measure first, for $60K, then start or not: an average NPV over the draws of $"),
        ("other", "Not this. Raise utilisation in us-central1 instead: an average NPV over the draws of $"),
    ],
)
def test_each_choice_has_its_words(kind, said):
    decision = decide(load("two-region"))
    best = next(each for each in decision.found if each.kind == kind)
    assert recommendation(dataclasses.replace(decision, best=best)).startswith(said)


def test_where_nothing_reverses_it_that_is_said():
    decision = dataclasses.replace(decide(load("two-region")), reversal=None, instead=None)
    assert recommendation(decision).endswith("No value of a release day on its slider changes that.")


def test_without_any_range_the_base_values_decide():
    certain = only("latency_saved", 120, 120, 120)
    assert decide(certain).information is None
    now = next(each for each in decide(certain).found if each.kind == "now")
    assert expected(now) == pytest.approx(roi.evaluate(certain).npv)
    assert "an NPV of $3.0M" in recommendation(decide(certain))
