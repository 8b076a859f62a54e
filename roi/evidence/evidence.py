"""What a reader found: values for inputs, other measures worth seeing, and an account of all that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from roi import amounts
from roi.inputs import inputs


@dataclass(frozen=True)
class Finding:
    """A value for an input of the model, as it was measured.

    Attributes:
        input: the input's name, as in `data/inputs.yaml`; the numbers are in its unit.
        low, high: the ends of its interval, of which `covers` says what share of outcomes lies between; None where one number is
            all there is.
        count: how many measurements it stands on.
        source: the files and what was done with them, in words.
        dated: the day on which it was measured, or on which a price was valid; None where the files do not say.
        basis: of a price, such as on-demand or spot.
        place: where it belongs, such as a provider's region; empty for the whole proposal.
        note: what a reader should know before using it.
        measured: whether it was, or follows from what somebody says.
    """

    input: str
    base: float
    low: float | None
    high: float | None
    covers: float | None
    count: int
    source: str
    dated: date | None = None
    basis: str = ""
    place: str = ""
    note: str = ""
    measured: bool = True

    def value(self) -> dict[str, Any]:
        """The fields of a value in a proposal's file."""
        fields: dict[str, Any] = {"base": self.base}
        if self.low is not None and self.high is not None:
            fields |= {"low": self.low, "high": self.high, "covers": self.covers}
        fields |= {"source": self.source, "date": self.dated, "basis": self.basis}
        if self.measured:
            fields |= {"measured": True, "count": self.count}
        return {name: field for name, field in fields.items() if field not in (None, "")}

    def __str__(self) -> str:
        row = inputs()[self.input]
        interval = ""
        if self.low is not None and self.high is not None and self.covers is not None:
            interval = f", {self.covers:.0%} within {row.show_range(self.low, self.high)}"
        place = f" in {self.place}" if self.place else ""
        basis = f", {self.basis}" if self.basis else ""
        dated = f", {self.dated}" if self.dated else ""
        return f"{row.label}{place}{basis}: {row.show(self.base)}{interval} (from {self.count:,}{dated}; {self.input})"


@dataclass(frozen=True)
class Measure:
    """A number that is worth seeing but is no input of the model."""

    name: str
    label: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.label}: {amounts.quantity(self.value, self.unit)}"


@dataclass(frozen=True)
class Account:
    """Records that shared a fate: read, set aside or not understood, and why.

    Attributes:
        fate: `read`, `set aside` or `not understood`.
        why: in words, such as "warm-up" or "a currency other than USD".
        count: how many.
        amount: what they sum to in the file's own money, where the records have an amount.
        examples: lines of the file, as file:line, a few at most.
        unit: of the amount where it is no money, such as s.
    """

    fate: str
    why: str
    count: int
    amount: Decimal | float | None = None
    examples: tuple[str, ...] = ()
    unit: str = ""

    def __str__(self) -> str:
        amount = _amount(self.amount, self.unit)
        examples = f" ({', '.join(self.examples)})" if self.examples else ""
        return f"{self.fate}: {self.count:,} {self.why}{amount}{examples}"


@dataclass(frozen=True)
class Evidence:
    """What one reader makes of its files.

    Attributes:
        kind: the reader, such as `steps`.
        files: the files as they were given.
        records: what the account counts, in the plural, such as "lines" or "charges".
        total: how many of these the files hold; the account's counts sum to it.
        total_amount: what they sum to, where they have an amount; the account's amounts sum to it.
        unit: of the amounts where they are no money, such as s.
        mode: how regions work together, where the evidence is of that.
    """

    kind: str
    files: tuple[str, ...]
    records: str
    total: int
    accounts: tuple[Account, ...]
    findings: tuple[Finding, ...] = ()
    measures: tuple[Measure, ...] = ()
    notes: tuple[str, ...] = ()
    total_amount: Decimal | float | None = None
    unit: str = ""
    mode: str = ""

    def as_data(self) -> Mapping[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind,
            "mode": self.mode,
            "files": list(self.files),
            "findings": [
                _plain(each.value()) | {"input": each.input, "place": each.place, "count": each.count, "note": each.note}
                for each in self.findings
            ],
            "measures": {each.name: {"label": each.label, "value": each.value, "unit": each.unit} for each in self.measures},
            "records": self.records,
            "total": self.total,
            "total_amount": _number(self.total_amount),
            "unit": self.unit,
            "accounts": [
                {
                    "fate": each.fate,
                    "why": each.why,
                    "count": each.count,
                    "amount": _number(each.amount),
                    "examples": list(each.examples),
                }
                for each in self.accounts
            ],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        total = _amount(self.total_amount, self.unit)
        return "\n".join(
            [
                *map(str, self.findings),
                *map(str, self.measures),
                f"{self.total:,} {self.records}{total and f'{total} in all'}:",
                *(f"  {each}" for each in self.accounts),
                *self.notes,
            ]
        )


def _amount(amount: Decimal | float | None, unit: str) -> str:
    """An amount after a count: money to the hundredth of a cent, anything else to a tenth."""
    if amount is None:
        return ""
    return f", {amount:,.1f} {unit}" if unit else f", {amount:,.4f}"


def _number(amount: Decimal | float | None) -> float | None:
    return None if amount is None else float(amount)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(field) if isinstance(field, date) else field for name, field in fields.items()}
