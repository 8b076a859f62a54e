"""What the command line prints."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table


def say(text: str, error: bool = False) -> None:
    """Print text as it is, but for characters that would steer the terminal."""
    click.echo(printable(text), err=error)


def printable(text: str) -> str:
    """Text in which the characters that would steer a terminal show as their escapes."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def complain(text: str) -> None:
    """Say it on standard error."""
    say(text, error=True)


def say_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> None:
    """Print rows in columns, those of these numbers set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            f"{cell:{'>' if index in right else '<'}{width}}" for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        say(f"  {'  '.join(cells)}".rstrip())


def show(table: Table) -> None:
    """Print a table, as wide as it needs to be where nobody looks at it."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 1000, markup=False, emoji=False, highlight=False).print(table)
