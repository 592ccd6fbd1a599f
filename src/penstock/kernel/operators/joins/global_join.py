"""Looks a stream's records up in a global table. As data: ``topology.nodes.joins.global_join``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.operators.tables.table_store import rows_of
from penstock.model.record import Headers
from penstock.topology.nodes.joins.global_join import GlobalJoin


@executes(GlobalJoin)
class GlobalJoinExecutor(Executor[GlobalJoin]):
    """Joins with the row under the selected key; the result keeps the stream's key and time.

    A record without a value is dropped. One whose selected key is null has no partner: a left
    join emits it nevertheless, an inner join drops it.
    """

    def init(self) -> None:
        node = self.node
        rows = rows_of(self.task.store(node.store))
        self._get = rows.get
        self._key_selector = node.key_selector
        self._join = join_of(node.joiner, with_key=node.with_key)
        self._is_left = node.is_left

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        lookup = None if value is None else self._key_selector(key, value)
        if value is None or (lookup is None and not self._is_left):
            self.task.dropped(self.node.name, "null-join-key-or-value")
            return
        row = None if lookup is None else self._get(lookup)
        if row is not None:
            self.forward(key, self._join(key, value, row.value), timestamp, headers)
        elif self._is_left:
            self.forward(key, self._join(key, value, None), timestamp, headers)
