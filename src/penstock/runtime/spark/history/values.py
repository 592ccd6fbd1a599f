"""Keys and values as Spark's types: bytes of topics and stores, decoded in Spark tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.model.windows.windowed import Windowed
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.history.header_text import through_python
from penstock.serde.base import Serde
from penstock.serde.primitives import StringSerde
from penstock.serde.tabular import TabularSerde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde

#: The Spark type of what a serde of this layout writes; all others become JSON text.
_TYPES = {
    "string": "string", "long": "bigint", "integer": "int", "short": "smallint",
    "double": "double", "float": "float", "boolean": "boolean", "bytes": "binary",
    "json": "string",
}  # fmt: skip
_ARROW = {
    "string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(),
    "double": pa.float64(), "float": pa.float32(), "boolean": pa.bool_(), "binary": pa.binary(),
}  # fmt: skip
#: Layouts whose bytes Spark can read by itself, as text or as they are.
_NATIVE = ("string", "json", "bytes")
_JSON, _utf8 = TabularSerde(), StringSerde()


@dataclass(frozen=True)
class Decoding:
    """How the records of a topic, or the rows of a store, are read."""

    topic: str
    key: Serde[Any]
    value: Serde[Any]

    @property
    def is_windowed(self) -> bool:
        return isinstance(self.key, TimeWindowedSerde | SessionWindowedSerde)

    @property
    def key_type(self) -> str:
        inner = self.key.inner if self.is_windowed else self.key  # type: ignore[attr-defined]
        return spark_type(inner)

    @property
    def value_type(self) -> str:
        return spark_type(self.value)


def spark_type(serde: Serde[Any] | None) -> str:
    """Return the type of the column for what a serde reads."""
    return "string" if serde is None else _TYPES.get(serde.layout, "string")


def decoded(
    frame: DataFrame, how: Decoding, *, key_type: str | None, value_type: str | None
) -> DataFrame:
    """Return a frame with its columns ``key`` and ``value`` decoded, and the bounds of windows.

    ``key_type`` and ``value_type`` are Spark types for JSON text, as DDL.
    """
    if how.key.layout in _NATIVE and how.value.layout in _NATIVE:
        found = frame.withColumns(
            {part: _native(sf.col(part), getattr(how, part)) for part in ("key", "value")}
        )
    else:
        found = _in_python(frame, how)
    given = {"key": key_type, "value": value_type}
    typed = {part: sf.from_json(part, kind) for part, kind in given.items() if kind is not None}
    # Spark Connect takes no empty dict.
    return found.withColumns(typed) if typed else found


def _native(column: Column, serde: Serde[Any]) -> Column:
    return column if serde.layout == "bytes" else column.cast("string")


def _in_python(frame: DataFrame, how: Decoding) -> DataFrame:
    return through_python(frame, lambda given: _mapped(given, how))


def _mapped(frame: DataFrame, how: Decoding) -> DataFrame:
    fields = [
        f"{field.name} {field.dataType.simpleString()}"
        for field in frame.schema
        if field.name not in ("key", "value")
    ]
    kinds = [f"key {how.key_type}", f"value {how.value_type}"]
    bounds = ["window_start bigint", "window_end bigint"] if how.is_windowed else []
    schema = ", ".join([*kinds, *bounds, *fields])
    return frame.mapInArrow(_Decode(packed(how)), schema)


class _Decode:
    """Reads keys and values with their serdes, in a Spark task."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        how: Decoding = cloudpickle.loads(self._content)
        for batch in batches:
            keys = _read(batch.column("key"), how.key, how.topic)
            values = _read(batch.column("value"), how.value, how.topic)
            names, arrays = ["key", "value"], [_column(keys, how.key_type)]
            if how.is_windowed:
                arrays = [_column([_plain(key) for key in keys], how.key_type)]
            arrays.append(_column(values, how.value_type))
            if how.is_windowed:
                names += ["window_start", "window_end"]
                arrays.append(pa.array([_bound(key, "start") for key in keys], pa.int64()))
                arrays.append(pa.array([_bound(key, "end") for key in keys], pa.int64()))
            others = [name for name in batch.schema.names if name not in ("key", "value")]
            arrays += [batch.column(name) for name in others]
            yield pa.RecordBatch.from_arrays(arrays, names=[*names, *others])


def _read(column: pa.Array, serde: Serde[Any], topic: str) -> list[Any]:
    if serde.layout in ("string", "json"):
        return [None if data is None else _utf8.decode(data) for data in column.to_pylist()]
    read = serde.deserialize
    return [read(topic, data) for data in column.to_pylist()]


def _column(values: list[Any], kind: str) -> pa.Array:
    fit = _FIT.get(kind)
    return pa.array(values if fit is None else [fit(value) for value in values], _ARROW[kind])


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _JSON.encode(value).decode()


_FIT: dict[str, Callable[[Any], Any]] = {"string": _text}


def _plain(key: Any) -> Any:
    return key.key if isinstance(key, Windowed) else key


def _bound(key: Any, name: str) -> int | None:
    return getattr(key.window, name) if isinstance(key, Windowed) else None
