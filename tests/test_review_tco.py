"""Total cost of ownership: parts worked by hand, sums that hold as printed, what is not defined, and the page in a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi.__main__ import main
from roi.inputs import inputs
from roi.results import Result
from roi.review.tco import adding_up, answer, as_data, by_month, by_work, notes, part_names, stand_ins, total_cost
from roi.review.tco_view import section
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.strategies import proposals

# Half of the 16,588.8 GPU-hours that train in each region (64 GPUs x 432 h x 0.6 runs), at 11.53 and at 14.69 USD.
TWO_REGION = {
    "training_cost": 8_294.4 * 11.53 + 8_294.4 * 14.69,
    "startup_cost": 5.024 * 11.53 + 5.024 * 14.69,  # 32 GPUs x 0.6 runs x 4 starts x 3.925 minutes / 60
    "idle_cost": 5_529.6 * 11.53 + 5_529.6 * 14.69,  # at 60 % two idle hours for each three that train
    "orchestration_cost": 2 * (13_824 + 5.024) * 0.62,
    "vcpu_cost": 0,
    "storage_cost": 2 * 112,
    "egress_cost": 2 * 50_000 * 0.05,
    "fixed_cost": 2 * 73,
    "staff_cost": 2 * 20_000,
}


@pytest.fixture
def two_region() -> Result:
    return Result(roi.load("two-region"))


def amounts_in(cells: list[str]) -> list[Decimal]:
    return [Decimal(re.sub(r"[$,+ %]", "", cell)) for cell in cells]


# --- the parts --------------------------------------------------------------------------------------------------------------


def test_the_parts_of_a_bill_are_what_the_model_sums():
    assert part_names() == list(TWO_REGION)


def test_each_part_is_what_it_is_by_hand(two_region):
    baseline, proposed = total_cost(two_region)
    assert {part.name: part.cost for part in proposed.parts} == {name: pytest.approx(by) for name, by in TWO_REGION.items()}
    # 18,432 GPU-hours that train at 11.53, of a bill of 354,502.45
    assert baseline.training.cost == pytest.approx(212_520.96)
    assert baseline.training.share == pytest.approx(212_520.96 / 354_502.45344)
    assert (baseline.name, proposed.name) == ("baseline", "proposed")


@given(proposals())
def test_parts_sum_to_the_bill_and_shares_to_one(proposal):
    for fleet in total_cost(Result(proposal)):
        # Parts that cancel keep the rounding of what cancels.
        size = max(1.0, *(abs(part.cost) for part in fleet.parts))
        assert sum(part.cost for part in fleet.parts) == pytest.approx(fleet.bill, rel=1e-9, abs=1e-9 * size)
        if abs(fleet.bill) > 1e-6 * size:
            assert sum(part.share for part in fleet.parts) == pytest.approx(1, rel=1e-6, abs=1e-6)


# --- what it says -----------------------------------------------------------------------------------------------------------


def test_the_answer_says_what_training_is_of_the_bill_and_what_the_change_is_made_of(two_region):
    # 217,479 of 425,115 is 51.2 %; 212,521 of 354,502 is 59.9 %; 70,612.55 more, of which staff, orchestration and egress 62,148
    assert answer(total_cost(two_region)) == (
        "Of the proposed bill of $425K a month, GPU-hours that train are 51 % ($217K); all else is 49 % ($208K, of which GPUs "
        "that are idle $145K). Of the baseline bill of $355K a month, GPU-hours that train are 60 %. The proposed bill is $71K a "
        "month higher: staff +$40K, orchestration +$17K, egress +$5K, all else +$8K."
    )


def test_the_answer_says_when_a_bill_is_lower_or_the_same():
    # 18,432 training hours billed at 80 % instead of 60 % leave 7,680 fewer idle ones, at 11.53
    lower = answer(total_cost(Result(roi.load("raise-utilisation"))))
    assert lower.endswith("The proposed bill is $89K a month lower: GPUs that are idle -$89K.")
    same = answer(total_cost(roi.evaluate(roi.load("published-claim"), latency_saved=0)))
    assert same.endswith("The two bills are the same.")


def test_a_bill_of_nothing_has_no_shares():
    names = ("gpu_price", "storage_price", "fixed_cost")
    nothing = roi.evaluate(roi.load("published-claim"), {f"proposed.us-central1.{name}": 0 for name in names})
    fleets = total_cost(nothing)
    assert answer(fleets).startswith("The proposed bill is zero. Of the baseline bill of $355K")
    assert [row[4] for row in by_month(fleets).rows] == ["not defined"] * (len(TWO_REGION) + 1)
    assert section(nothing)


# --- sums as printed --------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=12), st.integers(1, 4))
def test_rounded_values_give_their_rounded_sum_and_only_the_largest_is_moved(values, decimals):
    *rounded, whole = adding_up(values, decimals)
    unit = Decimal(1).scaleb(-decimals)
    assert sum((Decimal(repr(each)).quantize(unit) for each in rounded), Decimal(0)) == Decimal(repr(whole)).quantize(unit)
    moved = [index for index, each in enumerate(values) if abs(rounded[index] - round(each, decimals)) > float(unit) / 2]
    assert moved in ([], [max(range(len(values)), key=lambda index: abs(values[index]))])


@pytest.mark.parametrize("tokens", [0, 4_194_304, 17])
@pytest.mark.parametrize("name", ["two-region", "published-claim", "raise-utilisation"])
def test_every_column_adds_up_as_printed(name, tokens):
    fleets = total_cost(roi.evaluate(roi.load(name), tokens_per_step=tokens))
    work = by_work(fleets)
    for table in (by_month(fleets), work):
        for head, *cells in list(zip(table.heads, *table.rows, strict=True))[1:]:
            *parts, whole = amounts_in(cells)
            assert sum(parts) == whole, head
    assert len(work.heads) == (7 if tokens else 5)


def test_a_row_of_the_bill_adds_up_as_printed(two_region):
    for _, before, _, after, _, change in by_month(total_cost(two_region)).rows:
        old, new, difference = amounts_in([before, after, change])
        assert old + difference == new


def test_the_whole_as_printed_is_the_line_of_the_model(two_region):
    assert by_month(total_cost(two_region)).rows[-1] == (
        *("The bill", "$354,502.45", "100.0 %", "$425,115.00", "100.0 %", "+$70,612.55"),
    )
    # 425,114.999 / 0.6 runs a month
    assert by_work(total_cost(two_region)).rows[-1][1:3] == ("$590,837.42", "$708,525.00")


# --- what is not defined ----------------------------------------------------------------------------------------------------


def test_tokens_have_a_cost_once_it_is_said_how_many_there_are(two_region):
    assert "Tokens per step are not given" in " ".join(notes(two_region))
    assert "`tokens_per_step: 4_194_304`" in section(two_region)
    given_ = roi.evaluate(roi.load("two-region"), tokens_per_step=4_000_000)
    # 0.6 runs x 1.44 million steps x 4 million tokens are 3,456,000 million a month, for 425,114.999
    assert by_work(total_cost(given_)).rows[-1][-1] == "$0.12301"
    assert total_cost(given_)[1].per["million_tokens"] == pytest.approx(425_114.999 / 3_456_000)
    assert "Tokens per step" not in " ".join(notes(given_))


def test_without_releases_no_run_has_a_cost():
    result = roi.evaluate(roi.load("two-region"), releases_per_month=0, tokens_per_step=4_000_000)
    assert by_work(total_cost(result)) is None
    assert "no releases in a month (releases_per_month is 0)" in notes(result)[0]
    assert "A run" not in section(result)


def test_prices_that_are_ours_are_printed_with_their_source():
    (sentence,) = stand_ins(roi.load("published-claim"), ["baseline_bill"])
    row = inputs()["gpu_price"]
    assert f"GPU price $11.53/GPU-hour ({row.source.title}, {row.source.date})" in sentence
    assert "vCPU price $0/vCPU-hour (The GPU price includes the host's vCPUs, 2026-12-01)" in sentence
    assert "GPU price $" not in " ".join(stand_ins(roi.load("two-region"), ["baseline_bill"]))  # it gives its own
    assert stand_ins(roi.load("two-region"), ["release_days_saved"]) == []


# --- the command and the page -----------------------------------------------------------------------------------------------


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["roi", "tco", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


def test_the_command_prints_the_answer_the_tables_and_the_flags(monkeypatch, capsys, tmp_path):
    text = (roi.inputs.ROOT / "data" / "proposals" / "two-region.yaml").read_text()
    odd = tmp_path / "odd.yaml"
    odd.write_text(text.replace("share: {base: 0.5,", "utilisation: 0.97\n    share: {base: 0.5,", 1))
    code, out, said = run(monkeypatch, capsys, str(odd))
    assert (code, said) == (0, "")
    assert out.startswith("Of the proposed bill of ")
    assert "\n  The bill " in out
    assert "\nFlag: us-central1: utilisation of 97 % is higher than fleets sustain." in out
    assert "utilisation of 97 % is higher" in section(Result(roi.load(odd)))


def test_json_is_one_object_with_every_part(monkeypatch, capsys):
    code, out, said = run(monkeypatch, capsys, "two-region", "--json")
    found = json.loads(out)
    assert (code, said) == (0, "")
    assert found["proposed"]["parts"]["staff_cost"]["month"] == 40_000
    assert found["proposed"]["parts"]["staff_cost"]["run"] == pytest.approx(40_000 / 0.6)
    assert found["proposed"]["per"]["million_tokens"] is None
    assert set(found["baseline"]["parts"]) == set(as_data(Result(roi.load("two-region")))["baseline"]["parts"])


def test_a_proposal_that_is_not_there_is_refused_in_words(monkeypatch, capsys):
    code, out, said = run(monkeypatch, capsys, "two-regions")
    assert (code, out) == (2, "")
    assert "there is no proposal 'two-regions'" in said
    assert "Traceback" not in said


def test_text_of_a_proposal_stays_text_on_the_page(two_region):
    proposal = two_region.proposal
    odd = {f"<b>{region}</b>": values for region, values in proposal.sites["proposed"].items()}
    renamed = replace(proposal, sites={**proposal.sites, "proposed": odd})
    result = roi.evaluate(renamed, {"proposed.<b>us-central1</b>.utilisation": 0.97})
    assert "&lt;b&gt;us-central1&lt;/b&gt;: utilisation" in section(result)
    assert "<b>" not in section(result)


def test_the_page_holds_at_every_width_and_prints_on_one_sheet(monkeypatch, capsys, tmp_path):
    page = tmp_path / "tco.html"
    assert run(monkeypatch, capsys, "two-region", "--html", str(page)) == (0, f"{page}\n", "")
    with chromium() as browser:
        for viewport in (DESKTOP, PHONE):
            seen = visit(browser, page.as_uri(), viewport=viewport)
            assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert seen.page.locator("p.answer").is_visible()
            assert seen.page.locator(".chart svg").count() == 1
            assert barriers(seen.page) == []
            assert seen.quiet(), seen.said
            assert [each for each in seen.asked if not each.startswith(("file:", "data:"))] == []
        printed = seen.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
