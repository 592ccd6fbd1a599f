"""Many connections to one server, each of which stays open."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs the extra server")

from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions

FEEDS = 300


class Feeds:
    """Answers /feed without end, and everything else at once."""

    def __init__(self) -> None:
        self._ends = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        is_feed = scope["path"] == "/feed"
        await send({"type": "http.response.body", "body": b"hello\n", "more_body": is_feed})
        if is_feed:
            await self._ends.wait()
            await send({"type": "http.response.body", "body": b""})

    def end_feeds(self) -> None:
        self._ends.set()

    def close(self) -> None:
        pass


def test_hundreds_of_feeds_leave_room_for_others() -> None:
    """Each feed holds a connection; Granian would stop to accept at 128 of them."""
    with HttpServer(Feeds, ServerOptions(), "test") as server:
        opened = []
        for path in [*["/feed"] * FEEDS, "/other"]:
            one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            one.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            opened.append(one)
        for one in opened:
            seen = b""
            while b"hello" not in seen:
                data = one.recv(4096)
                assert data
                seen += data
            one.close()
