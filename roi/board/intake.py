"""Evidence from files chosen in the app: they stay on this server, and change nothing before the reader says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roi import amounts
from roi.evidence.evidence import Evidence
from roi.evidence.prices import BASES
from roi.evidence.write import Update, plan
from roi.problems import InputError, Problem
from roi.proposals import FLEETS, Proposal
from roi.reading import find
from roi.results import Result

MOST_BYTES = 200_000_000
"""Of all files of one reading. The command line reads larger ones where they lie."""

READERS = {
    "steps": "Training logs: today's, and one after the change",
    "waits": "Job status: queue wait and start-up",
    "billing": "Billing export (FOCUS)",
    "opencost": "OpenCost: utilisation and prices",
    "prices": "Price list",
}


class Intake:
    """Takes the files of one reader of the app, in pieces, and plans what their evidence would change.

    The files lie in a folder of their own for as long as they are read, and are gone after that.
    """

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._files: list[Path] = []
        self._size = 0
        self._planned: Update | None = None
        self._texts: dict[str, str] = {}

    def piece(self, name: str, first: bool, content: bytes) -> None:
        """Keep a piece of a file, the first of which begins it.

        Raises:
            InputError: all files together are too large.
        """
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="roi-evidence-")
        if first:
            folder = Path(self._folder.name) / str(len(self._files))
            folder.mkdir()
            # Only the last part of a name, without what a file system could take for more than a name.
            last = "".join(each for each in Path(name).name if each.isprintable())[-100:]
            self._files.append(folder / (last if last.strip(".") else "file"))
        self._size += len(content)
        if not self._files or self._size > MOST_BYTES:
            self.forget()
            raise InputError(f"the files are larger than {MOST_BYTES:,} bytes; read them with `roi evidence` where they lie")
        with self._files[-1].open("ab") as file:
            file.write(content)

    def read(self, proposal: Proposal, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the files say, and what that would change in a proposal; the files are gone after it.

        Args:
            asked: `reader`, and where the reader needs them `gpu`, `basis`, `cost`, and `where` among the proposal's sites.

        Raises:
            InputError: files that are refused, or that change nothing; without the folder in which they lay.
        """
        self._planned, path = None, find(proposal.key)
        try:
            found = self._found(asked)
            basis = str(asked.get("basis", ""))
            wanted = [each for each in found.findings if each.basis in ("", basis)]
            text = self._texts.get(proposal.key) or path.read_bytes().decode("utf-8-sig")
            planned = plan(wanted, path, text, _sites(proposal, str(asked.get("where", ""))))
        except InputError as error:
            said = (self._named(str(each).replace(str(path), proposal.name)) for each in error.problems)
            raise InputError([Problem(each) for each in said]) from None
        finally:
            folder = self.forget()
        self._planned = planned
        before, after = (amounts.money(Result(each).net_gain) for each in (planned.before, planned.after))
        return {
            "found": str(found).replace(folder, ""),
            "changes": [*planned.changes, f"Net gain: {before} -> {after}"],
            "left": [f"Not taken, for no site is in {each.place}: {each}" for each in planned.left],
        }

    def take(self) -> Proposal:
        """The proposal with what was planned last.

        Raises:
            InputError: nothing was planned, or it was taken already.
        """
        planned, self._planned = self._planned, None
        if planned is None:
            raise InputError("there is nothing to take over; read a file first")
        self._texts[planned.after.key] = planned.text
        return planned.after

    def forget(self) -> str:
        """Remove the files; returns the folder in which they lay."""
        name = f"{self._folder.name}/" if self._folder else ""
        if self._folder:
            self._folder.cleanup()
        self._folder, self._files, self._size = None, [], 0
        return name

    def _named(self, message: str) -> str:
        """A message with the files' names alone."""
        for index, file in enumerate(self._files):
            message = message.replace(str(file), file.name).replace(f"/{index}/{file.name}", file.name)
        return message

    def _found(self, asked: Mapping[str, Any]) -> Evidence:
        """Whatever the browser sends is checked by the readers themselves, or here."""
        from roi.evidence import billing, opencost, prices, steps, waits

        kind, files = asked.get("reader"), list(self._files)
        if not files:
            raise InputError("there is no file; choose one first")
        if kind == "steps" and len(files) > 2:
            raise InputError("step times are read from one log, or from two: today's, and one after the change")
        readers: dict[str, Callable[[], Evidence]] = {
            "steps": lambda: steps.read(files[0], files[1] if len(files) > 1 else None, ""),
            "waits": lambda: waits.read(files),
            "billing": lambda: billing.read(files, "billed" if asked.get("cost") == "billed" else "effective", ""),
            "opencost": lambda: opencost.read(files),
            "prices": lambda: prices.read(files, str(asked.get("gpu", "")), "", None),
        }
        if kind not in readers:
            raise InputError(f"'{kind}' is no reader; there are {', '.join(READERS)}")
        return readers[str(kind)]()


def _sites(proposal: Proposal, where: str) -> Sequence[str]:
    """The sites that are meant: those of a fleet, one, or none where the files say the region themselves."""
    if where in FLEETS:
        return [f"{where}.{region}" for region in proposal.sites[where]]
    return [where] if where else []


def choices(proposal: Proposal) -> dict[str, Any]:
    """What a reader of the app can choose between."""
    sites = {f"{fleet}.{region}": f"{region} ({fleet})" for fleet, region in proposal.regions}
    return {
        "readers": READERS,
        "bases": BASES,
        "where": {"": "Where the file says it is", **{fleet: f"All regions of the {fleet} fleet" for fleet in FLEETS}, **sites},
    }
