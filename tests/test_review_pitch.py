"""The pitch to a board: each line of the runway by hand, laws of cash that runs out, the cost curve, and the page."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi import runway
from roi.__main__ import main
from roi.inputs import ROOT, model
from roi.lines import lines_of
from roi.results import Result, arrays
from roi.review.pitch import GPU_COUNTS, as_data, cost_answer, cost_table, notes, pitch, runway_answer, runway_table
from roi.review.pitch_view import section
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.strategies import proposals

NEVER, UNDEFINED = math.inf, math.nan

# Arguments in the order of the function, then the answer.
EXAMPLES = {
    "change_without": [((0, 18, 150_000), 0), ((1, 18, 150_000), -150_000), ((18, 18, 9), -9), ((19, 18, 150_000), 0)],
    "change_without_so_far": [(([0.0, -150.0, -150.0],), [0, -150, -300])],
    "cash_without": [((3_000_000, -300_000), 2_700_000)],
    "change_with": [((-150_000, 240_000), 90_000)],
    "cash_with": [((2_700_000, -2_000_000), 700_000)],
    # 50 left, less 150 within month 4: a third of the way; below zero already; just at zero; all gone with the end of month 3
    "out_of_cash_without": [
        *(
            ((4, -100, -150), 3 + 1 / 3),
            ((5, -250, -150), 4),
            ((3, 0, -150), NEVER),
            ((4, -150, -150), 3),
            ((4, 50, -150), NEVER),
        ),
    ],
    # the upfront cost is paid at once; below zero and rising again
    "out_of_cash_with": [((0, -500, -2_000), 0), ((7, -20, 80), 6), ((1, -60, -80), 0.25), ((1, 20, -80), NEVER)],
    "runway_without": [((100, [NEVER, 2.5, 3.0]), 2.5), ((100, [NEVER, NEVER]), NEVER), ((0, [NEVER, 0.0]), UNDEFINED)],
    "runway_with": [((100, [0.0, 0.0, 1.0]), 0), ((0, [NEVER, 0.0]), UNDEFINED)],
    "lowest_cash_without": [((100, [100.0, 40.0, -20.0]), -20), ((0, [0.0, -60.0]), UNDEFINED)],
    "lowest_cash_with": [((100, [-80.0, -90.0, 20.0]), -90), ((0, [0.0, -60.0]), UNDEFINED)],
}
LINES = {each.name: each for each in lines_of(runway)}


def test_every_line_has_an_example_and_no_example_is_of_a_line_that_is_gone():
    assert set(EXAMPLES) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_line_gives_what_it_should_by_hand(name):
    for arguments, answer in EXAMPLES[name]:
        with np.errstate(divide="ignore", invalid="ignore"):  # in the branch of a where that is thrown away
            found = LINES[name].function(*(np.asarray(each, dtype=float) for each in arguments))
        assert np.squeeze(found) == pytest.approx(np.asarray(answer, dtype=float), rel=1e-12, nan_ok=True), arguments


# --- cash that runs out, by hand --------------------------------------------------------------------------------------------

# The published claim gains 500,000 x 0.6 a month from month 1 on; here for 1,000,000 upfront. In USD: cash, burn a month, the
# runway without and with it, and the lowest cash without and with it, the last of them in month 18 but where it rises.
BY_HAND = {
    # 1,250,000 / 400,000; then 250,000 are left and fall by 100,000 a month
    "both run out": (1_250_000, 400_000, 3.125, 2.5, -5_950_000, -1_550_000),
    # 1,250,000 / 60,000 is month 20.8, beyond the horizon of 18; with it 250,000 are left and rise
    "neither does": (1_250_000, 60_000, NEVER, NEVER, 170_000, 250_000),
    # 3,000,000 / 150,000 is month 20
    "month 20 is beyond the horizon": (3_000_000, 150_000, NEVER, NEVER, 300_000, 2_000_000),
    # 2,700,000 / 150,000: zero in the last month, and not below
    "just enough": (2_700_000, 150_000, NEVER, NEVER, 0, 1_700_000),
    # 1,500,000 / 100,000; with it cash rises by 200,000 a month from 500,000
    "the deployment pays for more months": (1_500_000, 100_000, 15, NEVER, -300_000, 500_000),
    # 100,000 less than the upfront cost, then 200,000 more a month
    "not over the start": (900_000, 100_000, 9, 0, -900_000, -100_000),
    "no burn": (1_200_000, 0, NEVER, NEVER, 1_200_000, 200_000),
    # more income than spending: 300,000 a month, so month 0 is the lowest
    "income": (1_200_000, -300_000, NEVER, NEVER, 1_200_000, 200_000),
}


def with_cash(cash: float, burn: float, **more: float) -> Result:
    return roi.evaluate(roi.load("published-claim"), cash_at_hand=cash, burn=burn, **({"upfront_cost": 1_000_000} | more))


@pytest.mark.parametrize("case", BY_HAND)
def test_the_runway_is_what_it_is_by_hand(case):
    cash, burn, without, with_it, lowest, lowest_with = BY_HAND[case]
    result = with_cash(cash, burn)
    assert (result.runway_without, result.runway_with) == (pytest.approx(without), pytest.approx(with_it))
    assert (result.lowest_cash_without, result.lowest_cash_with) == (pytest.approx(lowest), pytest.approx(lowest_with))


def test_a_later_start_pays_later():
    # 300,000 a month from 1,250,000: 50,000 at the end of month 4, when 1,000,000 are paid. Of the 1,300,000 that leave within
    # month 4 the 350,000 that were left at its beginning are 0.2692.
    result = with_cash(1_250_000, 300_000, wait=4)
    assert result.runway_with == pytest.approx(3 + 350_000 / 1_300_000)
    assert result.runway_without == pytest.approx(1_250_000 / 300_000)


def test_without_cash_at_hand_there_is_no_runway():
    result = with_cash(0, 150_000)
    for name in ("runway_without", "runway_with", "lowest_cash_without", "lowest_cash_with"):
        assert math.isnan(result[name])


# --- laws -------------------------------------------------------------------------------------------------------------------

CASH, BURN = st.floats(1e3, 1e8), st.floats(-1e6, 1e7)


@given(proposals(), CASH, BURN, st.sampled_from(["without", "with"]))
def test_cash_is_zero_where_it_runs_out_and_not_below_before(proposal, cash, burn, side):
    result = roi.evaluate(proposal, cash_at_hand=cash, burn=burn)
    balance, month = result[f"cash_{side}"], result[f"runway_{side}"]
    rounding = 1e-9 * max(cash, np.abs(balance).max(), np.abs(result["cumulative"]).max())
    before = balance[result["month"] < month] if month < NEVER else balance
    assert (before >= -rounding).all()
    if 0 < month < NEVER:
        assert np.interp(month, result["month"], balance) == pytest.approx(0, abs=rounding + 1e-6)
    if month < NEVER:
        assert balance.min() < 0


@given(proposals(), CASH, CASH, BURN)
def test_more_cash_never_lasts_shorter(proposal, cash, more, burn):
    less, longer = (roi.evaluate(proposal, cash_at_hand=each, burn=burn) for each in (cash, cash + more))
    assert longer.runway_with >= less.runway_with
    assert longer.runway_without >= less.runway_without


@given(proposals(), CASH, BURN)
def test_months_beyond_the_horizon_change_nothing(proposal, cash, burn):
    # A spreadsheet always has 61 columns of months.
    result = roi.evaluate(proposal, cash_at_hand=cash, burn=burn)
    longer = model().evaluate(arrays(result.proposal) | {"month": np.arange(61.0)[np.newaxis]})
    for name in ("runway_without", "runway_with", "lowest_cash_without", "lowest_cash_with"):
        assert longer[name][0, 0] == result[name], name


@given(proposals(), CASH, st.floats(1, 1e7))
def test_a_deployment_that_starts_beyond_the_horizon_changes_no_runway(proposal, cash, burn):
    result = roi.evaluate(proposal, cash_at_hand=cash, burn=burn, horizon=12, wait=13)
    assert result.runway_with == pytest.approx(result.runway_without)


# --- the cost curve ---------------------------------------------------------------------------------------------------------


def test_the_curve_is_the_bill_at_each_number_of_gpus():
    found = pitch(Result(roi.load("two-region")))
    assert [each.gpus for each in found.curve] == list(GPU_COUNTS)  # 64, its own, is among them
    # 354,317.45344 for 64 GPUs, and storage of 112 and fees of 73 for none
    for each in found.curve:
        assert each.baseline_bill == pytest.approx(354_317.45344 * each.gpus / 64 + 185)
        assert each.bill_change == pytest.approx(each.proposed_bill - each.baseline_bill)
    assert found.own.proposed_bill == pytest.approx(425_114.999)


@pytest.mark.parametrize(("gpus", "place"), [(4, 0), (40, 4), (500, 8)])
def test_the_curve_has_the_proposals_own_gpus(gpus, place):
    found = pitch(roi.evaluate(roi.load("two-region"), gpus=gpus))
    assert [each.gpus for each in found.curve].index(gpus) == place
    assert found.own.proposed_bill == found.result.proposed_bill
    assert cost_answer(found).startswith(f"{gpus} GPUs as proposed cost ")


def test_the_answer_on_cost_says_what_a_gpu_more_adds():
    # The proposed bill is 379,745 for 64 GPUs, with their orchestration, and 45,370 for none: staff, egress, storage, fees.
    found = pitch(Result(roi.load("two-region")))
    assert cost_answer(found) == (
        "64 GPUs as proposed cost $425K a month, against $355K in the baseline. Each GPU more adds $5,933.52 a month; 128 GPUs "
        "would cost $805K."
    )
    assert (found.own.proposed_bill - 45_370) / 64 == pytest.approx(5_933.52, abs=0.005)
    # 354,317.45344 x 8 / 64 + 185 is 44,474.68, and 45,370 + 8 x 5,933.52 is 92,838; 92,838 - 44,475 = 48,363
    assert cost_table(found).rows[0] == ("8 GPUs", "$44,475", "$92,838", "$48,363")
    assert cost_answer(pitch(roi.evaluate(found.result.proposal, gpus=128))).endswith("8 GPUs would cost $93K.")
    assert cost_answer(pitch(roi.evaluate(found.result.proposal, gpus=1))).startswith("1 GPU as proposed costs $")


@given(proposals())
def test_the_change_is_what_is_printed_less_what_is_printed(proposal):
    for _, *cells in cost_table(pitch(Result(proposal))).rows:
        assert all(re.fullmatch(r"-?\$\d{1,3}(,\d{3})*", cell) for cell in cells)
        baseline, proposed, change = (int(re.sub(r"[$,]", "", cell)) for cell in cells)
        assert proposed - baseline == change


def test_what_is_held_is_said():
    said = " ".join(notes(pitch(Result(roi.load("two-region")))))
    assert (
        "so the bill is a straight line. That more GPUs make a run shorter is not claimed; `roi scaling` is about that." in said
    )
    assert "Storage price $0.02/GB-month (Google Cloud Storage" in said


# --- what it says of the runway ---------------------------------------------------------------------------------------------


def test_without_cash_it_says_how_to_give_it_and_shows_no_runway():
    found = pitch(Result(roi.load("two-region")))
    assert runway_table(found) is None
    assert "Write `cash_at_hand` (in USD) and `burn` (in USD a month" in runway_answer(found)
    assert not re.search(r"\d", runway_answer(found))
    assert as_data(found)["runway"] is None
    assert section(found.result).count("<svg") == 1
    assert "Cash by month" not in section(found.result)
    assert "burn is $150K/month, but without `cash_at_hand`" in notes(pitch(with_cash(0, 150_000)))[1]


def test_the_answer_on_the_runway():
    # If no gain came in: 250,000 are left after the start, 400,000 a month of burn, and 35,420 less to bill of which nothing is
    # given back: 0.625 months.
    assert runway_answer(pitch(with_cash(1_250_000, 400_000))) == (
        "Cash of $1.3M lasts to month 3.1 without the deployment; with it, to month 2.5, or to month 0.6 if none of the release "
        "gain comes in as cash. At the worst the deployment needs $1.0M more than doing nothing; the lowest cash is -$1.6M with "
        "it, -$6.0M without."
    )
    assert "with it, beyond 18 months, or to month 4.2 if none" in runway_answer(pitch(with_cash(1_250_000, 60_000)))  # 250 / 60
    assert "to month 9.0 without the deployment; with it, not even over the start, also if none" in runway_answer(
        pitch(with_cash(900_000, 100_000))
    )
    assert "burn is 0, so that" in " ".join(notes(pitch(with_cash(1_200_000, 0))))


def test_the_table_of_the_runway():
    assert runway_table(pitch(with_cash(1_500_000, 100_000))).rows == (
        ("Without the deployment", "to month 15.0", "-$300K", "-$300K"),
        ("With it", "beyond 18 months", "$500K", "$4.1M"),  # 500,000 + 18 x 200,000
        ("With it, no release gain as cash", "to month 5.0", "-$1.3M", "-$1.3M"),  # 500,000 / 100,000; - 1,300,000
    )


# --- the command and the page -----------------------------------------------------------------------------------------------


@pytest.fixture
def given_cash(tmp_path):
    """A proposal that gives its cash, and whose cash runs out with the deployment and without it."""
    text = (ROOT / "data" / "proposals" / "two-region.yaml").read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("inputs:\n", "inputs:\n  cash_at_hand: 2_500_000\n  burn: 150_000\n", 1))
    return path


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["roi", "pitch", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


def test_the_command_prints_both_answers_and_both_tables(monkeypatch, capsys, given_cash):
    code, out, said = run(monkeypatch, capsys, str(given_cash))
    assert (code, said) == (0, "")
    assert out.startswith("64 GPUs as proposed cost $425K a month")
    assert "\nCash of $2.5M lasts to month 16.7 without the deployment; with it, to month 2.4" in out  # 2,500,000 / 150,000
    assert re.search(r"\n  128 GPUs +\$708,820 +\$804,860 +\$96,040\n", out)
    assert re.search(r"\n  Without the deployment +to month 16\.7 ", out)


def test_json_is_one_object_with_the_curve_and_the_runway(monkeypatch, capsys, given_cash):
    code, out, said = run(monkeypatch, capsys, str(given_cash), "--json")
    found = json.loads(out)
    assert (code, said) == (0, "")
    assert len(found["curve"]) == len(GPU_COUNTS)
    assert found["runway"]["runway_without"] == pytest.approx(50 / 3)
    assert len(found["runway"]["cash_with"]) == 19
    assert json.loads(run(monkeypatch, capsys, "two-region", "--json")[1])["runway"] is None


def test_cash_that_is_no_number_is_refused_with_its_line(monkeypatch, capsys, given_cash):
    given_cash.write_text(given_cash.read_text().replace("cash_at_hand: 2_500_000", 'cash_at_hand: "$2.5M"'))
    code, out, said = run(monkeypatch, capsys, str(given_cash))
    assert (code, out) == (2, "")
    assert re.search(r"mine\.yaml:\d+: .*cash_at_hand is the text '\$2\.5M'; write the number alone: 2500000", said)
    given_cash.write_text(given_cash.read_text().replace('"$2.5M"', "-1"))
    code, out, said = run(monkeypatch, capsys, str(given_cash))
    assert (code, out) == (2, "")
    assert "cash_at_hand is -1 USD, which is out of range" in said


@pytest.mark.parametrize(
    ("cash", "burn", "gpus"),
    [(1_250_000, 400_000, 64), (1_250_000, 60_000, 8), (900_000, 0, 128), (1e12, 1e9, 1), (1, -1e9, 1e6)],
)
def test_the_charts_are_drawn_whatever_the_numbers(cash, burn, gpus):
    drawn = section(with_cash(cash, burn, gpus=gpus))
    assert drawn.count("<svg") == 2
    assert "NaN" not in drawn


def test_the_page_holds_at_every_width_and_prints_on_one_sheet(monkeypatch, capsys, given_cash, tmp_path):
    page = tmp_path / "pitch.html"
    assert run(monkeypatch, capsys, str(given_cash), "--html", str(page)) == (0, f"{page}\n", "")
    with chromium() as browser:
        for viewport in (DESKTOP, PHONE):
            seen = visit(browser, page.as_uri(), viewport=viewport)
            assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert seen.page.locator("p.answer").is_visible()
            assert seen.page.locator(".chart svg").count() == 2
            assert barriers(seen.page) == []
            assert seen.quiet(), seen.said
            assert [each for each in seen.asked if not each.startswith(("file:", "data:"))] == []
        printed = seen.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
