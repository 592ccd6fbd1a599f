"""The versions of one key inside one segment, and their bytes in Java's format."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

_HEADER = Struct(">qq")
_VERSION = Struct(">qi")
_TOMBSTONE_SIZE = -1


class Found(NamedTuple):
    """A version: its index (newest first), its validity and its value."""

    place: int
    valid_from: int
    valid_to: int
    value: bytes | None


class SegmentVersions:
    """Versions without gaps in between. A deletion is a version without a value.

    ``versions`` is newest first and never empty. ``next_timestamp`` is the end of the newest one. A
    single deletion is one version of length 0 (degenerate).
    """

    __slots__ = ("next_timestamp", "versions")

    def __init__(self, next_timestamp: int, versions: list[tuple[int, bytes | None]]) -> None:
        self.next_timestamp = next_timestamp
        self.versions = versions

    @classmethod
    def of(cls, value: bytes | None, valid_from: int, valid_to: int) -> SegmentVersions:
        return cls(valid_to, [(valid_from, value)])

    @classmethod
    def decode(cls, data: bytes) -> SegmentVersions:
        next_timestamp, min_timestamp = _HEADER.unpack_from(data)
        versions: list[tuple[int, bytes | None]] = []
        place, end = _HEADER.size, len(data)
        while True:
            timestamp, size = _VERSION.unpack_from(data, place)
            place += _VERSION.size
            if size == _TOMBSTONE_SIZE:
                versions.append((timestamp, None))
            else:
                # Values are after all timestamps, the newest one last.
                versions.append((timestamp, data[end - size : end]))
                end -= size
            if timestamp == min_timestamp:
                return cls(next_timestamp, versions)

    def encode(self) -> bytes:
        parts = [_HEADER.pack(self.next_timestamp, self.min_timestamp)]
        for timestamp, value in self.versions:
            size = _TOMBSTONE_SIZE if value is None else len(value)
            parts.append(_VERSION.pack(timestamp, size))
        parts.extend(value for _, value in reversed(self.versions) if value is not None)
        return b"".join(parts)

    @property
    def min_timestamp(self) -> int:
        return self.versions[-1][0]

    @property
    def is_degenerate(self) -> bool:
        return self.next_timestamp == self.min_timestamp

    def find(self, timestamp: int) -> Found:
        """Return the version at a time, which must be within the times of the segment."""
        valid_to = self.next_timestamp
        for index, (valid_from, value) in enumerate(self.versions):
            if valid_from <= timestamp:
                return Found(index, valid_from, valid_to, value)
            valid_to = valid_from
        raise AssertionError(f"no version at {timestamp}: the oldest is {self.min_timestamp}")

    def insert(self, index: int, timestamp: int, value: bytes | None) -> None:
        """Insert a version that is newer than the one at that index."""
        self.versions.insert(index, (timestamp, value))

    def replace(self, index: int, timestamp: int, value: bytes | None) -> None:
        self.versions[index] = (timestamp, value)

    def insert_as_latest(self, valid_from: int, valid_to: int, value: bytes | None) -> None:
        """Add the newest version; a gap before it becomes a deletion."""
        if valid_from < self.next_timestamp:
            self._cut(valid_from)
        older = [] if self.is_degenerate else self.versions
        if self.next_timestamp != valid_from:
            older = [(self.next_timestamp, None), *older]
        self.versions = [(valid_from, value), *older]
        self.next_timestamp = valid_to

    def insert_as_earliest(self, timestamp: int, value: bytes | None) -> None:
        if self.is_degenerate:
            self.versions = [(timestamp, value)]
        else:
            self.versions.append((timestamp, value))

    def _cut(self, timestamp: int) -> None:
        # Versions overlap only after an incomplete write of an older program: drop them.
        self.versions = [version for version in self.versions if version[0] < timestamp]
        self.next_timestamp = timestamp
        if not self.versions:
            self.versions = [(timestamp, None)]
