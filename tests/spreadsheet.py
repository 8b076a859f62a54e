"""A real LibreOffice for tests, told to recalculate every formula instead of trusting the values stored in the file."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import openpyxl

ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


def recalculated(files: list[Path], folder: Path) -> list[Any]:
    """The workbooks as LibreOffice computes them; cells hold values."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(ALWAYS)
    command = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", "xlsx"]
    done = folder / "recalculated"
    subprocess.run([*command, "--outdir", str(done), *map(str, files)], check=True, capture_output=True, timeout=300)
    return [openpyxl.load_workbook(done / file.name, data_only=True) for file in files]


def changed(source: bytes, cells: dict[tuple[str, str], float], target: Path) -> Path:
    """A copy of a workbook with other numbers in some cells, given by sheet and cell; stored values are gone."""
    target.write_bytes(source)
    book = openpyxl.load_workbook(target)
    for (sheet, cell), value in cells.items():
        assert isinstance(book[sheet][cell].value, int | float), f"{sheet}!{cell} is no input"
        book[sheet][cell] = value
    book.save(target)
    return target
