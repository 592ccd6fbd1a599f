"""``spark.read.format("penstock")``: topics as DataFrames, decoded with Penstock's serdes.

Register it once per session: ``penstock.register_data_source(spark)``. Options:
``bootstrap.servers``, ``topic`` (several separated by commas), ``key.serde`` and ``value.serde``
(names; default string), ``value.schema`` (DDL, for JSON values), ``starting.offsets``
(``earliest``, the default, or ``latest``) and ``isolation.level`` (``read_committed``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from penstock.errors import ConfigError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kernel.record_queue import RawRecord
from penstock.runtime.spark.exchange.batch_log import offset_rows, offsets_from
from penstock.runtime.spark.worker.reader import RangeReader
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes, resolve_serde

FORMAT = "penstock"
_SPARK_TYPES = {
    "StringSerde": "string", "LongSerde": "bigint", "IntegerSerde": "int", "DoubleSerde": "double",
    "FloatSerde": "float", "BooleanSerde": "boolean", "BytesSerde": "binary",
}  # fmt: skip


def register_data_source(spark: SparkSession) -> None:
    """Register ``format("penstock")`` with a Spark session."""
    spark.dataSource.register(TopicDataSource)


class TopicDataSource(DataSource):
    """Spark's data source for topics: key, value, topic, partition, offset, timestamp, headers."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        settings = _Settings(self.options)
        return (
            f"key {settings.type_of('key')}, value {settings.type_of('value')}, topic string,"
            " partition int, offset bigint, timestamp timestamp,"
            " headers array<struct<key:string,value:binary>>"
        )

    def reader(self, schema: StructType) -> TopicReader:
        return TopicReader(_Settings(self.options))

    def streamReader(self, schema: StructType) -> TopicStreamReader:  # noqa: N802 - Spark's name
        return TopicStreamReader(_Settings(self.options))


class _Settings:
    """The options, checked. Plain values, so that readers can be pickled."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower().removeprefix("kafka."): value for name, value in options.items()}
        self.bootstrap = self._required(given, "bootstrap.servers")
        self.topics = [t.strip() for t in self._required(given, "topic").split(",")]
        self.names = {part: given.get(f"{part}.serde", "string") for part in ("key", "value")}
        self.value_schema = given.get("value.schema")
        self.starting = given.get("starting.offsets", "earliest")
        self.isolation = given.get("isolation.level", "read_committed")

    def serde(self, part: str) -> Serde[Any]:
        return resolve_serde(self.names[part]) or Serdes.string()

    def type_of(self, part: str) -> str:
        if part == "value" and self.value_schema:
            return f"struct<{StructType.fromDDL(self.value_schema).simpleString()[7:-1]}>"
        return _SPARK_TYPES.get(type(self.serde(part)).__name__, "string")

    def admin(self) -> Admin:
        return Admin({"bootstrap.servers": self.bootstrap})

    def parts(self, admin: Admin) -> list[tuple[str, int]]:
        return [(t, n) for t in self.topics for n in range(len(admin.topic(t).partitions))]

    def ends(self, admin: Admin) -> dict[tuple[str, int], int]:
        committed = self.isolation == "read_committed"
        return admin.end_offsets(self.parts(admin), committed=committed)

    def _required(self, given: Mapping[str, str], name: str) -> str:
        if not given.get(name):
            raise ConfigError(
                "missing-option",
                f'format("penstock") needs the option {name!r}',
                fix=f'add .option("{name}", …)',
            )
        return given[name]


class _Range(InputPartition):
    """An offset range of one topic partition, as one Spark partition."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__((topic, partition, start, end))


class TopicReader(DataSourceReader):
    """Read from the beginning of the topics to their end at the time of planning."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        admin = self._settings.admin()
        starts = admin.begin_offsets(self._settings.parts(admin))
        ends = self._settings.ends(admin)
        return [_Range(*part, starts[part], end) for part, end in ends.items()]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return _rows(self._settings, partition)


class TopicStreamReader(DataSourceStreamReader):
    """Read topics as a stream; Spark's checkpoint keeps the offsets."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        admin = self._settings.admin()
        if self._settings.starting == "latest":
            return {"offsets": offset_rows(self._settings.ends(admin))}
        return {"offsets": offset_rows(admin.begin_offsets(self._settings.parts(admin)))}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        return {"offsets": offset_rows(self._settings.ends(self._settings.admin()))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        starts = offsets_from(start["offsets"])
        return [_Range(*p, starts.get(p, 0), e) for p, e in offsets_from(end["offsets"]).items()]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return _rows(self._settings, partition)


def _rows(settings: _Settings, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
    topic, number, start, end = partition.value
    reader = RangeReader(
        {
            "bootstrap.servers": settings.bootstrap,
            "group.id": "penstock-data-source",
            "isolation.level": settings.isolation,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        records = reader.read({(topic, number): (start, end)})[topic, number]
    finally:
        reader.close()
    decode = _decoder(settings)
    for record in records:
        yield (
            decode("key", record, record.key),
            decode("value", record, record.value),
            record.topic,
            record.partition,
            record.offset,
            datetime.fromtimestamp(record.timestamp / 1000, UTC),
            [(name, value) for name, value in record.headers],
        )


def _names(ddl: str | None) -> list[str] | None:
    if not ddl:
        return None
    struct = StructType.fromDDL(ddl)
    assert isinstance(struct, StructType)
    return list(struct.names)


def _decoder(settings: _Settings) -> Any:
    serdes = {part: settings.serde(part) for part in ("key", "value")}
    names = _names(settings.value_schema)
    as_text = {part: settings.type_of(part) == "string" for part in ("key", "value")}

    def decode(part: str, record: RawRecord, data: bytes | None) -> Any:
        try:
            value = serdes[part].deserialize(record.topic, data)
        except Exception as error:
            raise StreamsError(
                "deserialization",
                f"the {part} at topic {record.topic!r} partition {record.partition} offset"
                f" {record.offset} cannot be decoded: {error}",
                f"set the option {part}.serde to the serde of the topic",
            ) from error
        if value is None:
            return None
        if part == "value" and names is not None:
            return tuple(value.get(name) for name in names)
        return json.dumps(value) if as_text[part] and not isinstance(value, str) else value

    return decode
