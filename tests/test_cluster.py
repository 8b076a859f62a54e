"""The same work on a Dask cluster of processes, some of which are killed, and what is refused before and on the way."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from ruamel.yaml import YAML

import roi
from roi import batch, cluster, report
from roi.inputs import ROOT
from roi.kernels import Parent
from roi.problems import InputError
from roi.proposals import Proposal
from roi.reading import PROPOSALS
from roi.results import Result
from roi.simulate import BLOCK, simulate
from roi.store import Remote, opened

BIN = Path(sys.executable).parent
TWO_REGION = (PROPOSALS / "two-region.yaml").read_text(encoding="utf-8")


class Dask:
    """A scheduler and its workers, each a process of one thread, so that a kill is a kill."""

    def __init__(self, folder: Path, workers: int, **environment: str) -> None:
        self.folder, self.workers = folder, []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        for _ in range(workers):
            self.join(**environment)

    def _start(self, kind: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(
                [BIN / "dask", kind, "--scheduler-file", self.file, *arguments],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
                stdout=log,
                stderr=log,
            )

    def join(self, **environment: str) -> None:
        arguments = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder))
        self.workers.append(self._start("worker", *arguments, **environment))

    @property
    def address(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                return str(json.loads(self.file.read_text())["address"])
            except (OSError, ValueError):
                time.sleep(0.05)
        raise TimeoutError((self.folder / "scheduler.log").read_text())

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A client once every worker has joined."""
        with self.watched() as client:
            client.wait_for_workers(len(self.workers), timeout=60)
        with cluster.connected(self.address) as client:
            yield client

    @contextmanager
    def watched(self) -> Iterator[Any]:
        import distributed

        with distributed.Client(self.address, set_as_default=False, timeout=60) as client:
            yield client

    def busy(self, client: Any) -> subprocess.Popen[bytes]:
        """A worker that computes something right now, once it is so."""
        processes = {each.pid: each for each in self.workers}
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            pids = client.run(os.getpid, on_error="ignore")
            for worker, keys in client.processing().items():
                if keys and worker in pids:
                    return processes[pids[worker]]
            time.sleep(0.1)
        raise TimeoutError("no worker computes anything")


@contextmanager
def dask(folder: Path, workers: int = 0, **environment: str) -> Iterator[Dask]:
    started = Dask(folder, workers, **environment)
    try:
        yield started
    finally:
        for process in (*started.workers, started.scheduler):
            process.kill()
            process.wait()


def roi_(folder: Path, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [BIN / "roi", *arguments], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings
    )


def measured(folder: Path) -> Path:
    """A proposal with measurements in a folder beside it."""
    (folder / "logs").mkdir()
    (folder / "logs" / "saved.csv").write_text("".join(f"{value}\n" for value in (101, 118, 120, 133, 140)))
    path = folder / "mine.yaml"
    inputs = "inputs:\n  latency_saved: {base: 120, shape: empirical, file: logs/saved.csv}\n"
    path.write_text(TWO_REGION.replace("inputs:\n", inputs, 1), encoding="utf-8")
    return path


# --- the same answers -------------------------------------------------------------------------------------------------------


def test_reports_are_the_same_after_a_worker_is_killed(tmp_path: Path) -> None:
    mine = measured(tmp_path)
    given = ["two-region", "mine.yaml"]
    with dask(tmp_path, workers=2) as running, running.watched() as client:
        client.wait_for_workers(2, timeout=60)
        batch_ = roi_(tmp_path, "report", *given, "-o", "out", "--cluster", running.address)
        running.busy(client).kill()
        out, err = batch_.communicate(timeout=300)
        assert (batch_.returncode, err) == (0, "")
        assert len(client.nthreads()) == 1
    for each in ("two-region", str(mine)):
        proposal = roi.load(each)
        # Made here, from the same text, by what the notebook's own test shows to be what a local report holds.
        expected = report.results_json(Result(proposal)).encode()
        assert (tmp_path / "out" / proposal.key / "results.json").read_bytes() == expected
        assert out.count(f"out/{proposal.key}/report.html") == 1
        assert {path.name for path in (tmp_path / "out" / proposal.key).iterdir()} == {*report.FILES, batch.DONE}
    assert (tmp_path / "out" / "index.html").is_file()


