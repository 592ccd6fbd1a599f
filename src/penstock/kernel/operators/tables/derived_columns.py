"""What tables share over columns: a store, and rows that are computed from another table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.cache_handoff import CachedTable
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.stored_table import StoredTable
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class StoredTableColumns(CachedTable):
    """A table that may have a store, and sends its changes at once or at the end of the batch."""

    tells_changes = True

    def __init__(self, node: TableNode, task: TaskServices) -> None:
        self._table = None if node.store is None else StoredTable(node, task)
        super().__init__(node, task, None if self._table is None else self._table.rows)
        has_readers = bool(task.children(node.name))
        self.runs_once = has_readers and self._table is not None and self._table.is_cached

    def send(
        self,
        batch: Batch,
        effects: Effects,
        *,
        leaves_out: bool = False,
        knows_old: bool = False,
    ) -> None:
        """Store the changes, if the table has a store, and forward them now or at the end.

        ``leaves_out`` says that a change from nothing to nothing is left out, and ``knows_old``
        that the changes have their old values.
        """
        if self._table is not None:
            changes = self._table.take(batch, effects, leaves_out=leaves_out, knows_old=knows_old)
            if not self._table.is_cached:
                self.forward(changes, effects)
            return
        if leaves_out:
            had = [False] * len(batch) if batch.old is None else batch.old.are_known()
            mask = [one or other for one, other in zip(batch.values.are_known(), had, strict=True)]
            batch = batch if all(mask) else batch.keep(mask)
        self.forward(batch, effects)

    def hand_off(self) -> bool:
        is_handed_off = super().hand_off()
        if is_handed_off and self._table is not None:
            self._table.leave = self.leave
        return is_handed_off

    def finish(self, effects: Effects) -> None:
        if self._table is not None:
            last = self._table.finish(effects)
            if last is not None and self._table.is_cached:
                self.forward(last, effects)
        super().finish(effects)

    def reset(self) -> None:
        if self._table is not None:
            self._table.reset()


class DerivedTableColumns(StoredTableColumns):
    """Computes the new values, and the old ones if a later node needs them.

    If the rows are stored, the old values are those of the store.
    """

    def derived(self, batch: Batch) -> BatchColumn:
        """Return what becomes of the values of these rows; ``None`` stays ``None``."""
        raise NotImplementedError

    def with_derived(self, batch: Batch) -> Batch:
        old = None
        if self.node.sends_old and self._table is None and batch.old is not None:
            old = self.derived(batch.with_columns(batch.keys, batch.old))
        return batch.with_columns(batch.keys, self.derived(batch), old)
