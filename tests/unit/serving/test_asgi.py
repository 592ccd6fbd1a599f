"""The application can be mounted into another one, and closes what it opened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs penstock-streams[server]")

from penstock.serving.asgi import QueryApplication
from tests.unit.serving.test_server import application


async def get(app: QueryApplication, path: str, query: bytes = b"") -> tuple[int, bytes]:
    """Ask as any ASGI server does."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query,
        "root_path": "", "headers": [(b"host", b"localhost")], "server": ("localhost", 80),
    }  # fmt: skip
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], body


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/stores", 200),
        ("/stores/counts", 200),
        ("/stores/counts/user-01", 200),
        ("/stores/fast/nothing", 404),
        ("/metrics", 200),
        ("/health/live", 200),
        ("/metadata/counts/a/b", 404),
        ("/nowhere", 404),
    ],
)
def test_any_asgi_server_can_run_it(path: str, status: int) -> None:
    async def ask() -> int:
        app = QueryApplication(application())
        try:
            return (await get(app, path))[0]
        finally:
            app.close()

    assert asyncio.run(ask()) == status


def test_a_failure_while_answering_does_not_reach_the_server() -> None:
    async def ask() -> None:
        app = QueryApplication(application())

        async def send(message: Any) -> None:
            raise ConnectionResetError("gone")

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        for path in ("/stores/counts/user-01", "/stores"):
            scope = {
                "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
                "query_string": b"", "headers": [], "root_path": "", "scheme": "http",
            }  # fmt: skip
            await app(scope, receive, send)
        app.close()

    asyncio.run(ask())
