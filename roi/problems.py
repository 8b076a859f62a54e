"""What is wrong with a user's input: said once, in full, with the place where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is, what it is and why, and what to write instead."""

    message: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}" if place else self.message


class InputError(Exception):
    """A user's input is refused. `str()` is the whole message, one problem on each line."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems = [Problem(problems)] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
