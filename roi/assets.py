"""What the app needs of a server before any kernel answers: the scripts of the board and the widget, which browsers keep, and the
one that opens the board of the shipped proposals."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, RequestHandler, authenticated

SCRIPT_ADDRESS = "ROI_BOARD_SCRIPT"
"""Where a server serves the script, as it tells its kernels in their environment; without it a board brings all of it along."""

APP = "app.js"
JAVASCRIPT = "text/javascript; charset=utf-8"
YEAR = 31_536_000  # seconds


@cache
def board_script() -> tuple[str, bytes]:
    """The name, which changes with the content, and the content, packed, of the board's script: Vega, the model and the page."""
    from roi.board.page import script, vega

    return _kept("board", f"{vega()}{script()}\nexport {{ openApp, render }};\n")


@cache
def widget_script() -> tuple[str, bytes]:
    """The name, which changes with the content, and the content, packed, of the script that shows what the kernel adds."""
    return _kept("widget", (Path(__file__).resolve().parent / "voila_template" / "widget.js").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def app_board(today: date) -> tuple[str, str, bytes]:
    """The board of the shipped proposals: the style, the page of the first, and the script that opens it, packed.

    The day decides which sources are old.
    """
    from roi.alternatives import known_alternative
    from roi.board.page import payload, style
    from roi.reading import load, shipped

    first, *_ = names = shipped()
    data = payload({name: load(name) for name in names}, first, known_alternative(), today, with_html=True)
    # The style as well: the widget brings it only when its kernel has answered.
    said = json.dumps(data | {"style": style()}, allow_nan=False)
    # A browser reads a string of JSON in half the time that it takes to read the same as a program.
    opens = f"import {{ openApp }} from './{board_script()[0]}';\nopenApp(JSON.parse({json.dumps(said)}));\n"
    return style(), data["proposals"][first]["html"], _packed(opens.encode())


def _kept(name: str, script: str) -> tuple[str, bytes]:
    content = script.encode()
    return f"{name}.{hashlib.sha256(content).hexdigest()[:16]}.js", _packed(content)


def _packed(content: bytes) -> bytes:
    """Once for all who ask, and the same at every start of the server."""
    return gzip.compress(content, mtime=0)


def _write(handler: RequestHandler, packed: bytes) -> None:
    """Writes what is packed to a browser as it is, and to whoever does not read that unpacked."""
    handler.set_header("Vary", "Accept-Encoding")
    if "gzip" in handler.request.headers.get("Accept-Encoding", ""):
        handler.set_header("Content-Encoding", "gzip")
    else:
        packed = gzip.decompress(packed)
    handler.write(packed)


class KeptScript(RequestHandler):
    """Serves the board's script and the widget's under their own names alone, to be kept for a year."""

    def get(self, name: str) -> None:
        """Answer with the script of that name."""
        content = dict([board_script(), widget_script()]).get(name)
        if content is None:
            raise HTTPError(404)
        self.set_header("Content-Type", JAVASCRIPT)
        self.set_header("Cache-Control", f"public, max-age={YEAR}, immutable")
        _write(self, content)


class AppScript(JupyterHandler):
    """Serves the shipped proposals to whoever may see the app; a browser asks each time whether they are still the same."""

    @authenticated
    async def get(self) -> None:
        """Answer with the script that holds them."""
        *_, content = await asyncio.get_running_loop().run_in_executor(None, app_board, date.today())
        self.set_header("Content-Type", JAVASCRIPT)
        self.set_header("Cache-Control", "private, no-cache")
        _write(self, content)
