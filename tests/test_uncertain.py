"""Uncertain facts: what a spread means, facts that move together, and refusals of what cannot be."""

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import InputError
from roi.distributions import Discrete, Empirical, Lognormal
from roi.proposals import provenance_flags
from roi.reading import parse
from roi.simulate import points, sample, simulate
from roi.uncertain import Correlation, correlation_problems, matrix, uncertain
from roi.values import plausible
from tests.test_reading import GOOD

DRAWS = 1 << 15


def with_lines(inputs="", correlations=""):
    """The good proposal with more inputs and with correlations."""
    return GOOD.replace("inputs:\n", f"inputs:\n{inputs}") + correlations


def read(inputs="", correlations=""):
    return parse(with_lines(inputs, correlations), "mine.yaml", "mine")


def refused(inputs="", correlations=""):
    with pytest.raises(InputError) as error:
        read(inputs, correlations)
    return [str(problem) for problem in error.value.problems]


def draws_of(proposal, count=DRAWS):
    facts = uncertain(proposal)
    drawn = sample(proposal, facts, points(len(facts), 1, 0, count))
    return {each.path: values for each, values in zip(facts, drawn, strict=True)}


# --- shapes that are set by values ------------------------------------------------------------------------------------------


def test_a_discrete_value_takes_each_of_its_values_as_often_as_its_weight_says():
    proposal = read("  delay: {base: 2, shape: discrete, values: [4, 1, 2], weights: [0.2, 0.5, 0.3]}\n")
    drawn = draws_of(proposal)["delay"]
    assert {float(value): float((drawn == value).mean()) for value in np.unique(drawn)} == pytest.approx(
        {1: 0.5, 2: 0.3, 4: 0.2}, abs=1e-3
    )


def test_measured_values_are_drawn_as_they_were_measured(tmp_path):
    # 0, 1, ..., 100 in a straight line between neighbours is uniform: P10 is 10, P90 is 90.
    (tmp_path / "steps.csv").write_text("step,latency_saved\n" + "".join(f"{n},{n}\n" for n in range(101)), encoding="utf-8")
    text = GOOD.replace("  latency_saved: 120", "  latency_saved: {base: 50, shape: empirical, file: steps.csv}")
    proposal = parse(text, str(tmp_path / "mine.yaml"), "mine")
    drawn = draws_of(proposal)["latency_saved"]
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx([10, 50, 90], abs=0.05)
    assert plausible(uncertain(proposal)[0].row, proposal.inputs["latency_saved"]) == pytest.approx((10, 90))


@pytest.mark.parametrize(
    "text", ["90\n100\n110\n120\n130\n", "latency_saved\n90\n100\n110\n120\n130\n", "\ufeff90\n100\n\n110\n120\n130"]
)
def test_a_file_of_one_number_a_line_is_read(tmp_path, text):
    (tmp_path / "m.txt").write_text(text, encoding="utf-8")
    changed = GOOD.replace("  latency_saved: 120", "  latency_saved: {base: 110, shape: empirical, file: m.txt}")
    assert parse(changed, str(tmp_path / "mine.yaml"), "mine").inputs["latency_saved"].values == (90, 100, 110, 120, 130)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "m.csv cannot be read: No such file or directory"),
        ("", "m.csv holds no measurements"),
        ("latency_saved\n", "m.csv holds no measurements"),
        ("a,b\n1,2\n", "m.csv has the columns a, b; name one of them latency_saved"),
        ("1,2\n3,4\n", "m.csv has several columns without names"),
        ("1\n2\n3\nNULL\n5\n6\n", "m.csv:4: latency_saved is the text 'NULL'; write a number alone"),
        ("1\n2\n3\n\n\n1e9\n", "m.csv:6: latency_saved is 1000000000 ms/step, which is out of range"),
        ("1\n2\n3\n", "an empirical spread has 3 values; measure at least 5"),
        ("latency\n1\n2\n3\n4\n5\n", "m.csv has the columns latency; name one of them latency_saved"),
        ("9O\n100\n110\n120\n130\n140\n", "m.csv has the columns 9O; name one of them latency_saved"),
        ("90\n100,500\n110\n120\n130\n", "m.csv:2: has 2 columns where 1 stand above; write numbers without commas"),
        ("step,latency_saved\n1\n", "m.csv:2: latency_saved is the text ''"),
    ],
)
def test_measurements_that_cannot_be_read_are_refused(tmp_path, content, said):
    if content is not None:
        (tmp_path / "m.csv").write_text(content, encoding="utf-8")
    text = GOOD.replace("  latency_saved: 120", "  latency_saved: {base: 50, shape: empirical, file: m.csv}")
    with pytest.raises(InputError) as error:
        parse(text, str(tmp_path / "mine.yaml"), "mine")
    assert said in str(error.value)


