"""The rows of a pull query: found in a copy, read from a stream, or made by a topology."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from penstock.errors import UnavailableError
from penstock.model.windows.windowed import Windowed
from penstock.runtime.local.outbox import ProducedRecord
from penstock.server.pull.plan_cache import BoundPull
from penstock.server.pull.prepared import PreparedPull
from penstock.server.pull.table_rows import StoredRow, TableRows
from penstock.sql.planner.lowering.context import Row
from penstock.sql.queries.pull import ReadTopic

_log = logging.getLogger("penstock.sql.processing")
#: Formats that write equal keys as equal bytes. In the others, bytes begin with a schema id.
_EXACT = frozenset(("KAFKA", "JSON", "DELIMITED", "NONE"))
#: How many rows the event loop reads for one query: a millisecond's work.
_FEW = 100

#: Reads a stream's topic up to its present end.
ReadStream = Callable[[str], Iterable[Any]]


def found_by_key(bound: BoundPull, table: TableRows) -> list[Row]:
    """Return the rows of a KEY_LOOKUP. This usually reads only a few keys."""
    prepared = bound.prepared
    literals = bound.literals
    rows: list[Row] = []
    for key in prepared.key_values(literals):
        rows += _accepted(bound, table, _of_key(prepared, table, key, literals))
    if not rows and not _is_exact(prepared):
        rows = list(_scanned(bound, table))
    return rows


def found_at_once(bound: BoundPull, table: TableRows) -> list[Row] | None:
    """Return the rows of a KEY_LOOKUP that reads only a few rows; None if it may read more."""
    prepared, literals = bound.prepared, bound.literals
    # With another format a key that is not found is looked for in all rows.
    if not _is_exact(prepared) or len(prepared.keys) > _FEW:
        return None
    found: list[StoredRow] = []
    for key in prepared.key_values(literals):
        found += islice(_of_key(prepared, table, key, literals), _FEW + 1)
        if len(found) > _FEW:
            return None
    return list(_accepted(bound, table, found))


def found_by_scan(bound: BoundPull, table: TableRows) -> Iterator[Row]:
    """Yield the rows of a RANGE_SCAN or TABLE_SCAN in the order of the keys' bytes."""
    return _accepted(bound, table, _candidates(bound.prepared, table))


def paged(bound: BoundPull, rows: Iterable[Row]) -> Iterable[Row]:
    """Apply ORDER BY, DISTINCT, OFFSET and LIMIT to the rows."""
    prepared = bound.prepared
    if prepared.is_plain:
        limit, offset = prepared.limit, prepared.offset
        if limit is None and not offset:
            return rows
        return islice(rows, offset, None if limit is None else offset + limit)
    names = [column.name for column in prepared.query.push.columns]
    found = (dict(zip(names, row, strict=True)) for row in rows)
    return [tuple(row.values()) for row in prepared.query.finished(found)]


def answered_generally(prepared: PreparedPull, read: ReadTopic) -> list[Row]:
    """Return the rows that the query's topology makes of all rows of its sources."""
    query = prepared.query
    return [tuple(row.values()) for row in query.finished(query.results(read))]


def stream_rows(bound: BoundPull, records: Iterable[Any]) -> Iterator[Row]:
    """Yield the rows of a stream's records that the query keeps."""
    rows, values = bound.prepared.rows, [literal.value for literal in bound.literals]
    assert rows is not None
    test = bound.prepared.test
    for topic, partition, offset, timestamp, key, value, headers in records:
        try:
            row = rows.rows.row(partition, offset, timestamp, key, value, headers)
        except UnavailableError:
            raise
        # Formats raise errors of many kinds; a record that cannot be read is skipped and logged.
        except Exception as error:  # noqa: BLE001
            _skipped(topic, partition, offset, error)
            continue
        if row is not None and (test is None or test(row, values)):
            yield rows.values(row)


def table_records(table: TableRows) -> Iterator[ProducedRecord]:
    """Yield the rows of a table as records, oldest first, for a topology."""
    alive = [row for row in table.scan() if table.is_alive(row)]
    alive.sort(key=lambda row: (row.timestamp, row.partition, row.offset))
    topic = table.source.topic
    for row in alive:
        yield ProducedRecord(topic, row.key, row.value, row.timestamp, row.headers, row.partition)


def _of_key(
    prepared: PreparedPull, table: TableRows, key: Row, literals: Any
) -> Iterable[StoredRow]:
    rows = prepared.rows
    assert rows is not None
    serde: Any = rows.rows.key_serde
    if table.source.window is None:
        data = serde.serialize(table.source.topic, key)
        found = None if data is None else table.get(data)
        return () if found is None else (found,)
    data = serde.inner.serialize(table.source.topic, key)
    return table.windows(data, *prepared.start_range(literals))


def _candidates(prepared: PreparedPull, table: TableRows) -> Iterator[StoredRow]:
    if prepared.range is None:
        return table.scan()
    low, high = prepared.range.low, prepared.range.high
    # The order of UTF-8 is that of the texts. One more byte takes the last key in.
    return table.scan(
        None if low is None else low.encode(), None if high is None else high.encode() + b"\0"
    )


def _accepted(bound: BoundPull, table: TableRows, found: Iterable[StoredRow]) -> Iterator[Row]:
    rows, test = bound.prepared.rows, bound.prepared.test
    assert rows is not None
    read, project = rows.rows.row, rows.values
    values = [literal.value for literal in bound.literals] if test is not None else ()
    for stored in found:
        if not table.is_alive(stored):
            continue
        key, value, timestamp, partition, offset, headers = stored
        try:
            row = read(partition, offset, timestamp, key, value, headers)
        except UnavailableError:
            raise
        # Formats raise errors of many kinds; a record that cannot be read is skipped and logged.
        except Exception as error:  # noqa: BLE001
            _skipped(table.source.topic, partition, offset, error)
            continue
        if row is not None and (test is None or test(row, values)):
            yield project(row)


def _is_exact(prepared: PreparedPull) -> bool:
    return prepared.source is not None and prepared.source.key_format.name in _EXACT


def _scanned(bound: BoundPull, table: TableRows) -> Iterator[Row]:
    """Yield the rows whose keys were written with another schema than the present one."""
    prepared = bound.prepared
    rows = prepared.rows
    assert rows is not None
    wanted = prepared.key_values(bound.literals)

    def is_wanted(stored: StoredRow) -> bool:
        key = rows.rows.key(stored.key)
        return (key.key if isinstance(key, Windowed) else key) in wanted

    return _accepted(bound, table, (row for row in table.scan() if is_wanted(row)))


def _skipped(topic: str, partition: int, offset: int, error: Exception) -> None:
    _log.error(
        "a record of a pull query is skipped: topic %s partition %d offset %d: %s: %s",
        topic, partition, offset, type(error).__name__, error,
    )  # fmt: skip
