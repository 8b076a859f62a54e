"""How amounts are written for people, and how the amounts that people write are read."""

from __future__ import annotations

import math
import re
from functools import cache

SUFFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "B": 1e9, "bn": 1e9, "%": 0.01}

_AMOUNT = re.compile(
    r"(?P<sign>[-+\u2212]?)\s*(?:\$|USD\s*)?"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d{1,3}(?:_\d{3})+(?:\.\d*)?|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)"
    r"\s*(?P<suffix>k|K|m|M|B|bn|%)?",
    re.ASCII,
)


def parse_amount(text: str) -> float:
    """The number in `1.2M`, `150k`, `$1,000`, `-$0.4M`, `12%`, `1e6` or `250_000`.

    Raises:
        ValueError: the text is not an amount, or could be read in two ways (`1,5` and `1.000,50`).
    """
    match = _AMOUNT.fullmatch(text.strip())
    if not match:
        raise ValueError(f"'{text}' is not a number; write it like 1200000, 1.2M, 150k, $1,000 or 12%")
    value = float(match["number"].replace(",", "").replace("_", "")) * SUFFIXES[match["suffix"] or ""]
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not a finite number")
    return -value if match["sign"] in ("-", "\u2212") else value


def plain(value: float) -> str:
    """A number as it is written in a file: `1200000`, `0.12`, at most 12 significant digits."""
    text = f"{value + 0.0:.12g}"  # adding zero drops the sign of a negative one
    if "e" not in text or abs(value) >= 1e21:
        return text
    return f"{float(text):.0f}" if abs(value) >= 1 else f"{float(text):.20f}".rstrip("0")


def boxed(value: float) -> str:
    """A number as it stands in a box that takes exact values: all its digits, thousands set apart."""
    return re.sub(r"^-?\d+(?=\.|$)", lambda whole: re.sub(r"\B(?=(\d{3})+$)", ",", whole[0]), plain(value))


def money(value: float) -> str:
    """Dollars to about three figures: `$950`, `$329K`, `$1.2M`, `-$400K`, `$1.0B`.

    Halves round away from zero, as in the browser, so that both show the same.
    """
    if not math.isfinite(value):
        raise ValueError(f"money is asked to show {value}, which is not an amount")
    size = abs(value)
    for limit, unit, decimals, suffix in (
        (999.5, 1.0, 0, ""),
        (999.5e3, 1e3, 0, "K"),
        (99.95e6, 1e6, 1, "M"),
        (999.5e6, 1e6, 0, "M"),
        (99.95e9, 1e9, 1, "B"),
        (math.inf, 1e9, 0, "B"),
    ):
        if size < limit:
            text = _grouped(half_up(size / unit, decimals), decimals)
            sign = "-" if value < 0 and float(text.replace(",", "")) else ""
            return f"{sign}${text}{suffix}"
    raise AssertionError("every finite size is below infinity")


def exact_money(value: float) -> str:
    """Dollars and cents with thousands set apart: `$328,974.18`."""
    text = _grouped(half_up(abs(value), 2), 2)
    return f"{'-' if value < 0 and float(text.replace(',', '')) else ''}${text}"


def half_up(size: float, decimals: int) -> float:
    scale = 10.0**decimals
    return math.floor(size * scale + 0.5) / scale


def _grouped(size: float, decimals: int) -> str:
    return f"{size:,.{decimals}f}"


NOUNS = {
    "GB": ("GB", "GB"),
    "Gbit": ("Gbit", "Gbit"),
    "Mtoken": ("million tokens", "million tokens"),
    "USD": ("USD", "USD"),
    "gpu": ("GPU", "GPUs"),
    "ms": ("ms", "ms"),
    "sync": ("synchronisation", "synchronisations"),
    "vcpu": ("vCPU", "vCPUs"),
}
"""Base units that are not written as English nouns with an s: singular and plural."""


@cache
def unit_words(unit: str) -> tuple[str, str]:
    """A unit as people write it, after one and after any other number: `GPU-hour/month` and `GPU-hours/month`."""
    above, _, below = unit.replace("(", "").replace(")", "").partition("/")
    singular = "-".join(NOUNS.get(base, (base, ""))[0] for base in above.split("*"))
    *first, last = above.split("*")
    plural = "-".join([*(NOUNS.get(base, (base, ""))[0] for base in first), NOUNS.get(last, ("", f"{last}s"))[1]])
    per = "-".join(NOUNS.get(base, (base, ""))[0] for base in below.split("*"))
    if above in ("1", "%"):
        singular = plural = above
    return (f"{singular}/{per}", f"{plural}/{per}") if below else (singular, plural)


def quantity(value: float, unit: str) -> str:
    """A value with its unit as a page shows it: `120 ms/step`, `18 months`, `$250K/day`, `$11.53/GPU-hour`.

    The units `%` and `%/year` show a share as hundredths: 0.8 as `80 %`.
    """
    if value != value:
        return "not defined"
    if unit == "month" and value == math.inf:
        return "not within the horizon"
    words = unit_words(unit)[0 if abs(value) == 1 else 1]
    if unit.startswith("USD"):
        shown = money(value) if abs(value) >= 1000 else small_money(value)
        return f"{shown}{words[3:]}"
    if unit.startswith("%"):
        return f"{figures(value * 100)} {words}"
    return figures(value) if unit == "1" else f"{figures(value)} {words}"


def small_money(value: float) -> str:
    """Dollars below a thousand, with cents, and more places where cents would hide the figure: `$11.53`, `$0.62`, `$0.005`."""
    size = abs(value)
    if size < 1e-6:
        return "$0"  # what is left of a difference by rounding
    if size < 0.1:
        text = figures(size)
    elif size == math.floor(size):
        text = f"{size:.0f}"
    else:
        text = f"{half_up(size, 2):.2f}"
    return f"{'-' if value < 0 else ''}${text}"


def figures(value: float) -> str:
    """A plain number to four significant figures with thousands set apart: `1,440,000`, `0.2333`, `16.06`."""
    if value == 0:
        return "0"
    size = abs(value)
    places = max(0, 3 - math.floor(math.log10(size)))
    text = _grouped(half_up(size, places) if places < 16 else size, min(places, 15))
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{'-' if value < 0 and text != '0' else ''}{text}"
