"""Processes of ours that this one starts, and the sockets through which it speaks with them."""

from __future__ import annotations

import os

LONGEST = 90
"""How long the path of a folder for sockets may be, in bytes: a Unix socket's own has room for about a hundred."""


def holds_sockets(folder: str) -> bool:
    """Whether the path of a folder leaves room for the name of a socket in it."""
    return len(os.fsencode(folder)) <= LONGEST


def running(module: str) -> list[str]:
    """What a Python takes to run the `main` of a module: a working directory cannot put its modules in the place of ours."""
    return ["-c", f"import sys; sys.path[:] = filter(None, sys.path); from {module} import main; main()"]
