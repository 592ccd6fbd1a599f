"""GROUP BY, HAVING and aggregate functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.formats.formats import format_named
from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.model.sql.types import SqlType
from penstock.sql.ast.expressions import (
    ColumnRef,
    Expression,
    FunctionCall,
    Literals,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query, SelectColumn, SessionWindow, Window
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import WINDOW_COLUMNS, SourceColumn
from penstock.sql.expressions import Column, compile_expression
from penstock.sql.functions.aggregates.distinct import (
    ESTIMATES,
    ONLY_DISTINCT,
    distinct_values,
    exact_count,
)
from penstock.sql.functions.registry import Aggregator
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.filters import filtered
from penstock.sql.planner.group_checks import (
    check_functions,
    check_group_by,
    check_grouped_columns,
    in_one_group,
    is_aggregate,
    refuse_without_group,
)
from penstock.sql.planner.partitioning import key_type
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import AggregateStep
from penstock.sql.planner.windows import window_of
from penstock.sql.syntax.format_expression import format_expression

_AGGREGATE = "KSQL_AGG_VARIABLE_"
_GROUP = "KSQL_GROUP_"
#: EXPLAIN warns of aggregates that may keep more values than this in the row of a group.
_MANY_VALUES = 100


@dataclass(frozen=True, slots=True)
class GroupFormats:
    """The format of the groups' keys, and of the rows that are grouped."""

    key: FormatSpec
    value: FormatSpec


def grouped(
    stage: Stage,
    query: Query,
    environment: Environment,
    formats: GroupFormats,
    *,
    is_persistent: bool,
) -> tuple[Stage, Query]:
    """Compute groups and aggregates; the rest of SELECT and HAVING reads their columns.

    before: SELECT S.A, COUNT(*) + 1 FROM S GROUP BY S.A HAVING COUNT(*) > 2
    after:  SELECT S.A, KSQL_AGG_VARIABLE_0 + 1, with HAVING KSQL_AGG_VARIABLE_0 > 2 as a filter
    """
    if query.group_by is None and not is_persistent:
        query = in_one_group(query, environment)
    if query.group_by is None:
        refuse_without_group(query, environment)
        return stage, query
    group_by = query.group_by
    check_functions(query, environment)
    check_group_by(group_by, environment)
    refs, key = _key(group_by, stage, environment)
    rewriter = _Rewriter(group_by, refs, environment)
    items = tuple(rewriter.item(item) for item in query.items if isinstance(item, SelectColumn))
    having = None if query.having is None else rewriter.rewritten(query.having)
    if not rewriter.calls:
        raise AnalysisError(
            "group-without-aggregate",
            "GROUP BY needs an aggregate function in SELECT or HAVING",
            fix="add one such as COUNT(*), or use PARTITION BY to change a stream's key",
            span=group_by[0].span,
        )
    refuse_clock((*group_by, *rewriter.calls), stage, "an aggregation")
    step = _step(stage, query, environment, formats, (refs, key, rewriter.calls))
    after = replace(
        stage,
        step=step,
        key_refs=refs,
        equivalent=(),
        viable=(),
        synthetic_keys=(),
        computed=tuple(zip(group_by, refs, strict=True)),
    )
    check_grouped_columns(items, having, after, windowed=query.window is not None)
    after = filtered(after, having, environment, "HAVING")
    return after, replace(query, items=items, having=None)


def _step(
    stage: Stage,
    query: Query,
    environment: Environment,
    formats: GroupFormats,
    parts: tuple[tuple[ColumnRef, ...], tuple[SourceColumn, ...], list[FunctionCall]],
) -> AggregateStep:
    refs, key, calls = parts
    group_by = query.group_by or ()
    columns = [Column(r.name, c.type, r.source) for r, c in zip(refs, key, strict=True)]
    warnings: list[str] = []
    for i, call in enumerate(calls):
        bound = bind(call, stage.columns, environment, is_table=stage.step.is_table)
        check_aggregate(call, bound, stage, formats.value)
        warnings.extend(_warning(call, bound, query.window))
        columns.append(Column(f"{_AGGREGATE}{i}", bound.type))
    window = None if query.window is None else window_of(query, stage)
    if window is not None:
        columns.extend(Column(name, type_) for name, type_ in WINDOW_COLUMNS)
    return AggregateStep(
        name=f"{environment.prefix}Aggregate",
        input=stage.step,
        group_by=group_by,
        calls=tuple(calls),
        window_clause=query.window,
        is_final=query.emit == "FINAL",
        keeps_key=group_by == stage.key_refs and stage.step.window is None,
        columns=tuple(columns),
        key=key,
        key_format=formats.key,
        window=window,
        is_table=True,
        warnings=tuple(warnings),
    )


