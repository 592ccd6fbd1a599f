"""Tells which windows close in a batch, and at which record, for aggregations over columns.

Record executors ask their stores after each record. A window that has closed takes no more records,
so its row after the batch is the one that it had when it closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn, Places, Times, WindowedColumn
from penstock.kernel.columns.paths.meetings import together
from penstock.kernel.columns.store_rows import read_times
from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.model.windows.rule import WindowRule
from penstock.model.windows.sliding_rule import SlidingRule
from penstock.state.layers.bulk import BulkWindows

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: The start of a window and the bytes of its key: stores show windows in this order.
Placed = tuple[int, bytes]


class Emission(NamedTuple):
    """The windows with these starts, as far as they are in the store, leave at a record."""

    place: int
    starts: range


class FinalWindows:
    """The records of a batch so far, and what they close."""

    def __init__(
        self, rule: WindowRule | SlidingRule, rows: BulkWindows, *, emits_first: bool
    ) -> None:
        self._rule = rule
        self._rows = rows
        self._emits_first = emits_first
        self.reset()

    def reset(self) -> None:
        self._records: list[Batch] = []
        self._seen: list[Times] = []
        self._written: list[Times] = []
        self._may_emit: list[NDArray[np.bool_]] = []

    def add(self, batch: Batch, seen: Times, *, may_emit: NDArray[np.bool_] | None = None) -> None:
        """Add records and the stream time at each. After some of them nothing may leave."""
        # Of the record, only its position, headers and place are asked for.
        nothing = BatchColumn([None] * len(batch))
        self._records.append(batch.with_columns(nothing, nothing))
        self._seen.append(seen)
        self._written.append(np.full(len(batch), NO_TIME))
        self._may_emit.append(np.full(len(batch), True) if may_emit is None else may_emit)

    def note_written(self, records: Places, starts: Times) -> None:
        """Note which windows records are folded into: the last ones added, or those of a batch."""
        np.maximum.at(self._written[-1], records, starts)

    def join(self) -> None:
        """Make one piece of all pieces of a batch."""
        self._records = [together(self._records)]
        self._seen = [np.concatenate(self._seen)]
        self._written = [np.concatenate(self._written)]
        self._may_emit = [np.concatenate(self._may_emit)]

    def emissions(self, clock: OperatorClock, now: int, interval_ms: int) -> list[Emission]:
        """Return what leaves when; the clock is left as it is after the batch."""
        seen, found = np.concatenate(self._seen), list[Emission]()
        at = np.flatnonzero(np.concatenate(self._may_emit))
        # Between equal times nothing closes.
        for place in at[np.diff(seen[at], prepend=NO_TIME - 1) != 0].tolist():
            close_time = self._rule.close_time(int(seen[place]))
            if now < clock.next_time_to_emit:
                break
            if clock.is_time_to_emit(close_time, now, interval_ms):
                last = None if clock.last_close_time == NO_TIME else clock.last_close_time
                starts = self._rule.closed_starts(close_time, last)
                if starts:
                    clock.last_close_time = close_time
                    found.append(self._shown(place, starts))
        return [each for each in found if each.starts]

    def _shown(self, place: int, starts: range) -> Emission:
        """Leave out windows that the store does not show any more; a cache shows all of them."""
        if self._rows.is_cached:
            return Emission(place, starts)
        written = np.concatenate(self._written)[: place if self._emits_first else place + 1]
        newest = max(self._rows.stream_time, int(written.max(initial=NO_TIME)))
        oldest = self._rows.oldest_shown(newest)
        return Emission(place, range(max(starts.start, oldest, 0), starts.stop))

    def leave(
        self,
        clock: OperatorClock,
        task: TaskServices,
        changed: Mapping[Placed, tuple[bytes, bytes]],
        size_ms: int,
    ) -> tuple[OperatorClock, Batch | None]:
        """Return the clock after the batch, and the windows that leave; forget the batch."""
        after = copy(clock)
        emissions = self.emissions(after, task.system_time(), task.emit_interval_ms)
        closed = self.batch(emissions, changed, size_ms)
        self.reset()
        return after, closed

    def batch(
        self, emissions: list[Emission], changed: Mapping[Placed, tuple[bytes, bytes]], size_ms: int
    ) -> Batch | None:
        """Return the windows that leave; ``changed`` has times and values of those of the batch."""
        places, windows = list[int](), list[tuple[Placed, tuple[bytes, bytes]]]()
        for place, starts in emissions:
            found = dict(self._stored(starts))
            found.update((at, row) for at, row in changed.items() if at[0] in starts)
            windows += sorted(found.items())
            places += [place] * len(found)
        if not windows:
            return None
        rows = self._rows
        keys = BatchColumn(encoded=[key for (_, key), _ in windows], serde=rows.keys.serde)
        values = [value for _, (_, value) in windows]
        left = together(self._records).repeated(
            WindowedColumn(keys, [start for (start, _), _ in windows], size_ms),
            BatchColumn(encoded=values, serde=rows.values.serde),
            np.array(places, np.int64),
        )
        left.timestamps = read_times([time for _, (time, _) in windows])
        return left

    def _stored(self, starts: range) -> Iterator[tuple[Placed, tuple[bytes, bytes]]]:
        for key, start, row in self._rows.between(starts[0], starts[-1]):
            yield (start, key), (row[:8], row[8:])


def take_emission(clock: OperatorClock, after: OperatorClock) -> None:
    """Note in a clock what has been emitted."""
    clock.last_close_time = after.last_close_time
    clock.next_time_to_emit = after.next_time_to_emit


def as_placed(
    keys: Sequence[bytes], starts: Sequence[int], rows: Sequence[bytes]
) -> dict[Placed, Any]:
    """Return the windows of a batch by their place in a store."""
    placed = zip(starts, keys, strict=True)
    return {at: (row[:8], row[8:]) for at, row in zip(placed, rows, strict=True)}
