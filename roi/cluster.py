"""The same work on a Dask cluster: workers elsewhere compute, and this process alone writes.

Every piece of work is pure and goes by a key that says all it depends on, so that what a lost worker had is computed again by
another and the answer is the same as here.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from pydoc import locate
from tempfile import TemporaryDirectory
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from roi.batch import Order, Outcome, input_hash, put, warm
from roi.kernels import PARENT
from roi.problems import InputError, Problem
from roi.proposals import Proposal
from roi.simulate import BLOCK, DRAWS, SEED, Outcomes, Simulation, drawable, kept, summary
from roi.values import origin_of

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 10
"""Seconds within which a scheduler answers."""

WITHOUT_WORKERS = 300
"""Seconds that work waits while the cluster has no worker; a cluster that grows with its work begins with none."""

RETRIES = 3
"""How often a piece of work is tried again after an error that is not the proposal's."""

KEPT_WARM = 60
"""Seconds for which a worker keeps ready what reports share, after its last report."""

SAME = ("roi", "numpy", "scipy")
"""What has the same version everywhere, so that numbers are equal to the last digit."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster whose scheduler has this address, such as `tcp://scheduler:8786`.

    Raises:
        InputError: the extra `roi[cluster]` is not installed, no scheduler answers, or a worker has no roi or another version.
    """
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise InputError(
            [Problem(f"needs the package {error.name}, which is not installed; pip install 'roi[cluster]'", "--cluster")]
        ) from error
    # What goes wrong is said once, by us.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        asyncio.run(_answered(address))
    except (ValueError, TypeError) as error:
        raise InputError(
            [Problem(f"{address} is not the address of a scheduler: {error}; write it like tcp://scheduler:8786", "--cluster")]
        ) from error
    except (OSError, MemoryError) as error:  # what is no scheduler may announce any number of bytes
        raise InputError(
            [
                Problem(
                    f"no Dask scheduler answered at {address} within {PATIENCE} s; check that it runs, that the port is the "
                    "scheduler's (8786 by default) and not its dashboard's (8787), and that this machine may reach it",
                    "--cluster",
                )
            ]
        ) from error
    with distributed.Client(address, timeout=PATIENCE, set_as_default=False) as client:
        _check_workers(client)
        yield client


async def _answered(address: str) -> None:
    """Ask a scheduler who it is. A client alone would wait for ever where something else listens."""
    from distributed import Security, rpc

    credentials = Security().get_connection_args("client")
    async with asyncio.timeout(PATIENCE), rpc(address, timeout=PATIENCE, connection_args=credentials) as scheduler:
        await scheduler.identity(n_workers=0)


def _check_workers(client: Client) -> None:
    """Refuse workers that would compute something else. What is asked of them needs no roi there."""
    problems = []
    for name, own in versions().items():
        for worker, found in client.run(locate, f"{name}.__version__", on_error="return").items():
            if found != own and not isinstance(found, OSError):  # a worker may be lost while it is asked
                there = f"{name} {found}" if isinstance(found, str) else f"no {name}"
                problems.append(
                    Problem(f"has {there}, and here it is {name} {own}; install the same there, or use one image", worker)
                )
    if problems:
        raise InputError(problems)


def computed(
    client: Client,
    function: Callable[..., Any],
    work: Mapping[str, tuple[Any, ...]],
    without_workers: float = WITHOUT_WORKERS,
) -> Iterator[tuple[str, Any]]:
    """What a pure function gives for each piece of work, as it is done.

    Args:
        client: as `connected` gives it.
        function: is imported by the workers.
        work: its arguments, by a key that is equal for equal arguments only.
        without_workers: seconds to wait while there is no worker.

    Returns:
        Pairs of the key and the value; of the key and the exception, where the work went wrong each time it was tried.

    Raises:
        InputError: the scheduler is lost, or the last worker is and none comes.
    """
    from distributed import as_completed

    expected = versions()
    running = {
        client.submit(same, expected, function, *arguments, key=f"roi-{expected['roi']}-{key}", retries=RETRIES, pure=True): key
        for key, arguments in work.items()
    }
    done = as_completed(list(running), loop=client.loop)
    asked = seen = time.monotonic()
    while running:
        if not done.has_ready():
            time.sleep(0.02)
            if time.monotonic() - asked > 1:
                asked = time.monotonic()
                seen = asked if _has_workers(client) else seen
                if asked - seen > without_workers:
                    raise InputError([Problem(f"has had no worker for {without_workers:g} s; start some", _address(client))])
            continue
        seen = time.monotonic()
        future = next(done)
        key = running.pop(future)
        try:
            value = future.exception() or future.result()
        except (CancelledError, OSError) as error:
            raise InputError(
                [Problem("the scheduler was lost or started anew; run the same again to go on", _address(client))]
            ) from error
        yield key, value
        future.release()


def versions() -> dict[str, str]:
    """What must have the same version everywhere, and the version it has in this process."""
    return {name: str(locate(f"{name}.__version__")) for name in SAME}


