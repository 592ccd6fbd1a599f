"""INSERT INTO ... VALUES and DELETE: one record, written to the topic of a stream or table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from penstock.model.sql.errors import AnalysisError, SqlError, SqlTypeError
from penstock.model.sql.span import Span
from penstock.model.sql.types import BIGINT, SqlType
from penstock.serde.base import Serde
from penstock.sql.ast.chains import chain
from penstock.sql.ast.clock import with_current_values
from penstock.sql.ast.expressions import And, ColumnRef, Comparison, Expression, NullLiteral
from penstock.sql.ast.node import Node
from penstock.sql.ast.statements import DeleteFrom, InsertValues
from penstock.sql.ast.walk import walk
from penstock.sql.casting import coercer
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import ROWTIME, SourceColumn
from penstock.sql.expressions import Scope
from penstock.sql.expressions.compiler import compile_node
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.results import OutgoingRecord
from penstock.sql.timestamps import timestamp_reader


def record_of(
    statement: InsertValues, catalog: Catalog, functions: FunctionRegistry, lowering: Lowering
) -> OutgoingRecord:
    """Evaluate the values and encode them in the formats of the stream or table."""
    target = catalog.source(statement.name, statement.span)
    check_target(target, statement.span)
    columns = _columns(statement, target)
    scope = Scope((), functions, catalog.types)
    given: dict[str, Any] = {}
    for column, expression in zip(columns, statement.values, strict=True):
        given[column.name] = value_of(expression, column, scope)
    return RowEncoder(target, lowering, statement.span).record(given)


def check_target(target: DataSource, span: Span | None = None) -> None:
    """Refuse a stream or table whose rows only queries or others may write."""
    reason = None
    if target.is_source:
        reason = "it is a read-only source"
    elif target.window is not None:
        reason = "its keys are windowed"
    elif target.schema.headers:
        reason = "it has header columns"
    if reason is not None:
        raise AnalysisError(
            "cannot-insert", f"cannot insert into {target.name}: {reason}", span=span
        )


def _columns(statement: InsertValues, target: DataSource) -> list[SourceColumn]:
    if not statement.columns:
        columns = [*target.schema.key, *target.schema.value]
    else:
        columns = []
        for name in statement.columns:
            found = SourceColumn(ROWTIME, BIGINT) if name == ROWTIME else target.schema.find(name)
            if found is None:
                raise AnalysisError(
                    "unknown-column",
                    f"{target.name} has no column {name!r}",
                    fix=f"columns are {', '.join(c.name for c in target.schema.columns)}",
                    span=statement.span,
                )
            if found in columns:
                raise AnalysisError(
                    "duplicate-column",
                    f"column {name} gets two values",
                    fix="name each column once",
                    span=statement.span,
                )
            columns.append(found)
    if len(columns) != len(statement.values):
        raise AnalysisError(
            "wrong-number-of-values",
            f"{len(columns)} columns take {len(columns)} values, there are {len(statement.values)}",
            fix="give one value for each column",
            span=statement.span,
        )
    return columns


def value_of(expression: Expression, column: SourceColumn, scope: Scope) -> Any:
    """Evaluate a value that stands alone, converted to the type of its column."""
    if isinstance(expression, NullLiteral):
        return None
    expression = cast(Expression, with_current_values(expression))
    for node in walk(expression):
        if isinstance(node, ColumnRef) and not _is_lambda_parameter(node, expression):
            raise AnalysisError(
                "column-in-values",
                f"VALUES cannot refer to columns such as {node.name!r}",
                fix="put text into single quotes",
                span=node.span,
            )
    compiled = compile_node(expression, scope, column.type)
    try:
        value = compiled.evaluate(())
    # Functions of users may raise anything; the statement is refused and says why.
    except Exception as error:
        raise AnalysisError(
            "value-failed",
            f"the value of {column.name} cannot be computed: {error}",
            span=expression.span,
        ) from error
    if compiled.type is None or value is None or compiled.type == column.type:
        return value
    return _converted(value, compiled.type, column, expression)


def _is_lambda_parameter(node: ColumnRef, expression: Node) -> bool:
    return any(node.name in getattr(each, "parameters", ()) for each in walk(expression))


def _converted(value: Any, type_: SqlType, column: SourceColumn, expression: Expression) -> Any:
    try:
        convert = coercer(type_, column.type)
        return convert(value)
    except SqlError as error:
        reason, fix = f"{value!r} is {type_}", error.fix
    except (ValueError, ArithmeticError) as error:
        reason, fix = str(error), f"write a value that {column.type} can hold, or CAST it"
    raise SqlTypeError(
        "wrong-type",
        f"column {column.name} is {column.type}: {reason}",
        fix=fix,
        span=expression.span,
    )


class RowEncoder:
    """Encode rows of a stream or table as the records of its topic."""

    def __init__(self, target: DataSource, lowering: Lowering, span: Span | None = None) -> None:
        self._target = target
        self._span = span
        self._key_serde = lowering.topic_key_serde(target)
        self._value_serde = lowering.topic_value_serde(target)
        timestamp = target.timestamp
        self._read_time = None if timestamp is None else timestamp_reader(timestamp)

    def record(self, given: Mapping[str, Any]) -> OutgoingRecord:
        """Return the record of a row, given by SQL values under the names of columns.

        Raises:
            AnalysisError: a table's key is missing, the time is negative, or a format cannot hold
                one of the values.
        """
        target = self._target
        key = tuple(given.get(column.name) for column in target.schema.key)
        if target.is_table and None in key:
            raise AnalysisError(
                "missing-key",
                f"a row of table {target.name} needs a value for its PRIMARY KEY",
                span=self._span,
            )
        value = tuple(given.get(column.name) for column in target.schema.value)
        timestamp = self._timestamp(given)
        key_bytes = self._encoded(self._key_serde, key, target.key_format.name)
        value_bytes = self._encoded(self._value_serde, value, target.value_format.name)
        return OutgoingRecord(target.topic, key_bytes, value_bytes, timestamp)

    def _encoded(self, serde: Serde[Any], row: tuple[Any, ...], name: str) -> bytes | None:
        try:
            return serde.serialize(self._target.topic, row)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise AnalysisError(
                "value-not-writable",
                f"format {name} of {self._target.name} cannot hold this row: {error}",
                fix="insert other values, or choose another format",
                span=self._span,
            ) from error

    def _timestamp(self, given: Mapping[str, Any]) -> int | None:
        timestamp: int | None = given.get(ROWTIME)
        column = self._target.timestamp
        if column is not None and self._read_time is not None:
            value = given.get(column.name)
            timestamp = timestamp if value is None else self._read_time(value)
        if timestamp is not None and timestamp < 0:
            raise AnalysisError(
                "negative-time",
                f"a record's time cannot be {timestamp} ms: Kafka has no times before 1970",
                fix="give ROWTIME milliseconds since 1970",
                span=self._span,
            )
        return timestamp


def tombstone_of(
    statement: DeleteFrom, catalog: Catalog, functions: FunctionRegistry, lowering: Lowering
) -> OutgoingRecord:
    """Return the record that deletes a table's row; WHERE must give the whole key."""
    target = catalog.source(statement.name, statement.span)
    if not target.is_table or target.is_source or target.window is not None:
        raise AnalysisError(
            "cannot-delete",
            f"rows of {target.name} cannot be deleted",
            fix="DELETE is for tables that are not windowed and not read-only",
            span=statement.span,
        )
    given: dict[str, Any] = {}
    scope = Scope((), functions, catalog.types)
    where = statement.where
    for part in chain(where) if isinstance(where, And) else [where]:
        if isinstance(part, Comparison) and part.operator == "=":
            _add_key(part, target, scope, given)
    missing = [column.name for column in target.schema.key if given.get(column.name) is None]
    if missing:
        raise AnalysisError(
            "delete-without-key",
            f"DELETE FROM {target.name} must say which key: {', '.join(missing)} is missing",
            fix=f"write WHERE {' AND '.join(f'{c.name} = ...' for c in target.schema.key)}",
            span=statement.where.span or statement.span,
        )
    key = tuple(given[column.name] for column in target.schema.key)
    data = lowering.topic_key_serde(target).serialize(target.topic, key)
    return OutgoingRecord(target.topic, data, None, None)


def _add_key(part: Comparison, target: DataSource, scope: Scope, given: dict[str, Any]) -> None:
    if isinstance(part.left, ColumnRef):
        column = target.schema.find(part.left.name)
        if column is not None and column.namespace == "KEY":
            given[column.name] = value_of(part.right, column, scope)
