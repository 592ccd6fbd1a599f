"""A versioned store of bytes: the latest version of each key, and the older ones by segment.

An older version is in the segment of the time at which it ended, so that whole segments can
expire. Serdes and logging: ``versioned_store``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import (
    PUT_RETURN_CODE_NOT_PUT,
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    VersionedRecord,
)
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.segments import META, SEGMENT_SIZE, Segments, segment_prefix
from penstock.state.versioned.versioned_segment import SegmentVersions

_LONG = Struct(">q")
#: Is after all segments in key order, and never expires.
_LATEST = b"\xff" * 8

_MINUTE_MS = 60_000


def default_versioned_interval_ms(retention_ms: int) -> int:
    """Return Kafka Streams' segment length for a history retention."""
    if retention_ms <= _MINUTE_MS:
        return max(retention_ms // 3, 2_000)
    if retention_ms <= 5 * _MINUTE_MS:
        return max(retention_ms // 5, 20_000)
    if retention_ms <= 60 * _MINUTE_MS:
        return max(retention_ms // 12, _MINUTE_MS)
    return max(retention_ms // 24, 5 * _MINUTE_MS)


class VersionedBytes:
    """The versions of a key up to ``retention_ms`` before the highest time, and the latest one.

    Invariant: the versions of a key, in all segments and the latest one, do not overlap. A put
    reads what it needs, computes the changes, and writes them as one batch.
    """

    def __init__(self, store: BytesStore, retention_ms: int, interval_ms: int) -> None:
        self._store = store
        self._retention_ms = retention_ms
        self._segments = Segments(store, retention_ms, interval_ms)
        self._pending: dict[bytes, bytes | None] = {}

    @property
    def oldest_readable(self) -> int:
        """The first time as of which older versions can be read."""
        return self._segments.stream_time - self._retention_ms

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        """Put a version; return the time until which it is valid, or a return code."""
        # The history retention is also the grace period.
        if timestamp < self.oldest_readable:
            return PUT_RETURN_CODE_NOT_PUT
        valid_to = self._put(key, value, timestamp)
        self._write_pending()
        return valid_to

    def restore(self, records: Iterable[tuple[bytes, bytes | None, int]]) -> None:
        # Kafka Streams uses the highest time of the batch for all of its records. That saves
        # writes, but it skips expired deletions, so that deleted values come back.
        for key, value, timestamp in records:
            if timestamp >= self.oldest_readable:
                self._put(key, value, timestamp)
        self._write_pending()

    def get(self, key: bytes) -> VersionedRecord[bytes] | None:
        latest = self._latest(key)
        return None if latest is None else VersionedRecord(latest[1], latest[0])

    def get_as_of(self, key: bytes, as_of: int) -> VersionedRecord[bytes] | None:
        latest = self._latest(key)
        if latest is not None and latest[0] <= as_of:
            return VersionedRecord(latest[1], latest[0])
        if as_of < self.oldest_readable:
            return None
        for segment in reversed(self._segments.between(as_of, MAX_LONG)):
            versions = self._read(segment, key)
            if versions is None or versions.min_timestamp > as_of:
                continue
            if versions.next_timestamp <= as_of:
                return None
            found = versions.find(as_of)
            if found.value is None:
                return None
            return VersionedRecord(found.value, found.valid_from, found.valid_to)
        return None

    def versions(self, key: bytes, time_from: int, time_to: int) -> list[VersionedRecord[bytes]]:
        """Return every version that is valid at some time of the span, newest first."""
        found: list[VersionedRecord[bytes]] = []
        latest = self._latest(key)
        if latest is not None and latest[0] <= time_to:
            found.append(VersionedRecord(latest[1], latest[0]))
        if time_to >= self.oldest_readable:
            found.extend(self._older_versions(key, time_from, time_to))
        return found

    def all_keys(self) -> Iterator[bytes]:
        """Return every key that has a version, in no particular order."""
        seen: set[bytes] = set()
        for physical_key, _ in self._store.scan(None, None):
            key = physical_key[SEGMENT_SIZE:]
            if not physical_key.startswith(META) and key not in seen:
                seen.add(key)
                yield key

    def _older_versions(
        self, key: bytes, time_from: int, time_to: int
    ) -> Iterator[VersionedRecord[bytes]]:
        for segment in reversed(self._segments.between(time_from, MAX_LONG)):
            versions = self._read(segment, key)
            if versions is not None:
                valid_to = versions.next_timestamp
                for valid_from, value in versions.versions:
                    if value is not None and valid_from <= time_to and valid_to > time_from:
                        yield VersionedRecord(value, valid_from, valid_to)
                    valid_to = valid_from

    def flush(self) -> None:
        self._segments.flush()

    def close(self) -> None:
        self._segments.close()

    def _put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        self._advance(timestamp)
        latest = self._latest(key)
        if latest is not None and timestamp >= latest[0]:
            if timestamp > latest[0]:
                self._retire(key, latest[1], latest[0], timestamp)
            self._put_latest(key, value, timestamp)
            return PUT_RETURN_CODE_VALID_TO_UNDEFINED
        return self._put_older(key, value, timestamp, None if latest is None else latest[0])

    def _put_older(
        self, key: bytes, value: bytes | None, timestamp: int, next_timestamp: int | None
    ) -> int:
        """Find the next version, segment by segment, back in time; None if there is none."""
        for segment in reversed(self._segments.between(timestamp, MAX_LONG)):
            versions = self._read(segment, key)
            if versions is None:
                continue
            if versions.next_timestamp <= timestamp:
                break
            if versions.min_timestamp <= timestamp:
                return self._put_within(segment, versions, key, value, timestamp)
            next_timestamp = versions.min_timestamp
        if next_timestamp is not None:
            return self._put_before(key, value, timestamp, next_timestamp)
        if value is not None:
            self._put_latest(key, value, timestamp)
        else:
            self._put_last_deletion(key, timestamp)
        return PUT_RETURN_CODE_VALID_TO_UNDEFINED

    def _put_within(
        self,
        segment: int,
        versions: SegmentVersions,
        key: bytes,
        value: bytes | None,
        timestamp: int,
    ) -> int:
        """Put a version between others of a segment. The one before it may have to move back."""
        found = versions.find(timestamp)
        if found.valid_from == timestamp:
            versions.replace(found.place, timestamp, value)
        elif self._segments.segment_of(timestamp) != segment:
            self._retire(key, found.value, found.valid_from, timestamp)
            versions.replace(found.place, timestamp, value)
        else:
            versions.insert(found.place, timestamp, value)
        self._write(segment, key, versions)
        return found.valid_to

    def _put_before(self, key: bytes, value: bytes | None, timestamp: int, valid_to: int) -> int:
        """Put the version directly before the one that starts at ``valid_to``."""
        segment = self._segments.segment_of(valid_to)
        versions = self._read(segment, key)
        if versions is None:
            versions = SegmentVersions.of(value, timestamp, valid_to)
        elif versions.next_timestamp <= timestamp:
            # After a single deletion there is a gap until the next version.
            versions.insert_as_latest(timestamp, valid_to, value)
        else:
            versions.insert_as_earliest(timestamp, value)
        self._write(segment, key, versions)
        return valid_to

    def _put_last_deletion(self, key: bytes, timestamp: int) -> None:
        """Put a deletion without a later version, which only segments can hold."""
        segment = self._segments.segment_of(timestamp)
        versions = self._read(segment, key)
        if versions is None:
            self._write(segment, key, SegmentVersions.of(None, timestamp, timestamp))
        elif versions.next_timestamp != timestamp:
            versions.insert_as_latest(versions.next_timestamp, timestamp, None)
            self._write(segment, key, versions)

    def _retire(self, key: bytes, value: bytes | None, valid_from: int, valid_to: int) -> None:
        """Move a version to the segment of its end."""
        segment = self._segments.segment_of(valid_to)
        versions = self._read(segment, key)
        if versions is None:
            versions = SegmentVersions.of(value, valid_from, valid_to)
        else:
            versions.insert_as_latest(valid_from, valid_to, value)
        self._write(segment, key, versions)

    def _advance(self, timestamp: int) -> None:
        self._segments.advance(timestamp)
        if self._segments.has_expired:
            # Pending writes may belong to segments that expire.
            self._write_pending()
            self._segments.drop_expired()

    def _latest(self, key: bytes) -> tuple[int, bytes] | None:
        data = self._get(_LATEST + key)
        return None if data is None else (_LONG.unpack_from(data)[0], data[8:])

    def _put_latest(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        self._pending[_LATEST + key] = None if value is None else _LONG.pack(timestamp) + value

    def _read(self, segment: int, key: bytes) -> SegmentVersions | None:
        data = self._get(segment_prefix(segment) + key)
        return None if data is None else SegmentVersions.decode(data)

    def _write(self, segment: int, key: bytes, versions: SegmentVersions) -> None:
        # A version ends after the oldest readable time, so its segment has not expired.
        self._segments.enter(segment)
        self._pending[segment_prefix(segment) + key] = versions.encode()

    def _get(self, physical_key: bytes) -> bytes | None:
        if physical_key in self._pending:
            return self._pending[physical_key]
        return self._store.get(physical_key)

    def _write_pending(self) -> None:
        self._store.write(list(self._pending.items()))
        self._pending = {}
