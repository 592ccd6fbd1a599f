"""Turns a topic or a stream into a table. Node: ``topology.nodes.topics.table_source``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.tables.table_store import materialized
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.table_rule import TABLE_NULLS
from penstock.topology.nodes.topics.table_source import TableSource


@executes(TableSource)
class TableSourceExecutor(Executor[TableSource]):
    """Stores each record as its key's row. A null value deletes the row; a null key is dropped.

    As in Kafka Streams, a timestamped store takes updates in the order of arrival. A versioned
    store files them by their timestamp.
    """

    def init(self) -> None:
        self._table = materialized(self)
        # A cache finds the old value itself, once for all updates between two flushes.
        is_cached = self._table is not None and self._table.is_cached
        self._sends_old = self.node.sends_old and not is_cached

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None and not TABLE_NULLS.takes(False, value is not None):
            self.task.dropped(self.node.name, TABLE_NULLS.drop_reason)
            return
        table = self._table
        if table is None:
            self.forward(key, Change(value, None), timestamp, headers)
        else:
            old = table.value(key) if self._sends_old else None
            table.update(key, value, old, timestamp, headers)
