"""What the app needs of a server before any kernel answers: the board's script, which browsers keep, and the proposals."""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import date
from functools import cache, lru_cache

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, RequestHandler, authenticated

SCRIPT_ADDRESS = "ROI_BOARD_SCRIPT"
"""Where a server serves the script, as it tells its kernels in their environment; without it a board brings all of it along."""

DATA = "board.json"
YEAR = 31_536_000  # seconds


@cache
def board_script() -> tuple[str, bytes]:
    """The name, which changes with the content, and the content of the board's script: Vega, the model and the page."""
    from roi.board.page import script, vega

    content = f"{vega()}{script()}\nexport {{ render }};\nopenApp();\n".encode()
    return f"board.{hashlib.sha256(content).hexdigest()[:16]}.js", content


@lru_cache(maxsize=1)
def board_data(today: date) -> bytes:
    """The shipped proposals as the board takes them, as JSON; the day decides which sources are old."""
    from roi.alternatives import known_alternative
    from roi.board.page import payload, style
    from roi.reading import load, shipped

    proposals = {name: load(name) for name in shipped()}
    data = payload(proposals, shipped()[0], known_alternative(), today, with_html=True)
    # The style as well: the widget brings it only when its kernel has answered.
    return json.dumps(data | {"style": style()}, allow_nan=False).encode()


class BoardScript(RequestHandler):
    """Serves the script under its own name alone, to be kept for a year."""

    def get(self, name: str) -> None:
        """Answer with the script."""
        served, content = board_script()
        if name != served:
            raise HTTPError(404)
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", f"public, max-age={YEAR}, immutable")
        self.write(content)


class BoardData(JupyterHandler):
    """Serves the shipped proposals to whoever may see the app; a browser asks each time whether they are still the same."""

    @authenticated
    async def get(self) -> None:
        """Answer with the proposals."""
        content = await asyncio.get_running_loop().run_in_executor(None, board_data, date.today())
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "private, no-cache")
        self.finish(content)
