"""The director's app: Voila on one notebook, with nothing let in that the app does not need."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from socket import socket
from typing import Any, ClassVar
from uuid import uuid4

import nbformat
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.utils import url_path_join
from markupsafe import Markup
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import RequestHandler
from traitlets.config import Config
from voila.app import Voila  # type: ignore[import-untyped]
from voila.tornado.handler import TornadoVoilaHandler  # type: ignore[import-untyped]

from roi.assets import APP, SCRIPT_ADDRESS, AppScript, KeptScript, app_board, board_script, widget_script
from roi.drawing import for_kernels
from roi.inputs import ROOT
from roi.kernels import PARENT, OwnClient, OwnPython
from roi.problems import InputError

NOTEBOOK = DIRECTORS_APP = ROOT / "notebooks" / "app.ipynb"
TEMPLATE = Path(__file__).resolve().parent / "voila_template"

WIDGET_CODE = ["@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager", "anywidget"]
"""The browser code that a widget needs; whatever else JupyterLab has installed stays out of the page."""

ALLOWED_MESSAGES = ["comm_open", "comm_close", "comm_msg", "comm_info_request", "kernel_info_request"]
"""All that a page may send to its kernel: what widgets are made of. Code is not among it, and neither is an order to end."""

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        # Widget code arrives through the kernel's connection and is loaded from a blob. No script stands inside the page.
        "script-src 'self' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        # 'self' covers the kernel's websocket; a bare `ws:` would let a page talk to any host.
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    ]
)

CULLING = {"cull_idle_timeout": 600, "cull_interval": 60, "cull_connected": True}
"""When a kernel that no page uses is ended, in seconds.

An open board asks its kernel every few seconds whether it is there, and at least once a minute in a tab behind others: silence
means a tab that is gone or asleep. Its connection may look alive for long, and the board goes on without a kernel and says so;
so connected kernels are ended as well.
"""

KERNEL_PART = "\N{NULL}"
"""Stands in the opening of a page where what its kernel adds comes in: no text of a page holds it."""

DRAWN_WITHIN = 10.0
"""How long a page's kernel waits for the board to be drawn, in seconds; a browser without JavaScript never tells."""

KERNELS_AT_ONCE = 2
"""How many pages get what their kernel adds at once; the others wait their turn, and show their numbers meanwhile."""

WATCH_EVERY = 0.25
"""How often it is seen to that the kernels of the pool still run, in seconds."""

TRY_AGAIN_AFTER = 5.0
"""When another kernel is started after one that did not start, in seconds."""


def serve(port: int = 8866, ip: str = "127.0.0.1", token: str | None = None, base_url: str = "/", pool: int = 2) -> None:
    """Serve the app until Ctrl-C or a TERM signal.

    Args:
        port: the port to listen on; 0 takes a free one.
        ip: the address to listen on.
        token: what every viewer must know; None or "" lets in whoever can connect.
        base_url: the path under which a proxy serves the app.
        pool: kernels that are kept ready with the workbook opened, at about 45 MB each; 0 starts each when it is asked for.

    Raises:
        InputError: the address is taken or not ours, or the base URL is not a path.
    """
    if not re.fullmatch(r"[\w./~-]*", base_url) or ".." in base_url.split("/"):
        raise InputError(f"base URL '{base_url}' is not a path; write it like /roi/")
    try:
        sockets = bind_sockets(port, ip)
    except OSError as error:
        raise InputError(f"cannot listen on {ip} port {port}: {error.strerror}; choose another with --port or --ip") from None
    path = "/".join(["", *filter(None, base_url.split("/")), ""])
    # A kernel that asks the server for its request asks under the base URL.
    os.environ["VOILA_WS_BASE_URL"] = path
    # The widget code of this environment, not what the user has in the home directory.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # It gets ready while the server does.
    PARENT.start()
    os.environ[SCRIPT_ADDRESS] = f"{path}roi/{board_script()[0]}"
    # What a kernel says while it is being ended reaches nobody, and nobody misses it; Jupyter's pings are none of Tornado's.
    unheard = re.compile("events for closed stream|websocket_ping_timeout")
    logging.getLogger("tornado.general").addFilter(lambda record: not unheard.search(record.getMessage()))
    with for_kernels():
        app = _App.instance(sockets, config=_config(sockets[0].getsockname()[1], ip, token or "", path, pool))
        app.initialize([])
        app.start()


