"""What travels between the stages of a batch: records of repartition topics, and reports.

All that a task sends to one partition travels in a few rows, each with the columns of very many
records: Spark's shuffle costs per row. It keeps no order, so every row says where its first record
comes in the sequence of its task; the receiving task restores the order per upstream task before
it picks by timestamp.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from penstock.kernel.raw_columns import RawColumns, Timestamps
from penstock.model.coded_bytes import CodedBytes, joined_columns

#: Rows with this stage are reports to the driver; every stage hands them on.
REPORT = -1
#: Rows with this stage are for ``to_spark``; their topic names the node.
FOR_SPARK = -2

SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("stage", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("subtopology", pa.int32()),
        ("task", pa.int32()),
        ("sequence", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.binary()),
    ]
)
#: The same for Spark.
SPARK_SCHEMA = (
    "slot int, stage int, topic string, partition int, subtopology int, task int,"
    " sequence long, timestamp long, key binary, value binary, headers binary"
)
_ROWS_PER_BATCH = 50_000


class ShuffleRow(NamedTuple):
    """One row, in the order of the schema's columns. A bundle of records is in its value."""

    slot: int
    stage: int
    topic: str
    partition: int
    subtopology: int
    task: int
    sequence: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: bytes | None


def encode_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Gives None for no headers, the usual case."""
    return pickle.dumps(tuple(headers)) if headers else None


def decode_headers(data: bytes | None) -> tuple[tuple[str, bytes | None], ...]:
    return () if data is None else pickle.loads(data)


@dataclass(slots=True)
class Bundle:
    """Records on their way to one partition, as columns. Headers are encoded already."""

    sequence: int
    timestamps: Timestamps = field(default_factory=list)
    keys: Sequence[bytes | None] = field(default_factory=list)
    values: Sequence[bytes | None] = field(default_factory=list)
    #: None: no record has any.
    headers: list[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.timestamps)

    def packed(self) -> bytes:
        columns = {
            "timestamp": pa.array(self.timestamps, pa.int64()),
            "key": _array(self.keys),
        }
        if self.values is not self.keys:
            columns["value"] = _array(self.values)
        if self.headers is not None:
            columns["headers"] = pa.array(self.headers, pa.binary())
        batch = pa.RecordBatch.from_pydict(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _array(column: Sequence[bytes | None]) -> pa.Array:
    if not isinstance(column, CodedBytes):
        return pa.array(column, pa.binary())
    # As narrow as they can be: every byte goes through Spark's shuffle.
    codes = column.codes.astype(np.min_scalar_type(-len(column.different) - 1))
    is_null = column.codes < 0
    indices = pa.array(codes, mask=is_null if is_null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(column.different, pa.binary()))


def _column(array: pa.Array) -> Sequence[bytes | None]:
    if not isinstance(array, pa.DictionaryArray):
        return array.to_pylist()  # type: ignore[no-any-return]
    codes = array.indices.fill_null(-1).to_numpy().astype(np.int64)
    return CodedBytes(codes, array.dictionary.to_pylist())


def unpacked(data: bytes) -> Bundle:
    """The records of a bundle, wherever it comes in the sequence."""
    batch = pa.ipc.open_stream(data).read_next_batch()
    headers = batch.column("headers").to_pylist() if "headers" in batch.schema.names else None
    keys = values = _column(batch.column("key"))
    if "value" in batch.schema.names:
        values = _column(batch.column("value"))
    return Bundle(0, batch.column("timestamp").to_numpy(), keys, values, headers)


@dataclass(slots=True)
class RowBuffer:
    """Collects rows and gives them as Arrow batches."""

    #: Shaped like ``ShuffleRow``; plain tuples are made much faster.
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def report(self, content: Any) -> None:
        """Adds a report to the driver."""
        data = pickle.dumps(content)
        self.rows.append(ShuffleRow(0, REPORT, "", 0, 0, 0, 0, 0, None, data, None))

    def batches(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self.rows), _ROWS_PER_BATCH):
            columns = zip(*self.rows[start : start + _ROWS_PER_BATCH], strict=True)
            arrays = [
                pa.array(column, type=each.type)
                for column, each in zip(columns, SCHEMA, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Sent:
    """What one upstream task sent to one partition of a repartition topic, in order."""

    topic: str
    partition: int
    subtopology: int
    task: int
    first_sequence: int
    timestamps: Timestamps
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def queue(self) -> str:
        """One queue per upstream task: order holds within it, timestamps decide between them."""
        return f"{self.topic}|{self.subtopology}_{self.task}"

    def columns(self, topic: str, offsets: range) -> RawColumns:
        """Gives the records under the topic's real name, as if they had been read from it."""
        headers = None
        if any(data is not None for data in self.headers):
            headers = [decode_headers(data) for data in self.headers]
        return RawColumns(
            topic, self.partition, offsets, self.timestamps, self.keys, self.values, headers
        )


def split_stage(
    batches: Iterable[pa.RecordBatch], stage: int
) -> tuple[list[Sent], list[pa.RecordBatch]]:
    """Separates the rows of a stage, in order, from those that only pass through."""
    mine: list[pa.RecordBatch] = []
    others: list[pa.RecordBatch] = []
    for batch in batches:
        is_mine = compute.equal(batch.column("stage"), stage)
        chosen = batch.filter(is_mine)
        if chosen.num_rows:
            mine.append(chosen)
        if chosen.num_rows < batch.num_rows:
            others.append(batch.filter(compute.invert(is_mine)))
    return _by_upstream(mine), others


def _by_upstream(batches: list[pa.RecordBatch]) -> list[Sent]:
    rows = [ShuffleRow(**row) for batch in batches for row in batch.to_pylist()]
    rows.sort(key=lambda row: (*_upstream(row), row.sequence))
    found = [_sent(upstream, list(group)) for upstream, group in groupby(rows, _upstream)]
    found.sort(key=lambda each: (each.subtopology, each.task, each.first_sequence))
    return found


def _upstream(row: ShuffleRow) -> tuple[str, int, int, int]:
    return row.topic, row.partition, row.subtopology, row.task


def _sent(upstream: tuple[str, int, int, int], rows: list[ShuffleRow]) -> Sent:
    bundles = [unpacked(row.value or b"") for row in rows]
    headers: list[bytes | None] = []
    if any(bundle.headers is not None for bundle in bundles):
        for bundle in bundles:
            headers += bundle.headers or [None] * len(bundle)
    keys = values = joined_columns([bundle.keys for bundle in bundles])
    if any(bundle.values is not bundle.keys for bundle in bundles):
        values = joined_columns([bundle.values for bundle in bundles])
    return Sent(
        *upstream,
        first_sequence=rows[0].sequence,
        timestamps=np.concatenate([np.asarray(each.timestamps, np.int64) for each in bundles]),
        keys=keys,
        values=values,
        headers=headers,
    )


def reports(rows: Iterable[Any]) -> list[Any]:
    """The reports among the rows that the driver collected."""
    return [pickle.loads(row["value"]) for row in rows if row["stage"] == REPORT]
