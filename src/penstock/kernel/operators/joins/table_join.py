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
from penstock.model.rules.table_join_rule import TableJoinRule
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
        self._rule = TableJoinRule(node.needs_other, node.joins_missing)
        self._sends_old = node.sends_old
        self._versioned = node.versioned

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            self.task.dropped(self.node.name, NULL_KEY)
            return
        if self._versioned and not value.is_latest:
            self.task.dropped(self.node.name, OUT_OF_ORDER)
            return
        new, old = value.new, value.old
        row = self._other.get(key)
        has_row = row is not None
        if not self._rule.forwards(new is not None, old is not None, has_row):
            return
        other, result_time = None, timestamp
        if row is not None:
            other, result_time = row.value, max(timestamp, row.timestamp)
        joined = Change(
            self._joined(key, new, other, has_row),
            self._joined(key, old, other, has_row) if self._sends_old else None,
            value.is_latest,
        )
        if result_time == timestamp:
            self.forward(key, joined, timestamp, headers)
        else:
            self.forward_at(key, joined, result_time, headers)

    def _joined(self, key: Any, this: Any, other: Any, has_other: bool) -> Any:
        if not self._rule.has_result(this is not None, has_other):
            return None
        return self._join(key, this, other)

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
