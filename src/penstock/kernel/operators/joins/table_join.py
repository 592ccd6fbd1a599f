"""Joins two tables on their key. Node: ``topology.nodes.joins.table_join``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.operators.tables.table_store import materialized
from penstock.kernel.value_getter import value_getter_for
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import NULL_KEY, OUT_OF_ORDER
from penstock.topology.nodes.joins.table_join import TableJoin, TableJoinMerge


@executes(TableJoin)
class TableJoinExecutor(Executor[TableJoin]):
    """Joins a change of its side with the other side's row as it is now.

    The result has the later timestamp of the change and of that row, also if it is a tombstone. If
    neither side had or has a row, nothing is forwarded.
    """

    def init(self) -> None:
        node = self.node
        self._other = value_getter_for(self.task, node.other, node)
        self._join = join_of(node.joiner, with_key=node.with_key, is_left=node.is_left)
        self._needs_other = node.needs_other
        self._joins_missing = node.joins_missing
        self._sends_old = node.sends_old
        self._versioned = node.versioned

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            self.task.dropped(self.node.name, NULL_KEY)
            return
        if self._versioned and not value.is_latest:
            self.task.dropped(self.node.name, OUT_OF_ORDER)
            return
        row = self._other.get(key)
        if row is not None:
            change = self._joined(key, value, row.value, joins_missing=self._joins_missing)
            result_time = max(timestamp, row.timestamp)
        elif self._needs_other or (value.new is None and value.old is None):
            return
        else:
            change = self._joined(key, value, None, joins_missing=False)
            result_time = timestamp
        if result_time == timestamp:
            self.forward(key, change, timestamp, headers)
        else:
            self.forward_at(key, change, result_time, headers)

    def _joined(self, key: Any, change: Change, other: Any, *, joins_missing: bool) -> Change:
        new = old = None
        if joins_missing or change.new is not None:
            new = self._join(key, change.new, other)
        if self._sends_old and (joins_missing or change.old is not None):
            old = self._join(key, change.old, other)
        return Change(new, old, change.is_latest)

    def close(self) -> None:
        self._other.close()


@executes(TableJoinMerge)
class TableJoinMergeExecutor(Executor[TableJoinMerge]):
    """Stores the result of both sides, if the join is materialized, and forwards it."""

    def init(self) -> None:
        self._table = materialized(self)
        self._sends_old = self.node.sends_old

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if self._table is not None:
            self._table.update(key, value.new, value.old, timestamp, headers)
        else:
            if not self._sends_old:
                value = Change(value.new, None, value.is_latest)
            self.forward(key, value, timestamp, headers)
