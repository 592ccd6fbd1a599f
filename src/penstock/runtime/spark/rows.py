"""What travels between the stages of a batch: records of repartition topics, and reports.

A Spark shuffle keeps no order, so every record carries its upstream task and a sequence number;
the receiving task restores the order per upstream task before it picks by timestamp.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

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

    rows: list[ShuffleRow] = field(default_factory=list)

    def add(self, row: ShuffleRow) -> None:
        self.rows.append(row)

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


def split_stage(
    batches: Iterable[pa.RecordBatch], stage: int
) -> tuple[list[ShuffleRow], list[pa.RecordBatch]]:
    """Separates the rows of a stage, in order, from those that only pass through."""
    mine: list[ShuffleRow] = []
    others: list[pa.RecordBatch] = []
    for batch in batches:
        stages = batch.column("stage").to_pylist()
        if all(each == stage for each in stages):
            mine.extend(map(ShuffleRow._make, zip(*batch.to_pydict().values(), strict=True)))
            continue
        is_mine = [each == stage for each in stages]
        chosen = batch.filter(pa.array(is_mine))
        mine.extend(map(ShuffleRow._make, zip(*chosen.to_pydict().values(), strict=True)))
        others.append(batch.filter(pa.array([not each for each in is_mine])))
    mine.sort(key=lambda row: (row.subtopology, row.task, row.sequence))
    return mine, others


def reports(rows: Iterable[Any]) -> list[Any]:
    """The reports among the rows that the driver collected."""
    return [pickle.loads(row["value"]) for row in rows if row["stage"] == REPORT]
