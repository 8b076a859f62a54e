"""The board: one page of one proposal with sliders, computed in the browser, in two hosts.

`Page` is the self-contained HTML page, for files and for notebooks that are read later. `Board` is the same page as a widget with
all proposals to choose from, for Voila and JupyterLab. Both are rendered from `board.html` and taken over by `board.js`.
"""

from typing import Any

from roi.board.page import Page

__all__ = ["Board", "Page"]


def __getattr__(name: str) -> Any:
    """Loads the widget only where it is asked for: a static page needs no widgets."""
    if name == "Board":
        from roi.board.widget import Board

        return Board
    raise AttributeError(f"module {__name__} has no attribute {name}")
