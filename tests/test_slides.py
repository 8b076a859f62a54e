"""The slides: what they say is what the model says, their charts can be edited, and text stays text."""

import io

import pytest
from pptx import Presentation
from pptx.util import Inches

import roi
from roi import words
from roi.reading import shipped
from roi.results import Result
from roi.slides import presentation
from tests.test_sheet import HOSTILE, hostile_proposal


def opened(proposal):
    return Presentation(io.BytesIO(presentation(proposal)))


def texts(slide):
    return [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]


def charts(slide):
    return [shape.chart for shape in slide.shapes if shape.has_chart]


@pytest.mark.parametrize("key", shipped())
def test_the_first_slide_holds_the_decision_the_verdict_and_the_numbers(key):
    result = roi.evaluate(roi.load(key))
    slide = opened(result.proposal).slides[0]
    assert slide.shapes.title.text_frame.text == result.proposal.name
    said = "\n".join(texts(slide))
    assert words.verdict(result) in said
    assert f"To decide: {result.proposal.decision}." in said
    for name in words.TILES:
        assert words.show_line(result, name) in said


def test_the_cumulative_chart_can_be_edited_and_holds_the_models_numbers():
    result = Result(roi.load("two-region"))
    line, _ = charts(opened(result.proposal).slides[1])
    (series,) = line.plots[0].series
    assert list(series.values) == pytest.approx(result["cumulative"].tolist())
    assert list(line.plots[0].categories) == [str(month) for month in range(19)]


@pytest.mark.parametrize("changes", [{}, {"latency_saved": 90}, {"latency_saved": -60}])
def test_the_bars_of_the_bridge_are_as_long_as_its_amounts_and_end_at_the_net_gain(changes):
    result = roi.evaluate(roi.load("two-region"), changes)
    _, bars = charts(opened(result.proposal).slides[1])
    pieces = {series.name: list(series.values) for series in bars.plots[0].series}
    lengths = [above - below for above, below in zip(pieces["Above zero"], pieces["Below zero"], strict=True)]
    amounts = [result.release_benefit_total, result.saving_benefit_total, result.running_cost_total, result.upfront_total]
    assert lengths == pytest.approx([*map(abs, amounts), abs(result.net_gain)], abs=1e-6)
    ends = [base + above or below + under for base, above, below, under in zip(*pieces.values(), strict=True)]
    assert ends[-1] == pytest.approx(result.net_gain)


def test_the_assumptions_have_their_sources():
    slide = opened(roi.load("two-region")).slides[2]
    (table,) = [shape.table for shape in slide.shapes if shape.has_table]
    rows = [[cell.text_frame.text for cell in row.cells] for row in table.rows]
    assert rows[0] == ["Assumption", "Value", "Plausible", "Source", "Date", "Owner"]
    assert len(rows) == 1 + len(words.main_inputs())
    assert rows[2][:3] == ["Value of a release day", "$250K/day", "$100K to $400K/day"]
    assert all(all(row) for row in rows)
    assert words.LEFT_OUT in "\n".join(texts(slide))


def test_nothing_lies_outside_the_slide():
    deck = opened(roi.load("two-region"))
    assert deck.slide_width == Inches(13.333)
    for slide in deck.slides:
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.left + shape.width <= deck.slide_width
            assert shape.top + shape.height <= deck.slide_height


def test_text_comes_out_as_the_same_text():
    deck = opened(hostile_proposal())
    assert deck.slides[0].shapes.title.text_frame.text == " ".join(HOSTILE)
    (table,) = [shape.table for shape in deck.slides[2].shapes if shape.has_table]
    assert [table.cell(2, column).text_frame.text for column in (3, 5)] == HOSTILE[:2]
