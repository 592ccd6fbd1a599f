"""A small Kubernetes API server, with as much of the interface as Spark's scheduler uses."""

from __future__ import annotations

import json
import queue
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.cluster.kubernetes.objects import Object, Objects, apply_patch, merge

_PATH = re.compile(r"/api/v1/namespaces/([^/]+)/([a-z]+)(?:/([^/]+))?")
_KINDS = {
    "pods": "Pod", "configmaps": "ConfigMap", "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}  # fmt: skip


class ApiServer:
    """Serves objects over HTTP until the process ends; ``requests`` lists what it was asked."""

    def __init__(self) -> None:
        self.objects = Objects()
        self.requests: list[str] = []
        api = self

        class Handler(_Handler):
            server_api = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_api: ApiServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        self.server_api.requests.append(format % args)

    def do_GET(self) -> None:
        found = self._place()
        if found is None:
            self._answer(404, _status(404, "NotFound"))
            return
        namespace, kind, name, query = found
        if name is not None:
            value = self.server_api.objects.get((kind, namespace, name))
            self._answer(*((200, value) if value else (404, _status(404, "NotFound"))))
        elif query.get("watch") == "true":
            self._watch(kind, namespace, query.get("labelSelector", ""))
        else:
            items, version = self.server_api.objects.list(
                kind, namespace, query.get("labelSelector", "")
            )
            self._answer(200, {
                "kind": f"{_KINDS[kind]}List", "apiVersion": "v1",
                "metadata": {"resourceVersion": version}, "items": items,
            })  # fmt: skip

    def do_POST(self) -> None:
        given, found = self._body(), self._place()
        if found is None:
            self._answer(404, _status(404, "NotFound"))
            return
        namespace, kind, _, _ = found
        made = self.server_api.objects.create(kind, namespace, given)
        self._answer(*((201, made) if made else (409, _status(409, "AlreadyExists"))))

    def do_PATCH(self) -> None:
        given, found = self._body(), self._place()
        if found is None or found[2] is None:
            self._answer(404, _status(404, "NotFound"))
            return
        namespace, kind, name, _ = found

        def edit(value: Object) -> None:
            if isinstance(given, list):
                apply_patch(value, given)
            else:
                merge(value, given)

        made = self.server_api.objects.change((kind, namespace, name), edit)
        self._answer(*((200, made) if made else (404, _status(404, "NotFound"))))

    def do_DELETE(self) -> None:
        self._body()
        found = self._place()
        if found is None:
            self._answer(404, _status(404, "NotFound"))
            return
        namespace, kind, name, query = found
        objects = self.server_api.objects
        if name is not None:
            gone = objects.delete((kind, namespace, name))
            self._answer(*((200, gone) if gone else (404, _status(404, "NotFound"))))
            return
        items, _ = objects.list(kind, namespace, query.get("labelSelector", ""))
        for each in items:
            objects.delete((kind, namespace, each["metadata"]["name"]))
        self._answer(200, {"kind": f"{_KINDS[kind]}List", "apiVersion": "v1", "items": items})

    def _watch(self, kind: str, namespace: str, selector: str) -> None:
        """Send every change as a line of its own, for as long as the client listens."""
        if self.headers.get("Upgrade"):
            # The client then asks again without a web socket.
            self._answer(503, _status(503, "no web sockets"))
            return
        events = self.server_api.objects.watch(kind, namespace, selector)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while True:
            try:
                data = json.dumps(events.get(timeout=5)).encode() + b"\n"
            except queue.Empty:
                continue
            try:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            except OSError:
                return

    def _place(self) -> tuple[str, str, str | None, dict[str, str]] | None:
        """Return namespace, kind, name and query of a request's path."""
        address = urlsplit(self.path)
        match = _PATH.fullmatch(address.path)
        if match is None or match[2] not in _KINDS:
            return None
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        return match[1], match[2], match[3], query

    def _body(self) -> Any:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(data) if data else None

    def _answer(self, code: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _status(code: int, reason: str) -> Object:
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": reason, "metadata": {},
    }  # fmt: skip
