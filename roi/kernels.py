"""Warm kernels: each is forked from one process that has its imports already, in a third of the time and half the memory.

`OwnPython` says which Python a notebook's kernel is, and `ForkedProvisioner` starts it: by a fork on Linux and macOS; elsewhere,
and wherever a fork might come out otherwise, the ordinary way, with a line in the log. The process that forks is
`roi.kernel_parent`. Python's own `multiprocessing.forkserver` is not for this: in each child it would run the main script of the
server again.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from importlib.metadata import EntryPoint
from multiprocessing import connection
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar
from weakref import WeakSet

import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.localinterfaces import localhost
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Type, default

from roi.processes import holds_sockets, running

PROVISIONER = "roi-forked"
"""The entry point under which a kernelspec names `ForkedProvisioner`."""

START = running("roi.kernel_parent")
"""How the parent is started."""

ROOM = " " * 256
"""The last word of the parent's command line, which leaves each kernel the room to show its own."""

ONE_THREAD = {
    **dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"),
    # The debugger, which ipykernel imports, would warn on standard error that it cannot stop inside Python's own modules.
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
"""What the parent's environment holds beside the server's, so that no library starts a thread on import."""

READ_AT_THE_START = ("PYTHON", "LANG", "LC_", "LD_", "DYLD_")
"""How variables begin that a program reads when it starts, and a fork not again."""

FORKS = ("linux", "darwin")
"""Where kernels are forked."""

PATIENCE = 60.0
"""How long a kernel may take to fork, in seconds, the start of the parent included."""

GONE_AFTER = 200
"""Milliseconds in which a kernel that is killed is usually gone."""


class CannotForkError(Exception):
    """Why a kernel is to be started the ordinary way."""


class Parent:
    """The process that kernels are forked from: started when it is first needed, and again when it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warm_up = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._read_at_the_start: dict[str, str] = {}
        self._closed = self._failed = False

    def start(self, warm_up: str = "") -> None:
        """Starts the process, which is ready some seconds later; orders may be given at once.

        Args:
            warm_up: a function, as `module:name`, that it calls once before it forks: it computes, and keeps, what every kernel
                would compute again. It may start no thread.
        """
        self._warm_up, self._closed, self._failed = warm_up, False, False
        if sys.platform in FORKS:
            # What stands in the way now is said when a kernel is asked for.
            with suppress(OSError):
                self._running()

    def _running(self) -> socket.socket:
        """The socket to a running process, which is started where there is none."""
        with self._lock:
            if self._closed:
                raise RuntimeError("no kernel is started any more")
            if self._control is None:
                environment = {name: value for name, value in os.environ.items() if name != "PYTHONEXECUTABLE"}
                self._read_at_the_start = _read_at_the_start(environment)
                control, theirs = socket.socketpair()
                with theirs:
                    self._process = subprocess.Popen(
                        [sys.executable, *START, self._warm_up, ROOM],
                        stdin=theirs.fileno(),
                        env=environment | ONE_THREAD,
                        start_new_session=True,
                    )
                self._control = control
            return self._control

    async def fork(self, command: list[str], environment: dict[str, str], directory: str, sockets: str) -> Forked:
        """A kernel that runs a command as a fork.

        Args:
            command: as an ordinary start would run it.
            environment: the whole of it.
            directory: where it works.
            sockets: the folder of its sockets, which is removed if this process dies before it does that; "" for none.

        Raises:
            CannotForkError: the command, its environment or its directory are not those of a kernel of ours, or no fork succeeds.
            RuntimeError: the parent is closed.
        """
        if sys.platform not in FORKS:
            raise CannotForkError(f"{sys.platform} cannot fork")
        if self._failed:
            raise CannotForkError("the process to fork from did not start")
        python, option, module, *arguments = [*command, "", ""]
        if (python, option, module) != (sys.executable, "-m", "ipykernel_launcher"):
            raise CannotForkError(f"its command is {' '.join(command)}")
        if not Path(directory).is_dir():
            raise CannotForkError(f"{directory} is not a folder")
        order: dict[str, Any] = {"command": command, "module": module, "arguments": arguments[:-2]}
        order |= {"environment": environment, "directory": directory, "sockets": sockets}
        try:
            for _ in range(2):
                control = self._running()
                if _read_at_the_start(environment) != self._read_at_the_start:
                    raise CannotForkError("its environment differs in what Python reads when it starts")
                try:
                    return await asyncio.wait_for(_answer(control, order), PATIENCE)
                except (ConnectionError, EOFError):
                    self._forget(control)
        except TimeoutError:
            raise CannotForkError(f"no fork within {PATIENCE:.0f} seconds") from None
        except OSError as error:
            raise CannotForkError(str(error)) from error
        self._failed = True
        raise CannotForkError("the process to fork from did not start")

    def _forget(self, control: socket.socket) -> None:
        """Puts away a process that has died, unless that has been done."""
        with self._lock:
            if self._control is control and self._process:
                control.close()
                self._process.kill()
                self._process.wait()
                self._control = None

    def close(self) -> None:
        """Ends the process and every kernel that is left of it; until it is started again, no other kernel is."""
        with self._lock:
            self._closed = True
            if self._control and self._process:
                self._control.close()
                self._control = None
                self._process.wait()


def _read_at_the_start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_THE_START)}


async def _answer(control: socket.socket, order: dict[str, Any]) -> Forked:
    """Hands over an order together with a channel of its own, on which the answer and later the kernel's end are told."""
    loop = asyncio.get_running_loop()
    channel, theirs = socket.socketpair()
    try:
        with theirs:
            socket.send_fds(control, [b"!"], [theirs.fileno()])
        channel.setblocking(False)
        await loop.sock_sendall(channel, json.dumps(order).encode())
        channel.shutdown(socket.SHUT_WR)
        said = b""
        while not said.endswith(b"\n"):
            if not (piece := await loop.sock_recv(channel, 1)):
                raise EOFError
            said += piece
        if not said.strip().isdigit():
            raise CannotForkError(said.decode().strip())
        return Forked(int(said), channel)
    except BaseException:
        channel.close()
        raise


class Forked:
    """A forked kernel, in the words of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._channel = channel
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        with self._lock:
            if self.returncode is None:
                try:
                    said = self._channel.recv(16)
                except BlockingIOError:
                    return None
                # Silence: its parent has died, and the kernel follows within a second.
                self.returncode = int(said) if said else -signal.SIGKILL
                self._channel.close()
            return self.returncode

    def wait(self) -> int:
        """The exit code, as soon as there is one."""
        while (code := self.poll()) is None:
            connection.wait([self._channel])
        return code

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


PARENT = Parent()
"""The one process that the kernels of this server, or of these reports, are forked from."""
atexit.register(PARENT.close)


class ForkedProvisioner(LocalProvisioner):
    """Starts a kernel by a fork of `PARENT`, or the ordinary way."""

    process: Any
    _sockets: tempfile.TemporaryDirectory[str] | None = None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        manager: Any = self.parent
        if sys.platform in FORKS and (manager.transport, manager.ip) == ("tcp", localhost()):
            # Between being chosen and being bound a port can go to another process; and nobody else can open these.
            sockets = tempfile.TemporaryDirectory(prefix="roi-kernel-")
            if holds_sockets(sockets.name):
                self._sockets = sockets
                manager.transport, manager.ip = "ipc", str(Path(sockets.name) / "socket")
            else:
                sockets.cleanup()
        return await super().pre_launch(**kwargs)

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart)
        if self._sockets and not restart:
            self._sockets.cleanup()

    async def kill(self, restart: bool = False) -> None:
        await super().kill(restart)
        # Gone within some milliseconds; who asked for it would look again only a tenth of a second later.
        for _ in range(GONE_AFTER):
            if not self.process or self.process.poll() is not None:
                return
            await asyncio.sleep(0.001)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        try:
            return await self._launch(cmd, **kwargs)
        except BaseException:
            await self.cleanup()
            raise

    async def _launch(self, cmd: list[str], **kwargs: Any) -> Any:
        others = {name for name, value in kwargs.items() if value is not None} - {"env", "cwd", "kernel_id", "extra_arguments"}
        directory = str(kwargs.get("cwd") or Path.cwd())
        try:
            if others:
                raise CannotForkError(f"it is to be started with {', '.join(sorted(others))}")
            self.process = await PARENT.fork(cmd, kwargs["env"], directory, self._sockets.name if self._sockets else "")
        except CannotForkError as reason:
            self.log.warning("Kernel %s is started the ordinary way: %s", self.kernel_id, reason)
            return await super().launch_kernel(cmd, **kwargs)
        # A kernel leads a group of its own, as soon as it runs.
        self.pid = self.pgid = self.process.pid
        self.cwd = directory
        return self.connection_info


class OwnPython(KernelSpecManager):
    """Knows one kernel: the Python that runs this process, forked, whatever is installed elsewhere or comes first on the path."""

    def _kernel_dirs_default(self) -> list[str]:
        return []

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        spec = super().get_kernel_spec(kernel_name)
        spec.metadata = {**spec.metadata, "kernel_provisioner": {"provisioner_name": PROVISIONER}}
        # An editable installation knows the entry points of the day on which it was made.
        known = KernelProvisionerFactory.instance(parent=self.parent).provisioners
        entry = f"{ForkedProvisioner.__module__}:{ForkedProvisioner.__name__}"
        known.setdefault(PROVISIONER, EntryPoint(PROVISIONER, entry, KernelProvisionerFactory.GROUP_NAME))
        return spec


class OwnClient(AsyncKernelClient):
    """Ready as soon as the kernel is.

    The usual client tries its sockets again a tenth of a second after it has found them not yet bound, and in the end waits for
    two tenths of silence.
    """

    def _context_default(self) -> zmq.asyncio.Context:
        context = super()._context_default()
        context.setsockopt(zmq.RECONNECT_IVL, 5)  # milliseconds
        return context

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Returns when the kernel has answered and its broadcasts arrive; what it has broadcast until then is dropped.

        Raises:
            RuntimeError: the kernel has died, or does not answer within the timeout, in seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                while not await self._has_answered():
                    if not await self.is_alive():
                        raise RuntimeError("Kernel died before replying to kernel_info")
        except TimeoutError:
            raise RuntimeError(f"Kernel didn't respond in {timeout} seconds") from None

    async def _has_answered(self) -> bool:
        """Whether a question is answered within a second, and its end broadcast: all that came before it has then come."""
        asked = self.kernel_info()
        try:
            while (answer := await self.get_shell_msg(timeout=1))["parent_header"].get("msg_id") != asked:
                pass
            while (heard := await self.get_iopub_msg(timeout=0.2))["parent_header"].get("msg_id") != asked or (
                heard["content"].get("execution_state") != "idle"
            ):
                pass
        except Empty:
            return False
        self._handle_kernel_info_reply(answer)
        return True


class OwnKernel(AsyncKernelManager):
    """The kernel of a report's notebook."""

    client_factory = Type(OwnClient, klass=AsyncKernelClient)

    _started: ClassVar[WeakSet[OwnKernel]] = WeakSet()
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        with self._lock:
            self._started.add(self)

    @default("kernel_spec_manager")
    def _own_python(self) -> KernelSpecManager:
        return OwnPython()

    @default("transport_encryption")
    def _encrypted(self) -> str:
        return "auto"

    @classmethod
    def kill_all(cls) -> None:
        """Ends every kernel that still runs, from whichever thread, and starts no other."""
        PARENT.close()
        with cls._lock:
            started = list(cls._started)
        for kernel in started:
            process = getattr(kernel.provisioner, "process", None)
            if process is not None:
                process.kill()
