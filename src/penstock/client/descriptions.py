"""Descriptions of the server and its catalog, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Entity = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The version of a server, its Kafka cluster, its service id and its state."""

    version: str
    kafka_cluster_id: str
    service_id: str
    status: str

    @staticmethod
    def of(answer: Entity) -> ServerInfo:
        data = answer.get("KsqlServerInfo") or answer.get("PenstockServerInfo") or answer
        return ServerInfo(
            str(data.get("version", "")),
            str(data.get("kafkaClusterId", "")),
            str(data.get("ksqlServiceId", "")),
            str(data.get("serverStatus", "")),
        )


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream: its name, topic and formats."""

    name: str
    topic: str
    key_format: str
    value_format: str
    is_windowed: bool = False

    @staticmethod
    def of(data: Entity) -> StreamInfo:
        return StreamInfo(*_source(data))


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table: its name, topic and formats, and whether its keys have windows."""

    name: str
    topic: str
    key_format: str
    value_format: str
    is_windowed: bool = False

    @staticmethod
    def of(data: Entity) -> TableInfo:
        return TableInfo(*_source(data))


def _source(data: Entity) -> tuple[str, str, str, str, bool]:
    value_format = str(data.get("valueFormat") or data.get("format") or "")
    return (
        str(data["name"]),
        str(data.get("topic", "")),
        str(data.get("keyFormat") or "KAFKA"),
        value_format,
        bool(data.get("isWindowed")),
    )


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic of the cluster, and how many replicas each of its partitions has."""

    name: str
    replicas: tuple[int, ...]

    @property
    def partitions(self) -> int:
        return len(self.replicas)

    @staticmethod
    def of(data: Entity) -> TopicInfo:
        return TopicInfo(str(data["name"]), tuple(data.get("replicaInfo") or ()))


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A running query: what it is, where it writes, and in which state it is."""

    id: str
    sql: str
    kind: str
    state: str
    sinks: tuple[str, ...] = ()
    sink_topics: tuple[str, ...] = ()

    @property
    def is_persistent(self) -> bool:
        return self.kind == "PERSISTENT"

    @staticmethod
    def of(data: Entity) -> QueryInfo:
        return QueryInfo(
            str(data["id"]),
            str(data.get("queryString", "")),
            str(data.get("queryType") or "PERSISTENT"),
            str(data.get("state") or state_of(data.get("statusCount") or {})),
            tuple(data.get("sinks") or ()),
            tuple(data.get("sinkKafkaTopics") or ()),
        )


def state_of(counts: Mapping[str, int]) -> str:
    """Return the states of a query as text: ``RUNNING:1``, ``RUNNING:2, ERROR:1``."""
    return ", ".join(f"{state}:{count}" for state, count in counts.items())


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A column of a stream or table."""

    name: str
    type: str
    is_key: bool = False
    is_header: bool = False

    @staticmethod
    def of(data: Entity) -> FieldInfo:
        kind = data.get("fieldType") or data.get("type")
        return FieldInfo(
            str(data["name"]), type_text(data.get("schema") or {}), kind == "KEY", kind == "HEADER"
        )


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A stream or table with its columns and the queries that read and write it."""

    name: str
    kind: str
    topic: str
    key_format: str
    value_format: str
    fields: tuple[FieldInfo, ...]
    window_type: str | None = None
    timestamp_column: str | None = None
    sql: str = ""
    partitions: int = 0
    replicas: int = 0
    readers: tuple[QueryInfo, ...] = ()
    writers: tuple[QueryInfo, ...] = ()

    @staticmethod
    def of(data: Entity) -> SourceDescription:
        return SourceDescription(
            str(data["name"]),
            str(data.get("type", "")),
            str(data.get("topic", "")),
            str(data.get("keyFormat") or ""),
            str(data.get("valueFormat") or data.get("format") or ""),
            tuple(map(FieldInfo.of, data.get("fields") or ())),
            data.get("windowType") or None,
            data.get("timestamp") or None,
            str(data.get("statement") or ""),
            int(data.get("partitions") or 0),
            int(data.get("replication") or 0),
            _queries(data.get("readQueries")),
            _queries(data.get("writeQueries")),
        )


def _queries(data: Sequence[Entity] | None) -> tuple[QueryInfo, ...]:
    return tuple(map(QueryInfo.of, data or ()))


def type_text(schema: Entity) -> str:
    """Return a type as SQL writes it.

    >>> type_text({"type": "ARRAY", "memberSchema": {"type": "STRING"}})
    'ARRAY<STRING>'
    """
    name = str(schema.get("type") or "")
    member, fields = schema.get("memberSchema"), schema.get("fields")
    parameters = schema.get("parameters") or {}
    if name == "STRUCT":
        inner = (f"`{each['name']}` {type_text(each['schema'])}" for each in fields or ())
        return f"STRUCT<{', '.join(inner)}>"
    if name == "MAP" and member is not None:
        key = schema.get("keySchema") or {"type": "STRING"}
        return f"MAP<{type_text(key)}, {type_text(member)}>"
    if member is not None:
        return f"{name}<{type_text(member)}>"
    if name == "DECIMAL" and parameters:
        return f"DECIMAL({parameters.get('precision')}, {parameters.get('scale')})"
    return name


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function by name; ``kind`` is SCALAR, AGGREGATE or TABLE."""

    name: str
    kind: str
    category: str = ""

    @staticmethod
    def of(data: Entity) -> FunctionInfo:
        return FunctionInfo(
            str(data["name"]), str(data.get("type") or "").upper(), str(data.get("category") or "")
        )


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector of Kafka Connect; ``kind`` is SOURCE or SINK."""

    name: str
    kind: str
    class_name: str
    state: str

    @staticmethod
    def of(data: Entity) -> ConnectorInfo:
        return ConnectorInfo(
            str(data["name"]),
            str(data.get("type") or "").upper(),
            str(data.get("className") or ""),
            str(data.get("state") or ""),
        )


@dataclass(frozen=True, slots=True)
class ConnectorDescription:
    """A connector with its tasks, its topics and the sources on those topics."""

    name: str
    kind: str
    class_name: str
    state: str
    tasks: tuple[Mapping[str, Any], ...] = ()
    topics: tuple[str, ...] = ()
    sources: tuple[SourceDescription, ...] = field(default=())

    @staticmethod
    def of(data: Entity) -> ConnectorDescription:
        status = data.get("status") or {}
        return ConnectorDescription(
            str(status.get("name") or ""),
            str(status.get("type") or "").upper(),
            str(data.get("connectorClass") or ""),
            str((status.get("connector") or {}).get("state") or ""),
            tuple(status.get("tasks") or ()),
            tuple(data.get("topics") or ()),
            tuple(map(SourceDescription.of, data.get("sources") or ())),
        )