def test_measurements_in_a_folder_or_not_in_text_are_refused(tmp_path):
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for name, said in ((".", "Is a directory"), ("bytes.csv", "not text in UTF-8"), ("a\\0b", "cannot be read")):
        text = GOOD.replace("  latency_saved: 120", f'  latency_saved: {{base: 50, shape: empirical, file: "{name}"}}')
        with pytest.raises(InputError, match=said):
            parse(text, str(tmp_path / "mine.yaml"), "mine")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{base: 2, shape: blob, low: 1, high: 3}", "there is no shape 'blob'; write one of triangular, pert"),
        ("{base: 2, shape: lognorml, low: 1, high: 3}", "did you mean lognormal?"),
        ("{base: 2, shape: lognormal, low: 0, high: 3}", "a lognormal spread starts at 0; it must start above 0"),
        ("{base: 2, low: 3, high: 4}", "low 3, base 2, high 4, which are out of order"),
        ("{base: 2, low: 1}", "delay has low alone; write low and high, or neither"),
        ("{base: 2, low: 1, high: 3, covers: 1.2}", "covers"),
        ("{base: 2, low: 1, high: 3, covers: 0}", "covers"),
        ("{base: 2, shape: pert}", "has shape without low and high, which would say nothing"),
        ("{base: 2, covers: 0.9}", "has covers without low and high, which would say nothing"),
        ("{base: 2, shape: discrete}", "a spread that is discrete has no values; write values: [...], weights: [0.6, 0.4]"),
        ("{base: 2, shape: empirical}", "a spread that is empirical has no values; write values: [...], or file: measured.csv"),
        ("{base: 2, values: [1, 2]}", "delay has values; write shape: empirical beside them, or shape: discrete"),
        ("{base: 2, low: 1, high: 3, weights: [1]}", "delay has weights; write shape: discrete beside them"),
        ("{base: 2, shape: empirical, values: [1, 2, 3, 4, 5], weights: [1]}", "delay has weights; write shape: discrete"),
        ("{base: 2, shape: discrete, low: 1, high: 3, values: [1, 2], weights: [0.5, 0.5]}", "follow from its values"),
        ("{base: 2, shape: discrete, covers: 0.8, values: [1, 2], weights: [0.5, 0.5]}", "follow from its values"),
        ("{base: 2, shape: discrete, values: [1, 2], weights: [0.5, 0.6]}", "sum to 1.1; they are shares from 0 that sum to 1"),
        ("{base: 2, shape: discrete, values: [1, 1], weights: [0.5, 0.5]}", "gives a value twice; add their weights up"),
        ("{base: 2, shape: discrete, values: [1, 2], weights: [1]}", "has 2 values and 1 weights"),
        ("{base: 2, shape: discrete, values: [2], weights: [1]}", "has 1 values and 1 weights; write two or more of each"),
        ("{base: 2, shape: discrete, values: [1, 99], weights: [0.5, 0.5]}", "delay is 99 month, which is out of range"),
        ("{base: 2, shape: discrete, values: [1, x], weights: [0.5, 0.5]}", "delay is the text 'x'"),
        ("{base: 2, shape: discrete, values: [1, 3], weights: [0.5, -0.5]}", "-0.5 is not a share; write a number from 0 to 1"),
        ("{base: 2, shape: discrete, values: 3, weights: [1]}", "values is 3; write a list such as [90, 120, 150]"),
        ("{base: 2, shape: empirical, values: [1, 2, 3]}", "an empirical spread has 3 values; measure at least 5"),
        ("{base: 2, shape: empirical, values: [1], file: x.csv}", "delay has values and file; keep one of the two"),
        ("{base: 2, shape: empirical, file: 3}", "file is 3; write the path of a file"),
    ],
)
def test_a_spread_that_cannot_be_is_refused_with_its_line(written, said):
    problems = refused(f"  delay: {written}\n")
    assert len(problems) == 1
    assert problems[0].startswith("mine.yaml:5: ")
    assert said in problems[0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=30))
def test_an_empirical_spread_stays_within_what_was_measured(values):
    found = Empirical.of(tuple(values)).quantile(np.linspace(0, 1, 50))
    assert found.min() >= min(values)
    assert found.max() <= max(values)
    assert (np.diff(found) >= 0).all()


def test_a_discrete_spread_has_all_of_its_values_at_the_ends():
    assert Discrete.of((2, 1), (0.25, 0.75)).quantile(np.array([0, 0.74, 0.76, 1])).tolist() == [1, 1, 2, 2]


