"""Writes docs/numbers.md from the inputs and the model; `make docs` runs it, and a test tells when it must be run again."""

from __future__ import annotations

from pathlib import Path

from roi.amounts import plain, unit_words
from roi.inputs import Input, inputs, model
from roi.typeset import latex

FILE = Path(__file__).with_name("numbers.md")


def text() -> str:
    """The page: every input with its source and range, and every line with its formula."""
    scalars = [_input(row) for row in inputs().values() if row.axis == "scalar"]
    sites = [_input(row) for row in inputs().values() if row.axis == "site"]
    known = model()
    lines = [
        f"| {line.label} | `{name}` | {unit_words(str(line.unit))[1]} | {known.axes[name]} | ${latex(known.formulas[name])}$ |"
        + (f" {line.note.replace(chr(10), ' ')} |" if line.note else " |")
        for name, line in known.lines.items()
    ]
    return "\n".join(
        [
            "<!-- Written by docs/write_numbers.py; `make docs` writes it again. -->",
            "# What each number means",
            "",
            "Inputs are what a proposal may set; lines are what the model computes from them, in this order.",
            "",
            "## Inputs of the proposal as a whole",
            "",
            *_table(["Input", "Name", "Unit", "Default", "Allowed", "Plausible", "Source", "Date", "Owner"], scalars),
            "",
            "## Inputs of each region of each fleet",
            "",
            *_table(["Input", "Name", "Unit", "Default", "Allowed", "Plausible", "Source", "Date", "Owner"], sites),
            "",
            "## Lines",
            "",
            "A line by site has a value for each region of each fleet, a line by month one for each month from 0 to the horizon.",
            "",
            *_table(["Line", "Name", "Unit", "Axis", "Formula", "Note"], lines),
            "",
        ]
    )


def _table(titles: list[str], rows: list[str]) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *rows]


def _input(row: Input) -> str:
    spread = row.spread
    plausible = f"{plain(spread.low)} to {plain(spread.high)}, {spread.covers:.0%} of outcomes" if spread else ""
    source = f"[{row.source.title}]({row.source.link})" if row.source.link else row.source.title
    label = f"{row.label}. {row.note}" if row.note else row.label
    cells = [
        label,
        f"`{row.name}`",
        "share" if row.unit == "1" else unit_words(row.unit)[1],
        plain(row.default),
        f"{'whole, ' if row.whole else ''}{plain(row.range[0])} to {plain(row.range[1])}",
        plausible,
        source,
        str(row.source.date),
        row.source.owner,
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
