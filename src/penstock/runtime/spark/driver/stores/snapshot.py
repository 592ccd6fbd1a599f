"""A store as a DataFrame: a committed snapshot, read over all its partitions."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.model.versioned import VersionedRecord
from penstock.model.windows.windowed import Windowed
from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.serde.tabular import TabularSerde

_PLAIN = {str: "string", bool: "boolean", int: "bigint", float: "double", bytes: "binary"}
_JSON = TabularSerde()


def snapshot(spark: SparkSession, view: StoreView) -> DataFrame:
    """Return the entries of a store; the columns of an empty store are text."""
    entries = [(key, _value(value)) for key, value in view.all()]
    is_windowed = any(isinstance(key, Windowed) for key, _ in entries)
    keys = [key.key if isinstance(key, Windowed) else key for key, _ in entries]
    key_type, value_type = _type(keys), _type([value for _, value in entries])
    schema = f"key {key_type}, value {value_type}"
    rows: list[tuple[Any, ...]] = [
        (_fit(plain, key_type), _fit(value, value_type))
        for plain, (_, value) in zip(keys, entries, strict=True)
    ]
    if is_windowed:
        schema += ", window_start bigint, window_end bigint"
        rows = [(*row, key.start, key.end) for row, (key, _) in zip(rows, entries, strict=True)]
    return spark.createDataFrame(rows, schema)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, VersionedRecord) else value


def _type(values: list[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    return _PLAIN.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


def _fit(value: Any, spark_type: str) -> Any:
    if spark_type != "string" or value is None or isinstance(value, str):
        return value
    return _JSON.encode(value).decode()
