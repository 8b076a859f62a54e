"""Three slides for a director, with charts and a table that PowerPoint can edit: the decision, the cash, the assumptions."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_TICK_LABEL_POSITION
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Inches, Pt

import roi
from roi import words
from roi.alternatives import alternative_result, known_alternative
from roi.board.page import assumptions, flags, tiles, versus
from roi.charts import data
from roi.proposals import Proposal
from roi.results import Result
from roi.simulate import on_a_page

INK, QUIET, RULE, GAIN, LOSS, WHITE = map(RGBColor.from_string, ("16191D", "5C6670", "D9DEE3", "1A5F9E", "C86E1B", "FFFFFF"))
LEFT, WIDTH = Inches(0.7), Inches(11.93)
MILLIONS, THOUSANDS = '$#,##0.0,,"M";-$#,##0.0,,"M"', '$#,##0,"K";-$#,##0,"K"'
TITLE_ONLY = 5
"""The layout of the built-in template that holds a title and nothing else."""


def presentation(proposal: Proposal) -> bytes:
    """The proposal as a .pptx file of three slides in 16:9."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(13.333), Inches(7.5)
    deck.core_properties.title, deck.core_properties.author = proposal.name, proposal.owner
    result = Result(proposal)
    _decision(_slide(deck, proposal.name), result)
    _cash(_slide(deck, "Where the money comes from and goes"), result)
    _assumptions(_slide(deck, "What this rests on"), result)
    target = io.BytesIO()
    deck.save(target)
    return target.getvalue()


def _slide(deck: Any, title: str) -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    place = slide.shapes.title
    place.left, place.top, place.width, place.height = LEFT, Inches(0.45), WIDTH, Inches(0.8)
    place.text_frame.word_wrap = True
    place.text_frame.margin_left = 0
    place.text_frame.vertical_anchor = MSO_ANCHOR.TOP
    _write(place.text_frame.paragraphs[0], title, 26 if len(title) < 60 else 20, bold=True)
    return slide


def _write(paragraph: Any, text: str, size: float, color: RGBColor = INK, bold: bool = False) -> None:
    paragraph.text = text
    font = paragraph.font
    font.size, font.bold, font.name, font.color.rgb = Pt(size), bold, "Arial", color
    paragraph.alignment = PP_ALIGN.LEFT


def _text(slide: Any, top: float, height: float, text: str, size: float, color: RGBColor = INK) -> None:
    _box(slide, LEFT, Inches(top), WIDTH, Inches(height), [(text, size, color, False)])


def _box(slide: Any, left: int, top: int, width: int, height: int, lines: list[tuple[str, float, RGBColor, bool]]) -> None:
    frame = slide.shapes.add_textbox(left, top, width, height).text_frame
    frame.word_wrap = True
    frame.margin_left = frame.margin_right = 0
    for index, (text, size, color, bold) in enumerate(lines):
        paragraph = frame.paragraphs[0] if not index else frame.add_paragraph()
        _write(paragraph, text, size, color, bold)


def _footer(slide: Any, result: Result) -> None:
    _text(slide, 6.95, 0.3, f"roi {roi.__version__}. Inputs {result.proposal.fingerprint[:12]}. {date.today()}.", 10, QUIET)


