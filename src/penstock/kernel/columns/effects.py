"""What a batch writes, sends and drops, kept back until the whole batch has succeeded."""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import Places
from penstock.kernel.observing.node_meter import NodeMeter
from penstock.kernel.processing_log import LOGGED_DROPS
from penstock.kernel.raw_columns import RawColumns, Timestamps, listed
from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers
from penstock.model.rules.table_rule import LastRows, is_change
from penstock.serde.column_serde import Encoded
from penstock.state.bytes_store import Write
from penstock.state.layers.bulk import BulkRows

#: The place of a record among all of the batch, and the row of its key from then on.
Change = tuple[int, bytes | None]

#: In their order. A list among them has what was decided later, and comes at this place.
Actions = list[Any]

K = TypeVar("K")
V = TypeVar("V")


@runtime_checkable
class ColumnCollector(Protocol):
    """A collector that takes many records of one topic at once."""

    def send_columns(
        self,
        topic: str,
        keys: Encoded,
        values: Encoded,
        timestamps: Timestamps,
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None: ...


class _Writes(NamedTuple):
    """Rows of one store. ``values`` are the rows without their timestamps, if they are known."""

    keys: Sequence[bytes]
    rows: Sequence[bytes | None]
    timestamps: Sequence[int]
    values: Sequence[bytes | None] | None


@dataclass(slots=True)
class Effects:
    """Writes and sends in the order in which they were decided. ``apply`` carries them out."""

    #: Counts the time of what nodes have decided, too.
    meter: NodeMeter | None = None
    #: Whether each dropped record has to be named, which only single records can do.
    names_drops: bool = False
    #: The task's stream time at the last record so far, if processors of the user see it.
    stream_time: int = -1
    #: How many times islands have called their functions for a piece of a batch.
    island_calls: int = 0
    #: What has to be done, and the node that has decided it.
    _actions: Actions = field(default_factory=list)
    _dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    _skipped: set[tuple[str, int, int]] = field(default_factory=set)
    #: Rows that this batch will write, by store. Reads within the batch see them.
    _rows: dict[str, dict[bytes, bytes | None]] = field(default_factory=dict)
    #: The newest of these rows, which have not been merged into ``_rows`` yet.
    _unread: dict[str, list[Iterable[Write]]] = field(default_factory=dict)
    #: By store, what the executors of its nodes share in this batch.
    _shared: dict[str, Any] = field(default_factory=dict)
    #: Writes to stores behind a cache. They are merged and carried out once per batch.
    _held: dict[str, list[_Writes]] = field(default_factory=dict)
    #: Changes that tables have taken and not written yet: by store and key, the place of each among
    #: all records of the batch, and its row.
    _changes: dict[str, dict[bytes, list[Change]]] = field(default_factory=dict)
    #: What this batch adds to notes of the task, by the identity of the notes.
    _notes: dict[int, dict[Any, Any]] = field(default_factory=dict)

    def add(self, action: Callable[[], None]) -> None:
        node = None if self.meter is None else self.meter.node
        self._actions.append((node, action))

    def keep_place(self) -> Actions:
        """Keep a place among the actions for those of ``in_place``."""
        place: Actions = []
        self._actions.append(place)
        return place

    @contextmanager
    def in_place(self, place: Actions) -> Iterator[None]:
        """Put all actions that are added meanwhile to a place that was kept for them."""
        before, self._actions = self._actions, place
        try:
            yield
        finally:
            self._actions = before

    def shared(self, store: str, make: Callable[[], V]) -> V:
        """Return what the executors of a node share in this batch; the first one makes it.

        A node has one executor for each input that reaches it.
        """
        if store not in self._shared:
            self._shared[store] = make()
        found: V = self._shared[store]
        return found

    def skip(self, record: RawRecord, ask: Callable[[], None]) -> None:
        """Leave a record out; ``ask`` asks the handler when the effects are applied."""
        self._skipped.add((record.topic, record.partition, record.offset))
        self.add(ask)

    @property
    def has_skipped(self) -> bool:
        return bool(self._skipped)

    def is_skipped(self, record: RawRecord) -> bool:
        return (record.topic, record.partition, record.offset) in self._skipped

    def newest(self, records: RawColumns) -> int:
        """Return the highest timestamp of records that were not skipped, or -1 if there is none."""
        if not self._skipped:
            times = records.timestamps
            return int(times.max()) if isinstance(times, np.ndarray) else max(times)
        topic, partition = records.topic, records.partition
        return max(
            (
                time
                for offset, time in zip(records.offsets, listed(records.timestamps), strict=True)
                if (topic, partition, offset) not in self._skipped
            ),
            default=-1,
        )

    def notes(self, kept: dict[K, V]) -> MutableMapping[K, V]:
        """Return notes of the task as the batch sees them; what it adds is kept if it succeeds."""
        if id(kept) not in self._notes:
            added: dict[K, V] = {}
            self._notes[id(kept)] = added
            self.add(lambda: kept.update(added))
        return ChainMap(self._notes[id(kept)], kept)

    def drop(self, node: str, reason: str, count: int) -> None:
        if count and self.names_drops and reason in LOGGED_DROPS:
            raise NotProvenError("a record is dropped, and the log has to name it")
        if count:
            self._dropped[node, reason] += count

    def read(self, store: str, rows: BulkRows, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return rows as the batch sees them at this point: with its own writes."""
        found, written = rows.read(keys), self.written(store)
        if not written:
            return found
        return [written.get(key, row) for key, row in zip(keys, found, strict=True)]

    def read_at(
        self, store: str, rows: BulkRows, keys: Sequence[bytes], order: Places
    ) -> list[bytes | None]:
        """Return rows as records at these places see them; their table may write them later."""
        found, changes = self.read(store, rows, keys), self._changes.get(store)
        if changes is None:
            return found
        asked = zip(keys, order.tolist(), found, strict=True)
        return [
            _row_at(changes[key], place, row) if key in changes else row
            for key, place, row in asked
        ]

    def note_changes(
        self, store: str, keys: Sequence[bytes], rows: Sequence[bytes | None], order: Places
    ) -> None:
        """Note changes of rows that will be written at the end of the batch, in their order."""
        changes = self._changes.setdefault(store, {})
        for key, place, row in zip(keys, order.tolist(), rows, strict=True):
            changes.setdefault(key, []).append((place, row))

    def written(self, store: str) -> Mapping[bytes, bytes | None]:
        """Return the rows that the batch will write so far; ``None`` for a row that it deletes."""
        for writes in self._unread.pop(store, ()):
            self._rows.setdefault(store, {}).update(writes)
        return self._rows.get(store, {})

    def add_rows(
        self,
        store: str,
        keys: Sequence[bytes],
        rows: Sequence[bytes | None],
        write: Callable[[], None],
    ) -> None:
        """Add what replaces rows; reads within the batch see them."""
        self._unread.setdefault(store, []).append(zip(keys, rows, strict=True))
        self.add(write)

    def write(
        self,
        store: str,
        rows: BulkRows,
        keys: Sequence[bytes],
        written: Sequence[bytes | None],
        timestamps: Sequence[int],
        values: Sequence[bytes | None] | None = None,
    ) -> None:
        """Replace rows. ``values`` are the rows without their timestamps, if they are known."""
        if not rows.is_cached:
            self.add_rows(
                store, keys, written, lambda: rows.write(keys, written, timestamps, values)
            )
            return
        self._unread.setdefault(store, []).append(zip(keys, written, strict=True))
        if store not in self._held:
            self._held[store] = []
            self.add(lambda: rows.write(*_merged(self._held[store], rows)))
        self._held[store].append(_Writes(keys, written, timestamps, values))

    def apply(self, dropped: Counter[tuple[str, str]]) -> None:
        self._apply(self._actions)
        dropped.update(self._dropped)

    def _apply(self, actions: Actions) -> None:
        for each in actions:
            if isinstance(each, list):
                self._apply(each)
                continue
            node, action = each
            if self.meter is not None:
                self.meter.enter(node, 0)
            action()


def _row_at(changes: Sequence[Change], place: int, stored: bytes | None) -> bytes | None:
    """Return the row after the last change before a place."""
    number = bisect_left(changes, place, key=itemgetter(0))
    return changes[number - 1][1] if number else stored


def _merged(writes: list[_Writes], rows: BulkRows) -> _Writes:
    """Return what a cache would write at the commit: the last row of each key, in its order.

    A row that was made and deleted since the last commit was never in the store, so it is left out.
    """
    if len(writes) == 1:
        return writes[0]
    last: LastRows[bytes, tuple[bytes | None, int]] = LastRows()
    for each in writes:
        for key, row, time in zip(each.keys, each.rows, each.timestamps, strict=True):
            last.put(key, (row, time))
    gone = [key for key, (row, _) in last.items() if row is None]
    for key, row in zip(gone, rows.read(gone), strict=True):
        if not is_change(False, row is not None):
            del last[key]
    written = [row for row, _ in last.values()]
    return _Writes([*last], written, [time for _, time in last.values()], None)


Emit = Callable[[Any, Effects], None]
