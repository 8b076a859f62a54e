"""Billing exports in FOCUS: unit costs with the arithmetic beside them, and every charge accounted for to the cent."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roi.__main__ import main
from roi.evidence.billing import read
from roi.evidence.evidence import Evidence, Finding
from roi.evidence.quantities import billing_unit, decimal_mark, number
from roi.problems import InputError
from tests.mutations import mutated

USAGE = {
    "BilledCost": "1",
    "EffectiveCost": "1",
    "BillingCurrency": "USD",
    "ChargeCategory": "Usage",
    "ChargeDescription": "Something",
    "ChargePeriodStart": "2026-05-01T00:00:00Z",
    "CommitmentDiscountId": "NULL",
    "CommitmentDiscountStatus": "",
    "ConsumedQuantity": "",
    "ConsumedUnit": "",
    "PricingCategory": "Standard",
    "PricingQuantity": "1",
    "PricingUnit": "Units",
    "ProviderName": "Cloud",
    "RegionId": "us-east1",
    "ServiceCategory": "Other",
    "ServiceName": "Service",
    "SkuPriceDetails": "",
}


def charge(cost: str = "1", **columns: str) -> dict[str, str]:
    return USAGE | {"BilledCost": cost, "EffectiveCost": cost} | columns


def gpu(cost: str, hours: str, **columns: str) -> dict[str, str]:
    """Hours of a machine with eight H100, which the shipped price list knows by name."""
    words = {"ChargeDescription": "p5.48xlarge instance", "PricingQuantity": hours, "PricingUnit": "Hours"}
    return charge(cost, **(words | columns))


def storage(cost: str, amount: str, unit: str, **columns: str) -> dict[str, str]:
    words = {"ServiceCategory": "Storage", "ServiceName": "Buckets", "PricingQuantity": amount, "PricingUnit": unit}
    return charge(cost, **(words | columns))


def text(rows: Iterable[dict[str, str]], delimiter: str = ",") -> str:
    rows = list(rows)
    written = io.StringIO()
    writer = csv.DictWriter(written, list(rows[0]) if rows else list(USAGE), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes rows, text or bytes as a file."""

    def write(content: list[dict[str, str]] | str | bytes, name: str = "bill.csv") -> Path:
        path = tmp_path / name
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else text(content)).encode()
        path.write_bytes(content)
        return path

    return write


def fates(found: Evidence) -> dict[str, tuple[int, Decimal | float | None]]:
    return {f"{each.fate}: {each.why}": (each.count, each.amount) for each in found.accounts}


def adds_up(found: Evidence) -> None:
    """Read + set aside + not understood = total, in rows and to the last digit in dollars."""
    assert sum(each.count for each in found.accounts) == found.total
    assert sum((each.amount or Decimal(0) for each in found.accounts), Decimal(0)) == found.total_amount


def only(found: Evidence, name: str) -> Finding:
    [finding] = [each for each in found.findings if each.input == name]
    return finding


# --- unit costs -------------------------------------------------------------------------------------------------------------


def test_a_gpu_hour_is_an_hour_of_the_machine_over_its_gpus(make: Make) -> None:
    # 550.40 for 10 hours of 8 GPUs and 1,040.00 for 10 hours of 8: 1,590.40 / 160 = 9.94 USD per GPU-hour.
    found = read([make([gpu("550.40", "10"), gpu("1040.00", "10", ChargePeriodStart="2026-05-02")])], "effective")
    finding = only(found, "gpu_price")
    assert (finding.base, finding.low, finding.high, finding.covers) == (9.94, 6.88, 13.0, 0.8)
    assert (finding.count, finding.dated, finding.basis, finding.place) == (2, date(2026, 5, 1), "on-demand, H100", "us-east1")
    assert "EffectiveCost in bill.csv" in finding.source
    adds_up(found)


