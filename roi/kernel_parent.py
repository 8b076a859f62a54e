"""The process that warm kernels are forked from: it has imported, and computed once, what each of them would do again.

It is started by `roi.kernels` with one end of a socket as its standard input. A fork keeps no thread but the one that forks, so
nothing here may start one: no ZeroMQ, no drawing, and libraries of linear algebra are told to use one.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

MODULES = ["ipykernel.kernelapp", "ipykernel.debugger", "anywidget", "pandas", "scipy.stats"]
MODULES += ["roi.assets", "roi.board", "roi.report"]
"""What a kernel imports in any case, or when one of our notebooks runs in it; nothing that reads the server's environment."""

Order = dict[str, Any]
"""What a kernel is to be: its command line, the arguments in it, its environment, working directory and folder of sockets."""


class Kernel(NamedTuple):
    """One that runs: where its end is told, and the folder of its sockets."""

    channel: socket.socket
    sockets: str


def main() -> None:
    """Forks a kernel for each order until the server goes away."""
    status = 1

    @atexit.register  # the first to be registered, which is the last to be called
    def end_at_once() -> None:
        # Taking the interpreter apart would write to every page that is shared, only to give it back.
        for stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()  # type: ignore[union-attr]
        os._exit(status)

    control = socket.socket(fileno=os.dup(0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    # Read where ipykernel is imported: a kernel ends when this process is no longer its parent.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    gc.disable()
    _prepare(warm_up=sys.argv[1])
    # What is frozen is never visited by the garbage collector, so that its pages stay shared.
    gc.collect()
    gc.freeze()
    _become(_forked(control))
    status = 0


def _prepare(warm_up: str) -> None:
    """Imports and computes what every kernel would."""
    for name in MODULES:
        importlib.import_module(name)
    # Which it does on import in a kernel. Without it a page asks for one widget after another, and when busy gives up.
    importlib.import_module("ipywidgets").register_comm_target()
    if warm_up:
        module, _, function = warm_up.partition(":")
        # What fails here fails again in the notebook, which says so.
        with suppress(Exception):
            getattr(importlib.import_module(module), function)()


# --- one fork after another -------------------------------------------------------------------------------------------------


def _forked(control: socket.socket) -> Order:
    """Forks for each order, and tells whoever gave it how its kernel ended. Returns in each kernel, with its order."""
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    kernels: dict[int, Kernel] = {}
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ends(kernels)
        if control in ready:
            _, descriptors, *_ = socket.recv_fds(control, 1, 1)
            if not descriptors:
                _end(kernels)
            channel = socket.socket(fileno=descriptors[0])
            try:
                order = _order(channel)
                pid = os.fork()
            except (OSError, ValueError) as error:
                _tell(channel, error)
                channel.close()
                continue
            if not pid:
                signal.set_wakeup_fd(-1)
                for each in (control, woken, waker, channel, *(kernel.channel for kernel in kernels.values())):
                    each.close()
                return order
            kernels[pid] = Kernel(channel, order["sockets"])
            if not _tell(channel, pid):
                # Nobody waits for it any more.
                _kill(pid)


def _order(channel: socket.socket) -> Order:
    """The order that comes through a channel. Raises ValueError where it is not whole, or this process is not fit to fork."""
    said = b""
    while piece := channel.recv(65536):
        said += piece
    tasks = Path("/proc/self/task")  # on Linux, with the threads that Python does not know of
    threads = len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()
    if threads > 1:
        raise ValueError(f"{threads} threads run in the process to fork from")
    order: Order = json.loads(said)
    return order


def _tell(channel: socket.socket, what: object) -> bool:
    """Whether somebody is there to be told."""
    try:
        channel.sendall(f"{what}\n".encode())
    except OSError:
        return False
    return True


def _tell_ends(kernels: dict[int, Kernel]) -> None:
    """Tells of each kernel that has ended how it did, as `Popen.returncode` does: the exit code, or minus the signal."""
    while kernels:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        channel = kernels.pop(pid).channel
        _tell(channel, os.waitstatus_to_exitcode(status))
        channel.close()


def _end(kernels: dict[int, Kernel]) -> NoReturn:
    """Ends every kernel that is left, and this process."""
    for pid in kernels:
        _kill(pid)
    for pid, kernel in kernels.items():
        os.waitpid(pid, 0)
        if kernel.sockets:
            shutil.rmtree(kernel.sockets, ignore_errors=True)
    os._exit(0)


def _kill(pid: int) -> None:
    """Kills a kernel with what it has started, or by itself as long as it has made no group of its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        os.kill(pid, signal.SIGKILL)


# --- in the kernel ----------------------------------------------------------------------------------------------------------


def _become(order: Order) -> None:
    """Runs a kernel as if Python had been started for it."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _show(order["command"])
    os.environ.clear()
    os.environ.update(order["environment"], JPY_PARENT_PID=str(os.getppid()))
    time.tzset()
    os.chdir(order["directory"])
    gc.enable()
    # Python sees to the seed of `random` itself.
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    # Where Python puts the working directory; the launcher takes it out again.
    sys.path.insert(0, "")
    sys.argv = ["", *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _show(command: list[str]) -> None:
    """Lets Linux show a process under the command that an ordinary start would have run, as far as there is room for it."""
    with suppress(OSError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # where the command line stands in memory, see proc_pid_stat(5)
        size = end - start - 1
        ctypes.memmove(start, b"\0".join(map(os.fsencode, command))[:size].ljust(size), size)
