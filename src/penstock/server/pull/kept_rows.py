"""The store of a copied table: records go in, and a cut can stop them at given offsets."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

from penstock.kafka.topic_reader import Positions, has_reached
from penstock.kernel.record_queue import RawRecord
from penstock.server.reading import Place
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.pull.table_rows import RowForm, TableRows
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.as_of import StoreAsOf, Undo

#: More records than this do not wait for a cut: it does without the table.
_MOST_WAITING = 100_000
#: An earlier moment whose rows have changed so often is given up, so that memory stays bounded.
_MOST_UNDONE = 1_000_000


class KeptRows:
    """The rows of a table up to some offsets, and as of earlier cuts. All threads may call.

    Args:
        source: The table.
        store: Where the rows are.
        positions: Where its partitions begin.
    """

    def __init__(
        self, source: DataSource, store: BytesStore, positions: Mapping[Place, int]
    ) -> None:
        self._source, self._store = source, store
        self._form = RowForm(source)
        #: The time of the newest record, by partition.
        self._stream_times: dict[int, int] = {}
        self._positions: Positions = dict(positions)
        self._read: Positions = dict(positions)
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._stops: Positions | None = None
        self._is_agreed = False
        self._waiting: list[RawRecord] = []
        self._as_of: TableRows | None = None
        #: What the newest cut that is still read needs of the rows that are overwritten.
        self._undo: weakref.ref[Undo] | None = None
        self.now = TableRows(source, self._form, store, self._stream_times)

    @property
    def source(self) -> DataSource:
        return self._source

    @property
    def positions(self) -> Positions:
        """The offset of the next record that the rows do not contain, by partition."""
        return self._positions

    def take(self, records: Sequence[RawRecord], read: Mapping[Place, int]) -> None:
        """Take records, and where their reader is now."""
        with self._lock:
            self._read = dict(read)
            self._waiting += records
            if len(self._waiting) > _MOST_WAITING:
                self._go_on()
            self._settle()

    def _settle(self) -> None:
        """Write what may be written, and keep the moment of a cut when it has come."""
        stops = self._stops
        if stops is None:
            self._write(self._waiting)
            self._waiting, self._positions = [], self._read
            return
        far = 1 << 63
        due = [r for r in self._waiting if r.offset < stops.get((r.topic, r.partition), far)]
        if due:
            self._waiting = [
                r for r in self._waiting if r.offset >= stops.get((r.topic, r.partition), far)
            ]
            self._write(due)
        self._positions = {place: min(at, stops.get(place, at)) for place, at in self._read.items()}
        if self._is_agreed and has_reached(self._positions, stops):
            self._as_of = self._remember()
            self._go_on()
            self._settle()

    def _write(self, records: Sequence[RawRecord]) -> None:
        if not records:
            return
        writes = self._form.writes(records)
        undo = None if self._undo is None else self._undo()
        if undo is not None and len(undo) <= _MOST_UNDONE:
            undo.note(self._store, writes)
            undo.is_whole = len(undo) <= _MOST_UNDONE
        self._store.write(writes)
        times = self._stream_times
        for record in records:
            if record.timestamp > times.get(record.partition, -1):
                times[record.partition] = record.timestamp

    def _remember(self) -> TableRows:
        undo = Undo()
        before = None if self._undo is None else self._undo()
        if before is not None:
            before.later = undo
        self._undo = weakref.ref(undo)
        entries = StoreAsOf(self._store, undo)
        return TableRows(self._source, self._form, entries, dict(self._stream_times))

    def _go_on(self) -> None:
        self._stops, self._is_agreed = None, False
        self._came.notify_all()

    # For the one who takes a cut

    def freeze(self) -> Positions:
        """Take nothing more into the rows; return the offsets up to which they are there."""
        with self._lock:
            self._stops, self._is_agreed, self._as_of = dict(self._positions), False, None
            return dict(self._positions)

    def stop(self, positions: Mapping[Place, int]) -> None:
        """Go on up to these offsets, keep the rows as they are there, and go on then."""
        with self._lock:
            if self._stops is not None:
                self._stops |= positions
                self._is_agreed = True
                self._settle()

    def as_of_stop(self, timeout_s: float) -> TableRows | None:
        """Return the rows as of the stop; None if they are not there in time."""
        with self._lock:
            self._came.wait_for(lambda: self._stops is None, timeout_s)
            return self._as_of

    def lift(self) -> None:
        """Forget the stop; rows that are in the hands of a cut stay."""
        with self._lock:
            self._as_of = None
            if self._stops is not None:
                self._go_on()
                self._settle()