def test_odds_are_the_same_and_a_lost_scheduler_is_said(tmp_path: Path) -> None:
    proposal = roi.load("two-region")
    with dask(tmp_path, workers=2) as running:
        with running.connected() as client:
            draws = 20 * BLOCK + 77
            assert cluster.simulated(client, proposal, draws, seed=5) == simulate(proposal, draws, seed=5)
        with running.watched() as client:
            arguments = ("two-region", "--draws", "10000000", "--cluster", running.address)
            odds = roi_(tmp_path, "simulate", *arguments)
            running.busy(client)
            running.scheduler.kill()
            out, err = odds.communicate(timeout=120)
    assert (odds.returncode, out) == (2, "")
    assert err == f"{running.address}: the scheduler was lost or started anew; run the same again to go on\n"


def fails_twice(path: str) -> str:
    with open(path, "a") as file:
        file.write("tried\n")
    if Path(path).read_text().count("tried") < 3:
        raise OSError("no space left")
    return "done"


def fails(path: str) -> None:
    with open(path, "a") as file:
        file.write("tried\n")
    raise OSError("no space left")


def dies() -> None:
    os._exit(1)


def test_what_goes_wrong_is_tried_again_and_then_said(tmp_path: Path) -> None:
    with dask(tmp_path, workers=1) as running, running.connected() as client:
        assert dict(cluster.computed(client, fails_twice, {"a": (str(tmp_path / "a"),)})) == {"a": "done"}
        ((_, error),) = cluster.computed(client, fails, {"b": (str(tmp_path / "b"),)})
        assert cluster.why(error) == "no space left"
        # Once, and as many times again as work is tried again.
        assert (tmp_path / "b").read_text().count("tried") == 1 + cluster.RETRIES
        with pytest.raises(InputError, match=r"has had no worker for 2 s; start some"):
            list(cluster.computed(client, dies, {"c": ()}, without_workers=2))


def test_a_cell_that_fails_is_not_tried_again_and_a_kernel_that_dies_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient.exceptions import DeadKernelError

    order = batch.read(["two-region"])[0][0]
    monkeypatch.setattr(cluster, "warm", nullcontext)  # no kernel is asked for here
    monkeypatch.setattr(cluster, "PARENT", Parent())

    def raising(error: Exception) -> Any:
        def files(order: batch.Order, on_step: Any) -> dict[str, bytes]:
            raise error

        return files

    for error in (RuntimeError("ValueError: no"), InputError("no")):
        monkeypatch.setattr(batch.Order, "files", raising(error))
        assert cluster.report_of(order, {})[0] == str(error)
    monkeypatch.setattr(batch.Order, "files", raising(DeadKernelError("Kernel died")))
    with pytest.raises(DeadKernelError):
        cluster.report_of(order, {})


def test_reports_of_one_worker_share_what_takes_long_to_start_which_ends_a_while_after_the_last() -> None:
    """In a process of its own, as a worker is: two reports at once and a third later, then nothing of them is left."""
    code = """if True:
        import os, time
        from concurrent.futures import ThreadPoolExecutor
        import psutil
        from roi import batch, cluster
        cluster.KEPT_WARM = 2
        order = batch.read(["two-region"])[0][0]
        def children():
            return {each.pid for each in psutil.Process().children(recursive=True)}
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda _: cluster.report_of(order, {})[0], range(2)))
        first = children()
        made.append(cluster.report_of(order, {})[0])
        assert all(each["results.json"] == made[0]["results.json"] for each in made)
        assert len(first) == 2 and children() == first, (first, children())
        deadline = time.monotonic() + 60
        while children():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "ROI_DRAWING" not in os.environ
        assert cluster.report_of(order, {})[0]["results.json"] == made[0]["results.json"]
    """
    with TemporaryDirectory(prefix="own-") as folder:
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"TMPDIR": folder}, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        assert os.listdir(folder) == []


def test_work_that_kills_every_worker_is_given_up() -> None:
    from distributed import KilledWorker

    # Four, as a scheduler by default allows three failures.
    assert cluster.why(KilledWorker("x", None, 3)).startswith("4 workers were lost one after another at this")


