"""The server of an application that can be asked; ``penstock.serving.http_server`` serves it."""

from __future__ import annotations

import ssl

from penstock.serving.application import Queryable
from penstock.serving.http_server import HttpServer, missing_extra
from penstock.serving.options import ServerOptions, Tls


class ServingServer(HttpServer):
    """Serve an application over HTTP/1.1, HTTP/2 and websockets until ``stop``.

    Args:
        application: the application that answers.
        options: where to listen, who may ask, and how much.

    Raises:
        MissingExtraError: ``missing-extra``: packages of ``penstock-streams[server]`` are missing.
    """

    def __init__(self, application: Queryable, options: ServerOptions | None = None) -> None:
        options = options or ServerOptions()
        try:
            from penstock.serving.asgi import QueryApplication  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise missing_extra(error) from error
        tls = _peer_tls(options.tls)
        super().__init__(
            lambda: QueryApplication(application, options, tls), options, application.application_id
        )


def _peer_tls(tls: Tls | None) -> ssl.SSLContext | None:
    """Return the TLS context for requests to other instances; None if this one has no TLS."""
    if tls is None:
        return None
    return ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
