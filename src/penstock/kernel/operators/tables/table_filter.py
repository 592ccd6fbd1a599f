"""Keeps some rows of a table. Node: ``topology.nodes.tables.table_filter``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.tables.table_store import materialized
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.table_rule import FilterRule
from penstock.topology.nodes.tables.table_filter import TableFilter


@executes(TableFilter)
class TableFilterExecutor(Executor[TableFilter]):
    """Turns a row that fails the predicate into a tombstone. The predicate gets no tombstones.

    If old values are known and the old row failed, too, nothing is forwarded. A versioned table
    needs the tombstone nevertheless, as a version of the row.
    """

    def init(self) -> None:
        node = self.node
        self._table = materialized(self)
        self._predicate = node.predicate
        self._negate = node.negate
        self._sends_old = node.sends_old
        self._sends = FilterRule(node.sends_old, node.versioned).sends

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        table = self._table
        new, old = self._passed(key, value.new), None
        if self._sends_old:
            old = self._passed(key, value.old) if table is None else table.value(key)
        if new is None and not self._sends(False, old is not None):
            return
        if table is None:
            self.forward(key, Change(new, old, value.is_latest), timestamp, headers)
        else:
            table.update(key, new, old, timestamp, headers)

    def _passed(self, key: Any, value: Any) -> Any:
        if value is None or bool(self._predicate(key, value)) is self._negate:
            return None
        return value
