"""Utilisation and unit costs from OpenCost: answers of its allocation API, and its list of default prices.

What OpenCost means by its fields (core/pkg/opencost/allocation_json.go):

- `gpuHours` are the GPU-hours that were requested, whether or not they were used, and `gpuCost` is their cost.
- `__idle__` (with `includeIdle=true`) is what nodes cost beyond what was requested. So requested over requested and idle is the
  share of the bill that somebody asked for, an upper end for the share that trains.
- `pvByteHours` are byte-hours of volumes. Default prices of storage are per GB-hour, and prices may be written as text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from roi.evidence.evidence import Evidence, Finding, Measure
from roi.evidence.quantities import EXACT, HOURS_PER_MONTH, blank, day, number
from roi.evidence.tables import Ledger, read_json, refuse
from roi.inputs import inputs
from roi.problems import InputError

EXPECTED = "an answer of OpenCost's allocation API, or its list of default prices, as JSON"
IDLE = "__idle__"

_DEFAULTS = {
    "GPU": ("gpu_price", Decimal(1), "on-demand", "per GPU-hour"),
    "CPU": ("vcpu_price", Decimal(1), "on-demand", "per vCPU-hour"),
    "spotCPU": ("vcpu_price", Decimal(1), "spot", "per vCPU-hour"),
    "storage": ("storage_price", Decimal(HOURS_PER_MONTH), "list", f"per GB-hour, times {HOURS_PER_MONTH}"),
    "regionNetworkEgress": ("egress_price", Decimal(1), "between regions", "per GB"),
    "zoneNetworkEgress": ("egress_price", Decimal(1), "between zones", "per GB"),
    "internetNetworkEgress": ("egress_price", Decimal(1), "to the internet", "per GB"),
}
"""OpenCost's name of a default price, the input that it is for, what turns it into the input's unit, its basis, and its unit."""

_PARTS = (
    *("cpuCost", "gpuCost", "ramCost", "pvCost", "networkCost", "loadBalancerCost", "sharedCost", "externalCost"),
    *("cpuCostAdjustment", "gpuCostAdjustment", "ramCostAdjustment", "pvCostAdjustment"),
    *("networkCostAdjustment", "loadBalancerCostAdjustment"),
)
"""What `totalCost` is the sum of."""

_NUMBERS = (*_PARTS, "gpuHours", "gpuEfficiency", "pvByteHours")


@dataclass
class _Cluster:
    """Sums over the allocations of one cluster, in USD, GPU-hours and byte-hours."""

    requested: int = 0
    idle: int = 0
    gpu_cost: Decimal = Decimal(0)
    gpu_hours: Decimal = Decimal(0)
    gpu_rows: int = 0
    idle_gpu_cost: Decimal = Decimal(0)
    volume_cost: Decimal = Decimal(0)
    volume_byte_hours: Decimal = Decimal(0)
    volume_rows: int = 0
    used_gpu_hours: Decimal = Decimal(0)
    rated_gpu_hours: Decimal = Decimal(0)
    last: str = ""


def read(files: Iterable[Path]) -> Evidence:
    """Utilisation, GPU price and storage price by cluster, and an account of every allocation.

    Raises:
        InputError: a file is no answer of OpenCost, or no allocation in the files can be read.
        OSError: a file cannot be read.
    """
    reading = _Reading()
    paths = list(files)
    for path in paths:
        reading.read(path)
    return reading.evidence([str(path) for path in paths])


class _Reading:
    """The sums by cluster, and what became of each allocation."""

    def __init__(self) -> None:
        self.ledger, self.rows, self.total = Ledger(), 0, Decimal(0)
        self.clusters: dict[str, _Cluster] = defaultdict(_Cluster)
        self.seen: set[int] = set()
        self.findings: list[Finding] = []
        self.torn = 0

    def read(self, path: Path) -> None:
        found = read_json(path, EXPECTED)
        if isinstance(found, dict) and "data" not in found and found.keys() & _DEFAULTS.keys():
            self._defaults(found, path)
            return
        for name, allocation in _allocations(found, path):
            self._allocation(name, allocation, f"{path.name}: {name[:60]}")

    def _defaults(self, prices: dict[str, Any], path: Path) -> None:
        for name, text in prices.items():
            self.rows += 1
            if name not in _DEFAULTS:
                self.ledger.add("set aside", "entries that are no price of an input", f"{path.name}: {name[:60]}")
                continue
            field, factor, basis, words = _DEFAULTS[name]
            price, row = _number(text), inputs()[field]
            if price is None or not 0 < price * factor <= row.range[1]:
                self.ledger.add("not understood", "prices that are no amount", f"{path.name}: {name}")
                continue
            self.ledger.add("read", "default prices", "")
            source = f"OpenCost's default prices in {path.name}: {name} {words}"
            note = str(prices.get("description", ""))[:200]
            self.findings.append(Finding(field, _figures(price * factor), None, None, None, 1, source, basis=basis, note=note))

    def _allocation(self, name: str, row: Any, place: str) -> None:
        self.rows += 1
        total = _number(row.get("totalCost")) if isinstance(row, dict) else None
        if total is None or row.get("totalCost") is None:
            self.ledger.add("not understood", "allocations without a totalCost that is a number", place)
            return
        self.total = EXACT.add(self.total, total)
        content = hash(str((name, row)))
        if content in self.seen:
            self.ledger.add("set aside", "exact repetitions of an earlier allocation", place, total)
            return
        self.seen.add(content)
        numbers = {field: _number(row.get(field)) for field in _NUMBERS}
        wrong = [field for field, value in numbers.items() if value is None]
        if wrong:
            self.ledger.add("not understood", f"allocations whose {wrong[0]} is no number", place, total)
            return
        self.ledger.add("read", "idle allocations" if name == IDLE else "allocations", place, total)
        self._sum(name, row, {field: value for field, value in numbers.items() if value is not None}, total)

    def _sum(self, name: str, row: dict[str, Any], numbers: dict[str, Decimal], total: Decimal) -> None:
        properties = row.get("properties")
        cluster = self.clusters[str(properties.get("cluster") or "") if isinstance(properties, dict) else ""]
        cluster.last = max(cluster.last, str(row.get("end") or ""))
        parts = sum((numbers[field] for field in _PARTS), Decimal(0))
        self.torn += abs(parts - total) > Decimal("0.01")
        gpu_cost = numbers["gpuCost"] + numbers["gpuCostAdjustment"]
        if name == IDLE:
            cluster.idle += 1
            cluster.idle_gpu_cost += gpu_cost
            return
        cluster.requested += 1
        cluster.gpu_cost += gpu_cost
        if numbers["gpuHours"] > 0:
            cluster.gpu_rows += 1
            cluster.gpu_hours += numbers["gpuHours"]
            if row.get("gpuEfficiency") is not None:
                cluster.rated_gpu_hours += numbers["gpuHours"]
                cluster.used_gpu_hours += numbers["gpuHours"] * numbers["gpuEfficiency"]
        if numbers["pvByteHours"] > 0:
            cluster.volume_rows += 1
            cluster.volume_byte_hours += numbers["pvByteHours"]
            cluster.volume_cost += numbers["pvCost"] + numbers["pvCostAdjustment"]

    def evidence(self, files: Sequence[str]) -> Evidence:
        """What was read, once all files are.

        Raises:
            InputError: no allocation could be read.
        """
        accounts = self.ledger.accounts()
        if not any(each.fate == "read" for each in accounts):
            found = "; ".join(map(str, accounts)) or "no allocations"
            raise InputError(f"{', '.join(files)}: nothing can be read: {found}; expected is {EXPECTED}")
        assert sum((each.amount or Decimal(0) for each in accounts), Decimal(0)) == self.total
        measures, notes = list[Measure](), list[str]()
        if self.findings:
            notes.append("OpenCost counts a GB as 2**30 bytes in its default prices; per GB of 1e9 bytes storage is 7 % cheaper.")
        if self.clusters:
            notes.append("OpenCost names no currency; its costs are taken to be in USD.")
        names = ", ".join(Path(file).name for file in files)
        for place, cluster in sorted(self.clusters.items()):
            self._prices(place, cluster, names, notes)
            if cluster.rated_gpu_hours > 0:
                label = f"GPU use of what was requested{f' in {place}' if place else ''}, by gpuEfficiency"
                used = float(cluster.used_gpu_hours / cluster.rated_gpu_hours)
                measures.append(Measure(".".join(filter(None, ("gpu_used", place))), label, used, "%"))
        if self.torn:
            notes.append(f"In {self.torn:,} allocations the parts of the cost differ from totalCost by more than a cent.")
        return Evidence(
            kind="opencost",
            files=tuple(files),
            records="entries",
            total=self.rows,
            total_amount=self.total if self.clusters else None,
            accounts=accounts,
            findings=tuple(self.findings),
            measures=tuple(measures),
            notes=tuple(notes),
        )

    def _prices(self, place: str, sums: _Cluster, names: str, notes: list[str]) -> None:
        """What the sums of one cluster say of inputs; a figure that no input can have is left out and said."""

        def add(field: str, value: Decimal, count: int, source: str, note: str = "") -> None:
            row = inputs()[field]
            if 0 < value <= row.range[1] and value >= row.range[0]:
                self.findings.append(
                    Finding(field, _figures(value), None, None, None, count, source, day(sums.last), "", place, note)
                )
                notes.append(f"{row.label}: {source}.{' ' if note else ''}{note}")
            else:
                notes.append(f"{row.label}: {value:.6g} from {source} is left out, since no such value is allowed.")

        requested, both = sums.gpu_cost, sums.gpu_cost + sums.idle_gpu_cost
        if sums.idle and requested > 0 and both > 0:
            source = f"requested over requested and idle GPU cost in {names}: {requested:,.2f} of {both:,.2f} USD"
            note = "What is requested need not be used: the share that trains is lower."
            add("utilisation", requested / both, sums.requested + sums.idle, source, note)
        elif requested > 0:
            notes.append(f"No utilisation: there is no {IDLE} beside the GPU cost; ask OpenCost with includeIdle=true.")
        if sums.gpu_hours > 0:
            add("gpu_price", requested / sums.gpu_hours, sums.gpu_rows, f"gpuCost over gpuHours in {names}, without idle GPUs")
        if sums.volume_byte_hours > 0:
            price = sums.volume_cost / (sums.volume_byte_hours / 10**9 / HOURS_PER_MONTH)
            source = f"pvCost over pvByteHours in {names}, at {HOURS_PER_MONTH} hours a month"
            add("storage_price", price, sums.volume_rows, source)


def _allocations(found: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Every allocation with its name: `data` holds one object of allocations for each step of the window.

    Raises:
        InputError: there is no such object.
    """
    sets = found.get("data") if isinstance(found, dict) else found
    if isinstance(sets, dict):
        sets = [sets]
    if not isinstance(sets, list) or not any(isinstance(each, dict) and each for each in sets):
        names = f": {', '.join(list(found)[:10])[:200]}" if isinstance(found, dict) else ""
        raise refuse(path, f"is JSON without allocations{names}", EXPECTED)
    for index, each in enumerate(sets):
        if isinstance(each, dict):
            yield from each.items()
        elif each is not None:  # a step without any allocation
            yield f"data[{index}]", each


def _number(value: Any) -> Decimal | None:
    """A number, or a number as text; what is absent or null is 0."""
    if value is None:
        return Decimal(0)
    return number(blank(str(value)), ".") if isinstance(value, Decimal | str) else None


def _figures(value: Decimal) -> float:
    return float(f"{value:.6g}")
