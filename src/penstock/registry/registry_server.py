"""A server with the routes of Confluent's schema registry."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from penstock.registry.registry import LogRegistry, RegistryError
from penstock.registry.registry_routes import ApiError, Request, answer

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class RegistryServer:
    """Serves a registry over HTTP, on loopback unless another host is named. Use it with ``with``.

    Args:
        registry: the registry to serve.
        port: 0 means any free port.
        host: the address to listen on. There is no login, so keep it on loopback.
    """

    def __init__(self, registry: LogRegistry, port: int = 0, host: str = "127.0.0.1") -> None:
        self._server = ThreadingHTTPServer((host, port), _handler(registry))
        self._server.daemon_threads = True
        bound_host, bound_port = self._server.server_address[:2]
        self._url = f"http://{bound_host!s}:{bound_port}"
        self._thread = Thread(
            target=self._server.serve_forever, name="schema-registry", daemon=True
        )

    @property
    def url(self) -> str:
        return self._url

    def start(self) -> RegistryServer:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving. A second call does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> RegistryServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _handler(registry: LogRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Passes HTTP requests to ``registry_routes`` and sends the answers."""

        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            status, body = _answered(registry, self.command, self.path, self._body())
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", _CONTENT_TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Write no line per request."""

    return Handler


def _answered(registry: LogRegistry, method: str, url: str, body: bytes) -> tuple[int, Any]:
    parts = urlsplit(url)
    path = tuple(unquote(part) for part in parts.path.strip("/").split("/") if part)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    try:
        said = json.loads(body) if body else {}
        if not isinstance(said, dict):
            raise ApiError(422, 42201, "the body of the request is not a JSON object")
        return 200, answer(registry, Request(method, path, query, said))
    except ApiError as error:
        return error.status, {"error_code": error.code, "message": error.message}
    except RegistryError as error:
        if error.code == "registry-unavailable":
            return 500, {"error_code": 50001, "message": error.message}
        code = 40403 if error.code == "unknown-schema" else 42201
        return code // 100, {"error_code": code, "message": error.message}
    except (ValueError, KeyError, TypeError) as error:
        return 422, {"error_code": 42201, "message": f"the request is malformed: {error}"}
