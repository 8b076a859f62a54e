"""Numbers and units as exports write them: decimal commas, thousands set apart, blanks, and the spellings of a gigabyte-month."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import NamedTuple

from roi.records import YearOnly

EXACT = Context(prec=60)
"""Arithmetic in which sums of accepted numbers never round: each has at most 15 digits before the point and 30 after it."""

HOURS_PER_MONTH = 730
"""Hours in a month of a price list: 365 x 24 / 12."""

_NULLS = {"null", "none", "nan", "n/a"}
_GROUPS = re.compile(r"(?<=\d)[ '\u00a0\u2009\u202f](?=\d{3})", re.ASCII)
_POINT = re.compile(r"[-+]?(?=\.?\d)(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:[eE][-+]?\d{1,2})?", re.ASCII)
_NUMBER = re.compile(r"[-+]?[\d,.' \u00a0\u2009\u202f]+(?:[eE][-+]?\d{1,2})?", re.ASCII)
_SWAP = str.maketrans(",.", ".,")


def blank(text: str) -> str:
    """The text without space around it; nothing where it stands for nothing, such as a literal `NULL`."""
    text = text.strip()
    return "" if text.lower() in _NULLS else text


def decimal_mark(texts: Iterable[str]) -> str:
    """The mark before decimals in most of these numbers, `.` or `,`; nothing where all can be read both ways (`1,234`)."""
    votes = Counter(map(_vote, texts))
    votes.pop("", None)
    return votes.most_common(1)[0][0] if votes else ""


def _vote(text: str) -> str:
    if _NUMBER.fullmatch(text) and ("," in text or "." in text):
        mark = "," if text.rfind(",") > text.rfind(".") else "."
        if re.fullmatch(r"[-+]?\d{1,3}([.,])\d{3}(?:\1\d{3})+", text, re.ASCII):
            return "." if mark == "," else ","  # 1,234,567: a mark that stands twice sets thousands apart
        if not re.fullmatch(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", text, re.ASCII):
            return mark
    return ""


def number(text: str, mark: str) -> Decimal | None:
    """The number that a text writes with this decimal mark; None where it writes none, or where it is beyond any amount.

    Without a mark, a text that could be read in two ways is none.
    """
    text = _GROUPS.sub("", text.strip().replace("\u2212", "-"))
    if not mark and ("," in text or "." in text) and not (mark := _vote(text)):
        return None
    if mark == ",":
        text = text.translate(_SWAP)
    if not _POINT.fullmatch(text):
        return None
    value = Decimal(text.replace(",", ""))
    exponent = value.as_tuple().exponent
    fits = isinstance(exponent, int) and value.adjusted() < 15 and exponent >= -30
    return value if fits else None if value else Decimal(0)


def day(text: str) -> date | None:
    """The day that a text starts with, as in `2026-05-01T00:00:00Z`, or the year that it is; None where it is neither."""
    if re.fullmatch(r"(19|20)\d\d", text, re.ASCII):
        return YearOnly(int(text), 1, 1)
    try:
        return date.fromisoformat(text[:10]) if re.match(r"\d{4}-\d\d-\d\d(?!\d)", text, re.ASCII) else None
    except ValueError:
        return None


class BillingUnit(NamedTuple):
    """What one unit of a quantity is.

    Attributes:
        gigabytes: GB of 1e9 bytes, or 0 where the unit is no size.
        hours: or 0 where the unit is no time.
        gpu: the unit counts GPUs.
    """

    gigabytes: Decimal
    hours: Decimal
    gpu: bool


_PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_HOURS = {
    "s": Decimal(1) / 3600,
    "mi": Decimal(1) / 60,
    "h": Decimal(1),
    "d": Decimal(24),
    "mo": Decimal(HOURS_PER_MONTH),
    "mt": Decimal(HOURS_PER_MONTH),
    "y": Decimal(12 * HOURS_PER_MONTH),
}
_GAP = r"[\s\-_/*.\u00b7]*(?:per[\s\-_/*.]*)?"
_UNIT = re.compile(
    rf"(?:(?P<block>\d[\d,]*)(?P<thousand>k)?{_GAP})?"
    rf"(?:(?P<gpu>gpus?|accelerators?)|instances?|vms?|nodes?|machines?)?{_GAP}"
    r"(?P<size>(?P<prefix>[kmgtpe])(?P<binary>i)?b(?:s|ytes?)?"
    r"|(?P<long>kilo|mega|giga|tera|peta|exa|kibi|mebi|gibi|tebi|pebi|exbi)\s?-?bytes?|bytes?)?"
    rf"{_GAP}(?P<time>h(?:ou)?rs?|h|mo(?:nth|s)?s?|mths?|days?|s(?:ec(?:ond)?s?)?|min(?:ute)?s?|y(?:ea)?rs?)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def billing_unit(text: str) -> BillingUnit | None:
    """The unit that a text names: `GB-Months`, `GB/Month`, `GiB Hours`, `100 GB`, `GPU-Hours`; None where it is another.

    `GB/Month` is a spelling of the gigabyte-month. `Gb` and `Gib` are bits in FOCUS (UnitFormat) and are not taken for bytes.
    """
    match = _UNIT.fullmatch(text.strip()) if len(text) < 40 else None
    if not match or not (match["size"] or match["time"]) or re.search(r"[KMGTPE]i?b(?![a-z])", text):
        return None
    block = Decimal((match["block"] or "1").replace(",", "")) * (1000 if match["thousand"] else 1)
    if not 0 < block < 10**9:
        return None
    gigabytes = Decimal(0)
    if match["size"]:
        long = (match["long"] or "").lower()
        binary = bool(match["binary"]) or long.endswith("bi")
        power = _PREFIXES[(match["prefix"] or long[:1]).lower()]
        gigabytes = Decimal(1024 if binary else 1000) ** power / 10**9
    time = (match["time"] or "").lower()
    hours = next((size for name, size in _HOURS.items() if time.startswith(name)), Decimal(0))
    return BillingUnit(gigabytes * block, hours if gigabytes else hours * block, bool(match["gpu"]))
