"""The SQL server as an ASGI application, and as a process's server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from penstock.server.node import ServerNode
from penstock.server.rest.info_routes import InfoRoutes
from penstock.server.rest.replies import WatchedSend, error_reply, json_reply
from penstock.server.rest.statement_routes import StatementRoutes
from penstock.server.security.guard import BodyLimit, SqlGuard
from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions

_log = logging.getLogger("penstock.server")


class Services(Protocol):
    """A part of the server that runs beside the node, such as its pull and push queries."""

    def routes(self) -> Sequence[BaseRoute]: ...
    def end_feeds(self) -> None: ...
    def close(self) -> None: ...


class SqlApplication:
    """Answer HTTP requests and websockets for one node.

    Args:
        node: The node.
        options: Credentials, and the limits of a request.
        services: Further parts of the server, with their routes; they end with it.
        is_headless: Whether the node runs a file: then it takes no statements.
    """

    def __init__(
        self,
        node: ServerNode,
        options: ServerOptions,
        services: Sequence[Services] = (),
        *,
        is_headless: bool = False,
    ) -> None:
        self._services = services
        routes = InfoRoutes(node).routes()
        self._statements = StatementRoutes(node)
        if not is_headless:
            routes += self._statements.routes()
        routes += [route for service in services for route in service.routes()]
        self._app = Starlette(
            routes=routes, exception_handlers={HTTPException: _missing, Exception: _failed}
        )
        self._app.router.redirect_slashes = False
        limited = BodyLimit(self._app, options.limits.request_bytes)
        self._guard = SqlGuard(limited, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = WatchedSend(send)
        try:
            await self._guard(scope, receive, answered)
        except Exception as error:  # noqa: BLE001 - each has an answer
            if answered.has_started or isinstance(error, OSError):
                _log.debug("a connection ended early", exc_info=True)
            elif scope["type"] == "http":
                await error_reply(error)(scope, receive, send)
            else:
                _log.exception("a connection could not be answered")

    def end_feeds(self) -> None:
        for service in self._services:
            service.end_feeds()

    def close(self) -> None:
        self._statements.close()
        for service in self._services:
            service.close()


def serve(
    node: ServerNode,
    options: ServerOptions,
    services: Sequence[Services] = (),
    *,
    is_headless: bool = False,
) -> HttpServer:
    """Return the server of a node; ``start`` makes it answer."""
    return HttpServer(
        lambda: SqlApplication(node, options, services, is_headless=is_headless),
        options,
        f"SQL service {node.options.service_id}",
    )


async def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = {
        "@type": "generic_error",
        "error_code": error.status_code * 100,
        "message": f"{error.detail}: {request.method} {request.url.path}",
    }
    return json_reply(body, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return error_reply(error)
