"""How long jobs waited in the queue and how long they took to start, from what Kubernetes says of them.

Which times each kind of object has, and what they cannot tell:

- Pod: created, `PodScheduled`, and when each container started. A container that was restarted only knows its last start.
- Workload of Kueue: created, `Admitted`, and `PodsReady` where Kueue is told to wait for ready pods (`waitForPodsReady`).
- TFJob, PyTorchJob and the like (v1): created and `Running`. When a queue held the job it was suspended, and `Suspended` became
  False on admission; without that, queue wait and start-up cannot be told apart.
- TrainJob (v2): created, and `Suspended` as above. No condition says when it ran.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent

from roi.evidence import stream
from roi.evidence.evidence import Evidence, Finding, Measure
from roi.evidence.tables import Ledger, Table, read_json, refuse

EXPECTED = (
    "objects as `kubectl get pods -o yaml` or `-o json` prints them (Pod, Workload, TFJob, PyTorchJob, TrainJob), or a CSV with "
    "the columns created, scheduled and running"
)
LARGEST_YAML = 20_000_000
"""Bytes; reading YAML takes most of a minute for each ten million. JSON has no limit."""

QUANTILES = {"median": 0.5, "P90": 0.9, "P99": 0.99}
COVERS = 0.8
FEWEST, FACTOR = 3, 3.0
"""Cold and warm starts are apart if at least 3 are in each group and the fastest cold one takes 3 times the slowest warm one."""


_COLUMNS: dict[str, tuple[str, ...]] = {
    "created": ("created", "created_at", "creation", "creationTimestamp", "creation_time", "submitted", "submitted_at"),
    "admitted": ("scheduled", "scheduled_at", "scheduled_time", "admitted", "admitted_at"),
    "running": ("running", "running_at", "running_time", "started", "started_at", "startedAt", "ready", "ready_at"),
}
"""What a table may call its columns."""


class Job(NamedTuple):
    """What one object says of its way to running; None for what it does not say, or what has not happened.

    Attributes:
        name: the object's own, so that it is counted once.
        doubt: why its times cannot be used.
    """

    name: str
    created: datetime | None
    admitted: datetime | None
    running: datetime | None
    doubt: str = ""


# --- one function for each kind of object -----------------------------------------------------------------------------------


def _pod(thing: Mapping[str, Any]) -> Job:
    status = _map(thing, "status")
    containers = _maps(status, "containerStatuses")
    starts = [_time(_map(state, kind), "startedAt") for state in (_map(each, "state") for each in containers) for kind in state]
    running = max(filter(None, starts), default=None) if all(starts) else None
    over = status.get("phase") in ("Succeeded", "Failed")
    doubt = "restarted, so that the first start is not known" if any(each.get("restartCount") for each in containers) else ""
    return _job(thing, _since(_conditions(thing), "PodScheduled", "True"), running, over, doubt)


def _workload(thing: Mapping[str, Any]) -> Job:
    conditions = _conditions(thing)
    admitted, ready = _since(conditions, "Admitted", "True"), _since(conditions, "PodsReady", "True")
    again = admitted and not conditions.keys().isdisjoint(("Evicted", "Requeued"))
    doubt = "evicted and queued again, so that the first admission is not known" if again else ""
    return _job(thing, admitted, ready, "Finished" in conditions, doubt)


def _training_job(thing: Mapping[str, Any]) -> Job:
    conditions = _conditions(thing)
    over = bool(_since(conditions, "Succeeded", "True") or _since(conditions, "Failed", "True"))
    # What has ended no longer runs, and `Running` keeps the time at which it began.
    running = _since(conditions, "Running", "True") or (_since(conditions, "Running", "False") if over else None)
    doubt = "restarted, so that the first start is not known" if "Restarting" in conditions else ""
    return _job(thing, _since(conditions, "Suspended", "False"), running, over, doubt)


def _train_job(thing: Mapping[str, Any]) -> Job:
    conditions = _conditions(thing)
    over = bool(_since(conditions, "Complete", "True") or _since(conditions, "Failed", "True"))
    return _job(thing, _since(conditions, "Suspended", "False"), None, over)


def _job(thing: Mapping[str, Any], admitted: datetime | None, running: datetime | None, over: bool, doubt: str = "") -> Job:
    if over and not (admitted or running):
        doubt = doubt or "ended, and with no word of when they ran"
    return Job(_name(thing), _time(_map(thing, "metadata"), "creationTimestamp"), admitted, running, doubt)


def _row(fields: Mapping[str, Any]) -> Job:
    created, admitted, running = (_time(fields, key) for key in _COLUMNS)
    return Job(fields["name"], created, admitted, running)


_TRAINING_JOBS = ("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
KINDS: dict[str, tuple[str, Callable[[Mapping[str, Any]], Job]]] = {
    "row": ("rows", _row),
    "Pod": ("pods", _pod),
    "Workload": ("workloads", _workload),
    "TrainJob": ("training jobs", _train_job),
    **dict.fromkeys(_TRAINING_JOBS, ("training jobs", _training_job)),
}
"""The reader of each kind of object, and the family of which only one is read at a time, since a job shows in each."""


def _name(thing: Mapping[str, Any]) -> str:
    metadata = _map(thing, "metadata")
    return f"{metadata.get('namespace', 'default')}/{metadata.get('name', '')} {metadata.get('uid', '')}".strip()


def _map(thing: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = thing.get(key)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{key} is no mapping")
    return found or {}


def _maps(thing: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = thing.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{key} is no list of mappings")
    return found


def _conditions(thing: Mapping[str, Any]) -> dict[str, tuple[str, datetime | None]]:
    """Status and time of each condition by its type.

    Older operators carry the time of the first condition along as `lastTransitionTime` of all; then `lastUpdateTime` is the time.
    """
    found = _maps(_map(thing, "status"), "conditions")
    moved = {_time(each, "lastTransitionTime") for each in found}
    field = "lastUpdateTime" if len(moved) == 1 and any(each.get("lastUpdateTime") for each in found) else "lastTransitionTime"
    return {str(each.get("type")): (str(each.get("status")), _time(each, field)) for each in found}


def _since(conditions: Mapping[str, tuple[str, datetime | None]], kind: str, wanted: str) -> datetime | None:
    """When a condition took the status that it has, if that is the one that is wanted."""
    status, time = conditions.get(kind, ("", None))
    return time if status == wanted else None


def _time(thing: Mapping[str, Any], key: str) -> datetime | None:
    """A point in time, in UTC and without its zone; None where there is none.

    Raises:
        ValueError: what stands there is no point in time.
    """
    found = thing.get(key)
    if isinstance(found, str) and found.strip().lower() in ("", "null", "<none>", "<nil>"):
        return None
    if isinstance(found, str):
        found = datetime.fromisoformat(found.strip())
    if found is not None and not isinstance(found, datetime):
        raise ValueError(f"{key} is {found!r}, which is no point in time")
    return found.astimezone(UTC).replace(tzinfo=None) if found and found.tzinfo else found


# --- files ------------------------------------------------------------------------------------------------------------------


class _NoAliases(Composer):
    """Takes no alias: kubectl writes none, and a file can mean more with each than anyone wants to read."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.parser.check_event(AliasEvent):
            raise ComposerError(None, None, "an alias, which is not read here", self.parser.peek_event().start_mark)
        return super().compose_node(parent, index)


