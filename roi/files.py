"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from roi.problems import InputError, Problem


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: under a temporary name beside it, then in its place.

    Raises:
        InputError: the file cannot be written.
    """
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    if path.is_dir():
        raise InputError([Problem("is a folder; give the name of a file", str(path))])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError([Problem(f"cannot be written: {error.filename} is not a folder", str(path))]) from error
    except OSError as error:
        raise InputError([Problem(f"cannot be written: {error.strerror}", str(path))]) from error
