"""A Kafka Connect in memory, and a server that answers as its REST interface does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock.connect.connect import (
    ConnectorInfo,
    ConnectorState,
    Plugin,
    TaskState,
    Validation,
)
from penstock.connect.errors import ConnectorExistsError, UnknownConnectorError

SOURCE = "org.example.LineSourceConnector"
SINK = "org.example.LineSinkConnector"


class MemoryConnect:
    """Keeps connectors; a source needs ``file``, and ``pin`` is declared to be a password."""

    def __init__(self) -> None:
        self.created: dict[str, dict[str, str]] = {}
        self.used_topics: list[str] = []
        self.task_states = ["RUNNING"]

    def connectors(self) -> list[str]:
        return sorted(self.created)

    def describe(self, name: str) -> ConnectorInfo:
        self._find(name)
        config = self.created[name]
        kind = "source" if config["connector.class"] == SOURCE else "sink"
        return ConnectorInfo(name, kind, config, (0,))

    def status(self, name: str) -> ConnectorState:
        self._find(name)
        tasks = [TaskState(n, state, "w:1") for n, state in enumerate(self.task_states)]
        return ConnectorState(name, "RUNNING", "source", "w:1", tasks=tuple(tasks))

    def topics(self, name: str) -> list[str]:
        return self.used_topics

    def plugins(self) -> list[Plugin]:
        return [Plugin(SOURCE, "source", "1"), Plugin(SINK, "sink", "1")]

    def validate(self, class_name: str, config: Mapping[str, str]) -> Validation:
        is_bad = class_name == SOURCE and not config.get("file")
        errors = {"file": ("is missing", f"pin was {config.get('pin')}")} if is_bad else {}
        return Validation(errors, frozenset({"pin"}))

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        if name in self.created:
            raise ConnectorExistsError("connector-exists", name, status=409)
        self.created[name] = dict(config)
        return self.describe(name)

    def delete(self, name: str) -> None:
        self._find(name)
        del self.created[name]

    def _find(self, name: str) -> None:
        if name not in self.created:
            raise UnknownConnectorError("unknown-connector", f"no {name!r}", status=404)


class Answers:
    """What a server answers: by method and path, in order; the last answer stays."""

    def __init__(self) -> None:
        self.by_request: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        self.asked: list[tuple[str, str, Any, str | None]] = []

    def say(self, method: str, path: str, status: int, body: Any = None) -> None:
        self.by_request.setdefault((method, path), []).append((status, body))

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        left = self.by_request.get((method, path), [(404, {"message": "not here"})])
        return left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def rest_server(answers: Answers) -> Iterator[str]:
    """Serve the answers on loopback, and yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            answers.asked.append((self.command, self.path, body, self.headers["Authorization"]))
            status, answer = answers.answer(self.command, self.path)
            data = b"" if answer is None else json.dumps(answer).encode()
            if isinstance(answer, bytes | str):
                data = answer.encode() if isinstance(answer, str) else answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

        def log_message(self, *given: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
