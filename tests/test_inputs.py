"""The inputs: complete, sourced, in range, and refused in words when they are not."""

import pytest

import roi.inputs
from roi import InputError
from roi.inputs import INPUTS_FILE, inputs, model
from roi.words import main_inputs

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
    "delay": ("month", 2),
    "ramp": ("month", 3),
    "discount_rate": ("1/year", 0.10),
    "upfront_cost": ("USD", 2_000_000),
    "gpus": ("gpu", 64),
    "saving_realised": ("1", 0.5),
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
        assert row.spread.low <= row.default <= row.spread.high
    assert any(name in line.arguments for line in model().lines.values())


def test_the_inputs_up_front_are_about_eight_and_each_can_say_what_would_have_to_be_true():
    assert 6 <= len(main_inputs()) <= 10
    for name in main_inputs():
        row = inputs()[name]
        assert row.less
        assert row.more
        assert row.spread


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
    ],
)
def test_a_value_shows_with_its_unit(name, value, shown):
    assert inputs()[name].show(value) == shown


def test_a_range_shows_its_unit_once():
    assert inputs()["latency_saved"].show_range(40, 180) == "40 to 180 ms/step"
    assert inputs()["value_per_release_day"].show_range(100_000, 400_000) == "$100K to $400K/day"


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
