"""The spreadsheet back end: a proposal as a workbook whose formulas are the traced lines, live in any spreadsheet program.

Laid out as the FAST standard asks: inputs, workings, results and checks on sheets of their own, one column for each region or
month, one formula along each row, no number inside a formula but 0 and 1, no names, nothing volatile.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import numpy as np
import xlsxwriter  # type: ignore[import-untyped]
from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell  # type: ignore[import-untyped]
from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped]

import roi
from roi import words
from roi.inputs import Input, inputs, model
from roi.lines import NEVER, REDUCTIONS, Array, Axis, Line
from roi.problems import InputError
from roi.proposals import Proposal
from roi.results import ZERO, Result, arrays
from roi.symbols import Call, Constant, Name, Symbol, Writer
from roi.values import plausible

MONTHS = int(inputs()["horizon"].range[1]) + 1
"""Columns of the timeline: every month a horizon may reach, so that the horizon can be changed in the sheet."""

NO_MONTH = 1e99
"""What stands for a month that never comes: a spreadsheet has no infinity."""

FIRST = 4
"""The column of the first region or month; before it stand label, unit and name, and an empty column."""

VALUE = 2
"""The column of a value that is one number."""

INK, QUIET, RULE, ACCENT = "#16191d", "#5c6670", "#d9dee3", "#1a5f9e"

SHEETS: dict[Axis, str] = {"scalar": "Results", "site": "Sites", "month": "Timeline"}


@dataclass(frozen=True)
class Place:
    """Where a name stands: sheet, row, and how many columns it takes from `FIRST` on; none where it is one cell."""

    sheet: str
    row: int
    columns: int = 0

    def cell(self) -> str:
        return f"{self.sheet}!{xl_rowcol_to_cell(self.row, VALUE, row_abs=True, col_abs=True)}"

    def range(self) -> str:
        first, last = (xl_rowcol_to_cell(self.row, at, True, True) for at in (FIRST, FIRST + self.columns - 1))
        return f"{self.sheet}!{first}:{last}"


class Excel(Writer):
    """Writes a formula for the cell in one column; names become the cells where they stand."""

    functions = {"where": "IF", "maximum": "MAX", "minimum": "MIN", "total": "SUM", "lowest": "MIN", "highest": "MAX"}  # noqa: RUF012

    def __init__(self, places: dict[str, Place], column: int) -> None:
        self.places = places
        self.column = column

    def write(self, symbol: Symbol) -> str:
        if isinstance(symbol, Call) and symbol.operator in (*REDUCTIONS, "running"):
            (over,) = symbol.arguments
            assert isinstance(over, Name)
            place = self.places[over.name]
            if symbol.operator == "running":
                return f"SUM(${xl_col_to_name(FIRST)}{place.row + 1}:{xl_rowcol_to_cell(place.row, self.column)})"
            return f"{self.functions[symbol.operator]}({place.range()})"
        return super().write(symbol)

    def name(self, name: str) -> str:
        place = self.places[name]
        return xl_rowcol_to_cell(place.row, self.column) if place.columns else place.cell()

    def constant(self, constant: Constant) -> str:
        return self.places[constant.name].cell()

    def number(self, value: float) -> str:
        return f"{value:g}"

    def function(self, name: str, arguments: list[str]) -> str:
        return f"{self.functions[name]}({','.join(arguments)})"

    def operator(self, operator: str) -> str:
        return {"**": "^"}.get(operator, operator)


def workbook(proposal: Proposal) -> bytes:
    """The proposal as an .xlsx file, each formula stored with the value that Python computed; equal inputs give equal bytes."""
    target = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(target, options) as book:
        # A fixed time, so that the file is a function of its inputs.
        book.set_properties({"title": proposal.name, "author": proposal.owner, "created": datetime(2000, 1, 1, tzinfo=UTC)})
        _Sheets(book, proposal).write()
    return target.getvalue()


class _Worksheet(Worksheet):  # type: ignore[misc]
    """Looks for the names of new functions in a formula once, in however many workbooks the formula stands."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return _prepared(formula, expand_future_functions)


