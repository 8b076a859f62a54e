"""Results: what evaluating a proposal gives, where a number comes from, and what importing the package costs."""

import math
import subprocess
import sys

import pytest

import roi
from roi import InputError
from roi.inputs import inputs, model


@pytest.fixture(scope="module")
def two_region():
    return roi.evaluate(roi.load("two-region"))


def test_a_value_is_read_by_name_or_as_an_attribute(two_region):
    assert two_region.net_gain == two_region["net_gain"]
    assert isinstance(two_region.net_gain, float)
    assert two_region["cumulative"].shape == (19,)  # months 0 to 18
    assert two_region["site_bill"].shape == (3,)  # one region before, two after
    assert two_region["latency_saved"] == 120
    assert "net_gain" in dir(two_region)


def test_an_unknown_name_says_what_was_meant(two_region):
    with pytest.raises(KeyError, match="there is no line or input 'net_gian'; did you mean net_gain"):
        two_region["net_gian"]
    with pytest.raises(AttributeError, match="did you mean net_gain"):
        _ = two_region.net_gian


def test_overrides_change_their_input_alone(two_region):
    changed = roi.evaluate(two_region.proposal, {"proposed.europe-west4.gpu_price": 11.53}, latency_saved=90)
    assert changed["latency_saved"] == 90
    assert changed["gpu_price"].tolist() == [11.53, 11.53, 11.53]
    assert two_region["latency_saved"] == 120
    # 1,440,000 x 90 ms x 0.8 / 86,400,000 ms a day
    assert changed.release_days_saved == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"latency_savd": 90}, "'latency_savd' is not an input; did you mean latency_saved"),
        ({"latency_saved": "90"}, "latency_saved is the text '90'; write the number alone: 90"),
        ({"latency_saved": math.nan}, "not a finite number"),
        ({"horizon": 61}, "out of range; allowed is a whole number 1 to 60"),
        ({"gpu_price": 12}, "'gpu_price' has a value for each site; write for example proposed.europe-west4.gpu_price"),
        ({"proposed.europe-west5.gpu_price": 12}, "europe-west4"),
        ({"proposed.europe-west4.share": 0.7}, "shares sum to 1.2"),
    ],
)
def test_an_override_is_checked_as_a_proposal_is(two_region, overrides, message):
    with pytest.raises(InputError) as refused:
        roi.evaluate(two_region.proposal, overrides)
    assert message in str(refused.value)


def test_explain_is_the_tree_down_to_the_inputs(two_region):
    tree = two_region.explain("release_gain")
    assert tree.value == pytest.approx(400_000)  # 1.6 days x 250,000
    assert (tree.unit, tree.formula) == ("USD/release", "release_days_saved * value_per_release_day")
    days, value = tree.parts
    assert (value.name, value.value, value.formula, value.parts) == ("value_per_release_day", 250_000, "", ())
    assert days.value * value.value == tree.value
    leaves = []

    def walk(part):
        for each in part.parts:
            walk(each)
        if not part.parts:
            leaves.append(part.name)

    walk(two_region.explain("net_gain"))
    assert set(leaves) <= {*inputs(), "is_proposed", "month"}
    assert {"latency_saved", "gpu_price", "upfront_cost"} <= set(leaves)


def test_explain_reads_as_an_indented_tree(two_region):
    assert str(two_region.explain("run_hours_saved")).splitlines() == [
        "run_hours_saved: 48 hours/run = step_hours_saved + queue_hours_saved",
        "  step_hours_saved: 48 hours/run = steps_per_run * step_time_saved / ms_per_hour",
        "    steps_per_run: 1,440,000 steps/run  (input)",
        "    step_time_saved: 120 ms/step = latency_saved - sync_time / steps_per_sync",
        "      latency_saved: 120 ms/step  (input)",
        "      sync_time: 0 ms/synchronisation  (input)",
        "      steps_per_sync: 1 step/synchronisation  (input)",
        "  queue_hours_saved: 0 hours/run  (input)",
    ]


def test_the_frame_has_a_row_for_each_month_and_a_column_for_each_line_by_month(two_region):
    frame = two_region.to_frame()
    assert frame.index.tolist() == list(range(19))
    assert set(frame.columns) == {name for name in model().lines if model().axes[name] == "month"}
    assert frame["net_cash"].sum() == pytest.approx(two_region.net_gain)


def test_flags_name_the_region_and_the_value(two_region):
    odd = roi.evaluate(two_region.proposal, {"proposed.europe-west4.utilisation": 0.97})
    assert odd.flags == [
        "europe-west4: utilisation of 97 % is higher than fleets sustain. Is it measured over whole months?",
    ]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"latency_saved": 1_300}, "Latency saved (1,300 ms/step) is above the step time (1,200 ms/step)"),
        ({"latency_saved": 700}, "speed-up above linear"),  # 1,200 to 500 ms is 2.4 times, from one region to two
        ({"proposed.us-central1.storage_price": 24}, "us-central1: storage price of $24/GB-month is above 1 USD"),
    ],
)
def test_what_is_odd_but_legal_gets_a_flag(two_region, changes, part):
    assert any(part in flag for flag in roi.evaluate(two_region.proposal, changes).flags)


def test_nothing_odd_no_flag(two_region):
    assert two_region.flags == []


def test_importing_the_package_loads_nothing_heavy():
    heavy = ["pandas", "altair", "scipy", "papermill", "voila", "ipywidgets", "IPython", "jsonschema"]
    code = f"import roi, roi.finance, sys; roi.evaluate(roi.load('two-region')); print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
