"""Reads rows of tables from Kafka and writes them as Parquet, in Spark tasks on the executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import max_by, struct

from penstock.kernel.raw_columns import RawColumns, listed
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lake.table import DataFile
from penstock.runtime.spark.typed_columns import key_columns, typed_columns
from penstock.runtime.spark.worker.reader import RangeReader
from penstock.topology.nodes.topics.to_lake import ToLake

_READ = "partition int, sequence bigint, timestamp bigint, key binary, value binary"
_READ_ARROW = pa.schema(
    [
        ("partition", pa.int32()),
        ("sequence", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
_WRITTEN = "name string, bytes bigint, rows bigint"
#: How much a task reads before it hands it on; and the size from which on it begins another file.
_READ_BYTES, _FILE_BYTES = 16 * 1024 * 1024, 128 * 1024 * 1024

Ranges = Mapping[TopicPartition, tuple[int, int]]


def table_schema(spark: SparkSession, sink: ToLake) -> Mapping[str, Any]:
    """Return the columns of a node's table, as Spark writes a struct in JSON."""
    schema: Mapping[str, Any] = _rows(spark.createDataFrame([], _READ), sink).schema.jsonValue()
    return schema


def write_files(
    spark: SparkSession,
    sink: ToLake,
    ranges: Ranges,
    consumer: Mapping[str, Any],
    place: tuple[str, str],
) -> list[DataFile]:
    """Write rows into new files of a folder, and return those that are complete.

    A task that fails may leave a file behind that is not returned.

    Args:
        ranges: where the rows are, by partition: each is read by one task.
        place: the folder, and how the names of files begin.
    """
    if not ranges:
        return []
    # One row for each range, each in a partition of its own.
    numbers = spark.range(0, len(ranges), 1, len(ranges))
    read = numbers.mapInArrow(_Read(dict(consumer), list(ranges.items())), _READ)
    rows = _rows(read, sink)
    if sink.has_present_rows:
        rows = _newest(rows, key_columns(sink), len(ranges))
    written = rows.mapInArrow(_Write(*place), _WRITTEN)
    return [DataFile(row["name"], row["bytes"], row["rows"]) for row in written.collect()]


def _rows(frame: DataFrame, sink: ToLake) -> DataFrame:
    return frame.select(*typed_columns(sink), "partition", "sequence")


def _newest(rows: DataFrame, keys: list[str], tasks: int) -> DataFrame:
    """Return the last row of each key. All rows of a key are in one partition."""
    found = rows.repartition(tasks, "partition").groupBy("partition", *keys)
    last = found.agg(max_by(struct(*rows.columns), "sequence").alias("last"))
    return last.select("last.*")


class _Read:
    """Reads one range for each number that it gets."""

    def __init__(
        self, consumer: dict[str, Any], ranges: list[tuple[TopicPartition, tuple[int, int]]]
    ) -> None:
        self._consumer = consumer
        self._ranges = ranges

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._read(*self._ranges[number])

    def _read(self, part: TopicPartition, span: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        at, end = span
        reader = RangeReader(self._consumer)
        try:
            while at < end:
                found = reader.read_columns({part: (at, end)}, _READ_BYTES)
                at = found.reached[part]
                if len(found.columns[part]):
                    yield _batch(found.columns[part])
        finally:
            reader.close()


def _batch(columns: RawColumns) -> pa.RecordBatch:
    arrays = [
        pa.array([columns.partition] * len(columns), pa.int32()),
        pa.array(list(columns.offsets), pa.int64()),
        pa.array(listed(columns.timestamps), pa.int64()),
        pa.array(list(columns.keys), pa.binary()),
        pa.array(list(columns.values), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_READ_ARROW)


class _Write:
    """Writes the rows of a task into files, and returns their names and sizes."""

    def __init__(self, folder: str, prefix: str) -> None:
        self._folder = folder
        self._prefix = prefix

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (batch for batch in batches if batch.num_rows)
        for first in rows:
            file = self._write(first, rows)
            yield pa.RecordBatch.from_pylist(
                [{"name": file.name, "bytes": file.bytes, "rows": file.rows}]
            )

    def _write(self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> DataFile:
        """Write one file: the first batch, and others until the file is large."""
        name = f"{self._prefix}-{uuid4().hex}.parquet"
        path = Path(self._folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        schema, count = _stored(first.schema), 0
        with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            batch: pa.RecordBatch | None = first
            while batch is not None:
                writer.write_table(pa.table(batch).cast(schema))
                count += batch.num_rows
                batch = None if file.tell() >= _FILE_BYTES else next(others, None)
        return DataFile(name, path.stat().st_size, count)


def _stored(schema: pa.Schema) -> pa.Schema:
    """Return the schema with times in UTC, as the table has them."""
    return pa.schema([field.with_type(_in_utc(field.type)) for field in schema])


def _in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), kind.item_field.with_type(_in_utc(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    return kind
