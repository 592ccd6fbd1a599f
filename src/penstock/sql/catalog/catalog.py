"""The catalog: streams, tables, types, queries and session settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from penstock.formats.properties import FormatProperties
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.span import Span
from penstock.model.sql.types import SqlType
from penstock.sql.ast.statements import SourceKind
from penstock.sql.catalog.schema import Schema
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from penstock.sql.functions.user import UserFunction
    from penstock.sql.planner.plan import QueryPlan

WindowKind = Literal["TUMBLING", "HOPPING", "SESSION"]
QueryState = Literal["RUNNING", "PAUSED"]


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """A format by name with its properties, and whether a single column is wrapped.

    If ``wrap`` is None, the statement does not say it, and the format's default applies.
    """

    name: str
    properties: FormatProperties = field(default_factory=FormatProperties)
    wrap: bool | None = None


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """How the keys of a topic are windowed; sessions have no size."""

    kind: WindowKind
    size_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """The column that holds a record's time, and the pattern of its text if it is text."""

    name: str
    format: str | None = None


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of a topic, if it has to be created; None means the default."""

    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None


def is_compacted(kind: str, window: WindowSpec | None) -> bool:
    """Return whether the topic of a stream or table needs only the last record of each key."""
    return kind == "TABLE" and window is None


@dataclass(frozen=True, slots=True)
class DataSource:
    """A stream or table: its columns and the topic they are written to and read from."""

    name: str
    kind: SourceKind
    schema: Schema
    topic: str
    key_format: FormatSpec
    value_format: FormatSpec
    window: WindowSpec | None = None
    timestamp: TimestampColumn | None = None
    is_source: bool = False
    topic_settings: TopicSettings = TopicSettings()
    sql: str = ""
    #: The time to live of a table's rows; None if they do not expire.
    ttl_ms: int | None = None
    #: The table of a lakehouse that gets the rows of the query, too.
    lake: str | None = None
    #: Whether that table holds the present rows, and not the changes.
    lake_is_present: bool = False

    @property
    def is_compacted(self) -> bool:
        return is_compacted(self.kind, self.window)

    @property
    def is_table(self) -> bool:
        return self.kind == "TABLE"


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that runs until it is terminated: what it reads, where it writes, how it runs.

    ``topology`` is built once, when the query is created. So later changes of settings, types and
    functions do not change the query.
    """

    id: str
    sql: str
    plan: QueryPlan
    topology: Topology = field(compare=False, repr=False)
    sources: tuple[str, ...]
    sink: str | None
    state: QueryState = "RUNNING"


@dataclass(slots=True)
class Catalog:
    """Everything that a statement can refer to by name. A copy is cheap: each script works on one.

    If a statement is refused, the copy is discarded, so no part of the script takes effect.
    """

    sources: dict[str, DataSource] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    #: Settings of SET, for this session.
    properties: dict[str, str] = field(default_factory=dict)
    #: Settings of ALTER SYSTEM, for all sessions and all queries, running ones included.
    system: dict[str, str] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    #: The ids of paused queries. A query may be created again only by a later script.
    paused: set[str] = field(default_factory=set)
    #: The functions of CREATE FUNCTION.
    functions: dict[str, UserFunction] = field(default_factory=dict)
    #: Ids of queries that were terminated or dropped; the runtime deletes their state.
    ended: list[str] = field(default_factory=list)
    default_partitions: int = 1

    def copy(self) -> Catalog:
        return replace(
            self,
            sources=dict(self.sources),
            types=dict(self.types),
            queries=dict(self.queries),
            variables=dict(self.variables),
            properties=dict(self.properties),
            system=dict(self.system),
            topics=dict(self.topics),
            paused=set(self.paused),
            functions=dict(self.functions),
            ended=list(self.ended),
        )

    def source(self, name: str, span: Span | None = None) -> DataSource:
        """Return a stream or table by name; raise an AnalysisError if it does not exist."""
        found = self.sources.get(name)
        if found is None:
            raise AnalysisError(
                "unknown-source",
                f"{name} does not exist",
                fix=did_you_mean(name, self.sources) or "create the stream or table first",
                span=span,
            )
        return found

    def add_query(self, query: PersistentQuery) -> None:
        """Add a query; one that was paused before stays paused until RESUME."""
        state: QueryState = "PAUSED" if query.id in self.paused else "RUNNING"
        self.queries[query.id] = replace(query, state=state)

    def learn_paused(self, query_ids: Iterable[str]) -> None:
        """Pause the queries with these ids, also those that are created later."""
        self.paused.update(query_ids)
        for query in list(self.queries.values()):
            self.add_query(query)

    def end_query(self, query_id: str) -> None:
        """Remove a query with its state: a later query of the same id starts empty."""
        del self.queries[query_id]
        self.paused.discard(query_id)
        self.ended.append(query_id)

    def queries_reading(self, name: str) -> list[PersistentQuery]:
        return [query for query in self.queries.values() if name in query.sources]

    def queries_writing(self, name: str) -> list[PersistentQuery]:
        return [query for query in self.queries.values() if query.sink == name]