def _config(port: int, ip: str, token: str, base_url: str, pool: int) -> Config:
    return Config(
        Voila={
            "notebook_path": str(NOTEBOOK),
            "ip": ip,
            "port": port,
            "token": token,
            "base_url": base_url,
            "open_browser": False,
            # A voila.json that happens to lie in the working directory must not loosen what is set here.
            "config_file_paths": [],
            "log_level": "WARN",
            "tornado_settings": {
                "headers": {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "same-origin"},
                # The beacon of a closing tab cannot carry the XSRF argument, and refused it leaves its kernel behind.
                # Calls from other origins stay blocked by the check of the Origin header.
                "disable_check_xsrf": True,
                "ws_ping_interval": 30_000,
                # Longer than from one ping to the next: the first is sent as late as that, and who has answered none is cut off.
                "ws_ping_timeout": 90_000,
            },
        },
        VoilaConfiguration={
            "template": "base",
            # Otherwise a link chooses the template, and a template can hang the server or inject markup.
            "allow_template_override": "NO",
            "allow_theme_override": "NO",
            "strip_sources": True,
            "show_tracebacks": False,
            "extension_allowlist": WIDGET_CODE,
            "multi_kernel_manager_class": _Kernels,
            "kernel_spec_manager_class": OwnPython,
            # A page rendered ahead fits every link: the board reads the link's scenario in the browser, not in the kernel.
            "preheat_kernel": pool > 0,
            "default_pool_size": pool,
            # The sign of life that Voila writes into a slow page is an inline script, which the policy refuses.
            "http_keep_alive_timeout": 3600,
        },
        MappingKernelManager=CULLING,
        AsyncKernelManager={"client_factory": OwnClient},
        # A page that finds the pool empty waits for the next kernel, and not for a second before that.
        VoilaKernelManager={"fill_delay": 0.0},
        # A restarted kernel has no workbook in it, and would only hold memory.
        KernelManager={"autorestart": False, "transport_encryption": "auto"},
        PasswordIdentityProvider={"allow_password_change": False},
        # In memory: by default both are files in the user's home directory, which may be read-only.
        NotebookNotary={"data_dir": str(ROOT), "db_file": ":memory:", "secret": os.urandom(32)},
    )


class _Page(TornadoVoilaHandler):  # type: ignore[misc]
    """The app's page. What needs no kernel is sent at once, so that the first number never waits for one.

    What the kernel adds comes when the board has been drawn, of which the page tells by its own key: of many pages that are
    opened at once, each shows its numbers before the kernels take the time of the processors.
    """

    _drawing: ClassVar[dict[str, asyncio.Event]] = {}
    _turns: ClassVar[asyncio.Semaphore] = asyncio.Semaphore(KERNELS_AT_ONCE)

    async def get_generator(self, path: str | None = None) -> AsyncIterator[str]:
        if path:
            # Not the app: Voila answers with another address.
            async for part in super().get_generator(path=path):
                yield part
            return
        self.set_header("Content-Type", "text/html")
        self.set_header("Cache-Control", "no-store")
        key, drawn = uuid4().hex, asyncio.Event()
        own = url_path_join(self.base_url, "roi")
        is_app = Path(self.notebook_path).name == DIRECTORS_APP.name
        style, page, _ = await asyncio.get_running_loop().run_in_executor(None, app_board, date.today())
        opening = self.get_template("opening.html").render(
            voila=url_path_join(self.base_url, "voila", "static", "voila.js"),
            app=url_path_join(own, APP) if is_app else "",
            board=url_path_join(own, board_script()[0]),
            widget=url_path_join(own, widget_script()[0]),
            # A link that sets something has other numbers than the page has without its script.
            style=Markup(style),
            page=Markup(page) if is_app and set(self.request.arguments) <= {"token"} else "",
            drawn=url_path_join(own, "drawn", key),
            kernel_part=KERNEL_PART,
        )
        before, _, after = opening.partition(KERNEL_PART)
        self._drawing[key] = drawn
        try:
            yield before
            with suppress(TimeoutError):
                # Who does not ask for a page to look at draws nothing.
                looks = "text/html" in self.request.headers.get("Accept", "")
                await asyncio.wait_for(drawn.wait(), DRAWN_WITHIN if is_app and looks else 0)
        finally:
            del self._drawing[key]
        async with self._turns:
            async for part in super().get_generator(path=path):
                yield part
        yield after

    @classmethod
    def drawn(cls, key: str) -> None:
        """A page says that its board stands."""
        if waiting := cls._drawing.get(key):
            waiting.set()


