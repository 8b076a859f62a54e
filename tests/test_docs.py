"""The documentation: its examples run, its commands print what it says, its links lead somewhere, its recipe works."""

import doctest
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import roi
from roi import amounts
from roi.inputs import ROOT
from roi.reading import parse

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_run(page):
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0
    assert found.attempted or page.name not in ("README.md", "how-it-works.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_lead_to_files(page):
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not link.startswith("https://"):
            assert (page.parent / link).is_file(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_its_commands_print(page):
    blocks = re.findall(r"((?:^    .*\n)+)", page.read_text(), re.MULTILINE)
    shown = "\n".join(re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks)
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ |make |>>> |\.venv).+\n)*)", shown, re.MULTILINE)
    assert len(commands) >= {"README.md": 3, "portfolio.md": 3, "alternatives.md": 3, "odds.md": 5}.get(page.name, 0)
    for command, output in commands:
        command = command.replace(".venv/bin", str(BIN))
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == output, command


def test_what_is_shown_of_a_proposal_can_be_read():
    blocks = {page.name: re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}
    assert blocks["odds.md"]
    assert blocks["alternatives.md"]
    for block in (block for found in blocks.values() for block in found):
        text = f"name: Shown\nowner: me\ndecision: no\n{block}baseline:\n  a: {{}}\nproposed:\n  a: {{}}\n"
        assert parse(text, "shown.yaml", "shown").fingerprint


def test_the_worked_decision_adds_up():
    result = roi.evaluate(roi.load("two-region"))
    readme = (ROOT / "README.md").read_text()
    rows = dict(re.findall(r"^\| \**([^|*]+?)\**(?: \|[^|]*)+\| \**(.+?)\** \|$", readme, re.MULTILINE))
    assert rows == {
        "hours saved a run": amounts.quantity(result.run_hours_saved, "hour"),
        "release days saved": amounts.quantity(result.release_days_saved, "day"),
        "worth of a release": amounts.money(result.release_gain),
        "benefit over 18 months": amounts.money(result.release_benefit_total),
        "added running cost": amounts.money(-result.running_cost_total),
        "upfront cost": amounts.money(-result.upfront_total),
        "net gain": amounts.money(result.net_gain),
    }
    assert f"staff: {amounts.money(result.bill_increase)} a month" in readme


def test_the_page_of_numbers_is_current():
    path = ROOT / "docs" / "write_numbers.py"
    spec = importlib.util.spec_from_file_location("write_numbers", path)
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    assert writer.FILE.read_text() == writer.text(), "run `make docs`"


def test_a_line_is_added_as_the_recipe_says(tmp_path):
    blocks = [
        re.sub(r"^        ", "", block, flags=re.MULTILINE)
        for block in re.findall(
            r"((?:^        .*\n|^\n(?=        ))+)", (ROOT / "docs" / "add-a-line.md").read_text(), re.MULTILINE
        )
    ]
    row, line, total, examples = (block.strip("\n") + "\n" for block in blocks)
    for folder in ("roi", "data", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    inputs = tmp_path / "data" / "inputs.yaml"
    inputs.write_text(inputs.read_text() + "\n" + row)
    model = tmp_path / "roi" / "payback.py"
    before = re.search(r'@line\("USD/month", "Bill of a site"\)\ndef site_bill.*?\n\n\n', model.read_text(), re.DOTALL)[0]
    model.write_text(model.read_text().replace(before, f"{line}\n\n{total}\n\n"))
    tests = tmp_path / "tests" / "test_payback.py"
    lines = [each for each in tests.read_text().splitlines(keepends=True) if not each.startswith('    "site_bill": ')]
    at = next(index for index, each in enumerate(lines) if each.startswith("EXAMPLES = {")) + 1
    tests.write_text("".join([*lines[:at], *(f"    {each}\n" for each in examples.splitlines()), *lines[at:]]))

    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/test_payback.py",
        "-k",
        "licence_cost or site_bill or gone or design",
    ]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    code = (
        "import roi; p = roi.load('two-region'); fee = {'proposed.us-central1.licence_fee': 10_000}; print(roi.__file__);"
        "print(roi.evaluate(p).net_gain - roi.evaluate(p, fee).net_gain)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    where, difference = done.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    assert float(difference) == pytest.approx(90_000)  # 10,000 x the share of 0.5 x 18 months