def _warning(call: FunctionCall, bound: Aggregator, window: Window | None) -> Iterator[str]:
    """Yield what to say of an aggregate that may keep many values of a group in one row."""
    if isinstance(window, SessionWindow):
        bound = bound.in_sessions or bound
    most = bound.most_values
    if most is None or most > _MANY_VALUES:
        number = "all values" if most is None else f"up to {most} values"
        yield (
            f"{format_expression(call)} keeps {number} of a group in one row, which is written"
            " again with each change; brokers refuse rows of more than 1 MB"
        )


def _key(
    group_by: tuple[Expression, ...], stage: Stage, environment: Environment
) -> tuple[tuple[ColumnRef, ...], tuple[SourceColumn, ...]]:
    refs, key = [], []
    for i, expression in enumerate(group_by):
        type_ = key_type(expression, stage, environment, "GROUP BY")
        ref = expression if isinstance(expression, ColumnRef) else ColumnRef(f"{_GROUP}{i}")
        refs.append(ref)
        key.append(SourceColumn(ref.name, type_, "KEY"))
    return tuple(refs), tuple(key)


class _Rewriter:
    """Replaces grouping expressions and aggregate calls by the columns that hold their values."""

    def __init__(
        self,
        group_by: tuple[Expression, ...],
        refs: tuple[ColumnRef, ...],
        environment: Environment,
    ) -> None:
        self._group_by = group_by
        self._refs = refs
        self._environment = environment
        self.calls: list[FunctionCall] = []

    def item(self, item: SelectColumn) -> SelectColumn:
        return replace(item, expression=self.rewritten(item.expression))

    def rewritten(self, expression: Expression) -> Expression:
        return rewrite(expression, self._change)

    def _change(self, node: Node) -> Node | None:
        if node in self._group_by:
            ref = self._refs[self._group_by.index(node)]
            return replace(ref, span=node.span)
        if isinstance(node, FunctionCall) and is_aggregate(node, self._environment):
            if node not in self.calls:
                self.calls.append(node)
            return ColumnRef(f"{_AGGREGATE}{self.calls.index(node)}", span=node.span)
        return None


def bind(
    call: FunctionCall, columns: tuple[Column, ...], environment: Environment, *, is_table: bool
) -> Aggregator:
    """Bind an aggregate call to the types of its arguments, literals included.

    With DISTINCT, it gets each value of a group once. Over a table that also holds for aggregates
    that have the same result with DISTINCT.
    """
    types: list[SqlType | None] = []
    values: list[object] = []
    for argument in call.arguments:
        types.append(environment.type_of(argument, columns))
        is_literal = isinstance(argument, Literals)
        values.append(_literal(argument, environment) if is_literal else None)
    try:
        bound = environment.functions.bind_aggregate(call.name, types, values, environment.settings)
    except SqlError as error:
        raise type(error)(
            error.code, error.message, error.fix, span=error.span or call.span
        ) from None
    if call.is_distinct or (is_table and bound.undo is None and call.name in ONLY_DISTINCT):
        return _over_distinct(call, bound, types, is_table=is_table)
    return bound


def _over_distinct(
    call: FunctionCall, bound: Aggregator, types: list[SqlType | None], *, is_table: bool
) -> Aggregator:
    if len(types) != 1 or types[0] is None:
        raise AnalysisError(
            "distinct-aggregate",
            f"{call.name}(DISTINCT ...) takes exactly one column",
            fix="put several columns into one: COUNT(DISTINCT STRUCT(A := A, B := B))",
            span=call.span,
        )
    # A count of the distinct values is exact.
    if call.name in ESTIMATES:
        bound = exact_count(bound)
    return distinct_values(call.name, bound, types[0], is_table=is_table)


def check_aggregate(
    call: FunctionCall, bound: Aggregator, stage: Stage, value_format: FormatSpec
) -> None:
    """Refuse an aggregate over a table without ``undo``, and a state that cannot be stored.

    As in ksqlDB the state must have a type that the source's value format can hold.
    """
    if stage.step.is_table and bound.undo is None and not bound.is_distinct:
        raise AnalysisError(
            "aggregate-on-table",
            f"{call.name} cannot aggregate a table: it cannot take a changed row back",
            fix="aggregate a stream, or use an aggregate that can be undone such as SUM or COUNT",
            span=call.span,
        )
    if bound.keeps_values:
        return
    if not format_named(value_format.name).supports_type(bound.state_type):
        raise AnalysisError(
            "aggregate-state",
            f"{call.name} keeps a {bound.state_type} for each group, which VALUE_FORMAT"
            f" {value_format.name} of the source cannot hold",
            fix="CREATE a stream in another format from the source, such as JSON, and use that",
            span=call.span,
        )


def _literal(node: Any, environment: Environment) -> Any:
    return compile_expression(node, environment.scope(())).evaluate(())
