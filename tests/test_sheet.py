"""The workbook: LibreOffice and the library `formulas` recalculate it and agree with Python; what FAST asks holds."""

import io
import math
import re
import zipfile

import formulas
import msgspec
import openpyxl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter

import roi
from roi import InputError, sheet
from roi.inputs import inputs, model
from roi.proposals import Proposal
from roi.reading import shipped
from roi.results import Result
from roi.sheet import FIRST, NO_MONTH, VALUE, workbook
from tests.spreadsheet import changed, recalculated
from tests.strategies import proposals

HOSTILE = [
    "=HYPERLINK(1)",
    "+1",
    "@SUM(A1)",
    "-2",
    "</script><b>",
    'a "quoted" name',
    "\u202eright to left",
    "\U0001f680 rocket",
    "H200",
]


def named(book):
    """Where each name stands: (sheet, row), found by the names that the sheets hold."""
    columns = {"Inputs": 12, "Sites": 3, "Timeline": 3, "Results": 5, "Checks": 5}
    found = {}
    for name, column in columns.items():
        for row in range(3, book[name].max_row + 1):
            # The checks count how often a flag of the sites is raised, under the flag's name.
            found.setdefault(book[name].cell(row, column).value, (name, row))
    return found


def value_of(book, place, index=None):
    name, row = place
    found = book[name].cell(row, (VALUE if index is None else FIRST + index) + 1).value
    if found == "not defined":
        return math.nan
    return math.inf if found == NO_MONTH else float(found)


def cell_of(book, name, index=None):
    """Sheet and cell of an input, by name and column."""
    where, row = named(book)[name]
    return where, f"{get_column_letter((VALUE if index is None else FIRST + index) + 1)}{row}"


def assert_agrees(book, result, tolerance=1e-6):
    """Every line of the model, as the workbook has it, is what Python computes, relative to the money that it is made of."""
    places = named(book)
    scale = max(
        1.0, *(abs(value) for value in result["cumulative"]), result.pv_benefit, result.baseline_bill, result.proposed_bill
    )
    for name in model().lines:
        values = result.lines[name][0]
        for index, value in enumerate(values):
            found = value_of(book, places[name], None if model().axes[name] == "scalar" else index)
            allowed = 1e-9 * scale if "USD" in str(model().unit(name)) else 1e-9
            assert found == pytest.approx(value, rel=tolerance, abs=allowed, nan_ok=True), (name, index)


def test_every_line_and_input_stands_in_the_workbook():
    book = openpyxl.load_workbook(io.BytesIO(workbook(roi.load("two-region"))))
    places = named(book)
    assert {*model().lines, *inputs()} <= set(places)
    assert book.sheetnames == ["Cover", "Inputs", "Sites", "Timeline", "Results", "Checks", "Log"]


@pytest.mark.parametrize("key", shipped())
def test_the_stored_values_are_pythons(key):
    result = roi.evaluate(roi.load(key))
    assert_agrees(openpyxl.load_workbook(io.BytesIO(workbook(result.proposal)), data_only=True), result, tolerance=1e-12)


def test_libreoffice_gives_the_answer_and_follows_a_changed_input(tmp_path):
    made = workbook(roi.load("two-region"))
    book = openpyxl.load_workbook(io.BytesIO(made))
    settings_ = [
        {},
        {"latency_saved": 90},
        {"horizon": 60, "delay": 0, "ramp": 0},
        {"horizon": 1, "latency_saved": -50},
        {"upfront_cost": 0, "discount_rate": 0},
        {"wait": 6, "horizon": 24},
        {"wait": 20},
        {"proposed.europe-west4.gpu_price": 5, "proposed.us-central1.utilisation": 0.9},
    ]
    regions = roi.load("two-region").regions
    files = []
    for number, setting in enumerate(settings_):
        cells = {}
        for path, value in setting.items():
            *place, name = path.split(".")
            index = regions.index(tuple(place)) if place else None
            cells[cell_of(book, name, index)] = value
        files.append(changed(made, cells, tmp_path / f"{number}.xlsx"))
    found = recalculated(files, tmp_path)
    assert value_of(found[0], named(found[0])["net_gain"]) == pytest.approx(328_974.1792, abs=1e-4)  # DESIGN
    for each, setting in zip(found, settings_, strict=True):
        assert_agrees(each, roi.evaluate(roi.load("two-region"), setting))
        assert each["Cover"].cell(9, 2).value == "adds up"


