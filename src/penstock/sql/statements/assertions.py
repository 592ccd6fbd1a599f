"""ASSERT TOPIC and ASSERT SCHEMA: wait until something is there, or is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.model.sql.errors import AnalysisError
from penstock.registry.registry import RegistryError, SchemaRegistry
from penstock.sql.ast.statements import AssertSchema, AssertTopic
from penstock.sql.catalog.properties import ASSERT_TOPIC_PROPERTIES, read_properties

DEFAULT_TIMEOUT_MS = 1_000
TOPIC_TIMEOUT = "ksql.assert.topic.default.timeout.ms"
SCHEMA_TIMEOUT = "ksql.assert.schema.default.timeout.ms"
_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class TopicShape:
    """What ASSERT TOPIC compares; ``replicas`` is None where nobody knows."""

    partitions: int
    replicas: int | None = None


def assert_topic(
    statement: AssertTopic,
    topics: Callable[[], Mapping[str, TopicShape]],
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> str:
    """Wait for a topic with as many partitions and replicas as WITH says.

    ``topics`` is asked again and again: another process may be about to make or delete the topic.
    """
    properties = read_properties(statement.properties, ASSERT_TOPIC_PROPERTIES)
    partitions, replicas = properties.number("PARTITIONS"), properties.number("REPLICAS")

    def found() -> TopicShape | None:
        return topics().get(statement.name)

    def holds() -> bool:
        shape = found()
        if shape is None or not statement.exists:
            return (shape is not None) is statement.exists
        return partitions in (None, shape.partitions) and replicas in (None, shape.replicas)

    what = f"topic {statement.name!r}"
    if statement.exists and (shape := found()) is not None:
        what += f" as described (it has {shape.partitions} partitions)"
    _wait(holds, statement, what, timeout_ms)
    return f"topic {statement.name} {'exists' if statement.exists else 'does not exist'}"


def assert_schema(
    statement: AssertSchema, registry: SchemaRegistry, timeout_ms: int = DEFAULT_TIMEOUT_MS
) -> str:
    """Wait for a schema by subject, id or both."""
    what = " ".join(
        part
        for part in (
            f"subject {statement.subject!r}" if statement.subject is not None else "",
            f"id {statement.schema_id}" if statement.schema_id is not None else "",
        )
        if part
    )

    def holds() -> bool:
        return _has_schema(statement, registry) is statement.exists

    _wait(holds, statement, f"schema with {what}", timeout_ms)
    return f"schema with {what} {'exists' if statement.exists else 'does not exist'}"


def _has_schema(statement: AssertSchema, registry: SchemaRegistry) -> bool:
    latest = None if statement.subject is None else registry.latest(statement.subject)
    if statement.subject is not None and latest is None:
        return False
    if statement.schema_id is None:
        return True
    if latest is not None and latest.id == statement.schema_id:
        return True
    try:
        registry.by_id(statement.schema_id)
    except RegistryError:
        return False
    return statement.subject is None


def _wait(
    holds: Callable[[], bool],
    statement: AssertTopic | AssertSchema,
    what: str,
    default_ms: int,
) -> None:
    timeout_ms = default_ms if statement.timeout_ms is None else statement.timeout_ms
    deadline = time.monotonic() + timeout_ms / 1000
    while not holds():
        if time.monotonic() >= deadline:
            is_so = "does not exist" if statement.exists else "exists"
            raise AnalysisError(
                "assertion-failed",
                f"{what} {is_so} after {timeout_ms} ms",
                fix="wait longer with TIMEOUT, or correct what is asserted",
                span=statement.span,
            )
        time.sleep(_PAUSE_S)