@pytest.mark.parametrize(
    ("columns", "price", "basis"),
    [
        # How many GPUs the unit holds is in SkuPriceDetails (FOCUS 1.2), with F_ in the drafts of 1.1 and x_ by custom.
        ({"ChargeDescription": "big H100", "SkuPriceDetails": '{"GpuCount": 4}', "PricingUnit": "Hours"}, 10, "on-demand, H100"),
        ({"ChargeDescription": "big", "SkuPriceDetails": '{"F_GpuCount": "4"}', "PricingUnit": "Hours"}, 10, "on-demand, GPU"),
        ({"ChargeDescription": "Nvidia H200 GPU", "PricingUnit": "GPU-Hours"}, 40, "on-demand, H200"),
        # Google bills the GPU by itself.
        ({"ChargeDescription": "Nvidia H100 80GB GPU running in Iowa", "PricingUnit": "Hours"}, 40, "on-demand, H100"),
        ({"ChargeDescription": "Nvidia L4 GPU attached to Spot VMs", "PricingUnit": "Hours"}, 40, "spot, L4"),
        ({"ChargeDescription": "p5.48xlarge", "PricingUnit": "Hours", "PricingCategory": "Dynamic"}, 5, "spot, H100"),
        ({"ChargeDescription": "p5.48xlarge", "PricingUnit": "Hours", "PricingCategory": "Committed"}, 5, "commitment, H100"),
        # 7,200 seconds are two hours.
        ({"ChargeDescription": "p5.48xlarge", "PricingUnit": "Seconds", "PricingQuantity": "7200"}, 2.5, "on-demand, H100"),
        # A unit of prices that is unknown leaves the unit of consumption.
        ({"ChargeDescription": "p5.48xlarge", "PricingUnit": "Calls", "ConsumedUnit": "Hours", "ConsumedQuantity": "2"}, 2.5, ""),
    ],
)
def test_what_is_a_gpu_hour(make: Make, columns: dict[str, str], price: float, basis: str) -> None:
    finding = only(read([make([charge("40", **columns)])], "billed"), "gpu_price")
    assert finding.base == price
    assert finding.basis == (basis or "on-demand, H100")


def test_a_host_that_is_billed_apart_from_its_gpus_is_part_of_their_price(make: Make) -> None:
    # 80 for 8 GPU-hours, and 12 for cores and memory of the host: 92 / 8 = 11.5.
    rows = [
        charge("80", ChargeDescription="Nvidia H100 80GB GPU running in Iowa", PricingQuantity="8", PricingUnit="Hours"),
        charge("9", ChargeDescription="A3 Instance Core running in Iowa", PricingQuantity="208", PricingUnit="Hours"),
        charge("3", ChargeDescription="A3 Instance Ram running in Iowa", PricingQuantity="1872", PricingUnit="GiB-Hours"),
    ]
    assert only(read([make(rows)], "billed"), "gpu_price").base == 11.5


@pytest.mark.parametrize(
    ("unit", "gigabytes", "hours"),
    [
        ("GB-Months", "1", "730"),
        ("GB Months", "1", "730"),
        ("GB/Month", "1", "730"),
        ("GB-Mo", "1", "730"),
        ("gigabyte month", "1", "730"),
        ("GBMonth", "1", "730"),
        ("100 GB-Months", "100", "730"),
        ("1 GB/Month", "1", "730"),
        ("TB-Months", "1000", "730"),
        ("GB Hours", "1", "1"),
        ("GB-Hrs", "1", "1"),
        ("Gigabyte Per Hour", "1", "1"),
        ("GiB Hours", "1.073741824", "1"),
        ("Gibibyte-hours", "1.073741824", "1"),
        ("gibibyte month", "1.073741824", "730"),
        ("TiB-Days", "1099.511627776", "24"),
        ("GB-Years", "1", "8760"),
        ("GB", "1", "0"),
        ("10 GB", "10", "0"),
        ("1K GB", "1000", "0"),
        ("MB", "0.001", "0"),
        ("Bytes", "0.000000001", "0"),
        ("Hours", "0", "1"),
        ("1 Hour", "0", "1"),
        ("100 Hours", "0", "100"),
        ("GPU-Hours", "0", "1"),
        ("Instance Hours", "0", "1"),
    ],
)
def test_a_unit_in_each_of_its_spellings(unit: str, gigabytes: str, hours: str) -> None:
    found = billing_unit(unit)
    assert found is not None
    assert (found.gigabytes, found.hours) == (Decimal(gigabytes), Decimal(hours))
    assert found.gpu == unit.startswith("GPU")


@pytest.mark.parametrize(
    "unit", ["", "Units", "Units/Hour", "OCPU Hours", "Gb", "Gib-Hours", "Requests", "10K", "GB GB", "0 GB", " "]
)
def test_what_is_no_unit_of_size_or_time(unit: str) -> None:
    assert billing_unit(unit) is None


