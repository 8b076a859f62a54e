"""What the app needs of a server before any kernel answers: the board's script, which browsers keep, and the one that opens the
board of the shipped proposals with it."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from datetime import date
from functools import cache, lru_cache

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

    content = f"{vega()}{script()}\nexport {{ openApp, render }};\n".encode()
    return f"board.{hashlib.sha256(content).hexdigest()[:16]}.js", _packed(content)


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


class BoardScript(RequestHandler):
    """Serves the script under its own name alone, to be kept for a year."""

    def get(self, name: str) -> None:
        """Answer with the script."""
        served, content = board_script()
        if name != served:
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
