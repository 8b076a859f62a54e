"""The inputs: complete, sourced, in range, and refused in words when they are not."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi.inputs
from roi import InputError
from roi.inputs import INPUTS_FILE, inputs, model
from roi.words import main_inputs
from tests.strategies import numbers

# The tables of the design: input, unit, default.
SCALARS = {
    "steps_per_run": ("step/run", 1_440_000),
    "step_time": ("ms/step", 1_200),
    "latency_saved": ("ms/step", 120),
    "runs_per_release": ("run/release", 1),
    "queue_hours_saved": ("hour/run", 0),
    "critical_path_share": ("1", 0.8),
    "releases_per_month": ("release/month", 0.6),
    "value_per_release_day": ("USD/day", 250_000),
    "horizon": ("month", 18),
    "wait": ("month", 0),
    "delay": ("month", 2),
    "ramp": ("month", 3),
    "discount_rate": ("1/year", 0.10),
    "upfront_cost": ("USD", 2_000_000),
    "gpus": ("gpu", 64),
    "saving_realised": ("1", 0.5),
    "cash_at_hand": ("USD", 0),
    "burn": ("USD/month", 0),
}
SITES = {
    "share": ("1", 1),
    "utilisation": ("1", 0.6),
    "gpu_price": ("USD/(gpu*hour)", 11.53),
    "orchestration_overhead": ("USD/(gpu*hour)", 0),
    "vcpus_per_gpu": ("vcpu/gpu", 26),
    "vcpu_price": ("USD/(vcpu*hour)", 0),
    "starts_per_run": ("start/run", 4),
    "cold_share": ("1", 0.25),
    "cold_start_minutes": ("minute/start", 15),
    "warm_start_minutes": ("minute/start", 14 / 60),
    "checkpoint_size": ("GB/checkpoint", 1_120),
    "checkpoints_kept": ("checkpoint", 5),
    "storage_price": ("USD/(GB*month)", 0.02),
    "egress": ("GB/month", 0),
    "egress_price": ("USD/GB", 0.02),
    "fixed_cost": ("USD/month", 73),
}


@pytest.mark.parametrize(("axis", "table"), [("scalar", SCALARS), ("site", SITES)])
def test_the_inputs_of_the_design_have_their_units_and_defaults(axis, table):
    for name, (unit, default) in table.items():
        assert (inputs()[name].axis, inputs()[name].unit, inputs()[name].default) == (axis, unit, default)


@pytest.mark.parametrize("name", inputs())
def test_an_input_is_complete_and_something_reads_it(name):
    row = inputs()[name]
    assert row.label
    assert row.source.title
    assert row.source.owner
    assert row.source.date
    low, high, step = row.slider
    assert row.range[0] <= low <= row.default <= high <= row.range[1]
    steps = (row.default - low) / step
    assert steps == pytest.approx(round(steps), abs=1e-9) or row.axis == "site", "the slider can stand on the default"
    if row.spread:
        assert row.range[0] <= row.spread.low <= row.default <= row.spread.high <= row.range[1]
        assert 0 < row.spread.covers < 1
    assert any(name in line.arguments for line in model().lines.values())


def test_the_inputs_up_front_are_about_eight_and_each_can_say_what_would_have_to_be_true():
    assert 6 <= len(main_inputs()) <= 10
    for name in main_inputs():
        row = inputs()[name]
        assert row.less
        assert row.more
        assert row.spread


def test_the_inputs_up_front_stand_in_one_order():
    # Each number is given once, so that the order is the file's word.
    assert [inputs()[name].main for name in main_inputs()] == list(range(1, len(main_inputs()) + 1))


def test_every_price_asks_for_a_young_source():
    assert [name for name, row in inputs().items() if row.price] == [name for name in inputs() if name.endswith("_price")]


def test_labels_are_given_once():
    labels = [row.label for row in inputs().values()]
    assert len(set(labels)) == len(labels)


def test_the_model_reads_inputs_of_their_own_axis():
    for row in inputs().values():
        assert model().axes[row.name] == row.axis
        assert str(model().variables[row.name].unit)


def test_a_source_dated_by_its_year_shows_the_year_alone():
    dated = inputs()["gpu_price"].source.date
    assert (str(dated), dated) == ("2026", date(2026, 1, 1))
    assert str(inputs()["latency_saved"].source.date) == "2026-06-24"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("12%", "critical_path_share is the text '12%'; write the number alone: 0.12"),
        ("most", "critical_path_share is the text 'most'; write a number alone, such as 0.8"),
        (True, "critical_path_share is bool True; write a number alone"),
        (None, "critical_path_share is left empty; write a number alone"),
        ([0.5], "critical_path_share is list [0.5]; write a number alone"),
        (float("nan"), "critical_path_share is nan, which is not a finite number; allowed is 0 to 1"),
        (float("-inf"), "critical_path_share is -inf, which is not a finite number"),
        (-0.1, "critical_path_share is -0.1, which is out of range; allowed is 0 to 1"),
        (1.1, "critical_path_share is 1.1, which is out of range"),
    ],
)
def test_a_value_is_refused_with_what_is_allowed(value, said):
    with pytest.raises(ValueError, match="critical_path_share") as refused:
        inputs()["critical_path_share"].check(value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("upfront_cost", "$2M", "upfront_cost is the text '$2M'; write the number alone: 2000000"),
        ("upfront_cost", "1,000", "upfront_cost is the text '1,000'; write the number alone: 1000"),
        ("upfront_cost", "1.2M", "upfront_cost is the text '1.2M'; write the number alone: 1200000"),
        ("upfront_cost", "", "upfront_cost is the text ''; write a number alone, such as 2000000"),
        ("upfront_cost", -1, "upfront_cost is -1 USD, which is out of range; allowed is 0 to 10000000000 USD"),
        (
            "latency_saved",
            100_001,
            "latency_saved is 100001 ms/step, which is out of range; allowed is -100000 to 100000 ms/step",
        ),
        ("horizon", 0, "horizon is 0 month, which is out of range; allowed is a whole number 1 to 60 month"),
        ("horizon", 60.5, "horizon is 60.5 month, which is out of range; allowed is a whole number 1 to 60 month"),
        ("horizon", float("inf"), "horizon is inf, which is not a finite number; allowed is a whole number 1 to 60 month"),
        ("utilisation", 0, "utilisation is 0, which is out of range; allowed is 0.01 to 1"),
        ("gpus", {"base": 64}, "gpus is dict {'base': 64}; write a number alone, such as 64"),
        ("gpus", 64j, "gpus is complex 64j; write a number alone, such as 64"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_is_allowed(name, value, said):
    with pytest.raises(ValueError, match=name) as refused:
        inputs()[name].check(value)
    assert str(refused.value) == said


@pytest.mark.parametrize("name", inputs())
def test_both_ends_of_the_range_are_allowed_and_come_back_as_floats(name):
    row = inputs()[name]
    for value in (*row.range, *row.slider[:2], row.default, int(row.range[1])):
        assert row.check(value) == value
        assert type(row.check(value)) is float


@given(st.sampled_from(list(inputs().values())), st.data())
def test_every_number_in_the_range_is_taken_as_it_is(row, data):
    number = data.draw(numbers(row))
    assert row.check(number) == number


@given(st.sampled_from(list(inputs().values())), st.text(max_size=12) | st.booleans() | st.none() | st.floats())
def test_whatever_is_given_is_a_number_in_the_range_or_is_refused_by_name(row, value):
    try:
        taken = row.check(value)
    except ValueError as error:
        refusal = str(error)
    else:
        assert row.range[0] <= taken <= row.range[1]
        return
    assert refusal.startswith(f"{row.name} is ")


def test_a_whole_input_takes_whole_numbers_alone():
    assert inputs()["horizon"].check(24) == 24
    with pytest.raises(ValueError, match=r"horizon is 24\.5, which is not whole; allowed is a whole number 1 to 60 month"):
        inputs()["horizon"].check(24.5)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("latency_saved", 120, "120 ms/step"),
        ("value_per_release_day", 250_000, "$250K/day"),
        ("critical_path_share", 0.8, "80 %"),
        ("discount_rate", 0.1, "10 %/year"),
        ("horizon", 1, "1 month"),
        ("gpu_price", 11.53, "$11.53/GPU-hour"),
        ("warm_start_minutes", 14 / 60, "0.2333 minutes/start"),
        ("latency_saved", -60, "-60 ms/step"),
        ("steps_per_run", 1_440_000, "1,440,000 steps/run"),
        ("releases_per_month", 0.6, "0.6 releases/month"),
        ("runs_per_release", 1, "1 run/release"),
        ("horizon", 18, "18 months"),
        ("delay", 0.5, "0.5 months"),
        ("gpus", 1, "1 GPU"),
        ("gpus", 64, "64 GPUs"),
        ("upfront_cost", 2_000_000, "$2.0M"),
        ("fixed_cost", 73, "$73/month"),
        ("storage_price", 0.02, "$0.02/GB-month"),
        ("vcpu_price", 0, "$0/vCPU-hour"),
        ("discount_rate", 0.125, "12.5 %/year"),
    ],
)
def test_a_value_shows_with_its_unit(name, value, shown):
    assert inputs()[name].show(value) == shown


@pytest.mark.parametrize(
    ("name", "low", "high", "shown"),
    [
        ("latency_saved", 40, 180, "40 to 180 ms/step"),
        ("latency_saved", -60, 1, "-60 to 1 ms/step"),
        ("value_per_release_day", 100_000, 400_000, "$100K to $400K/day"),
        ("upfront_cost", 1_700_000, 2_800_000, "$1.7M to $2.8M"),
        ("gpu_price", 8, 14, "$8 to $14/GPU-hour"),
        ("storage_price", 0.018, 0.026, "$0.018 to $0.026/GB-month"),
        ("critical_path_share", 0.5, 1, "50 to 100 %"),
        ("discount_rate", 0.08, 0.14, "8 to 14 %/year"),
        ("horizon", 12, 24, "12 to 24 months"),
        ("gpus", 1, 1, "1 to 1 GPU"),
        ("steps_per_run", 1_000_000, 1_900_000, "1,000,000 to 1,900,000 steps/run"),
    ],
)
def test_a_range_shows_its_unit_once(name, low, high, shown):
    assert inputs()[name].show_range(low, high) == shown


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("default: 120\n", "default: 200_000\n", "latency_saved: latency_saved is 200000 ms/step, which is out of range"),
        ("unit: ms/step\n", "unit: ms per step\n", "latency_saved: cannot read the unit 'ms per step'"),
        ("  label: Latency saved per step\n", "", "latency_saved: label is missing"),
        ("  main: 1\n", "  main: 1\n  mian: 1\n", "latency_saved: mian is not known here"),
        ("  less: a step saves less than\n", "", "needs the words `less` and `more`"),
        ("slider: [-60, 300, 5]", "slider: [300, -60, 5]", "does not fit into the range"),
        ("date: 2026-06-24, owner: platform team}", "date: soon, owner: platform team}", "latency_saved: source.date"),
        ("latency_saved:\n", "latency_saved: [\n", "cannot be read"),
        ("default: 120\n", "default: .nan\n", "latency_saved: default is nan; write a number"),
        ("default: 120\n", "default: 12%\n", "latency_saved: default is '12%'; write a number"),
        ("default: 120\n", "default: true\n", "latency_saved: default is True; write a number"),
        ("default: 120\n", "default: 120\n  default: 130\n", 'found duplicate key "default"'),
        (
            "default: 120\n",
            "default: !!python/object/apply:os.system [ls]\n",
            "cannot be read: could not determine a constructor",
        ),
        ("default: 18\n", "default: 18.5\n", "horizon: horizon is 18.5, which is not whole"),
        ("whole: true\n", "whole: perhaps\n", "horizon: whole is 'perhaps'; write true or false"),
        (
            "range: [-100_000, 100_000]",
            "range: [100_000, -100_000]",
            "latency_saved: latency_saved is 120 ms/step, which is out of range",
        ),
        ("range: [-100_000, 100_000]", "range: [100_000]", "latency_saved: range is [100000]; write a list of 2 numbers"),
        ("slider: [-60, 300, 5]", "slider: [-60, 300]", "latency_saved: slider is [-60, 300]; write a list of 3 numbers"),
        ("slider: [-60, 300, 5]", "slider: [-60, 300, 0]", "latency_saved: slider -60.0 to 300.0 by 0.0 does not fit"),
        ("slider: [-60, 300, 5]", "slider: [-60, 200_000, 5]", "latency_saved: slider -60.0 to 200000.0 by 5.0 does not fit"),
        ("spread: {low: 40, high: 180, ", "spread: {low: 40, ", "latency_saved: spread.high is missing"),
        ("  axis: site\n", "  axis: region\n", "share: axis is 'region'; write scalar or site"),
        ("  unit: ms/step\n", "  unit: 1\n", "latency_saved: unit is 1; write words"),
        ("date: 2026-06-24, owner: platform team}", "owner: platform team}", "latency_saved: source.date is missing"),
        ("date: 2026-06-24, owner: platform team}", "date: 2026-06-24}", "latency_saved: source.owner is missing"),
        ("source: {title:", "source: {link:", "latency_saved: source.title is missing"),
        ("  source: {title:", "  surce: {title:", "latency_saved: source is missing"),
    ],
)
def test_a_mistake_in_the_file_names_its_row(tmp_path, monkeypatch, good, bad, said):
    path = tmp_path / "inputs.yaml"
    text = INPUTS_FILE.read_text()
    assert good in text
    path.write_text(text.replace(good, bad, 1))
    monkeypatch.setattr(roi.inputs, "INPUTS_FILE", path)
    # What is in use stays as it is: the function behind the cache reads the file.
    with pytest.raises(InputError) as refused:
        inputs.__wrapped__()
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_every_row_with_a_mistake_is_named_in_one_go(tmp_path, monkeypatch):
    path = tmp_path / "inputs.yaml"
    text = (
        INPUTS_FILE.read_text().replace("default: 120\n", "default: 200_000\n", 1).replace("default: 18\n", "default: 18.5\n", 1)
    )
    path.write_text(text.replace("  label: Utilisation\n", "", 1))
    monkeypatch.setattr(roi.inputs, "INPUTS_FILE", path)
    with pytest.raises(InputError) as refused:
        inputs.__wrapped__()
    assert [str(problem).removeprefix(f"{path}: ").split(":")[0] for problem in refused.value.problems] == [
        "latency_saved",
        "horizon",
        "utilisation",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    path = tmp_path / "nowhere.yaml"
    monkeypatch.setattr(roi.inputs, "INPUTS_FILE", path)
    with pytest.raises(InputError, match="cannot be read") as refused:
        inputs.__wrapped__()
    assert str(refused.value).startswith(f"{path}: ")


def test_what_is_in_use_is_the_file_of_the_project():
    assert inputs() is inputs()
    assert inputs.__wrapped__() == inputs()
