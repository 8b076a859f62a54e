"""USD per GPU-hour from price lists: SkyPilot's catalogs, plain lists as CSV, and lists of machines as JSON.

A price is a price with its source, its basis (on-demand, spot, commitment) and its date. Where one of these is missing, the range
is shown and no one price is given: the same H100 costs from 1.25 to 15.97 USD.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roi.evidence.evidence import Evidence, Finding, Measure
from roi.evidence.quantities import blank, day, number
from roi.evidence.tables import DAMAGED, Ledger, Table, is_parquet, read_json, refuse, start
from roi.inputs import ROOT, inputs
from roi.problems import InputError, Problem

GPU_PRICES = ROOT / "data" / "gpu_prices.csv"
EGRESS_PRICES = ROOT / "data" / "egress.csv"
EXPECTED = (
    "a SkyPilot catalog (vms.csv), a price list with a column gpu and prices in USD per GPU-hour, or a JSON list of machines"
)

PLAUSIBLE = (Decimal("0.02"), Decimal(50))
"""USD per GPU-hour between which a price lies. Catalogs put 0, 700 or 9999 for a machine of which they know none."""

MOST_GPUS = 128
CATALOG = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "SpotPrice", "Region")
ON_DEMAND, SPOT, COMMITMENT = BASES = ("on-demand", "spot", "commitment")

_PRICE_COLUMNS = {basis: f"{basis.replace('-', '_')}_usd_per_gpu_hour" for basis in BASES}
_MACHINE = ("sku", "gpu_type", "gpu_count", "hourly_usd", "spot_hourly_usd")

# Where SkyPilot's catalog for Google keeps a GPU apart from its host, this is the machine that has so many of it
# (sky/catalog/gcp_catalog.py). Of other GPUs the host is a choice, and so is its price.
_HOSTS = {
    "A100": "a2-highgpu",
    "A100-80GB": "a2-ultragpu",
    "H100": "a3-highgpu",
    "H100-MEGA": "a3-megagpu",
    "H200": "a3-ultragpu",
    "B200": "a4-highgpu",
}
_HOST_FAMILIES = (*_HOSTS.values(), "a2-megagpu")


class Price(NamedTuple):
    """One price of a price list.

    Attributes:
        usd: per GPU-hour.
        basis: on-demand, spot or commitment; empty where the list does not say.
        dated: the day on which it was valid; None where the list does not say.
    """

    provider: str
    region: str
    machine: str
    gpu: str
    basis: str
    usd: Decimal
    source: str
    dated: date | None
    note: str = ""


class Machine(NamedTuple):
    """A machine and the GPUs in it."""

    gpu: str
    gpus: int


class Egress(NamedTuple):
    """A price of data that leaves a region.

    Attributes:
        way: between regions, or to the internet.
        from_gb, to_gb: the GB in a month for which it holds; no end where `to_gb` is None.
        usd: per GB of 1e9 bytes.
    """

    provider: str
    region: str
    way: str
    from_gb: float
    to_gb: float | None
    usd: float
    dated: date
    source: str


def _facts(path: Path, price: str, words: Sequence[str]) -> Iterator[tuple[dict[str, str], date]]:
    """The rows of a table of prices that ships with the workbook, each with its date.

    Raises:
        InputError: a row lacks its source, its date, its price or another word.
    """
    with path.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file, restval=""), 2):
            dated, usd = day(row["date"]), number(row[price], ".")
            missing = [name for name in ("source", *words) if not row[name]]
            if missing or dated is None or usd is None or usd < 0:
                raise InputError([Problem(f"lacks {', '.join(missing) or 'a date or a price'}", str(path), line)])
            yield row, dated


@cache
def gpu_machines() -> dict[str, Machine]:
    """The machines of the shipped price list, by name in letters and digits alone."""
    rows = _facts(GPU_PRICES, "usd_per_gpu_hour", ("provider", "region", "machine", "gpus", "gpu", "basis"))
    return {_letters(row["machine"]): Machine(row["gpu"], int(row["gpus"])) for row, _ in rows}


@cache
def egress_prices() -> tuple[Egress, ...]:
    """The shipped prices of egress, in USD per GB: between regions of one provider, and to the internet by tier."""
    return tuple(
        Egress(
            row["provider"],
            row["region"],
            row["way"],
            float(row["from_gb"]),
            float(row["to_gb"]) if row["to_gb"] else None,
            float(row["usd_per_gb"]),
            dated,
            row["source"],
        )
        for row, dated in _facts(EGRESS_PRICES, "usd_per_gb", ("provider", "region", "way", "from_gb"))
    )


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _family(name: str) -> str:
    """A GPU's name written one way: `A100-80` for `nvidia A100_80GB`."""
    plain = re.sub(r"[\s_]+", "-", name.strip().upper()).removeprefix("NVIDIA-").removeprefix("TESLA-")
    return re.sub(r"(?<=\d)GB$", "", plain)


