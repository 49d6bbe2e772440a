"""The explorer in the browser: a server on 127.0.0.1 with a page, its files and a WebSocket.

The URL contains a random token. Requests with another token, another Host header or, for the WebSocket, another Origin
are rejected, so that neither another user of the machine nor another page in the browser reads the data.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
import webbrowser
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from fsmodels.app.worker import Event, PanelWorker
from fsmodels.datasets.dataset import Dataset
from solvers import interrupt

HOST = "127.0.0.1"
FILES = {
    "": ("browser.html", "text/html"),
    "browser.js": ("browser.js", "text/javascript"),
    "panel.js": ("panel.js", "text/javascript"),
    "panel.css": ("panel.css", "text/css"),
}
LARGEST = 1 << 20  # bytes of a request
POLL = 0.5  # s


class ExplorerServer:
    """Server of one data set; all its pages show the same questions. Parameters: those of ``PanelWorker``."""

    def __init__(self, data: Dataset, model: str, given: Mapping[str, Any], load: str = "") -> None:
        self._socket = socket.socket()
        self._socket.bind((HOST, 0))  # a free port
        self._socket.listen()  # a browser can connect before the server has started
        self._token = secrets.token_urlsafe(32)
        self.origin = f"http://{HOST}:{self._socket.getsockname()[1]}"
        self.url = f"{self.origin}/{self._token}/"
        self._pages: dict[asyncio.Queue[Event], asyncio.AbstractEventLoop] = {}
        self._worker = PanelWorker(data, model, given, self._emit, load)
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._application(),
                log_level="error",
                lifespan="off",
                ws_max_size=LARGEST,
                timeout_graceful_shutdown=1,
                server_header=False,
            )
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> ExplorerServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._worker.close()
        self._thread.join()

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        try:
            with interrupt.raising():
                while self._thread.is_alive():
                    self._thread.join(POLL)
        except KeyboardInterrupt:
            pass

    def _application(self) -> Starlette:
        routes = [
            Route("/{token}/{name:path}", self._file),
            WebSocketRoute("/{token}/socket", self._talk),
        ]
        return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST])])

    def _is_allowed(self, connection: HTTPConnection) -> bool:
        """Return True if the token, and the Origin if there is one, are those of this server."""
        token = hmac.compare_digest(connection.path_params["token"].encode(), self._token.encode())
        return token and connection.headers.get("origin", self.origin) == self.origin

    def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not self._is_allowed(request) or name not in FILES:
            return PlainTextResponse("Not found", status_code=404)
        file, kind = FILES[name]
        sockets = self.origin.replace("http", "ws")
        policy = f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src {sockets}; img-src data:; "
        headers = {
            "Content-Security-Policy": f"{policy}base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        return Response((files("fsmodels.app") / file).read_bytes(), media_type=kind, headers=headers)

    async def _talk(self, page: WebSocket) -> None:
        """Pass the requests of a page to the worker, and events to the page."""
        if not self._is_allowed(page) or "origin" not in page.headers:
            await page.close()
            return
        await page.accept()
        events: asyncio.Queue[Event] = asyncio.Queue()
        self._pages[events] = asyncio.get_running_loop()
        sender = asyncio.create_task(_forward(events, page))
        try:
            while True:
                request = await page.receive_json()
                if request.get("do") == "hello":
                    events.put_nowait(self._worker.welcome())
                else:
                    self._worker.submit(request)
        except WebSocketDisconnect:
            pass
        except (ValueError, AttributeError):  # no JSON object
            await page.close(1003)
        finally:
            del self._pages[events]
            sender.cancel()

    def _emit(self, event: Event) -> None:
        """Send an event to all pages; called by the worker."""
        for events, loop in list(self._pages.items()):
            loop.call_soon_threadsafe(events.put_nowait, event)


async def _forward(events: asyncio.Queue[Event], page: WebSocket) -> None:
    while True:
        await page.send_json(await events.get())


def serve(data: Dataset, model: str, given: Mapping[str, Any], load: str, *, browser: bool) -> None:
    """Serve the explorer until Ctrl-C; ``browser``: open it in the browser."""
    with ExplorerServer(data, model, given, load) as server:
        print(f"Explorer: {server.url}\nCtrl-C stops it.", flush=True)
        if browser:
            webbrowser.open(server.url)
        server.wait()
