"""The plans of pull queries: a closed union, and each finds the rows of its answer by itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Protocol

from penstock.errors import UnavailableError
from penstock.kernel.record_queue import RawRecord
from penstock.model.sql.types import SqlType
from penstock.model.windows.windowed import Windowed
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.planner.lowering.context import Row
from penstock.sql.pull.parameters import Test
from penstock.sql.pull.shape import Literal
from penstock.sql.pull.table_rows import StoredRow, TableRows
from penstock.sql.queries.access import NO_KEY, KeyRange, key_value, start_range
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.row_plan import RowPlan

_log = logging.getLogger("penstock.sql.processing")
#: Formats that write equal keys as equal bytes. In the others, bytes begin with a schema id.
_EXACT = frozenset(("KAFKA", "JSON", "DELIMITED", "NONE"))
#: How many rows the event loop reads for one query: a millisecond's work.
_FEW = 100

Literals = Sequence[Literal]


class Reads(Protocol):
    """What an answer is read from: the rows of tables, and the records of streams."""

    def table(self, source: DataSource) -> TableRows: ...

    def stream(self, source: DataSource) -> Iterable[RawRecord]:
        """Return the records of a stream up to its present end."""


@dataclass(frozen=True, slots=True)
class Term:
    """The value of one key column: a constant, or the literal with a number."""

    type: SqlType
    value: Any
    literal: int | None

    def of(self, literals: Literals) -> Any:
        if self.literal is None:
            return self.value
        literal = literals[self.literal]
        return key_value(literal.type, literal.value, self.type)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of WINDOWSTART: a constant, or the literal with a number."""

    operator: str
    value: int
    literal: int | None

    def of(self, literals: Literals) -> tuple[str, int]:
        value = self.value if self.literal is None else literals[self.literal].value
        return self.operator, value


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of one source become rows of the answer."""

    #: The table or stream as the catalog has it.
    source: DataSource
    rows: RowPlan
    #: Tells whether a row belongs to the answer; None if all rows do.
    test: Test | None

    def accepted(
        self, table: TableRows, found: Iterable[StoredRow], literals: Literals
    ) -> Iterator[Row]:
        """Yield the rows of the answer that stored rows make."""
        if self.source.ttl_ms is not None:
            found = (each for each in found if table.is_alive(each))
        topic = self.source.topic
        records = (
            (topic, partition, offset, timestamp, key, value, headers)
            for key, value, timestamp, partition, offset, headers in found
        )
        return self._made(records, literals)

    def of_records(self, records: Iterable[RawRecord], literals: Literals) -> Iterator[Row]:
        """Yield the rows of the answer that records of a stream make."""
        return self._made(records, literals)

    def _made(self, records: Iterable[Any], literals: Literals) -> Iterator[Row]:
        read, project, test = self.rows.rows.row, self.rows.values, self.test
        values = [literal.value for literal in literals] if test is not None else ()
        for topic, partition, offset, timestamp, key, value, headers in records:
            try:
                row = read(partition, offset, timestamp, key, value, headers)
            except UnavailableError:
                raise
            # Formats raise errors of many kinds; a record that cannot be read is skipped and
            # logged.
            except Exception as error:  # noqa: BLE001
                _skipped(topic, partition, offset, error)
                continue
            if row is not None and (test is None or test(row, values)):
                yield project(row)


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Looks up the keys that WHERE names, and their windows."""

    name: ClassVar[str] = "KEY_LOOKUP"
    reading: Reading
    keys: tuple[tuple[Term, ...], ...]
    starts: tuple[Bound, ...]

    @property
    def source(self) -> DataSource:
        return self.reading.source

    def answer(self, reads: Reads, literals: Literals) -> Iterable[Row]:
        """Return the rows. This usually reads only a few keys."""
        table, reading = reads.table(self.source), self.reading
        rows: list[Row] = []
        for key in self.key_values(literals):
            rows += reading.accepted(table, self._of_key(table, key, literals), literals)
        if not rows and not self._is_exact:
            return self._scanned(table, literals)
        return rows

    def few(self, table: TableRows, literals: Literals) -> list[Row] | None:
        """Return the rows if these are only a few; None if it may be more to read."""
        # With another format a key that is not found is looked for in all rows.
        if not self._is_exact or len(self.keys) > _FEW:
            return None
        found: list[StoredRow] = []
        for key in self.key_values(literals):
            found += islice(self._of_key(table, key, literals), _FEW + 1)
            if len(found) > _FEW:
                return None
        return list(self.reading.accepted(table, found, literals))

    def key_values(self, literals: Literals) -> list[Row]:
        """Return the keys to look up; those that no row can have are left out."""
        if len(self.keys) == 1:
            only = tuple([term.of(literals) for term in self.keys[0]])
            return [] if NO_KEY in only else [only]
        found: dict[str, Row] = {}
        for terms in self.keys:
            key = tuple([term.of(literals) for term in terms])
            if NO_KEY not in key:
                found.setdefault(repr(key), key)
        return list(found.values())

    def start_range(self, literals: Literals) -> tuple[int | None, int | None]:
        """Return the first and the last start of the windows that are wanted."""
        return start_range([bound.of(literals) for bound in self.starts])

    @property
    def _is_exact(self) -> bool:
        return self.source.key_format.name in _EXACT

    def _of_key(self, table: TableRows, key: Row, literals: Literals) -> Iterable[StoredRow]:
        serde: Any = self.reading.rows.rows.key_serde
        if self.source.window is None:
            data = serde.serialize(self.source.topic, key)
            found = None if data is None else table.get(data)
            return () if found is None else (found,)
        data = serde.inner.serialize(self.source.topic, key)
        return table.windows(data, *self.start_range(literals))

    def _scanned(self, table: TableRows, literals: Literals) -> Iterator[Row]:
        """Yield the rows whose keys were written with another schema than the present one."""
        wanted, read_key = self.key_values(literals), self.reading.rows.rows.key

        def is_wanted(stored: StoredRow) -> bool:
            key = read_key(stored.key)
            return (key.key if isinstance(key, Windowed) else key) in wanted

        found = (row for row in table.scan() if is_wanted(row))
        return self.reading.accepted(table, found, literals)


