"""The context of lowering: the builder, serdes of topics, compiled expressions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Generic, TypeVar

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.faces.kstream import KStream
from penstock.formats.columns import ColumnLike
from penstock.formats.formats import format_named
from penstock.formats.rows import serde_for
from penstock.model.columns.row_columns import RowColumns
from penstock.processor.expression_failures import ExpressionFailure, report_failure
from penstock.registry.registry import SchemaRegistry
from penstock.serde.base import Serde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.catalog.catalog import DataSource, FormatSpec, WindowSpec
from penstock.sql.expressions import Column, Scope, compile_condition, compile_expression
from penstock.sql.expressions.over_rows import mask_over_rows, values_over_rows
from penstock.sql.planner.lowering.column_forms import projection
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.stage import Environment
from penstock.sql.planner.steps import SourceStep, Step

Row = tuple[Any, ...]
T = TypeVar("T")
PROCESSING_LOG = "penstock.sql.processing"


@dataclass(frozen=True, slots=True)
class ProcessingLog:
    """Receives errors of expressions: the value is NULL, and one line of the log says why.

    The task that runs the query is told first, because it may evaluate the row again.
    """

    query_id: str
    step: str = ""
    columns: tuple[Column, ...] = ()

    def __call__(self, expression: str, error: Exception, row: Sequence[Any]) -> None:
        report_failure(ExpressionFailure(self.step, expression, error, self._named(row)))
        logging.getLogger(PROCESSING_LOG).error(
            "query %s: %s failed: %s: %s", self.query_id, expression, type(error).__name__, error
        )

    def drop(self, expression: str, reason: str, row: Sequence[Any]) -> None:
        """Tell the task that a row is dropped because of the value of an expression."""
        report_failure(ExpressionFailure(self.step, expression, reason, self._named(row)))

    def _named(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the columns of the row that have a value, by name."""
        pairs = zip(self.columns, row, strict=False)
        return {column.name: value for column, value in pairs if value is not None}


@dataclass(frozen=True, slots=True)
class RowFunction(Generic[T]):
    """A function of one row, and the same function over many rows at once.

    ``over_rows`` returns rows if the function returns a row, else a column.
    """

    one: Callable[[Row], T]
    over_rows: Callable[[RowColumns], Any]


@dataclass(slots=True)
class Lowering:
    """The conversion of one query to a topology."""

    query_id: str
    environment: Environment
    registry: SchemaRegistry | None
    #: The columns that expressions of the query refer to.
    used: frozenset[ColumnRef] = frozenset()
    #: The steps that read a topic; several may read the same one.
    sources: tuple[SourceStep, ...] = ()
    builder: StreamsBuilder = field(default_factory=StreamsBuilder)
    #: The name of the step that is being lowered.
    step: str = ""
    #: The stream of each source that has been read so far.
    streams: dict[str, KStream[Any, Any]] = field(default_factory=dict)

    def skip_names(self, count: int) -> None:
        """Skip numbers of generated names where ksqlDB has more operators.

        The numbers are part of the names of topics, which must be the same as in ksqlDB.
        """
        for _ in range(count):
            self.builder._graph.names.new_processor_name("KSTREAM-")

    def log(self, columns: tuple[Column, ...]) -> ProcessingLog:
        return ProcessingLog(self.query_id, self.step, columns)

    def scope(self, columns: tuple[Column, ...]) -> Scope:
        return Scope(
            columns, self.environment.functions, self.environment.types, log=self.log(columns)
        )

    def function(self, expression: Expression, columns: tuple[Column, ...]) -> Callable[[Row], Any]:
        if isinstance(expression, ColumnRef):
            # Taking a value out of a row cannot fail.
            return itemgetter(self.scope(columns).find(expression)[0])
        return compile_expression(expression, self.scope(columns)).evaluate

    def condition(self, expression: Expression, columns: tuple[Column, ...]) -> RowFunction[bool]:
        scope = self.scope(columns)
        evaluate = compile_condition(expression, scope).evaluate
        return RowFunction(evaluate, mask_over_rows(expression, scope))

    def values(
        self, expressions: Sequence[Expression], columns: tuple[Column, ...]
    ) -> RowFunction[Row]:
        """Return one function that evaluates several expressions."""
        scope = self.scope(columns)
        over_rows = projection([values_over_rows(each, scope) for each in expressions])
        return RowFunction(self._values(expressions, columns), over_rows)

    def _values(
        self, expressions: Sequence[Expression], columns: tuple[Column, ...]
    ) -> Callable[[Row], Row]:
        refs = [each for each in expressions if isinstance(each, ColumnRef)]
        if len(refs) == len(expressions) > 1:
            scope = self.scope(columns)
            return itemgetter(*(scope.find(ref)[0] for ref in refs))
        functions = tuple(self.function(each, columns) for each in expressions)
        if not functions:
            return lambda row: ()
        if len(functions) == 1:
            only = functions[0]
            return lambda row: (only(row),)
        return lambda row: tuple([function(row) for function in functions])

    def topic_key_serde(self, source: DataSource) -> Serde[Any]:
        spec = source.key_format if source.schema.key else FormatSpec("NONE")
        inner = self._serde(spec, source.schema.key, source.topic, is_key=True)
        return windowed(inner, source.window)

    def topic_value_serde(self, source: DataSource, *, is_read: bool = True) -> Serde[Any]:
        return self._serde(
            source.value_format, source.schema.value, source.topic, is_key=False, is_read=is_read
        )

    def key_serde(self, step: Step) -> Serde[Any]:
        """Return the serde of keys on internal topics, where equal keys need equal bytes."""
        return windowed(self.plain_key_serde(step), step.window)

    def plain_key_serde(self, step: Step) -> Serde[Any]:
        spec = internal_format(step.key_format, step.key)
        return self._serde(spec, step.key, f"{self.query_id}-{step.name}", is_key=True)

    def value_serde(self, step: Step) -> Serde[Any]:
        return row_serde([column.type for column in step.columns])

    def _serde(
        self,
        spec: FormatSpec,
        columns: Sequence[ColumnLike],
        topic: str,
        *,
        is_key: bool,
        is_read: bool = True,
    ) -> Serde[Any]:
        return serde_for(
            spec.name,
            columns,
            is_key=is_key,
            topic=topic,
            properties=spec.properties,
            registry=self.registry,
            wrap=spec.wrap,
            is_read=is_read,
        )


def internal_format(spec: FormatSpec, columns: Sequence[ColumnLike]) -> FormatSpec:
    """Return a format that can hold a key inside a query: JSON where its own cannot."""
    found = format_named(spec.name)
    fits = all(found.supports_type(column.type) for column in columns)
    if columns and fits and (len(columns) == 1 or found.many_columns):
        # A schema id of the source's topic does not apply to this key.
        return replace(spec, properties=replace(spec.properties, schema_id=None))
    return FormatSpec("JSON") if columns else FormatSpec("NONE")


def windowed(inner: Serde[Any], window: WindowSpec | None) -> Serde[Any]:
    if window is None:
        return inner
    if window.size_ms is None:
        return SessionWindowedSerde(inner)
    return TimeWindowedSerde(inner, window.size_ms)
