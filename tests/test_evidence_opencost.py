"""OpenCost: utilisation and unit costs from allocations, with the arithmetic beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roi.evidence.evidence import Evidence
from roi.evidence.opencost import read
from roi.problems import InputError
from tests.mutations import mutated

ANSWER = {
    "code": 200,
    "data": [
        {
            "train/llm": {
                "name": "train/llm",
                "properties": {"cluster": "one"},
                "start": "2026-08-01T00:00:00Z",
                "end": "2026-09-01T00:00:00Z",
                "cpuCost": 20,
                "gpuCost": "240.0",
                "gpuHours": 100,
                "gpuEfficiency": 0.5,
                "pvByteHours": 730e12,
                "pvCost": 40,
                "totalCost": 300,
            },
            "web": {"properties": {"cluster": "one"}, "end": "2026-09-01T00:00:00Z", "cpuCost": 7.25, "totalCost": "7.25"},
            "__idle__": {
                "properties": {"cluster": "one"},
                "end": "2026-09-01T00:00:00Z",
                "gpuCost": 60,
                "cpuCost": 3,
                "totalCost": 63,
            },
        }
    ],
}
DEFAULTS = {"provider": "custom", "description": "List", "CPU": "0.03", "RAM": "0.004", "GPU": "0.95", "storage": "0.00005"}

Make = Callable[[Any], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes an answer, or bytes, as a file."""

    def write(content: Any) -> Path:
        path = tmp_path / "answer.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def adds_up(found: Evidence) -> None:
    assert sum(each.count for each in found.accounts) == found.total
    if found.total_amount is not None:
        assert sum((each.amount or Decimal(0) for each in found.accounts), Decimal(0)) == found.total_amount


def allocation(**fields: Any) -> dict[str, Any]:
    return {"data": [{"a": {"totalCost": 1} | fields, "b": {"totalCost": 2}}]}


def test_what_an_answer_says_of_inputs(make: Make) -> None:
    found = read([make(ANSWER)])
    assert {(each.input, each.base, each.count, each.place, each.dated) for each in found.findings} == {
        ("utilisation", 0.8, 3, "one", date(2026, 9, 1)),  # 240 / (240 + 60)
        ("gpu_price", 2.4, 1, "one", date(2026, 9, 1)),  # 240 / 100, of what has GPU-hours
        ("storage_price", 0.04, 1, "one", date(2026, 9, 1)),  # 730e12 byte-hours are 1,000 GB-months: 40 / 1,000
    }
    assert [(each.name, each.value) for each in found.measures] == [("gpu_used.one", 0.5)]
    assert any("requested over requested and idle GPU cost" in note and "need not be used" in note for note in found.notes)
    assert [(each.fate, each.why, each.count, each.amount) for each in found.accounts] == [
        ("read", "allocations", 2, Decimal("307.25")),
        ("read", "idle allocations", 1, Decimal(63)),
    ]
    assert found.total_amount == Decimal("370.25")


def test_each_cluster_by_itself_and_each_step_of_the_window_counted(make: Make) -> None:
    step = {"x": {"properties": {"cluster": "two"}, "gpuCost": 10, "gpuHours": 5, "gpuCostAdjustment": -2.5, "totalCost": 7.5}}
    later = {"x": {"properties": {"cluster": "two"}, "gpuCost": 20, "gpuHours": 5, "totalCost": 20}}
    found = read([make({"data": [*ANSWER["data"], step, None, {}, later]})])  # type: ignore[misc]
    # 10 - 2.5 + 20 over 10 GPU-hours
    assert [(each.place, each.base) for each in found.findings if each.input == "gpu_price"] == [("one", 2.4), ("two", 2.75)]
    assert [each.place for each in found.findings if each.input == "utilisation"] == ["one"]
    assert any("includeIdle=true" in note for note in found.notes)
    adds_up(found)


def test_default_prices_are_text_and_storage_is_per_hour(make: Make) -> None:
    found = read([make(DEFAULTS)])
    assert {(each.input, each.base, each.basis) for each in found.findings} == {
        ("gpu_price", 0.95, "on-demand"),
        ("vcpu_price", 0.03, "on-demand"),
        ("storage_price", 0.0365, "list"),  # 0.00005 x 730
    }
    assert [(each.fate, each.count) for each in found.accounts] == [("read", 3), ("set aside", 3)]
    assert found.total_amount is None


