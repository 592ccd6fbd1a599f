"""What the changelogs of a task's stores would hold after its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.record import Headers
from penstock.runtime.history.rows import CHANGELOG, header_texts, output_batch
from penstock.state.buffer.buffer_value import CHANGELOG_VERSION
from penstock.state.spec import StoreKind, StoreSpec

#: So many records are kept in memory until they are handed on.
_MOST = 500_000

_Entry = tuple[int, bytes, bytes | None, int, Headers]


class StoreChangelog:
    """The last record of each key; of a versioned store all records, which build on each other.

    When there are too many, they are handed on. Then a key may come again, with a higher ``seq``.
    """

    def __init__(self, spec: StoreSpec) -> None:
        self._name = spec.name
        self._keeps_all = spec.kind is StoreKind.VERSIONED_KEY_VALUE
        is_buffer = spec.kind is StoreKind.TIME_ORDERED_BUFFER and not spec.persistent
        self._always: Headers = (CHANGELOG_VERSION,) if is_buffer else ()
        self._entries: dict[Any, _Entry] = {}
        self._seq = 0

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        self._seq += 1
        place = self._seq if self._keeps_all else key
        self._entries[place] = (self._seq, key, value, timestamp, headers or self._always)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self.append(key, value, timestamp)

    def take(self, task: int, *, is_end: bool = False) -> Iterator[pa.RecordBatch]:
        """Return the records if there are many, or if no more will come."""
        if not self._entries or (len(self._entries) < _MOST and not is_end):
            return
        seq, keys, values, timestamps, headers = zip(*self._entries.values(), strict=True)
        self._entries.clear()
        yield output_batch(
            target=np.full(len(keys), CHANGELOG, np.int32),
            name=[self._name] * len(keys),
            task=np.full(len(keys), task, np.int32),
            seq=seq,
            timestamp=timestamps,
            key=keys,
            value=values,
            headers=header_texts(headers) if any(headers) else None,
        )


class TaskChangelogs:
    """The changelogs of all stores of one task that have a changelog of their own."""

    def __init__(
        self, stores: Mapping[str, StoreSpec], of_sources: Mapping[str, str], task: int
    ) -> None:
        self._task = task
        self._of_sources = of_sources
        self._specs = stores
        self._logs: dict[str, StoreChangelog] = {}

    def open(self, store: str) -> StoreChangelog | None:
        """Return the changelog of a store; ``None`` if a source topic serves as its changelog."""
        if store in self._of_sources:
            return None
        return self._logs.setdefault(store, StoreChangelog(self._specs[store]))

    def take(self, *, is_end: bool = False) -> list[pa.RecordBatch]:
        return [each for log in self._logs.values() for each in log.take(self._task, is_end=is_end)]
