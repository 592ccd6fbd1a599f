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

import pyarrow as pa
from pyarrow import compute

from penstock.kernel.raw_columns import RawColumns

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
_BUNDLE = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.binary()),
    ]
)


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
    timestamps: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[bytes | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.timestamps)

    def packed(self) -> bytes:
        columns = (self.timestamps, self.keys, self.values, self.headers)
        arrays = [
            pa.array(column, each.type) for column, each in zip(columns, _BUNDLE, strict=True)
        ]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _BUNDLE) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_BUNDLE))
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpacked(data: bytes) -> pa.Table:
    """The columns of a bundle."""
    return pa.ipc.open_stream(data).read_all()


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
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
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
    table = pa.concat_tables([unpacked(row.value or b"") for row in rows])
    headers = table.column("headers")
    return Sent(
        *upstream,
        first_sequence=rows[0].sequence,
        timestamps=table.column("timestamp").to_pylist(),
        keys=table.column("key").to_pylist(),
        values=table.column("value").to_pylist(),
        headers=() if headers.null_count == len(headers) else headers.to_pylist(),
    )


def reports(rows: Iterable[Any]) -> list[Any]:
    """The reports among the rows that the driver collected."""
    return [pickle.loads(row["value"]) for row in rows if row["stage"] == REPORT]
