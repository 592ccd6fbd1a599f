"""``spark.read.format("penstock")``: topics as DataFrames, decoded with Penstock's serdes.

``data_source`` registers it with a session. Options:
``bootstrap.servers``, ``topic`` (several separated by commas), ``key.serde`` and ``value.serde``
(names; default string), ``value.schema`` (DDL, for JSON values) and ``isolation.level``
(``read_committed``). What is read: ``starting.offsets`` (``earliest``, the default, ``latest``, or
``{"orders": {"0": 17}}``) or ``starting.time``; for tables also ``ending.offsets`` (``latest``) or
``ending.time``. The record at the end is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

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
from penstock.runtime.spark.topic_ranges import EARLIEST, LATEST, Edge
from penstock.runtime.spark.worker.reader import RangeReader
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes, resolve_serde

FORMAT = "penstock"
#: So much of a range is in memory at a time.
_PIECE_BYTES = 16 << 20
#: A name and its type, as DDL has them: with a space or a colon between them.
_FIELD = re.compile(r"(`[^`]+`|\w+)\s*[\s:]\s*(.+)", re.DOTALL)
_SPARK_TYPES = {
    "StringSerde": "string", "LongSerde": "bigint", "IntegerSerde": "int", "DoubleSerde": "double",
    "FloatSerde": "float", "BooleanSerde": "boolean", "BytesSerde": "binary",
}  # fmt: skip


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
        self.starting = Edge.of(given, "starting", EARLIEST)
        self.ending = Edge.of(given, "ending", LATEST)
        self.isolation = given.get("isolation.level", "read_committed")

    def serde(self, part: str) -> Serde[Any]:
        return resolve_serde(self.names[part]) or Serdes.string()

    def type_of(self, part: str) -> str:
        if part == "value" and self.value_schema:
            pairs = [f"`{name}`:{kind}" for name, kind in fields_of(self.value_schema)]
            return f"struct<{','.join(pairs)}>"
        return _SPARK_TYPES.get(type(self.serde(part)).__name__, "string")

    def admin(self) -> Admin:
        return Admin({"bootstrap.servers": self.bootstrap})

    def parts(self, admin: Admin) -> list[tuple[str, int]]:
        return [(t, n) for t in self.topics for n in range(len(admin.topic(t).partitions))]

    def ends(self, admin: Admin) -> dict[tuple[str, int], int]:
        committed = self.isolation == "read_committed"
        return admin.end_offsets(self.parts(admin), committed=committed)

    def starts(self, admin: Admin) -> dict[tuple[str, int], int]:
        return self.starting.of_partitions(admin, self.parts(admin), self.ends(admin))

    def spans(self, admin: Admin) -> dict[tuple[str, int], tuple[int, int]]:
        """Return the range of each partition."""
        parts, ends = self.parts(admin), self.ends(admin)
        starts = self.starting.of_partitions(admin, parts, ends)
        until = self.ending.of_partitions(admin, parts, ends)
        return {p: (starts[p], max(starts[p], min(until[p], ends[p]))) for p in parts}

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
    """Read a range of the topics; without one, up to their end at the time of planning."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        spans = self._settings.spans(self._settings.admin())
        return [_Range(*part, *span) for part, span in spans.items()]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return _rows(self._settings, partition)


class TopicStreamReader(DataSourceStreamReader):
    """Read topics as a stream; Spark's checkpoint keeps the offsets."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"offsets": offset_rows(self._settings.starts(self._settings.admin()))}

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
    decode = _decoder(settings)
    with closing(reader):
        yield from _decoded(reader, (topic, number), start, end, decode)


def _decoded(
    reader: RangeReader, part: tuple[str, int], start: int, end: int, decode: Any
) -> Iterator[tuple[Any, ...]]:
    """Read a range piece by piece: it may be larger than memory."""
    while start < end:
        found = reader.read_columns({part: (start, end)}, _PIECE_BYTES)
        start = found.reached[part]
        yield from (_row(RawRecord(*each), decode) for each in found.columns[part])


def _row(record: RawRecord, decode: Any) -> tuple[Any, ...]:
    return (
        decode("key", record, record.key),
        decode("value", record, record.value),
        record.topic,
        record.partition,
        record.offset,
        datetime.fromtimestamp(record.timestamp / 1000, UTC),
        [(name, value) for name, value in record.headers],
    )


def fields_of(ddl: str) -> list[tuple[str, str]]:
    """Return names and types of ``id long, tags array<string>``.

    Spark's own parser is in the JVM, to which the process that asks for the schema has no way.

    >>> fields_of("id long, `at`: map<string,struct<a:int,b:decimal(4,2)>>")
    [('id', 'long'), ('at', 'map<string,struct<a:int,b:decimal(4,2)>>')]
    """
    found, depth, began = [], 0, 0
    for at, sign in enumerate(f"{ddl},"):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            found.append(ddl[began:at].strip())
            began = at + 1
    parts = [_FIELD.fullmatch(each) for each in found]
    return [(part[1].strip("`"), part[2]) for part in parts if part is not None]


def _names(ddl: str | None) -> list[str] | None:
    return [name for name, _ in fields_of(ddl)] if ddl else None


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
