"""Processes of ours that this one starts."""

from __future__ import annotations

LONGEST = 90
"""How long the path of a folder for sockets may be, in bytes: a Unix socket's own has room for about a hundred."""


def running(module: str) -> list[str]:
    """What a Python takes to run the `main` of a module: a working directory cannot put its modules in the place of ours."""
    return ["-c", f"import sys; sys.path[:] = filter(None, sys.path); from {module} import main; main()"]
