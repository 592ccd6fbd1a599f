"""What travels between the stages of a batch: records of repartition topics, and reports.

A Spark shuffle keeps no order, so every record carries its upstream task and a sequence number;
the receiving task restores the order per upstream task before it picks by timestamp.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple, cast

import pyarrow as pa
from pyarrow import compute

from penstock.kernel.record_queue import RawRecord

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
    """One row, in the order of the schema's columns."""

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
    headers: list[bytes | None]

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def queue(self) -> str:
        """One queue per upstream task: order holds within it, timestamps decide between them."""
        return f"{self.topic}|{self.subtopology}_{self.task}"

    def records(self, topic: str, offsets: range) -> Iterator[RawRecord]:
        """Gives the records under the topic's real name, as if they had been read from it."""
        fields = zip(
            repeat(topic), repeat(self.partition), offsets, self.timestamps, self.keys,
            self.values, map(decode_headers, self.headers), strict=False,
        )  # fmt: skip
        return cast("Iterator[RawRecord]", fields)


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


_UPSTREAM = ["topic", "partition", "subtopology", "task"]


def _by_upstream(batches: list[pa.RecordBatch]) -> list[Sent]:
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    table = table.sort_by([(name, "ascending") for name in (*_UPSTREAM, "sequence")])
    # Without threads the groups come in the order of the rows.
    groups = table.group_by(_UPSTREAM, use_threads=False).aggregate([("sequence", "count")])
    found, at = [], 0
    for group in groups.to_pylist():
        size = group.pop("sequence_count")
        rows = table.slice(at, size)
        found.append(
            Sent(
                **group,
                first_sequence=rows.column("sequence")[0].as_py(),
                timestamps=rows.column("timestamp").to_pylist(),
                keys=rows.column("key").to_pylist(),
                values=rows.column("value").to_pylist(),
                headers=rows.column("headers").to_pylist(),
            )
        )
        at += size
    found.sort(key=lambda each: (each.subtopology, each.task, each.first_sequence))
    return found


def reports(rows: Iterable[Any]) -> list[Any]:
    """The reports among the rows that the driver collected."""
    return [pickle.loads(row["value"]) for row in rows if row["stage"] == REPORT]
