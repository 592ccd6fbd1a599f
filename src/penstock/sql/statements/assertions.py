"""ASSERT TOPIC and ASSERT SCHEMA: wait until something is there, or is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from penstock.model.sql.errors import AnalysisError
from penstock.registry.registry import RegistryError, SchemaRegistry
from penstock.sql.ast.statements import AssertSchema, AssertTopic
from penstock.sql.catalog.properties import ASSERT_TOPIC_PROPERTIES, read_properties

DEFAULT_TIMEOUT_MS = 1_000
TOPIC_TIMEOUT = "ksql.assert.topic.default.timeout.ms"
SCHEMA_TIMEOUT = "ksql.assert.schema.default.timeout.ms"
#: The first pause between two checks, and the longest.
_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class TopicShape:
    """What ASSERT TOPIC compares; ``replicas`` is None if it is unknown."""

    partitions: int
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """The condition of an ASSERT. It may become true while the caller waits."""

    statement: AssertTopic | AssertSchema
    #: Returns whether the condition holds now.
    holds: Callable[[], bool]
    #: What is asserted, as the result names it, and as an error does.
    name: str
    what: str
    timeout_ms: int

    @property
    def message(self) -> str:
        return f"{self.name} {'exists' if self.statement.exists else 'does not exist'}"

    def pauses(self) -> Iterator[float]:
        """Check until it holds, and yield the seconds to wait before the next check.

        The caller waits: a server has few threads, and must not block them.

        Raises:
            AnalysisError: ``assertion-failed``, if its time is over.
        """
        began, pause_s = time.monotonic(), _PAUSE_S
        while not self.holds():
            left_s = began + self.timeout_ms / 1000 - time.monotonic()
            if left_s <= 0:
                raise self._failure()
            yield min(pause_s, left_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def wait(self) -> None:
        """Wait in this thread until it holds; raises what ``pauses`` raises."""
        for pause_s in self.pauses():
            time.sleep(pause_s)

    def _failure(self) -> AnalysisError:
        is_so = "does not exist" if self.statement.exists else "exists"
        return AnalysisError(
            "assertion-failed",
            f"{self.what} {is_so} after {self.timeout_ms} ms",
            fix="wait longer with TIMEOUT, or correct what is asserted",
            span=self.statement.span,
        )


def topic_assertion(
    statement: AssertTopic,
    topics: Callable[[], Mapping[str, TopicShape]],
    default_ms: int = DEFAULT_TIMEOUT_MS,
) -> Assertion:
    """Return what ASSERT TOPIC claims: a topic with as many partitions and replicas as WITH says.

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
    timeout_ms = _timeout_ms(statement, default_ms)
    return Assertion(statement, holds, f"topic {statement.name}", what, timeout_ms)


def schema_assertion(
    statement: AssertSchema, registry: SchemaRegistry, default_ms: int = DEFAULT_TIMEOUT_MS
) -> Assertion:
    """Return what ASSERT SCHEMA claims: a schema by subject, id or both."""
    named = [] if statement.subject is None else [f"subject {statement.subject!r}"]
    named += [] if statement.schema_id is None else [f"id {statement.schema_id}"]
    name = f"schema with {' '.join(named)}"

    def holds() -> bool:
        return _has_schema(statement, registry) is statement.exists

    return Assertion(statement, holds, name, name, _timeout_ms(statement, default_ms))


def _timeout_ms(statement: AssertTopic | AssertSchema, default_ms: int) -> int:
    return default_ms if statement.timeout_ms is None else statement.timeout_ms


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
