"""A repartition topic, which is a shuffle here: where its keys belong, and what is on its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.model.partitioning import partition_for
from penstock.model.partitioning_columns import partitions_for
from penstock.model.task_id import TaskId
from penstock.runtime.spark.plan import Plan
from penstock.runtime.spark.rows import Bundle, ShuffleRow

#: Keys whose partition is remembered, for each task and repartition topic.
_MOST_PLACES = 50_000
#: Records of one row: far below what fits into one, and enough to make rows cost nothing.
_RECORDS_PER_ROW = 200_000


class ShuffledTopic:
    """Bundles by partition, in the order in which a task sent them."""

    __slots__ = ("_bundles", "_full", "_places", "name", "partitions", "stage")

    def __init__(self, name: str, plan: Plan) -> None:
        self.name = name
        self.stage, _ = plan.consumer_of(name)
        self.partitions = plan.partitions[name]
        self._places: dict[bytes, int] = {}
        self._bundles: dict[int, Bundle] = {}
        self._full: list[tuple[int, Bundle]] = []

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
        if partition is None:
            partition = self._partition_of(key or b"")
        bundle = self._bundles.get(partition)
        if bundle is None or len(bundle) >= _RECORDS_PER_ROW:
            bundle = self._begin(partition, sequence)
        bundle.timestamps.append(timestamp)
        bundle.keys.append(key)
        bundle.values.append(value)
        bundle.headers.append(headers)

    def add_all(
        self,
        sequence: int,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        """Takes many records without headers; the first has this place in the sequence."""
        places = partitions_for([key or b"" for key in keys], self.partitions)
        for partition in np.unique(places).tolist():
            (chosen,) = np.nonzero(places == partition)
            for start in range(0, len(chosen), _RECORDS_PER_ROW):
                rows = chosen[start : start + _RECORDS_PER_ROW].tolist()
                bundle = self._begin(partition, sequence + rows[0])
                bundle.timestamps += [timestamps[n] for n in rows]
                bundle.keys += [keys[n] for n in rows]
                bundle.values += [values[n] for n in rows]
                bundle.headers += [None] * len(rows)

    def rows(self, task: TaskId, slots: int) -> Iterator[ShuffleRow]:
        """What was taken since the last call, each row for the slot that has its partition."""
        for partition, bundle in (*self._full, *self._bundles.items()):
            yield ShuffleRow(
                partition % slots, self.stage, self.name, partition, task.subtopology,
                task.partition, bundle.sequence, 0, None, bundle.packed(), None,
            )  # fmt: skip
        self.clear()

    def clear(self) -> None:
        self._bundles.clear()
        self._full.clear()

    def _begin(self, partition: int, sequence: int) -> Bundle:
        if partition in self._bundles:
            self._full.append((partition, self._bundles[partition]))
        bundle = self._bundles[partition] = Bundle(sequence)
        return bundle

    def _partition_of(self, key: bytes) -> int:
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            place = self._places[key] = partition_for(key, self.partitions)
        return place
