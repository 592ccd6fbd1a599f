"""A repartition topic as its writer sees it: where keys belong, and what is on its way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.raw_columns import Timestamps
from penstock.model.columns.dictionary_bytes import DictionaryBytes, joined_columns
from penstock.model.columns.partitioning import partitions_for
from penstock.model.partitioning import partition_for
from penstock.runtime.spark.exchange.bundles import Bundle

#: Keys whose partition is remembered, for each task and repartition topic.
_MOST_PLACES = 50_000
#: Records of one bundle: about half a megabyte of words, and enough to make bundles cost nothing.
_RECORDS_PER_BUNDLE = 50_000


#: Place in the sequence of the first record, keys, values, timestamps.
_Piece = tuple[int, Sequence[bytes | None], Sequence[bytes | None], Timestamps]


def _cut(column: Sequence[bytes | None], places: NDArray[np.int64]) -> Sequence[bytes | None]:
    """The items at these places, without bytes that only other partitions need."""
    if isinstance(column, DictionaryBytes):
        return column.take(places).used()
    return [column[n] for n in places.tolist()]


class _Open:
    """A bundle that takes one record after the other."""

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
    """Bundles by partition, in the order in which a task sent them."""

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
        """Takes one record; ``partition`` None leaves it to the key."""
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
    ) -> None:
        """Take many records without headers; the first has this place in the sequence."""
        for partition in list(self._bundles):
            self._close(partition)
        self._pieces.append((sequence, keys, values, timestamps))

    def _bundle_pieces(self) -> None:
        """Sorts by partition all that came as columns since the last time."""
        if not self._pieces:
            return
        firsts, key_parts, value_parts, time_parts = zip(*self._pieces, strict=True)
        self._pieces.clear()
        keys = joined_columns(key_parts)
        are_keys = all(v is k for k, v in zip(key_parts, value_parts, strict=True))
        values = keys if are_keys else joined_columns(value_parts)
        times = np.concatenate([np.asarray(each, np.int64) for each in time_parts])
        counted = [np.arange(len(each)) + n for n, each in zip(firsts, time_parts, strict=True)]
        sequence, places = np.concatenate(counted), self._partitions_of(keys)
        for partition in np.unique(places).tolist():
            (chosen,) = np.nonzero(places == partition)
            for start in range(0, len(chosen), _RECORDS_PER_BUNDLE):
                rows = chosen[start : start + _RECORDS_PER_BUNDLE]
                its_keys = _cut(keys, rows)
                its_values = its_keys if values is keys else _cut(values, rows)
                bundle = Bundle(int(sequence[rows[0]]), times[rows], its_keys, its_values)
                self._full.append((partition, bundle))

    def _partitions_of(self, keys: Sequence[bytes | None]) -> NDArray[np.int64]:
        if not isinstance(keys, DictionaryBytes):
            return partitions_for(keys, self.partitions)
        # A record without a key has the code -1, which is the last place.
        return partitions_for([*keys.different, None], self.partitions)[keys.codes]

    def bundles(self) -> list[tuple[int, Bundle]]:
        """Return what was taken since the last call, by partition and in order."""
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
