"""The connection to a server for asyncio: whole answers, and answers line by line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import httpx2

from penstock.client.options import ClientOptions
from penstock.client.sync_connection import cut_of, reaching
from penstock.client.wire import Lines, Request, parsed


class AsyncConnection:
    """Send requests and return their answers; tasks of one event loop share it."""

    def __init__(
        self, options: ClientOptions, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._options = options
        self._http = httpx2.AsyncClient(**options.http_arguments(), transport=transport)

    async def send(self, request: Request) -> Any:
        """Return the JSON of the answer.

        Raises:
            RequestRefusedError: the server refused the request.
            ServerUnreachableError: there was no answer.
        """
        with reaching(self._options):
            response = await self._http.send(self._request(request))
        return parsed(response.status_code, response.content, request)

    async def open(self, request: Request, *, is_endless: bool = False) -> AsyncChunks:
        """Return the chunks of a streamed answer; an endless one may pause for any time."""
        with reaching(self._options):
            sent = self._request(request, has_read_timeout=not is_endless)
            response = await self._http.send(sent, stream=True)
            if response.status_code >= 400:
                await response.aread()
                await response.aclose()
        if response.status_code >= 400:
            parsed(response.status_code, response.content, request)
        return AsyncChunks(response, self._options)

    async def close(self) -> None:
        await self._http.aclose()

    def _request(self, request: Request, *, has_read_timeout: bool = True) -> httpx2.Request:
        timeout = httpx2.Timeout(
            self._options.timeout_s, read=self._options.timeout_s if has_read_timeout else None
        )
        return self._http.build_request(
            request.method,
            request.path,
            content=request.body,
            headers=request.headers,
            timeout=timeout,
        )


class AsyncChunks:
    """The chunks of one streamed answer. Closing it tells the server to stop sending."""

    def __init__(self, response: httpx2.Response, options: ClientOptions) -> None:
        self._response = response
        self._options = options
        self._chunks = response.aiter_bytes()
        #: The number of the cut that the server answers from; None if it is not from a cut.
        self.cut = cut_of(response)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        with reaching(self._options):
            return await anext(self._chunks)

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the answer line by line."""
        lines = Lines()
        async for chunk in self:
            for line in lines.feed(chunk):
                yield line
        for line in lines.end():
            yield line

    async def close(self) -> None:
        await self._response.aclose()

    async def __aenter__(self) -> AsyncChunks:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
