"""Proposals drawn at random for Hypothesis: every input over its range, one to six sites in each fleet."""

from __future__ import annotations

from hypothesis import strategies as st

from roi.inputs import Input, inputs
from roi.proposals import Proposal
from roi.values import Value


def numbers(row: Input) -> st.SearchStrategy[float]:
    """Values of one input: its range's ends, its default, zero where allowed, and what lies on its slider."""
    low, high = row.range
    edges = [each for each in (low, row.default, 0.0, min(high, row.slider[1])) if low <= each <= high]
    if row.whole:
        return st.sampled_from(edges) | st.integers(int(low), int(high)).map(float)
    # A millionth is as fine as anyone writes; beside a billion, less would vanish in rounding.
    fine = st.floats(max(low, row.slider[0]), min(high, row.slider[1]), allow_nan=False).map(lambda value: round(value, 6))
    return st.sampled_from(edges) | fine


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    rows = inputs().values()
    scalars = {row.name: Value(base=draw(numbers(row))) for row in rows if row.axis == "scalar"}
    sites: dict[str, dict[str, dict[str, Value]]] = {}
    for fleet in ("baseline", "proposed"):
        weights = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
        sites[fleet] = {
            f"region-{index}": {row.name: Value(base=draw(numbers(row))) for row in rows if row.axis == "site"}
            | {"share": Value(base=weight / sum(weights))}
            for index, weight in enumerate(weights)
        }
    return Proposal("drawn", "Drawn at random", "nobody", "nothing", scalars, sites)
