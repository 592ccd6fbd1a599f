"""Read the streamed answer to a query, chunk by chunk, without a connection.

The first line describes the columns. Each further line is a row, a token or an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from penstock.client.errors import ClientError, refusal
from penstock.client.rows import Columns, Row
from penstock.client.wire import Lines, Request, loads


class RowReader:
    """Turn the chunks of an answer into rows; ``columns`` is known after the first line."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._lines = Lines()
        self.columns: Columns | None = None
        self.query_id: str | None = None
        self.row_key: tuple[str, ...] | None = None
        self.continuation_token: str | None = None

    def feed(self, chunk: bytes) -> list[Row]:
        """Return the rows that this chunk completes.

        Raises:
            RequestRefusedError: the query failed while it was running.
        """
        return self._rows(self._lines.feed(chunk))

    def end(self) -> list[Row]:
        """Return the row that the end of the answer completes.

        Raises:
            ClientError: ``bad-answer``: the answer ended before it named its columns.
        """
        rows = self._rows(self._lines.end())
        if self.columns is None:
            raise ClientError("bad-answer", "the answer to a query has no columns")
        return rows

    def _rows(self, lines: list[bytes]) -> list[Row]:
        found = []
        for line in lines:
            row = self._row(line)
            if row is not None:
                found.append(row)
        return found

    def _row(self, line: bytes) -> Row | None:
        columns = self.columns
        try:
            value = loads(line, has_decimals=columns is not None and columns.has_decimals)
        except (orjson.JSONDecodeError, ValueError):
            raise ClientError(
                "bad-answer", f"a line of the answer to a query is not JSON: {line[:200]!r}"
            ) from None
        if isinstance(value, list) and columns is not None:
            return columns.row(value)
        if isinstance(value, Mapping):
            deleted = value.get("tombstone")
            if isinstance(deleted, list) and columns is not None:
                return columns.row(deleted, is_deleted=True)
            self._note(value)
            return None
        raise ClientError("bad-answer", f"an answer begins with a row, not with columns: {value}")

    def _note(self, value: Mapping[str, Any]) -> None:
        if "error_code" in value or "message" in value:
            number = int(value.get("error_code") or 50000)
            raise refusal(number // 100, value, self._request.statement)
        if "columnNames" in value:
            self.columns = Columns.of(value["columnNames"], value["columnTypes"])
            self.query_id = value.get("queryId") or None
            key = value.get("keyColumns")
            self.row_key = None if key is None else tuple(key)
        if "continuationToken" in value:
            token = value["continuationToken"]
            token = token.get("continuationToken") if isinstance(token, Mapping) else token
            self.continuation_token = token or self.continuation_token