def _documents(path: Path, first: bytes) -> list[Any]:
    if _is_json(first):
        return [read_json(path, EXPECTED)]
    text = b""
    for chunk in stream.chunks(path, EXPECTED):
        text += chunk
        if len(text) > LARGEST_YAML:
            raise refuse(path, f"is YAML of more than {LARGEST_YAML:,} bytes", "a smaller part, or JSON, which has no limit")
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _NoAliases
    try:
        return list(yaml.load_all(text.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise refuse(path, "is not text in UTF-8", EXPECTED) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        raise refuse(path, f"cannot be read as YAML, or is cut off: {error.problem or error.context}{place}", EXPECTED) from error
    except Exception as error:  # whatever the reader of YAML trips over is a file that cannot be read
        reason = (str(error) or "it is nested too deeply").splitlines()[0]
        raise refuse(path, f"cannot be read as YAML: {reason}", EXPECTED) from error


def _is_json(first: bytes) -> bool:
    return first.lstrip()[:1] in (b"{", b"[")


def _entries(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Where each object or row of a file stands, its kind, and itself."""
    first = stream.head(path, EXPECTED)
    if stream.is_binary(first):
        raise refuse(path, "is binary", EXPECTED)
    created = {name.replace("_", "").lower() for name in _COLUMNS["created"]}
    if not _is_json(first) and not created.isdisjoint(stream.columns(first)):
        yield from _rows(path)
        return
    for document in _documents(path, first):
        of_list, things = "", document if isinstance(document, list) else [document]
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            of_list, things = str(document.get("kind")).removesuffix("List"), document["items"]
        for thing in things:
            if thing is not None:  # between two `---` there may be comments alone
                yield str(path), str(thing.get("kind", of_list)) if isinstance(thing, dict) else "", thing


def _rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    table = Table(path, EXPECTED, ())
    places = {key: next((at for name in names if (at := table.place(name)) is not None), None) for key, names in _COLUMNS.items()}
    if places["created"] is None or places["running"] is places["admitted"] is None:
        raise refuse(path, f"has the columns {stream.listed(table.columns)}, and not created with scheduled or running", EXPECTED)
    named = table.place("name")
    for row in table.records():
        place = f"{path}:{row.line}"
        if len(row.values) < len(table.columns):
            yield place, "row", None  # cut off
            continue
        fields = {key: row.values[at] for key, at in places.items() if at is not None}
        yield place, "row", {"name": place if named is None else f"{row.values[named]} {fields['created']}", **fields}


# --- evidence ---------------------------------------------------------------------------------------------------------------


def read(paths: Sequence[Path]) -> Evidence:
    """Queue wait and start-up of jobs, from objects of Kubernetes or from tables.

    The queue wait goes from creation until a queue lets the job in, or a node is found for the pod; the start-up from there until
    all containers run. What waits still is counted, and never taken for a wait of zero. Where two groups of start-ups are clearly
    apart, the slow one is cold and the fast one warm.

    Raises:
        InputError: a file holds nothing of the kind, or the files hold objects of two kinds in which one job would count twice.
        OSError: a file cannot be read.
    """
    ledger, others, families = Ledger(), Counter[str](), dict[str, str]()
    jobs: dict[str, Job] = {}
    total = 0
    for path in paths:
        for place, kind, thing in _entries(path):
            total += 1
            if not isinstance(thing, dict):
                ledger.add("not understood", "that are cut off, or no objects", place)
                continue
            if kind not in KINDS:
                others[kind] += 1
                ledger.add("set aside", f"of kind {kind}", place)
                continue
            family, reader = KINDS[kind]
            families.setdefault(family, kind)
            try:
                job = reader(thing)
            except (ValueError, OverflowError) as error:
                ledger.add("not understood", "with a time that is none, or a status of another form", f"{place} ({error})")
                continue
            if job.name in jobs:
                ledger.add("set aside", "of the same object again; the last one counts", place)
            jobs[job.name] = job
    listed = " and ".join(path.name for path in paths)
    if len(families) > 1:
        kinds = " and ".join(families.values())
        raise refuse(paths[-1], f"and the files before it hold {kinds}, in which one job shows twice", "one kind at a time")
    if not families:
        found = ", ".join(f"{count} {kind or 'without a kind'}" for kind, count in others.most_common(5)) or "nothing else"
        raise refuse(paths[-1], f"holds no such object, but {found}", EXPECTED)
    waits: dict[str, list[float]] = {each: [] for each in LABELS}
    for job in jobs.values():
        fate, why = _fate(job)
        ledger.add(fate, why, job.name)
        if fate == "read" and job.created:
            if job.admitted:
                waits["queue_wait"].append((job.admitted - job.created).total_seconds())
            if job.running and job.admitted:
                waits["start_up"].append((job.running - job.admitted).total_seconds())
            if job.running and not job.admitted:
                waits["wait_to_run"].append((job.running - job.created).total_seconds())
    accounts = ledger.accounts()
    waiting = sum(each.count for each in accounts if each.why == WAITING)
    dated = max((job.created.date() for job in jobs.values() if job.created), default=None)
    return Evidence(
        "waits",
        tuple(map(str, paths)),
        "rows" if "rows" in families else "objects",
        total,
        accounts,
        tuple(_starts(waits["start_up"], f"{listed}: {len(waits['start_up']):,} start-ups", dated)),
        tuple(
            Measure(
                f"{name}_{quantile.lower()}",
                f"{label}, {quantile} of {len(seconds):,}",
                float(np.quantile(seconds, share)),
                "second",
            )
            for (name, label), seconds in zip(LABELS.items(), waits.values(), strict=True)
            if seconds
            for quantile, share in QUANTILES.items()
        ),
        tuple(_notes(waits, waiting)),
    )


WAITING = "still waiting"
LABELS = {
    "queue_wait": "Wait in the queue",
    "start_up": "Start-up",
    "wait_to_run": "From creation to running",
}


def _fate(job: Job) -> tuple[str, str]:
    times = [each for each in (job.created, job.admitted, job.running) if each]
    if job.doubt:
        return "set aside", job.doubt
    if not (job.admitted or job.running):
        return "set aside", WAITING
    if not job.created:
        return "not understood", "without a time of creation"
    if times != sorted(times):
        return "not understood", "with times out of order"
    if not job.admitted:
        return "read", "with the time from creation to running, in one"
    return "read", "with queue wait and start-up" if job.running else "with a queue wait, and not running or not saying so"


def _starts(seconds: list[float], source: str, dated: date | None) -> Iterator[Finding]:
    """Cold and warm starts, if they are clearly apart."""
    warm, cold = groups(seconds)
    if not cold:
        return
    for name, minutes, what in (("cold_start_minutes", cold, "slow"), ("warm_start_minutes", warm, "fast")):
        low, base, high = np.quantile(np.array(minutes) / 60, ((1 - COVERS) / 2, 0.5, (1 + COVERS) / 2)).tolist()
        yield Finding(name, base, low, high, COVERS, len(minutes), f"{source}, median of the {len(minutes)} {what} ones", dated)
    low, high = wilson(len(cold), len(seconds))
    yield Finding(
        "cold_share", len(cold) / len(seconds), low, high, COVERS, len(seconds), f"{source}, {len(cold)} of them slow", dated
    )


def wilson(count: int, total: int) -> tuple[float, float]:
    """Wilson's interval of a share, Journal of the American Statistical Association 22 (1927): the shares from which `count` of
    `total` is not too far, with p the share that was seen,

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    z, share = NormalDist().inv_cdf((1 + COVERS) / 2), count / total
    center = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (center - half) / (1 + z * z / total), (center + half) / (1 + z * z / total)


def groups(seconds: Sequence[float]) -> tuple[list[float], list[float]]:
    """Warm and cold starts; two empty lists where they are not clearly apart.

    They are parted at the largest gap between neighbours in the logarithm of time that leaves at least 3 on each side, and are
    clearly apart if the fastest cold start takes 3 times the slowest warm one. Kubernetes counts whole seconds, so what is below
    one counts as one.
    """
    ordered = sorted(seconds)
    gaps = {at: max(ordered[at], 1.0) / max(ordered[at - 1], 1.0) for at in range(FEWEST, len(ordered) - FEWEST + 1)}
    at = max(gaps, key=lambda each: gaps[each], default=0)
    return (ordered[:at], ordered[at:]) if at and gaps[at] >= FACTOR else ([], [])


def _notes(waits: Mapping[str, list[float]], waiting: int) -> Iterator[str]:
    measured = sum(map(len, waits.values()))
    if not measured:
        yield "There is nothing to measure: nothing has started."
    elif waiting:
        yield f"{waiting:,} still wait, so that the true waits are longer than these."
    if waits["wait_to_run"]:
        yield "From creation to running is queue and start-up together: these files do not say when the queue let a job in."
    if waits["queue_wait"]:
        if not waits["start_up"]:
            yield "Start-up is not known: these files do not say when anything ran."
        hours = float(np.median(waits["queue_wait"])) / 3600
        yield f"queue_hours_saved is a difference between two systems; in this one the median is {hours:,.3f} hours."
    if waits["start_up"] and not groups(waits["start_up"])[1]:
        yield f"Cold and warm starts are not clearly apart among {len(waits['start_up']):,} start-ups."
