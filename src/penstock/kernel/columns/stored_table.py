"""The store of a materialized table, for the column executors of tables.

Record executors have ``kernel.operators.tables.table_store``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.cache_handoff import contexts_at
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped
from penstock.kernel.columns.store_rows import (
    bare,
    bulk_of,
    changed_rows,
    settled,
    stored_keys,
)
from penstock.model.rules.table_rule import is_change
from penstock.serde.column_serde import Encoded
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


#: Takes the context of each row, the effects, and columns of keys and rows.
Leave = Callable[..., None]


class StoredTable:
    """Stores the last change of each key in the batch as its row; a null value deletes the row.

    Without a cache, every change is sent. Behind a cache, the last one of each key is sent at the
    end of the batch. If a key came and went within the batch, its tombstone is neither stored nor
    sent.
    """

    def __init__(self, node: TableNode, task: TaskServices) -> None:
        self._rows: BulkRows = bulk_of(node, task)
        self._store = node.store or ""
        self._sends_old = node.sends_old
        self._gathered = Gathered()
        #: The bytes of the last value of each key that this batch has looked at so far.
        self._seen: dict[bytes, bytes | None] = {}
        self.is_cached = self._rows.is_cached
        #: Puts rows into the cache, if the nodes behind the table take single records.
        self.leave: Leave | None = None

    def take(
        self,
        batch: Batch,
        effects: Effects,
        *,
        leaves_out: bool = False,
        knows_old: bool = False,
    ) -> Batch:
        """Take changes of rows; return them with their old values, if these are needed now.

        ``leaves_out`` says that a change from nothing to nothing is neither stored nor sent, and
        ``knows_old`` that the changes have their old values, if later nodes need them.
        """
        rows = self._rows
        keys = stored_keys(batch.keys, rows.keys.serde)
        values: Encoded = batch.values.encoded(rows.values.serde)
        if self._sends_old and not knows_old and (leaves_out or not self.is_cached):
            old = self._replaced(keys, values, effects)
            column = BatchColumn(encoded=old, serde=rows.values.serde)
            batch = batch.with_columns(batch.keys, batch.values, column)
            if leaves_out:
                mask = [is_change(*pair) for pair in _known_pairs(values, old)]
                if not all(mask):
                    batch = batch.keep(mask)
                    keys = stored_keys(batch.keys, rows.keys.serde)
                    values = batch.values.encoded(rows.values.serde)
        if len(batch):
            if batch.order is not None:
                changes = changed_rows(batch.timestamps, values)
                effects.note_changes(self._store, keys, changes, batch.order)  # type: ignore[arg-type]
            self._gathered.add(
                keys, [values], batch.timestamps, batch.headers, origins=batch.origins
            )
        return batch

    def _replaced(self, keys: Encoded, values: Encoded, effects: Effects) -> list[bytes | None]:
        """Return the bytes of the value that each change replaces."""
        seen = self._seen
        missing = [key for key in dict.fromkeys(keys) if key not in seen]
        if missing:
            settled(self._rows)
            rows = effects.read(self._store, self._rows, missing)  # type: ignore[arg-type]
            seen.update(zip(missing, bare(rows), strict=True))  # type: ignore[arg-type]
        old = []
        for key, value in zip(keys, values, strict=True):
            old.append(seen[key])  # type: ignore[index]
            seen[key] = value  # type: ignore[index]
        return old

    def finish(self, effects: Effects) -> Batch | None:
        """Write the rows; return the last change of each key, as a cache sends it."""
        gathered = self._gathered
        self.reset()
        if not len(gathered):
            return None
        return self._written(gathered, effects)

    @property
    def rows(self) -> BulkRows:
        return self._rows

    def reset(self) -> None:
        self._gathered, self._seen = Gathered(), {}

    def _written(self, records: Gathered, effects: Effects) -> Batch | None:
        rows = self._rows
        settled(rows)
        serde = rows.values.serde
        groups = grouped(records.keys)
        in_turn = groups.last_places()[groups.in_turn()]
        last = Batch(
            BatchColumn(encoded=records.keys, serde=rows.keys.serde, is_input=False),
            # A cache sends what it reads back.
            BatchColumn(encoded=records.items[0], serde=serde, is_input=False),  # type: ignore[arg-type]
            records.timestamps,
            records.headers,
            records.origins,
        ).take(in_turn)
        if self.leave is None and self.is_cached and (self._sends_old or last.values.has_nulls()):
            last = self._changed(last, effects)
        keys, values = last.keys.encoded(rows.keys.serde), last.values.encoded(serde)
        written = changed_rows(last.timestamps, values)
        if self.leave is not None:
            self.leave(contexts_at(records, in_turn), effects, keys, written)
            return None
        effects.write(self._store, rows, keys, written, last.timestamps.tolist())  # type: ignore[arg-type]
        return last

    def _changed(self, last: Batch, effects: Effects) -> Batch:
        """Return the rows that change, with the values that they had before the batch."""
        rows = self._rows
        keys: Sequence[bytes] = last.keys.encoded(rows.keys.serde)  # type: ignore[assignment]
        stored = rows.read(keys)
        # If an earlier run of the batch has deleted the row, this tombstone is a change of its
        # timestamp.
        earlier = effects.written(self._store)
        mask = [
            is_change(is_known, row is not None or key in earlier)
            for key, row, is_known in zip(keys, stored, last.values.are_known(), strict=True)
        ]
        if self._sends_old:
            last.old = BatchColumn(encoded=bare(stored), serde=rows.values.serde)
        return last if all(mask) else last.keep(mask)


def _known_pairs(new: Encoded, old: Encoded) -> list[tuple[bool, bool]]:
    pairs = zip(new, old, strict=True)
    return [(one is not None, other is not None) for one, other in pairs]
