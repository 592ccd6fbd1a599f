"""The layer that lets rows of a key-value store expire. A commit deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any

from penstock.model.rules.ttl_rule import TtlRule
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.codec import Codec
from penstock.state.environment import StoreEnvironment
from penstock.state.header_rows import timestamp_place
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec

_LONG = Struct(">q")
#: How many rows a commit checks: a few milliseconds, whatever the size of the store.
_LOOKED_AT = 1_000


class Expiring:
    """Hides rows that have expired, and deletes some of them at each commit.

    A row expires when the clock reaches its timestamp plus the time to live. ``sweep`` checks some
    rows at each commit, in the order of keys, and writes a tombstone for each expired one, so that
    the changelog loses it, too. It does nothing while no row can have expired.
    """

    def __init__(
        self,
        inner: BytesStore,
        *,
        ttl_ms: int,
        now: Callable[[], int],
        timestamp_at: Callable[[bytes], int],
    ) -> None:
        self._inner = inner
        self._rule = TtlRule(ttl_ms)
        self._now = now
        self._timestamp_at = timestamp_at
        #: The earliest time at which a row can expire. It is not known at the start.
        self._due: int = 0
        #: The key at which the next sweep begins (None is the first), and the earliest expiry so
        #: far.
        self._place: bytes | None = None
        self._least: int | None = None

    def get(self, key: bytes) -> bytes | None:
        return self._alive(self._inner.get(key))

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._alive(row) for row in self._inner.multi_get(keys)]

    def put(self, key: bytes, value: bytes | None) -> None:
        self._note(value)
        self._inner.put(key, value)

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        batch = list(writes)
        for _, value in batch:
            self._note(value)
        self._inner.write(batch, deleted=deleted)

    def delete_range(self, start: bytes, end: bytes) -> None:
        self._inner.delete_range(start, end)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        entries = self._inner.scan(start, end, reverse=reverse)
        return ((key, row) for key, row in entries if self._is_alive(row))

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()

    def sweep(self) -> None:
        """Delete some of the rows that have expired. The next call continues."""
        now = self._now()
        if self._place is None and now < self._due:
            return
        expired: list[bytes] = []
        place: bytes | None = None
        for looked_at, (key, row) in enumerate(self._inner.scan(self._place, None), start=1):
            expiry = self._expiry(row)
            if expiry <= now:
                expired.append(key)
            else:
                self._least = expiry if self._least is None else min(self._least, expiry)
            if looked_at == _LOOKED_AT:
                place = key + b"\0"
                break
        for key in expired:
            self._inner.put(key, None)
        self._place = place
        if place is None:
            # All rows have been checked. Without a row, the next put sets the time.
            self._due = self._rule.expiry(now) if self._least is None else self._least
            self._least = None

    def forget(self) -> None:
        """Check all rows again, since some were restored."""
        self._due, self._place, self._least = 0, None, None

    def _alive(self, row: bytes | None) -> bytes | None:
        return row if row is not None and self._is_alive(row) else None

    def _is_alive(self, row: bytes) -> bool:
        return self._rule.is_alive(self._timestamp_at(row), self._now())

    def _expiry(self, row: bytes) -> int:
        return self._rule.expiry(self._timestamp_at(row))

    def _note(self, row: bytes | None) -> None:
        if row is not None:
            expiry = self._expiry(row)
            self._due = min(self._due, expiry)
            if self._place is not None:
                # The current sweep may have passed this key.
                self._least = expiry if self._least is None else min(self._least, expiry)


def expiring(spec: StoreSpec, env: StoreEnvironment, inner: BytesStore) -> Expiring:
    """Add the layer that lets rows expire, if the spec asks for it."""
    assert spec.ttl_ms is not None
    timestamp_at: Callable[[bytes], int] = lambda row: int(_LONG.unpack_from(row)[0])  # noqa: E731
    if spec.headers is not StoreHeaders.NONE:
        timestamp_at = lambda row: int(_LONG.unpack_from(row, timestamp_place(row))[0])  # noqa: E731
    return Expiring(inner, ttl_ms=spec.ttl_ms, now=_clock(spec, env), timestamp_at=timestamp_at)


def stamped(codec: Codec, spec: StoreSpec, env: StoreEnvironment) -> Codec:
    """Return the codec of plain values that expire: eight bytes of time, then the value.

    The time is that of the record being processed or, by wall clock, that of the write.
    """
    write, read, context = codec.write, codec.read, env.context
    clock = _clock(spec, env) if spec.ttl_by_wall_clock else lambda: context.timestamp

    def write_stamped(value: Any) -> bytes | None:
        data = write(value)
        return None if data is None else _LONG.pack(clock()) + data

    return replace(codec, write=write_stamped, read=lambda data: read(data[8:]))


def is_stamped(spec: StoreSpec) -> bool:
    """Return whether the rows have a timestamp only because they expire."""
    return spec.ttl_ms is not None and spec.kind is StoreKind.KEY_VALUE


def _clock(spec: StoreSpec, env: StoreEnvironment) -> Callable[[], int]:
    def now() -> int:
        # At each call, because a task sets the clocks after it has opened its stores.
        return env.wall_clock() if spec.ttl_by_wall_clock else env.stream_time()

    return now