def read(files: Iterable[Path], gpu: str, region: str = "", dated: date | None = None) -> Evidence:
    """Prices of a GPU by provider, region and basis: the median, with 8 in 10 of the prices listed between low and high.

    Args:
        gpu: such as `H100`, which stands for `H100-MEGA` and `H100-SXM` as well; `H100-MEGA` stands for itself.
        region: as the list writes it; all regions where it is empty.
        dated: the day of a list that says none, such as the day on which a catalog was fetched.

    Raises:
        InputError: a file is no price list, or lists no price of this GPU.
        OSError: a file cannot be read.
    """
    reading = _Reading(gpu, region, dated)
    paths = list(files)
    for path in paths:
        if not is_parquet(path) and start(path, EXPECTED)[1][0] in "{[":
            reading.json_list(path)
            continue
        table = Table(path, EXPECTED, ("Price", "SpotPrice", *_PRICE_COLUMNS.values(), "usd_per_gpu_hour", "AcceleratorCount"))
        if all(table.place(name) is not None for name in CATALOG):
            reading.catalog(table)
        else:
            reading.plain_list(table)
    return reading.evidence([str(path) for path in paths])


class _Reading:
    """The prices that were found, and what became of each row."""

    def __init__(self, gpu: str, region: str, dated: date | None) -> None:
        self.gpu, self.region, self.dated = _family(gpu), region.strip().lower(), dated
        self.ledger, self.rows = Ledger(), 0
        self.prices: list[Price] = []
        self.gpus: set[str] = set()
        self.regions: set[str] = set()
        self.flags: Counter[str] = Counter()
        self.places: dict[str, str] = {}

    def _account(self, outcome: tuple[str, str], place: str) -> None:
        self.rows += 1
        self.ledger.add(*outcome, place)

    def _flag(self, words: str, place: str) -> None:
        self.flags[words] += 1
        self.places.setdefault(words, place)

    def _wanted(self, gpu: str, region: str) -> tuple[str, str] | None:
        """Why a row is set aside before its price is looked at; None where it is wanted."""
        name = _family(gpu)
        self.gpus.add(gpu)
        if name != self.gpu and not name.startswith(f"{self.gpu}-"):
            return "set aside", "rows of another GPU"
        self.regions.add(region)
        if self.region and region.lower() != self.region:
            return "set aside", "rows of another region"
        return None

    def _take(self, texts: dict[str, str], mark: str, gpus: Decimal | int, place: str, price: Price) -> tuple[str, str]:
        """The prices of one row by basis, for a machine with so many GPUs; and what becomes of the row."""
        found: dict[str, Decimal] = {}
        outcome = ("set aside", "rows without a price")
        for basis, text in texts.items():
            if not text:
                continue
            usd = number(text, mark)
            if usd is None:
                outcome = ("not understood", "rows with a price that is no number")
            elif not PLAUSIBLE[0] <= usd / gpus <= PLAUSIBLE[1]:
                within = " to ".join(map(str, PLAUSIBLE))
                outcome = ("set aside", f"rows with a price that is none, outside {within} USD per GPU-hour")
            else:
                found[basis] = usd / gpus
                continue
            if len(texts) > 1:
                self._flag(f"{basis} prices are left out: {outcome[1]}", place)
        self.prices += [price._replace(basis=basis, usd=usd) for basis, usd in found.items()]
        if SPOT in found and found[SPOT] > found.get(ON_DEMAND, found[SPOT]):
            self._flag("spot prices are above on-demand", place)
        return ("read", f"rows with a price of {self.gpu}") if found else outcome

    # --- SkyPilot's catalogs -------------------------------------------------------------------------------------------------

    def catalog(self, table: Table) -> None:
        """A catalog: prices are of the machine for an hour; it names neither its provider nor its day."""
        path = table.path.resolve()
        source = f"SkyPilot catalog {'/'.join(path.parts[-3:])}"
        hosts: dict[tuple[str, str], dict[str, str]] = {}
        apart: list[tuple[str, dict[str, str], Price]] = []
        for place, row in _rows(table, (*CATALOG, "AvailabilityZone"), self):
            gpu, machine = row["AcceleratorName"], row["InstanceType"]
            if not gpu:
                if machine.rpartition("-")[0] in _HOST_FAMILIES:
                    hosts[machine, row["AvailabilityZone"]] = row
                self._account(("set aside", "machines without a GPU in their row"), place)
                continue
            outcome = self._wanted(gpu, row["Region"])
            if not outcome:
                price = Price(path.parent.name, row["Region"], machine, gpu, "", Decimal(0), source, self.dated)
                if not machine:
                    apart.append((place, row, price))
                    continue
                gpus = self._count(machine, number(row["AcceleratorCount"], table.mark), place)
                texts = {ON_DEMAND: row["Price"], SPOT: row["SpotPrice"]}
                outcome = self._take(texts, table.mark, gpus, place, price) if isinstance(gpus, Decimal) else gpus
            self._account(outcome, place)
        for place, row, price in apart:
            self._account(self._join(row, hosts, table.mark, place, price), place)

    def _count(self, machine: str, gpus: Decimal | None, place: str) -> Decimal | tuple[str, str]:
        """How many GPUs a machine has; where the catalog cannot be right, what becomes of its row."""
        known = gpu_machines().get(_letters(machine).removeprefix("standard"))
        if known and known.gpus != gpus:
            self._flag(f"catalog counts {gpus} GPUs in a {machine}, which has {known.gpus}: its price is shared by these", place)
            return Decimal(known.gpus)
        if gpus is None or not 0 < gpus <= MOST_GPUS:
            return "not understood", "rows whose AcceleratorCount is no number of GPUs"
        said = re.search(r"(?<!\d)(\d{1,2})(?:x[_-]|gpu)|-(\d{1,2})g$", machine, re.IGNORECASE | re.ASCII)
        if said and Decimal(said[1] or said[2]) != gpus:
            return "set aside", "rows whose machine's name and AcceleratorCount disagree"
        return gpus

    def _join(
        self, row: dict[str, str], hosts: dict[tuple[str, str], dict[str, str]], mark: str, place: str, price: Price
    ) -> tuple[str, str]:
        """A GPU that stands in a row of its own, with the host that it stands in."""
        gpus = number(row["AcceleratorCount"], mark)
        if gpus is None or not 0 < gpus <= MOST_GPUS:
            return "not understood", "rows whose AcceleratorCount is no number of GPUs"
        family = "a2-megagpu" if price.gpu == "A100" and gpus == 16 else _HOSTS.get(price.gpu.upper())
        if family is None:
            return "set aside", "GPUs apart from a host, which is a choice"
        machine = f"{family}-{int(gpus)}g"
        host = hosts.get((machine, row["AvailabilityZone"]))
        if host is None:
            return "set aside", "GPUs apart from a host that their zone does not list"
        both = {}
        for basis, name in ((ON_DEMAND, "Price"), (SPOT, "SpotPrice")):
            parts = [number(each[name], mark) for each in (row, host) if each[name]]
            # A part that is missing leaves no price, and so does a part of 0.
            both[basis] = "?" if None in parts else str(sum(filter(None, parts))) if all(parts) and len(parts) == 2 else ""
        return self._take(both, ".", gpus, place, price._replace(machine=machine))

    # --- other lists ---------------------------------------------------------------------------------------------------------

    def plain_list(self, table: Table) -> None:
        """A list with a column gpu, and prices per GPU-hour in one column with a basis, or in one column for each basis."""
        by_basis = {basis: name for basis, name in _PRICE_COLUMNS.items() if table.place(name) is not None}
        prices = list(by_basis.values()) or ["usd_per_gpu_hour"]
        table.require(["gpu", "region", *prices], "a price list")
        machine = table.first("machine", "instance", "instance_type", "sku")
        when = table.first("date", "as_of")
        for place, row in _rows(table, ("provider", "region", "gpu", "basis", "source", "note", machine, when, *prices), self):
            outcome = self._wanted(row["gpu"], row["region"])
            if not outcome:
                source, dated = row["source"], day(row[when]) or self.dated
                words = (row["provider"], row["region"], row[machine], row["gpu"], "")
                price = Price(*words, Decimal(0), source, dated, row["note"])
                texts = {basis: row[name] for basis, name in by_basis.items()} or {row["basis"].lower(): row["usd_per_gpu_hour"]}
                outcome = self._take(texts, table.mark, 1, place, price)
            self._account(outcome, place)

    def json_list(self, path: Path) -> None:
        """A list of machines by provider, with one day for all: `hourly_usd`, `spot_hourly_usd`, `gpu_type`, `gpu_count`.

        Raises:
            InputError: the file lists no machines, or its prices are not in USD.
        """
        found = read_json(path, EXPECTED)
        clouds = {
            str(name): each
            for name, each in (found.items() if isinstance(found, dict) else ())
            if isinstance(each, dict) and isinstance(each.get("instances"), list)
        }
        if not clouds:
            names = f": {', '.join(list(found)[:20])[:200]}" if isinstance(found, dict) else ""
            raise refuse(path, f"is JSON without a list of machines{names}", EXPECTED)
        currency = str(found.get("currency", "USD"))
        if currency.upper() != "USD":
            raise refuse(path, f"has prices in {currency[:40]}", "a list with prices in USD")
        dated = day(str(found.get("as_of", ""))) or self.dated
        for provider, cloud in clouds.items():
            region = str(cloud.get("region", ""))
            for index, row in enumerate(cloud["instances"]):
                self._account(self._machine(row, provider, region, dated, path), f"{path.name}: {provider}[{index}]")

    def _machine(self, row: Any, provider: str, region: str, dated: date | None, path: Path) -> tuple[str, str]:
        if not isinstance(row, dict):
            return "not understood", "entries that are no machine"
        cell = {name: blank("" if row.get(name) is None else str(row[name])) for name in _MACHINE}
        if not cell["gpu_type"]:
            return "set aside", "machines without a GPU"
        place = f"{path.name}: {cell['sku']}"
        outcome = self._wanted(cell["gpu_type"], region)
        if outcome:
            return outcome
        gpus = number(cell["gpu_count"], ".")
        if gpus is None or not 0 < gpus <= MOST_GPUS:
            return "not understood", "machines whose gpu_count is no number of GPUs"
        texts = {ON_DEMAND: cell["hourly_usd"], SPOT: cell["spot_hourly_usd"]}
        price = Price(provider, region, cell["sku"], cell["gpu_type"], "", Decimal(0), path.name, dated)
        return self._take(texts, ".", gpus, place, price)

    # --- what was found ------------------------------------------------------------------------------------------------------

    def evidence(self, files: Sequence[str]) -> Evidence:
        """What was read, once all files are.

        Raises:
            InputError: there is no price of the GPU.
        """
        if not self.prices:
            raise InputError(f"{', '.join(files)}: {self._nothing()}")
        row = inputs()["gpu_price"]
        measures, findings, lacking = [], [], Counter[str]()
        for basis in sorted({each.basis for each in self.prices}):
            usd = [float(each.usd) for each in self.prices if each.basis == basis]
            words = f"of {len(usd):,} {basis or 'unspecified'} prices of {self.gpu}"
            for name, label, value in (("lowest", "Lowest", min(usd)), ("highest", "Highest", max(usd))):
                measures.append(Measure(f"{basis or 'unspecified'}.{name}", f"{label} {words}", round(value, 6), row.unit))
        groups: dict[tuple[str, str, str], list[Price]] = defaultdict(list)
        for each in self.prices:
            missing = [name for name, said in (("source", each.source), ("basis", each.basis), ("date", each.dated)) if not said]
            if missing:
                lacking[" and ".join(missing)] += 1
            else:
                groups[each.provider, each.region, each.basis].append(each)
        for (provider, region, basis), prices in sorted(groups.items()):
            findings.append(_finding(provider, region, basis, prices))
        notes = [
            f"No one price is given for {count:,} prices without {missing}"
            + ("; --date gives the day on which the list was fetched." if "date" in missing else ".")
            for missing, count in lacking.items()
        ]
        notes += [
            f"Source: {source} ({dated})." for source, dated in sorted({(each.source, str(each.dated)) for each in self.prices})
        ]
        notes += [f"Flag: {words} ({count:,}, first {self.places[words]})." for words, count in self.flags.items()]
        return Evidence(
            kind="prices",
            files=tuple(files),
            records="rows",
            total=self.rows,
            accounts=self.ledger.accounts(),
            findings=tuple(findings),
            measures=tuple(measures),
            notes=tuple(notes),
        )

    def _nothing(self) -> str:
        """Why there is no price, in words."""
        if not self.rows:
            return f"no rows; expected is {EXPECTED}"
        if not self.regions:
            names = ", ".join(sorted(filter(None, self.gpus))[:30])
            return f"no row of {self.gpu}; the GPUs listed are {names[:600] or 'none'}"
        if self.region and self.region not in {region.lower() for region in self.regions}:
            return f"no row of {self.gpu} in {self.region}; its regions are {', '.join(sorted(self.regions)[:40])[:600]}"
        return f"no price of {self.gpu} can be used: {'; '.join(map(str, self.ledger.accounts()))}"


