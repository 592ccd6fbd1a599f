"""The buffer of ``suppress`` as a batch leaves it, for column executors.

Nothing changes in the buffer before the whole batch has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.buffer_value import BufferValue, buffered_size
from penstock.state.codec import Codec

if TYPE_CHECKING:
    from penstock.state.buffer.change_buffer import ChangeBuffer

#: The time of a change in the buffer, and the change.
Waiting = tuple[int, BufferValue]


class BulkChanges:
    """A buffer whose changes a batch may take and leave as bytes."""

    def __init__(self, buffer: ChangeBuffer, keys: Codec, values: Codec) -> None:
        self._buffer = buffer
        self.keys = keys
        self.values = values

    def overlay(self) -> ChangesOfBatch:
        """Return the changes of a batch, which has none so far."""
        return ChangesOfBatch(self._buffer)


class ChangesOfBatch:
    """What the buffer holds after the changes so far, until ``apply``.

    What is due leaves the buffer in the order of time and key. So the entries that were there
    before the batch are read from the front, once.
    """

    def __init__(self, buffer: ChangeBuffer) -> None:
        self._buffer = buffer
        self._stored: Iterator[tuple[int, bytes]] = buffer.places()
        self._next_stored = next(self._stored, None)
        #: The places of keys that this batch has added.
        self._added: list[tuple[int, bytes]] = []
        #: The keys that have changed, in the order of their first changes; ``None`` if it has left.
        self._changed: dict[bytes, Waiting | None] = {}
        self.num_records = buffer.num_records
        self.size_bytes = buffer.buffer_size_bytes

    def put(
        self,
        time: int,
        raw_key: bytes,
        new: bytes | None,
        old: bytes | None,
        context: RecordContext,
    ) -> None:
        """Add a change. If its key waits already, it keeps its time."""
        waiting = self._get(raw_key)
        if waiting is None:
            heappush(self._added, (time, raw_key))
            self.num_records += 1
            value = BufferValue(old, old, new, context)
        else:
            time, replaced = waiting
            self.size_bytes -= buffered_size(raw_key, replaced)
            value = BufferValue(replaced.prior, old, new, context)
        self._changed[raw_key] = time, value
        self.size_bytes += buffered_size(raw_key, value)

    @property
    def first_time(self) -> int:
        """Return the time of the first change; the highest possible time if there is none."""
        stored = MAX_LONG if self._next_stored is None else self._next_stored[0]
        return min(stored, self._added[0][0]) if self._added else stored

    def take_first(self) -> tuple[bytes, BufferValue]:
        """Remove the first change."""
        stored = self._next_stored
        if stored is None or (self._added and self._added[0] < stored):
            _, raw_key = heappop(self._added)
        else:
            _, raw_key = stored
            self._next_stored = next(self._stored, None)
        waiting = self._get(raw_key)
        assert waiting is not None
        self._changed[raw_key] = None
        self.num_records -= 1
        self.size_bytes -= buffered_size(raw_key, waiting[1])
        return raw_key, waiting[1]

    def _get(self, raw_key: bytes) -> Waiting | None:
        if raw_key in self._changed:
            return self._changed[raw_key]
        return self._buffer.waiting(raw_key)

    def apply(self) -> None:
        """Change the buffer; its next flush logs the keys."""
        for raw_key, waiting in self._changed.items():
            self._buffer.replace(raw_key, waiting)
