"""Rows of a running query, for programs that block."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from penstock.client.exchange import RowReader
from penstock.client.results import QueryResult
from penstock.client.rows import Columns, Row
from penstock.client.sync_connection import Chunks
from penstock.client.wire import Request


class RowStream:
    """The rows of a query as they arrive. It is an iterator and a context manager.

    The end of the ``with`` block, ``close`` and the end of the program also end the query on the
    server. ``columns`` and ``query_id`` are known from the start.
    """

    def __init__(self, chunks: Chunks, request: Request) -> None:
        self._chunks = chunks
        self._reader = RowReader(request)
        self._waiting: list[Row] = []
        self._has_ended = False
        try:
            while self._reader.columns is None and not self._has_ended:
                self._read()
        except BaseException:
            self.close()
            raise

    @property
    def columns(self) -> Columns:
        """The names and types of the columns."""
        assert self._reader.columns is not None
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
        return self._chunks.cut

    @property
    def continuation_token(self) -> str | None:
        """The last position that the server sent; a new query can continue after it."""
        return self._reader.continuation_token

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        while not self._waiting:
            if self._has_ended:
                raise StopIteration
            try:
                self._read()
            except BaseException:
                self.close()
                raise
        return self._waiting.pop(0)

    def take(self) -> list[Row]:
        """Return all rows that have arrived and wait for at least one; empty at the end."""
        while not self._waiting and not self._has_ended:
            self._read()
        rows, self._waiting = self._waiting, []
        return rows

    def result(self) -> QueryResult:
        """Read to the end and return all rows; a push query without LIMIT has no end."""
        rows = tuple(self)
        return QueryResult(self.columns, rows, self.query_id, self.cut)

    def close(self) -> None:
        """End the query."""
        self._has_ended = True
        self._chunks.close()

    def __enter__(self) -> RowStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> None:
        try:
            self._waiting += self._reader.feed(next(self._chunks))
        except StopIteration:
            self._has_ended = True
            self._waiting += self._reader.end()
            self._chunks.close()
