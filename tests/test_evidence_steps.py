"""Step times from logs: each format with an answer computed by hand, what is set aside, and what is refused."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roi import InputError
from roi.evidence import Evidence, stream
from roi.evidence.step_logs import step_times
from roi.evidence.steps import RESAMPLES, read, resampled
from tests.mutations import mutated

Make = Callable[[str | bytes], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a file, each time another one."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / f"log-{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def megatron(number: int, ms: float, more: str = "") -> str:
    return f" iteration {number:8d}/    1000 | consumed samples:  4 | elapsed time per iteration (ms): {ms} | loss: 8 |{more}\n"


def aside(found: Evidence) -> dict[str, int]:
    return {each.why: each.count for each in found.accounts if each.fate == "set aside" and "without" not in each.why}


def step_time(found: Evidence) -> float:
    assert found.findings[0].input == "step_time"
    return found.findings[0].base


def refused(*arguments: object) -> str:
    with pytest.raises(InputError) as error:
        read(*arguments)  # type: ignore[arg-type]
    return str(error.value)


# Each format: a file, the median in ms of what is kept, how many are kept, and what is set aside. 100, 110 and 120 are the steps.
CSV = "step,step_time_ms,loss\n1,100,2.5\n2,110,2.4\n3,120,2.3\n"
NANOGPT = """\
compiling the model... (takes a ~minute)
step 0: train loss 10.9, val loss 10.9
iter 0: loss 10.9896, time 5432.10ms, mfu -100.00%
iter 1: loss 10.5, time 100.00ms, mfu 12.10%
iter 2: loss 10.4, time 110.00ms, mfu 12.10%
step 3: train loss 9.9, val loss 9.9
saving checkpoint to out
iter 3: loss 10.2, time 900.00ms, mfu 12.10%
iter 4: loss 10.1, time 120.00ms, mfu 12.10%
"""
NEMO = """\
Training epoch 0, iteration 0/9 | global_batch_size: 32 | global_step: 0 | train_step_timing in s: 7.126
Training epoch 0, iteration 1/9 | global_batch_size: 32 | global_step: 1 | train_step_timing in s: 0.1 | consumed_samples: 64
Training epoch 0, iteration 2/9 | global_batch_size: 32 | global_step: 2 | train_step_timing in s: 0.11 | val_loss: 4.1
Training epoch 0, iteration 3/9 | global_batch_size: 32 | global_step: 3 | train_step_timing in s: 0.12
"""
PROGRESS_BAR = "".join(
    f"\rEpoch 0: :  {step}%|█ | {step}/100 [00:30<04:30, loss=10.9, global_step={step}.00, train_step_timing in s={seconds}]"
    for step, seconds in ((1, "0.100"), (1, "0.100"), (2, "0.110"), (3, "1.20e-1"))
)
TORCHTITAN = "".join(
    f"[rank{rank}]:\x1b[36m2026-05-18 16:04:46,{338 + ms} - root - INFO - step: {step:2}  loss: 3.2  tps: 7,282\x1b[0m\n"
    for step, ms in ((1, 0), (2, 100), (3, 210), (4, 330))
    for rank in (0, 1)
)
TRAINER_STATE = json.dumps(
    {
        "global_step": 100,
        "log_history": [
            {"loss": 2.5, "step": 50},
            {"eval_loss": 2.4, "eval_runtime": 3.0, "step": 50},
            {"train_runtime": 14.0, "step": 100},
        ],
    }
)


def mllog(*events: tuple[float, str, object]) -> str:
    lines = []
    for time, key, value in events:
        metadata = {"file": "x.py", "lineno": 1} | ({"samples_count": value} if "block" in key or "eval" in key else {})
        lines.append(
            ":::MLLOG " + json.dumps({"namespace": "", "time_ms": time, "key": key, "value": value, "metadata": metadata})
        )
    return "\n".join(lines) + "\n"


# A block of 10 steps of 120 ms and one of 20 steps of 105 ms: 3300 ms over 30 steps are 110 ms a step.
MLPERF = mllog(
    (1714897671342, "global_batch_size", 8),
    (1714897700000, "run_start", None),
    (1714897700000, "block_start", 0),
    (1714897701200, "block_stop", 80),
    (1714897701200, "eval_start", 80),
    (1714897701500, "eval_stop", 80),
    (1714897701500, "block_start", 80),
    (1714897703600, "block_stop", 240),
    (1714897703600, "run_stop", None),
)
FORMATS: dict[str, tuple[str | bytes, int, dict[str, int]]] = {
    "Megatron-LM": (
        megatron(10, 2152.2) + megatron(20, 100.0) + megatron(30, 110.0) + "saving checkpoint at iteration 30\n"
        + megatron(40, 950.0) + megatron(50, 120.0, " number of skipped iterations:   1 |")
        + megatron(60, 90.0, " number of skipped iterations:   6 |"),
        3,
        {"warm-up": 1, "checkpoint": 1, "skipped updates": 1},
    ),
    "Megatron-LM, seconds": (
        "".join(f"[default7]: iteration {n}/ 9 | elapsed time per iteration (s): {0.09 + n / 100:.2f} |\n" for n in (1, 2, 3)),
        3,
        {},
    ),
    "nanoGPT": (NANOGPT, 3, {"warm-up": 1, "evaluation": 1}),
    "NeMo": (NEMO, 3, {"warm-up": 1}),
    "NeMo, a progress bar": (PROGRESS_BAR + "\n", 3, {"of the same step again, printed twice or by another rank": 1}),
    "torchtitan": (
        TORCHTITAN,
        3,
        {"from which the clock runs": 1, "of the same step again, printed twice or by another rank": 4},
    ),
    "MLPerf": (MLPERF, 30, {"evaluation": 1}),
    "Hugging Face": (TRAINER_STATE, 100, {"evaluation": 1}),
    "CSV": (CSV, 3, {}),
    "CSV with semicolons": (CSV.replace(",", ";").replace("step_time_ms", "Tag;Step time (ms)").replace(";1", ";;1"), 3, {}),
    "CSV in seconds, with a byte-order mark": ("\ufeffIteration,seconds per step\n1,0.1\n2,0.11\n3,0.12\n", 3, {}),
    "gzip": (gzip.compress(NANOGPT.encode()), 3, {"warm-up": 1, "evaluation": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_gives_the_answer_computed_by_hand(make: Make, name: str) -> None:
    content, kept, set_aside = FORMATS[name]
    found = read(make(content))
    assert step_time(found) == pytest.approx(110)
    assert found.findings[0].count == kept
    assert aside(found) == set_aside
    assert sum(each.count for each in found.accounts) == found.total
    assert all(each.fate != "not understood" for each in found.accounts)
    text = gzip.decompress(content) if name == "gzip" else content.encode() if isinstance(content, str) else content
    if found.records == "lines":
        assert found.total == len(text.splitlines())


def test_the_ends_of_the_spread_are_the_10th_and_the_90th_percentile(make: Make) -> None:
    found = read(make("step,step_time_ms\n" + "".join(f"{n},{100 + n}\n" for n in range(11)))).findings[0]
    assert (found.base, found.low, found.high, found.covers) == (105, 101, 109, 0.8)


def test_blocks_count_by_their_steps(make: Make) -> None:
    # 20 of 30 steps took 105 ms: that is the 10th percentile, and 120 ms the 90th.
    found = read(make(MLPERF))
    assert (found.findings[0].low, found.findings[0].high) == (105, 120)
    assert found.findings[0].dated == date(2024, 5, 5)
    assert "a run of 3.6 s = 3.3 s of training + 0.3 s of evaluation." in found.notes[0]
    assert found.total_amount == pytest.approx(3.6)


def test_a_log_says_its_day(make: Make) -> None:
    text = "cuda 2019-13-45 00:00:00\n[before the start] datetime: 2021-05-23 08:41:05\n" + "".join(
        megatron(n, 100.0) for n in range(3)
    )
    assert read(make(text)).findings[0].dated == date(2021, 5, 23)
    assert read(make(TORCHTITAN)).findings[0].dated == date(2026, 5, 18)


# --- what is in the way -----------------------------------------------------------------------------------------------------


def test_a_slow_step_stays_unless_something_explains_it(make: Make) -> None:
    times = [100.0, 101, 99, 100, 500, 100, 101, 99, 100, 500, 100]
    lines = [megatron(n, ms) for n, ms in enumerate(times, 1)]
    lines[4] = "validation loss at iteration 4 | lm loss value: 8.0 |\n" + lines[4]
    found = read(make("".join(lines)))
    assert aside(found) == {"evaluation": 1}
    assert found.findings[0].count == 10


def test_an_evaluation_that_slows_nothing_sets_nothing_aside(make: Make) -> None:
    assert aside(read(make("".join(f"checkpoint_activations = True\n{megatron(n, 100.0 + n % 3)}" for n in range(1, 9))))) == {}


def test_warm_up_ends_with_the_first_ordinary_step(make: Make) -> None:
    times = [9000.0, 800.0, 100.0, 800.0, 100.0, 101.0, 99.0, 100.0]
    assert aside(read(make("".join(megatron(n, ms) for n, ms in enumerate(times, 1))))) == {"warm-up": 2}


def test_a_restart_is_warm_up_again_and_what_it_prints_again_counts_once(make: Make) -> None:
    first = "".join(megatron(n, 100.0 + n) for n in range(1, 21))
    again = megatron(11, 900.0) + "".join(megatron(n, 130.0 + n) for n in range(12, 21))
    found = read(make(first + again))
    assert aside(found) == {"warm-up": 1}
    assert found.findings[0].count == 29
    assert any("goes back 1 times" in note for note in found.notes)
    twice = read(make(first + first))
    assert aside(twice) == {"printed again after a restart": 20}
    assert step_time(twice) == step_time(read(make(first)))


def test_lines_of_other_ranks_do_not_look_like_restarts(make: Make) -> None:
    lines = "".join(
        f"{rank}: {megatron(step, 100 + step + rank / 10)}"
        for block in (1, 4)
        for rank in range(3)
        for step in range(block, block + 3)
    )
    found = read(make(lines))
    assert aside(found) == {"of another rank": 8, "of the same step again, printed twice or by another rank": 4}
    assert found.findings[0].count == 6
    assert step_time(found) == pytest.approx(103.5)


def test_line_numbers_before_the_lines_are_no_ranks(make: Make) -> None:
    assert read(make("".join(f"{100 + n}:{megatron(n, 100.0)}" for n in range(1, 9)))).findings[0].count == 8


def test_interleaved_lines_colours_and_carriage_returns_do_not_break_it(make: Make) -> None:
    text = "".join(
        f"\x1b]0;title\x07\x1b[32m{megatron(n, 100.0 + n).rstrip()} WARNING: slow\x1b[0m\r\nTraceback (most recent):\r{n}%"
        for n in range(1, 4)
    )
    found = read(make(text))
    assert (step_time(found), found.findings[0].count) == (102, 3)
    assert found.total == 7


def test_damaged_lines_are_counted_and_shown(make: Make) -> None:
    path = make(
        megatron(1, 100.0) + megatron(2, 110.0) + megatron(3, 0.0) + " iteration 4/ 9 | elapsed time per iteration (ms): 1"
    )
    found = read(path)
    unclear = {each.why: each for each in found.accounts if each.fate == "not understood"}
    assert unclear["damaged or cut off"].examples == (f"{path}:4",)
    assert unclear["with a time that is not above zero"].examples == (f"{path}:3",)
    assert found.total == 4 == sum(each.count for each in found.accounts)


def test_rows_without_a_time_are_set_aside_and_damaged_ones_counted(make: Make) -> None:
    found = read(make(CSV + "4,,2\n5,oops,2\n6\n"))
    assert {(each.fate, each.count) for each in found.accounts} == {("read", 3), ("set aside", 1), ("not understood", 2)}
    assert found.total == 6


# --- what is refused --------------------------------------------------------------------------------------------------------

REFUSED = [
    ("", "is empty; expected is a training log of"),
    ("\ufeff \n\n", "is empty"),
    (b"\x00\x01\x02" * 100, "is binary"),
    (b"PK\x03\x04 workbook", "is binary"),
    (gzip.compress(NANOGPT.encode())[:60], "is packed by gzip, and cut off or damaged"),
    ("apiVersion: v1\nkind: Pod\n", "holds no step's time in its 2 lines, the first of which is 'apiVersion: v1'"),
    ("x" * 3_000_000, "has a line of more than 1,048,576 bytes"),
    (megatron(1, 100.0) + NANOGPT, ":4: holds step times of Megatron-LM from line 1 on, and of nanoGPT here; keep"),
    (megatron(1, 100.0) + MLPERF, "holds step times of Megatron-LM from line 1 on, and of MLPerf here"),
    (megatron(1, 0.0), "holds 1 lines of Megatron-LM, and no step with a time above zero"),
    (megatron(10, 90.0, " number of skipped iterations:  10 |"), "each would have to be set aside"),
    (megatron(1, 1.3806), "has a median step of 1.381 ms, which is short for a training step: are these s?"),
    ("step,step_time_s\n1,1380.6\n", "has a median step of 1,381 s, which is long for a training step: are these ms?"),
    ("step,step_time\n1,100\n", "has a column 'step_time' that does not say its unit; expected is step_time_ms or step_time_s"),
    ("step,loss\n1,2.5\n", "has the columns step, loss, and among them not one column of step times, but 0"),
    ("step,data_time_ms,comm_time_ms\n1,2,3\n", "among them not one column of step times, but 2"),
    ("step,iteration,time_ms\n1,2,3\n", "among them not one column of steps"),
    ("step,step_time_ms\n", "holds 0 rows of CSV, and no step with a time above zero"),
    (TRAINER_STATE.replace("train_runtime", "loss"), "has no usable train_runtime"),
    ('{"log_history": 3}', "has a log_history that is no list"),
    (TRAINER_STATE[:-20], "is not JSON, or is cut off"),
    (mllog((1e12, "run_start", None)), "holds 1 lines of MLPerf, and no step with a time above zero"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_what_cannot_be_read_is_refused_in_one_message(make: Make, content: str | bytes, message: str) -> None:
    said = refused(make(content))
    assert message in said
    assert "\n" not in said


def test_the_unit_may_be_given_where_a_file_does_not_say_it_or_seems_wrong(make: Make) -> None:
    unsaid = make("step,step_time\n1,0.1\n2,0.12\n")
    assert step_time(read(unsaid, None, "s")) == pytest.approx(110)
    assert step_time(read(make(megatron(1, 1.5)), None, "ms")) == 1.5
    assert "writes times in ms, where --unit says s" in refused(make(megatron(1, 100.0)), None, "s")
    assert "holds clock times, where --unit says s" in refused(make(MLPERF), None, "s")
    assert "'min' is no unit of step times" in refused(unsaid, None, "min")


def test_a_time_beyond_the_input_is_refused(make: Make) -> None:
    assert "out of range" in refused(make("step,step_time_s\n1,36000\n"), None, "s")


# --- two logs ---------------------------------------------------------------------------------------------------------------


def noisy(center: float, seed: int, count: int = 400) -> str:
    times = np.random.default_rng(seed).normal(center, 5, count)
    return "step,step_time_ms\n" + "".join(f"{n},{ms:.3f}\n" for n, ms in enumerate(times))


def test_two_logs_give_what_a_step_saves_with_an_interval(make: Make) -> None:
    found = read(make(noisy(200, 1)), make(noisy(170, 2)))
    time, saved = found.findings
    assert (time.input, saved.input, saved.covers, saved.count) == ("step_time", "latency_saved", 0.9, 800)
    # The median of n normal values has the standard deviation 1.2533 s / sqrt(n); of the difference of two 0.443 ms here.
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low < 30 < saved.high
    assert saved.high - saved.low == pytest.approx(2 * 1.645 * 1.2533 * 5 * np.sqrt(2 / 400), rel=0.2)
    assert "leaves zero out" in found.notes[-1]
    assert sum(each.count for each in found.accounts) == found.total == 800
    assert list(found.as_data()["measures"]) == ["baseline_mean", "candidate_mean"]


def test_an_interval_that_includes_zero_is_said_in_words(make: Make) -> None:
    found = read(make(noisy(200, 1)), make(noisy(200, 2)))
    assert "includes zero: these logs do not show that one is faster" in found.notes[-1]


def test_a_slower_candidate_is_a_negative_saving(make: Make) -> None:
    found = read(make(noisy(170, 1)), make(noisy(200, 2)))
    assert found.findings[1].base < 0
    assert "takes" in found.notes[-1]
    assert "ms more" in found.notes[-1]


def test_the_same_logs_give_the_same_interval(make: Make) -> None:
    one, other = make(noisy(200, 1)), make(noisy(170, 2))
    assert read(one, other) == read(one, other)


def test_a_log_of_one_time_gives_no_interval(make: Make) -> None:
    saved = read(make(TRAINER_STATE), make(TRAINER_STATE.replace("14.0", "13.0"))).findings[1]
    assert (saved.base, saved.low, saved.covers) == (pytest.approx(10), None, None)
    assert "one time for all steps" in saved.note


def test_logs_that_cannot_be_compared_are_refused(make: Make) -> None:
    other = NEMO.replace("global_batch_size: 32", "global_batch_size: 64")
    assert "have steps of 32 and of 64 samples, which are not the same work" in refused(make(NEMO), make(other))
    assert "is one of the two in another unit?" in refused(make(noisy(20, 1)), make(noisy(20_000, 2)))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 15, 16])
def test_resampled_medians_are_distributed_as_those_of_drawn_resamples(make: Make, count: int) -> None:
    values = np.random.default_rng(3).gamma(2, 50, count) + 100
    log = step_times(make("step,step_time_ms\n" + "".join(f"{n},{ms}\n" for n, ms in enumerate(values))))
    assert log.ms.size == count
    quick = resampled(log, np.random.default_rng(1))
    drawn = np.median(np.random.default_rng(2).choice(values, (RESAMPLES, count)), axis=1)
    shares = np.linspace(0.05, 0.95, 19)
    assert np.searchsorted(np.sort(drawn), np.quantile(quick, shares), side="right") / RESAMPLES == pytest.approx(
        np.searchsorted(np.sort(quick), np.quantile(quick, shares), side="right") / RESAMPLES, abs=0.02
    )


# --- TensorBoard ------------------------------------------------------------------------------------------------------------


def events(path: Path, *points: tuple[int, float, str, float]) -> Path:
    """An event file with points of curves: step, clock, tag and value."""
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(path))
    for step, clock, tag, value in points:
        writer.add_event(Event(step=step, wall_time=clock, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])))
    writer.close()
    return next(path.iterdir())


def test_tensorboard_events_with_a_step_time(tmp_path: Path) -> None:
    points = [(n, 1e9 + n, tag, value) for n in (1, 2, 3) for tag, value in (("lr", 1.0), ("iteration-time", 0.09 + n / 100))]
    found = read(events(tmp_path, *points))
    assert step_time(found) == pytest.approx(110)
    assert (found.total, found.findings[0].dated) == (6, date(2001, 9, 9))


def test_tensorboard_events_by_the_clock(tmp_path: Path) -> None:
    clock = 1e9 + np.cumsum([0, 1.0, 1.1, 1.2, 5.0])
    points = [(10 * n, at, "train/loss", 2.0) for n, at in enumerate(clock)]
    points.insert(4, (30, clock[3] + 1, "eval/loss", 2.0))
    found = read(events(tmp_path, *points))
    assert step_time(found) == pytest.approx(110)
    assert aside(found) == {"evaluation": 1, "from which the clock runs": 1, "of other curves": 1}


def test_tensorboard_events_cut_off_are_read_up_to_there(tmp_path: Path) -> None:
    path = events(tmp_path, *[(n, 1e9 + n, "iteration-time", 0.1) for n in range(1, 9)])
    path.write_bytes(path.read_bytes()[:-10])
    found = read(path)
    assert found.findings[0].count == 7
    assert "bytes after the last whole event are damaged or cut off" in found.notes[1]


def test_tensorboard_events_without_training_are_refused(tmp_path: Path) -> None:
    assert "with 1 curves, none of training" in refused(events(tmp_path, (1, 1e9, "eval/loss", 2.0)))


def test_tensorboard_events_need_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = events(tmp_path, (1, 1e9, "train/loss", 2.0))
    monkeypatch.setitem(__import__("sys").modules, "tensorboard.util.tensor_util", None)
    assert "need tensorboard: pip install 'roi[tensorboard]'" in refused(path)


# --- laws -------------------------------------------------------------------------------------------------------------------


def test_a_log_five_times_as_long_takes_no_more_memory(make: Make) -> None:
    peaks = []
    for size in (2, 10):
        path = make((megatron(1, 100.0) + "a line of something else\n" * 30_000) * size)
        tracemalloc.start()
        read(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_the_size_of_the_chunks_does_not_matter(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make((NANOGPT * 3).replace("\n", "\r\n"))
    whole = read(path)
    monkeypatch.setattr(stream, "CHUNK", 7)
    # The day is looked for in the first chunk alone, and there is none here.
    assert read(path) == whole


@given(st.lists(st.floats(50, 5000), min_size=1, max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_thousand_times_longer_steps_give_a_thousand_times_the_answer(make: Make, times: list[float]) -> None:
    one = step_times(make("step,time_ms\n" + "".join(f"{n},{ms}\n" for n, ms in enumerate(times))))
    other = step_times(make("step,time_s\n" + "".join(f"{n},{ms}\n" for n, ms in enumerate(times))))
    assert other.ms == pytest.approx(one.ms * 1000)
    assert one.aside == other.aside


SEEDS = [content.encode() if isinstance(content, str) else content for content, _, _ in FORMATS.values()]


@given(st.lists(st.sampled_from(SEEDS), min_size=1, max_size=2), st.integers(0, 2**32))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_file_gives_evidence_that_adds_up_or_one_message(make: Make, contents: list[bytes], seed: int) -> None:
    path = make(mutated(b"".join(contents), Random(seed)))
    with suppress(InputError):
        found = read(path)
        assert sum(each.count for each in found.accounts) == found.total
        assert found.findings[0].count > 0
    path.unlink()
