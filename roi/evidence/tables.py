"""Files of records, however they come: delimited text, Parquet and JSON. What is none of these is refused in one sentence."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from roi.evidence.evidence import Account
from roi.evidence.quantities import EXACT, decimal_mark
from roi.problems import InputError, Problem

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_KINDS = {
    b"PK\x03\x04": "is a zip archive or a workbook; unpack it, or save its sheet as CSV",
    b"BZh": "is packed by bzip2",
    b"\xfd7zXZ\x00": "is packed by xz",
    b"\x28\xb5\x2f\xfd": "is packed by zstd",
    b"%PDF": "is a PDF document",
}
DAMAGED = "rows with more or fewer values than there are columns (is the file cut off?)"
"""What is said of records whose values cannot be told apart."""

_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, UnicodeError)
_EXAMPLES = 3


def refuse(path: Path, found: str, expected: str) -> InputError:
    """A file that is not what a reader takes: what was found, and what was expected."""
    return InputError([Problem(f"{found}; expected is {expected}", str(path))])


def is_parquet(path: Path) -> bool:
    """Whether a file starts as a Parquet file does.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def start(path: Path, expected: str) -> tuple[str, str]:
    """The encoding of a text file, and its beginning without the space before it; unpacked if gzip packed it.

    Raises:
        InputError: the file is empty, or no text.
        OSError: it cannot be read.
    """
    try:
        with _bytes(path) as file:
            head = file.read(1 << 16)
    except _BROKEN as error:
        raise refuse(path, f"is packed by gzip, and cut off or damaged ({error})", expected) from error
    for magic, words in _KINDS.items():
        if head.startswith(magic):
            raise refuse(path, words, expected)
    encoding = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), "utf-8")
    text = head.decode(encoding, errors="replace").lstrip()
    if not text:
        raise refuse(path, "is empty", expected)
    if re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text):
        raise refuse(path, "is binary", expected)
    return encoding, text


def _bytes(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if zipped else path.open("rb")


def _text(path: Path, encoding: str) -> IO[str]:
    # A byte that is no text spoils one field, which is then not understood; it need not spoil the file.
    return io.TextIOWrapper(_bytes(path), encoding=encoding, errors="replace", newline="")


def read_json(path: Path, expected: str) -> Any:
    """The content of a JSON file, its numbers exact.

    Raises:
        InputError: the file holds no JSON, or a name twice in one object.
        OSError: it cannot be read.
    """
    encoding, _ = start(path, expected)
    with _text(path, encoding) as file:
        try:
            return json.load(file, parse_float=Decimal, parse_int=Decimal, parse_constant=str, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            found = f"is not JSON, or is cut off: {error.msg} in line {error.lineno}"
            raise refuse(path, found, expected) from error
        except (ValueError, *_BROKEN) as error:
            raise refuse(path, f"is damaged: {error}", expected) from error
        except RecursionError as error:
            raise refuse(path, "is nested too deeply", expected) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:80]!r} stands twice in one object")
    return found


class Record(NamedTuple):
    """One row: where it stands, and its values in the order of the columns; fewer or more where the row is damaged."""

    line: int
    values: Sequence[str]


