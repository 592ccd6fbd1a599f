"""ASSERT TOPIC and ASSERT SCHEMA: wait until something is there, or is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from penstock.model.sql.errors import AnalysisError
from penstock.registry.registry import RegistryError, SchemaRegistry
from penstock.sql.ast.statements import AssertSchema, AssertTopic
from penstock.sql.catalog.properties import ASSERT_TOPIC_PROPERTIES, read_properties

_DEFAULT_TIMEOUT_MS = 1_000
_PAUSE_S = 0.05


def assert_topic(statement: AssertTopic, topics: Mapping[str, int]) -> str:
    """Waits for a topic, with as many partitions as WITH says."""
    properties = read_properties(statement.properties, ASSERT_TOPIC_PROPERTIES)
    partitions = properties.number("PARTITIONS")

    def holds() -> bool:
        found = topics.get(statement.name)
        fits = found is not None and partitions in (None, found)
        return fits if statement.exists else found is None

    _wait(holds, statement, f"topic {statement.name!r}", statement.exists)
    return f"topic {statement.name} {'exists' if statement.exists else 'does not exist'}"


def assert_schema(statement: AssertSchema, registry: SchemaRegistry) -> str:
    """Waits for a schema by subject, id or both."""
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

    _wait(holds, statement, f"schema with {what}", statement.exists)
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
    exists: bool,
) -> None:
    timeout_ms = _DEFAULT_TIMEOUT_MS if statement.timeout_ms is None else statement.timeout_ms
    deadline = time.monotonic() + timeout_ms / 1000
    while not holds():
        if time.monotonic() >= deadline:
            raise AnalysisError(
                "assertion-failed",
                f"{what} {'does not exist' if exists else 'exists'} after {timeout_ms} ms",
                fix="wait longer with TIMEOUT, or correct what is asserted",
                span=statement.span,
            )
        time.sleep(_PAUSE_S)
