"""Folds a grouped table. Node: ``topology.nodes.aggregations.table_aggregate``.

The result has the later timestamp of the record and of the row that it updates. A row that becomes
null is deleted, and its timestamp with it.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.tables.table_store import MaterializedTable
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.fold_rule import FOLD
from penstock.topology.nodes.aggregations.table_aggregate import TableAggregate, TableReduce
from penstock.topology.nodes.node import TableNode


@executes(TableAggregate)
class TableAggregateExecutor(Executor[TableAggregate]):
    """Subtracts the old row, then adds the new one, and forwards the result as one change."""

    def init(self) -> None:
        self._table = MaterializedTable(self)
        self._initializer = self.node.initializer
        self._adder = self.node.adder
        self._subtractor = self.node.subtractor

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            raise _null_key(self.node)
        before = aggregate = None
        row = self._table.get(key)
        if row is not None:
            before = aggregate = row.value
            timestamp = FOLD.result_time(timestamp, row.timestamp)
            if value.old is not None:
                aggregate = self._subtractor(key, value.old, aggregate)
        if value.new is not None:
            if aggregate is None:
                aggregate = self._initializer()
            aggregate = self._adder(key, value.new, aggregate)
        self._table.update(key, aggregate, before, timestamp, headers)


@executes(TableReduce)
class TableReduceExecutor(Executor[TableReduce]):
    """Subtracts the old row, then adds the new one; if nothing is left, the new one stays."""

    def init(self) -> None:
        self._table = MaterializedTable(self)
        self._adder = self.node.adder
        self._subtractor = self.node.subtractor

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            raise _null_key(self.node)
        before = reduced = None
        row = self._table.get(key)
        if row is not None:
            before = reduced = row.value
            timestamp = FOLD.result_time(timestamp, row.timestamp)
            if value.old is not None:
                reduced = self._subtractor(reduced, value.old)
        if value.new is not None:
            reduced = value.new if reduced is None else self._adder(reduced, value.new)
        self._table.update(key, reduced, before, timestamp, headers)


def _null_key(node: TableNode) -> StreamsError:
    return StreamsError("null-key", f"node {node.name!r} got a row without a key", at=node.site)
