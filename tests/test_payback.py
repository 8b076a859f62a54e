"""The payback model: an example worked by hand for each line, the answers of the design, laws, and what happens at the edges."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import payback
from roi.inputs import inputs, model
from roi.lines import lines_of
from roi.results import ZERO, Result, arrays
from tests.strategies import numbers, proposals

NEVER, UNDEFINED = math.inf, math.nan

# Arguments in the order of the function, then the answer; the arithmetic is beside it where it is more than one step.
EXAMPLES = {
    # 25 s every 500 steps is 50 ms a step
    "step_time_saved": [((120, 0, 1), 120), ((120, 25_000, 500), 70), ((0, 25_000, 1), -25_000)],
    "step_hours_saved": [((1_440_000, 120), 48)],  # 172,800,000 ms in 3,600,000 ms an hour
    "run_hours_saved": [((48, 2), 50)],
    "release_days_saved": [((48, 1, 0.8), 1.6), ((48, 1, 1), 2)],  # 48 h x 0.8 / 24 h
    "release_gain": [((1.6, 250_000), 400_000)],
    "runs_per_month": [((0.6, 2), 1.2)],
    "run_hours": [((1_440_000, 1_200, 120, 0), 480), ((1_440_000, 1_200, 120, 1), 432)],  # 1.2 s or 1.08 s x 1,440,000 / 3,600
    "training_gpu_hours": [((0.5, 64, 432, 0.6), 8_294.4)],  # 32 GPUs x 432 h x 0.6
    "start_minutes": [((0.25, 15, 14 / 60), 3.925)],  # 3.75 + 0.75 x 0.2333
    "startup_gpu_hours": [((1, 64, 0.6, 4, 3.925), 10.048)],  # 64 x 0.6 x 4 x 3.925 / 60
    "billed_gpu_hours": [((18_432, 0.6, 10.048), 30_730.048)],  # 30,720 + 10.048
    "gpu_cost": [((30_730.048, 11.53), 354_317.45344)],
    "orchestration_cost": [((13_829, 0.62), 8_573.98)],
    "vcpu_cost": [((100, 26, 0.03), 78)],
    "storage_cost": [((1_120, 5, 0.02), 112)],
    "sync_egress": [((14, 1_440_000, 500, 0.6), 24_192), ((0, 1_440_000, 1, 0.6), 0)],  # 14 GB x 2,880 times a run x 0.6 runs
    "egress_cost": [((50_000, 24_192, 0.05), 3_709.6)],  # 74,192 GB
    "site_bill": [((354_317.45344, 0, 0, 112, 0, 73, 20_000), 374_502.45344)],
    "is_baseline": [((0,), 1), ((1,), 0)],
    "baseline_site_bill": [((500, 1), 500), ((500, 0), 0)],
    "proposed_site_bill": [((500, 1), 500), ((500, 0), 0)],
    "baseline_bill": [(([500.0, 0.0, 300.0],), 800)],
    "proposed_bill": [(([0.0, 700.0, 200.0],), 900)],
    "bill_change": [((900, 800), 100)],
    "bill_increase": [((100,), 100), ((-100,), 0)],
    "bill_saving": [((100,), 0), ((-100,), 100)],
    "months_since_start": [((0, 0), 0), ((7, 0), 7), ((7, 6), 1), ((5, 6), -1)],
    # at once, and after six months of waiting, when month 7 is the first after the start
    "operating": [
        *(((0, 0, 18), 0), ((1, 1, 18), 1), ((18, 18, 18), 1), ((19, 19, 18), 0)),
        *(((-1, 5, 18), 0), ((0, 6, 18), 0), ((1, 7, 18), 1), ((12, 18, 18), 1), ((13, 19, 18), 0)),
    ],
    # delay 2, ramp 3: a third in month 3, two thirds in month 4, all from month 5; a ramp of 0 is full at once
    "adoption": [((2, 2, 3), 0), ((3, 2, 3), 1 / 3), ((5, 2, 3), 1), ((9, 2, 3), 1), ((1, 0, 0), 1), ((1, 0, 1), 1)],
    "release_benefit": [((400_000, 0.6, 1 / 3, 1), 80_000), ((400_000, 0.6, 1, 0), 0)],
    "saving_benefit": [((10_000, 0.5, 1, 1), 5_000), ((10_000, 0.5, 1, 0), 0)],
    "capacity_freed": [((10_000, 0.3, 1, 1), 7_000), ((10_000, 0.3, 0.5, 1), 3_500), ((10_000, 0.3, 1, 0), 0)],
    "running_cost": [((70_613, 1), 70_613), ((70_613, 0), 0)],
    # at once, after six months of waiting, in the last month, and beyond it
    "upfront": [
        *(((0, 0, 18, 2_000_000), 2_000_000), ((1, 1, 18, 2_000_000), 0)),
        *(((-1, 5, 18, 2_000_000), 0), ((0, 6, 18, 2_000_000), 2_000_000), ((0, 18, 18, 9), 9), ((0, 19, 18, 2_000_000), 0)),
    ],
    "benefit": [((80_000, 5_000), 85_000)],
    "cost": [((70_000, 2_000_000), 2_070_000)],
    "net_cash": [((85_000, 70_000), 15_000)],
    "cumulative": [(([-100.0, 30.0, 80.0],), [-100, -70, 10])],
    "discount_factor": [((0.1, 0), 1), ((0.1, 12), 1 / 1.1), ((0.21, 6), 1 / 1.1)],  # half a year: 1 / sqrt(1.21)
    "discounted": [((110, 1 / 1.1), 100)],
    "discounted_benefit": [((110, 1 / 1.1), 100)],
    "discounted_cost": [((110, 1 / 1.1), 100)],
    "release_benefit_total": [(([0.0, 80.0, 160.0],), 240)],
    "saving_benefit_total": [(([0.0, 80.0, 160.0],), 240)],
    "capacity_freed_total": [(([0.0, 80.0, 160.0],), 240)],
    "running_cost_total": [(([0.0, 80.0, 160.0],), 240)],
    "upfront_total": [(([100.0, 0.0, 0.0],), 100)],
    "net_gain": [(([-100.0, 30.0, 80.0],), 10)],
    "npv": [(([-100.0, 30.0, 80.0],), 10)],
    "pv_benefit": [(([0.0, 30.0, 80.0],), 110)],
    "pv_cost": [(([100.0, 10.0, 10.0],), 120)],
    "benefit_cost_ratio": [((150, 100), 1.5), ((150, 0), UNDEFINED)],
    "roi_net": [((50, 100), 0.5), ((50, 0), UNDEFINED)],
    "lowest_cumulative": [(([-100.0, -130.0, 20.0],), -130)],
    "peak_cash_out": [((-130,), 130), ((20,), 0)],
    # from -10 to 20 within month 3: a third of the way; still below zero; was above already
    "recovery_month": [((3, 20, 30), 2 + 1 / 3), ((3, -5, 30), NEVER), ((3, 50, 30), NEVER), ((3, 0, 30), 3)],
    "recovery_month_or_zero": [((2.5,), 2.5), ((NEVER,), 0)],
    "first_recovery": [(([NEVER, 2.5, 6.0],), 2.5), (([NEVER, NEVER],), NEVER)],
    "last_recovery": [(([0.0, 2.5, 6.0],), 6)],
    "payback_month": [((130, 2.5), 2.5), ((130, NEVER), NEVER), ((0, NEVER), 0)],
    "payback_sustained": [((130, 20, 6), 6), ((130, -20, 6), NEVER), ((0, 20, 0), 0)],
    "closing_cash": [((17, 18, 5), 0), ((18, 18, 10), 10), ((19, 18, 12), 0)],
    "closing_cash_total": [(([0.0, 0.0, 10.0],), 10)],
    "check_cumulative": [((10, 10), 0), ((11, 10), 1)],
    "check_parts": [((240, 10, 80, 100, 70), 0), ((240, 10, 80, 100, 60), 10)],
    "check_present_values": [((150, 100, 50), 0)],
    "check_bills": [((800, 100, 0, 900), 0), ((800, 0, 50, 750), 0)],
    "proposed_share": [((0.5, 1), 0.5), ((0.5, 0), 0)],
    "baseline_share": [((0.5, 1), 0.5), ((0.5, 0), 0)],
    "proposed_share_total": [(([0.5, 0.5],), 1)],
    "baseline_share_total": [(([0.5, 0.5],), 1)],
    "check_shares": [((1, 1), 0), ((1, 0.9), -0.1)],
    "baseline_sites": [(([1.0, 0.0, 0.0],), 1)],
    "proposed_sites": [(([0.0, 1.0, 1.0],), 2)],
    "flag_latency_above_step": [((1_300, 1_200), 1), ((1_200, 1_200), 0)],
    # one region to two may halve the step of 1,200 ms: 600 is linear, 601 is more; no faster step needs no reason
    "flag_speed_up_above_linear": [
        ((600, 1_200, 1, 2), 0),
        ((601, 1_200, 1, 2), 1),
        ((0, 1_200, 2, 1), 0),
        ((1, 1_200, 1, 1), 1),
    ],
    "flag_start_beyond_horizon": [((0, 18), 0), ((17, 18), 0), ((18, 18), 1), ((40, 18), 1)],
    "flag_high_utilisation": [((0.95,), 0), ((0.96,), 1)],
    "flag_high_storage_price": [((1,), 0), ((1.01,), 1)],
}

LINES = {each.name: each for each in lines_of(payback)}

ANSWERS = {
    *("net_gain", "npv", "benefit_cost_ratio", "roi_net", "peak_cash_out", "payback_month", "payback_sustained"),
    *("release_benefit_total", "saving_benefit_total", "capacity_freed_total", "running_cost_total", "upfront_total"),
    *("baseline_bill", "proposed_bill"),
}
"""What people read; every other line must feed one of these, a check or a flag."""

TWO_REGION = {
    "release_days_saved": 1.6,
    "baseline_bill": 354_502.4534,
    "proposed_bill": 425_114.9990,
    "net_gain": 328_974.1792,
    "npv": 121_733.3125,
    "pv_benefit": 3_301_385.0644,
    "pv_cost": 3_179_651.7518,
    "payback_month": 16.0579,
    "peak_cash_out": 2_141_225.0912,
}
PUBLISHED_CLAIM = {"release_days_saved": 2, "release_gain": 500_000, "npv": 3_011_793.9035, "payback_month": 6.6667}


# --- each line --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINES)
def test_the_line_gives_what_it_should_by_hand(name):
    assert EXAMPLES.get(name), f"{name} has no worked example"
    for arguments, expected in EXAMPLES[name]:
        given_arguments = [np.asarray(each, dtype=float) for each in arguments]
        with np.errstate(divide="ignore", invalid="ignore"):  # in the branch of a where that is thrown away
            found = LINES[name].function(*given_arguments)
        assert np.squeeze(found) == pytest.approx(np.asarray(expected, dtype=float), rel=1e-12, nan_ok=True), arguments


def test_no_example_is_of_a_line_that_is_gone():
    assert set(EXAMPLES) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_line_says_what_it_is_and_feeds_an_answer(name):
    line = LINES[name]
    assert line.label.strip() == line.label != ""
    feeds, grown = {name}, {name}
    while grown:
        grown = {each.name for each in LINES.values() if feeds & set(each.arguments)} - feeds
        feeds |= grown
    assert feeds & (ANSWERS | set(model().checks) | set(model().flags))


def test_labels_tell_lines_apart():
    labels = [line.label for line in LINES.values()]
    assert sorted(labels) == sorted(set(labels))


# --- the answers of the design ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "answers"), [("two-region", TWO_REGION), ("published-claim", PUBLISHED_CLAIM)])
def test_the_shipped_proposal_gives_the_answers_of_the_design(key, answers):
    result = roi.evaluate(roi.load(key))
    for name, answer in answers.items():
        assert result[name] == pytest.approx(answer, abs=6e-5), name  # as rounded in the design


def test_the_published_claim_is_exact():
    # 0.6 releases a month x 18 x 500,000 - 2,000,000
    assert roi.evaluate(roi.load("published-claim")).net_gain == 3_400_000


def test_raising_utilisation_costs_no_more_than_the_unused_hours_it_frees():
    # 18,432 training hours billed at 0.6 are 30,720, at 0.8 are 23,040: 7,680 fewer at 11.53 save 88,550.40 a month, of which
    # half is given back; adoption sums to 1/3 + 2/3 + 14 months = 15, less 150,000 upfront.
    result = roi.evaluate(roi.load("raise-utilisation"))
    assert result.bill_saving == pytest.approx(88_550.40)
    assert result.net_gain == pytest.approx(88_550.40 * 0.5 * 15 - 150_000)


# --- laws -------------------------------------------------------------------------------------------------------------------


def close(one, other, scale=1.0):
    return one == pytest.approx(other, rel=1e-9, abs=1e-9 * scale)


def size(result):
    """The largest sum of money that goes into the answers: what rounding is measured against."""
    return max(1.0, float(np.abs(result["cumulative"]).max()), result.pv_benefit, result.pv_cost, result.baseline_bill)


@given(proposals())
def test_every_check_is_zero_but_for_rounding(proposal):
    result = Result(proposal)
    for name in model().checks:
        assert abs(result[name]) <= max(ZERO, 1e-9 * size(result)), name


@given(proposals(), st.floats(0, 50))
def test_more_latency_saved_never_lowers_the_gain(proposal, more):
    now = roi.evaluate(proposal)
    then = roi.evaluate(proposal, latency_saved=now["latency_saved"] + more)
    assert then.net_gain >= now.net_gain - 1e-9 * max(size(now), size(then))


@given(proposals(), st.sampled_from(["value_per_release_day", "critical_path_share"]), st.data())
def test_a_more_valuable_release_day_never_lowers_the_gain_of_time_saved(proposal, name, data):
    low, high = sorted(data.draw(st.tuples(numbers(inputs()[name]), numbers(inputs()[name]))))
    saved = {"latency_saved": 50, "queue_hours_saved": 0, "sync_time": 0}
    less, more = (roi.evaluate(proposal, saved | {name: value}) for value in (low, high))
    assert more.net_gain >= less.net_gain - 1e-9 * size(more)


@given(proposals(), st.floats(0, 60_000), st.integers(1, 1_000))
def test_a_synchronisation_is_a_slower_step(proposal, milliseconds, steps):
    synchronised = roi.evaluate(proposal, {"sync_time": milliseconds, "steps_per_sync": steps, "latency_saved": 50})
    slower = roi.evaluate(proposal, {"sync_time": 0, "steps_per_sync": steps, "latency_saved": 50 - milliseconds / steps})
    assert close(synchronised.net_gain, slower.net_gain, size(slower) * 60)


@given(proposals(), st.floats(0, 1e6))
def test_a_dollar_more_upfront_is_a_dollar_less_gained(proposal, extra):
    now = roi.evaluate(proposal, upfront_cost=0, wait=0)
    then = roi.evaluate(proposal, upfront_cost=extra, wait=0)
    assert close(then.net_gain, now.net_gain - extra, size(now) + extra)
    assert close(then.npv, now.npv - extra, size(now) + extra)


@given(proposals(), st.integers(0, 30), st.integers(1, 30))
def test_waiting_is_the_same_project_later_and_cut_off_at_the_same_horizon(proposal, wait, months):
    now = roi.evaluate(proposal, wait=0, horizon=months)
    later = roi.evaluate(proposal, wait=wait, horizon=wait + months)
    assert later["cumulative"] == pytest.approx([0.0] * wait + now["cumulative"].tolist(), rel=1e-9, abs=1e-9 * size(now))
    # One discount rate for every month: all of it is worth less by the same factor.
    assert close(later.npv, now.npv * (1 + now["discount_rate"]) ** (-wait / 12), size(now))
    assert later.payback_month == pytest.approx(wait + now.payback_month if now.payback_month else 0, rel=1e-6)


@given(proposals(), st.integers(1, 59), st.data())
def test_a_start_beyond_the_horizon_is_nothing_at_all(proposal, horizon, data):
    result = roi.evaluate(proposal, horizon=horizon, wait=data.draw(st.integers(horizon + 1, 60)))
    assert (result.net_gain, result.npv, result.upfront_total, result.payback_month) == (0, 0, 0, 0)
    assert math.isnan(result.roi_net)


@given(proposals())
def test_nothing_saved_and_nothing_changed_is_nothing_gained(proposal):
    same = {f"proposed.{region}.{name}": value for region in proposal.sites["proposed"] for name, value in KEPT.items()}
    same |= {f"baseline.{region}.{name}": value for region in proposal.sites["baseline"] for name, value in KEPT.items()}
    nothing = roi.evaluate(proposal, same | {"latency_saved": 0, "sync_time": 0, "queue_hours_saved": 0, "upfront_cost": 0})
    assert abs(nothing.net_gain) <= 1e-9 * size(nothing) * 60
    assert nothing.release_benefit_total == 0


KEPT = {row.name: row.default for row in inputs().values() if row.axis == "site" and row.name != "share"}
PER_REGION = {"checkpoint_size": 0, "egress": 0, "egress_per_sync": 0, "fixed_cost": 0, "staff_cost": 0}
"""What counts per region, however small its share."""
KEPT |= PER_REGION


@given(proposals())
def test_a_thousand_times_the_prices_is_a_thousand_times_the_answer(proposal):
    priced = [row for row in inputs().values() if row.unit.startswith("USD")]
    given_now = arrays(proposal)
    now = model().evaluate(given_now)
    then = model().evaluate(given_now | {row.name: given_now[row.name] * 1000 for row in priced})
    scale = size(Result(proposal)) * 1000
    for name in ("net_gain", "npv", "peak_cash_out", "baseline_bill", "proposed_bill"):
        assert close(then[name][0, 0], now[name][0, 0] * 1000, scale), name


@given(st.lists(proposals(), min_size=2, max_size=4))
def test_many_draws_at_once_equal_each_alone(several):
    first = several[0]
    horizon = first.number("horizon")
    alone = [roi.evaluate(first, {name: each.number(name) for name in SCALARS} | {"horizon": horizon}) for each in several]
    together = arrays(first) | {name: np.array([[each.number(name)] for each in several]) for name in SCALARS}
    together |= {"horizon": np.array([[horizon]])}
    found = model().evaluate(together)
    for name, values in found.items():
        width = {"scalar": 1, "site": len(first.regions), "month": int(horizon) + 1}[model().axes[name]]
        assert values.shape in ((len(several), width), (1, width)), name
        for draw, result in enumerate(alone):
            assert values[draw if len(values) > 1 else 0] == pytest.approx(result.lines[name][0], rel=1e-12, nan_ok=True), name


SCALARS = [row.name for row in inputs().values() if row.axis == "scalar"]


@given(proposals())
def test_a_region_split_in_two_bills_the_same(proposal):
    fleet, region = proposal.regions[0]
    per_region = {f"{fleet}.{region}.{name}": 0 for name in PER_REGION}
    whole = proposal.with_values(per_region)
    parts = dict(whole.sites[fleet])
    site = parts.pop(region)
    half = msgspec.structs.replace(site["share"], base=site["share"].base / 2)
    parts |= {f"{region}-a": site | {"share": half}, f"{region}-b": site | {"share": half}}
    split = type(whole)(whole.key, whole.name, whole.owner, whole.decision, whole.inputs, whole.sites | {fleet: parts})
    assert close(Result(split).net_gain, Result(whole).net_gain, size(Result(whole)) * 60)


@given(proposals())
def test_payback_answers_belong_together(proposal):
    result = Result(proposal)
    assert result.payback_sustained >= result.payback_month
    if result.payback_month == 0:
        assert result.peak_cash_out == 0
    elif math.isfinite(result.payback_month):
        assert 0 < result.payback_month <= result["horizon"]
        month = math.ceil(result.payback_month)
        assert result["cumulative"][month] >= 0 > result["cumulative"][month - 1]
    else:
        assert (result["cumulative"][1:] < 0).all() or result["cumulative"][0] >= 0
    if result.net_gain < -1e-6 and result.peak_cash_out > 0:
        assert math.isinf(result.payback_sustained)


@given(proposals())
def test_without_discounting_the_present_value_is_the_net_gain(proposal):
    result = roi.evaluate(proposal, discount_rate=0)
    assert close(result.npv, result.net_gain, size(result))


# --- edges ------------------------------------------------------------------------------------------------------------------


def test_benefit_starts_after_the_delay_and_cost_does_not_wait():
    result = roi.evaluate(roi.load("two-region"))
    assert result["release_benefit"][:3].tolist() == [0, 0, 0]
    # 400,000 x 0.6 x 1/3 in month 3
    assert result["release_benefit"][3] == pytest.approx(80_000)
    assert result["running_cost"][0] == 0
    assert result["running_cost"][1] == pytest.approx(result.bill_increase)


def test_a_delay_as_long_as_the_horizon_leaves_only_cost():
    result = roi.evaluate(roi.load("two-region"), delay=18)
    assert result.release_benefit_total == 0
    assert result.payback_month == math.inf


def test_a_wait_of_six_months_leaves_twelve_months_of_benefit():
    result = roi.evaluate(roi.load("published-claim"), wait=6)
    # 12 x 0.6 x 500,000 - 2,000,000
    assert result.net_gain == 1_600_000
    # 300,000 at the end of each of months 7 to 18, and 2,000,000 in month 6, all discounted to today:
    # 300,000 x 10.869939 - 2,000,000 x 0.953463 = 1,354,056
    factor = 1.1 ** (-1 / 12)
    annuity = factor**7 * (1 - factor**12) / (1 - factor)
    assert result.npv == pytest.approx(300_000 * annuity - 2_000_000 * factor**6)
    assert (result["upfront"][5:8].tolist(), result["release_benefit"][5:8].tolist()) == ([0, 2e6, 0], [0, 0, 3e5])
    assert result.payback_month == pytest.approx(6 + 20 / 3)  # 2,000,000 / 300,000 a month after the start


def test_delay_ramp_and_running_cost_wait_too():
    result = roi.evaluate(roi.load("two-region"), wait=4)
    # the running cost from month 5; a third of 400,000 x 0.6 in month 4 + 3, all of it from month 4 + 5
    assert result["running_cost"][4] == 0
    assert result["running_cost"][5] == pytest.approx(result.bill_increase)
    assert result["release_benefit"][6:10].tolist() == pytest.approx([0, 80_000, 160_000, 240_000])


def test_a_slower_step_is_a_loss_and_not_an_error():
    result = roi.evaluate(roi.load("two-region"), latency_saved=-60)
    # -60 ms x 1.44M steps are -24 hours, x 0.8 / 24 = -0.8 days
    assert result.release_days_saved == pytest.approx(-0.8)
    assert result.release_benefit_total < 0
    assert result.net_gain < roi.evaluate(roi.load("two-region"), latency_saved=0).net_gain


def test_one_month_is_a_horizon():
    result = roi.evaluate(roi.load("published-claim"), horizon=1)
    # 0.6 x 500,000 - 2,000,000
    assert result.net_gain == pytest.approx(-1_700_000)
    assert len(result["cumulative"]) == 2


def test_nothing_spent_is_paid_back_at_once_and_has_no_ratio():
    result = roi.evaluate(roi.load("published-claim"), upfront_cost=0)
    assert (result.payback_month, result.payback_sustained, result.peak_cash_out) == (0, 0, 0)
    assert math.isnan(result.roi_net)
    assert math.isnan(result.benefit_cost_ratio)