def _rows(table: Table, names: Sequence[str], reading: _Reading) -> Iterator[tuple[str, dict[str, str]]]:
    """Where each row stands and its values by name; rows that are damaged are accounted for here."""
    places = {name: table.place(name) for name in names}
    for record in table.records():
        at = f"{table.path.name}:{record.line}"
        if len(record.values) == len(table.columns):
            yield at, {name: "" if place is None else blank(record.values[place]) for name, place in places.items()}
        else:
            reading._account(("not understood", DAMAGED), at)


def _finding(provider: str, region: str, basis: str, prices: list[Price]) -> Finding:
    """The price of a GPU in one region: one machine in several zones is one price."""
    usd = sorted(float(price) for _, price in {(each.machine, each.usd) for each in prices})
    machines = sorted({f"{each.machine or 'machine unknown'} ({each.gpu})" for each in prices})
    more = f" and {len(machines) - 4} more" if len(machines) > 4 else ""
    low, high = np.quantile(usd, (0.1, 0.9))
    spread = usd[0] < usd[-1]
    return Finding(
        "gpu_price",
        round(float(np.median(usd)), 6),
        low=round(float(low), 6) if spread else None,
        high=round(float(high), 6) if spread else None,
        covers=0.8 if spread else None,
        count=len(prices),
        source=f"{'; '.join(sorted({each.source for each in prices})[:3])}: {', '.join(machines[:4])}{more}",
        dated=min(each.dated for each in prices if each.dated),
        basis=basis,
        place=region,
        note="; ".join(filter(None, [provider, *sorted({each.note for each in prices})[:3]])),
    )