class Table:
    """The rows of a delimited text file or a Parquet file, read as a stream as often as is wanted.

    Args:
        numbers: the columns that hold numbers.

    Attributes:
        columns: the columns' names as the file writes them.
        mark: the decimal mark of its numbers; nothing where they do not tell.

    Raises:
        InputError: the file is no table.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, expected: str, numbers: Iterable[str]) -> None:
        self.path, self.expected = path, expected
        self.mark = "."
        self._parquet = is_parquet(path)
        if self._parquet:
            self.columns = [str(name) for name in self._open_parquet().schema_arrow.names]
        else:
            self._encoding, text = start(path, expected)
            if text[0] in "{[":
                raise refuse(path, "looks like JSON", expected)
            unquoted = re.sub(r'"[^"]*"', "", text.splitlines()[0])
            self._delimiter = max(",;\t|", key=unquoted.count)
            self.columns = [name.strip() for name in next(self._delimited()).values]
        self._places = {_plain(name): index for index, name in reversed(list(enumerate(self.columns)))}
        if not self._parquet:
            self.mark = self._find_mark([place for name in numbers if (place := self.place(name)) is not None])

    def place(self, name: str) -> int | None:
        """Where a column stands, whatever the case, spaces and underscores of its name."""
        return self._places.get(_plain(name)) if name else None

    def first(self, *names: str) -> str:
        """The first of these names that a column has; nothing where none has."""
        return next((name for name in names if self.place(name) is not None), "")

    def require(self, names: Iterable[str], what: str) -> None:
        """Refuse the table unless it has each of these columns, once."""
        names = list(names)
        missing = [name for name in names if self.place(name) is None]
        if missing:
            found = ", ".join(name[:40] for name in self.columns)
            listed = found if len(found) <= 600 else f"{found[:600]} ..."
            found = f"has no column {', '.join(missing)}, which {what} has; its {len(self.columns)} columns are {listed}"
            raise refuse(self.path, found, self.expected)
        plain = [_plain(name) for name in self.columns]
        twice = [name for name in names if plain.count(_plain(name)) > 1]
        if twice:
            raise refuse(self.path, f"has two columns {twice[0]}", self.expected)

    def records(self) -> Iterator[Record]:
        """Every row below the columns' names.

        Raises:
            InputError: from here on the file is no table.
        """
        if self._parquet:
            yield from self._parquet_records()
        else:
            yield from islice(self._delimited(), 1, None)

    def _delimited(self) -> Iterator[Record]:
        with _text(self.path, self._encoding) as file:
            rows = csv.reader(file, delimiter=self._delimiter)
            try:
                yield from (Record(rows.line_num, row) for row in rows if row)
            except (csv.Error, *_BROKEN) as error:
                raise refuse(self.path, f"is no table from line {max(rows.line_num, 1)} on: {error}", self.expected) from error

    def _find_mark(self, places: Sequence[int]) -> str:
        rows = islice(self.records(), 10_000)
        texts = [row.values[place] for row in rows for place in places if place < len(row.values)]
        # Without any better sign 1.234 is 1 and a bit, unless semicolons part the values or commas stand in numbers.
        return decimal_mark(texts) or ("" if self._delimiter == ";" or any("," in text for text in texts) else ".")

    def _open_parquet(self) -> Any:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            found = "is a Parquet file, which needs pyarrow (pip install 'roi[parquet]')"
            raise refuse(self.path, found, f"{self.expected}; as CSV it needs nothing") from error
        try:
            return parquet.ParquetFile(self.path)
        except Exception as error:  # pyarrow raises OSError, ValueError and classes of its own for one and the same damage
            raise refuse(self.path, f"is a damaged Parquet file ({str(error).splitlines()[0]})", self.expected) from error

    def _parquet_records(self) -> Iterator[Record]:
        line = 0
        try:
            for batch in self._open_parquet().iter_batches(batch_size=4096):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    line += 1
                    yield Record(line, [_cell(value) for value in row])
        except InputError:
            raise
        except Exception as error:
            raise refuse(self.path, f"is a damaged Parquet file after row {line} ({error})", self.expected) from error


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(each, tuple) for each in value):
        value = dict(value)  # a map, such as SkuPriceDetails, comes as pairs
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)


class Ledger:
    """Counts and amounts of records by what became of them."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[int, Decimal | None, list[str]]] = {}

    def add(self, fate: str, why: str, place: str, amount: Decimal | None = None) -> None:
        """One record; `amount` is None where it has none that can be read."""
        count, total, examples = self._rows.get((fate, why), (0, None, []))
        if len(examples) < _EXAMPLES and fate != "read":
            examples.append(place)
        if amount is not None:
            total = EXACT.add(total or Decimal(0), amount)
        self._rows[fate, why] = count + 1, total, examples

    def accounts(self) -> tuple[Account, ...]:
        """What was read first, then what was set aside and what was not understood; the largest of each first."""
        order = ("read", "set aside", "not understood")
        found = [
            Account(fate, why, count, total, tuple(examples)) for (fate, why), (count, total, examples) in self._rows.items()
        ]
        return tuple(sorted(found, key=lambda each: (order.index(each.fate), -abs(float(each.amount or 0)), -each.count)))
