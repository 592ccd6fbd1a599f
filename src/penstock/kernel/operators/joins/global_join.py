"""Joins a stream with a global table. Node: ``topology.nodes.joins.global_join``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.operators.tables.table_store import rows_of
from penstock.model.record import Headers
from penstock.model.rules.lookup_rule import LookupRule
from penstock.topology.nodes.joins.global_join import GlobalJoin


@executes(GlobalJoin)
class GlobalJoinExecutor(Executor[GlobalJoin]):
    """Joins with the row under the selected key. ``LookupRule`` says what is dropped or emitted."""

    def init(self) -> None:
        node = self.node
        rows = rows_of(self.task.store(node.store))
        self._get = rows.get
        self._key_selector = node.key_selector
        self._join = join_of(node.joiner, with_key=node.with_key)
        rule = LookupRule(node.is_left)
        self._nulls, self._emits = rule.nulls, rule.emits

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        nulls = self._nulls
        lookup = None if value is None else self._key_selector(key, value)
        if lookup is None and not nulls.takes(False, value is not None):
            self.task.dropped(self.node.name, nulls.drop_reason)
            return
        row = None if lookup is None else self._get(lookup)
        if self._emits(row is not None):
            partner = None if row is None else row.value
            self.forward(key, self._join(key, value, partner), timestamp, headers)
