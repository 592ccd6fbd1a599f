"""What the rows of a query must be: DuckDB's answer over all events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from bench.nexmark.events import Event
from bench.nexmark.queries import expected

_MOMENTS = ("dateTime", "expires")


class Duck:
    """All events as tables of DuckDB."""

    def __init__(self, events: Sequence[Event], side_input: dict[int, str]) -> None:
        self._connection = duckdb.connect()
        for kind in ("person", "auction", "bid"):
            rows = [event.row for event in events if event.kind == kind]
            self._connection.register(kind, _table(rows))
        values = [{"key": key, "value": value} for key, value in side_input.items()]
        self._connection.register("side_input", pa.Table.from_pylist(values))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the expected rows of a query."""
        found = self._connection.sql(expected(name)).to_arrow_table()
        return found.to_pylist()  # type: ignore[no-any-return]

    def close(self) -> None:
        self._connection.close()


def _table(rows: list[dict[str, str | int]]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    for name in _MOMENTS:
        place = table.schema.get_field_index(name)
        if place >= 0:
            moments = table.column(name).cast(pa.timestamp("ms"))
            table = table.set_column(place, name, moments)
    return table
