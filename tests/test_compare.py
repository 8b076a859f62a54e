"""Why an answer changed: the steps add up."""

from itertools import permutations

import pytest
from hypothesis import given

import roi
from roi.compare import bridge
from roi.inputs import inputs
from roi.reading import shipped
from roi.results import Result
from tests.strategies import proposals


@pytest.mark.parametrize(("first", "second"), [*permutations(shipped(), 2)])
def test_the_steps_add_up_to_the_cent(first, second):
    before, after = roi.load(first), roi.load(second)
    cents = [round(Result(each).net_gain * 100) for each in (before, after)]
    assert sum(round(step.amount * 100) for step in bridge(before, after)) == cents[1] - cents[0]


@given(proposals(), proposals())
def test_the_steps_between_any_two_add_up(first, second):
    ends = [Result(each).net_gain for each in (first, second)]
    steps = bridge(first, second)
    size = max(1.0, *map(abs, ends), *(abs(step.amount) for step in steps)) if steps else 1.0
    # Steps stand between totals to the cent, of which there are two.
    assert sum(step.amount for step in steps) == pytest.approx(ends[1] - ends[0], abs=0.011 + 1e-9 * size * 60)


def test_only_what_differs_is_a_step():
    plain = roi.load("two-region")
    (step,) = bridge(plain, plain.with_values({"latency_saved": 90}))
    # 30 ms less are 0.4 days of 250,000, 0.6 times a month over 15 months of adoption, and a larger bill
    assert (step.label, step.before, step.after) == (inputs()["latency_saved"].label, "120 ms/step", "90 ms/step")
    assert step.amount == pytest.approx(roi.evaluate(plain, latency_saved=90).net_gain - Result(plain).net_gain, abs=0.011)
    assert bridge(plain, plain) == []


def test_a_fleet_changes_as_a_whole():
    plain = roi.load("two-region")
    steps = bridge(plain, plain.with_values({"proposed.europe-west4.gpu_price": 11.53}))
    assert [step.label for step in steps] == ["Regions of the proposed fleet"]
