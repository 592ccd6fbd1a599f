"""What a task over history sends, collected until its rows are handed on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.kernel.raw_columns import Timestamps
from penstock.model.columns.dictionary_column import DictionaryColumn
from penstock.model.columns.partitioning import partitions_for
from penstock.model.record import Headers
from penstock.runtime.history.rows import OTHER_TOPIC, Longs, header_texts, output_batch
from penstock.topology.nodes.topics.to_spark import SPARK_TOPIC


class _Sent(NamedTuple):
    """Records of one topic that were sent together. ``partition`` is -1 where the key decides."""

    topic: str
    partition: int
    at: Longs
    tie: int
    seq: int
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None


class HistoryOutbox:
    """Collects sent records with their place in the order of all records.

    A record that is sent on takes the place of the record that is being processed: the caller sets
    ``at`` and ``tie``. Without ``at`` the clock tells the time. Columns that are sent together have
    several places: the highest timestamp so far. If another pass reads them, the caller has found
    these to be the same.

    Args:
        targets: The topics that are asked for, with their numbers.
        unwanted: Topics of the task whose records nobody asks for.
        sizes: Returns the number of partitions of a topic.
        task: The number of the task.
        takes_others: Whether to keep records of topics that neither of the two has.
    """

    def __init__(
        self,
        targets: Mapping[str, int],
        unwanted: Set[str],
        sizes: Callable[[str], int],
        task: int,
        *,
        takes_others: bool,
    ) -> None:
        self.at: int | None = None
        self.tie = 0
        self.clock: Callable[[], int] = lambda: 0
        self._targets = targets
        self._unwanted = unwanted
        self._takes_others = takes_others
        self._sizes = sizes
        self._task = task
        self._seq = 0
        self._turn: Counter[str] = Counter()
        #: The highest place of a topic's columns in this batch, and of everything before it.
        self._newest: dict[str, int] = {}
        self._floor = -1
        self._sent: list[_Sent] = []
        #: Single records of the same topic, which make up one of those in the end.
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def begin(self) -> None:
        """Note that a batch begins, in which the clock tells the places of records."""
        self.at, self.tie = None, 0
        self._floor = self.clock()
        self._newest.clear()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        if not self._takes(topic):
            return
        at = self.clock() if self.at is None else self.at
        if partition is None:
            partition = -1 if key is not None else self._next_partition(topic)
        row = (partition, at, self.tie, self._seq, key, value, timestamp, headers)
        self._seq += 1
        rows = self._rows.get(topic)
        if rows is None:
            rows = self._rows[topic] = []
        rows.append(row)

    def send_columns(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Timestamps,
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None:
        if not len(keys) or not self._takes(topic):
            return
        times: Longs = np.asarray(timestamps, np.int64)
        at = np.maximum.accumulate(np.maximum(times, self._newest.get(topic, self._floor)))
        self._newest[topic] = int(at[-1])
        self._sent.append(
            _Sent(
                topic, -1 if partition is None else partition, at, 0, self._seq,
                keys, values, times, headers,  # type: ignore[arg-type]
            )
        )  # fmt: skip
        self._seq += len(keys)

    def partitions(self, topic: str) -> int:
        return self._sizes(topic)

    def _takes(self, topic: str) -> bool:
        if topic in self._targets:
            return True
        return (
            self._takes_others and topic not in self._unwanted and not topic.startswith(SPARK_TOPIC)
        )

    def take(self) -> list[pa.RecordBatch]:
        """Return the rows of all records that were sent since the last call, by topic."""
        batches = [self._rows_batch(topic, rows) for topic, rows in self._rows.items()]
        batches += [self._columns_batch(each) for each in self._sent]
        self._rows.clear()
        self._sent.clear()
        return batches

    def _rows_batch(self, topic: str, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        given, at, tie, seq, keys, values, timestamps, headers = zip(*rows, strict=True)
        partitions = np.array(given, np.int32)
        return self._batch(
            topic, keys, partitions,
            at=at, tie=tie, seq=seq, timestamp=timestamps, value=values,
            headers=header_texts(headers) if any(headers) else None,
        )  # fmt: skip

    def _columns_batch(self, sent: _Sent) -> pa.RecordBatch:
        size = len(sent.keys)
        partitions = np.full(size, sent.partition, np.int32)
        return self._batch(
            sent.topic, sent.keys, partitions,
            at=sent.at, tie=np.zeros(size, np.int64), seq=np.arange(sent.seq, sent.seq + size),
            timestamp=sent.timestamps, value=sent.values,
            headers=None if sent.headers is None else header_texts(sent.headers),
        )  # fmt: skip

    def _batch(
        self, topic: str, keys: Sequence[bytes | None], partitions: Any, **columns: Any
    ) -> pa.RecordBatch:
        size = len(keys)
        target = self._targets.get(topic, OTHER_TOPIC)
        return output_batch(
            target=np.full(size, target, np.int32),
            name=[topic] * size if target == OTHER_TOPIC else None,
            task=self._placed(topic, keys, partitions),
            source=np.full(size, self._task, np.int32),
            key=plain_column(keys),
            **{**columns, "value": plain_column(columns["value"])},
        )

    def _placed(self, topic: str, keys: Sequence[bytes | None], partitions: Any) -> Any:
        """Return the partitions; keys decide where nothing else has."""
        count, is_open = self._sizes(topic), partitions < 0
        if not is_open.any():
            return partitions
        if count == 1:
            return np.zeros(len(keys), np.int32)
        found = partitions_for(keys, count).astype(np.int32)
        for place in np.flatnonzero(is_open).tolist():
            if keys[place] is None:
                found[place] = self._next_partition(topic)
        return np.where(is_open, found, partitions)

    def _next_partition(self, topic: str) -> int:
        """Return the partition of a record without a key: they go round."""
        self._turn[topic] += 1
        return (self._turn[topic] - 1) % self._sizes(topic)


def plain_column(items: Sequence[bytes | None]) -> Any:
    """Return a column as Arrow takes it at once."""
    if not isinstance(items, DictionaryColumn):
        return items
    codes = pa.array(items.codes, mask=items.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(items.different, pa.binary())).cast(
        pa.binary()
    )
