"""Forked kernels: real processes, which are what an ordinary start would have made, and of which nothing is left."""

import ast
import asyncio
import gc
import logging
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from contextlib import asynccontextmanager
from pathlib import Path

import nbformat
import papermill
import psutil
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory

from roi import kernels
from roi.inputs import ROOT
from roi.kernels import PROVISIONER, Forked, ForkedProvisioner, OwnKernel, OwnPython, Parent

READY = 120  # seconds; other tests may run at the same time


@pytest.fixture(scope="module")
def running():
    """A process to fork from, for all tests that leave it as it is."""
    parent = Parent()
    yield parent
    parent.close()


@pytest.fixture(autouse=True)
def parent(running, monkeypatch):
    monkeypatch.setattr(kernels, "PARENT", running)
    return running


@pytest.fixture
def another(monkeypatch):
    """A process to fork from that a test may spoil."""
    parent = Parent()
    monkeypatch.setattr(kernels, "PARENT", parent)
    yield parent
    parent.close()


@asynccontextmanager
async def kernel(make=OwnKernel, **options):
    """A kernel that is ready, and its client."""
    manager = make()
    await manager.start_kernel(**options)
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=READY)
        yield manager, client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def ask(client, expression, before=""):
    """The value of an expression in a kernel."""
    reply = await client.execute_interactive(
        textwrap.dedent(before), user_expressions={"asked": expression}, timeout=READY, output_hook=lambda _: None
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    return ast.literal_eval(reply["content"]["user_expressions"]["asked"]["data"]["text/plain"])


async def ended(process, seconds=30):
    """The exit code of a process that is about to end."""
    deadline = time.monotonic() + seconds
    while (code := process.poll()) is None:
        assert time.monotonic() < deadline, "the kernel did not end"
        await asyncio.sleep(0.05)
    return code


def gone(processes):
    return psutil.wait_procs(processes, timeout=30)[1] == []


# --- what a forked kernel is ------------------------------------------------------------------------------------------------

PROBE = """
import os, signal, sys, threading
import ipywidgets

def shown():
    try:
        return open("/proc/self/cmdline").read().rstrip(" \\0").split("\\0")
    except OSError:
        return None

def probe():
    own = ("JPY_PARENT_PID", "PYDEVD_USE_FRAME_EVAL")  # the process to fork from, and what the debugger sets as it is imported
    return {
        "argv": sys.argv,
        "path": sys.path,
        "directory": os.getcwd(),
        "module": __name__,
        "flags": str(sys.flags),
        "leads its session": os.getsid(0) == os.getpgid(0) == os.getpid(),
        "handlers": [str(signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE)],
        "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "environment": {name: os.environ[name] for name in sorted(os.environ) if name not in own},
        "command line": shown(),
        "input": os.read(0, 1),
        "comm targets": sorted(get_ipython().kernel.comm_manager.targets),
        "threads": sorted(type(each).__name__ for each in threading.enumerate()),
    }
"""


def test_a_fork_is_what_an_ordinary_start_would_have_made(tmp_path):
    class Ordinary(OwnKernel):
        """The same Python, started by jupyter_client itself."""

        def __init__(self):
            super().__init__(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))

    async def seen(make):
        environment = {**os.environ, "ONE_MORE": "this", "TZ": "Asia/Tokyo"}
        async with kernel(make, cwd=str(tmp_path), env=environment) as (manager, client):
            found = await ask(client, "probe()", PROBE)
            found["clock"] = await ask(client, "__import__('time').localtime(0).tm_hour")
            found = ast.literal_eval(str(found).replace(manager.connection_file, "FILE"))
            return isinstance(manager.provisioner.process, Forked), found

    forked, found = asyncio.run(seen(OwnKernel))
    ordinarily, expected = asyncio.run(seen(Ordinary))
    assert (forked, ordinarily) == (True, False)
    assert found == expected
    assert found["clock"] == 9  # Tokyo is nine hours ahead
    assert found["input"] == b""
    assert found["comm targets"] == ["jupyter.widget", "jupyter.widget.control"]


