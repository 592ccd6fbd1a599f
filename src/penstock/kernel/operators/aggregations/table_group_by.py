"""Re-keys a table's changes for an aggregation. Node: ``nodes.aggregations.table_group_by``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.streams.map import checked_pair
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.regroup_rule import belongs, regrouped
from penstock.topology.nodes.aggregations.table_group_by import TableGroupBy


@executes(TableGroupBy)
class TableGroupByExecutor(Executor[TableGroupBy]):
    """Sends the changes of groups that a change of a row makes: ``regrouped`` says which."""

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
        for group, new_value, old_value in regrouped(old, new):
            self.forward(group, Change(new_value, old_value, latest), timestamp, headers)

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        if value is None:
            return None
        pair = self._fn(key, value)
        if pair is not None and pair.__class__ is not tuple:  # type: ignore[redundant-expr]
            pair = checked_pair(pair, "group_by")
        return pair if belongs(pair) else None