def _decision(slide: Any, result: Result) -> None:
    """The verdict, the numbers, and what else could be done."""
    proposal, alternative = result.proposal, known_alternative()
    _text(slide, 1.35, 0.4, f"To decide: {proposal.decision}. Asked by {proposal.owner}.", 14, QUIET)
    _text(slide, 1.85, 0.9, words.verdict(result), 22)
    _text(slide, 2.75, 0.5, words.odds_sentence(on_a_page(proposal)[2]), 15)
    shown = [
        (label, words.show_line(result, name), result[name] if name in ("net_gain", "npv") else 0)
        for name, label in tiles(result)
    ]
    other = alternative_result(proposal, alternative)
    shown.append(("Net gain against doing nothing", versus(result, None), result["net_gain"]))
    if other:
        shown.append((f"Against: {other.proposal.name}", versus(result, other), result["net_gain"] - other["net_gain"]))
    for index, (label, value, sign) in enumerate(shown):
        left, top = LEFT + Inches(4.1) * (index % 3), Inches(3.5) + Inches(1.35) * (index // 3)
        color = GAIN if sign > 0 else LOSS if sign < 0 else INK
        _box(slide, left, top, Inches(3.8), Inches(1.2), [(label, 13, QUIET, False), (value, 26, color, True)])
    odd = flags(result, date.today())
    if odd:
        _text(slide, 6.3, 0.6, "Odd but possible: " + " ".join(odd), 10.5, LOSS)
    _footer(slide, result)


def _cash(slide: Any, result: Result) -> None:
    """Cumulative cash by month and the bridge to the net gain, both as native charts."""
    money = MILLIONS if max(abs(result["cumulative"])) >= 2e6 else THOUSANDS
    months = CategoryChartData(number_format=money)
    months.categories = [str(month) for month in range(len(result["cumulative"]))]
    months.add_series("Cumulative cash", [float(value) for value in result["cumulative"]])
    _box(slide, LEFT, Inches(1.35), Inches(5.8), Inches(0.4), [("Cumulative cash by month", 14, INK, True)])
    line = _chart(slide, XL_CHART_TYPE.LINE, LEFT, months)
    line.value_axis.tick_labels.number_format, line.value_axis.tick_labels.number_format_is_linked = money, False
    series = line.plots[0].series[0]
    series.smooth = False
    series.format.line.color.rgb, series.format.line.width = INK, Pt(2.5)

    # A bridge is a bar that stands on an invisible one; where it crosses zero, it is two bars, one on each side.
    rows = data(result)["bridge"]["parts"]
    steps = CategoryChartData(number_format=money)
    steps.categories = [f"{row['label']}  {row['text']}" for row in rows]
    pieces: dict[str, list[float]] = {"Base": [], "Above zero": [], "Base below": [], "Below zero": []}
    end = 0.0
    for row in rows:
        start, end = (0.0, row["amount"]) if row["kind"] == "total" else (end, end + row["signed"])
        low, high = min(start, end), max(start, end)
        pieces["Base"].append(max(low, 0.0))
        pieces["Above zero"].append(max(high, 0.0) - max(low, 0.0))
        pieces["Base below"].append(min(high, 0.0))
        pieces["Below zero"].append(min(low, 0.0) - min(high, 0.0))
    for name, values in pieces.items():
        steps.add_series(name, values)
    _box(slide, Inches(6.9), Inches(1.35), Inches(5.8), Inches(0.4), [("Over the horizon", 14, INK, True)])
    bars = _chart(slide, XL_CHART_TYPE.BAR_STACKED, Inches(6.9), steps)
    bars.plots[0].gap_width, bars.plots[0].overlap = 60, 100
    bars.category_axis.reverse_order = True
    bars.value_axis.tick_label_position = XL_TICK_LABEL_POSITION.NONE  # the amounts stand with the words
    for one in bars.plots[0].series:
        if one.name.startswith("Base"):
            one.format.fill.background()
            continue
        for index, row in enumerate(rows):
            fill = one.points[index].format.fill
            fill.solid()
            fill.fore_color.rgb = {"gain": GAIN, "loss": LOSS, "total": INK}[row["kind"]]
    payback = words.show_line(result, "payback_month")
    sustained = words.show_line(result, "payback_sustained")
    lasting = "" if sustained == payback else f" Back to stay: {sustained}."
    _text(slide, 6.35, 0.4, f"Payback: {payback}.{lasting} Peak cash out: {words.show_line(result, 'peak_cash_out')}.", 14)
    _footer(slide, result)


def _chart(slide: Any, kind: Any, left: int, contents: CategoryChartData) -> Any:
    chart = slide.shapes.add_chart(kind, left, Inches(1.75), Inches(5.8), Inches(4.5), contents).chart
    chart.has_legend = chart.has_title = False
    chart.font.size, chart.font.name, chart.font.color.rgb = Pt(11), "Arial", QUIET
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    chart.category_axis.format.line.color.rgb = INK
    chart.value_axis.major_gridlines.format.line.color.rgb = RULE
    chart.value_axis.format.line.fill.background()
    return chart


def _assumptions(slide: Any, result: Result) -> None:
    """The main assumptions with source, date and owner, and what is left out."""
    main = words.main_inputs()
    rows = [row for row in assumptions(result.proposal) if row["path"] in main]
    rows.sort(key=lambda row: main.index(row["path"]))
    heads = {"label": "Assumption", "value": "Value", "spread": "Plausible", "source": "Source", "date": "Date", "owner": "Owner"}
    table = slide.shapes.add_table(len(rows) + 1, len(heads), LEFT, Inches(1.35), WIDTH, Inches(0.4 * (len(rows) + 1))).table
    table.horz_banding = False
    for column, width in enumerate((2.7, 1.65, 1.95, 3.3, 1.05, 1.28)):
        table.columns[column].width = Inches(width)
    for at, row in enumerate([heads, *rows]):
        for column, field in enumerate(heads):
            cell = table.cell(at, column)
            cell.margin_top = cell.margin_bottom = Inches(0.03)
            cell.margin_left = cell.margin_right = Inches(0.05)
            cell.fill.solid()
            cell.fill.fore_color.rgb = RULE if not at else WHITE
            _write(cell.text_frame.paragraphs[0], row[field], 10.5, bold=not at or field == "value")
    _text(slide, 6.15, 0.7, f"Left out: {words.LEFT_OUT}", 10.5, QUIET)
    _footer(slide, result)