@dataclass(frozen=True, slots=True)
class RangeScan:
    """Reads the rows of a range of keys, in the order of the keys' bytes."""

    name: ClassVar[str] = "RANGE_SCAN"
    reading: Reading
    range: KeyRange

    @property
    def source(self) -> DataSource:
        return self.reading.source

    def answer(self, reads: Reads, literals: Literals) -> Iterable[Row]:
        low, high = self.range.low, self.range.high
        table = reads.table(self.source)
        # The order of UTF-8 is that of the texts. One more byte takes the last key in.
        found = table.scan(
            None if low is None else low.encode(), None if high is None else high.encode() + b"\0"
        )
        return self.reading.accepted(table, found, literals)


@dataclass(frozen=True, slots=True)
class TableScan:
    """Reads all rows of a table, in the order of the keys' bytes."""

    name: ClassVar[str] = "TABLE_SCAN"
    reading: Reading

    @property
    def source(self) -> DataSource:
        return self.reading.source

    def answer(self, reads: Reads, literals: Literals) -> Iterable[Row]:
        table = reads.table(self.source)
        return self.reading.accepted(table, table.scan(), literals)


@dataclass(frozen=True, slots=True)
class StreamScan:
    """Reads the records of a stream up to its present end."""

    name: ClassVar[str] = "STREAM_SCAN"
    reading: Reading

    @property
    def source(self) -> DataSource:
        return self.reading.source

    def answer(self, reads: Reads, literals: Literals) -> Iterable[Row]:
        return self.reading.of_records(reads.stream(self.source), literals)


@dataclass(frozen=True, slots=True)
class General:
    """Runs the query's topology over all rows of its sources."""

    name: ClassVar[str] = "GENERAL"
    query: PullQuery
    #: The sources by topic, as the catalog has them.
    sources: tuple[DataSource, ...]

    def answer(self, reads: Reads, literals: Literals) -> Iterable[Row]:
        del literals  # They are a fixed part of the topology.
        names = [column.name for column in self.query.push.columns]
        found = self.query.results(lambda topic: self._records(topic, reads))
        return (tuple([row[name] for name in names]) for row in found)

    def _records(self, topic: str, reads: Reads) -> Iterator[ProducedRecord]:
        source = next(each for each in self.sources if each.topic == topic)
        if source.is_table:
            yield from _table_records(reads.table(source))
            return
        for _, partition, _, timestamp, key, value, headers in reads.stream(source):
            yield ProducedRecord(topic, key, value, timestamp, headers, partition)


PullPlan = KeyLookup | RangeScan | TableScan | StreamScan | General


def _table_records(table: TableRows) -> Iterator[ProducedRecord]:
    """Yield the rows of a table as records, oldest first, for a topology."""
    alive = [row for row in table.scan() if table.is_alive(row)]
    alive.sort(key=lambda row: (row.timestamp, row.partition, row.offset))
    topic = table.source.topic
    for row in alive:
        yield ProducedRecord(topic, row.key, row.value, row.timestamp, row.headers, row.partition)


def _skipped(topic: str, partition: int, offset: int, error: Exception) -> None:
    _log.error(
        "a record of a pull query is skipped: topic %s partition %d offset %d: %s: %s",
        topic, partition, offset, type(error).__name__, error,
    )  # fmt: skip
