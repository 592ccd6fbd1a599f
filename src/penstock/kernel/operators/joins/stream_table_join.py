"""Joins a stream with a table. Node: ``topology.nodes.joins.stream_table_join``."""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.record_contexts import in_context
from penstock.kernel.value_getter import value_getter_for
from penstock.model.record import Headers
from penstock.model.rules.lookup_rule import LookupRule
from penstock.state.buffer.buffered import Eviction, TimeOrderedBuffer
from penstock.topology.nodes.joins.stream_table_join import StreamTableJoin


@executes(StreamTableJoin)
class StreamTableJoinExecutor(Executor[StreamTableJoin]):
    """Joins a record with the table's row, as of the record's time if the table is versioned.

    ``LookupRule`` says which records are dropped or emitted. With a grace period, records wait in
    the buffer, sorted by timestamp, until stream time has passed them by the grace period. A record
    that comes even later is joined at once. As in Kafka Streams, the buffer takes no null keys: a
    left join with a grace period fails on them.
    """

    def init(self) -> None:
        node = self.node
        self._rows = value_getter_for(self.task, node.table, node)
        self._join = join_of(node.joiner, with_key=node.with_key)
        rule = LookupRule(node.is_left)
        self._nulls, self._emits = rule.nulls, rule.emits
        self._is_versioned = self._rows.is_versioned
        self._buffer: TimeOrderedBuffer | None = None
        if node.buffer is not None:
            self._buffer = self.task.store(node.buffer)
            if not self._is_versioned:
                raise InvalidArgumentError(
                    "grace-needs-versioned-table",
                    f"node {node.name!r} joins with a grace period of {node.grace_ms} ms, but table"
                    f" {node.table!r} is not versioned",
                    fix="materialize the table in a versioned store, or leave the grace period out",
                    at=node.site,
                )

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        buffer = self._buffer
        nulls = self._nulls
        if (key is None or value is None) and not nulls.takes(key is not None, value is not None):
            self.task.dropped(self.node.name, nulls.drop_reason)
        elif buffer is None:
            self._look_up(key, value, timestamp, headers)
        elif buffer.put(timestamp, key, value, self.context):
            buffer.evict_while(_always, self._release)
        else:
            self._look_up(key, value, timestamp, headers)

    def _release(self, eviction: Eviction) -> None:
        with in_context(self.context, eviction.record_context) as at:
            self._look_up(eviction.key, eviction.value, at.timestamp, at.headers)

    def _look_up(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        row = None
        if key is not None:
            rows = self._rows
            row = rows.get_as_of(key, timestamp) if self._is_versioned else rows.get(key)
        if self._emits(row is not None):
            partner = None if row is None else row.value
            self.forward(key, self._join(key, value, partner), timestamp, headers)

    def close(self) -> None:
        self._rows.close()


def _always() -> bool:
    return True
