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
from penstock.model.rules.regroup_rule import Step, aggregate_step, reduce_step
from penstock.processor.store_fold import StoreFold
from penstock.topology.nodes.aggregations.table_aggregate import TableAggregate, TableReduce
from penstock.topology.nodes.node import TableNode


class _TableFoldExecutor(Executor[Any]):
    """Folds the changes of a group's rows into the row of the group."""

    def init(self) -> None:
        self._table = MaterializedTable(self)
        self._step = self.step()

    def step(self) -> Step:
        """Return what makes the next state of a group."""
        raise NotImplementedError

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            raise _null_key(self.node)
        before, row = None, self._table.get(key)
        if row is not None:
            before = row.value
            timestamp = FOLD.result_time(timestamp, row.timestamp)
        after = self._step(key, value.new, value.old, before)
        self._table.update(key, after, before, timestamp, headers)


@executes(TableAggregate)
class TableAggregateExecutor(_TableFoldExecutor):
    """Subtracts the old row, then adds the new one, and forwards the result as one change."""

    def step(self) -> Step:
        adder = self.node.adder
        if isinstance(adder, StoreFold):
            return adder.over_changes(self.task.store(adder.spec.name))
        return aggregate_step(self.node.initializer, adder, self.node.subtractor)


@executes(TableReduce)
class TableReduceExecutor(_TableFoldExecutor):
    """Subtracts the old row, then adds the new one; if nothing is left, the new one stays."""

    def step(self) -> Step:
        return reduce_step(self.node.adder, self.node.subtractor)


def _null_key(node: TableNode) -> StreamsError:
    return StreamsError("null-key", f"node {node.name!r} got a row without a key", at=node.site)
