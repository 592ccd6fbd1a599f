"""The queries of an engine over history: DataFrames instead of topics, each query once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.config import APPLICATION_ID
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.types import BIGINT
from penstock.model.windows.windowed import Windowed
from penstock.runtime.spark.history.chain import Chain, ChainLink, ChainTopics, GivenRecord
from penstock.runtime.spark.history.inputs import BatchInput, TopicSerdes
from penstock.runtime.spark.history.typed_rows import (
    GivenColumn,
    ReadRow,
    quoted,
    records_of,
    rows_of,
)
from penstock.serde.base import Serde
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import ROWTIME, WINDOW_COLUMNS, SourceColumn
from penstock.sql.engine import SqlEngine
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.queries.batch_rows import given_column, row_column
from penstock.sql.queries.local import QUERY_CONFIG
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.spark_queries import settings_of
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from penstock.runtime.spark.history.inputs import DataFrame, SparkSession


def check_inputs(engine: SqlEngine, names: Iterable[str]) -> None:
    """Check before anything is read that every topic that a query reads has a history.

    Raises:
        AnalysisError: ``missing-input``, or ``unknown-source`` if there is no such topic.
    """
    _check_links(engine, _links(engine), {_named(engine, name).topic for name in names})


def _check_links(
    engine: SqlEngine, links: Sequence[ChainLink], given: Iterable[str]
) -> frozenset[str]:
    """Return the topics that have records: given ones, inserted ones, and what queries write."""
    there = {*given, *(record.topic for record in engine.outbox)}
    there.update(topic for link in links for topic in link.writes)
    for link in links:
        _check_reads(engine, link, there)
    return frozenset(there)


def _check_reads(engine: SqlEngine, link: ChainLink, there: Container[str]) -> None:
    for topic in link.reads:
        if topic not in there:
            raise _no_history(engine, topic)


class SqlBatchResult:
    """What the queries of an engine make of history, as DataFrames with the columns of SQL.

    Nothing is computed before a DataFrame is used. A topic is computed once and kept by Spark,
    until ``unpersist`` or the end of a ``with`` block.
    """

    def __init__(
        self,
        engine: SqlEngine,
        inputs: Mapping[str, DataFrame | BatchInput],
        spark: SparkSession,
        *,
        wall_clock: int = 0,
    ) -> None:
        self._engine, self._sources = engine, _by_topic(engine)
        given = {_named(engine, name): each for name, each in inputs.items()}
        links = _links(engine)
        self._there = _check_links(engine, links, [source.topic for source in given])
        inserted: dict[str, list[GivenRecord]] = defaultdict(list)
        for row in engine.outbox:
            time = wall_clock if row.timestamp is None else row.timestamp
            inserted[row.topic].append(GivenRecord(row.key, row.value, time, row.headers))
        topics = ChainTopics(
            {source.topic: self._history(source, each) for source, each in given.items()},
            inserted,
            self._serdes,
        )
        self._chain = Chain(links, topics, spark, wall_clock)

    def __enter__(self) -> SqlBatchResult:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.unpersist()

    def unpersist(self) -> None:
        """Let Spark forget what it has kept."""
        self._chain.unpersist()

    @property
    def sinks(self) -> list[str]:
        """The streams and tables that the queries write."""
        found = dict.fromkeys(query.sink for query in self._engine.queries.values())
        return [name for name in found if name is not None]

    def __getitem__(self, name: str) -> DataFrame:
        """Return the rows of a stream, or the rows that a table has at the end.

        The columns are those of SQL, with ``WINDOWSTART`` and ``WINDOWEND`` for windowed keys, and
        ``ROWTIME``. A time of day is text.
        """
        source = self._source(name)
        if source.is_table:
            return self._rows(source, self._chain.newest(source.topic))
        return self._rows(source, self._chain.changes(source.topic, with_deletions=False))

    def changes(self, name: str) -> DataFrame:
        """Return all records of a stream or table; a deletion has only its key."""
        source = self._source(name)
        return self._rows(source, self._chain.changes(source.topic, with_deletions=True))

    def select(self, sql: str) -> DataFrame:
        """Return the rows of one SELECT ... EMIT CHANGES, in order, up to its LIMIT.

        Raises:
            SqlError: what is wrong with the statement.
        """
        return self.push(self._engine.query(sql))

    def push(self, query: PushQuery) -> DataFrame:
        """Return the rows of a planned SELECT ... EMIT CHANGES."""
        link = _link(self._engine, query.plan, query.topology)
        _check_reads(self._engine, link, self._there)
        is_table = query.plan.step.is_table
        frame = self._chain.output(link, query.id, with_deletions=is_table)
        frame = frame.offset(query.plan.offset)
        if query.plan.limit is not None:
            frame = frame.limit(query.plan.limit)
        read, of_key = query.reader(), query.key_reader()
        names = [column.name for column in query.columns]

        def row(key: bytes | None, value: bytes | None) -> Sequence[Any]:
            found = of_key(key) if value is None and key is not None else read(value)
            return [found[name] for name in names]

        return rows_of(frame, [row_column(column) for column in query.columns], row)

    def _source(self, name: str) -> DataSource:
        source = _named(self._engine, name)
        if source.topic not in self._there:
            raise _no_history(self._engine, source.topic)
        return source

    def _serdes(self, topic: str) -> TopicSerdes:
        """Return how a topic is written; that of a push query is named after it."""
        catalog, source = self._engine.catalog, self._sources.get(topic)
        size = catalog.topics.get(topic, catalog.default_partitions)
        if source is None:
            return TopicSerdes(topic, _NO_SERDE, _NO_SERDE, size)
        return TopicSerdes(topic, *self._engine.serdes(source), size)

    def _history(self, source: DataSource, given: DataFrame | BatchInput) -> BatchInput:
        """Return the history of a stream or table with its key and its value as bytes."""
        found = _with_time(source, BatchInput.of(given))
        if not _is_raw(source, found):
            if source.window is not None:
                raise AnalysisError(
                    "windowed-history",
                    f"the keys of {source.name} have windows, and columns cannot say which",
                    fix="give the records of its topic: key and value as binary columns",
                )
            key, value = (
                [_given(source, column, found) for column in columns]
                for columns in (source.schema.key, source.schema.value)
            )
            found = records_of(found, key, value, self._serdes(source.topic))
        found.check(source.topic)
        return found

    def _rows(self, source: DataSource, frame: DataFrame) -> DataFrame:
        columns = [*source.schema.key, *source.schema.value]
        if source.window is not None:
            columns += [SourceColumn(name, BIGINT) for name, _ in WINDOW_COLUMNS]
        found = rows_of(
            frame.withColumnRenamed("timestamp", ROWTIME),
            [row_column(column) for column in columns],
            _reader(source, *self._engine.serdes(source)),
        )
        declared = [each.name for each in source.schema.columns if each in columns]
        rest = [each.name for each in columns if each.name not in declared]
        return found.select(*(quoted(name) for name in (*declared, *rest, ROWTIME)))


#: The serdes of a topic that is only written, in a form of its own.
_NO_SERDE: Any = None


def _reader(source: DataSource, key: Serde[Any], value: Serde[Any]) -> ReadRow:
    """Return the function from a record to the values of its key, its value and its window."""
    topic, is_windowed = source.topic, source.window is not None
    no_key, no_value = (None,) * len(source.schema.key), (None,) * len(source.schema.value)

    def read(key_data: bytes | None, value_data: bytes | None) -> tuple[Any, ...]:
        found: Any = None if key_data is None else key.deserialize(topic, key_data)
        bounds: tuple[Any, ...] = (None, None) if is_windowed else ()
        if isinstance(found, Windowed):
            found, bounds = found.key, (found.window.start, found.window.end)
        row = None if value_data is None else value.deserialize(topic, value_data)
        return (*(found or no_key), *(row or no_value), *bounds)

    return read


def _links(engine: SqlEngine) -> list[ChainLink]:
    return [
        _link(engine, query.plan, engine.topology(query_id))
        for query_id, query in engine.queries.items()
    ]


def _link(engine: SqlEngine, plan: QueryPlan, topology: Topology) -> ChainLink:
    own = {APPLICATION_ID.name: engine.application_id(plan.id)}
    return ChainLink(plan.id, topology, {**QUERY_CONFIG, **settings_of(plan), **own})


def _by_topic(engine: SqlEngine) -> dict[str, DataSource]:
    """Return the first stream or table of each topic."""
    found: dict[str, DataSource] = {}
    for source in engine.sources.values():
        found.setdefault(source.topic, source)
    return found


def _named(engine: SqlEngine, name: str) -> DataSource:
    """Return a stream or table by its name, in any case, or by its topic."""
    sources = engine.sources
    for found in (sources.get(name), sources.get(name.upper()), _by_topic(engine).get(name)):
        if found is not None:
            return found
    raise AnalysisError(
        "unknown-source",
        f"there is no stream, table or topic {name!r}",
        fix=did_you_mean(name.upper(), sources) or f"there are {', '.join(sources) or 'none'}",
    )


def _with_time(source: DataSource, given: BatchInput) -> BatchInput:
    """Return a history with a column for the time: ``timestamp``, ROWTIME or what SQL declares."""
    if given.timestamp in given.frame.columns:
        return given
    there = {name.upper(): name for name in given.frame.columns}
    declared = source.timestamp
    names = (ROWTIME, None if declared is None or declared.format else declared.name)
    found = [there[name] for name in names if name in there]
    if given.timestamp != "timestamp" or not found:
        raise AnalysisError(
            "unknown-column",
            f"the history of {source.name} has no column {given.timestamp!r}; it has"
            f" {', '.join(given.frame.columns)}",
            fix="say which column has the time of a row: ?timestamp=…, or BatchInput(frame,"
            " timestamp='…')",
        )
    return replace(given, timestamp=found[0])


def _is_raw(source: DataSource, given: BatchInput) -> bool:
    """Return whether a history has the keys and values as they are in the topic."""
    names = {column.name for column in source.schema.columns}
    parts = [*given.keys, *given.values]
    if len(given.values) != 1 or len(given.keys) > 1 or any(n.upper() in names for n in parts):
        return False
    kinds = {field.name: field.dataType.typeName() for field in given.frame.schema}
    return all(kinds.get(name) in ("binary", "string") for name in parts)


def _given(source: DataSource, column: SourceColumn, given: BatchInput) -> GivenColumn:
    there = given.frame.columns
    upper = {name.upper(): name for name in there}
    name = column.name if column.name in there else upper.get(column.name)
    if name is None:
        raise AnalysisError(
            "unknown-column",
            f"the history of {source.name} has no column {column.name}; it has {', '.join(there)}",
            fix=did_you_mean(column.name, upper)
            or "name the columns as the stream does: frame.withColumnRenamed(…)",
        )
    return given_column(name, column.type)


def _no_history(engine: SqlEngine, topic: str) -> AnalysisError:
    source = _by_topic(engine).get(topic)
    return AnalysisError(
        "missing-input",
        f"topic {topic!r}{f' of {source.name}' if source else ''} has no history, no query that"
        " writes it, and no INSERT",
        fix=f"give its history, as --history {topic}=parquet:PLACE or inputs={{{topic!r}: frame}};"
        " an empty one is a history, too",
    )