# --- what is refused --------------------------------------------------------------------------------------------------------


def test_an_address_where_no_scheduler_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster.PATIENCE == 10
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with socket.socket() as silent, socket.socket() as closed:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # takes the connection and says nothing, as a web server does
        closed.bind(("127.0.0.1", 0))
        for each in (silent, closed):
            address = f"tcp://127.0.0.1:{each.getsockname()[1]}"
            with pytest.raises(InputError, match=rf"no Dask scheduler answered at {address} within 0.5 s; check that it runs"):
                cluster.connected(address).__enter__()


@pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1:8787", "127.0.0.1", "tls://127.0.0.1:8786"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InputError, match=r"is not the address of a scheduler: .*; write it like tcp://scheduler:8786"):
        cluster.connected(address).__enter__()


@pytest.mark.parametrize(
    ("module", "there"),
    [("__version__ = '0.0.1'\n", "roi 0.0.1"), ("raise ImportError('no module')\n", "no roi"), ("", "no roi")],
)
def test_a_worker_with_another_version_or_none(tmp_path: Path, module: str, there: str) -> None:
    (tmp_path / "other" / "roi").mkdir(parents=True)
    (tmp_path / "other" / "roi" / "__init__.py").write_text(module)
    with (
        dask(tmp_path, workers=1, PYTHONPATH=str(tmp_path / "other")) as running,
        pytest.raises(InputError, match=rf"^tcp://\S+: has {there}, and here it is roi {roi.__version__}; install the same"),
        running.connected(),
    ):
        pass


def test_a_worker_that_joins_later_is_asked_as_well() -> None:
    versions = cluster.versions()
    assert cluster.same(versions, len, "four") == 4
    with pytest.raises(InputError, match=rf"a worker has roi {roi.__version__}, .*; here it is roi 9.9, "):
        cluster.same({**versions, "roi": "9.9"}, len, "four")


def test_the_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"--cluster: needs the package distributed.*pip install 'roi\[cluster\]'"):
        cluster.connected("tcp://127.0.0.1:8786").__enter__()


def test_measurements_outside_the_folder_are_not_sent(tmp_path: Path) -> None:
    (tmp_path / "proposals").mkdir()
    mine = measured(tmp_path)
    inside = batch.read([str(mine)])[0][0]
    assert cluster.measurements(inside) == {"logs/saved.csv": (tmp_path / "logs" / "saved.csv").read_bytes()}
    outside = tmp_path / "proposals" / "mine.yaml"
    outside.write_text(mine.read_text().replace("logs/saved.csv", "../logs/saved.csv"))
    with pytest.raises(InputError, match=r"mine.yaml: names the measurements in \.\./logs/saved.csv, outside its folder"):
        cluster.measurements(batch.read([str(outside)])[0][0])


# --- where reports go -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://bucket/reports", r"needs a package that is not installed: Install s3fs to access S3"),
        ("nowhere://reports", r"is no place that fsspec knows: Protocol not known: nowhere"),
    ],
)
def test_a_url_whose_driver_is_not_installed(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(url).__enter__()


def test_fsspec_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "fsspec.core", raising=False)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r"pip install 'roi\[cluster\]'"):
        opened("memory://reports").__enter__()


def test_a_url_of_this_disk_is_a_folder(tmp_path: Path) -> None:
    with opened(f"file://{tmp_path}/out") as place:
        assert (place.folder, place.remote) == (tmp_path / "out", None)