def same(expected: Mapping[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """In a worker, which may have joined since the others were checked: call a function if the versions are as expected.

    Raises:
        InputError: they are not.
    """
    found = versions()
    if found != expected:
        there, here = (", ".join(map(" ".join, each.items())) for each in (found, expected))
        raise InputError(f"a worker has {there}; here it is {here}")
    return function(*arguments)


def _has_workers(client: Client) -> bool:
    try:
        return bool(client.scheduler_info(n_workers=0)["n_workers"])
    except OSError:
        return True  # the scheduler is being lost, which its futures tell


def _address(client: Client) -> str:
    return str(client.scheduler.address) if client.scheduler else "--cluster"


def simulated(client: Client, proposal: Proposal, draws: int = DRAWS, seed: int = SEED) -> Simulation:
    """The odds of a proposal as `roi.simulate.simulate` gives them, its blocks of draws computed by the workers.

    Raises:
        InputError: as `simulate` and `computed` do.
    """
    facts = drawable(proposal, draws, seed)
    name = f"draws-{proposal.fingerprint}-{draws}-{seed}"
    work = {f"{name}-{start}": (proposal, facts, draws, seed, start) for start in range(0, draws, BLOCK)}
    parts = {}
    for key, found in computed(client, kept, work):
        if isinstance(found, Exception):
            raise InputError([Problem(why(found), "--cluster")])
        parts[key] = found
    return summary(proposal, facts, seed, Outcomes.joined([parts[key] for key in work]))


def write_reports(client: Client, orders: Sequence[Order], folder: Path, on_done: Callable[[Order, Outcome], None]) -> None:
    """Write reports as `roi.batch.write_reports` does, made by the workers.

    Args:
        client: as `connected` gives it.
        orders: each with a key of its own.
        folder: where `roi.report.prepare` has made room, and which this batch has `alone`.
        on_done: called with each order and what became of it.

    Raises:
        InputError: the cluster is lost; what is finished stays.
    """
    today = date.today()
    made_from: dict[str, tuple[str, Order]] = {}
    work = {}
    for order in orders:
        try:
            given = measurements(order)
        except InputError as error:
            on_done(order, Outcome("failed", why=str(error)))
            continue
        wanted = input_hash(order, today)
        made_from[f"report-{wanted}"] = wanted, order
        work[f"report-{wanted}"] = order, given
    for key, found in computed(client, report_of, work):
        wanted, order = made_from[key]
        if isinstance(found, Exception):
            on_done(order, Outcome("failed", why=why(found)))
            continue
        made, seconds = found
        try:
            if isinstance(made, str):
                raise InputError(made)
            put(folder, order.key, made, wanted)
        except InputError as error:
            on_done(order, Outcome("failed", seconds, str(error)))
        else:
            on_done(order, Outcome("made", seconds))


def measurements(order: Order) -> dict[str, bytes]:
    """The files of measurements that a proposal names, which go to the workers with it, by the path that it names.

    Raises:
        InputError: one lies outside the folder of the proposal, or cannot be read.
    """
    places = [order.proposal.inputs, *(values for fleet in order.proposal.sites.values() for values in fleet.values())]
    said = [origin_of(value) for values in places for value in values.values()]
    found, problems = {}, []
    for name in sorted({each.file for each in said if each and each.file}):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            problems.append(
                Problem(
                    f"names the measurements in {name}, outside its folder, which are not sent to a cluster; put them beside it",
                    str(order.source),
                )
            )
            continue
        try:
            found[name] = (order.source.parent / name).read_bytes()
        except OSError as error:
            problems.append(Problem(f"cannot be read: {error.strerror}", str(order.source.parent / name)))
    if problems:
        raise InputError(problems)
    return found


class Warm:
    """What the reports of one worker share: ready from its first report until a while after its last, whoever asks for them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held = ExitStack()
        self._users = 0
        self._end: Timer | None = None

    @contextmanager
    def used(self) -> Iterator[None]:
        """It is ready, and stays so meanwhile; as many threads as want use it at once."""
        with self._lock:
            if self._end:
                self._end.cancel()
                self._end = None
            elif not self._users:
                self._held.enter_context(warm())
                self._held.callback(PARENT.close)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._end = Timer(KEPT_WARM, self.cool)
                    self._end.daemon = True
                    self._end.start()

    def cool(self) -> None:
        """Ends it, unless a report has come meanwhile."""
        with self._lock:
            if not self._users:
                self._end = None
                self._held.close()


WARM = Warm()
atexit.register(WARM.cool)


def report_of(order: Order, given: Mapping[str, bytes]) -> tuple[dict[str, bytes] | str, float]:
    """In a worker: the files of a report by name, or why there is none, which no other try would change; and the seconds it took.

    Args:
        order: the report that is asked for.
        given: its files of measurements, as `measurements` gives them.
    """
    start = time.perf_counter()
    made: dict[str, bytes] | str
    with WARM.used(), TemporaryDirectory(prefix="roi-") as folder:
        for name, content in given.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            made = replace(order, source=Path(folder, order.source.name)).files(lambda: None)
        except (InputError, RuntimeError) as error:
            if type(error) not in (InputError, RuntimeError):
                raise  # a kernel that died, and may not the next time
            made = str(error)
    return made, time.perf_counter() - start


def why(error: Exception) -> str:
    """What went wrong with a piece of work, in a sentence."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return f"{error.allowed_failures + 1} workers were lost one after another at this; is their memory too small?"
    return str(error) or type(error).__name__
