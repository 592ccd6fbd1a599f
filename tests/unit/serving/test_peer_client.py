"""The client with which instances ask each other, against servers that behave and that do not."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from penstock.serving.application import NotAvailableError
from penstock.serving.peer_client import PeerClient


def test_the_client_reuses_connections_and_survives_their_end() -> None:
    async def ask() -> list[bytes]:
        served = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal served
            served += 1
            with contextlib.suppress(asyncio.IncompleteReadError):
                for _ in range(2):
                    await reader.readuntil(b"\r\n\r\n")
                    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                    writer.write(b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            client = PeerClient()
            found = [(await client.get(f"127.0.0.1:{port}", b"/", {})).body for _ in range(5)]
            client.close()
            await asyncio.sleep(0.05)
        assert served == 3
        return found

    assert asyncio.run(ask()) == [b"abc"] * 5


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"x" * 100_000,
    ],
)
def test_an_answer_that_is_none_is_an_instance_that_is_away(answer: bytes) -> None:
    async def ask() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(NotAvailableError, match="does not answer"):
                await PeerClient().get(f"127.0.0.1:{port}", b"/", {})

    asyncio.run(ask())


def test_an_instance_that_is_not_there_is_away() -> None:
    with pytest.raises(NotAvailableError, match=r"127\.0\.0\.1:9 does not answer"):
        asyncio.run(PeerClient().get("127.0.0.1:9", b"/", {}))
