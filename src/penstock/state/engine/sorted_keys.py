"""Keys in byte order, for the maps in memory: ``memory``, ``cache`` and ``lru``."""

from __future__ import annotations

from itertools import islice

from sortedcontainers import SortedList


class SortedKeys:
    """The keys of a map, sorted only when the order is needed.

    Most stores are written far more often than they are scanned. So a new key only goes into a
    set. The owner knows whether a key is new or removed; this class does not check it.
    """

    __slots__ = ("_fresh", "_gone", "_sorted")

    def __init__(self) -> None:
        self._sorted: SortedList[bytes] = SortedList()
        self._fresh: set[bytes] = set()
        self._gone: set[bytes] = set()

    def add(self, key: bytes) -> None:
        """Add a key that is not here yet."""
        if self._gone and key in self._gone:
            self._gone.remove(key)
        else:
            self._fresh.add(key)

    def add_all(self, keys: set[bytes]) -> None:
        """Add keys that are not here yet."""
        returned = keys & self._gone
        self._gone -= returned
        self._fresh |= keys - returned if returned else keys

    def remove(self, key: bytes) -> None:
        """Remove a key that is here."""
        if self._fresh and key in self._fresh:
            self._fresh.remove(key)
        else:
            self._gone.add(key)

    def clear(self) -> None:
        self._sorted.clear()
        self._fresh.clear()
        self._gone.clear()

    def between(
        self,
        start: bytes | None,
        end: bytes | None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[bytes]:
        """Return the keys of ``[start, end)``, the first ``limit`` in the chosen direction."""
        if self._gone or self._fresh:
            self._settle()
        if start is not None and end is not None and start >= end:
            return []
        keys = self._sorted.irange(start, end, inclusive=(True, False), reverse=reverse)
        return list(keys if limit is None else islice(keys, limit))

    def _settle(self) -> None:
        # Each removal costs a search. For a large part of the keys, a new list is cheaper.
        if len(self._gone) * 8 > len(self._sorted):
            gone = self._gone
            self._sorted = SortedList(key for key in self._sorted if key not in gone)
        else:
            for key in self._gone:
                self._sorted.remove(key)
        self._gone.clear()
        self._sorted.update(self._fresh)
        self._fresh.clear()
