"""History as commands name it: ``parquet:/lake/orders?key=user&timestamp=ordered_at``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.config import BOOTSTRAP_SERVERS, StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.runtime.spark.data_source import register_data_source
from penstock.runtime.spark.history.inputs import BatchInput
from penstock.topology.validate import nearest

#: The columns that a name may say, as the fields of ``BatchInput``; those of rows may be several.
_ONE = ("timestamp", "partition", "offset", "headers", "arrival")
_SEVERAL = ("key", "value")


@dataclass(frozen=True)
class HistorySource:
    """Where the history of one topic is, and which of its columns are what."""

    kind: str
    place: str
    columns: dict[str, Any]

    @staticmethod
    def parse(text: str) -> HistorySource:
        """Read ``kind:place?key=column&value=column,column``."""
        kind, colon, rest = text.partition(":")
        place, _, query = rest.partition("?")
        if not colon or not place or kind not in _KINDS:
            raise InvalidArgumentError(
                "bad-history",
                f"{text!r} is not the place of a history{nearest(kind, _KINDS)}",
                fix="write kind:path, such as parquet:/lake/orders?key=user&timestamp=ordered_at;"
                f" kinds are {', '.join(_KINDS)}",
            )
        return HistorySource(kind, place, dict(_column(text, *each) for each in _pairs(query)))

    def open(self, spark: SparkSession, config: StreamsConfig) -> BatchInput:
        """Return the records as a DataFrame that Spark has not read yet."""
        try:
            if self.kind == "topic":
                frame = topic_frame(spark, self.place, config)
            else:
                frame = _READERS[self.kind](spark, self.place)
        except AnalysisException as error:
            raise InvalidArgumentError(
                "unreadable-history",
                f"{self.kind}:{self.place} cannot be read: {error.getCondition() or error}",
                fix="check the path and the kind of the files",
            ) from error
        given = BatchInput.of(frame)
        names = {name: getattr(given, name) for name in (*_SEVERAL, *_ONE)}
        return BatchInput(frame, **{**names, **self.columns})


def _pairs(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def _column(text: str, role: str, given: str) -> tuple[str, Any]:
    if role in _ONE:
        return role, given
    if role not in _SEVERAL:
        raise InvalidArgumentError(
            "bad-history",
            f"{text!r}: a column cannot be {role!r}{nearest(role, (*_SEVERAL, *_ONE))}",
            fix=f"columns are {', '.join((*_SEVERAL, *_ONE))}",
        )
    columns = [name for name in given.split(",") if name]
    # With a comma at its end, one column is an object of one member.
    several = "," in given
    return role, (columns if several else columns[0] if columns else None)


def _files(kind: str) -> Callable[[SparkSession, str], DataFrame]:
    return lambda spark, place: spark.read.format(kind).load(place)


def _csv(spark: SparkSession, place: str) -> DataFrame:
    return spark.read.csv(place, header=True, inferSchema=True)


def _table(spark: SparkSession, place: str) -> DataFrame:
    return spark.table(place)


_READERS: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "parquet": _files("parquet"),
    "orc": _files("orc"),
    "json": _files("json"),
    "csv": _csv,
    "table": _table,
}
_KINDS = (*_READERS, "topic")


def topic_frame(spark: SparkSession, topic: str, config: StreamsConfig) -> DataFrame:
    """Return the records of a topic, up to its present end, as bytes."""
    register_data_source(spark)
    options = {
        "bootstrap.servers": config[BOOTSTRAP_SERVERS], "topic": topic, "key.serde": "bytes",
        "value.serde": "bytes",
    }  # fmt: skip
    return spark.read.format("penstock").options(**options).load()