def test_a_range_that_covers_more_than_8_in_10_is_shown_as_what_8_in_10_lie_between():
    # Normal with 95 % between 0 and 2 x 1.959964: a mean of 1.959964 and a deviation of 1, so P10 is 1.959964 - 1.281552.
    value = read("  delay: {base: 2, low: 0, high: 3.919928, covers: 0.95, shape: normal}\n").inputs["delay"]
    assert plausible(roi.inputs.inputs()["delay"], value) == pytest.approx((0.678412, 3.241516), rel=1e-5)


# --- facts that move together -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coefficient", "answer"), [(0.5, 1.13314845), (0, 1), (-0.5, 0.88249690)])
def test_the_product_of_two_lognormal_facts(coefficient, answer):
    # E[XY] / (E[X] E[Y]) = exp(rho s1 s2) with both log-deviations 0.5: exp(0.125), exp(0), exp(-0.125)
    spread = Lognormal(0.0, 0.5)
    low, high = (float(value) for value in spread.quantile(np.array([0.1, 0.9])))
    lines = "".join(
        f"  {name}: {{base: {scale}, low: {scale * low!r}, high: {scale * high!r}, shape: lognormal}}\n"
        for name, scale in (("steps_per_run", 1e6), ("step_time", 1e3))
    )
    pair = f"correlations:\n  - {{between: [steps_per_run, step_time], coefficient: {coefficient}}}\n"
    drawn = draws_of(read(lines, pair), 1 << 17)
    first, second = drawn["steps_per_run"], drawn["step_time"]
    # 131,072 draws; the deviation of the ratio over independent draws would be 0.4 %, over a Sobol sequence it is less
    assert (first * second).mean() / first.mean() / second.mean() == pytest.approx(answer, rel=0.004)


def test_correlated_facts_keep_their_own_distributions_and_leave_the_others_alone():
    pair = "correlations:\n  - {between: [value_per_release_day, default.utilisation], coefficient: -0.7}\n"
    apart, together = draws_of(read()), draws_of(read(correlations=pair))
    assert list(apart) == list(together)
    for path, drawn in together.items():
        changed = path == "default.utilisation"
        assert np.allclose(drawn, apart[path]) != changed
        assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(apart[path], [0.1, 0.5, 0.9]), rel=2e-3, abs=1e-9)
    scores = np.argsort(np.argsort(together["value_per_release_day"])), np.argsort(np.argsort(together["default.utilisation"]))
    # Spearman's coefficient of a Gaussian copula: 6 / pi asin(rho / 2)
    assert np.corrcoef(*scores)[0, 1] == pytest.approx(6 / math.pi * math.asin(-0.35), abs=0.005)


def test_facts_that_move_together_widen_the_outcomes():
    pair = "correlations:\n  - {between: [value_per_release_day, releases_per_month], coefficient: 0.9}\n"
    apart, together = simulate(read()), simulate(read(correlations=pair))
    assert together.p90 - together.p10 > apart.p90 - apart.p10
    assert together.input_hash != apart.input_hash


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ("correlations: 3\n", 13, "correlations is 3; write one line for each pair"),
        ("correlations:\n  - 0.5\n", 14, "0.5 is not a pair; write - {between:"),
        ("correlations:\n  - {coefficient: 0.5}\n", 14, "between names two uncertain facts"),
        ("correlations:\n  - {between: [delay], coefficient: 0.5}\n", 14, "between names two uncertain facts"),
        ("correlations:\n  - {between: [delay, ramp]}\n", 14, "coefficient is None; write a number above -1 and below 1"),
        ("correlations:\n  - {between: [delay, ramp], coefficient: 1}\n", 14, "coefficient is 1; write a number above -1"),
        ("correlations:\n  - {between: [delay, ramp], coefficient: yes}\n", 14, "coefficient is"),
        ("correlations:\n  - {between: [delay, ramp], coeficient: 0.5}\n", 14, "'coeficient' is not known in a correlation"),
        ("correlations:\n  - {between: [delay, ramp], coefficient: 0.5, source: 3}\n", 14, "source is 3; write it as words"),
        (
            "correlations:\n  - {between: [delai, ramp], coefficient: 0.5}\n",
            14,
            "'delai' is not an uncertain fact of this proposal; did",
        ),
        ("correlations:\n  - {between: [horizon, ramp], coefficient: 0.5}\n", 14, "'horizon' is not an uncertain fact"),
        (
            "correlations:\n  - {between: [latency_saved, ramp], coefficient: 0.5}\n",
            14,
            "'latency_saved' is not an uncertain fact",
        ),
        (
            "correlations:\n  - {between: [ramp, ramp], coefficient: 0.5}\n",
            14,
            "'ramp' is correlated with itself; name two facts",
        ),
        (
            "correlations:\n  - {between: [ramp, delay], coefficient: 0.5}\n  - {between: [delay, ramp], coefficient: 0.4}\n",
            15,
            "delay and ramp are given twice; keep one of the two",
        ),
        (
            # With 0.9 and 0.5 the third lies between 0.45 - 0.3775 and 0.45 + 0.3775: 0.9 0.5 +- sqrt((1 - 0.81) (1 - 0.25)),
            # which the first, at 0.9, misses by least.
            "correlations:\n  - {between: [ramp, delay], coefficient: 0.9}\n  - {between: [delay, gpus], coefficient: 0.9}\n"
            "  - {between: [ramp, gpus], coefficient: 0.5}\n",
            14,
            "ramp and delay: 0.9 cannot be together with the other correlations (their matrix is not positive definite); "
            "write 0.073 to 0.827",
        ),
    ],
)
def test_a_correlation_that_cannot_be_is_refused_with_its_line(lines, line, said):
    problems = refused(correlations=lines)
    assert all(problem.startswith(f"mine.yaml:{line}: ") for problem in problems)
    assert any(said in problem for problem in problems)


