"""Charts as static SVG, drawn by one process for all: what draws takes two seconds and 150 MB to start.

`for_kernels` starts that process, apart from all that compute, since whoever draws can do nothing else meanwhile. They ask it
through a socket, whose address they have from their environment; where there is none, each draws for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Client, Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import vl_convert

from roi.processes import holds_sockets, running

ADDRESS = "ROI_DRAWING"
"""The variable of the environment that holds the address of the socket."""

START = running("roi.drawing")
"""How the process is started."""

MOST_WAITING = 128
"""Questions that wait while one is answered; who comes after that draws for itself."""


def svg(specification: dict[str, Any]) -> str:
    """A Vega-Lite chart as an SVG document, the same one for the same chart."""
    drawn = _asked(json.dumps(specification)) or vl_convert.vegalite_to_svg(specification)
    # Vega counts its clip paths on through all that a process draws. The chart's own name keeps them apart on a page.
    name = hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:8]
    found = dict.fromkeys(re.findall(r'id="(clip\d+)"', drawn))
    own = {each: f"clip-{name}-{index}" for index, each in enumerate(found)}
    return re.sub(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))', lambda each: own[each[0]], drawn)


def bundle() -> str:
    """Vega, Vega-Lite and vega-embed as vl-convert ships them, as a script."""
    return _asked("") or vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub demands a snippet


def _asked(what: str) -> str:
    """The answer of the process that draws for this one; empty where there is none, or where it has none."""
    address = os.environ.get(ADDRESS)
    if not address:
        return ""
    try:
        with Client(address, "AF_UNIX") as connection:
            connection.send_bytes(what.encode())
            return connection.recv_bytes().decode()
    except (OSError, EOFError):
        return ""


@contextmanager
def for_kernels() -> Iterator[None]:
    """Has a process that draws for those that this one starts meanwhile, and for itself.

    In a temporary folder whose path is too long for a socket there is none, and each draws for itself.
    """
    with ExitStack() as held:
        folder = held.enter_context(TemporaryDirectory(prefix="roi-drawing-"))
        if holds_sockets(folder):
            held.enter_context(_drawing(str(Path(folder) / "socket")))
        yield


@contextmanager
def _drawing(address: str) -> Iterator[None]:
    with ExitStack() as held:
        ours, theirs = socket.socketpair()
        held.enter_context(ours)
        with theirs, socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen(MOST_WAITING)
            # A session of its own, so that Ctrl-C is for this process alone, whose end the other sees.
            process = subprocess.Popen(
                [sys.executable, *START, str(listening.fileno())],
                stdin=theirs.fileno(),
                pass_fds=[listening.fileno()],
                start_new_session=True,
            )
        held.callback(process.wait)
        held.callback(ours.close)
        os.environ[ADDRESS] = address
        held.callback(os.environ.pop, ADDRESS)
        yield


def main() -> None:
    """Answers one question after another until the process that started this one is gone; no two can be drawn at once."""
    listening, ended = socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=0)
    script = vl_convert.javascript_bundle().encode()  # type: ignore[call-arg]
    while ended not in select.select([listening, ended], [], [])[0]:
        with suppress(OSError, EOFError), Connection(listening.accept()[0].detach()) as connection:
            asked = connection.recv_bytes()
            try:
                # Read here, since what draws reads the last figure of some numbers otherwise.
                answer = vl_convert.vegalite_to_svg(json.loads(asked)).encode() if asked else script
            except ValueError:
                answer = b""  # who asked draws for itself, and has the error
            connection.send_bytes(answer)