@pytest.mark.parametrize(
    ("amount", "unit", "price"),
    [
        ("1000", "GB-Months", 0.02),  # 20 / 1,000
        ("730000", "GB Hours", 0.02),  # 730,000 / 730 = 1,000 GB-months
        ("1000", "GiB-Months", 0.0186265),  # 1,000 GiB are 1,073.741824 GB
        ("10", "100 GB-Months", 0.02),
    ],
)
def test_storage_is_priced_by_the_gigabyte_month(make: Make, amount: str, unit: str, price: float) -> None:
    finding = only(read([make([storage("20", amount, unit)])], "billed"), "storage_price")
    assert (finding.base, finding.basis) == (price, "Buckets")


def test_classes_of_storage_have_prices_of_their_own(make: Make) -> None:
    rows = [
        storage("20", "1000", "GB-Months", SkuPriceDetails='{"StorageClass": "Standard"}'),
        storage("1", "1000", "GB-Months", SkuPriceDetails='{"x_StorageClass": "Archive"}'),
        storage("5", "10", "Units", ChargeDescription="Write operations"),
        storage("7", "1000", "GB-Months", ChargeDescription="Performance units"),
    ]
    found = read([make(rows)], "billed")
    assert {each.basis: each.base for each in found.findings} == {"Standard": 0.02, "Archive": 0.001}
    assert fates(found)["read: other usage"] == (2, Decimal(12))


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("Inter-Region Data Transfer Out", "between regions"),
        ("Network egress to the internet", "to the internet"),
        ("Data transfer between availability zones, inter-zone", "between zones"),
        ("Data Transfer", ""),
    ],
)
def test_egress_is_priced_by_the_gigabyte_and_by_its_way(make: Make, words: str, way: str) -> None:
    rows = [charge("90", ChargeDescription=words, PricingQuantity="1", PricingUnit="TB")]  # 90 / 1,000 GB
    rows.append(charge("1", ChargeDescription="Data transfer in", PricingQuantity="1000", PricingUnit="GB"))
    finding = only(read([make(rows)], "billed"), "egress_price")
    assert (finding.base, finding.basis) == (0.09, way)


def test_each_region_and_month_by_itself_and_the_latest_month_as_a_finding(make: Make) -> None:
    rows = [
        gpu("80", "1", ChargePeriodStart="2026-04-30 23:00:00"),
        gpu("96", "1"),
        gpu("160", "1", RegionId="NULL", RegionName="Belgium"),
        charge("3.5"),
    ]
    found = read([make([{"RegionName": ""} | row for row in rows])], "billed")
    assert {(each.place, each.base) for each in found.findings} == {("us-east1", 12.0), ("Belgium", 20.0)}
    measures = {each.name: each.value for each in found.measures}
    assert measures == {"gpu.Cloud.us-east1.2026-04.on-demand.H100": 10.0, "other.Cloud.us-east1.2026-05.cost": 3.5}


def test_nothing_is_a_price_that_cost_nothing(make: Make) -> None:
    found = read([make([gpu("0", "5"), charge("1")])], "billed")
    assert found.findings == ()
    assert any(note.startswith("GPU price, Cloud, us-east1, 2026-05") for note in found.notes)


# --- what is counted, once ---------------------------------------------------------------------------------------------------

PURCHASE = {"ChargeCategory": "Purchase", "CommitmentDiscountId": "c-1", "ChargeDescription": "Commitment"}
COVERED = {"CommitmentDiscountId": "c-1", "CommitmentDiscountStatus": "Used", "PricingCategory": "Committed"}


def test_a_commitment_is_counted_once_in_either_column(make: Make) -> None:
    bought = charge(**PURCHASE) | {"BilledCost": "700", "EffectiveCost": "0"}
    used = gpu("0", "1", **COVERED) | {"BilledCost": "0", "EffectiveCost": "40"}
    unused = charge("0", **(COVERED | {"CommitmentDiscountStatus": "Unused"})) | {"BilledCost": "0", "EffectiveCost": "10"}
    path = make([bought, used, unused])

    billed, effective = read([path], "billed"), read([path], "effective")
    assert (billed.total_amount, effective.total_amount) == (700, 50)
    assert billed.findings == ()
    assert only(effective, "gpu_price").base == 5.0  # 40 / 8, without what nobody used
    assert fates(effective)["read: unused commitments, which no price includes"] == (1, Decimal(10))
    for found in (billed, effective):
        adds_up(found)
        [note] = [each for each in found.notes if each.startswith("Commitments")]
        assert "1 with a billed cost of 700.0000 and an effective cost of 0.0000" in note
        assert "2 with a billed cost of 0.0000 and an effective cost of 50.0000" in note