def test_it_is_not_the_forking_process_and_shares_no_channel_with_another():
    sockets = "len([each for each in os.listdir('/proc/self/fd') if 'socket' in os.path.realpath(f'/proc/self/fd/{each}')])"

    async def two():
        async with kernel() as (first, one), kernel() as (second, other):
            pids = await asyncio.gather(*(ask(each, "os.getpid()", "import os") for each in (one, other)))
            assert pids == [first.provisioner.process.pid, second.provisioner.process.pid]
            await ask(one, "name", "name = 'one'")
            assert await ask(other, "'name' in globals()") is False
            if sys.platform == "linux":
                # A client is ready before each of its channels is connected; what is inherited would stay.
                async with asyncio.timeout(10):
                    while await ask(one, sockets) != await ask(other, sockets):
                        await asyncio.sleep(0.1)

    asyncio.run(two())


def test_two_kernels_draw_different_numbers():
    drawn = """
        import random, tempfile, uuid
        import numpy
        drawn = [random.random(), numpy.random.rand(), float(numpy.random.default_rng().random()), str(uuid.uuid4())]
        drawn += [tempfile.mktemp()]
    """

    async def both():
        async with kernel() as (_, one), kernel() as (_, other):
            return await asyncio.gather(*(ask(each, "drawn", drawn) for each in (one, other)))

    one, other = asyncio.run(both())
    assert [first for first, second in zip(one, other, strict=True) if first == second] == []


def test_what_is_warmed_up_is_there_in_each_kernel(another):
    another.start("webbrowser:register_standard_browsers")  # a function that fills a list of its module

    async def twice():
        for _ in range(2):
            async with kernel() as (_, client):
                filled = "sys.modules['webbrowser']._tryorder is not None"
                assert await ask(client, f"'webbrowser' in sys.modules and {filled}", "import sys") is True

    asyncio.run(twice())


def test_no_one_else_may_read_its_keys_or_reach_its_sockets():
    async def modes():
        async with kernel() as (manager, _):
            found = [Path(manager.connection_file), Path(manager.ip).parent]
            assert len(list(found[1].iterdir())) == len(manager.ports)
            return [stat.S_IMODE(each.stat().st_mode) for each in found]

    assert asyncio.run(modes()) == [0o600, 0o700]


def test_where_temporary_files_have_a_long_path_it_is_reached_otherwise(tmp_path, monkeypatch):
    far = tmp_path / ("x" * 90)
    far.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(far))

    async def works():
        async with kernel() as (manager, client):
            return manager.transport, await ask(client, "7"), list(far.glob("roi-*"))

    assert asyncio.run(works()) == ("tcp", 7, [])


# --- how it ends ------------------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_a_cell_and_nothing_else():
    async def interrupted():
        async with kernel() as (manager, client):
            await ask(client, "0", "import time; kept = 7")
            # What follows a failed cell at once is not run, unless that is said.
            sent = client.execute("print('now', flush=True); time.sleep(600)", stop_on_error=False)
            while (await client.get_iopub_msg(timeout=READY))["msg_type"] != "stream":
                pass
            await manager.interrupt_kernel()
            while (reply := await client.get_shell_msg(timeout=READY))["parent_header"]["msg_id"] != sent:
                pass
            assert reply["content"]["ename"] == "KeyboardInterrupt"
            assert await ask(client, "kept") == 7

    asyncio.run(interrupted())


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("exit", 0),
    ],
)
def test_its_exit_status_is_known(end, code):
    async def status():
        async with kernel() as (manager, client):
            process = manager.provisioner.process
            client.execute(end)
            found = await ended(process)
            assert not await manager.is_alive()
            assert process.wait() == found
            return found

    assert asyncio.run(status()) == code


def test_an_orderly_shutdown_runs_what_was_left_for_the_end(tmp_path):
    async def ends():
        async with kernel() as (manager, client):
            await ask(client, "0", f"import atexit, pathlib; atexit.register(pathlib.Path({str(tmp_path / 'end')!r}).touch)")
            process = manager.provisioner.process
            await manager.shutdown_kernel()
            return process.poll()

    assert asyncio.run(ends()) == 0
    assert (tmp_path / "end").exists()


