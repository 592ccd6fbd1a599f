"""A server in a thread of its own: Granian's embedded one, with one event loop.

Granian reads and writes HTTP in Rust threads; the event loop only runs the answers. So one thread
of Python serves, beside whatever else the process does.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from penstock.errors import MissingExtraError, UnavailableError
from penstock.extras import install_command
from penstock.serving.options import ServerOptions

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_log = logging.getLogger(__name__)

_START_S = 10.0
_STOP_S = 5.0
#: A connection that has not sent its headers after this time is closed.
_HEADERS_MS = 10_000
#: Connections at a time, and those that wait to be accepted. Granian's default is 128 of each, and
#: feeds and push queries hold a connection each.
_CONNECTIONS = 16_384
_BACKLOG = 1_024


class ServedApplication(Protocol):
    """An ASGI application that knows when its server ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def end_feeds(self) -> None:
        """End answers that would never end by themselves; the server waits for all others."""

    def close(self) -> None:
        """Free what the application holds, after the last request."""


class HttpServer:
    """Serve an ASGI application over HTTP/1.1, HTTP/2 and websockets until ``stop``.

    Args:
        make: Makes the application, in the thread of the event loop.
        options: where to listen, who may ask, and how much.
        name: What is served, for the log.

    Raises:
        MissingExtraError: ``missing-extra``: packages of ``penstock-streams[server]`` are missing.
    """

    def __init__(
        self, make: Callable[[], ServedApplication], options: ServerOptions, name: str
    ) -> None:
        try:
            from granian.server.embed import Server  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise missing_extra(error) from error
        self._options, self._make, self._name = options, make, name
        self._server_class = Server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._app: ServedApplication | None = None
        self._failure: BaseException | None = None
        self._port = self._options.port
        self._thread = threading.Thread(target=self._run, name="penstock-server", daemon=True)
        self._is_stopped = False

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        scheme = "http" if self._options.tls is None else "https"
        host = self._options.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._port}"

    def start(self) -> Self:
        """Start serving; return when the server answers requests.

        Raises:
            UnavailableError: ``address-in-use``, or ``server-failed``.
        """
        self._port = self._free_port()
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise UnavailableError(
                    "server-failed",
                    f"the server does not answer on {self._options.host}:{self._port}:"
                    f" {self._failure or 'it did not start in time'}",
                    fix="see the log for the reason",
                )
            time.sleep(0.01)
        _log.info("%s is served at %s", self._name, self.url)
        return self

    def stop(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._is_stopped:
            return
        self._is_stopped = True
        loop, server = self._loop, self._server
        if loop is not None and server is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(self._end)
        if self._thread.ident is not None:
            self._thread.join(_STOP_S)

    def _end(self) -> None:
        # Feeds first: the server waits for answers that are under way.
        if self._app is not None:
            self._app.end_feeds()
        if self._server is not None:
            self._server.stop()  # type: ignore[no-untyped-call]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _free_port(self) -> int:
        """Return the port to bind; raise ``address-in-use`` if it is taken."""
        host, port = self._options.host, self._options.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise UnavailableError(
                    "address-in-use",
                    f"the server cannot listen on {host}:{port}: {error.strerror}",
                    fix="name another port in application.server, or end what listens there",
                ) from error
            return int(probe.getsockname()[1])

    def _answers(self) -> bool:
        if self._server is None:
            return False
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._options.host, self._options.host)
        try:
            socket.create_connection((host, self._port), timeout=1.0).close()
        except OSError:
            return False
        return True

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_fast_loop()) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - told to the thread that starts it
            self._failure = error
            _log.error("the server has ended: %s", error)

    async def _serve(self) -> None:
        from granian.constants import Interfaces  # noqa: PLC0415 - an extra
        from granian.http import HTTP1Settings  # noqa: PLC0415 - an extra

        options = self._options
        app = self._app = self._make()
        tls = options.tls
        server = self._server_class(
            app,
            address=options.host,
            port=self._port,
            interface=Interfaces.ASGINL,
            log_enabled=False,
            websockets=True,
            backlog=_BACKLOG,
            backpressure=_CONNECTIONS,
            # Hyper refuses smaller buffers. The guard enforces the exact limit.
            http1_settings=HTTP1Settings(
                header_read_timeout=_HEADERS_MS,
                max_buffer_size=max(4 * options.limits.request_bytes, 8_192),
            ),
            ssl_cert=None if tls is None else tls.certificate,
            ssl_key=None if tls is None else tls.key,
        )
        self._loop, self._server = asyncio.get_running_loop(), server
        try:
            await server.serve()
        finally:
            app.close()


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the function that creates uvloop's event loop; None if uvloop is not installed."""
    try:
        return importlib.import_module("uvloop").new_event_loop  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return None


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError:
    """Return the error for a server whose packages are not installed."""
    return MissingExtraError(
        "missing-extra",
        f"the server needs the package {error.name!r}",
        fix=install_command("server"),
    )
