"""The layer that lets rows of a key-value store expire: hidden at once, deleted at a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any

from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.codec import Codec
from penstock.state.environment import StoreEnvironment
from penstock.state.header_rows import timestamp_place
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec

_LONG = Struct(">q")
#: How many rows a commit looks at: a store of any size costs a commit the same few milliseconds.
_LOOKED_AT = 1_000


class Expiring:
    """Hides rows whose age has reached the time to live, and deletes them little by little.

    A row expires when the clock reaches its timestamp plus the time to live. ``sweep`` goes
    through the rows in order of their keys, some at each commit, and writes a tombstone for each
    that has expired, so that it leaves the changelog too. While no row can have expired it does
    nothing.
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
        self._ttl_ms = ttl_ms
        self._now = now
        self._timestamp_at = timestamp_at
        #: The first time at which a row may expire. At the start that is not known.
        self._due: int = 0
        #: Where the next sweep begins, None for the first key; the least expiry it has met so far.
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
        return ((key, row) for key, row in entries if self._expiry(row) > self._now())

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()

    def sweep(self) -> None:
        """Delete some of the rows that have expired; what is left is for the next time."""
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
            # Everything has been looked at. Without a row, the next put says what is due.
            self._due = now + self._ttl_ms if self._least is None else self._least
            self._least = None

    def forget(self) -> None:
        """Look at every row again: some have come from elsewhere."""
        self._due, self._place, self._least = 0, None, None

    def _alive(self, row: bytes | None) -> bytes | None:
        return None if row is None or self._expiry(row) <= self._now() else row

    def _expiry(self, row: bytes) -> int:
        return self._timestamp_at(row) + self._ttl_ms

    def _note(self, row: bytes | None) -> None:
        if row is not None:
            expiry = self._expiry(row)
            self._due = min(self._due, expiry)
            if self._place is not None:
                # The sweep under way may be past its key.
                self._least = expiry if self._least is None else min(self._least, expiry)


def expiring(spec: StoreSpec, env: StoreEnvironment, inner: BytesStore) -> Expiring:
    """Let the rows of a store expire as its spec says."""
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
        # Looked up at each call: a task sets the clocks after its stores are open.
        return env.wall_clock() if spec.ttl_by_wall_clock else env.stream_time()

    return now
