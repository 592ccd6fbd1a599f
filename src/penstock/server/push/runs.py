"""Turn records into rows for push queries: with a plan over single rows, or with a topology."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import UnavailableError
from penstock.kafka.topic_reader import Positions
from penstock.kernel.record_queue import RawRecord
from penstock.model.rules.table_rule import TABLE_NULLS
from penstock.runtime.local.partitioned import PartitionedApplication
from penstock.sql.planner.lowering.context import Row
from penstock.sql.queries.local import QUERY_CONFIG
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.row_plan import RowPlan

_log = logging.getLogger("penstock.sql.processing")


class PushRow(NamedTuple):
    """A row for subscribers. A deleted row of a table has only its key."""

    columns: Row
    is_deleted: bool = False


class RowBatch:
    """Rows that belong together. Subscribers of the same query share it, and its JSON."""

    __slots__ = ("_texts", "rows")

    def __init__(self, rows: list[PushRow]) -> None:
        self.rows = rows
        self._texts: dict[Hashable, list[bytes | None]] = {}

    def texts(self, form: Hashable, write: Callable[[PushRow], bytes | None]) -> list[bytes | None]:
        """Return the text of each row in a form; all subscribers share it."""
        found = self._texts.get(form)
        if found is None:
            found = self._texts[form] = [write(row) for row in self.rows]
        return found


class RecordBatch:
    """Records that were read together, and the rows that queries have made of them."""

    __slots__ = ("ends", "firsts", "made", "records")

    def __init__(self, records: Sequence[RawRecord]) -> None:
        self.records = records
        self.made: dict[Hashable, RowBatch] = {}
        #: The offset of the first record, and the one after the last, by partition.
        self.firsts: Positions = {}
        self.ends: Positions = {}
        for record in records:
            place = (record.topic, record.partition)
            self.firsts.setdefault(place, record.offset)
            self.ends[place] = record.offset + 1


class PushRun(Protocol):
    """Turn the records of topics into rows. One thread at a time may use it."""

    @property
    def has_state(self) -> bool:
        """Whether rows depend on records from before."""

    def rows(self, batch: RecordBatch) -> RowBatch:
        """Return the rows of records, in order."""

    def close(self) -> None: ...


class RowRun:
    """A query without state. Runs with the same ``key`` share the rows of a batch."""

    has_state = False

    def __init__(self, plan: RowPlan, key: Hashable) -> None:
        self._plan = plan
        self._key = key

    def rows(self, batch: RecordBatch) -> RowBatch:
        found = batch.made.get(self._key)
        if found is None:
            made = [row for record in batch.records if (row := self._row(record)) is not None]
            found = batch.made[self._key] = RowBatch(made)
        return found

    def _row(self, record: RawRecord) -> PushRow | None:
        topic, partition, offset, timestamp, key, value, headers = record
        plan = self._plan
        if plan.step.is_table and not TABLE_NULLS.takes(key is not None, value is not None):
            return None
        try:
            row = plan.rows.row(partition, offset, timestamp, key, value, headers)
            if row is None:
                if value is None and plan.step.is_table:
                    return PushRow(plan.deleted(key), is_deleted=True)
                return None
        except UnavailableError:
            raise
        # Formats raise errors of many kinds; a record that cannot be read is skipped and logged.
        except Exception as error:  # noqa: BLE001
            _log.error(
                "a record of a push query is skipped: topic %s partition %d offset %d: %s: %s",
                topic, partition, offset, type(error).__name__, error,
            )  # fmt: skip
            return None
        if plan.holds is not None and not plan.holds(row):
            return None
        return PushRow(plan.values(row))

    def close(self) -> None:
        """There is nothing to close."""


class TopologyRun:
    """A query with state: its topology on the kernel, with one task for each partition.

    State is in memory and ends with the query. Repartition topics are lists in this process.
    """

    has_state = True

    def __init__(self, query: PushQuery, partitions: Mapping[str, int]) -> None:
        self._query = query
        self._names = [column.name for column in query.columns]
        self._read = query.reader()
        self._read_key = query.key_reader()
        config = StreamsConfig({**QUERY_CONFIG, APPLICATION_ID.name: query.id})
        self._application = PartitionedApplication(
            query.topology, config, _now_ms(), partitions, on_disk=False
        )

    def rows(self, batch: RecordBatch) -> RowBatch:
        application = self._application
        application.now_ms = _now_ms()
        application.pipe_raw(batch.records)
        rows = []
        for record in application.take_produced():
            if record.topic == self._query.id:
                row = self._row(record.key, record.value)
                if row is not None:
                    rows.append(row)
        return RowBatch(rows)

    def _row(self, key: bytes | None, value: bytes | None) -> PushRow | None:
        if value is not None:
            return PushRow(self._ordered(self._read(value)))
        if key is None or not self._query.plan.step.is_table:
            return None
        return PushRow(self._ordered(self._read_key(key)), is_deleted=True)

    def _ordered(self, row: Mapping[str, Any]) -> Row:
        return tuple([row[name] for name in self._names])

    def close(self) -> None:
        self._application.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