def test_what_a_kernel_has_started_is_killed_with_it():
    async def started():
        async with kernel() as (_, client):
            return psutil.Process(await ask(client, "child.pid", "import subprocess; child = subprocess.Popen(['sleep', '600'])"))

    assert gone([asyncio.run(started())])


def test_a_restarted_kernel_is_forked_again():
    async def restarted():
        async with kernel() as (manager, client):
            before = await ask(client, "os.getpid()", "import os; kept = 7")
            await manager.restart_kernel(now=True)
            await client.wait_for_ready(timeout=READY)
            after = await ask(client, "(os.getpid(), 'kept' in globals())", "import os")
            assert isinstance(manager.provisioner.process, Forked)
            return before, after

    before, (after, kept) = asyncio.run(restarted())
    assert after != before
    assert not kept


def test_nothing_is_left_of_a_hundred(another, tmp_path, monkeypatch):
    at_once, rounds = 5, 20
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    async def some():
        async def one():
            async with kernel() as (manager, _):
                return Path(manager.connection_file)

        return await asyncio.gather(*(one() for _ in range(at_once)))

    def left():
        gc.collect()
        here, forking = psutil.Process(), psutil.Process(another._process.pid)
        assert forking.children() == []
        assert list(tmp_path.iterdir()) == []
        return here.num_fds(), len(here.children()), forking.num_fds()

    async def hundred():
        files = await some()
        first = left()
        for _ in range(rounds):
            files += await some()
        return files, first, left()

    files, first, last = asyncio.run(hundred())
    assert len(set(files)) == at_once * (rounds + 1)
    assert last[1:] == first[1:]
    assert last[0] <= first[0]


# --- the process that forks -------------------------------------------------------------------------------------------------


def test_it_is_started_again_when_it_has_died_and_its_kernels_do_not_outlive_it(another, caplog):
    async def again():
        async with kernel() as (manager, _):
            process = manager.provisioner.process
            orphan = psutil.Process(process.pid)
            forking = orphan.parent()
            forking.kill()
            assert await ended(process) == -signal.SIGKILL
            assert not await manager.is_alive()
            assert gone([orphan])
        async with kernel() as (manager, client):
            assert isinstance(manager.provisioner.process, Forked)
            assert psutil.Process(manager.provisioner.process.pid).parent() != forking
            assert await ask(client, "1 + 1") == 2

    asyncio.run(again())
    assert caplog.messages == []


