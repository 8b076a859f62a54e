"""Where reports go: a folder, or any URL that fsspec knows, such as `s3://bucket/reports`.

Reports for a URL are made whole in a temporary folder first, so that a batch works the same for both, and are then sent file by
file, the record that a report is finished last.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roi.problems import InputError, Problem


@dataclass(frozen=True)
class Remote:
    """A file or a folder behind a URL, named as a path is.

    Attributes:
        url: as the user wrote it, with what follows.
        files: the file system of fsspec.
        path: its name there.
    """

    url: str
    files: Any
    path: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> Remote:
        return replace(self, url=f"{self.url.rstrip('/')}/{name}", path=f"{self.path.rstrip('/')}/{name}")

    def read_bytes(self) -> bytes:
        """The content of a file. Raises OSError where there is none."""
        return bytes(self.files.cat_file(self.path))

    def write_bytes(self, content: bytes) -> None:
        """Write a file, and make the folders above it."""
        self.files.makedirs(self.path.rpartition("/")[0], exist_ok=True)
        self.files.pipe_file(self.path, content)

    def remove(self) -> None:
        """Remove a file if there is one."""
        if self.files.exists(self.path):
            self.files.rm_file(self.path)


@dataclass(frozen=True)
class Place:
    """Where a batch writes.

    Attributes:
        folder: receives the files; one that is removed again where they are sent on.
        remote: where they are sent; None for a folder of the user's.
    """

    folder: Path
    remote: Remote | None = None

    @property
    def lasting(self) -> Path | Remote:
        """Where the reports are in the end."""
        return self.remote or self.folder

    def send(self, name: str, last: str = "") -> None:
        """Send a file, or the files of a folder, to where they last; in a folder, the file of the name `last` is sent last.

        Raises:
            InputError: they cannot be written there.
        """
        if self.remote is None:
            return
        here, there = self.folder / name, self.remote / name
        try:
            if here.is_file():
                there.write_bytes(here.read_bytes())
                return
            (there / last).remove()
            for path in sorted(here.iterdir(), key=lambda path: path.name == last):
                (there / path.name).write_bytes(path.read_bytes())
        except Exception as error:  # each driver has errors of its own
            raise InputError([_unwritable(there, error)]) from error
        finally:
            if here.is_dir():
                shutil.rmtree(here)


@contextmanager
def opened(output: str) -> Iterator[Place]:
    """A place for reports: a folder, or a URL with `://`.

    Raises:
        InputError: what the URL needs is not installed, or nothing can be written there.
    """
    if "://" not in output:
        yield Place(Path(output))
        return
    try:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        files, path = url_to_fs(output)
    except ImportError as error:
        wanted = "pip install 'roi[cluster]'" if (error.name or "").startswith("fsspec") else str(error)
        raise InputError([Problem(f"needs a package that is not installed: {wanted}", output)]) from error
    except ValueError as error:
        raise InputError([Problem(f"is no place that fsspec knows: {error}", output)]) from error
    if isinstance(files, LocalFileSystem):
        yield Place(Path(path))
        return
    remote = Remote(output, files, path)
    try:
        (remote / ".unfinished").write_bytes(b"")
        (remote / ".unfinished").remove()
    except Exception as error:  # each driver has errors of its own
        raise InputError([_unwritable(remote, error)]) from error
    with TemporaryDirectory(prefix="roi-") as folder:
        yield Place(Path(folder), remote)


def _unwritable(place: Remote, error: Exception) -> Problem:
    return Problem(f"cannot be written: {str(error) or type(error).__name__}", str(place))
