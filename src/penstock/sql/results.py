"""The results of statements: plain data that a shell prints and a server sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.sql.queries.pull import PullQuery


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The outcome of one statement. ``kind`` is stable; ``message`` is for people."""

    kind: str
    sql: str
    message: str = ""
    query_id: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class TableResult(StatementResult):
    """Rows under column names, the result of SHOW, DESCRIBE and EXPLAIN."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PullResult(TableResult):
    """The answer to a SELECT without EMIT; ``query`` can be answered again later."""

    query: PullQuery | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record that a statement writes to a topic: a row of INSERT VALUES, or a tombstone."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    """A topic that DROP ... DELETE TOPIC deletes, and the subjects of its schemas."""

    topic: str
    subjects: tuple[str, ...] = ()


#: What a statement does to topics.
Outgoing = OutgoingRecord | DeletedTopic


@dataclass(frozen=True, slots=True)
class PrintResult(StatementResult):
    """The arguments of PRINT. The caller reads the records from its cluster."""

    topic: str = ""
    from_beginning: bool = False
    interval: int = 1
    limit: int | None = None