def test_a_file_that_counts_a_commitment_twice_in_one_column_is_caught(make: Make) -> None:
    # Against FOCUS, the purchase has an effective cost as well, and what it covers a billed cost.
    path = make([charge("700", **PURCHASE), gpu("40", "1", **COVERED), charge("5")])
    effective, billed = read([path], "effective"), read([path], "billed")
    why = "set aside: purchases of commitments with an effective cost, which their amortisation counts already"
    assert fates(effective)[why] == (1, Decimal(700))
    why = "set aside: charges under a commitment with a billed cost, which its purchase counts already"
    assert fates(billed)[why] == (1, Decimal(40))
    adds_up(effective)
    adds_up(billed)


def test_a_file_without_amortisation_says_so(make: Make) -> None:
    found = read([make([charge("9") | {"EffectiveCost": "0"}])], "effective")
    assert any("use --cost billed" in note for note in found.notes)
    found = read([make([charge("700", **PURCHASE), charge("1")])], "effective")
    assert any("No charge amortises the purchases" in note for note in found.notes)


def test_credits_and_negative_charges_are_kept_and_shown_apart(make: Make) -> None:
    rows = [gpu("80", "1"), gpu("-80", "-1"), charge("-5.25", ChargeCategory="Credit"), charge("2", ChargeCategory="Tax")]
    found = read([make(rows)], "billed")
    assert found.total_amount == Decimal("-3.25")
    assert fates(found) == {
        "read: credits, refunds and other negative charges, which no price includes": (2, Decimal("-85.25")),
        "read: GPU charges": (1, Decimal(80)),
        "read: taxes": (1, Decimal(2)),
    }
    assert only(found, "gpu_price").base == 10.0


def test_repetitions_other_months_and_other_currencies_are_set_aside_with_their_amounts(make: Make) -> None:
    rows = [charge("1.10"), charge("1.10"), charge("2.20", ChargePeriodStart="2026-04-30"), charge("3", BillingCurrency="EUR")]
    rows += [charge("4.5", BillingCurrency="EUR"), charge("9", BillingCurrency="points")]
    found = read([make(rows)], "billed", "2026-05")
    assert fates(found) == {
        "read: other usage": (1, Decimal("1.10")),
        "set aside: charges of another month than 2026-05": (1, Decimal("2.20")),
        "set aside: exact repetitions of an earlier row": (1, Decimal("1.10")),
        "set aside: charges in no known currency, not added (9.0000)": (1, None),
        "set aside: charges in EUR, not added (7.5000)": (2, None),
    }
    assert (found.total, found.total_amount) == (6, Decimal("4.40"))
    assert [each.examples for each in found.accounts][2] == ("bill.csv:3",)
    adds_up(found)


def test_a_file_that_is_given_twice_is_counted_once(make: Make) -> None:
    one, two = make([charge("1"), charge("2")]), make([charge("1"), charge("2"), charge("4")], "again.csv")
    found = read([one, two], "billed")
    assert (found.total, found.total_amount) == (5, 10)
    assert fates(found)["set aside: exact repetitions of an earlier row"] == (2, Decimal(3))


def test_what_is_not_understood_is_listed_with_its_amount(make: Make) -> None:
    rows = [
        charge("1"),
        charge("2", ChargeCategory="Gift"),
        charge("3", ChargePeriodStart="May 2026"),
        gpu("4", "some"),
        gpu("5", "1", PricingUnit="Calls"),
        gpu("6", "1", ChargeDescription="Virtual machine with Nvidia H100"),
        storage("7", "1", "GB/Fortnight"),
        charge("n/a"),
        charge("about 9"),
    ]
    found = read([make(text(rows) + "cut,off\n")], "billed")
    assert fates(found) == {
        "read: other usage": (1, Decimal(1)),
        "not understood: storage charges in 'GB/Fortnight', which is no known unit": (1, Decimal(7)),
        "not understood: GPU charges that do not say how many GPUs they are for": (1, Decimal(6)),
        "not understood: GPU charges in 'Calls', not in hours": (1, Decimal(5)),
        "not understood: GPU charges whose PricingQuantity is no amount": (1, Decimal(4)),
        "not understood: charges whose ChargePeriodStart is not written like 2026-05-01": (1, Decimal(3)),
        "not understood: charges whose ChargeCategory is none of Usage, Purchase, Tax, Credit, Adjustment": (1, Decimal(2)),
        "not understood: charges whose BilledCost is blank": (1, None),
        "not understood: charges whose BilledCost is no number": (1, None),
        "not understood: rows with more or fewer values than there are columns (is the file cut off?)": (1, None),
    }
    adds_up(found)