class _Drawn(RequestHandler):
    """Hears from a page that its board stands."""

    def post(self, key: str) -> None:
        """Nothing is answered, and nothing follows from a key that is no page's."""
        _Page.drawn(key)
        self.set_status(204)


class _Kernels(AsyncMappingKernelManager):
    """Counts a kernel's idle time from when it was given to a page, not from when it was made ready."""

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        # Voila asks only for kernels that have left the pool.
        kernel: Any = self.get_kernel(kernel_id)
        if not hasattr(kernel, "given"):
            kernel.given = True
            kernel.last_activity = datetime.now(UTC)
        await super().cull_kernel_if_idle(kernel_id)  # type: ignore[no-untyped-call]

    async def watch_pool(self) -> None:
        """Puts others in the place of kernels that have ended in the pool, or did not start, before a page gets them."""
        manager: Any = self  # with what Voila adds where it keeps a pool
        while hasattr(manager, "_pools"):
            await asyncio.sleep(WATCH_EVERY)
            for notebook, pool in manager._pools.items():
                ended = [each for each in pool if each.done() and await self._has_ended(each)]
                # A page may have got one of them meanwhile.
                for each in [each for each in ended if each in pool]:
                    pool.remove(each)
                    self.log.warning("A kernel that was kept ready has ended; another takes its place.")
                    manager.fill_if_needed(delay=TRY_AGAIN_AFTER if each.exception() else 0.0, notebook_name=notebook)
                for each in ended:
                    if not each.exception() and (kernel_id := each.result()["kernel_id"]) in manager:
                        await manager.shutdown_kernel(kernel_id, now=True)

    async def _has_ended(self, kept: asyncio.Task[dict[str, Any]]) -> bool:
        if kept.exception():
            return True
        kernel_id = kept.result()["kernel_id"]
        kernel: Any = self.get_kernel(kernel_id) if kernel_id in self else None
        return kernel is None or not await kernel.is_alive()

    async def shutdown_all(self, now: bool = False) -> None:  # type: ignore[override]
        # Only those that have started: asked to end one that has not, the server stops half-way.
        started: list[str] = self.list_kernel_ids()
        await asyncio.gather(*(self.shutdown_kernel(each, now=now) for each in started))  # type: ignore[no-untyped-call]


class _App(Voila):  # type: ignore[misc]
    """Voila with our template, on sockets that are bound already."""

    def __init__(self, sockets: list[socket], **settings: Any) -> None:
        super().__init__(**settings)
        self.sockets = sockets

    def setup_template_dirs(self) -> None:
        super().setup_template_dirs()
        self.template_paths.insert(0, str(TEMPLATE))

    def init_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().init_settings()
        self.kernel_manager.allowed_message_types = ALLOWED_MESSAGES
        self.contents_manager.notary.sign(nbformat.read(NOTEBOOK, as_version=4))  # type: ignore[no-untyped-call]
        # Pages that are not the app, such as the one that asks for the token, come from our template too.
        return settings | {
            "jinja2_env": settings["voila_jinja2_env"],
            "compress_response": True,
            "websocket_compression_options": {},
        }

    def init_handlers(self) -> list[tuple[Any, ...]]:
        # Voila leaves the base URL out of the page that asks for the token, so that under one the browser never finds it.
        login = [(url_path_join(self.server_url, path), *rest) for path, *rest in self.identity_provider.get_handlers()]
        own = [(f"roi/{APP}", AppScript), (r"roi/([\w.]+)", KeptScript), (r"roi/drawn/(\w+)", _Drawn)]
        *rest, (page, _, settings) = super().init_handlers()
        return [
            *login,
            *((url_path_join(self.server_url, path), handler) for path, handler in own),
            *rest,
            (page, _Page, settings),
        ]

    def listen(self) -> None:
        """Serve until told to stop; never on another port than the one asked for."""
        IOLoop.current().run_sync(self._serve)

    async def _serve(self) -> None:
        told = asyncio.Event()
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, told.set)
        # Behind a proxy with TLS, its headers make the token's cookie a secure one.
        server = HTTPServer(self.app, xheaders=True)
        server.add_sockets(self.sockets)
        print(f"The app is at {self.display_url} (Ctrl-C stops it)", flush=True)
        # Ready before the first page asks for it.
        asyncio.get_running_loop().run_in_executor(None, app_board, date.today())
        watching = asyncio.create_task(self.kernel_manager.watch_pool())
        await told.wait()
        watching.cancel()
        server.stop()
        await self.kernel_manager.shutdown_all(now=True)
        shutil.rmtree(self.connection_dir)