def test_mistakes_elsewhere_hide_none_of_a_correlation_or_a_pilot():
    lines = (
        "correlations:\n  - {between: [delay, ramp], coefficient: 1.4}\npilot: {month: 2, cost: 90K, measures: latency_saved}\n"
    )
    problems = refused("  delay: 12%\n", lines)
    for said in (
        "delay is the text '12%'",
        "coefficient is 1.4",
        "'month' is not known in a pilot",
        "90K",
        "measures is 'latency_saved'",
    ):
        assert any(said in problem for problem in problems), (said, problems)
    # Which facts there are is not known while an input is refused, so none of them is called unknown.
    pair = "correlations:\n  - {between: [delay, ramp], coefficient: 0.4}\n"
    assert len(refused("  delay: 12%\n", pair)) == 1


def test_a_base_that_its_own_values_do_not_reach_is_flagged():
    flags = provenance_flags(
        read("  delay: {base: 9, shape: discrete, values: [1, 2], weights: [0.5, 0.5]}\n"), date(2026, 12, 1)
    )
    said = "the headline takes 9 months, but its own values are 1 to 2 months; the odds follow the values."
    assert f"Months before any benefit: {said}" in flags
    good = provenance_flags(read("  delay: {base: 2, shape: discrete, values: [1, 2], weights: [0.5, 0.5]}\n"), date(2026, 12, 1))
    assert not any("its own values" in flag for flag in good)


@pytest.mark.parametrize("spread", ["low: 0.1, high: 0.9", "shape: discrete, values: [0.4, 0.6], weights: [0.5, 0.5]"])
def test_a_share_is_not_uncertain_alone(spread):
    with pytest.raises(InputError, match="the shares of a fleet sum to 1 and none is uncertain alone; write base alone"):
        parse(GOOD.replace("{share: 0.5, gpu_price: 14.69}", f"{{share: {{base: 0.5, {spread}}}}}"), "mine.yaml", "mine")


def test_a_range_of_what_the_reader_chooses_is_said_to_be_idle():
    flags = provenance_flags(read("  horizon: {base: 18, low: 12, high: 24}\n"), date(2026, 12, 1))
    assert "Horizon: has a range, but it is chosen and not drawn; the odds leave it as it is." in flags


def test_correlations_that_no_one_value_mends_are_all_to_be_weaker():
    paths = [f"x{n}" for n in range(6)]
    every = [Correlation((a, b), -0.9) for at, a in enumerate(paths) for b in paths[at + 1 :]]
    (_, message), *more = correlation_problems(every, paths)
    assert not more
    assert "make all of them weaker" in message


@given(st.lists(st.floats(-0.95, 0.95), min_size=3, max_size=3))
def test_what_is_accepted_can_be_drawn_and_what_is_refused_says_what_can_be(coefficients):
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    given_ = [Correlation(pair, value) for pair, value in zip(pairs, coefficients, strict=True)]
    problems = correlation_problems(given_, ["a", "b", "c"])
    lowest = np.linalg.eigvalsh(matrix(given_, ["a", "b", "c"]))[0]
    assert bool(problems) == bool(lowest <= 1e-9)
    if not problems:
        np.linalg.cholesky(matrix(given_, ["a", "b", "c"]))
