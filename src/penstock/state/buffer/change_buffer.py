"""The buffer of ``suppress``: the latest change per key, in memory, in time order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sortedcontainers import SortedDict

from penstock.errors import NullArgumentError
from penstock.model.change import Change
from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import ValueAndTimestamp
from penstock.state.buffer.buffer_value import (
    BufferValue,
    buffered_size,
    split_time,
    with_time,
)
from penstock.state.buffer.buffered import Buffered, Eviction
from penstock.state.buffer.bulk_changes import BulkChanges, Waiting
from penstock.state.codec import Codec
from penstock.state.environment import Changelog
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.window.window_bytes import ChangelogRecord


class ChangeBuffer:
    """The latest change per key, in memory. A key keeps the place of its first change.

    Changes are logged at the flush, once per key: a key that has come and gone since the last
    flush need not be logged.
    """

    def __init__(
        self,
        spec: StoreSpec,
        *,
        keys: Codec,
        values: Codec,
        changelog: Changelog | None,
        context: RecordContext,
    ) -> None:
        self.name = spec.name
        self.kind: StoreKind = spec.kind
        self.persistent = False
        self.buffer_size_bytes = 0
        self._keys = keys
        self._values = values
        self._changelog = changelog
        self._context = context
        self._times: dict[bytes, int] = {}
        self._sorted: SortedDict[tuple[int, bytes], BufferValue] = SortedDict()
        # A dict, because it has an order: that of the changelog must not depend on hashes.
        self._dirty: dict[bytes, None] = {}
        self._is_open = True
        #: The same as bytes, for column executors.
        self.bulk = BulkChanges(self, keys, values)

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def num_records(self) -> int:
        return len(self._times)

    @property
    def min_timestamp(self) -> int:
        return self._sorted.peekitem(0)[0][0] if self._sorted else MAX_LONG

    def put(self, time: int, key: Any, value: Change, record_context: RecordContext) -> bool:
        if value is None:
            raise NullArgumentError("null-value", f"buffer {self.name!r}: the change is None")
        raw_key = self._keys.write_key(key)
        new, old = self._values.write_checked(value.new), self._values.write_checked(value.old)
        buffered = self._get(raw_key)
        prior = old if buffered is None else buffered.prior
        self._set(time, raw_key, BufferValue(prior, old, new, record_context.copy()))
        self._dirty[raw_key] = None
        return True

    def evict_while(
        self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]
    ) -> None:
        read_value = self._values.read_checked
        while self._sorted and predicate():
            (_, raw_key), found = self._sorted.peekitem(0)
            change = Change(read_value(found.new), read_value(found.old))
            callback(Eviction(self._keys.read_checked(raw_key), change, found.context))
            self._remove(raw_key)
            self._dirty[raw_key] = None

    def prior_value_for_buffered(self, key: Any) -> Buffered:
        found = self._get(self._keys.write_key(key))
        prior = None if found is None else self._values.read_checked(found.prior)
        # The time of the prior value is not known here.
        row = None if prior is None else ValueAndTimestamp(prior, -1)
        return Buffered(found is not None, row)

    def flush(self) -> None:
        changelog = self._changelog
        if changelog is not None:
            for raw_key in self._dirty:
                found = self._get(raw_key)
                data = None
                if found is not None:
                    data = with_time(found.encode(), self._times[raw_key])
                changelog.append(raw_key, data, self._context.timestamp)
        self._dirty.clear()

    def close(self) -> None:
        self._is_open = False
        self.buffer_size_bytes = 0
        self._times.clear()
        self._sorted.clear()
        self._dirty.clear()

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        for raw_key, data, _ in records:
            # Always remove it first: the key may have left and come back between two flushes, with
            # another time.
            self._remove(raw_key)
            if data is not None:
                value, time = split_time(data)
                self._set(time, raw_key, value)

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        return False

    def places(self) -> Iterator[tuple[int, bytes]]:
        """Return time and key of every change in order. The buffer must not change meanwhile."""
        return iter(self._sorted)

    def waiting(self, raw_key: bytes) -> Waiting | None:
        """Return the change of a key, with its time in the buffer."""
        time = self._times.get(raw_key)
        return None if time is None else (time, self._sorted[time, raw_key])

    def replace(self, raw_key: bytes, waiting: Waiting | None) -> None:
        """Set the change of a key and its time, or remove it."""
        if waiting is None or self._times.get(raw_key) != waiting[0]:
            self._remove(raw_key)
        if waiting is not None:
            self._set(waiting[0], raw_key, waiting[1])
        self._dirty[raw_key] = None

    def _get(self, raw_key: bytes) -> BufferValue | None:
        time = self._times.get(raw_key)
        return None if time is None else self._sorted[time, raw_key]

    def _set(self, time: int, raw_key: bytes, value: BufferValue) -> None:
        replaced = self._get(raw_key)
        if replaced is not None:
            self.buffer_size_bytes -= buffered_size(raw_key, replaced)
        place = self._times.setdefault(raw_key, time)
        self._sorted[place, raw_key] = value
        self.buffer_size_bytes += buffered_size(raw_key, value)

    def _remove(self, raw_key: bytes) -> None:
        time = self._times.pop(raw_key, None)
        if time is not None:
            self.buffer_size_bytes -= buffered_size(raw_key, self._sorted.pop((time, raw_key)))
