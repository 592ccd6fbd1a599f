"""DataFrames as the history of topics: which columns are key, value, timestamp and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import InvalidArgumentError
from penstock.model.columns.partitioning import partitions_for
from penstock.model.site import caller_site
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.history.header_text import HEADERS, as_text
from penstock.serde.base import Serde
from penstock.serde.column_serde import HasColumnSerde
from penstock.topology.validate import nearest

#: Spark's names for those who plan, and must not import Spark.
__all__ = [
    "HEADERS", "RECORDS", "BatchInput", "DataFrame", "SparkSession", "TopicSerdes", "millis",
    "records",
]  # fmt: skip

#: What records look like once their keys and values are bytes.
RECORDS = "task int, at long, seq long, timestamp long, key binary, value binary, headers string"
_ARROW = pa.schema(
    [
        ("task", pa.int32()),
        ("at", pa.int64()),
        ("seq", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
    ]
)


@dataclass(frozen=True)
class BatchInput:
    """The history of one topic: a DataFrame, and which of its columns are what.

    A column of binary or text has the bytes as they would be in the topic. Any other column is
    written with the serde that the topology reads the topic with. A struct, or several columns,
    become a JSON object if that serde reads JSON.

    Args:
        frame: The records.
        key: The column with the keys, or several that make up a key; None if records have none.
        value: The column with the values, or several. By default a column of that name or, if
            there is none, all columns that have no other meaning.
        timestamp: The column with the time of a record: a timestamp, or milliseconds.
        partition: The column with the partition that a record has in its topic. Without it, Kafka's
            hash of the key decides.
        offset: The column with the offset that a record has in its partition. With it, records come
            in the order of their offsets; without it, in the order of their timestamps.
        headers: The column with the headers: an array of structs of ``key`` and ``value``.
        arrival: The column with the time at which a record arrived in its topic: a timestamp, or a
            number. With it, records of all topics come in the order of their arrival, so that
            late records are late.
    """

    frame: DataFrame
    key: str | Sequence[str] | None = "key"
    value: str | Sequence[str] | None = None
    timestamp: str = "timestamp"
    partition: str | None = None
    offset: str | None = None
    headers: str | None = None
    arrival: str | None = None

    @staticmethod
    def of(given: DataFrame | BatchInput) -> BatchInput:
        """Return an input; the columns of a plain DataFrame mean what their names say."""
        if isinstance(given, BatchInput):
            return given
        there = set(given.columns)

        def named(name: str) -> str | None:
            return name if name in there else None

        return BatchInput(
            given, named("key"), partition=named("partition"), offset=named("offset"),
            headers=named("headers"),
        )  # fmt: skip

    def check(self, topic: str) -> None:
        """Raise an error if a column is not there, or if it has the wrong type."""
        for name in self._named:
            if name not in self.frame.columns:
                raise _no_column(topic, name, self.frame.columns)
        for column in (self.timestamp, self.arrival):
            if column is not None:
                millis(topic, self.frame, column)
        if not self.values:
            raise InvalidArgumentError(
                "no-value-column",
                f"the history of topic {topic!r} has no column for the values",
                fix="name it: BatchInput(frame, value='…')",
                at=caller_site(),
            )

    @property
    def _named(self) -> list[str]:
        others = (self.timestamp, self.partition, self.offset, self.headers, self.arrival)
        return [*self.keys, *self.values, *(name for name in others if name is not None)]

    @property
    def keys(self) -> list[str]:
        return _listed(self.key)

    @property
    def values(self) -> list[str]:
        if self.value is not None:
            return _listed(self.value)
        if "value" in self.frame.columns:
            return ["value"]
        others = (self.timestamp, self.partition, self.offset, self.headers, self.arrival)
        taken = {*self.keys, *others}
        return [name for name in self.frame.columns if name not in taken]

    @property
    def has_row_values(self) -> bool:
        """Whether columns together make up a value."""
        if self.value is None:
            return "value" not in self.frame.columns
        return _is_several(self.value)


@dataclass(frozen=True)
class TopicSerdes:
    """How the records of a topic are written; ``partitions`` is how many partitions it has."""

    topic: str
    key: Serde[Any]
    value: Serde[Any]
    partitions: int


def records(given: BatchInput, serdes: TopicSerdes) -> DataFrame:
    """Return the records of a topic as bytes, with their partitions as ``task``.

    ``at`` is missing unless the arrival is known, and ``seq`` is 0 unless there are offsets.
    """
    frame, topic = given.frame, serdes.topic
    key = _bytes_of(frame, given.keys, serdes.key, is_several=_is_several(given.key))
    value = _bytes_of(frame, given.values, serdes.value, is_several=given.has_row_values)
    partition = sf.lit(-1) if given.partition is None else sf.col(given.partition)
    if serdes.partitions == 1:
        partition = sf.lit(0)
    columns = [
        partition.cast("int").alias("task"),
        (sf.lit(None) if given.arrival is None else millis(topic, frame, given.arrival))
        .cast("long")
        .alias("at"),
        (sf.lit(0) if given.offset is None else sf.col(given.offset)).cast("long").alias("seq"),
        millis(topic, frame, given.timestamp).cast("long").alias("timestamp"),
        key.alias("key"),
        value.alias("value"),
        (
            sf.lit(None).cast("string") if given.headers is None else as_text(sf.col(given.headers))
        ).alias("headers"),
    ]
    chosen = frame.select(*columns)
    if _are_bytes(chosen) and (given.partition is not None or serdes.partitions == 1):
        return chosen
    return chosen.mapInArrow(_Encode(packed(serdes)), RECORDS)


class _Encode:
    """Writes keys and values with their serdes, and chooses partitions, in a Spark task."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        serdes: TopicSerdes = cloudpickle.loads(self._content)
        for batch in batches:
            key = _encoded(batch.column("key"), serdes.key, serdes.topic)
            value = _encoded(batch.column("value"), serdes.value, serdes.topic)
            columns = {name: batch.column(name) for name in _ARROW.names}
            columns |= {"key": key, "value": value}
            columns["task"] = _partitions(columns["task"], key, value, serdes.partitions)
            arrays = [columns[field.name].cast(field.type) for field in _ARROW]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _partitions(given: pa.Array, key: pa.Array, value: pa.Array, count: int) -> pa.Array:
    """Return the given partitions; where there is none, the key decides, or else the value."""
    known = given.to_numpy(zero_copy_only=False)
    if (known >= 0).all():
        return given
    if count == 1:
        return pa.array(np.zeros(len(key), np.int32))
    # Without a key any partition is right, as long as a second run chooses it again.
    hashed = pa.compute.coalesce(key, value) if key.null_count else key
    found = partitions_for(hashed, count).astype(np.int32)
    return pa.array(np.where(known >= 0, known, found).astype(np.int32))


