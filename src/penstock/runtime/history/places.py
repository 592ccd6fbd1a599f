"""The places of records from outside in the order of all records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import numpy as np
import pyarrow as pa

from penstock.errors import StreamsError
from penstock.runtime.history.rows import INPUT_SCHEMA, PARTITION_BITS, Longs

#: Bits of ``tie`` for the number of a record in its partition, and for that of its topic.
_NUMBER_BITS, _TOPIC_BITS = 40, 8
_PARTITION = (1 << PARTITION_BITS) - 1

#: The order in which records come here: each partition of each topic in its own order.
OWN_ORDER = ("input", "source", "at", "seq", "timestamp", "key", "value")


def placed(
    topics: Mapping[int, int],
    batches: Iterable[pa.RecordBatch],
    *,
    tracks_ties: bool,
    with_offsets: Set[int] = frozenset(),
) -> Iterator[pa.RecordBatch]:
    """Give the records of one task their places. They come in ``OWN_ORDER``.

    A record that is late comes right after the records before it in its partition, so its place is
    the highest timestamp so far. Records that have a place already, because their arrival is known
    or another pass has sent them, keep it.

    Args:
        topics: By ``input`` the number of each topic from outside among all of them.
        batches: Rows of ``INPUT_SCHEMA``; ``at`` may be missing.
        tracks_ties: Whether to number the records, so that records of one millisecond have places.
        with_offsets: By ``input`` the topics whose records have offsets, each another one.
    """
    here, newest, count, offset = (-1, -1), -1, 0, -1
    for batch in batches:
        for part in _partitions(batch):
            where = (part.column("input")[0].as_py(), part.column("source")[0].as_py())
            if where != here:
                here, newest, count, offset = where, -1, 0, -1
            topic = topics.get(where[0])
            if topic is None:
                yield part
                continue
            if where[0] in with_offsets:
                offset = _last_offset(part, offset)
            if part.column("at").null_count:
                part, newest = _by_time(part, newest)
            if tracks_ties:
                part = _numbered(part, topic, where[1] & _PARTITION, count)
            count += part.num_rows
            yield part


def _partitions(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where another partition, or another topic, begins."""
    if not batch.num_rows:
        return
    changes = np.diff(batch.column("input").to_numpy()) != 0
    changes |= np.diff(batch.column("source").to_numpy()) != 0
    first = 0
    for after in [*(np.flatnonzero(changes) + 1).tolist(), batch.num_rows]:
        yield batch.slice(first, after - first)
        first = after


def _by_time(part: pa.RecordBatch, newest: int) -> tuple[pa.RecordBatch, int]:
    times = part.column("timestamp").to_numpy()
    at = np.maximum.accumulate(np.maximum(times, newest))
    return _with(part, "at", at), int(at[-1])


def _last_offset(part: pa.RecordBatch, before: int) -> int:
    """Return the last offset; raise an error if an offset comes twice."""
    offsets = np.concatenate([[before], part.column("seq").to_numpy()])
    twice = np.flatnonzero(np.diff(offsets) == 0)
    if len(twice):
        raise StreamsError(
            "history-doubled",
            f"the history has offset {offsets[twice[0]]} of partition"
            f" {part.column('task')[0].as_py()} twice",
            fix="take doubled records out, for example with dropDuplicates on partition and offset",
        )
    return int(offsets[-1])


def _numbered(part: pa.RecordBatch, topic: int, partition: int, count: int) -> pa.RecordBatch:
    size = part.num_rows
    if count + size >= 1 << _NUMBER_BITS or topic >= 1 << _TOPIC_BITS:
        raise StreamsError(
            "too-much-history",
            f"topic {topic} has more than {1 << _NUMBER_BITS} records in one partition, or there"
            f" are more than {1 << _TOPIC_BITS} topics",
            fix="give the topics more partitions, or fewer topics to one topology",
        )
    numbers = np.arange(count, count + size, dtype=np.int64)
    return _with(part, "tie", (partition << _TOPIC_BITS | topic) << _NUMBER_BITS | numbers)


def _with(part: pa.RecordBatch, name: str, values: Longs) -> pa.RecordBatch:
    return part.set_column(INPUT_SCHEMA.get_field_index(name), name, pa.array(values, pa.int64()))
