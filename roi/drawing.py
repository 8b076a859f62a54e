"""Charts as static SVG, drawn by one process for all: what draws takes two seconds and 150 MB to start.

A process in which `for_kernels` holds draws for every process that it starts. They ask it through a socket, whose address they
have from their environment; where there is none, each draws for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Client, Connection, Listener
from threading import Thread
from typing import Any

import vl_convert

ADDRESS = "ROI_DRAWING"
"""The variable of the environment that holds the address of the socket."""


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
    """Draws for the processes that this one starts meanwhile."""
    with Listener(family="AF_UNIX") as listener:
        address = str(listener.address)
        os.environ[ADDRESS] = address
        thread = Thread(target=_serve, args=(listener,), name="drawing", daemon=True)
        thread.start()
        try:
            yield
        finally:
            del os.environ[ADDRESS]
            # An empty message ends it, which none of the processes sends without closing.
            with suppress(OSError), Client(address, "AF_UNIX") as last:
                last.send_bytes(b"end")
            thread.join()


def _serve(listener: Listener) -> None:
    """Answers one question after another; what draws can do no more than one at once."""
    script = b""
    while True:
        with suppress(OSError, EOFError), listener.accept() as connection:
            asked = connection.recv_bytes()
            if asked == b"end":
                return
            if not asked:
                script = script or vl_convert.javascript_bundle().encode()  # type: ignore[call-arg]
            _answer(connection, asked, script)


def _answer(connection: Connection, asked: bytes, script: bytes) -> None:
    try:
        # Read here, since what draws reads the last figure of some numbers otherwise.
        answer = vl_convert.vegalite_to_svg(json.loads(asked)).encode() if asked else script
    except ValueError:
        answer = b""  # who asked draws for itself, and has the error
    connection.send_bytes(answer)