@pytest.fixture
def own_folder():
    """A folder for temporary files whose path is short enough for a socket's."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_server(how, own_folder):
    script = """
        import asyncio
        from roi.kernels import OwnKernel
        async def run():
            managers = [OwnKernel() for _ in range(2)]
            for each in managers:
                await each.start_kernel()
            print(*(each.provisioner.process.pid for each in managers), flush=True)
            await asyncio.sleep(600)
        asyncio.run(run())
    """
    folder = Path(own_folder)
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "TMPDIR": own_folder}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            pids = [int(each) for each in server.stdout.readline().split()]
            left = [psutil.Process(each) for each in pids]
            left.append(left[0].parent())
            sockets = list(folder.glob("roi-kernel-*"))
        finally:
            server.send_signal(how)
    assert len(sockets) == 2
    assert gone(left)
    assert list(folder.glob("roi-kernel-*")) == []


def test_a_closed_one_ends_its_kernels_and_forks_no_more_until_it_is_started_again(another):
    async def closed():
        async with kernel() as (manager, _):
            another.close()
            assert await ended(manager.provisioner.process) == -signal.SIGKILL
        with pytest.raises(RuntimeError, match="no kernel is started any more"):
            await OwnKernel().start_kernel()
        another.start()
        async with kernel() as (manager, _):
            assert isinstance(manager.provisioner.process, Forked)

    asyncio.run(closed())


# --- the ordinary start -----------------------------------------------------------------------------------------------------


def ordinary(caplog, why, **options):
    """Starts a kernel that is no fork, works, and says why in one line."""

    async def start():
        async with kernel(**options) as (manager, client):
            assert not isinstance(manager.provisioner.process, Forked)
            assert await ask(client, "1 + 1") == 2
            return manager.kernel_id

    caplog.set_level(logging.WARNING)
    caplog.clear()
    kernel_id = asyncio.run(start())
    (message,) = caplog.messages
    assert re.fullmatch(f"Kernel {kernel_id} is started the ordinary way: {why}", message)


def test_where_no_process_can_fork_kernels_start_ordinarily(another, caplog, monkeypatch):
    monkeypatch.setattr(kernels, "FORKS", ())
    ordinary(caplog, f"{sys.platform} cannot fork")


def test_a_process_with_threads_is_not_forked(another, caplog):
    # The engine that draws has threads that Python does not know of.
    another.start("vl_convert:javascript_bundle")
    ordinary(caplog, r"\d+ threads run in the process to fork from")


def test_a_process_that_does_not_start_is_tried_twice_and_then_no_more(another, caplog, monkeypatch):
    monkeypatch.setattr(kernels, "START", ["-c", "raise SystemExit"])
    why = "the process to fork from did not start"
    ordinary(caplog, why)
    monkeypatch.setattr(kernels.subprocess, "Popen", None)
    assert another._failed
    monkeypatch.undo()
    monkeypatch.setattr(kernels, "PARENT", another)
    ordinary(caplog, why)


def test_what_python_reads_when_it_starts_is_read_by_an_ordinary_start(caplog):
    ordinary(caplog, "its environment differs in what Python reads when it starts", env={**os.environ, "PYTHONHASHSEED": "1"})


def test_options_that_a_fork_does_not_know_are_left_to_an_ordinary_start(caplog):
    with open(os.devnull, "w") as nothing:
        ordinary(caplog, "it is to be started with stdout", stdout=nothing)


def test_a_folder_that_is_not_there_is_said_as_an_ordinary_start_says_it(caplog, tmp_path):
    caplog.set_level(logging.WARNING)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        asyncio.run(OwnKernel().start_kernel(cwd=str(tmp_path / "nowhere")))
    assert f"{tmp_path / 'nowhere'} is not a folder" in caplog.text


# --- in papermill, and under other hands ------------------------------------------------------------------------------------


def run(source, tmp_path):
    """A notebook of one cell, run by papermill."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return papermill.execute_notebook(notebook, None, progress_bar=False, kernel_manager_class=OwnKernel, cwd=tmp_path)


def test_papermill_runs_a_notebook_in_a_fork(parent, tmp_path):
    executed = run("import os; print(os.getppid(), os.getcwd())", tmp_path)
    forking = parent._process.pid
    assert executed.cells[-1].outputs[0]["text"] == f"{forking} {tmp_path}\n"
    assert psutil.Process(forking).children() == []


def test_a_notebook_that_raises_says_what_it_was_and_leaves_nothing(parent, tmp_path):
    with pytest.raises(papermill.PapermillExecutionError, match="ValueError: this is wrong"):
        run("raise ValueError('this is wrong')", tmp_path)
    assert psutil.Process(parent._process.pid).children() == []


def test_a_kernel_that_dies_under_papermill_is_noticed(parent, tmp_path):
    start = time.monotonic()
    with pytest.raises(Exception, match="Kernel died"):
        run("import os; os._exit(3)", tmp_path)
    assert time.monotonic() - start < READY
    assert psutil.Process(parent._process.pid).children() == []


def test_every_kernel_of_ours_can_be_killed_from_another_thread(another):
    async def killed():
        async with kernel() as (manager, _):
            process = manager.provisioner.process
            await asyncio.to_thread(OwnKernel.kill_all)
            return await ended(process)

    assert asyncio.run(killed()) == -signal.SIGKILL


def test_the_entry_point_is_that_of_the_kernelspec():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["jupyter_client.kernel_provisioners"]
    assert declared == {PROVISIONER: f"{ForkedProvisioner.__module__}:{ForkedProvisioner.__name__}"}
    spec = OwnPython().get_kernel_spec("python3")
    assert spec.argv[0] == sys.executable
    assert spec.metadata["kernel_provisioner"]["provisioner_name"] == PROVISIONER
    manager = AsyncKernelManager(kernel_spec_manager=OwnPython())
    found = KernelProvisionerFactory.instance().create_provisioner_instance("some", manager.kernel_spec, manager)
    assert isinstance(found, ForkedProvisioner)