@lru_cache(maxsize=1 << 14)
def _prepared(formula: str, expand_future_functions: bool) -> str:
    return str(Worksheet()._prepare_formula(formula, expand_future_functions))


@cache
def constants() -> dict[str, Constant]:
    """The named constants that formulas use, by name."""
    numbers = [number.value for formula in model().formulas.values() for number in formula.numbers()]
    return {number.name: number for number in numbers if isinstance(number, Constant)}


class _Sheets:
    """Writes the sheets of one workbook."""

    def __init__(self, book: xlsxwriter.Workbook, proposal: Proposal) -> None:
        self.book = book
        self.proposal = proposal
        self.result = Result(proposal)
        self.values = arrays(proposal) | {"month": np.arange(float(MONTHS))[np.newaxis]}
        self.lines = model().evaluate(self.values)
        names = ("Cover", "Inputs", "Sites", "Timeline", "Results", "Checks", "Log")
        self.sheets = {name: book.add_worksheet(name, _Worksheet) for name in names}
        self.places: dict[str, Place] = {}
        self.formats: dict[tuple[Any, ...], Any] = {}

    def write(self) -> None:
        self.place_all()
        self.inputs()
        self.sites()
        self.timeline()
        self.results()
        self.checks()
        self.log()
        self.cover()
        for name, sheet in self.sheets.items():
            sheet.hide_gridlines(2)
            sheet.set_landscape()
            sheet.set_paper(9)
            sheet.fit_to_pages(1, 0)
            sheet.set_footer(f"&L{name}&Rpage &P of &N")

    # --- where everything stands ---

    def place_all(self) -> None:
        rows = {"Inputs": 3, "Sites": 4, "Timeline": 3, "Results": 3, "Checks": 3}

        def place(name: str, sheet: str, columns: int = 0) -> None:
            self.places[name] = Place(sheet, rows[sheet], columns)
            rows[sheet] += 1

        sites = len(self.proposal.regions)
        for row in inputs().values():
            if row.axis == "scalar":
                place(row.name, "Inputs")
        rows["Inputs"] += 3  # a gap, the title of the constants, and their heads
        for name in constants():
            place(name, "Inputs")
        place("tolerance", "Inputs")
        place("is_proposed", "Sites", sites)
        for row in inputs().values():
            if row.axis == "site":
                place(row.name, "Sites", sites)
        self.places["month"] = Place("Timeline", 2, MONTHS)
        rows["Sites"] += 1
        for name, line in model().lines.items():
            axis = model().axes[name]
            if axis == "scalar":
                place(name, "Checks" if line.check else "Results")
            else:
                place(name, SHEETS[axis], sites if axis == "site" else MONTHS)
        rows["Checks"] += 3
        for name in model().flags:
            place(f"any {name}", "Checks")

    # --- the sheets ---

    def inputs(self) -> None:
        sheet = self.sheets["Inputs"]
        self.title(sheet, "Inputs", "Blue cells are inputs: change them, and every other sheet follows.")
        heads = ["Input", "Unit", "Value", "Low", "High", "Allowed from", "Allowed to", "Source", "Owner", "Date", "Note", "Name"]
        self.heads(sheet, 2, heads)
        for row in inputs().values():
            if row.axis == "scalar":
                self.input(row)
        first = self.places[next(iter(constants()))].row
        self.text(sheet, first - 2, 0, "Constants", bold=True, bottom=0)
        self.heads(sheet, first - 1, ["Constant", "Unit", "Value"])
        units = {NEVER.name: "month"}
        for name, constant in constants().items():
            self.label(sheet, first, name.replace("_", " ").capitalize(), units.get(name, constant.unit), name, name_column=11)
            if math.isnan(constant):
                self.text(sheet, first, VALUE, words.SENTENCES["undefined"], align="right")
            elif constant == NEVER:
                self.number(sheet, first, VALUE, NO_MONTH, num_format='"never"', align="right")
            else:
                self.number(sheet, first, VALUE, float(constant), num_format="#,##0.##" if constant % 1 else "#,##0")
            first += 1
        self.label(sheet, first, "A check counts as zero below", "1", "tolerance", name_column=11)
        self.number(sheet, first, VALUE, ZERO, num_format="0.000")
        sheet.set_column(0, 0, 40)
        sheet.set_column(1, 1, 14)
        sheet.set_column(2, 6, 13)
        sheet.set_column(7, 7, 60)
        sheet.set_column(8, 9, 16)
        sheet.set_column(10, 10, 44)
        sheet.set_column(11, 11, 24)
        sheet.freeze_panes(3, 1)
        sheet.repeat_rows(2)

    def input(self, row: Input) -> None:
        sheet, at, value = self.sheets["Inputs"], self.places[row.name].row, self.proposal.inputs.get(row.name)
        low, high = plausible(row, value) or (None, None)
        source, owner, dated = row.source.title, row.source.owner, row.source.date
        if value:
            source, owner = value.source or "no source given", value.owner or "not named"
        self.label(sheet, at, row.label, row.unit, row.name, name_column=11)
        self.entry(sheet, at, VALUE, row, self.proposal.number(row.name))
        for column, number in ((3, low), (4, high), (5, row.range[0]), (6, row.range[1])):
            if number is not None:
                self.number(sheet, at, column, number, num_format=self.shown(row.unit, row), color=QUIET if column > 4 else INK)
        self.text(sheet, at, 7, source)
        self.text(sheet, at, 8, owner)
        self.text(sheet, at, 9, str((value.date if value else dated) or "no date given"))
        self.text(sheet, at, 10, row.note, color=QUIET)

    def sites(self) -> None:
        sheet, regions = self.sheets["Sites"], self.proposal.regions
        self.title(sheet, "Sites", "One column for each region of each fleet. Blue cells are inputs.")
        self.heads(sheet, 2, ["", "Unit", "Name", ""])
        for column, (fleet, region) in enumerate(regions, FIRST):
            self.text(sheet, 2, column, fleet, color=QUIET, align="right", bottom=0)
            self.text(sheet, 3, column, region, bold=True, align="right", bottom=1)
        at = self.places["is_proposed"].row
        self.label(sheet, at, "Belongs to the proposed fleet", "1", "is_proposed")
        for column, proposed in enumerate(self.values["is_proposed"][0], FIRST):
            self.number(sheet, at, column, float(proposed), num_format="0")
        for row in inputs().values():
            if row.axis == "site":
                at = self.places[row.name].row
                self.label(sheet, at, row.label, row.unit, row.name)
                for column, (fleet, region) in enumerate(regions, FIRST):
                    self.entry(sheet, at, column, row, self.proposal.site_number(fleet, region, row.name))
        for line in self.of_axis("site"):
            self.row(line)
        sheet.set_column(0, 0, 40)
        sheet.set_column(1, 1, 16)
        sheet.set_column(2, 2, 24)
        sheet.set_column(3, 3, 2)
        sheet.set_column(FIRST, FIRST + len(regions) - 1, 18)
        sheet.freeze_panes(4, FIRST)
        sheet.repeat_rows(2, 3)

    def timeline(self) -> None:
        sheet = self.sheets["Timeline"]
        self.title(sheet, "Timeline", "One column for each month; months beyond the horizon hold no cash.")
        self.heads(sheet, 2, ["Month", "Unit", "Name", "", *([""] * MONTHS)])
        for month in range(MONTHS):
            self.number(sheet, 2, FIRST + month, month, num_format="0", bold=True, bottom=1)
        for line in self.of_axis("month"):
            self.row(line)
        sheet.set_column(0, 0, 40)
        sheet.set_column(1, 1, 10)
        sheet.set_column(2, 2, 24)
        sheet.set_column(3, 3, 2)
        sheet.set_column(FIRST, FIRST + MONTHS - 1, 12)
        sheet.freeze_panes(3, FIRST)
        sheet.repeat_columns(0, 3)
        # A reader prints the months that count; the others are there for a longer horizon.
        last = max(place.row for place in self.places.values() if place.sheet == "Timeline")
        sheet.print_area(0, 0, last, FIRST + int(self.proposal.number("horizon")))

    def results(self) -> None:
        sheet = self.sheets["Results"]
        self.title(sheet, "Results", "Every line that is one number, each after those it reads.")
        self.heads(sheet, 2, ["Line", "Unit", "Value", "Formula", "Name"])
        for line in self.of_axis("scalar"):
            if not line.check:
                self.single(line)
        sheet.set_column(0, 0, 48)
        sheet.set_column(1, 1, 18)
        sheet.set_column(2, 2, 20)
        sheet.set_column(3, 3, 90)
        sheet.set_column(4, 4, 28)
        sheet.freeze_panes(3, 1)
        sheet.repeat_rows(2)

    def checks(self) -> None:
        sheet = self.sheets["Checks"]
        self.title(sheet, "Checks", "Each of these lines must be zero; what is odd but possible is counted below.")
        self.heads(sheet, 2, ["Check", "Unit", "Value", "Formula", "Name", "Answer"])
        for name in model().checks:
            self.single(model().lines[name])
            at = self.places[name].row
            self.verdict(sheet, at, 5, f"ABS({self.places[name].cell()})<{self.places['tolerance'].cell()}")
        last = self.places[model().checks[-1]].row
        self.text(sheet, last + 1, 0, "All checks", bold=True)
        self.verdict(sheet, last + 1, 5, self.all_hold())
        first = self.places[f"any {model().flags[0]}"].row
        self.heads(sheet, first - 1, ["Odd but possible", "", "How often"])
        for name in model().flags:
            at, place = self.places[f"any {name}"].row, self.places[name]
            self.label(sheet, at, model().lines[name].label, "1", name, name_column=4)
            formula = f"=SUM({place.range()})" if place.columns else f"={place.cell()}"
            sheet.write_formula(at, VALUE, formula, self.style(num_format="0"), float(self.lines[name].sum()))
        sheet.set_column(0, 0, 48)
        sheet.set_column(1, 1, 14)
        sheet.set_column(2, 2, 20)
        sheet.set_column(3, 3, 90)
        sheet.set_column(4, 5, 26)

    def log(self) -> None:
        sheet = self.sheets["Log"]
        self.title(sheet, "Log", "What this file was made from.")
        rows = [
            ("Made by", f"roi {roi.__version__}"),
            ("Proposal", self.proposal.key),
            ("Inputs, as a fingerprint", self.proposal.fingerprint),
            ("As exported", words.verdict(self.result)),
            *(("Odd but possible, as exported", flag) for flag in self.result.flags),
            ("Left out", words.LEFT_OUT),
        ]
        for at, (what, content) in enumerate(rows, 2):
            self.text(sheet, at, 0, what)
            self.text(sheet, at, 1, content)
        at = len(rows) + 4
        self.text(sheet, at - 1, 0, "Where the values of regions come from, as exported", bold=True)
        self.heads(sheet, at, ["Input", "Region", "Source", "Owner", "Date"])
        for fleet, region in self.proposal.regions:
            for name, value in self.proposal.sites[fleet][region].items():
                at += 1
                cells = [inputs()[name].label, f"{fleet}, {region}", value.source or "no source given"]
                for column, content in enumerate([*cells, value.owner or "not named", str(value.date or "no date given")]):
                    self.text(sheet, at, column, content)
        for row in inputs().values():
            if row.axis == "site":
                at += 1
                cells = [row.label, "where a region gives none", row.source.title, row.source.owner, str(row.source.date)]
                for column, content in enumerate(cells):
                    self.text(sheet, at, column, content)
        sheet.set_column(0, 0, 40)
        sheet.set_column(1, 1, 34)
        sheet.set_column(2, 2, 70)
        sheet.set_column(3, 4, 18)

    def cover(self) -> None:
        sheet, proposal = self.sheets["Cover"], self.proposal
        sheet.set_row(0, 28)
        self.text(sheet, 0, 0, proposal.name, bold=True, size=18, bottom=0)
        self.text(sheet, 1, 0, f"To decide: {proposal.decision}", color=QUIET, bottom=0)
        self.text(sheet, 2, 0, f"Asked by {proposal.owner}", color=QUIET, bottom=0)
        for at, name in enumerate(words.TILES, 4):
            line = model().lines[name]
            self.text(sheet, at, 0, line.label, size=12)
            style = self.style(num_format=self.shown(str(line.unit)), bold=True, size=12)
            sheet.write_formula(at, 1, f"={self.places[name].cell()}", style, self.stored(name, 0))
        at = 4 + len(words.TILES)
        self.text(sheet, at, 0, "All checks")
        self.verdict(sheet, at, 1, self.all_hold())
        self.text(sheet, at + 2, 0, "As exported: " + words.verdict(self.result), bottom=0)
        self.text(sheet, at + 3, 0, "The numbers above follow the inputs; this sentence does not.", color=QUIET, bottom=0)
        chart = self.book.add_chart({"type": "line"})
        months, cash = (self.places[name] for name in ("month", "cumulative"))
        last = FIRST + int(proposal.number("horizon"))
        chart.add_series(
            {
                "name": model().lines["cumulative"].label,
                "categories": ["Timeline", months.row, FIRST, months.row, last],
                "values": ["Timeline", cash.row, FIRST, cash.row, last],
                "line": {"color": ACCENT, "width": 2.25},
            }
        )
        chart.set_title({"name": "Cumulative cash by month", "name_font": {"size": 12}})
        chart.set_legend({"none": True})
        chart.set_x_axis({"label_position": "low", "name": "month"})
        chart.set_y_axis({"num_format": '$#,##0.0,,"M"', "major_gridlines": {"visible": True, "line": {"color": RULE}}})
        chart.set_size({"width": 860, "height": 320})
        sheet.insert_chart(at + 5, 0, chart, {"description": "Cumulative cash by month"})
        sheet.set_column(0, 0, 60)
        sheet.set_column(1, 1, 24)

    # --- rows and cells ---

    def of_axis(self, axis: Axis) -> Iterator[Line]:
        return (line for name, line in model().lines.items() if model().axes[name] == axis)

    def row(self, line: Line) -> None:
        """One line along its sites or months: the same formula in every column."""
        place = self.places[line.name]
        sheet = self.sheets[place.sheet]
        self.label(sheet, place.row, line.label, str(line.unit), line.name)
        style = self.style(num_format=self.shown(str(line.unit)).replace("not within the horizon", "never"))
        for index in range(place.columns):
            formula = Excel(self.places, FIRST + index).write(model().formulas[line.name])
            sheet.write_formula(place.row, FIRST + index, f"={formula}", style, self.stored(line.name, index))

    def single(self, line: Line) -> None:
        """One line that is one number, with its formula in words."""
        place = self.places[line.name]
        sheet = self.sheets[place.sheet]
        self.label(sheet, place.row, line.label, str(line.unit), line.name, name_column=4)
        style = self.style(num_format=self.shown(str(line.unit)), bold=line.name in words.TILES)
        formula = Excel(self.places, VALUE).write(model().formulas[line.name])
        sheet.write_formula(place.row, VALUE, f"={formula}", style, self.stored(line.name, 0))
        self.text(sheet, place.row, 3, str(model().formulas[line.name]), color=QUIET, font="Consolas")

    def stored(self, name: str, index: int) -> float | str:
        """The value that Python computed, as the sheet has it."""
        values: Array = self.lines[name][0]
        value = float(values[min(index, len(values) - 1)])
        if math.isnan(value):
            return words.SENTENCES["undefined"]
        return NO_MONTH if value == NEVER else value

    def all_hold(self) -> str:
        within = (f"ABS({self.places[name].cell()})<{self.places['tolerance'].cell()}" for name in model().checks)
        return f"AND({','.join(within)})"

    def verdict(self, sheet: Any, row: int, column: int, condition: str) -> None:
        """A cell that says whether a condition holds, in green or red."""
        sheet.write_formula(row, column, f'=IF({condition},"adds up","does not add up")', self.style(align="right"), "adds up")
        for word, colour in (("adds up", "#1a6b3c"), ("does not add up", "#b3261e")):
            rule = {
                "type": "cell",
                "criteria": "==",
                "value": f'"{word}"',
                "format": self.book.add_format({"font_color": colour}),
            }
            sheet.conditional_format(row, column, row, column, rule)

    def entry(self, sheet: Any, row: int, column: int, about: Input, value: float) -> None:
        """A cell to be changed, which takes what the input allows."""
        style = self.style(num_format=self.shown(about.unit, about), color=ACCENT, background="#eef4fb")
        sheet.write_number(row, column, value, style)
        low, high = about.range
        sheet.data_validation(
            row,
            column,
            row,
            column,
            {
                "validate": "integer" if about.whole else "decimal",
                "criteria": "between",
                "minimum": low,
                "maximum": high,
                "input_title": about.label[:32],
                "input_message": about.allowed[:255],
                "error_title": "Out of range",
                "error_message": f"{about.label}: {about.allowed}."[:255],
            },
        )

    def shown(self, unit: str, about: Input | None = None) -> str:
        """The number format of a unit. What may be a fraction shows as one, so that no cell hides what it holds."""
        if about and about.whole:
            return "#,##0"
        if unit == "USD" or unit in ("USD/month", "USD/day", "USD/release"):
            return "$#,##0;-$#,##0" if not about else "$#,##0.00;-$#,##0.00"
        if unit.startswith("USD"):
            return "$#,##0.00##;-$#,##0.00##"
        if unit in ("1", "1/year") and about:
            return "0.0##%"
        if unit == "month" and not about:
            return f'[>={NO_MONTH:.0E}]"not within the horizon";"month "0.0'
        return "#,##0.00##"

    def label(self, sheet: Any, row: int, label: str, unit: str, name: str, name_column: int = 2) -> None:
        self.text(sheet, row, 0, label)
        self.text(sheet, row, 1, unit, color=QUIET)
        self.text(sheet, row, name_column, name, color=QUIET)

    def title(self, sheet: Any, title: str, note: str) -> None:
        sheet.set_row(0, 24)
        self.text(sheet, 0, 0, title, bold=True, size=16, bottom=0)
        self.text(sheet, 1, 0, note, color=QUIET, bottom=0)

    def heads(self, sheet: Any, row: int, heads: list[str]) -> None:
        for column, head in enumerate(heads):
            self.text(sheet, row, column, head, bold=True, bottom=1)

    def text(self, sheet: Any, row: int, column: int, text: str, **style: Any) -> None:
        """Text as text, whatever it begins with."""
        if sheet.write_string(row, column, text, self.style(**style)) != 0:
            raise InputError(
                f"the text '{text[:60]}...' is longer than a cell of a spreadsheet holds; shorten it in the proposal"
            )

    def number(self, sheet: Any, row: int, column: int, value: float, **style: Any) -> None:
        sheet.write_number(row, column, value, self.style(**style))

    def style(self, *, color: str = "", size: int = 10, background: str = "", font: str = "Arial", **more: Any) -> Any:
        """A cell format, made once."""
        key = (color, size, background, font, *sorted(more.items()))
        if key not in self.formats:
            looks = {
                "font_name": font,
                "font_size": size,
                "font_color": color or INK,
                "bottom": 4,
                "bottom_color": RULE,
                "valign": "top",
            }
            if background:
                looks["bg_color"] = background
            self.formats[key] = self.book.add_format(looks | more)
        return self.formats[key]
