"""The words of a result: each sentence of the verdict where it belongs."""

import pytest

import roi
from roi import words

CASES = [
    (
        "two-region",
        {},
        "Pays back in month 16. Net gain $329K over 18 months. It stops paying back if a release day is worth less than $227K.",
    ),
    ("two-region", {"latency_saved": 90}, "Does not pay back within 18 months. Net gain -$761K. It would pay back if"),
    ("published-claim", {"upfront_cost": 0}, "No money is ever out of pocket. Net gain $5.4M over 18 months."),
    ("published-claim", {"upfront_cost": 0, "latency_saved": 0}, "Saves nothing and costs nothing. Net gain $0 over 18 months."),
    ("raise-utilisation", {}, "It stops paying back if the upfront cost is more than $664K."),
    ("published-claim", {"horizon": 1}, "Does not pay back within 1 month."),
]


@pytest.mark.parametrize(("key", "changes", "said"), CASES)
def test_the_verdict_says_whether_when_how_much_and_what_would_change_it(key, changes, said):
    assert said in words.verdict(roi.evaluate(roi.load(key), changes))


def test_an_answer_that_no_single_input_flips_is_firm():
    # One step a run saves no time at any latency, and the queue grows: every release is later, whatever else is true.
    hopeless = roi.evaluate(roi.load("published-claim"), steps_per_run=1, queue_hours_saved=-10)
    assert words.verdict(hopeless).endswith(" No value of a single main input, within its range, changes that.")


def test_payback_and_ratios_have_words_where_they_have_no_number():
    result = roi.evaluate(roi.load("two-region"), latency_saved=0)
    assert words.show_line(result, "payback_month") == "not within 18 months"
    free = roi.evaluate(roi.load("published-claim"), upfront_cost=0)
    assert words.show_line(free, "payback_month") == "at once"
    assert words.show_line(free, "roi_net") == "not defined"
    assert words.show_line(roi.evaluate(roi.load("two-region")), "payback_month") == "month 16.1"


@pytest.mark.parametrize(
    ("key", "changes", "said"),
    [
        ("two-region", {}, "Comes back to zero in month 16.1, and stays there."),
        ("two-region", {"latency_saved": 90}, "Does not come back to zero within 18 months."),
        ("published-claim", {"upfront_cost": 0}, "No money is ever out of pocket."),
    ],
)
def test_when_the_money_comes_back(key, changes, said):
    assert words.returns_sentence(roi.evaluate(roi.load(key), changes)) == said


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("value_per_release_day", 227_154.57, "below $227K/day"),
        ("upfront_cost", 2_328_974, "above $2.3M"),
        ("horizon", 17, "below 17 months"),
        ("horizon", 20, "from 20 months"),
        ("gpus", None, "no allowed value"),
    ],
)
def test_where_the_answer_flips(name, value, shown):
    result = roi.evaluate(roi.load("two-region"))
    assert words.flips(result, name, value) == shown
    said = "no allowed value flips the answer" if value is None else f"flips {shown}"
    assert words.decides(result, name, value) == f"{roi.inputs.inputs()[name].show(result[name])}, {said}"


def test_the_inputs_up_front_start_with_the_time_saved():
    assert words.main_inputs()[:2] == ["latency_saved", "value_per_release_day"]
    assert sorted(words.asked()) == sorted(words.main_inputs())
