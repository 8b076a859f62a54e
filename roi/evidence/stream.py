"""A log as a stream of lines: any size in little memory, compressed with gzip or not, without what colours it."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from roi.evidence.tables import refuse

CHUNK = 1 << 20
LONGEST_LINE = 1 << 20
"""Bytes; a file with a longer line is no log."""

# Sequences that colour and move (ECMA-48: ESC [ ... letter), and those that set a window's title (ESC ] ... BEL).
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\n]*\x07)")
# Control characters that no log holds but those of a terminal: backspace, bell and escape among them.
_BINARY = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")


def head(path: Path, expected: str) -> bytes:
    """The first bytes of a file, at most a megabyte, decompressed if gzip compressed it, without a byte-order mark.

    Raises:
        InputError: the file is empty, or gzip compressed it and it is damaged.
        OSError: it cannot be read.
    """
    first = next(chunks(path, expected), b"").removeprefix(codecs.BOM_UTF8)
    if not first.strip():
        raise refuse(path, "is empty", expected)
    return first


def columns(first: bytes) -> list[str]:
    """What the first line would name if it were that of a table, in small letters and digits; nothing where it has one name."""
    line = first.lstrip().splitlines()[0].decode(errors="replace").lower()
    names = [re.sub(r"[^a-z0-9]", "", name) for name in re.split(r"[,;\t|]", line)]
    return names if len(names) > 1 else []


def listed(names: Sequence[str]) -> str:
    """The names of columns in a message: on one line, and no longer than a message may be."""
    return " ".join(", ".join(names).split())[:300]


def is_binary(first: bytes) -> bool:
    """Whether the first bytes of a file are no text."""
    return bool(_BINARY.search(first))


def blocks(path: Path, expected: str) -> Iterator[bytes]:
    """A log in blocks of whole lines, without what colours them. Only the last line of a file may have no end.

    A carriage return ends a line as well, so that each state of a progress bar is a line: `bytes.splitlines` parts them.

    Raises:
        InputError: a line is longer than a megabyte, or gzip compressed the file and it is damaged.
        OSError: it cannot be read.
    """
    rest = b""
    for chunk in chunks(path, expected):
        rest += chunk
        # A carriage return at the very end may be half of the end of a line.
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1
        if len(rest) - end > LONGEST_LINE:
            raise refuse(path, f"has a line of more than {LONGEST_LINE:,} bytes", expected)
        if end:
            yield _plain(rest[:end])
            rest = rest[end:]
    if rest:
        yield _plain(rest)


def _plain(block: bytes) -> bytes:
    return _ANSI.sub(b"", block) if b"\x1b" in block else block


def chunks(path: Path, expected: str) -> Iterator[bytes]:
    """The bytes of a file, a megabyte at a time, decompressed if gzip compressed it. Raises as `blocks` does."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file = gzip.GzipFile(fileobj=raw) if zipped else raw
        try:
            while chunk := file.read(CHUNK):
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise refuse(path, f"is packed by gzip, and cut off or damaged ({error})", expected) from error
