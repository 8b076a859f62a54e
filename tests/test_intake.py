"""Evidence from files chosen in the app: what is kept, what is planned, what is taken over, and what the browser cannot do."""

import tempfile
from pathlib import Path

import pytest

import roi
from roi.board.intake import MOST_BYTES, READERS, Intake
from roi.problems import InputError

PROPOSAL = roi.load("two-region")
PRICES = "gpu,region,basis,usd_per_gpu_hour,date,source\nH100,europe-west4,on-demand,10,2026-11-01,a list\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where files may lie while they are read; in the end it is empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def taken(text, name="prices.csv", **asked):
    intake = Intake()
    intake.piece(name, True, text.encode())
    found = intake.read(PROPOSAL, {"reader": "prices", "gpu": "H100", "basis": "on-demand"} | asked)
    return intake, found


def test_a_price_is_shown_first_and_then_taken_over():
    intake, found = taken(PRICES)
    assert found["changes"][0] == "proposed.europe-west4.gpu_price: $14.69/GPU-hour -> $10/GPU-hour"
    # Cheaper by 4.69 x the half of 64 GPUs' hours that are billed there, 13,829.024 a month, over 18 months of a higher bill:
    # 64,858 a month, of 70,613 more than the baseline, so 328,974 + 18 x 64,858 = 1,496,420.
    assert found["changes"][-1] == "Net gain: $329K -> $1.5M"
    assert found["left"] == []
    after = intake.take()
    assert roi.evaluate(after).net_gain == pytest.approx(328_974.1792 + 18 * 4.69 * 13_829.024, rel=1e-9)
    value = after.sites["proposed"]["europe-west4"]["gpu_price"]
    assert (value.base, value.measured, value.count) == (10, True, 1)
    with pytest.raises(InputError, match="there is nothing to take over"):
        intake.take()


def test_what_was_taken_over_is_there_when_more_is_read():
    intake, _ = taken(PRICES)
    once = intake.take()
    intake.piece("prices.csv", True, PRICES.replace("europe-west4", "us-central1").encode())
    found = intake.read(once, {"reader": "prices", "gpu": "H100", "basis": "on-demand", "where": "proposed.us-central1"})
    assert found["changes"][0] == "proposed.us-central1.gpu_price: $11.53/GPU-hour -> $10/GPU-hour"
    assert intake.take().site_number("proposed", "europe-west4", "gpu_price") == 10


def test_a_file_may_come_in_pieces():
    intake = Intake()
    for index in range(0, len(PRICES), 7):
        intake.piece("prices.csv", index == 0, PRICES[index : index + 7].encode())
    assert intake.read(PROPOSAL, {"reader": "prices", "gpu": "H100", "basis": "on-demand"})["changes"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "..", "a\x00b\n.csv", "x" * 5000])
def test_a_name_is_only_a_name(name):
    _, found = taken(PRICES, name)
    assert found["changes"]


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("nonsense\n", {}, "prices.csv: has no column gpu, region"),
        ("", {}, "prices.csv: is empty"),
        (PRICES, {"reader": "prizes"}, "'prizes' is no reader; there are steps, waits, billing, opencost, prices"),
        (PRICES, {"reader": None}, "'None' is no reader"),
        (PRICES, {"where": "proposed.mars"}, "'proposed.mars' is no site of this proposal"),
        (PRICES.replace("europe-west4", "mars"), {}, "gets nothing: the evidence holds gpu_price in mars"),
        (PRICES.replace(",10,", ",ten,"), {}, "prices.csv"),
    ],
)
def test_a_refusal_names_the_file_and_not_where_it_lay(text, asked, message, folder):
    with pytest.raises(InputError) as error:
        taken(text, **asked)
    assert message in str(error.value)
    assert str(folder) not in str(error.value)


def test_no_file_is_asked_for():
    with pytest.raises(InputError, match="there is no file; choose one first"):
        Intake().read(PROPOSAL, {"reader": "steps"})


def test_too_much_is_refused_and_forgotten(monkeypatch):
    monkeypatch.setattr("roi.board.intake.MOST_BYTES", 10)
    intake = Intake()
    with pytest.raises(InputError, match="are larger than 10 bytes"):
        intake.piece("a.csv", True, b"x" * 11)
    with pytest.raises(InputError, match="are larger than"):
        intake.piece("a.csv", False, b"without a first piece")
    assert MOST_BYTES == 200_000_000


def test_three_logs_are_one_too_many():
    intake = Intake()
    for name in ("a", "b", "c"):
        intake.piece(name, True, b"x")
    with pytest.raises(InputError, match="from one log, or from two"):
        intake.read(PROPOSAL, {"reader": "steps"})


def test_every_reader_refuses_nonsense_without_a_traceback():
    for reader in READERS:
        intake = Intake()
        intake.piece(str(Path("thing.bin")), True, bytes(range(256)))
        with pytest.raises(InputError):
            intake.read(PROPOSAL, {"reader": reader, "gpu": "H100"})
