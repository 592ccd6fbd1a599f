"""The comparisons of ASSERT VALUES, ASSERT NULL VALUES, ASSERT STREAM and ASSERT TABLE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import BIGINT
from penstock.model.windows.windowed import Windowed
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql import SqlEngine
from penstock.sql.ast.expressions import Expression, StringLiteral
from penstock.sql.ast.statements import (
    AssertSource,
    AssertTombstone,
    AssertValues,
    Column,
    Constraint,
    CreateSource,
    Property,
)
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.ddl import Definitions
from penstock.sql.catalog.schema import ROWTIME, WINDOWEND, WINDOWSTART, SourceColumn
from penstock.sql.expressions import Scope
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.statements.insert_values import value_of
from penstock.sql.syntax.parser import parse_type

_SYSTEM = (ROWTIME, WINDOWSTART, WINDOWEND)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The record that must come next. Columns that are not named must be NULL.

    The record's time and window are compared only if they are named.
    """

    source: DataSource
    values: Mapping[str, Any]
    is_tombstone: bool
    decode: Callable[[ProducedRecord], dict[str, Any] | None]

    @staticmethod
    def of(statement: AssertValues | AssertTombstone, engine: SqlEngine) -> Expectation:
        """Evaluate the values of an assertion."""
        source = engine.catalog.source(statement.name, statement.span)
        is_tombstone = isinstance(statement, AssertTombstone)
        given = statement.key if isinstance(statement, AssertTombstone) else statement.values
        columns = _columns(statement, source, given)
        scope = Scope((), engine.functions, engine.catalog.types)
        values = {
            column.name: value_of(expression, column, scope)
            for column, expression in zip(columns, given, strict=True)
        }
        return Expectation(source, values, is_tombstone, _decoder(source, engine))

    def difference(self, record: ProducedRecord) -> str | None:
        """Return how a record differs; None if it does not."""
        actual = self.decode(record)
        if self.is_tombstone != (record.value is None):
            has, wants = ("a value", "NULL") if self.is_tombstone else ("NULL", "a value")
            return f"it has {has}, expected {wants}"
        if actual is None:
            return "it cannot be read"
        schema = self.source.schema
        compared = [column.name for column in (schema.key if self.is_tombstone else schema.columns)]
        compared += [name for name in _SYSTEM if name in self.values]
        for name in compared:
            if not _same(actual.get(name), self.values.get(name)):
                return f"{name} is {actual.get(name)!r}, expected {self.values.get(name)!r}"
        return None

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value!r}" for name, value in self.values.items())


def _same(actual: Any, expected: Any) -> bool:
    # NaN does not equal itself, but a test can expect it.
    return bool(actual == expected) or (actual != actual and expected != expected)


def _columns(
    statement: AssertValues | AssertTombstone, source: DataSource, given: Sequence[Expression]
) -> list[SourceColumn]:
    schema = source.schema
    if statement.columns:
        columns = [_column(name, source, statement) for name in statement.columns]
    elif isinstance(statement, AssertTombstone):
        columns = list(schema.key)
    else:
        columns = [column for column in schema.columns if column.namespace != "HEADERS"]
    if len(columns) != len(given):
        raise AnalysisError(
            "wrong-number-of-values",
            f"{len(columns)} columns take {len(columns)} values, there are {len(given)}",
            fix="give one value for each column",
            span=statement.span,
        )
    return columns


def _column(
    name: str, source: DataSource, statement: AssertValues | AssertTombstone
) -> SourceColumn:
    found = SourceColumn(name, BIGINT) if name in _SYSTEM else source.schema.find(name)
    if found is None:
        raise AnalysisError(
            "unknown-column",
            f"{source.name} has no column {name!r}",
            fix=f"columns are {', '.join(c.name for c in source.schema.columns)}",
            span=statement.span,
        )
    return found


def _decoder(
    source: DataSource, engine: SqlEngine
) -> Callable[[ProducedRecord], dict[str, Any] | None]:
    execution = engine._execution(engine.catalog)
    lowering = Lowering("test", execution.environment, engine.registry)
    keys, values = lowering.topic_key_serde(source), lowering.topic_value_serde(source)
    key_names = [column.name for column in source.schema.key]
    value_names = [column.name for column in source.schema.value]

    def decode(record: ProducedRecord) -> dict[str, Any] | None:
        row: dict[str, Any] = {ROWTIME: record.timestamp}
        key = keys.deserialize(source.topic, record.key)
        if isinstance(key, Windowed):
            row |= {WINDOWSTART: key.window.start, WINDOWEND: key.window.end}
            key = key.key
        row |= dict(zip(key_names, key or [None] * len(key_names), strict=True))
        value = values.deserialize(source.topic, record.value)
        row |= dict(zip(value_names, value or [None] * len(value_names), strict=True))
        return row

    return decode


def check_source(statement: AssertSource, engine: SqlEngine) -> str | None:
    """Return how a stream or table differs from the expected one; None if it does not."""
    source = engine.catalog.source(statement.name, statement.span)
    if source.kind != statement.kind:
        return f"{source.name} is a {source.kind}, expected a {statement.kind}"
    wanted = _declared(statement, source, engine)
    if statement.columns and wanted.schema.columns != source.schema.columns:
        is_table = source.is_table
        return (
            f"{source.name} has the columns {source.schema.describe(is_table=is_table)},"
            f" expected {wanted.schema.describe(is_table=is_table)}"
        )
    named = {each.name.upper() for each in statement.properties}
    for name, read in _PROPERTIES.items():
        if name in named and read(source) != read(wanted):
            return f"{source.name} has {name} {read(source)}, expected {read(wanted)}"
    return None


_PROPERTIES: dict[str, Callable[[DataSource], Any]] = {
    "KAFKA_TOPIC": lambda source: source.topic,
    "FORMAT": lambda source: (source.key_format.name, source.value_format.name),
    "KEY_FORMAT": lambda source: source.key_format.name,
    "VALUE_FORMAT": lambda source: source.value_format.name,
    "TIMESTAMP": lambda source: source.timestamp and source.timestamp.name,
    "WINDOW_TYPE": lambda source: source.window and source.window.kind,
    "WINDOW_SIZE": lambda source: source.window and source.window.size_ms,
}


def _declared(statement: AssertSource, source: DataSource, engine: SqlEngine) -> DataSource:
    """Return the stream or table that a CREATE with the same text would create.

    Properties that the assertion leaves out are those of the stream or table itself.
    """
    named = {each.name.upper() for each in statement.properties}
    given = {"KAFKA_TOPIC": source.topic}
    if "FORMAT" not in named:
        given["VALUE_FORMAT"] = source.value_format.name
    others = tuple(
        Property(name, StringLiteral(text)) for name, text in given.items() if name not in named
    )
    catalog = Catalog(types=engine.catalog.types, topics={source.topic: 1})
    made = Definitions(catalog, engine.config, engine.registry).create_source(
        CreateSource(
            statement.kind,
            statement.name,
            statement.columns or _columns_of(source),
            (*statement.properties, *others),
            span=statement.span,
        ),
        "",
    )
    assert made is not None
    return made


def _columns_of(source: DataSource) -> tuple[Column, ...]:
    key: Constraint = "PRIMARY KEY" if source.is_table else "KEY"
    return tuple(
        Column(
            column.name, parse_type(str(column.type)), key if column.namespace == "KEY" else None
        )
        for column in source.schema.columns
        if column.namespace != "HEADERS"
    )