# --- how files are written ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "mark", "meant"),
    [
        ("12.5", ".", "12.5"),
        ("1,234.50", ".", "1234.50"),
        ("1,234,567", ".", "1234567"),
        ("1.5e-05", ".", "0.000015"),
        ("-0.5", ".", "-0.5"),
        ("\u22120.5", ".", "-0.5"),
        (".5", ".", "0.5"),
        ("12,5", ",", "12.5"),
        ("1.234,50", ",", "1234.50"),
        ("1 234,50", ",", "1234.50"),
        ("1'234.50", ".", "1234.50"),
        ("1.234", ",", "1234"),
        ("1.234", "", None),
        ("1,234", "", None),
        ("1,5", "", "1.5"),
        ("1.234,5", "", "1234.5"),
        ("12", "", "12"),
        ("12,5", ".", None),
        ("1,23,456", ".", None),
        ("1e400", ".", None),
        ("9999999999999999", ".", None),
        ("0e-99", ".", "0"),
        ("nan", ".", None),
        ("Infinity", ".", None),
        ("0x10", ".", None),
        ("\u0661", ".", None),
        ("", ".", None),
    ],
)
def test_a_number_with_its_decimal_mark(written: str, mark: str, meant: str | None) -> None:
    assert number(written, mark) == (None if meant is None else Decimal(meant))


def test_the_decimal_mark_is_what_most_numbers_show() -> None:
    assert decimal_mark(["1,234", "1.5", "2.5", "3,5", "10.0.0.1", "x.5", "2026"]) == "."
    assert decimal_mark(["1.234.567", "7"]) == ","
    assert decimal_mark(["1,234", "1.234", "12"]) == ""


def test_semicolons_decimal_commas_and_a_byte_order_mark(make: Make) -> None:
    rows = [gpu("1.234,50", "10"), gpu("0,50", "1,5"), charge("NULL"), charge("1.000")]
    found = read([make(codecs.BOM_UTF8 + text(rows, ";").encode())], "billed")
    assert found.total_amount == Decimal("2235.00")
    assert only(found, "gpu_price").base == round(1235 / 92, 4)  # 11.5 hours of 8 GPUs


@pytest.mark.parametrize(("cost", "amount"), [("1.234", "1.234"), ("1,234", None), ("1,234.0", "1234"), ("12,34", "12.34")])
def test_a_cost_that_could_be_read_in_two_ways_is_not_guessed(make: Make, cost: str, amount: str | None) -> None:
    if amount is None:
        with pytest.raises(InputError, match="1 charges whose BilledCost is no number"):
            read([make([charge(cost)])], "billed")
    else:
        assert read([make([charge(cost)])], "billed").total_amount == Decimal(amount)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_each_unicode_encoding_that_marks_itself(make: Make, encoding: str) -> None:
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    found = read([make(mark + text([charge("1.25", RegionId="Z\u00fcrich")], "\t").encode(encoding))], "billed")
    assert found.total_amount == Decimal("1.25")
    assert found.measures[0].label == "Other cost, Cloud, Z\u00fcrich, 2026-05"


def test_a_file_that_gzip_packed_is_read(make: Make) -> None:
    assert read([make(gzip.compress(text([charge("1.25")]).encode()))], "billed").total_amount == Decimal("1.25")


def test_columns_are_found_by_name(make: Make) -> None:
    rows = [{name: row[name] for name in reversed(USAGE)} for row in (gpu("80", "1"), charge("2"))]
    written = text(rows).replace("BilledCost", "billed_cost").replace("PricingUnit", "Pricing Unit")
    assert only(read([make(written)], "billed"), "gpu_price").base == 10.0


def test_quoted_values_may_hold_commas_and_lines(make: Make) -> None:
    found = read([make([charge("1.5", ChargeDescription='one, "two"\nthree'), charge("2")])], "billed")
    assert (found.total, found.total_amount) == (2, Decimal("3.5"))


