"""A repartition topic as its writer sees it: the partition of each key, and unsent bundles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.raw_columns import Timestamps
from penstock.model.columns.dictionary_bytes import DictionaryBytes, joined_columns
from penstock.model.columns.partitioning import partitions_for
from penstock.model.partitioning import partition_for
from penstock.runtime.spark.exchange.bundles import Bundle

#: The most keys whose partition is remembered, per task and repartition topic.
_MOST_PLACES = 50_000
#: Records per bundle. With short words as values that is about half a megabyte, and the cost of
#: the bundle itself no longer counts.
_RECORDS_PER_BUNDLE = 50_000


#: The sequence number of the first record; then keys, values, timestamps, and the partition of all
#: records, if it is not that of the key.
_Piece = tuple[int, Sequence[bytes | None], Sequence[bytes | None], Timestamps, int | None]


def _cut(column: Sequence[bytes | None], places: NDArray[np.int64]) -> Sequence[bytes | None]:
    """Return the items at these places, without dictionary entries that none of them uses."""
    if isinstance(column, DictionaryBytes):
        return column.take(places).used()
    return [column[n] for n in places.tolist()]


class _Open:
    """A bundle that is still being filled, one record at a time."""

    __slots__ = ("headers", "keys", "sequence", "timestamps", "values")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.timestamps: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.timestamps)

    def bundle(self) -> Bundle:
        return Bundle(self.sequence, self.timestamps, self.keys, self.values, self.headers)


class RepartitionTopic:
    """Collect a task's records for one repartition topic into bundles, by partition.

    Each partition keeps the order in which the task sent its records.
    """

    __slots__ = ("_bundles", "_full", "_pieces", "_places", "name", "partitions")

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.partitions = partitions
        self._places: dict[bytes, int] = {}
        self._bundles: dict[int, _Open] = {}
        self._full: list[tuple[int, Bundle]] = []
        self._pieces: list[_Piece] = []

    def add(
        self,
        sequence: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: bytes | None,
        partition: int | None,
    ) -> None:
        """Add one record; if ``partition`` is None, the key determines its partition."""
        if self._pieces:
            self._bundle_pieces()
        if partition is None:
            partition = self._partition_of(key or b"")
        bundle = self._bundles.get(partition)
        if bundle is None or len(bundle) >= _RECORDS_PER_BUNDLE:
            bundle = self._begin(partition, sequence)
        bundle.timestamps.append(timestamp)
        bundle.keys.append(key)
        bundle.values.append(value)
        if headers is not None and bundle.headers is None:
            bundle.headers = [None] * (len(bundle) - 1)
        if bundle.headers is not None:
            bundle.headers.append(headers)

    def add_all(
        self,
        sequence: int,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Timestamps,
        partition: int | None = None,
    ) -> None:
        """Add many records without headers; ``sequence`` is the number of the first one.

        If ``partition`` is None, the keys determine the partitions.
        """
        for other in list(self._bundles):
            self._close(other)
        self._pieces.append((sequence, keys, values, timestamps, partition))

    def _bundle_pieces(self) -> None:
        """Sort the collected columns by partition, and make bundles of them."""
        if not self._pieces:
            return
        firsts, key_parts, value_parts, time_parts, given = zip(*self._pieces, strict=True)
        self._pieces.clear()
        keys = joined_columns(key_parts)
        are_keys = all(v is k for k, v in zip(key_parts, value_parts, strict=True))
        values = keys if are_keys else joined_columns(value_parts)
        times = np.concatenate([np.asarray(each, np.int64) for each in time_parts])
        counted = [np.arange(len(each)) + n for n, each in zip(firsts, time_parts, strict=True)]
        sequence = np.concatenate(counted)
        if any(partition is not None for partition in given):
            pairs = zip(key_parts, given, strict=True)
            places = np.concatenate([self._places_of(part, partition) for part, partition in pairs])
        else:
            places = self._partitions_of(keys)
        for partition in np.unique(places).tolist():
            (chosen,) = np.nonzero(places == partition)
            for start in range(0, len(chosen), _RECORDS_PER_BUNDLE):
                rows = chosen[start : start + _RECORDS_PER_BUNDLE]
                its_keys = _cut(keys, rows)
                its_values = its_keys if values is keys else _cut(values, rows)
                bundle = Bundle(int(sequence[rows[0]]), times[rows], its_keys, its_values)
                self._full.append((partition, bundle))

    def _places_of(self, keys: Sequence[bytes | None], partition: int | None) -> NDArray[np.int64]:
        if partition is None:
            return self._partitions_of(keys)
        return np.full(len(keys), partition, np.int64)

    def _partitions_of(self, keys: Sequence[bytes | None]) -> NDArray[np.int64]:
        if not isinstance(keys, DictionaryBytes):
            return partitions_for(keys, self.partitions)
        # A record without a key has the code -1. In Python that is the last item: None.
        return partitions_for([*keys.different, None], self.partitions)[keys.codes]

    def bundles(self) -> list[tuple[int, Bundle]]:
        """Return the bundles since the last call with their partitions, in order."""
        for partition in list(self._bundles):
            self._close(partition)
        self._bundle_pieces()
        found = list(self._full)
        self.clear()
        return found

    def clear(self) -> None:
        self._bundles.clear()
        self._full.clear()
        self._pieces.clear()

    def _begin(self, partition: int, sequence: int) -> _Open:
        self._close(partition)
        bundle = self._bundles[partition] = _Open(sequence)
        return bundle

    def _close(self, partition: int) -> None:
        bundle = self._bundles.pop(partition, None)
        if bundle is not None:
            self._full.append((partition, bundle.bundle()))

    def _partition_of(self, key: bytes) -> int:
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            place = self._places[key] = partition_for(key, self.partitions)
        return place
