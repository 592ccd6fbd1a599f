"""Replaces values of a table's rows. Node: ``topology.nodes.tables.table_map_values``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.tables.table_store import materialized
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.topology.nodes.tables.table_map_values import TableMapValues


@executes(TableMapValues)
class TableMapValuesExecutor(Executor[TableMapValues]):
    """Maps the new value, and the old one if a later node needs it. Tombstones stay tombstones."""

    def init(self) -> None:
        self._table = materialized(self)
        self._fn = self.node.fn
        self._with_key = self.node.with_key
        self._sends_old = self.node.sends_old

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        table = self._table
        new, old = self._mapped(key, value.new), None
        if table is None:
            if self._sends_old:
                old = self._mapped(key, value.old)
            self.forward(key, Change(new, old, value.is_latest), timestamp, headers)
        else:
            if self._sends_old:
                old = table.value(key)
            table.update(key, new, old, timestamp, headers)

    def _mapped(self, key: Any, value: Any) -> Any:
        if value is None:
            return None
        return self._fn(key, value) if self._with_key else self._fn(value)
