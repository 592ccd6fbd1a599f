"""Re-keys a table's changes for an aggregation. Node: ``nodes.aggregations.table_group_by``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.streams.map import checked_pair
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.topology.nodes.aggregations.table_group_by import TableGroupBy


@executes(TableGroupBy)
class TableGroupByExecutor(Executor[TableGroupBy]):
    """Sends the old row to its group, then the new row to its own; in one group, as one change.

    As two changes, the aggregation would forward the state between them.
    """

    def init(self) -> None:
        self._fn = self.node.fn
        self._versioned = self.node.versioned

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None:
            raise StreamsError(
                "null-key",
                f"node {self.node.name!r} got a row without a key",
                fix="keep None out of the keys of the table above it",
                at=self.node.site,
            )
        latest = value.is_latest
        if self._versioned and not latest:
            return
        new, old = self._pair(key, value.new), self._pair(key, value.old)
        if old is not None and new is not None and old[0] == new[0]:
            self.forward(old[0], Change(new[1], old[1], latest), timestamp, headers)
            return
        if old is not None:
            self.forward(old[0], Change(None, old[1], latest), timestamp, headers)
        if new is not None:
            self.forward(new[0], Change(new[1], None, latest), timestamp, headers)

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        if value is None:
            return None
        pair = self._fn(key, value)
        if pair is not None and pair.__class__ is not tuple:  # type: ignore[redundant-expr]
            pair = checked_pair(pair, "group_by")
        # A row without a new key or value belongs to no group. A user's function may return
        # ``None`` although its type hint says otherwise.
        if pair is None or pair[0] is None or pair[1] is None:  # type: ignore[redundant-expr]
            return None
        return pair
