"""Copies of recently written rows of an ordered map, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

#: Stands for a row that must be read from the map.
UNKNOWN: Any = object()
#: The most memory for the rows of one store, in bytes.
_MOST_BYTES = 16 * 1024 * 1024
#: With more keys than ``_MANY_KEYS``, a sample is looked up first. If fewer than one in ``_FEW`` of
#: it is found, the other keys are not looked up.
_MANY_KEYS, _SAMPLE, _FEW = 2_000, 200, 10
#: Python's overhead for a row: two objects and a place in a dict.
_OVERHEAD = 170

Rows = dict[bytes, bytes | None]


class RecentRows:
    """As many rows of the last batches as fit. None means that the row does not exist.

    There are two halves. When the new half is full, it replaces the old one.
    """

    __slots__ = ("_most_bytes", "_new", "_old", "_row_bytes")

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._row_bytes = 0
        self._new: Rows = {}
        self._old: Rows = {}

    def get(self, key: bytes) -> Any:
        """Return the row, or ``UNKNOWN``."""
        row = self._new.get(key, UNKNOWN)
        return self._old.get(key, UNKNOWN) if row is UNKNOWN else row

    def get_all(self, keys: Sequence[bytes]) -> list[Any]:
        """Return for each key its row, or ``UNKNOWN``."""
        if not self._old:
            return [*map(self._new.get, keys, repeat(UNKNOWN))]
        # The default is looked up even if it is not needed, which is cheaper than a call per key.
        return [*map(self._new.get, keys, map(self._old.get, keys, repeat(UNKNOWN)))]

    def has_few_of(self, keys: Sequence[bytes]) -> bool:
        """Return whether so few of these keys are here that looking for all is not worth it."""
        if len(keys) < _MANY_KEYS:
            return False
        sample = keys[:: len(keys) // _SAMPLE]
        known = sum(key in self._new or key in self._old for key in sample)
        return known * _FEW < len(sample)

    def add(self, rows: Rows) -> None:
        """Add the rows of a batch. The caller must not use the dict any more."""
        if not rows:
            return
        length = sum(map(len, rows)) + sum(map(len, filter(None, rows.values())))
        self._row_bytes = max(self._row_bytes, _OVERHEAD + length // len(rows))
        if not self._fits(self._new, rows, self._most_bytes // 2):
            self._new, self._old = {}, self._new
        if not self._fits(self._old, rows, self._most_bytes):
            self._old = {}
        if not self._fits(self._new, rows, self._most_bytes):
            self.clear()
        elif self._new:
            self._new.update(rows)
        else:
            self._new = rows

    def _fits(self, known: Rows, more: Rows, most_bytes: int) -> bool:
        # A key that is added again counts twice, so the half is full a little earlier.
        return (len(known) + len(more)) * self._row_bytes <= most_bytes

    def delete_range(self, start: bytes, end: bytes) -> None:
        for rows in (self._new, self._old):
            for key in [key for key in rows if start <= key < end]:
                del rows[key]

    def clear(self) -> None:
        self._new, self._old = {}, {}
