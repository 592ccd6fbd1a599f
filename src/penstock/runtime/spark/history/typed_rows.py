"""Rows with columns of their own, made of keys and values and written as these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegralType

from penstock.errors import InvalidArgumentError, PenstockError
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.history.errors import portable
from penstock.runtime.spark.history.header_text import through_python
from penstock.runtime.spark.history.inputs import BatchInput, TopicSerdes

Convert = Callable[[Any], Any]
#: What becomes of the key and the value of a record: a value for each column.
ReadRow = Callable[[bytes | None, bytes | None], Sequence[Any]]


def quoted(name: str) -> str:
    """Return the name of a column as Spark reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


# From records to rows


@dataclass(frozen=True)
class RowColumn:
    """A column of rows; ``convert`` makes of a value what Arrow takes for the type."""

    name: str
    spark_type: str
    arrow_type: pa.DataType
    convert: Convert | None


def rows_of(frame: DataFrame, columns: Sequence[RowColumn], read: ReadRow) -> DataFrame:
    """Return a frame with columns of rows in the place of ``key`` and ``value``."""
    own = [f"{quoted(each.name)} {each.spark_type}" for each in columns]
    run = _Read(packed((tuple(columns), read)))

    def mapped(given: DataFrame) -> DataFrame:
        others = [field for field in given.schema if field.name not in ("key", "value")]
        kinds = [f"{quoted(each.name)} {each.dataType.simpleString()}" for each in others]
        return given.mapInArrow(run, ", ".join([*own, *kinds]))

    return through_python(frame, mapped)


class _Read:
    """Reads rows from keys and values, in a Spark task."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns, read = cloudpickle.loads(self._content)
        try:
            for batch in batches:
                yield _read_batch(batch, columns, read)
        except PenstockError as error:
            raise portable(error) from error


def _read_batch(
    batch: pa.RecordBatch, columns: Sequence[RowColumn], read: ReadRow
) -> pa.RecordBatch:
    keys, values = batch.column("key").to_pylist(), batch.column("value").to_pylist()
    rows = [read(key, value) for key, value in zip(keys, values, strict=True)]
    names, arrays = [], []
    for place, column in enumerate(columns):
        found = [row[place] for row in rows]
        if column.convert is not None:
            found = [column.convert(value) for value in found]
        names.append(column.name)
        arrays.append(pa.array(found, column.arrow_type, from_pandas=False))
    for name in batch.schema.names:
        if name not in ("key", "value"):
            names.append(name)
            arrays.append(batch.column(name))
    return pa.RecordBatch.from_arrays(arrays, names=names)


# From rows to records


@dataclass(frozen=True)
class GivenColumn:
    """A column of a DataFrame that becomes a part of a key or a value.

    ``convert`` makes of a value, as Arrow returns it, what the serde takes. With ``keeps_numbers``
    whole numbers stay what they are: those of a date or a time.
    """

    name: str
    cast_to: str | None
    convert: Convert
    keeps_numbers: bool = False

    def of(self, frame: DataFrame) -> Column:
        """Return the column in the type that it should have."""
        column = sf.col(quoted(self.name))
        is_number = isinstance(frame.schema[self.name].dataType, IntegralType)
        if self.cast_to is None or (self.keeps_numbers and is_number):
            return column
        return column.cast(self.cast_to)


def records_of(
    given: BatchInput,
    key: Sequence[GivenColumn],
    value: Sequence[GivenColumn],
    serdes: TopicSerdes,
) -> BatchInput:
    """Return a history whose keys and values are the bytes of rows.

    Raises:
        InvalidArgumentError: ``bad-history-column``, if a column is of another type.
    """
    frame = given.frame
    roles = ("timestamp", "partition", "offset", "headers", "arrival")
    named = {role: getattr(given, role) for role in roles if getattr(given, role) is not None}
    try:
        chosen = frame.select(
            *(each.of(frame).alias(f"k{number}") for number, each in enumerate(key)),
            *(each.of(frame).alias(f"v{number}") for number, each in enumerate(value)),
            *(sf.col(quoted(name)).alias(role) for role, name in named.items()),
        )
        # With Spark Connect, a wrong type is only noticed when somebody asks.
        _ = chosen.schema
    except AnalysisException as error:
        raise InvalidArgumentError(
            "bad-history-column",
            f"the history of topic {serdes.topic!r} has a column of another type:"
            f" {str(error).splitlines()[0]}",
            fix="cast the column to the type that is declared for it",
        ) from error
    write = _Write(packed((serdes, [e.convert for e in key], [e.convert for e in value])))

    def mapped(frame: DataFrame) -> DataFrame:
        kinds = [f"{role} {frame.schema[role].dataType.simpleString()}" for role in named]
        return frame.mapInArrow(write, ", ".join(["key binary", "value binary", *kinds]))

    written = through_python(chosen, mapped)
    own = {role: role for role in named}
    return replace(given, frame=written, key="key", value="value", **own)


class _Write:
    """Writes columns ``k0``, ``k1`` … and ``v0``, ``v1`` … as key and value, in a Spark task."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        serdes, key, value = cloudpickle.loads(self._content)
        try:
            for batch in batches:
                yield _written_batch(batch, serdes, key, value)
        except PenstockError as error:
            raise portable(error) from error


def _written_batch(
    batch: pa.RecordBatch, serdes: TopicSerdes, key: Sequence[Convert], value: Sequence[Convert]
) -> pa.RecordBatch:
    topic, write_key, write_value = serdes.topic, serdes.key.serialize, serdes.value.serialize
    keys, values = _rows(batch, "k", key), _rows(batch, "v", value)
    arrays = [
        pa.array([write_key(topic, row) for row in keys], pa.binary()),
        pa.array([write_value(topic, row) for row in values], pa.binary()),
    ]
    others = batch.schema.names[len(key) + len(value) :]
    arrays += [batch.column(name) for name in others]
    return pa.RecordBatch.from_arrays(arrays, names=["key", "value", *others])


def _rows(batch: pa.RecordBatch, letter: str, converts: Sequence[Convert]) -> list[Any]:
    if not converts:
        return [None] * batch.num_rows
    columns = [
        [convert(value) for value in batch.column(f"{letter}{number}").to_pylist()]
        for number, convert in enumerate(converts)
    ]
    return list(zip(*columns, strict=True))