@pytest.mark.parametrize(
    ("content", "why", "amount"),
    [
        (allocation(gpuHours="many"), "allocations whose gpuHours is no number", Decimal(1)),
        (allocation(gpuCost=[1]), "allocations whose gpuCost is no number", Decimal(1)),
        (allocation(totalCost="NaN"), "allocations without a totalCost that is a number", None),
        (allocation(totalCost=None), "allocations without a totalCost that is a number", None),
        (
            b'{"data": [{"a": {"totalCost": NaN}, "b": {"totalCost": 2}}]}',
            "allocations without a totalCost that is a number",
            None,
        ),
        ({"data": [{"a": 7, "b": {"totalCost": 2}}]}, "allocations without a totalCost that is a number", None),
        ({"data": [{"b": {"totalCost": 2}}, "x"]}, "allocations without a totalCost that is a number", None),
    ],
)
def test_what_is_not_understood_is_listed(make: Make, content: Any, why: str, amount: Decimal | None) -> None:
    found = read([make(content)])
    assert [(each.fate, each.why, each.amount) for each in found.accounts] == [
        ("read", "allocations", Decimal(2)),
        ("not understood", why, amount),
    ]
    adds_up(found)


def test_repetitions_are_set_aside_with_their_amount(make: Make) -> None:
    path = make(ANSWER)
    found = read([path, path])
    assert (found.total, found.total_amount) == (6, Decimal("740.50"))
    assert found.accounts[-1].amount == Decimal("370.25")
    assert [each.base for each in found.findings] == [each.base for each in read([path]).findings]


def test_parts_that_differ_from_the_total_are_said(make: Make) -> None:
    assert any("In 2 allocations the parts" in note for note in read([make(allocation(cpuCost=0.5))]).notes)


def test_a_figure_that_no_input_can_have_is_left_out(make: Make) -> None:
    found = read([make(allocation(gpuCost=10_000, gpuHours=1, totalCost=10_000))])
    assert found.findings == ()
    assert any("GPU price: 10000" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02", "is binary"),
        (b'{"code": 200, "data": [{"a"', "is not JSON, or is cut off: Expecting ':' delimiter in line 1"),
        (b"BilledCost,EffectiveCost\n1,2\n", "is not JSON"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"data": [{"a": {}, "a": {}}]}', "is damaged: 'a' stands twice in one object"),
        (b'{"code": 400, "message": "bad window"}', "is JSON without allocations: code, message"),
        (b'{"data": []}', "is JSON without allocations: data"),
        (b"[1, 2]", "is JSON without allocations"),
        (b"7", "is JSON without allocations"),
        (b'{"data": [{"a": {}}]}', "nothing can be read: not understood: 1 allocations without a totalCost that is a number"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(make: Make, content: bytes, found: str) -> None:
    path = make(content)
    with pytest.raises(InputError) as refused:
        read([path])
    [message] = str(refused.value).splitlines()
    assert message.startswith(f"{path}: ")
    assert found in message
    assert "expected is an answer of OpenCost's allocation API" in message


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.decimals(-1e6, 1e6, places=5).map(str),
    st.sampled_from(["NULL", "1,5", "x", [], {}, "2026-08-01", "9999-99-99"]),
)
NAMES = ["cpuCost", "gpuCost", "gpuHours", "gpuEfficiency", "pvCost", "pvByteHours", "totalCost", "properties", "end", "x"]
ALLOCATIONS = st.dictionaries(
    st.sampled_from(["a", "b", "__idle__", "GPU"]), st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES
)


@settings(max_examples=300)
@given(sets=st.lists(ALLOCATIONS | VALUES, max_size=4))
def test_read_and_set_aside_and_not_understood_are_the_file(tmp_path_factory: pytest.TempPathFactory, sets: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "law.json"
    path.write_text(json.dumps({"data": [*sets, {"one": {"totalCost": 1}}]}))
    found = read([path])
    adds_up(found)
    assert all(each.base > 0 for each in found.findings)


@settings(max_examples=300)
@given(data=st.data())
def test_whatever_happens_to_a_file_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    content = data.draw(st.sampled_from([ANSWER, DEFAULTS]))
    path.write_bytes(mutated(json.dumps(content).encode(), data.draw(st.randoms(use_true_random=False))))
    try:
        adds_up(read([path]))
    except InputError as refused:
        assert str(refused).startswith(str(path))  # noqa: PT017 - the law has two outcomes
