"""What a task has to log of a run, kept until its end: a key that changed often is logged once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Entry = tuple[bytes, bytes | None, int]


class LoggedColumns(NamedTuple):
    """Changelog records of one store, in the order in which they are written."""

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]

    def at(self, place: int) -> Entry:
        return self.keys[place], self.values[place], self.timestamps[place]

    def between(self, first: int, after: int) -> LoggedColumns:
        span = slice(first, after)
        return LoggedColumns(self.keys[span], self.values[span], self.timestamps[span])


class ChangelogBuffer:
    """Collects records by store: single ones by key, a batch of different keys as it comes."""

    def __init__(self, versioned: set[str]) -> None:
        self._versioned = versioned
        self._entries: dict[str, dict[Any, Entry]] = {}
        self._columns: dict[str, LoggedColumns] = {}

    def log(self, store: str, key: bytes, value: bytes | None, timestamp: int) -> None:
        if store in self._columns:
            self._open(store)
        entries = self._entries.setdefault(store, {})
        # What a versioned put does depends on those before it; elsewhere the last value counts.
        place = len(entries) if store in self._versioned else key
        entries[place] = (key, value, timestamp)

    def log_all(
        self,
        store: str,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        """The same for many different keys of a store that is not versioned."""
        if not len(keys):
            return
        if store in self._columns:
            self._open(store)
        if store not in self._entries:
            self._columns[store] = LoggedColumns(keys, values, timestamps)
            return
        self._add(store, LoggedColumns(keys, values, timestamps))

    def _open(self, store: str) -> None:
        """Makes single entries of a batch, since more is to come."""
        self._add(store, self._columns.pop(store))

    def _add(self, store: str, columns: LoggedColumns) -> None:
        entries = self._entries.setdefault(store, {})
        entries.update(zip(columns.keys, zip(*columns, strict=True), strict=True))

    def take(self) -> Iterator[tuple[str, LoggedColumns]]:
        """Gives what is there by store, and forgets it."""
        entries, columns = self._entries, self._columns
        self._entries, self._columns = {}, {}
        yield from columns.items()
        for store, logged in entries.items():
            if logged:
                yield store, LoggedColumns(*zip(*logged.values(), strict=True))

    def clear(self) -> None:
        self._entries.clear()
        self._columns.clear()
