"""Total cost: an example worked by hand for each line, and that the parts are the whole."""

import math

import numpy as np
import pytest
from hypothesis import given

from roi import total_cost
from roi.lines import lines_of
from roi.results import Result
from tests.strategies import proposals

# Arguments in the order of the function, then the answer.
EXAMPLES = {
    "training_cost": [((18_432, 11.53), 212_520.96)],
    "startup_cost": [((10.048, 11.53), 115.85344)],
    "idle_cost": [
        ((18_432, 0.6, 11.53), 141_680.64),
        ((18_432, 1, 11.53), 0),
    ],  # 12,288 hours idle, 2 for each 3 that train
    "gpu_cost_difference": [((212_520.96, 115.85344, 141_680.64, 354_317.45344), 0)],
    "check_gpu_cost": [(([0.0, 1.0, -1.0],), 0), (([2.0, 1.0],), 3)],
    "tokens_per_run": [((1_440_000, 4_000_000), 5_760_000)],  # 4 million tokens a step: 5.76 trillion
    "tokens_per_month": [((5_760_000, 0.6), 3_456_000)],
    "baseline_cost_per_run": [((354_502, 0.6), 354_502 / 0.6), ((354_502, 0), math.nan)],
    "proposed_cost_per_run": [((425_115, 0.6), 708_525), ((425_115, 0), math.nan)],
    "baseline_cost_per_release": [((300_000, 0.6), 500_000), ((300_000, 0), math.nan)],
    "proposed_cost_per_release": [((300_000, 0.6), 500_000), ((300_000, 0), math.nan)],
    "baseline_cost_per_million_tokens": [((354_502, 3_456_000), 354_502 / 3_456_000), ((354_502, 0), math.nan)],
    "proposed_cost_per_million_tokens": [((432_000, 3_456_000), 0.125), ((432_000, 0), math.nan)],
}

LINES = {each.name: each for each in lines_of(total_cost)}


def test_every_line_has_an_example_and_no_example_is_of_a_line_that_is_gone():
    assert set(EXAMPLES) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_line_gives_what_it_should_by_hand(name):
    for arguments, answer in EXAMPLES[name]:
        with np.errstate(divide="ignore", invalid="ignore"):  # in the branch of a where that is thrown away
            found = LINES[name].function(*(np.asarray(each, dtype=float) for each in arguments))
        assert np.squeeze(found) == pytest.approx(answer, rel=1e-12, abs=1e-6, nan_ok=True)


@given(proposals())
def test_what_the_gpus_do_is_the_whole_gpu_cost(proposal):
    result = Result(proposal)
    parts = result["training_cost"] + result["startup_cost"] + result["idle_cost"]
    assert parts == pytest.approx(result["gpu_cost"], rel=1e-9, abs=1e-6)
