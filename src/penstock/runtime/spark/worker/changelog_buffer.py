"""A task's changelog records, kept until the end of a run, so that each key is logged once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from penstock.model.record import Headers

Entry = tuple[bytes, bytes | None, int]


class LoggedColumns(NamedTuple):
    """Changelog records of one store, in the order in which they are written.

    ``headers`` is None if none of the records has headers.
    """

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None = None

    def at(self, place: int) -> Entry:
        return self.keys[place], self.values[place], self.timestamps[place]

    def until(self, after: int) -> tuple[Any, Any, Any]:
        """Return keys, values and timestamps of the first records."""
        return self.keys[:after], self.values[:after], self.timestamps[:after]


class ChangelogBuffer:
    """Collect changelog records by store until the end of a run.

    Single records are kept by key. A batch of different keys is kept as columns as long as
    nothing else is logged for its store.
    """

    def __init__(self, versioned: set[str]) -> None:
        self._versioned = versioned
        self._entries: dict[str, dict[Any, tuple[Any, Any, Any, Headers]]] = {}
        self._columns: dict[str, LoggedColumns] = {}

    def log(
        self,
        store: str,
        key: bytes,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> None:
        if store in self._columns:
            self._open(store)
        entries = self._entries.setdefault(store, {})
        # The effect of a put into a versioned store depends on the puts before it, so all of
        # them are logged. In other stores only the last value of a key counts.
        place = len(entries) if store in self._versioned else key
        entries[place] = (key, value, timestamp, headers)

    def log_all(
        self,
        store: str,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        """Log many different keys of a store that is not versioned."""
        if not len(keys):
            return
        if store in self._columns:
            self._open(store)
        if store not in self._entries:
            self._columns[store] = LoggedColumns(keys, values, timestamps)
            return
        self._add(store, LoggedColumns(keys, values, timestamps))

    def _open(self, store: str) -> None:
        """Turn the columns of a store into single entries, so that more can be added."""
        self._add(store, self._columns.pop(store))

    def _add(self, store: str, columns: LoggedColumns) -> None:
        entries = self._entries.setdefault(store, {})
        rows = zip(columns.keys, columns.values, columns.timestamps, repeat(()), strict=False)
        entries.update(zip(columns.keys, rows, strict=True))

    def take(self) -> Iterator[tuple[str, LoggedColumns]]:
        """Return the collected records by store, and forget them."""
        entries, columns = self._entries, self._columns
        self._entries, self._columns = {}, {}
        yield from columns.items()
        for store, logged in entries.items():
            if logged:
                keys, values, timestamps, headers = zip(*logged.values(), strict=True)
                yield (
                    store,
                    LoggedColumns(keys, values, timestamps, headers if any(headers) else None),
                )

    def clear(self) -> None:
        self._entries.clear()
        self._columns.clear()