def test_a_report_behind_a_url_is_finished_last_and_skipped_then() -> None:
    written: list[str] = []
    order = batch.read(["two-region"])[0][0]
    hashed = batch.input_hash(order, date.today())
    contents = {name: name.encode() for name in report.FILES}
    with opened("memory://reports/first") as place:
        assert isinstance(place.remote, Remote)
        assert batch.unfinished([order], place.lasting, False, lambda *_: None) == [order]
        batch.put(place.folder, order.key, contents, hashed)
        place.remote.files.pipe_file, pipe = _noting(place.remote.files.pipe_file, written), place.remote.files.pipe_file
        try:
            place.send(order.key, last=batch.DONE)
        finally:
            place.remote.files.pipe_file = pipe
        assert not (place.folder / order.key).exists()
        told: list[str] = []
        assert batch.unfinished([order], place.lasting, False, lambda _, outcome: told.append(outcome.status)) == []
        assert told == ["skipped"]
    assert not place.folder.exists()
    assert sorted(written[:-1]) == [f"/reports/first/two-region/{name}" for name in sorted(report.FILES)]
    assert written[-1] == "/reports/first/two-region/done.json"
    with opened("memory://reports/first") as place:
        assert (place.lasting / "two-region" / "results.json").read_bytes() == b"results.json"


def _noting(pipe: Any, written: list[str]) -> Any:
    def piped(path: str, content: bytes) -> None:
        written.append(path)
        pipe(path, content)

    return piped


# --- the image and the manifests --------------------------------------------------------------------------------------------


def documents(name: str) -> dict[str, Any]:
    return {each["kind"]: each for each in YAML(typ="safe").load_all((ROOT / "deploy" / name).read_text())}


def container(manifest: dict[str, Any]) -> Any:
    return manifest["spec"]["template"]["spec"]["containers"][0]


SERVING = (ROOT / "docs" / "serving.md").read_text()
HEALTH = re.search(r"Ask for `(\S+)`", SERVING)[1]  # type: ignore[index]
PORT = int(re.search(r"roi serve --port (\d+)", SERVING)[1])  # type: ignore[index]


def test_the_manifest_serves_and_asks_as_the_documentation_says() -> None:
    found = documents("roi.yaml")
    deployment, service = found["Deployment"], found["Service"]
    served = container(deployment)
    assert [(each["name"], each["containerPort"]) for each in served["ports"]] == [("http", PORT)]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert served[probe]["httpGet"] == {"path": HEALTH, "port": "http"}
    assert served["args"][:2] == ["roi", "serve"]
    assert served["args"][served["args"].index("--port") + 1] == str(PORT)
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert [(each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [(PORT, "http")]
    assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_the_job_asks_the_cluster_that_is_made() -> None:
    job, made = container(documents("roi.yaml")["Job"]), documents("dask.yaml")["DaskCluster"]
    ports = {each["name"]: each["port"] for each in made["spec"]["scheduler"]["service"]["ports"]}
    address = job["args"][job["args"].index("--cluster") + 1]
    # The operator names the scheduler's service after the cluster.
    assert address == f"tcp://{made['metadata']['name']}-scheduler:{ports['tcp-comm']}"
    output = job["args"][job["args"].index("-o") + 1]
    assert output.startswith(job["volumeMounts"][0]["mountPath"])


def test_one_image_of_this_version_is_everywhere() -> None:
    text = "".join((ROOT / "deploy" / name).read_text() for name in ("roi.yaml", "dask.yaml"))
    images = set(re.findall(r"image: (\S+)", text))
    assert images == {f"roi:{roi.__version__}"}
    assert f"-t roi:{roi.__version__} ." in (ROOT / "deploy" / "Containerfile").read_text()


def test_the_image_copies_what_there_is_and_runs_as_no_root() -> None:
    lines = (ROOT / "deploy" / "Containerfile").read_text()
    copied = [name for names in re.findall(r"^COPY (.*) \S+$", lines, re.MULTILINE) for name in names.split()]
    assert all((ROOT / name).exists() for name in copied)
    assert {"roi", "data", "notebooks", "constraints.txt", "pyproject.toml"} <= set(copied)
    assert re.search(r"^USER 1000$", lines, re.MULTILINE)
    assert f"http://127.0.0.1:{PORT}{HEALTH}" in lines
    assert lines.endswith('CMD ["roi", "serve", "--ip", "0.0.0.0"]\n')
    assert re.findall(r"^FROM (.*)$", lines, re.MULTILINE) == ["python:3.11-slim"]


def test_what_is_drawn_here_can_be_sent(tmp_path: Path) -> None:
    order = batch.read([str(measured(tmp_path))])[0][0]
    back = pickle.loads(pickle.dumps(order))
    assert isinstance(back.proposal, Proposal)
    assert back == order
