"""Rows of a running query, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType

from penstock.client.async_connection import AsyncChunks
from penstock.client.exchange import RowReader
from penstock.client.results import QueryResult
from penstock.client.rows import Columns, Row
from penstock.client.wire import Request
from penstock.errors import InvalidStateError


class AsyncRowStream:
    """The rows of a query as they arrive. It is an asynchronous iterator and context manager.

    The query starts with ``async with``, or when the program reads the first row. The end of the
    block and ``close`` also end it on the server. ``columns`` and ``query_id`` are known once it
    has started.
    """

    def __init__(self, open_query: Callable[[], Awaitable[AsyncChunks]], request: Request) -> None:
        self._open = open_query
        self._chunks: AsyncChunks | None = None
        self._reader = RowReader(request)
        self._waiting: list[Row] = []
        self._has_ended = False

    async def start(self) -> AsyncRowStream:
        """Start the query and read up to the description of its columns."""
        try:
            while self._reader.columns is None and not self._has_ended:
                await self._read()
        except BaseException:
            await self.close()
            raise
        return self

    @property
    def columns(self) -> Columns:
        """The names and types of the columns."""
        if self._reader.columns is None:
            raise InvalidStateError(
                "query-not-started",
                "the columns of a query are known when it has started",
                fix="use `async with`, or read a row first",
            )
        return self._reader.columns

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """The columns that tell the rows of a table apart; None for a stream.

        It is known if deletions were asked for, and empty if a part of the key is not selected.
        """
        return self._reader.row_key

    @property
    def query_id(self) -> str | None:
        """The id of a push query; any client can end the query with it."""
        return self._reader.query_id

    @property
    def cut(self) -> int | None:
        """The number of the cut that answers, which is the time it was begun in milliseconds.

        None if the query is not answered from a cut.
        """
        return None if self._chunks is None else self._chunks.cut

    @property
    def continuation_token(self) -> str | None:
        """The last position that the server sent; a new query can continue after it."""
        return self._reader.continuation_token

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        while not self._waiting:
            if self._has_ended:
                raise StopAsyncIteration
            try:
                await self._read()
            except BaseException:
                await self.close()
                raise
        return self._waiting.pop(0)

    async def result(self) -> QueryResult:
        """Read to the end and return all rows; a push query without LIMIT has no end."""
        rows = tuple([row async for row in self])
        return QueryResult(self.columns, rows, self.query_id, self.cut)

    async def close(self) -> None:
        """End the query."""
        self._has_ended = True
        if self._chunks is not None:
            await self._chunks.close()

    async def __aenter__(self) -> AsyncRowStream:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _read(self) -> None:
        if self._chunks is None:
            self._chunks = await self._open()
        try:
            self._waiting += self._reader.feed(await anext(self._chunks))
        except StopAsyncIteration:
            self._has_ended = True
            self._waiting += self._reader.end()
            await self._chunks.close()
