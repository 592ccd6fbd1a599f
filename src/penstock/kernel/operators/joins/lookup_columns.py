"""Joins columns with the rows of a table, for ``stream_table_join`` and ``global_join``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import (
    ColumnExecutor,
    NotVectorisableError,
    require_known,
)
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import joiner_of
from penstock.kernel.columns.store_rows import bare, settled, stored_keys
from penstock.model.rules.lookup_rule import LookupRule
from penstock.serde.columns import decode_all
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import GlobalJoin, StreamTableJoin

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class LookUpColumns(ColumnExecutor[Any]):
    """Reads each key of the batch once, and joins every record with the row of its key."""

    keeps_order = True

    def __init__(self, node: StreamTableJoin | GlobalJoin, task: TaskServices, store: str) -> None:
        super().__init__(node, task)
        self._join = joiner_of(node.joiner, with_key=node.with_key)
        self._rule = LookupRule(node.is_left)
        self._store = store
        rows: BulkRows | None = getattr(task.store(store), "bulk", None)
        if not isinstance(rows, BulkRows):
            raise NotVectorisableError(f"the table's store {store!r} has no column form")
        require_known(rows.keys.serde, f"key of store {store!r}:")
        require_known(rows.values.serde, f"value of store {store!r}:")
        self._rows = rows
        #: Values of rows that were read in this batch; the table does not change meanwhile.
        self._known: dict[bytes, Any] = {}

    def look_up(self, batch: Batch, lookups: BatchColumn, effects: Effects) -> None:
        """Join records, which have values, with the rows under these keys."""
        if lookups.has_nulls():
            mask = self._rule.nulls.takes(np.array(lookups.are_known()), True).tolist()
            effects.drop(self.node.name, self._rule.nulls.drop_reason, mask.count(False))
            if not all(mask):
                batch, lookups = batch.keep(mask), lookups.keep(mask)
        if not len(batch):
            return
        settled(self._rows)
        keys = stored_keys(lookups, self._rows.keys.serde)
        partners = self._partners(keys, effects)
        if None in partners:
            has_row = np.array([partner is not None for partner in partners])
            mask = self._rule.emits(has_row).tolist()
            if not all(mask):
                batch, partners = batch.keep(mask), [*compress(partners, mask)]
        if len(batch):
            values = BatchColumn(self._join(batch.keys, batch.values, BatchColumn(partners)))
            self.forward(batch.with_columns(batch.keys, values), effects)

    def _partners(self, keys: Sequence[bytes | None], effects: Effects) -> list[Any]:
        """Return the value of each key's row; ``None`` if the key is null or has no row."""
        known = self._known
        missing = [key for key in dict.fromkeys(keys) if key is not None and key not in known]
        if missing:
            rows = effects.read(self._store, self._rows, missing)
            values = decode_all(self._rows.values.serde, bare(rows))
            known.update(zip(missing, values, strict=True))
        return [*map(known.get, keys)]  # type: ignore[arg-type]

    def finish(self, effects: Effects) -> None:
        self.reset()
        super().finish(effects)

    def reset(self) -> None:
        self._known = {}

    def valued(self, batch: Batch, effects: Effects) -> Batch:
        """Return the records that have a value; count the others as dropped."""
        if not batch.values.has_nulls():
            return batch
        mask = self._rule.nulls.takes(True, np.array(batch.values.are_known())).tolist()
        effects.drop(self.node.name, self._rule.nulls.drop_reason, mask.count(False))
        return batch if all(mask) else batch.keep(mask)

    def resources(self) -> set[str]:
        return {f"store {self._store!r}"}
