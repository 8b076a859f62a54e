"""Amounts: how they are written for people, and how what people write is read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roi import amounts
from roi.amounts import boxed, exact_money, figures, money, parse_amount, plain, quantity, small_money, unit_words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.2M", 1_200_000),
        ("1.2m", 1_200_000),
        ("150k", 150_000),
        ("150 K", 150_000),
        ("$1,000", 1_000),
        ("1,234,567.5", 1_234_567.5),
        ("-$0.4M", -400_000),
        ("\u22125", -5),
        ("12%", 0.12),
        ("1e6", 1_000_000),
        ("250_000", 250_000),
        ("USD 3", 3),
        ("2bn", 2e9),
        (".5", 0.5),
        ("  7  ", 7),
        ("+7", 7),
    ],
)
def test_what_people_write_is_understood(text, value):
    assert parse_amount(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["", "lots", "1,5", "1.000,50", "1,00", "nan", "inf", "1e999", "$", "--1", "1 2", "12%%", "0x10", "1k5", "1,000,00", "٣"],
)
def test_what_is_no_amount_or_could_be_two_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a (finite )?number"):
        parse_amount(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "$0"),
        (-0.3, "$0"),
        (999.49, "$999"),
        (999.5, "$1K"),
        (328_974.18, "$329K"),
        (999_499, "$999K"),
        (999_500, "$1.0M"),
        (1_250_000, "$1.3M"),  # halves round away from zero
        (-400_000, "-$400K"),
        (-1_831_025, "-$1.8M"),
        (99_940_000, "$99.9M"),
        (99_950_000, "$100M"),
        (999_500_000, "$1.0B"),
        (1e12, "$1,000B"),
    ],
)
def test_money_has_about_three_figures(value, shown):
    assert money(value) == shown


def test_money_that_is_no_amount_is_an_error():
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not an amount"):
            money(value)


@given(st.floats(-9e11, 9e11))
def test_a_loss_reads_as_a_gain_with_a_minus_and_no_sum_is_long(value):
    assert len(money(value)) <= 7
    if money(value) != "$0":
        assert money(-abs(value)) == "-" + money(abs(value))


@given(st.floats(-1e12, 1e12))
def test_money_is_within_its_last_figure_of_the_amount(value):
    half = 500 if 999.5 <= abs(value) < 10_000 else 0.5  # thousands are whole
    assert parse_amount(money(value)) == pytest.approx(value, rel=0.051, abs=half)


@given(st.floats(-1e15, 1e15))
def test_what_a_box_shows_is_read_back(value):
    assert parse_amount(boxed(value)) == pytest.approx(value, rel=1e-11, abs=1e-19)
    assert parse_amount(plain(value)) == parse_amount(boxed(value))


@pytest.mark.parametrize(
    ("function", "value", "shown"),
    [
        (exact_money, 328_974.1792, "$328,974.18"),
        (exact_money, -0.001, "$0.00"),
        (plain, 1_200_000.0, "1200000"),
        (plain, 0.1 + 0.2, "0.3"),
        (plain, -0.0, "0"),
        (plain, 1e-7, "0.0000001"),
        (boxed, 1_440_000, "1,440,000"),
        (boxed, 14 / 60, "0.233333333333"),
        (boxed, -2_000_000.5, "-2,000,000.5"),
        (figures, 1_440_000, "1,440,000"),
        (figures, 14 / 60, "0.2333"),
        (figures, 16.0579, "16.06"),
        (figures, 0, "0"),
        (small_money, 11.53, "$11.53"),
        (small_money, 73, "$73"),
        (small_money, 0.005, "$0.005"),
        (small_money, -0.62, "-$0.62"),
        (small_money, 1e-10, "$0"),
    ],
)
def test_a_number_is_written(function, value, shown):
    assert function(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (120, "ms/step", "120 ms/step"),
        (1, "month", "1 month"),
        (18, "month", "18 months"),
        (math.inf, "month", "not within the horizon"),
        (math.nan, "1", "not defined"),
        (0.8, "%", "80 %"),
        (0.1, "%/year", "10 %/year"),
        (250_000, "USD/day", "$250K/day"),
        (11.53, "USD/(gpu*hour)", "$11.53/GPU-hour"),
        (30_730.05, "gpu*hour/month", "30,730 GPU-hours/month"),
        (1.6, "day/release", "1.6 days/release"),
        (5, "checkpoint", "5 checkpoints"),
        (26, "vcpu/gpu", "26 vCPUs/GPU"),
    ],
)
def test_a_quantity_has_its_unit(value, unit, shown):
    assert quantity(value, unit) == shown


def test_units_have_a_singular_and_a_plural():
    assert unit_words("gpu*hour/month") == ("GPU-hour/month", "GPU-hours/month")
    assert unit_words("1") == ("1", "1")


def test_halves_round_up():
    assert [amounts.half_up(value, 1) for value in (0.05, 0.15, 0.25)] == [0.1, 0.2, 0.3]
