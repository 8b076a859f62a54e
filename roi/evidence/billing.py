"""Unit costs from billing exports in FOCUS, the FinOps Open Cost and Usage Specification, versions 1.0 to 1.2.

What FOCUS says of a charge, and what is made of it (focus.finops.org, Cost and Usage):

- `BilledCost` is what the invoice asks for; `EffectiveCost` spreads what was prepaid over the usage that it covers. A purchase
  that covers later charges has an effective cost of 0, and what it covers a billed cost of 0. So one column is read, never both.
- `PricingQuantity` counts `PricingUnit`s. A GB is 1e9 bytes, a GiB 2**30; a month has 730 hours.
- `PricingCategory` Standard is on-demand here, Dynamic is spot, Committed is commitment.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from roi.evidence.evidence import Account, Evidence, Finding, Measure
from roi.evidence.prices import gpu_machines
from roi.evidence.quantities import EXACT, HOURS_PER_MONTH, billing_unit, blank, number
from roi.evidence.tables import DAMAGED, Ledger, Table
from roi.inputs import inputs
from roi.problems import InputError

EXPECTED = "a billing export in FOCUS 1.0 to 1.2, as CSV or Parquet"
COLUMNS = {"effective": "EffectiveCost", "billed": "BilledCost"}
CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
BASES = {"Standard": "on-demand", "Dynamic": "spot", "Committed": "commitment"}
KINDS = {"gpu": "GPU charges", "storage": "storage charges", "egress": "egress charges"}
INPUTS = {"gpu": "gpu_price", "storage": "storage_price", "egress": "egress_price"}

_GPU = re.compile(r"\b(GB[23]00|B[23]00|H[12]00|A100|L40S?|L4|T4|V100|A10G?|P100|P4|K80|MI[23]\d\dX?)\b", re.IGNORECASE)
_GPU_WORD = re.compile(r"\b(gpus?|nvidia|tesla|accelerators?)\b", re.IGNORECASE)
# Google bills a GPU by itself, and the cores and memory of its host in rows of their own.
_GPU_ALONE = re.compile(r"\bgpu (running|attached)\b", re.IGNORECASE)
_GPU_HOST = re.compile(r"\b(?P<family>A2|A3|A4|G2) ?(?P<ultra>Ultra)?(Plus|Mega)?\b.*\b(core|ram)\b", re.IGNORECASE)
_HOSTS = {"A2": "A100", "A3": "H100", "A4": "B200", "G2": "L4"}
_SPOT = re.compile(r"\b(spot|preemptible|low.priority)\b", re.IGNORECASE)
_TRANSFER = re.compile(r"egress|outbound|data transfer|bandwidth|transfer out|inter.?region|cross.?region", re.IGNORECASE)
_INBOUND = re.compile(r"ingress|inbound|transfer in\b|data in\b", re.IGNORECASE)
_WAYS = {
    "between regions": r"inter.?region|cross.?region|between regions|region to region|inter.?continent",
    "between zones": r"inter.?zone|inter.?az|cross.?zone|intra.?region|regional data transfer",
    "to the internet": r"internet|transfer out|outbound|egress",
}
_NOT_CAPACITY = re.compile(r"performance|iops|throughput|operation|request|retriev|early delet|snapshot|backup", re.IGNORECASE)


class Charge(NamedTuple):
    """The columns that are read, blank where the file has none. The order is of no meaning."""

    BilledCost: str
    EffectiveCost: str
    BillingCurrency: str
    ChargeCategory: str
    ChargeDescription: str
    ChargePeriodStart: str
    CommitmentDiscountId: str
    CommitmentDiscountStatus: str
    ConsumedQuantity: str
    ConsumedUnit: str
    PricingCategory: str
    PricingQuantity: str
    PricingUnit: str
    ProviderName: str
    RegionId: str
    RegionName: str
    ResourceType: str
    ServiceCategory: str
    ServiceName: str
    SkuMeter: str
    SkuPriceDetails: str


REQUIRED = ("BillingCurrency", "ChargeCategory", "ChargePeriodStart", "PricingQuantity", "PricingUnit", "ProviderName")
_NUMBERS = ("BilledCost", "EffectiveCost", "PricingQuantity", "ConsumedQuantity", "ListCost", "ListUnitPrice", "ContractedCost")


class Purpose(NamedTuple):
    """What a usage charge pays for.

    Attributes:
        kind: `gpu`, `storage`, `egress` or `other`; nothing where it should be one of the first three but does not say enough.
        label: the GPU, the storage class or the way of a transfer; or what is missing.
        per_unit: GPU-hours, GB-months or GB in one unit of the quantity.
        unit: the column that the quantity is in, `PricingQuantity` or `ConsumedQuantity`.
    """

    kind: Literal["gpu", "storage", "egress", "other", ""]
    label: str
    per_unit: Decimal = Decimal(0)
    quantity: str = "PricingQuantity"


class Group(NamedTuple):
    """What prices are taken over."""

    kind: str
    provider: str
    region: str
    month: str
    basis: str
    label: str


@dataclass
class Sum:
    """The charges of one group.

    Attributes:
        quantity: GPU-hours, GB-months or GB.
        prices: unit prices to three figures, which bounds how many there are, with the quantity at each.
    """

    count: int = 0
    cost: Decimal = Decimal(0)
    quantity: Decimal = Decimal(0)
    prices: dict[float, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, cost: Decimal, quantity: Decimal) -> None:
        self.count += 1
        self.cost = EXACT.add(self.cost, cost)
        if quantity:
            self.quantity = EXACT.add(self.quantity, quantity)
            self.prices[float(f"{cost / quantity:.3g}")] += float(quantity)

    def interval(self) -> tuple[float, float]:
        """The prices below which a tenth and nine tenths of the quantity were paid for."""
        prices = sorted(self.prices)
        shares = np.cumsum([self.prices[price] for price in prices]) / sum(self.prices.values())
        low, high = (prices[min(int(np.searchsorted(shares, share - 1e-9)), len(prices) - 1)] for share in (0.1, 0.9))
        return low, high


@dataclass
class Commitments:
    """Both cost columns of commitment purchases, or of the usage that they cover."""

    count: int = 0
    billed: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)

    def add(self, costs: dict[str, Decimal | None]) -> None:
        self.count += 1
        self.billed = EXACT.add(self.billed, costs["billed"] or Decimal(0))
        self.effective = EXACT.add(self.effective, costs["effective"] or Decimal(0))

    def __str__(self) -> str:
        return f"{self.count:,} with a billed cost of {self.billed:,.4f} and an effective cost of {self.effective:,.4f}"


def read(files: Iterable[Path], cost: Literal["effective", "billed"], month: str = "") -> Evidence:
    """Unit costs by provider, region and month, and an account of every charge to the cent.

    Args:
        files: FOCUS exports, which are read twice as a stream: eight bytes of memory for each row, to find those that repeat.
        cost: the one cost column that is counted.
        month: `2026-05`; charges of other months, by `ChargePeriodStart`, are set aside.

    Raises:
        InputError: a file is no FOCUS export, or no charge in the files can be read.
        OSError: a file cannot be read.
    """
    tables = [Table(path, EXPECTED, _NUMBERS) for path in files]
    for table in tables:
        table.require([COLUMNS[cost], *REQUIRED], "a FOCUS export")
    reading = _Reading(cost, month, *_survey(tables))
    for table in tables:
        reading.read(table)
    return reading.evidence([str(table.path) for table in tables])


def _survey(tables: Sequence[Table]) -> tuple[np.ndarray[Any, Any], set[str]]:
    """Which rows repeat an earlier one, in the order of reading, and the commitments of which a purchase is billed."""
    hashes = array("q")
    bought: set[str] = set()
    for table in tables:
        pick, category = _picker(table), table.place("ChargeCategory")
        for record in table.records():
            hashes.append(hash(tuple(record.values)))
            if len(record.values) == len(table.columns) and record.values[category or 0].strip() == "Purchase":
                charge = pick(record.values)
                if charge.CommitmentDiscountId and number(charge.BilledCost, table.mark):
                    bought.add(charge.CommitmentDiscountId)
    repeated = np.ones(len(hashes), dtype=bool)
    repeated[np.unique(np.frombuffer(hashes, dtype=np.int64), return_index=True)[1]] = False
    return repeated, bought


def _picker(table: Table) -> Any:
    places = [table.place(name) for name in Charge._fields]

    def pick(values: Sequence[str]) -> Charge:
        return Charge(*("" if place is None else blank(values[place]) for place in places))

    return pick


class _Reading:
    """The state of reading: what became of each charge, and the sums over those that make a price."""

    def __init__(self, cost: str, month: str, repeated: np.ndarray[Any, Any], bought: set[str]) -> None:
        self.cost, self.column, self.month = cost, COLUMNS[cost], month
        self.other = "billed" if cost == "effective" else "effective"
        self.repeated, self.bought = repeated, bought
        self.rows = 0
        self.total = Decimal(0)
        self.ledger = Ledger()
        self.foreign = Ledger()
        self.sums: dict[Group, Sum] = defaultdict(Sum)
        self.purchases, self.covered = Commitments(), Commitments()
        self.other_column = Decimal(0)

    def read(self, table: Table) -> None:
        pick = _picker(table)
        for record in table.records():
            place = f"{table.path.name}:{record.line}"
            if len(record.values) != len(table.columns):
                self.ledger.add("not understood", DAMAGED, place)
            else:
                self._charge(pick(record.values), table.mark, place)
            self.rows += 1

    def _charge(self, charge: Charge, mark: str, place: str) -> None:
        costs = {"billed": number(charge.BilledCost, mark), "effective": number(charge.EffectiveCost, mark)}
        amount = costs[self.cost]
        currency = charge.BillingCurrency.upper()
        if amount is None:
            found = "is no number" if getattr(charge, self.column) else "is blank"
            self.ledger.add("not understood", f"charges whose {self.column} {found}", place)
        elif currency != "USD":
            known = currency if re.fullmatch("[A-Z]{3}", currency) else "no known currency"
            self.foreign.add("set aside", f"charges in {known}", place, amount)
        else:
            self.total = EXACT.add(self.total, amount)
            self.ledger.add(*self._fate(charge, costs, amount, mark), place, amount)

    def _fate(self, charge: Charge, costs: dict[str, Decimal | None], amount: Decimal, mark: str) -> tuple[str, str]:
        """What becomes of a charge, and why."""
        start = re.match(r"(\d{4}-(?:0[1-9]|1[0-2]))(?!\d)", charge.ChargePeriodStart, re.ASCII)
        if self.repeated[self.rows]:
            return "set aside", "exact repetitions of an earlier row"
        if not start:
            return "not understood", "charges whose ChargePeriodStart is not written like 2026-05-01"
        if self.month and start[1] != self.month:
            return "set aside", f"charges of another month than {self.month}"
        if charge.ChargeCategory not in CATEGORIES:
            return "not understood", f"charges whose ChargeCategory is none of {', '.join(CATEGORIES)}"
        self.other_column = EXACT.add(self.other_column, costs[self.other] or Decimal(0))
        where = (charge.ProviderName, charge.RegionId or charge.RegionName, start[1])

        if charge.ChargeCategory == "Purchase":
            if not charge.CommitmentDiscountId:
                return self._other(where, amount, "purchases")
            self.purchases.add(costs)
            if self.cost == "effective" and amount:
                return "set aside", "purchases of commitments with an effective cost, which their amortisation counts already"
            return self._other(where, amount, "purchases of commitments")
        if charge.CommitmentDiscountStatus or charge.PricingCategory == "Committed":
            self.covered.add(costs)
            if self.cost == "billed" and amount and charge.CommitmentDiscountId in self.bought:
                return "set aside", "charges under a commitment with a billed cost, which its purchase counts already"
        if charge.ChargeCategory in ("Tax", "Adjustment"):
            return self._other(where, amount, {"Tax": "taxes", "Adjustment": "adjustments"}[charge.ChargeCategory])
        if amount < 0 or charge.ChargeCategory == "Credit":
            return self._other(where, amount, "credits, refunds and other negative charges, which no price includes")
        if charge.CommitmentDiscountStatus == "Unused":
            return self._other(where, amount, "unused commitments, which no price includes")
        return self._usage(charge, where, amount, mark)

    def _usage(self, charge: Charge, where: tuple[str, str, str], amount: Decimal, mark: str) -> tuple[str, str]:
        purpose = _purpose(
            " ".join((charge.ChargeDescription, charge.SkuMeter, charge.ServiceName, charge.ResourceType)),
            charge.ServiceCategory,
            charge.ServiceName,
            charge.PricingUnit,
            charge.ConsumedUnit,
            charge.SkuPriceDetails,
        )
        if purpose.kind == "other":
            return self._other(where, amount, "other usage")
        quantity = number(getattr(charge, purpose.quantity), mark) if purpose.per_unit else Decimal(0)
        if not purpose.kind:
            return "not understood", purpose.label
        if quantity is None or quantity < 0:
            return "not understood", f"{KINDS[purpose.kind]} whose {purpose.quantity} is no amount"
        basis = BASES.get(charge.PricingCategory, "")
        if _SPOT.search(charge.ChargeDescription):
            basis = "spot"
        basis = basis if purpose.kind == "gpu" else ""
        self.sums[Group(purpose.kind, *where, basis, purpose.label)].add(amount, quantity * purpose.per_unit)
        return "read", KINDS[purpose.kind]

    def _other(self, where: tuple[str, str, str], amount: Decimal, why: str) -> tuple[str, str]:
        self.sums[Group("other", *where, "", "")].add(amount, Decimal(0))
        return "read", why

    def evidence(self, files: Sequence[str]) -> Evidence:
        """What was read, once all files are.

        Raises:
            InputError: no charge could be read.
        """
        # Another currency's amounts stay out of the sum, so they stand in the words.
        foreign = [
            Account(each.fate, f"{each.why}, not added ({each.amount:,.4f})", each.count, None, each.examples)
            for each in self.foreign.accounts()
        ]
        accounts = (*self.ledger.accounts(), *foreign)
        assert sum((each.amount or Decimal(0) for each in accounts), Decimal(0)) == self.total
        assert sum(each.count for each in accounts) == self.rows == len(self.repeated)
        if not any(each.fate == "read" for each in accounts):
            found = "; ".join(map(str, accounts)) or "no rows below the columns' names"
            raise InputError(f"{', '.join(files)}: no charge can be read: {found}; expected is {EXPECTED} with charges in USD")
        findings, measures, notes = self._prices(files)
        return Evidence(
            kind="billing",
            files=tuple(files),
            records="charges",
            total=self.rows,
            total_amount=self.total,
            accounts=accounts,
            findings=tuple(findings),
            measures=tuple(measures),
            notes=(*self._notes(), *notes),
        )

    def _prices(self, files: Sequence[str]) -> tuple[list[Finding], list[Measure], list[str]]:
        """A finding for the latest month of each region, and measures for what is left."""
        findings, measures, notes = [], [], []
        latest: dict[Group, str] = {}
        for group in self.sums:
            key = group._replace(month="")
            latest[key] = max(latest.get(key, ""), group.month)
        for group, total in sorted(self.sums.items()):
            where = ", ".join(filter(None, (group.provider, group.region, group.month, group.basis, group.label)))
            name = ".".join(filter(None, (group.kind, *group[1:])))
            if group.kind == "other":
                measures.append(Measure(f"{name}.cost", f"Other cost, {where}", float(total.cost), "USD"))
                continue
            row = inputs()[INPUTS[group.kind]]
            if not total.quantity or not total.cost:
                notes.append(f"{row.label}, {where}: none, from {total.cost:,.4f} USD over {total.quantity:,.4f}.")
                continue
            price = float(f"{total.cost / total.quantity:.6g}")
            if group.month < latest[group._replace(month="")] or not row.range[0] <= price <= row.range[1]:
                measures.append(Measure(name, f"{row.label}, {where}", price, row.unit))
                continue
            low, high = total.interval()
            spread = low < high and low <= price <= high
            findings.append(
                Finding(
                    row.name,
                    price,
                    low=low if spread else None,
                    high=high if spread else None,
                    covers=0.8 if spread else None,
                    count=total.count,
                    source=f"{where}: {self.column} in {', '.join(Path(file).name for file in files)}",
                    dated=date.fromisoformat(f"{group.month}-01"),
                    basis=", ".join(filter(None, (group.basis, group.label))),
                    place=group.region,
                    note=f"{total.cost:,.2f} USD over {total.quantity:,.4g} {row.unit[4:].strip('()')}, before credits",
                )
            )
        return findings, measures, notes

    def _notes(self) -> list[str]:
        notes = [f"Costs are {self.column}; {COLUMNS[self.other]} of the same charges is {self.other_column:,.4f}."]
        if self.purchases.count or self.covered.count:
            notes.append(
                f"Commitments: purchases, {self.purchases}; charges under commitments, {self.covered}. "
                f"Adding both columns would count a commitment twice, so only {self.column} is counted."
            )
        if self.cost == "billed" and self.covered.count and not self.covered.billed:
            notes.append("What commitments cover has no billed cost, so it makes no price; --cost effective does.")
        if self.cost == "effective" and not any(each.cost for each in self.sums.values()) and self.other_column:
            notes.append("EffectiveCost is 0 throughout and BilledCost is not: nothing is amortised here; use --cost billed.")
        if self.cost == "effective" and self.purchases.effective and not self.covered.effective:
            notes.append("No charge amortises the purchases that were set aside; --cost billed counts them.")
        return notes


@lru_cache(maxsize=4096)
def _purpose(text: str, category: str, service: str, pricing_unit: str, consumed_unit: str, details: str) -> Purpose:
    """What a usage charge with these words pays for, and how much of it one unit of its quantity is."""
    quantity = "PricingQuantity" if billing_unit(pricing_unit) or not billing_unit(consumed_unit) else "ConsumedQuantity"
    unit = billing_unit(pricing_unit) or billing_unit(consumed_unit)
    properties = _properties(details)
    words = f"{text} {properties.get('instancetype', '')}"

    host = _GPU_HOST.search(text)
    if host and not _GPU_WORD.search(text):
        return Purpose("gpu", "H200" if host["ultra"] and host["family"].upper() == "A3" else _HOSTS[host["family"].upper()])
    model, gpus = _gpus(words, properties)
    if model and (unit is None or unit.gigabytes == 0):
        if unit is None:
            return Purpose("", f"GPU charges in {(pricing_unit or 'no unit')[:40]!r}, not in hours")
        gpus = 1 if unit.gpu else gpus
        if not gpus:
            return Purpose("", "GPU charges that do not say how many GPUs they are for")
        return Purpose("gpu", model, unit.hours * gpus, quantity)

    # Oracle writes GB Months for what was transferred in a month.
    if _TRANSFER.search(text) and not _INBOUND.search(text):
        if unit and unit.gigabytes and unit.hours in (0, HOURS_PER_MONTH):
            way = next((way for way, words in _WAYS.items() if re.search(words, text, re.IGNORECASE)), "")
            return Purpose("egress", way, unit.gigabytes, quantity)
    elif category == "Storage" and not _NOT_CAPACITY.search(text):
        if unit and unit.gigabytes and unit.hours:
            gigabyte_months = unit.gigabytes * unit.hours / HOURS_PER_MONTH
            return Purpose("storage", properties.get("storageclass") or service, gigabyte_months, quantity)
        if unit is None and re.search(r"[kmgtp]i?b|byte", pricing_unit, re.IGNORECASE):
            return Purpose("", f"storage charges in {pricing_unit[:40]!r}, which is no known unit")
    return Purpose("other", "")


def _properties(details: str) -> dict[str, str]:
    """`SkuPriceDetails` by name in lower case; the keys of 1.1 drafts (`F_`) and of providers (`x_`) count as FOCUS's own."""
    try:
        found = json.loads(details) if details else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {re.sub(r"^[fx]_", "", key.lower()): str(value) for key, value in found.items()}


def _gpus(words: str, properties: dict[str, str]) -> tuple[str, Decimal | int]:
    """The GPU that a charge names, if any, and how many of it one unit holds; 0 where it does not say how many."""
    plain = re.sub(r"[^a-z0-9]", "", words.lower())
    machine = next((each for name, each in gpu_machines().items() if name in plain), None)
    model = _GPU.search(words)
    said = number(properties.get("gpucount", ""), ".")
    if said and said > 0:
        return (model[0].upper() if model else machine.gpu if machine else "GPU"), said
    if machine:
        return machine.gpu, machine.gpus
    if model and _GPU_WORD.search(words):
        return model[0].upper(), 1 if _GPU_ALONE.search(words) else 0
    return "", 0
