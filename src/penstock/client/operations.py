"""The client's catalog methods as data: the statement to send, and how to read the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from penstock.client.descriptions import (
    ConnectorDescription,
    ConnectorInfo,
    Entity,
    FunctionInfo,
    QueryInfo,
    SourceDescription,
    StreamInfo,
    TableInfo,
    TopicInfo,
)
from penstock.client.errors import ClientError
from penstock.client.statement_text import identifier

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The outcome of one statement. ``entity`` has all that the server said about it."""

    kind: str
    sql: str
    message: str = ""
    status: str = ""
    query_id: str | None = None
    command_id: str | None = None
    sequence: int | None = None
    warnings: tuple[str, ...] = ()
    entity: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(entity: Entity) -> StatementResult:
        """Return the result that an entity of the server describes."""
        state = entity.get("commandStatus") or {}
        sequence = entity.get("commandSequenceNumber")
        return StatementResult(
            str(entity.get("@type") or ""),
            str(entity.get("statementText") or ""),
            str(state.get("message") or entity.get("message") or ""),
            str(state.get("status") or ""),
            state.get("queryId"),
            entity.get("commandId"),
            # -1 says that the statement had no command.
            sequence if isinstance(sequence, int) and sequence >= 0 else None,
            tuple(str(each.get("message", each)) for each in entity.get("warnings") or ()),
            entity,
        )


def last_sequence(entities: Sequence[Entity], before: int | None) -> int | None:
    """Return the sequence number of the last command among entities, or the one from before."""
    numbers = [entity.get("commandSequenceNumber") for entity in entities]
    # -1 says that the statement had no command.
    return next((n for n in reversed(numbers) if isinstance(n, int) and n >= 0), before)


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A statement, and what a method returns of the entities that answer it."""

    sql: str
    read: Callable[[Sequence[Entity]], T]


def _list(sql: str, key: str, each: Callable[[Entity], T]) -> Operation[list[T]]:
    return Operation(sql, lambda entities: [each(item) for item in _value(entities, sql, key)])


def _value(entities: Sequence[Entity], sql: str, key: str) -> Any:
    found = next((entity[key] for entity in entities if key in entity), None)
    if found is None:
        raise ClientError("bad-answer", f"the server's answer to {sql!r} has no {key!r}")
    return found


def list_streams() -> Operation[list[StreamInfo]]:
    return _list("LIST STREAMS;", "streams", StreamInfo.of)


def list_tables() -> Operation[list[TableInfo]]:
    return _list("LIST TABLES;", "tables", TableInfo.of)


def list_topics() -> Operation[list[TopicInfo]]:
    return _list("LIST TOPICS;", "topics", TopicInfo.of)


def list_queries() -> Operation[list[QueryInfo]]:
    return _list("LIST QUERIES;", "queries", QueryInfo.of)


def list_functions() -> Operation[list[FunctionInfo]]:
    return _list("LIST FUNCTIONS;", "functions", FunctionInfo.of)


def list_connectors() -> Operation[list[ConnectorInfo]]:
    return _list("LIST CONNECTORS;", "connectors", ConnectorInfo.of)


def list_properties() -> Operation[dict[str, str]]:
    """Return the operation for the server's properties by name, masked ones included."""
    sql = "LIST PROPERTIES;"

    def read(entities: Sequence[Entity]) -> dict[str, str]:
        found = _value(entities, sql, "properties")
        if isinstance(found, Mapping):
            return {str(name): str(value) for name, value in found.items()}
        return {str(each["name"]): each.get("value") for each in found}

    return Operation(sql, read)


def describe_source(name: str) -> Operation[SourceDescription]:
    sql = f"DESCRIBE {identifier(name)};"
    return Operation(sql, lambda e: SourceDescription.of(_value(e, sql, "sourceDescription")))


def describe_connector(name: str) -> Operation[ConnectorDescription]:
    sql = f"DESCRIBE CONNECTOR {identifier(name)};"

    def read(entities: Sequence[Entity]) -> ConnectorDescription:
        _value(entities, sql, "status")
        return ConnectorDescription.of(entities[0])

    return Operation(sql, read)