# --- what is refused ---------------------------------------------------------------------------------------------------------


def without(column: str) -> str:
    return text([{name: value for name, value in USAGE.items() if name != column}])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (codecs.BOM_UTF8, "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is binary"),
        (b"PK\x03\x04rest", "is a zip archive or a workbook"),
        (b"%PDF-1.7", "is a PDF document"),
        (gzip.compress(text([charge()]).encode())[:-12], "is packed by gzip, and cut off or damaged"),
        (b"PAR1 and nothing more", "is a"),
        (b'{"code": 200, "data": []}', "looks like JSON"),
        (
            b"iteration 100/ 500 | elapsed time per iteration (ms): 1380.6 | loss: 6.1\n",
            "has no column BilledCost, BillingCurrency",
        ),
        (without("BilledCost").encode(), "has no column BilledCost, which a FOCUS export has; its 17 columns are EffectiveCost"),
        (without("PricingUnit").encode(), "has no column PricingUnit"),
        (text([]).encode(), "no rows below the columns' names"),
        (text([charge("no cost")]).encode(), "no charge can be read: not understood: 1 charges whose BilledCost is no number"),
        (text([charge(BillingCurrency="EUR")]).encode(), "no charge can be read: set aside: 1 charges in EUR"),
        (text([charge() | {"billed cost": "2"}]).encode(), "has two columns BilledCost"),
        (text([charge(ChargeDescription="x" * 200_000)]).encode(), "is no table from line 2 on: field larger than field limit"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(make: Make, content: bytes, found: str) -> None:
    path = make(content)
    with pytest.raises(InputError) as refused:
        read([path], "billed")
    [message] = str(refused.value).splitlines()
    assert message.startswith(f"{path}: ")
    assert found in message
    assert "expected is a billing export in FOCUS 1.0 to 1.2" in message


def test_parquet_without_pyarrow_says_what_to_install(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow \(pip install 'roi\[parquet\]'\)"):
        read([make(b"PAR1....PAR1")], "billed")


def test_parquet_is_read_as_csv_is(make: Make, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [gpu("80", "1"), charge("0.25"), charge("0.25"), charge("-1")]
    columns = {name: [row[name] for row in rows] for name in USAGE}
    table = pyarrow.table(
        columns
        | {
            "BilledCost": pyarrow.array([Decimal(each) for each in columns["BilledCost"]], pyarrow.decimal128(20, 6)),
            "EffectiveCost": [float(each) for each in columns["EffectiveCost"]],
            "SkuPriceDetails": pyarrow.array(
                [[("GpuCount", "4")], [], [], None], pyarrow.map_(pyarrow.string(), pyarrow.string())
            ),
        }
    )
    parquet.write_table(table, tmp_path / "bill.parquet")
    found = read([tmp_path / "bill.parquet"], "billed")
    assert (found.total, found.total_amount) == (4, Decimal("79.5"))
    assert fates(found)["set aside: exact repetitions of an earlier row"] == (1, Decimal("0.25"))
    assert only(found, "gpu_price").base == 20.0
    with pytest.raises(InputError, match="is a damaged Parquet file"):
        read([make((tmp_path / "bill.parquet").read_bytes()[:-30], "cut.parquet")], "billed")


# --- laws --------------------------------------------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(["", "NULL", "Used", "Unused", "Standard", "Committed", "Dynamic", "c-1", "Storage", "Networking", "\u00fc"]),
    st.sampled_from(["GB-Months", "GiB Hours", "Hours", "GB", "Units", "p5.48xlarge", "A3 Instance Core", "egress", "spot"]),
    st.sampled_from(["Nvidia H100 GPU running", '{"GpuCount": 8}', '{"GpuCount": 0}', "{", "2026-05-01"]),
    st.text(st.characters(exclude_categories=("C",)), max_size=4),
)
AMOUNTS = st.one_of(
    st.decimals(-1_000_000, 1_000_000, places=11).map(lambda value: f"{value:f}"),
    st.sampled_from(["0", "-0", "1,234.5", "1,234", "1,5", "1e-9", "1E400", "nan", "", "NULL", "x", "999999999999999"]),
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {name: AMOUNTS if "Cost" in name or "Quantity" in name else WORDS for name in USAGE}
        | {
            "BillingCurrency": st.sampled_from(["USD", "USD", "usd", "EUR", ""]),
            "ChargeCategory": st.sampled_from(["Usage", "Usage", "Purchase", "Credit", "Tax", "Adjustment", "Gift"]),
            "ChargePeriodStart": st.sampled_from(["2026-05-01", "2026-04-01 00:00:00", "2026-13-01", ""]),
        }
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(
    rows=ROWS,
    cost=st.sampled_from(["billed", "effective"]),
    month=st.sampled_from(["", "2026-05"]),
    delimiter=st.sampled_from(",;"),
)
def test_read_and_set_aside_and_not_understood_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], cost: str, month: str, delimiter: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "law.csv"
    path.write_text(text([USAGE, *rows], delimiter), encoding="utf-8", newline="")
    try:
        found = read([path], cost, month)  # type: ignore[arg-type]
    except InputError as refused:
        assert "no charge can be read" in str(refused)  # noqa: PT017 - the law has two outcomes
        return
    adds_up(found)
    assert found.total == len(rows) + 1
    for each in found.findings:
        assert each.base > 0
        assert each.low is None or each.low <= each.base <= (each.high or 0)


def test_rows_in_another_order_give_the_same_prices(make: Make) -> None:
    rows = [gpu(str(10 + n), str(n + 1)) for n in range(9)] + [storage("3", str(n + 1), "GB-Months") for n in range(5)]
    one = read([make(rows)], "billed")
    random.Random(1).shuffle(rows)
    assert read([make(rows)], "billed").findings == one.findings


@settings(max_examples=300)
@given(data=st.data())
def test_whatever_happens_to_a_file_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rows = [gpu("80", "1"), storage("2", "10", "GB-Months"), charge("1,000.5"), charge("700", **PURCHASE)]
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(mutated(text(rows).encode(), data.draw(st.randoms(use_true_random=False))))
    try:
        adds_up(read([path], "effective"))
    except InputError as refused:
        assert str(refused).startswith(str(path))  # noqa: PT017 - the law has two outcomes


# --- the command line --------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `roi evidence` with some arguments: exit code, output and complaint."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["roi", "evidence", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def test_the_command_prints_prices_and_the_account(make: Make, run: Callable[..., tuple[int, str, str]]) -> None:
    path = make([gpu("80", "1"), charge("2.5", BillingCurrency="EUR"), charge("0.75")])
    assert run("billing", str(path), "--cost", "billed") == (
        0,
        """GPU price in us-east1, on-demand, H100: $10/GPU-hour (from 1, 2026-05-01; gpu_price)
Other cost, Cloud, us-east1, 2026-05: $0.75
3 charges, 80.7500 in all:
  read: 1 GPU charges, 80.0000
  read: 1 other usage, 0.7500
  set aside: 1 charges in EUR, not added (2.5000) (bill.csv:3)
Costs are BilledCost; EffectiveCost of the same charges is 80.7500.
""",
        "",
    )
    code, out, err = run("billing", str(path), "--cost", "effective", "--month", "2026-05", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["findings"][0] | {"source": ""} == {
        "input": "gpu_price",
        "base": 10.0,
        "basis": "on-demand, H100",
        "count": 1,
        "date": "2026-05-01",
        "measured": True,
        "note": "80.00 USD over 8 gpu*hour, before credits",
        "place": "us-east1",
        "source": "",
    }


def test_the_command_refuses_on_standard_error(make: Make, run: Callable[..., tuple[int, str, str]]) -> None:
    path = str(make(b"\x00"))
    for arguments, complaint in (
        (["billing", path, "--cost", "billed"], "is binary"),
        (["billing", "nowhere.csv", "--cost", "billed"], "nowhere.csv: No such file or directory"),
        (["billing", path, "--cost", "billed", "--month", "May"], "--month: 'May' is not a month; write it like 2026-05"),
        (["billing", path], "Missing option '--cost'"),
        (["opencost", path], "is binary"),
        (["prices", path, "--gpu", "H100"], "is binary"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert complaint in err
        assert "Traceback" not in err


def test_prices_without_a_file_come_from_the_shipped_list(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("prices", "--gpu", "H100", "--region", "us-central1")
    assert code == 0
    assert "GPU price in us-central1, on-demand: $11.53/GPU-hour (from 1, 2026; gpu_price)" in out
    assert "Source: SkyPilot catalog v9 (2026)." in out
