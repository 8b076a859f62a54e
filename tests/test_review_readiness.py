"""Readiness: the gate over series, the bounds of each threshold, what is refused and flagged, the checklist and the scorecard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roi.__main__ import app
from roi.problems import InputError
from roi.review import readiness
from roi.review.readiness import Measured, Readiness, evaluate, statistic
from roi.review.readiness_criteria import NONE, SHIPPED, Answer, Answers, answers, criteria
from roi.review.readiness_series import read
from roi.review.readiness_view import section
from tests.mutations import mutated

ASKED = criteria()
START = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = 3600


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "series.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Make = Callable[..., Path]


def at(seconds: float, zone: timezone = UTC) -> str:
    return (START.astimezone(zone) + timedelta(seconds=seconds)).isoformat()


def table(column: str, values: Sequence[Any], step: int = HOUR, zone: timezone = UTC) -> str:
    """A CSV whose samples begin on 1 May 2026 at midnight UTC and are so many seconds apart."""
    return f"time,{column}\n" + "".join(f"{at(step * index, zone)},{value}\n" for index, value in enumerate(values))


def matrix(*series: tuple[dict[str, str], Sequence[Any]], step: int = HOUR) -> str:
    """An answer of Prometheus to a range query."""
    rows = [
        {"metric": labels, "values": [[START.timestamp() + step * index, str(value)] for index, value in enumerate(values)]}
        for labels, values in series
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rows}})


def gate(*given: Path | str) -> dict[str, Measured]:
    return {each.threshold.name: each for each in evaluate(ASKED, read([str(each) for each in given])).gate}


def refused(*given: Path | str) -> list[str]:
    with pytest.raises(InputError) as error:
        read([str(each) for each in given])
    return [str(problem) for problem in error.value.problems]


def days(costs: Sequence[float]) -> str:
    return table("cost_usd", costs, 24 * HOUR)


# --- the gate ---------------------------------------------------------------------------------------------------------------


def test_a_week_of_latencies_fails_and_says_by_how_much(make: Make) -> None:
    # 240 samples, each a millisecond above the last: the P95 lies at place 0.95 x 239 = 227.05, so it is 227.05 + 6.95 = 234, and
    # 234 - 200 = 34. At 42 minutes each they make 168 hours.
    values = [index + 6.95 for index in range(240)]
    Random(1).shuffle(values)
    found = gate(make(table("latency_ms", values, 42 * 60)))["latency"]
    assert found.number == pytest.approx(234)
    assert found.verdict == "fail"
    assert found.remedy == "P95 must fall by more than 34 ms, to under 200 ms"
    assert found.window == "2026-05-01 00:00 to 2026-05-08 00:00 UTC, 7 days, 240 samples"


@pytest.mark.parametrize(("latency", "verdict"), [(199.999999, "pass"), (200, "fail"), (200.000001, "fail")])
def test_exactly_the_threshold_of_latency_is_not_under_it(make: Make, latency: float, verdict: str) -> None:
    found = gate(make(table("latency_ms", [latency] * 200)))["latency"]
    assert found.verdict == verdict
    assert found.shown == f"{latency} ms"  # never rounded to the threshold
    if latency == 200:
        assert found.remedy == "P95 must fall, however little: exactly 200 ms is not under"


@pytest.mark.parametrize("column", ["utilisation", "utilisation_percent"])
@pytest.mark.parametrize(("share", "verdict"), [(0.849999, "fail"), (0.85, "fail"), (0.850001, "pass")])
def test_exactly_the_threshold_of_utilisation_is_not_above_it(make: Make, share: float, verdict: str, column: str) -> None:
    value = share if column == "utilisation" else round(share * 100, 6)
    found = gate(make(table(column, [value] * 168)))["utilisation"]
    assert (found.verdict, found.number) == (verdict, pytest.approx(share))


def test_utilisation_counts_each_sample_for_the_time_until_the_next(make: Make) -> None:
    # The usual step is the median of 4, 2 and 4 hours, and the last sample counts for it.
    rows = [(0, 0.9), (4, 0.6), (6, 0.9), (10, 0.6)]
    found = gate(make("time,utilisation\n" + "".join(f"{at(HOUR * hour)},{share}\n" for hour, share in rows)))["utilisation"]
    # (0.9 x 4 + 0.6 x 2 + 0.9 x 4 + 0.6 x 4) / 14 = 10.8 / 14
    assert found.number == pytest.approx(10.8 / 14)


def test_the_variance_of_cost_is_the_deviation_of_complete_days_over_their_mean(make: Make) -> None:
    # Seven days of 90 and seven of 110: mean 100, sum of squares 14 x 100, over 13 = 107.69, deviation 10.377: 10.38 %.
    found = gate(make(days([90, 110] * 7)))["cost"]
    assert found.number == pytest.approx((1400 / 13) ** 0.5 / 100)
    assert found.verdict == "fail"
    assert found.remedy.startswith(
        "The coefficient of variation of daily cost must fall by more than 5.377 percentage points, to under 5 %"
    )
    assert "from $10.38 to under $5.00 at the mean of $100.00. Farthest from it is 2026-05-01 with $90.00" in found.remedy


def test_cost_of_hours_is_summed_by_day_and_partial_days_are_left_out(make: Make) -> None:
    # 15 days less an hour of 10 USD an hour: 14 complete days of 240 USD, all equal, so no variance; the 15th is incomplete.
    found = gate(make(table("cost_usd", [10] * (15 * 24 - 1))))["cost"]
    assert (found.number, found.verdict, found.days) == (0, "pass", 14)
    assert [cost for _, cost in found.by_day] == [240] * 14
    assert found.flags == ("1 incomplete day left out (2026-05-15).",)


def test_too_few_days_say_how_many_are_missing(make: Make) -> None:
    found = gate(make(days([100] * 12)))["cost"]
    assert (found.verdict, found.number) == ("not enough data", 0)
    assert found.remedy == "12 of 14 complete days; 2 more are needed"
    found = gate(make(table("latency_ms", [100] * 150)))["latency"]
    # 150 of 168 hours are 6.25 days.
    assert found.remedy == "6.25 days of 7 days; 18 h more are needed; 150 of 200 samples; 50 more are needed"


def test_without_data_nothing_is_known(make: Make) -> None:
    found = evaluate(ASKED)
    assert found.passed is None
    assert {each.verdict for each in found.gate} == {"not enough data"}
    assert readiness.answer(found) == "There is no data yet, so that nothing is known of readiness."


def test_the_gate_is_passed_when_all_three_are(make: Make) -> None:
    files = [
        make(table("latency_ms", [100] * 200), "a.csv"),
        make(table("utilisation", [0.9] * 168), "b.csv"),
        make(days([100] * 14), "c.csv"),
    ]
    found = evaluate(ASKED, read([str(each) for each in files]))
    assert found.passed is True
    assert readiness.answer(found).startswith("The gate is passed: ")
    assert evaluate(ASKED, read([str(files[0])])).passed is None
    slow = make(table("latency_ms", [300] * 200), "d.csv")
    assert evaluate(ASKED, read([str(slow)])).passed is False


def test_published_statistics() -> None:
    # NIST, Statistical Reference Datasets, NumAcc1: 10000001, 10000003, 10000002 have mean 10000002 and standard deviation 1.
    assert statistic("coefficient_of_variation", np.array([10000001.0, 10000003.0, 10000002.0]), np.ones(3)) == pytest.approx(
        1 / 10000002
    )
    # Microsoft, PERCENTILE.INC: of 1, 2, 3, 4 the 30th percentile is 1.9.
    assert statistic("p30", np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)) == pytest.approx(1.9)


def test_a_statistic_that_is_not_defined_is_none(make: Make) -> None:
    one, nothing = np.array([5.0]), np.zeros(3)
    assert statistic("coefficient_of_variation", one, one) is None
    assert statistic("coefficient_of_variation", nothing, np.ones(3)) is None
    assert statistic("time_weighted_mean", one, np.zeros(1)) is None
    assert "coefficient of variation is not defined" in gate(make(days([0] * 14)))["cost"].remedy


# --- Prometheus and OpenCost ------------------------------------------------------------------------------------------------


def gpus(*shares: Sequence[float], name: str = "DCGM_FI_DEV_GPU_UTIL") -> str:
    return matrix(*(({"__name__": name, "gpu": str(index)}, values) for index, values in enumerate(shares)))


def test_a_known_metric_is_converted_and_said(make: Make) -> None:
    found = gate(make(gpus([80] * 168, [100] * 168), "gpus.json"))["utilisation"]
    assert (found.number, found.verdict, found.series) == (0.9, "pass", 2)
    assert "2 series of DCGM_FI_DEV_GPU_UTIL: per cent" in found.flags[0]
    assert "divided by 100" in found.flags[0]
    share = make(gpus([0.8] * 168, [1] * 168, name="DCGM_FI_PROF_GR_ENGINE_ACTIVE"), "engine.json")
    assert gate(share)["utilisation"].number == 0.9


def test_what_a_metric_holds_may_stand_before_the_file(make: Make) -> None:
    path = make(matrix(({}, [0.15] * 200)), "p95.json")
    assert gate(f"latency_seconds={path}")["latency"].number == 150
    assert "write one of latency_ms" in refused(path)[0]
    assert "write one of latency_ms, latency_seconds before it" in refused(f"latency={path}")[0]
    assert "did you mean latency_ms?" in refused(f"latency_m={path}")[0]
    known = make(gpus([80] * 168), "gpus.json")
    assert gate(f"utilisation={known}")["utilisation"].number == 0.8
    assert "but DCGM_FI_DEV_GPU_UTIL is utilisation_percent" in refused(f"latency_ms={known}")[0]


def test_costs_an_hour_are_summed_over_time(make: Make) -> None:
    # Two nodes of 3 and 5 USD an hour, a sample every 6 h: 8 x 24 = 192 USD a day.
    nodes = [({"__name__": "node_total_hourly_cost", "node": name}, [rate] * 56) for name, rate in (("a", 3), ("b", 5))]
    found = gate(make(matrix(*nodes, step=6 * HOUR), "nodes.json"))["cost"]
    assert found.by_day[0][1] == 192
    assert (found.days, found.number, found.verdict) == (14, 0, "pass")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"status": "error", "error": "query timed out"}, "is an answer of Prometheus that failed: query timed out"),
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, "of the kind 'vector'; expected is a matrix"),
        ({"status": "success", "data": {"resultType": "matrix", "result": []}}, "holds no series"),
        (
            {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "histograms": []}]}},
            "native histograms are not read",
        ),
        ({"status": "success", "data": {"resultType": "matrix"}}, "of the kind 'matrix'"),
        ({"status": "success", "data": None}, "is JSON without allocations"),
        ({"hello": 1}, "is JSON without allocations"),
        ([], "is JSON without allocations"),
    ],
)
def test_an_answer_of_another_kind_is_refused(make: Make, answer: Any, message: str) -> None:
    assert message in refused(make(json.dumps(answer), "answer.json"))[0]


def test_mistakes_in_json_say_which_element(make: Make) -> None:
    good = json.loads(gpus([50, 60, 70]))
    values = good["data"]["result"][0]["values"]
    values[1], values[2] = [values[1][0], "+Inf"], [values[2][0] * 1000, "70"]
    found = refused(make(json.dumps(good), "gpus.json"))
    assert "data.result[0].values[1] has '+Inf' under utilisation_percent" in found[0]
    assert "data.result[0].values[2] has the time 1777600800000.0, which looks like milliseconds" in found[1]
    values[1], values[2] = [values[0][0], "60"], "70"
    found = refused(make(json.dumps(good), "gpus.json"))
    assert "data.result[0].values[2] is 70, and not a time and a value" in found[0]
    assert "data.result[0].values[1] has the time of gpus.json: data.result[0].values[0] again" in found[1]


def test_a_counter_is_no_gauge(make: Make) -> None:
    path = make(matrix(({"__name__": "step_seconds_sum"}, range(10))), "sum.json")
    assert "a counter by its name" in refused(f"latency_seconds={path}")[0]


def allocations(*steps: dict[str, float], end: float | None = None) -> str:
    """An answer of OpenCost with a step for each day; the last may end earlier."""
    found = []
    for index, step in enumerate(steps):
        window = {"start": at(24 * HOUR * index), "end": at(24 * HOUR * (index + 1))}
        until = window["end"] if end is None or index < len(steps) - 1 else at(24 * HOUR * index + end)
        rows = {
            name: {"name": name, "window": window, "start": window["start"], "end": until, "totalCost": cost}
            for name, cost in step.items()
        }
        found.append(rows)
    return json.dumps({"code": 200, "status": "success", "data": found})


def test_opencost_gives_the_cost_of_each_day_with_what_is_idle(make: Make) -> None:
    found = gate(make(allocations(*[{"train": 70.0, "__idle__": 30.0}] * 14), "allocation.json"))["cost"]
    assert [cost for _, cost in found.by_day] == [100] * 14
    assert found.verdict == "pass"


def test_the_step_of_today_is_not_a_complete_day(make: Make) -> None:
    found = gate(make(allocations(*[{"train": 70.0}] * 14, end=9 * HOUR), "allocation.json"))["cost"]
    assert found.remedy == "13 of 14 complete days; 1 more is needed"


def test_opencost_without_days_or_with_mistakes_is_refused(make: Make) -> None:
    month = {"a": {"window": {"start": at(0), "end": at(31 * 24 * HOUR)}, "totalCost": 5}}
    assert "has a cost for 31 days, which falls on two days or more" in refused(make(json.dumps({"data": [month]}), "a.json"))[0]
    assert "has no totalCost that is a number" in refused(make(json.dumps({"data": [{"a": {"totalCost": "x"}}]}), "a.json"))[0]
    assert (
        "says no time zone" in refused(make(json.dumps({"data": [{"a": {"totalCost": 1, "start": "2026-05-01"}}]}), "a.json"))[0]
    )
    good = allocations({"a": 1.0}, {"a": 1.0})
    assert "OpenCost's allocations hold cost_usd" in refused(f"latency_ms={make(good, 'a.json')}")[0]
    assert "is given twice" in refused(make(good, "a.json"), make(good, "b.json"))[0]


# --- what is refused --------------------------------------------------------------------------------------------------------


def row(time: str = at(0), value: str = "0.5") -> str:
    return f"time,utilisation\n{at(-HOUR)},0.5\n{time},{value}\n"


REFUSED = [
    (row(value="85"), 3, "85 under utilisation, and no more than all of it, 1, can be used; if per cent is meant, write 0.85"),
    (row(value="1.2"), 3, "no more than all of it"),
    (row(value="85%"), 3, "write it without the sign, 0.85 for 85 %"),
    (row(value="-0.1"), 3, "cannot be below zero"),
    (row(value="busy"), 3, "has 'busy' under utilisation, which is no finite number"),
    (row(value="inf"), 3, "no finite number"),
    (row(value="1e400"), 3, "no finite number of at most 15 digits before the point"),
    (f"time,cost_usd\n{at(0)},1e15\n", 2, "has '1e15' under cost_usd, which is no finite number of at most 15 digits before"),
    (f"time,cost_usd,series\n{at(0)},1,\u00e9\n".encode("latin-1"), 2, "has a byte that is not text in UTF-8"),
    (row("2026-05-01T10:00:00"), 3, "says no time zone; write it like 2026-05-01T10:00:00Z"),
    (row("2026-05-01"), 3, "says no time zone"),
    (row("2026-05-01T10:00:00+02:00"), 3, "has another time zone than line 2: UTC+02:00, and UTC there"),
    (row("yesterday"), 3, "has 'yesterday' as its time"),
    (row("1777593600000"), 3, "looks like milliseconds; divide it by 1000, to 1777593600"),
    (row("12"), 3, "in no year from 2002 to 5000"),
    (row(at(-HOUR)), 3, "has the time of series.csv:2 again; keep one of the two, or say in a column series"),
    (f"time,utilisation\n{at(0)}\n", 2, "rows with more or fewer values"),
    (f"time,utilisation\n{at(0)},\n", 2, "has no value that counts as utilisation"),
    (f"time,utilisation_percent\n{at(0)},101\n", 2, "no more than all of it, 100 %"),
    (
        f"time,latency\n{at(0)},1\n",
        None,
        "'latency' that does not say its unit; expected is a column named latency_ms or latency_seconds",
    ),
    (f"time,cost\n{at(0)},1\n", None, "does not say its unit; expected is a column named cost_usd or"),
    (f"time,load\n{at(0)},1\n", None, "has no column of a known name; its columns are time, load"),
    ("utilisation\n0.5\n", None, "has no column time"),
    ("time,utilisation\n", None, "has no row below the names"),
    (f"time,utilisation,utilisation\n{at(0)},1,1\n", None, "two columns utilisation"),
    ("", None, "is empty"),
    (b"\x00\x01\x02\x03", None, "is binary"),
    (b"%PDF-1.4", None, "is a PDF document"),
    ('{"status": "success", "data"', None, "is not JSON, or is cut off"),
    (table("cost_usd", [5, 5], 48 * HOUR), 2, "has a cost for 2 days, which falls on two days or more"),
]


@pytest.mark.parametrize(("content", "line", "message"), REFUSED, ids=[each[2][:40] for each in REFUSED])
def test_what_cannot_be_right_is_refused_with_its_line(make: Make, content: str | bytes, line: int | None, message: str) -> None:
    path = make(content)
    first = refused(path)[0]
    assert message in first
    assert first.startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_all_mistakes_are_said_in_one_go_and_no_more_than_can_be_read(make: Make) -> None:
    first, second = make(table("utilisation", [85] * 50), "a.csv"), make(table("latency_ms", ["x"]), "b.csv")
    found = refused(first, second)
    assert found[20] == f"{first}: has 30 more mistakes like these"
    assert refused(make(table("utilisation", [85] * 21), "c.csv"))[20].endswith(": has 1 more mistake like these")
    assert found[0].startswith(f"{first}:2:")
    assert found[-1].startswith(f"{second}:2:")


def test_what_is_given_twice_is_refused(make: Make) -> None:
    path = make(table("latency_ms", [100] * 3))
    assert refused(path, path) == [
        f"latency of {path} is given twice up to 2026-05-01 02:00:00 UTC, at series.csv:4 and series.csv:2; keep one, "
        "or end one where the other begins"
    ]
    late, early = gpus([50] * 3), gpus([50] * 5)
    assert "is given twice" in refused(make(late, "a.json"), make(early, "b.json"))[0]


def test_costs_whose_days_begin_at_other_times_are_refused(make: Make) -> None:
    files = [make(table("cost_usd", [1] * 48, zone=timezone(timedelta(hours=hours))), f"{hours}.csv") for hours in (0, 2)]
    assert "write both with one offset" in refused(*files)[0]


# --- what is flagged --------------------------------------------------------------------------------------------------------


def test_a_gap_is_not_filled_and_is_said_with_its_line(make: Make) -> None:
    # 0.9 for 100 h and, after 10 h without samples, for 58 h. If the 10 h were idle: 0.9 x 158 / 168 = 0.84643.
    lines = table("utilisation", [0.9] * 168).splitlines(keepends=True)
    found = gate(make("".join(lines[:101] + lines[111:])))["utilisation"]
    assert found.number == 0.9
    assert found.coverage == pytest.approx(158 / 168)
    assert found.verdict == "pass"
    assert found.flags == (
        "1 gap without samples, the time of which is not counted (10 h before series.csv:102).",
        "If all was idle in the gaps, 10 h over all series, the mean would be 84.64 %.",
    )


def test_a_window_with_too_many_gaps_has_not_enough_data(make: Make) -> None:
    lines = table("utilisation", [0.9] * 168).splitlines(keepends=True)
    found = gate(make("".join(lines[:51] + lines[71:])))["utilisation"]
    # 148 of 168 h are 88.1 %; 90 % of 168 h are 151.2 h, so 3.2 h are missing.
    assert found.verdict == "not enough data"
    assert found.remedy == "samples for 88.1 % of the window, of 90 %: samples for 3.2 h of it are missing"


@pytest.mark.parametrize("nothing", ["", "NaN", "null"])
def test_a_missing_value_counts_for_no_time(make: Make, nothing: str) -> None:
    found = gate(make(table("utilisation", [0.9, nothing, 0.5])))["utilisation"]
    assert found.number == pytest.approx(0.7)
    assert found.flags[0] == "1 sample without a value, the time of which is not counted (series.csv:3)."
    assert found.flags[1] == "1 gap without samples, the time of which is not counted (1 h before series.csv:4)."


def test_a_day_with_a_gap_is_no_complete_day(make: Make) -> None:
    lines = table("cost_usd", [10] * (15 * 24)).splitlines(keepends=True)
    del lines[30]  # hour 29 of the file, on 2 May
    found = gate(make("".join(lines)))["cost"]
    assert (found.days, found.verdict) == (14, "pass")
    assert "1 incomplete day left out (2026-05-02)." in found.flags


def test_a_running_total_gives_what_is_spent_between_its_readings(make: Make) -> None:
    # 10 USD an hour as a total: 24 x 10 a day; the last reading ends the 14th day.
    found = gate(make(table("cost_usd_total", [1000 + 10 * hour for hour in range(14 * 24 + 1)])))["cost"]
    assert [cost for _, cost in found.by_day] == [240] * 14
    assert found.verdict == "pass"


def test_a_counter_that_was_reset_leaves_its_day_out(make: Make) -> None:
    totals = [10 * hour for hour in range(15 * 24 + 1)]
    totals[50:] = [each - 495 for each in totals[50:]]  # at hour 50, on 3 May
    found = gate(make(table("cost_usd_total", totals)))["cost"]
    assert found.days == 14
    assert "1 fall of a running total (a reset): what was spent before it is not known (series.csv:52)." in found.flags
    assert "1 incomplete day left out (2026-05-03)." in found.flags


@pytest.mark.parametrize(
    ("content", "flag"),
    [
        (table("cost_usd", range(24)), "1 series of cost_usd that rise from nearly every sample to the next, as a counter does"),
        (table("latency_ms", [0.12] * 9), "1 series of latency_ms with a median below 1 ms: are these seconds"),
        (table("utilisation_percent", [0.85] * 9), "1 series of utilisation_percent that never exceed 1 %: are these shares"),
        (f"time,latency_ms,gpu\n{at(0)},5,a\n", "1 column not read (series.csv: gpu)."),
        (f"time,latency_ms\n{at(HOUR)},5\n{at(0)},5\n", "1 sample below a later one, put in order (series.csv:3)."),
    ],
)
def test_what_is_odd_is_flagged(make: Make, content: str, flag: str) -> None:
    found = evaluate(ASKED, read([str(make(content))]))
    assert any(flag in each for each in found.flags)
    assert flag in section(found).replace("&#39;", "'")


def test_several_series_in_one_table_and_days_in_their_own_zone(make: Make) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    midnight = datetime(2026, 5, 1, tzinfo=zone)
    lines = [
        f"{(midnight + timedelta(days=day)).isoformat()},{cost},{name}\n"
        for day in range(14)
        for name, cost in (("a", 40), ("b", 60))
    ]
    found = gate(make("time,cost_usd,series\n" + "".join(lines)))["cost"]
    assert [cost for _, cost in found.by_day] == [100] * 14
    assert found.window.startswith("2026-05-01 00:00 to 2026-05-15 00:00 UTC+05:30, 14 complete days")
    assert "Cost is the sum of 2 series; each cost should be in one of them alone." in found.flags


def test_series_that_are_absent_for_a_time_are_flagged(make: Make) -> None:
    found = gate(make(gpus([90] * 168, [90] * 100), "gpus.json"))["utilisation"]
    assert any("1 of 2 series begins later or ends earlier than the window" in flag for flag in found.flags)


# --- criteria, checklist and scorecard --------------------------------------------------------------------------------------


def test_the_shipped_criteria_are_those_of_the_review() -> None:
    found = criteria()
    bounds = {name: (each.statistic, each.words) for name, each in found.gate.items()}
    assert bounds == {
        "latency": ("p95", "under 200 ms"),
        "utilisation": ("time_weighted_mean", "above 85 %"),
        "cost": ("coefficient_of_variation", "under 5 %"),
    }
    assert found.scorecard["cost_efficiency"].weight == 2 * found.scorecard["feature_parity"].weight
    assert list(found.checklist) == ["idle_from_scheduling", "spot_share", "checkpoint_interval", "quota"]
    for threshold in found.gate.values():
        assert threshold.source.title.startswith("Kubeflow GPU Cluster Provisioning")


CHANGES = [
    ("threshold: 0.85", "threshold: 85", "gate: utilisation: threshold is 85, which is no share below 1; 85 % is 0.85"),
    (
        "threshold: 0.05\n    minimum",
        "threshold: 5\n    minimum",
        "gate: cost: threshold is 5, which is no share below 1; 5 % is 0.05",
    ),
    ("threshold: 200", "threshold: two", "gate: latency: threshold is 'two'; write a number"),
    ("threshold: 200", "threshold: .inf", "gate: latency: threshold is inf; write a number"),
    ("threshold: 200", "threshold: 0", "write a number above zero"),
    ("threshold: 200", "treshold: 200", "treshold is not known here; did you mean threshold?"),
    ("unit: ms", "unit: s", "gate: latency: unit is 's'; write 'ms'"),
    ("passes: above", "passes: under", "utilisation passes above its threshold"),
    ("statistic: p95", "statistic: average", "write p1 to p99, or time_weighted_mean"),
    ("statistic: coefficient_of_variation", "statistic: p95", "write coefficient_of_variation"),
    ("coverage: 0.9", "coverage: 90", "gate: utilisation: minimum.coverage is 90; write a number above 0 and at most 1"),
    ("days: 14", "days: 1", "one day has no deviation"),
    ("  utilisation:", "  utilization:", "'utilization' is not measured; did you mean utilisation?"),
    ("weight: 2", "weight: 0", "scorecard: cost_efficiency: weight is 0; write a number at least 0.001 and at most 1000"),
    (
        "weight: 2",
        "weight: 1e308",
        "scorecard: cost_efficiency: weight is 1e+308; write a number at least 0.001 and at most 1000",
    ),
    ("threshold: 1\n", "threshold: 85\n", "checklist: quota: threshold is 85, outside the range 0 to 10; 85 % is 0.85"),
    ("threshold: 0.5\n", "threshold: 50\n", "checklist: spot_share: threshold is 50, outside the range 0 to 1; 50 % is 0.5"),
    ("\ngate:\n", "\ngates:\n", "'gates' is not known in a file of criteria; did you mean gate?"),
    ("scorecard:\n", "scorecard: 3\nother:\n", "scorecard is empty or missing"),
    ("    label: Utilisation\n", "    label: Utilisation\n    label: Again\n", "'label' is given twice"),
    ("date: 2026-06-24", "date: June", "date is 'June'; write a date without quotes, like 2026-10-14"),
    ("unit: minute", "unit: minute*", "cannot read the unit"),
    ("label: Utilisation", "label: !!python/name:os.system x", "YAML tag"),
    ("\ngate:\n", "\ngate: [\n", "is not YAML"),
]


@pytest.mark.parametrize(("old", "new", "message"), CHANGES, ids=[each[1].strip()[:40] for each in CHANGES])
def test_a_mistake_in_the_criteria_is_refused_with_its_line(make: Make, old: str, new: str, message: str) -> None:
    text = SHIPPED.read_text()
    assert old in text
    path = make(text.replace(old, new, 1), "other.yaml")
    with pytest.raises(InputError) as error:
        criteria(path)
    problem = next(each for each in error.value.problems if message in each.message)
    assert problem.file == str(path)
    assert problem.line


def test_other_thresholds_and_weights_are_taken(make: Make) -> None:
    text = SHIPPED.read_text().replace("threshold: 200", "threshold: 90").replace("statistic: p95", "statistic: p50")
    asked = criteria(make(text.replace("weight: 2", "weight: 4"), "other.yaml"))
    series = read([str(make(table("latency_ms", [80, 100] * 100)))])
    found = evaluate(asked, series).gate[0]
    assert (found.number, found.remedy) == (90, "P50 must fall, however little: exactly 90 ms is not under")
    assert asked.scorecard["cost_efficiency"].weight == 4


def answered(make: Make, text: str) -> Readiness:
    return evaluate(ASKED, (), answers(make(text, "answers.yaml"), ASKED))


SCORES = "scores: {cost_efficiency: 0.8, feature_parity: 0.5, reliability: 0.7, operability: 0.6, security: 0.9}\n"


def test_the_scorecard_is_a_weighted_mean(make: Make) -> None:
    # (2 x 0.8 + 0.5 + 0.7 + 0.6 + 0.9) / (2 + 1 + 1 + 1 + 1) = 4.3 / 6
    assert answered(make, SCORES).score == pytest.approx(4.3 / 6)


def test_a_scorecard_with_a_missing_score_is_not_computed_and_names_it(make: Make) -> None:
    found = answered(make, SCORES.replace(", reliability: 0.7", ""))
    assert found.score is None
    assert readiness.scorecard_answer(found) == "Not computed: there is no score for reliability."


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5), st.floats(0.001, 1))
def test_cost_efficiency_moves_the_scorecard_twice_as_much_as_feature_parity(scores: list[float], more: float) -> None:
    def total(changed: str) -> float:
        given = {
            name: Answer(value=score + (more if name == changed else 0))
            for name, score in zip(ASKED.scorecard, scores, strict=True)
        }
        score = evaluate(ASKED, (), Answers({}, given)).score
        assert score is not None
        return score

    base = total("")
    assert total("cost_efficiency") - base == pytest.approx(2 * (total("feature_parity") - base), abs=1e-9)


@pytest.mark.parametrize(
    ("line", "verdict", "remedy"),
    [
        ("spot_share: 0.5", "pass", ""),
        ("spot_share: 0.51", "fail", "must fall by 1 percentage point, to at most 50 %"),
        ("checkpoint_interval: 90", "fail", "must fall by 30 minutes, to at most 60 minutes"),
        ("quota: 1", "pass", ""),
        ("quota: 0.75", "fail", "must rise by 25 percentage points, to at least 100 %"),
        ("idle_from_scheduling: {value: 0.02, source: waits of May, date: 2026-06-02}", "pass", ""),
    ],
)
def test_an_item_is_answered_by_a_measured_value(make: Make, line: str, verdict: str, remedy: str) -> None:
    name = line.split(":")[0]
    found = answered(make, f"checklist:\n  {line}\n")
    item = next(each for each in found.checklist if each.item.name == name)
    assert (item.verdict, item.remedy) == (verdict, remedy)
    assert {each.verdict for each in found.checklist if each is not item} == {"not answered"}
    assert ("Answered without a source" in " ".join(found.flags)) == ("source" not in line)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("checklist:\n  spot_share: 35\n", 2, "spot_share is 35, which is out of range; allowed is 0 to 1; 35 % is 0.35"),
        ("checklist:\n  quota: 85\n", 2, "quota is 85, which is out of range; allowed is 0 to 10; 85 % is 0.85"),
        ("checklist:\n  quota: 10.01\n", 2, "quota is 10.01, which is out of range; allowed is 0 to 10"),
        ("checklist:\n  spot_share: 35%\n", 2, "write the number alone: 0.35"),
        ("checklist:\n  spot_share: {value: true}\n", 2, "write a number alone"),
        ("checklist:\n  spot_share: {source: me}\n", 2, "spot_share is left empty"),
        ("checklist:\n  spot_share: {value: 0.3, sauce: me}\n", 2, "sauce is not known here; did you mean source?"),
        ("checklist:\n  spot_shares: 0.3\n", 2, "'spot_shares' is not asked; did you mean spot_share?"),
        ("checklist: 3\n", 1, "write one line `name: number`"),
        ("scores:\n  cost_efficiency: 4\n", 2, "cost_efficiency is 4, which is out of range; allowed is 0 to 1"),
        ("scores:\n  cost_efficiency: .nan\n", 2, "not a finite number"),
        ("score:\n  cost_efficiency: 1\n", 1, "'score' is not known in a file of answers; did you mean scores?"),
        ("", 1, "is empty"),
        ("- a\n", 1, "is no table"),
    ],
)
def test_a_mistake_in_the_answers_is_refused_with_its_line(make: Make, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        answered(make, text)
    assert message in str(error.value)
    assert error.value.problems[0].line == line


def test_a_share_far_above_the_whole_is_flagged(make: Make) -> None:
    # 8.5 times the GPUs that are needed is legal, and so is 8.5 % that was meant, which would fail.
    found = answered(make, "checklist: {quota: {value: 8.5, source: console}}\n")
    flag = (
        "Approved GPU quota over the GPUs that are needed: answered with 8.5, which is 850 %; if per cent is meant, write 0.085."
    )
    assert found.flags == [flag]
    assert flag in section(found)
    assert flag in CliRunner().invoke(app, ["readiness", "--answers", str(make("checklist: {quota: 8.5}\n", "q.yaml"))]).stdout
    assert answered(make, "checklist: {quota: {value: 2, source: console}}\n").flags == []


def test_a_score_that_is_hardly_per_cent_is_not_taken_for_it(make: Make) -> None:
    for score, hint in (("1.0001", ""), ("85", "; 85 % is 0.85")):
        with pytest.raises(InputError) as error:
            answered(make, f"scores:\n  security: {score}\n")
        assert str(error.value).endswith(f":2: scores: security is {score}, which is out of range; allowed is 0 to 1{hint}")


@pytest.mark.parametrize("weight", ["0.001", "1000"])
def test_weights_at_their_limits_give_a_mean(make: Make, weight: str) -> None:
    # All weigh the same: (0.8 + 0.5 + 0.7 + 0.6 + 0.9) / 5 = 0.7.
    text = SHIPPED.read_text().replace("weight: 2", f"weight: {weight}").replace("weight: 1\n", f"weight: {weight}\n")
    asked = criteria(make(text, "other.yaml"))
    assert evaluate(asked, (), answers(make(SCORES, "answers.yaml"), asked)).score == pytest.approx(0.7)


# --- command and view -------------------------------------------------------------------------------------------------------


def test_the_command_exits_0_for_a_gate_that_fails_and_prints_all(make: Make) -> None:
    path = make(table("latency_ms", [234] * 200))
    given = make(SCORES + "checklist: {quota: 0.5}\n", "answers.yaml")
    done = CliRunner().invoke(app, ["readiness", str(path), "--answers", str(given)])
    assert done.exit_code == 0
    for part in ("P95 is 234 ms, and must be under 200 ms", "by more than 34 ms", "2026-06-24", "must rise by 50", "0.7167 of 1"):
        assert part in done.stdout
    data = json.loads(CliRunner().invoke(app, ["readiness", str(path), "--json"]).stdout)
    assert data["passed"] is False
    assert data["gate"]["latency"] | {"number": 234, "verdict": "fail", "samples": 200} == data["gate"]["latency"]
    assert data["gate"]["cost"]["number"] is None
    assert data["scorecard"]["score"] is None


def test_the_view_says_what_the_command_says(make: Make) -> None:
    path = make(table("latency_ms", [234] * 200))
    found = evaluate(ASKED, read([str(path)]), NONE)
    page = section(found).replace("&#39;", "'")
    for part in ("234 ms", "under 200 ms", "P95 must fall by more than 34 ms, to under 200 ms", readiness.answer(found), "<svg"):
        assert part in page
    assert "no score" in page
    assert "not answered" in page


def test_the_view_without_data_shows_what_is_asked_and_how_to_give_it() -> None:
    page = section()
    assert page.count("no data yet") >= 3
    assert "roi readiness" in page
    assert "<svg" not in page


def test_what_a_file_says_is_escaped(make: Make) -> None:
    hostile = "<script>alert(1)</script>"
    path = make(f"time,latency_ms,series,{hostile}\n{at(0)},5,{hostile},1\n{at(HOUR)},5,{hostile},1\n{at(9 * HOUR)},5,b,1\n")
    assert "<script>" not in section(evaluate(ASKED, read([str(path)])))


# --- laws -------------------------------------------------------------------------------------------------------------------

shares = st.lists(st.floats(0, 1).map(lambda value: round(value, 6)), min_size=2, max_size=30)
no_fixture = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(shares)
@no_fixture
def test_per_cent_and_shares_in_any_order_say_the_same(make: Make, values: list[float]) -> None:
    first = gate(make(table("utilisation", values)))["utilisation"].number
    percent = gate(make(table("utilisation_percent", [round(value * 100, 4) for value in values])))["utilisation"].number
    head, *rows = table("utilisation", values).splitlines(keepends=True)
    shuffled = gate(make("".join([head, *Random(7).sample(rows, len(rows))])))["utilisation"].number
    text = "".join([f'[{START.timestamp() + HOUR * index}, "{value}"],' for index, value in enumerate(values)])
    answer = '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[' + text[:-1] + "]}]}}"
    assert percent == pytest.approx(first)
    assert shuffled == pytest.approx(first)
    assert gate(f"utilisation={make(answer, 'u.json')}")["utilisation"].number == pytest.approx(first)
    assert first is not None
    assert min(values) - 1e-9 <= first <= max(values) + 1e-9


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=20), st.integers(2, 1000))
@no_fixture
def test_cost_variance_is_the_same_in_any_currency_and_from_hours_or_days(make: Make, costs: list[int], rate: int) -> None:
    found = gate(make(days(costs)))["cost"].number
    assert gate(make(days([cost * rate for cost in costs])))["cost"].number == pytest.approx(found)
    hourly = [cost for cost in costs for _ in range(24)]
    assert gate(make(table("cost_usd", hourly)))["cost"].number == pytest.approx(found)
    assert gate(make(table("cost_usd_per_hour", hourly)))["cost"].number == pytest.approx(found)


@given(st.lists(st.floats(1, 1000), min_size=200, max_size=220))
@no_fixture
def test_a_latency_that_falls_by_what_is_said_passes_and_not_before(make: Make, values: list[float]) -> None:
    found = gate(make(table("latency_ms", values)))["latency"]
    assert found.number is not None
    assert (found.verdict == "pass") == (found.number < 200)
    if found.verdict == "fail" and found.number > 200:
        lower = [max(value - (found.number - 200) - 0.001, 0) for value in values]
        assert gate(make(table("latency_ms", lower)))["latency"].verdict == "pass"


SEEDS = [
    table("utilisation", [0.5, "", 0.7, 0.9]).encode(),
    table("cost_usd_total", [5, 6, 2, 9]).encode(),
    f"time;latency_ms;series\n{at(0)};1,5;a\n{at(60)};2,5;b\n".encode(),
    gpus([50, 60], [70, 80]).encode(),
    allocations({"a": 1.0}, {"a": 2.0, "__idle__": 1.0}).encode(),
]


@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_file_gives_a_verdict_or_one_message(make: Make, content: bytes, seed: int) -> None:
    path = make(mutated(content, Random(seed)))
    with suppress(InputError):
        found = evaluate(ASKED, read([str(path)]))
        json.loads(json.dumps(readiness.as_data(found), allow_nan=False))
        assert readiness.printed(found)


@given(st.integers(0, 2**32))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_criteria_are_read_or_refused(make: Make, seed: int) -> None:
    path = make(mutated(SHIPPED.read_bytes(), Random(seed)), "other.yaml")
    with suppress(InputError):
        evaluate(criteria(path))
