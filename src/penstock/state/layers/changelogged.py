"""The layer that writes changes of a store to its changelog topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct

from penstock.model.record import Headers, RecordContext
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.environment import Changelog

_long_at = Struct(">q").unpack_from


class ChangeLogged:
    """Appends every write to the changelog, after the inner store has it.

    The changelog record has the time of the record that is being processed. ``delete_range`` is not
    logged: stores use it to delete expired entries, and the topic has a retention of its own.
    """

    def __init__(self, inner: BytesStore, changelog: Changelog, context: RecordContext) -> None:
        self._inner = inner
        self._put = inner.put
        self._append = changelog.append
        self._context = context
        self.get = inner.get  # type: ignore[method-assign]

    def get(self, key: bytes) -> bytes | None:
        return self._inner.get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._inner.multi_get(keys)

    def put(self, key: bytes, value: bytes | None) -> None:
        self._put(key, value)
        self._append(key, value, self._context.timestamp)

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        batch = list(writes)
        self._inner.write(batch, deleted=deleted)
        for key, value in batch:
            self._append(key, value, self._context.timestamp)

    def delete_range(self, start: bytes, end: bytes) -> None:
        self._inner.delete_range(start, end)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        return self._inner.scan(start, end, reverse=reverse)

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()


class TimestampedChangelog:
    """Logs values that begin with a timestamp: the record has the timestamp, the value does not.

    So the changelog of a timestamped store looks like that of a plain one, as in Kafka Streams.
    """

    def __init__(self, inner: Changelog) -> None:
        self._append = inner.append

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        if value is None:
            self._append(key, None, timestamp, headers)
        else:
            self._append(key, value[8:], _long_at(value)[0], headers)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self.append(key, value, timestamp)