@settings(max_examples=2, suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # each example starts LibreOffice
@given(st.lists(proposals(), min_size=8, max_size=8))
def test_libreoffice_agrees_on_any_proposal(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("drawn")
    files = []
    for number, proposal in enumerate(drawn):
        # The stored values are thrown away, so that none can be mistaken for an answer.
        files.append(changed(workbook(proposal), {}, folder / f"{number}.xlsx"))
    for book, proposal in zip(recalculated(files, folder), drawn, strict=True):
        assert_agrees(book, Result(proposal))


def test_the_library_formulas_agrees(tmp_path):
    proposal = roi.load("two-region")
    path = tmp_path / "w.xlsx"
    path.write_bytes(workbook(proposal))
    solution = formulas.ExcelModel().loads(str(path)).finish().calculate()
    result = roi.evaluate(proposal)
    book = openpyxl.load_workbook(path)
    for name in model().lines:
        where, row = named(book)[name]
        for index, value in enumerate(result.lines[name][0]):
            column = get_column_letter((VALUE if model().axes[name] == "scalar" else FIRST + index) + 1)
            found = solution[f"'[w.xlsx]{where.upper()}'!{column}{row}"].value[0, 0]
            found = math.nan if found == "not defined" else math.inf if found == NO_MONTH else float(found)
            assert found == pytest.approx(value, rel=1e-6, abs=1e-6, nan_ok=True), (name, index)


def test_formulas_hold_no_number_but_0_and_1_and_nothing_volatile():
    book = openpyxl.load_workbook(io.BytesIO(workbook(roi.load("two-region"))))
    for each in book:
        for row in each.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    bare = re.sub(r"\"[^\"]*\"|\$?[A-Z]{1,3}\$?\d+", "", cell.value)
                    assert set(re.findall(r"\d+(?:\.\d+)?", bare)) <= {"0", "1"}, cell.value
                    assert not re.search(r"OFFSET|INDIRECT|NOW|TODAY|RAND|TABLE", cell.value)
    assert not book.defined_names


def test_one_formula_along_each_row():
    book = openpyxl.load_workbook(io.BytesIO(workbook(roi.load("two-region"))))
    for name in ("Sites", "Timeline"):
        for row in book[name].iter_rows(min_row=4, min_col=FIRST + 1):
            written = {
                re.sub(rf"(?<![$A-Z]){cell.column_letter}(?=\d)", "?", cell.value)
                for cell in row
                if str(cell.value).startswith("=")
            }
            assert len(written) <= 1, written


def hostile_proposal():
    plain = roi.load("two-region")
    regions = {
        fleet: {f"{text} {fleet}": values for text, values in zip(HOSTILE, sites.values(), strict=False)}
        for fleet, sites in plain.sites.items()
    }
    value = msgspec.structs.replace(plain.inputs["value_per_release_day"], source=HOSTILE[0], owner=HOSTILE[1])
    return Proposal("hostile", " ".join(HOSTILE), HOSTILE[1], HOSTILE[2], {"value_per_release_day": value}, regions)


def test_text_comes_out_as_the_same_text_and_never_as_a_formula():
    proposal = hostile_proposal()
    raw = workbook(proposal)
    book = openpyxl.load_workbook(io.BytesIO(raw))
    assert book["Cover"]["A1"].value == proposal.name
    assert book["Sites"].cell(4, FIRST + 1).value == f"{HOSTILE[0]} baseline"
    assert book["Sites"].cell(4, FIRST + 2).value == f"{HOSTILE[0]} proposed"
    at = named(book)["value_per_release_day"][1]
    assert [book["Inputs"].cell(at, column).value for column in (8, 9)] == HOSTILE[:2]
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for name in archive.namelist():
            assert b"HYPERLINK(1)</f>" not in archive.read(name)
            assert b"<hyperlink" not in archive.read(name)


def test_an_input_cell_takes_what_its_input_allows():
    book = openpyxl.load_workbook(io.BytesIO(workbook(roi.load("two-region"))))
    rules = {str(rule.sqref): rule for rule in book["Inputs"].data_validations.dataValidation}
    for row in inputs().values():
        if row.axis == "scalar":
            rule = rules[cell_of(book, row.name)[1]]
            assert (float(rule.formula1), float(rule.formula2)) == row.range
            assert rule.type == ("whole" if row.whole else "decimal")
    assert len(book["Sites"].data_validations.dataValidation) >= 3 * sum(row.axis == "site" for row in inputs().values())


def test_panes_are_frozen_and_pages_are_set():
    book = openpyxl.load_workbook(io.BytesIO(workbook(roi.load("two-region"))))
    assert {each.title: each.freeze_panes for each in book if each.freeze_panes} == {
        "Inputs": "B4",
        "Sites": "E5",
        "Timeline": "E4",
        "Results": "B4",
    }
    assert book["Timeline"].print_area.endswith(f"$W${book['Timeline'].max_row}")  # four columns, then months 0 to 18


def test_equal_inputs_give_equal_bytes():
    assert workbook(roi.load("two-region")) == workbook(roi.load("two-region"))


def test_more_than_a_page_of_regions_is_no_problem():
    plain = roi.load("published-claim")
    (values,) = plain.sites["proposed"].values()
    share = roi.load("two-region").sites["proposed"]["us-central1"]["share"]
    many = {f"region-{number}": values | {"share": msgspec.structs.replace(share, base=1 / 40)} for number in range(40)}
    proposal = Proposal("many", plain.name, plain.owner, plain.decision, plain.inputs, {**plain.sites, "proposed": many})
    assert_agrees(openpyxl.load_workbook(io.BytesIO(workbook(proposal)), data_only=True), Result(proposal))


def test_text_too_long_for_a_cell_is_refused_and_not_dropped():
    plain = roi.load("two-region")
    long = Proposal("long", "x" * 40_000, plain.owner, plain.decision, plain.inputs, plain.sites)
    with pytest.raises(InputError, match="longer than a cell"):
        sheet.workbook(long)