def _encoded(column: pa.Array, serde: Serde[Any], topic: str) -> pa.Array:
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return column.cast(pa.binary())
    values = column.to_pylist()
    columns = serde.column_serde if isinstance(serde, HasColumnSerde) else None
    if columns is not None and columns.encode is not None:
        found = columns.encode(values)
        if found is not None:
            return pa.array(list(found), pa.binary())
    return pa.array([serde.serialize(topic, value) for value in values], pa.binary())


def _bytes_of(
    frame: DataFrame, names: Sequence[str], serde: Serde[Any], *, is_several: bool
) -> Column:
    """Return a column as bytes where Spark can write them; else as it is."""
    if not names:
        return sf.lit(None).cast("binary")
    if is_several:
        whole: Column = sf.struct(*names)
        return _json(whole) if _reads_json(serde) else whole
    name = names[0]
    kind = frame.schema[name].dataType
    if isinstance(kind, BinaryType):
        return sf.col(name)
    if isinstance(kind, StringType):
        return sf.col(name).cast("binary")
    if isinstance(kind, StructType | ArrayType | MapType) and _reads_json(serde):
        return _json(sf.col(name))
    return sf.col(name)


def _json(column: Column) -> Column:
    text = sf.to_json(column, {"ignoreNullFields": "false"})
    return text.cast("binary")


def _reads_json(serde: Serde[Any]) -> bool:
    return serde.layout in ("json", "string")


def _are_bytes(frame: DataFrame) -> bool:
    return all(isinstance(frame.schema[name].dataType, BinaryType) for name in ("key", "value"))


def millis(topic: str, frame: DataFrame, name: str) -> Column:
    """Return a column of times in milliseconds."""
    kind: DataType = frame.schema[name].dataType
    column = sf.col(name)
    if isinstance(kind, TimestampType):
        return sf.unix_millis(column)
    if isinstance(kind, TimestampNTZType | DateType):
        return sf.unix_millis(column.cast("timestamp"))
    if isinstance(kind, LongType) or kind.typeName() in ("integer", "short", "byte"):
        return column
    raise InvalidArgumentError(
        "bad-time-column",
        f"column {name!r} of the history of topic {topic!r} is a {kind.simpleString()}, not a time",
        fix="give a timestamp, or milliseconds since 1970 as a bigint",
        at=caller_site(),
    )


def _is_several(given: str | Sequence[str] | None) -> bool:
    return given is not None and not isinstance(given, str)


def _listed(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _no_column(topic: str, name: str, there: Sequence[str]) -> InvalidArgumentError:
    return InvalidArgumentError(
        "unknown-column",
        f"the history of topic {topic!r} has no column {name!r}{nearest(name, there)}; it has"
        f" {', '.join(there)}",
        fix=f"say which column it is: BatchInput(frame, {_ROLE.get(name, 'key')}='…')",
        at=caller_site(),
    )


_ROLE = {"timestamp": "timestamp", "value": "value"}
