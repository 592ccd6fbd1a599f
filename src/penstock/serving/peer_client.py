"""A small HTTP/1.1 client for questions that another instance answers.

It sends GET requests to servers of this package and keeps connections open. A general client
would add a dependency and, measured by request, more work than the answer itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import NamedTuple

from penstock.serving.application import NotAvailableError

_MOST_BODY = 64 * 1024 * 1024
_MOST_HEAD = 64 * 1024
_MOST_IDLE = 32
_CONNECT_S = 2.0

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class PeerResponse(NamedTuple):
    """What another instance answered; names of headers are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes


class PeerStream(NamedTuple):
    """An answer whose body is still being read."""

    status: int
    headers: Mapping[bytes, bytes]
    pieces: AsyncIterator[bytes]


class PeerClient:
    """Send requests to other instances. It belongs to one event loop."""

    def __init__(self, tls: ssl.SSLContext | None = None, connect_s: float = _CONNECT_S) -> None:
        self._tls = tls
        self._connect_s = connect_s
        self._idle: defaultdict[str, list[_Connection]] = defaultdict(list)

    async def get(
        self, address: str, target: bytes, headers: Mapping[bytes, bytes]
    ) -> PeerResponse:
        """Send one GET request and return the whole answer.

        Args:
            address: host and port.
            target: path and query as they stand in the request line.

        Raises:
            NotAvailableError: ``instance-unreachable``.
        """
        head = _request(address, target, headers)
        with _unreachable(address):
            kept = self._kept(address)
            if kept is not None:
                with contextlib.suppress(OSError, EOFError):
                    # The other side may have closed it meanwhile; then a new one is tried.
                    return await self._exchange(address, kept, head)
            return await self._exchange(address, await self._connect(address), head)

    @contextlib.asynccontextmanager
    async def stream(
        self, address: str, target: bytes, headers: Mapping[bytes, bytes]
    ) -> AsyncIterator[PeerStream]:
        """Send one GET request and read the answer as it comes, over a connection of its own.

        Raises:
            NotAvailableError: ``instance-unreachable``, also while the body is read.
        """
        with _unreachable(address):
            reader, writer = await self._connect(address)
        try:
            with _unreachable(address):
                writer.write(_request(address, target, headers))
                await writer.drain()
                status, found = _head(await reader.readuntil(b"\r\n\r\n"))
            yield PeerStream(status, found, _pieces(address, reader, found))
        finally:
            writer.close()

    def close(self) -> None:
        """Close the connections that wait for the next request."""
        for connections in self._idle.values():
            for _, writer in connections:
                writer.close()
        self._idle.clear()

    def _kept(self, address: str) -> _Connection | None:
        connections = self._idle[address]
        while connections:
            reader, writer = connections.pop()
            if not (writer.is_closing() or reader.at_eof()):
                return reader, writer
            writer.close()
        return None

    async def _connect(self, address: str) -> _Connection:
        host, _, port = address.rpartition(":")
        opened = asyncio.open_connection(
            host.strip("[]"), int(port), ssl=self._tls, limit=_MOST_HEAD
        )
        return await asyncio.wait_for(opened, self._connect_s)

    async def _exchange(self, address: str, connection: _Connection, head: bytes) -> PeerResponse:
        reader, writer = connection
        is_reusable = False
        try:
            writer.write(head)
            await writer.drain()
            status, headers = _head(await reader.readuntil(b"\r\n\r\n"))
            body = await _body(reader, headers)
            is_reusable = headers.get(b"connection", b"").lower() != b"close"
            return PeerResponse(status, headers, body)
        finally:
            # If an answer was not read to its end, the next caller would get the rest of it.
            if is_reusable and len(self._idle[address]) < _MOST_IDLE:
                self._idle[address].append(connection)
            else:
                writer.close()


@contextlib.contextmanager
def _unreachable(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
        raise NotAvailableError(
            "instance-unreachable",
            f"the instance at {address} does not answer: {type(error).__name__}",
            fix="ask again in a moment",
        ) from error


def _request(address: str, target: bytes, headers: Mapping[bytes, bytes]) -> bytes:
    return b"".join(
        (
            b"GET ", target, b" HTTP/1.1\r\nhost: ", address.encode(), b"\r\n",
            *(name + b": " + value + b"\r\n" for name, value in headers.items()),
            b"\r\n",
        )
    )  # fmt: skip


def _head(data: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = data[:-4].split(b"\r\n")
    parts = first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise ValueError("no HTTP answer")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    return int(parts[1]), headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[bytes, bytes]) -> bytes:
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return await _chunks(reader)
    size = int(headers.get(b"content-length", b"0"))
    if not 0 <= size <= _MOST_BODY:
        raise ValueError("the answer is too large")
    return await reader.readexactly(size)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found: list[bytes] = []
    total = 0
    async for chunk in _each_chunk(reader):
        total += len(chunk)
        if total > _MOST_BODY:
            raise ValueError("the answer is too large")
        found.append(chunk)
    return b"".join(found)


async def _each_chunk(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if not 0 <= size <= _MOST_BODY:
            raise ValueError("the answer is too large")
        chunk = await reader.readexactly(size + 2)
        if size == 0:
            return
        yield chunk[:-2]


async def _pieces(
    address: str, reader: asyncio.StreamReader, headers: Mapping[bytes, bytes]
) -> AsyncIterator[bytes]:
    with _unreachable(address):
        if headers.get(b"transfer-encoding", b"").lower() != b"chunked":
            yield await _body(reader, headers)
            return
        async for chunk in _each_chunk(reader):
            yield chunk
