"""Synchronising regions: the arithmetic by hand, laws of the ring, what is known, what is refused, what is written."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roi
from roi.evidence.network import BANDWIDTH, ROUND_TRIP, Job, links, read
from roi.evidence.write import update
from roi.modes import MODES
from roi.problems import InputError
from tests.test_cli import Run, refused, run  # noqa: F401  # the fixture
from tests.test_reading import GOOD

PAIR = ("us-central1", "europe-west4")


def measures(*regions: str, **job: float) -> dict[str, float]:
    found = read(regions or PAIR, Job(**({"parameters": 7e9} | job)))  # type: ignore[arg-type]
    return {each.name: each.value for each in found.measures}


@pytest.mark.parametrize(
    ("bandwidth", "seconds"),
    [
        (4.35, 25.7471264),  # 14 GB x 8 bit / 4.35 Gbit/s
        (100, 1.12),
    ],
)
def test_two_regions_send_all_gradients_once(bandwidth: float, seconds: float) -> None:
    found = measures(bandwidth=bandwidth)
    assert found["gradient_size"] == 14  # 7e9 parameters of 2 bytes
    assert found["sent_per_sync"] == 14  # 2 (R - 1) / R = 1 for R = 2
    assert found["sending_time"] == pytest.approx(seconds * 1000, rel=1e-8)
    assert found["trip_time"] == pytest.approx(103.158)  # two one-way trips of half a round trip
    assert found["sync_time"] == pytest.approx(seconds * 1000 + 103.158, rel=1e-8)
    assert found["every_few_steps"] == pytest.approx(found["sync_time"] / 500)


def test_the_shipped_round_trip_is_the_median_that_its_table_says() -> None:
    # Averages of the seven rows: 61.410, 102.979, 103.116, 103.158, 103.333, 103.364, 103.634 ms; light needs some 70 ms.
    link = links()[ROUND_TRIP, *PAIR]
    assert (link.median, link.count) == (103.158, 7)
    assert links()[ROUND_TRIP, *PAIR[::-1]] == link
    assert links()[BANDWIDTH, *PAIR].values == (13.33, 5.357)


def test_the_slowest_link_of_the_ring_is_what_all_wait_for() -> None:
    three = (*PAIR, "asia-southeast1")
    ring = list(zip(three, [*three[1:], three[0]], strict=True))
    found = measures(*three)
    assert found["bandwidth"] == min(links()[BANDWIDTH, *pair].median for pair in ring)
    assert found["round_trip"] == max(links()[ROUND_TRIP, *pair].median for pair in ring)
    assert found["sent_per_sync"] == pytest.approx(14 * 4 / 3)  # 2 (R - 1) / R = 4/3
    assert found["trip_time"] == pytest.approx(2 * found["round_trip"])  # four one-way trips


@given(st.floats(1e6, 1e13), st.floats(0.1, 1000), st.floats(1, 500), st.floats(0, 1e6), st.integers(2, 5000))
def test_more_to_send_takes_longer_and_a_faster_link_shorter(
    parameters: float, bandwidth: float, round_trip: float, overlap: float, every: int
) -> None:
    given_ = {"parameters": parameters, "bandwidth": bandwidth, "round_trip": round_trip, "overlap": overlap, "every": every}
    now = measures(**given_)
    assert measures(**given_ | {"parameters": 2 * parameters})["sync_time"] >= now["sync_time"]
    assert measures(**given_ | {"bandwidth": 2 * bandwidth})["sync_time"] <= now["sync_time"]
    assert now["sync_time"] >= 0
    assert now["sync_time"] == pytest.approx(max(now["sending_time"] + now["trip_time"] - overlap, 0))


@pytest.mark.parametrize("mode", MODES)
def test_a_proposal_of_each_mode_is_good_and_sends_what_it_synchronises(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD + "# the end\n")
    proposal = roi.load(path)
    regions = list(proposal.sites["proposed"])
    found = read(regions, Job(7e9, bandwidth=10, round_trip=100), mode)
    planned = update(found.findings, str(path), [f"proposed.{each}" for each in regions], found.mode)
    planned.save()
    assert path.read_text().startswith(GOOD.splitlines()[0])
    assert "# the end" in path.read_text()
    changed = roi.load(path)
    assert changed.mode is not None
    assert changed.mode.kind == mode
    steps, sent = changed.number("steps_per_sync"), changed.site_number("proposed", regions[0], "egress_per_sync")
    # two regions: 14 GB x 8 / 10 Gbit/s = 11.2 s and 0.1 s on the way
    expected = {"placement_only": (1, 0, 0), "sync_cross_region": (1, 14, 11_300), "low_comm": (500, 14, 11_300)}
    assert (steps, sent, changed.number("sync_time")) == expected[mode]
    result = roi.evaluate(changed)
    syncs = result["steps_per_run"] / steps * result["runs_per_month"]
    proposed = [index for index, (fleet, _) in enumerate(changed.regions) if fleet == "proposed"]
    assert [result["sync_egress"][index] for index in proposed] == pytest.approx([sent * syncs] * len(proposed))
    assert result["step_time_saved"] == pytest.approx(result["latency_saved"] - changed.number("sync_time") / steps)


@pytest.mark.parametrize(
    ("regions", "job", "message"),
    [
        (("us-central1", "europe-west5"), {}, "nothing was measured of 'europe-west5'; did you mean europe-west"),
        (("us-central1",), {}, "name two or more regions, each once"),
        (("us-central1", "us-central1"), {}, "name two or more regions, each once"),
        (("us-central1", "europe-north1"), {}, "no bandwidth was measured from us-central1 to europe-north1"),
        (PAIR, {"parameters": 0}, "--parameters: 0 cannot be; write 1 or more"),
        (PAIR, {"parameters": float("nan")}, "--parameters: nan cannot be"),
        (PAIR, {"bandwidth": -1}, "--bandwidth: -1 cannot be"),
        (PAIR, {"overlap": -5}, "--overlap: -5 cannot be"),
        (PAIR, {"every": 1}, "--every: 1 cannot be; write 2 or more"),
    ],
)
def test_what_cannot_be_is_refused(regions: tuple[str, ...], job: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(regions, Job(**({"parameters": 7e9} | job)))  # type: ignore[arg-type]


def test_the_interval_is_of_all_links_of_the_ring() -> None:
    # Measured were 4.681 and 5.642 Gbit/s one way, 3.154 and 7.232 the other; in the worst case all wait for 3.154.
    here, there = "europe-west4", "asia-southeast1"
    measured = [links()[BANDWIDTH, *pair].values for pair in ((here, there), (there, here))]
    low, high = min(min(each) for each in measured), min(max(each) for each in measured)
    found = read((here, there), Job(7e9), "sync_cross_region")
    sync = next(each for each in found.findings if each.input == "sync_time")
    trip = links()[ROUND_TRIP, here, there].median
    assert (sync.low, sync.high) == pytest.approx((14 * 8 / high * 1000 + trip, 14 * 8 / low * 1000 + trip))


def test_where_all_of_it_overlaps_that_is_said() -> None:
    found = read(("here", "there"), Job(7e9, bandwidth=14, round_trip=50, overlap=8_050), "low_comm")
    sync = next(each for each in found.findings if each.input == "sync_time")
    assert sync.base == 0
    assert "of which 8,050 ms overlap with computing" in sync.source
    assert any(note.startswith("All of a synchronisation, 8,050 ms, is taken to overlap") for note in found.notes)


def test_a_bandwidth_of_your_own_is_not_laid_at_anothers_door() -> None:
    sync = next(each for each in read(PAIR, Job(7e9, bandwidth=4.35), "low_comm").findings if each.input == "sync_time")
    assert "4.35 Gbit/s (as given), 103.2 ms round trip (Skyplane" in sync.source
    assert (sync.dated, sync.measured) == (None, False)


def test_a_ring_that_the_proposal_does_not_have_is_refused(run: Run, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    command = ("evidence", "network", "us-central1", "asia-southeast1", "--parameters", "7e9", "--mode", "low_comm")
    assert "'proposed.asia-southeast1' is no site of this proposal" in refused(run(*command, "--write", str(path)))


def test_a_mode_that_is_empty_is_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(re.sub("mode: .*", "mode:", GOOD))
    found = read(PAIR, Job(7e9), "low_comm")
    update(found.findings, str(path), [f"proposed.{each}" for each in PAIR], found.mode).save()
    assert "mode: {kind: low_comm}" in path.read_text()


def test_regions_that_nobody_measured_take_measurements_of_your_own() -> None:
    assert measures("here", "there", bandwidth=14, round_trip=50)["sync_time"] == pytest.approx(8_050)  # 14 GB x 8 / 14 + 0.05 s


def test_the_command_shows_the_arithmetic(run: Run) -> None:  # noqa: F811
    out = run("evidence", "network", *PAIR, "--parameters", "7e9", "--bandwidth", "4.35").out
    assert "14 GB x 8 / 4.35 Gbit/s = 25.75 s, and 2 x 103.2 ms / 2 = 0.1 s on the way" in out
    assert "Over a dedicated link of 100 Gbit/s the sending would take 1.12 s." in out
    found = json.loads(run("evidence", "network", *PAIR, "--parameters", "7e9", "--json").out)
    assert found["total"] == 5 == sum(each["count"] for each in found["accounts"])


def test_the_command_asks_which_mode_it_writes(run: Run) -> None:  # noqa: F811
    assert "--write: each mode has its own values" in refused(
        run("evidence", "network", *PAIR, "--parameters", "7e9", "--write", "two-region")
    )
