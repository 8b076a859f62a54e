"""What the command line prints."""

from __future__ import annotations

import typer


def say(text: str, error: bool = False) -> None:
    """Print text as it is, but for characters that would steer the terminal."""
    typer.echo(printable(text), err=error)


def printable(text: str) -> str:
    """Text in which the characters that would steer a terminal show as their escapes."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def complain(text: str) -> None:
    """Say it on standard error."""
    say(text, error=True)
