"""Re-keys a table's changes over columns. Record executor: ``table_group_by.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import pairs_of
from penstock.model.rules.regroup_rule import belongs, regrouped
from penstock.model.user_code import user_code
from penstock.topology.nodes import TableGroupBy

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

_RESULTS = frozenset({list, tuple, type(None)})


@vectorises(TableGroupBy)
class TableGroupByColumns(ColumnExecutor[TableGroupBy]):
    """Sends the changes of groups: of each change of a row one, two or none."""

    def __init__(self, node: TableGroupBy, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.versioned:
            raise NotVectorisableError("its table is versioned")
        self._pairs = pairs_of(node.fn, "its function")

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.keys.has_nulls():
            raise NotProvenError("a row has no key")
        new = self._groups(batch, batch.values)
        old = [None] * len(batch) if batch.old is None else self._groups(batch, batch.old)
        rows: list[int] = []
        changes: list[tuple[Any, Any, Any]] = []
        with user_code("a function"):
            for row, pair in enumerate(zip(old, new, strict=True)):
                for change in regrouped(*pair):
                    rows.append(row)
                    changes.append(change)
        if changes:
            keys, values, replaced = (BatchColumn([*each]) for each in zip(*changes, strict=True))
            self.forward(batch.repeated(keys, values, np.array(rows), replaced), effects)

    def _groups(self, batch: Batch, values: BatchColumn) -> Sequence[Any]:
        """Return the pair of each row; ``None`` for a row that is in no group."""
        known = values.are_known()
        rows = batch.with_columns(batch.keys, values)
        found = self._pairs(rows if all(known) else rows.keep(known))
        if not {*map(type, found)} <= _RESULTS:
            raise NotProvenError("group_by returned something other than pairs")
        with user_code("a function"):
            pairs = iter([pair if belongs(pair) else None for pair in found])
        return [next(pairs) if is_known else None for is_known in known]
