"""ROW_NUMBER and LAG OVER (...): a row and the ones before it."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import BIGINT, SqlType
from penstock.sql.ast.expressions import ColumnRef, Expression, IntegerLiteral, Lambda, Over
from penstock.sql.ast.queries import OrderItem, Query, SelectColumn
from penstock.sql.ast.walk import rewrite, walk
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import ROWOFFSET, ROWTIME
from penstock.sql.expressions import Column
from penstock.sql.planner.clauses.top_rows import first_rows
from penstock.sql.planner.partitioning import key_type
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import OverCall, OverStep, shape_of
from penstock.sql.syntax.format_expression import format_expression

_RESULT = "KSQL_SYNTH_OVER_"
_MOST_ROWS = 1_000


def numbered(
    stage: Stage, query: Query, environment: Environment, key_format: FormatSpec
) -> tuple[Stage, Query]:
    """Compute the calls with OVER in SELECT; their values become columns of the row.

    before: SELECT S.V - LAG(S.V) OVER (PARTITION BY S.ID) FROM S
    after:  SELECT S.V - KSQL_SYNTH_OVER_0 FROM S
    """
    found = dict.fromkeys(
        node
        for item in query.items
        if isinstance(item, SelectColumn)
        for node in walk(item.expression)
        if isinstance(node, Over)
    )
    if not found:
        return stage, query
    nodes = list(found)
    if nodes[0].at_most is not None and (stage.step.is_table or not _is_by_arrival(nodes[0])):
        _check_together(nodes, query)
        _refuse_others(nodes)
        return first_rows(stage, query, nodes[0], environment, key_format)
    _check(nodes, stage, query)
    calls = tuple(_call(node, stage, environment) for node in nodes)
    partition_by = nodes[0].partition_by
    for expression in partition_by:
        key_type(expression, stage, environment, "PARTITION BY")
    columns = tuple(Column(f"{_RESULT}{place}", call.type) for place, call in enumerate(calls))
    step = OverStep(
        name=f"{environment.prefix}Over",
        input=stage.step,
        partition_by=partition_by,
        keeps_key=partition_by == stage.key_refs,
        key_refs=stage.key_refs,
        calls=calls,
        by_time=_is_by_time(nodes[0]),
        **shape_of(stage.step, columns=(*stage.columns, *columns)),
    )
    places = {node: ColumnRef(c.name) for node, c in zip(nodes, columns, strict=True)}
    query = rewrite(query, lambda node: places.get(node) if isinstance(node, Over) else None)
    return replace(stage, step=step), query


def _check(nodes: list[Over], stage: Stage, query: Query) -> None:
    first = nodes[0]
    if stage.step.is_table:
        raise AnalysisError(
            "over-on-table",
            f"{_shown(first)} is for streams: in a table one change would move many rows",
            fix="for the first rows of each partition put ROW_NUMBER() OVER (...) AS n into a query"
            " of FROM, with WHERE n <= 10 around it; or number the changes: FROM CHANGES(table)",
            span=first.span,
        )
    if stage.step.window is not None:
        raise AnalysisError(
            "rekey-windowed",
            f"{_shown(first)}: the records have windowed keys, which cannot change",
            fix="use a stream whose keys are not windowed",
            span=first.span,
        )
    _check_together(nodes, query)


def _check_together(nodes: list[Over], query: Query) -> None:
    first = nodes[0]
    if query.group_by is not None:
        raise AnalysisError(
            "over-with-group-by",
            f"{_shown(first)} cannot be used together with GROUP BY",
            fix="put one of them into an inner query",
            span=first.span,
        )
    for node in nodes:
        if (node.partition_by, node.order_by) != (first.partition_by, first.order_by):
            raise AnalysisError(
                "several-overs",
                f"{_shown(node)} has another PARTITION BY or ORDER BY than {_shown(first)}",
                fix="compute one of them in an inner query",
                span=node.span,
            )
    if not first.partition_by:
        raise AnalysisError(
            "over-without-partition",
            f"{_shown(first)} needs PARTITION BY: rows of different partitions have no order",
            fix="add PARTITION BY with the columns that belong together",
            span=first.span,
        )


def _is_by_arrival(node: Over) -> bool:
    """Return whether ORDER BY, if there is one, is an order that no later row changes."""
    if not node.order_by:
        return True
    (item, *others) = node.order_by
    assert isinstance(item, OrderItem)
    name = item.expression.name if isinstance(item.expression, ColumnRef) else None
    return not others and not item.is_descending and name in (ROWTIME, ROWOFFSET)


def _refuse_others(nodes: list[Over]) -> None:
    for node in nodes[1:]:
        raise AnalysisError(
            "several-overs",
            f"{_shown(node)} stands beside ROW_NUMBER, of which only the first rows are kept",
            fix="compute one of them in an inner query",
            span=node.span,
        )


def _is_by_time(node: Over) -> bool:
    """Return whether rows are taken in the order of their time, not in that of their arrival."""
    if not node.order_by:
        return False
    item = node.order_by[0]
    assert isinstance(item, OrderItem)
    if not _is_by_arrival(node):
        raise AnalysisError(
            "over-order",
            f"{_shown(node)}: rows of a stream come in the order of their arrival",
            fix="write ORDER BY ROWTIME, which drops rows that come late, or leave ORDER BY out;"
            " for the first rows in another order put ROW_NUMBER() OVER (...) AS n into a query of"
            " FROM, with WHERE n <= 10 around it",
            span=item.span or node.span,
        )
    return isinstance(item.expression, ColumnRef) and item.expression.name == ROWTIME


def _call(node: Over, stage: Stage, environment: Environment) -> OverCall:
    call = node.call
    if call.name == "ROW_NUMBER" and not call.arguments and not call.is_star:
        return OverCall("ROW_NUMBER", BIGINT)
    if call.name != "LAG" or not 1 <= len(call.arguments) <= 3 or call.is_distinct:
        raise AnalysisError(
            "unknown-over",
            f"{_shown(node)} is not possible",
            fix="turn it round: LAG in the later row is what LEAD would be in the earlier one"
            if call.name == "LEAD"
            else "use ROW_NUMBER() or LAG(value, rows, default); aggregates need GROUP BY",
            span=node.span,
        )
    value, *rest = [each for each in call.arguments if not isinstance(each, Lambda)]
    type_ = environment.type_of(value, stage.columns)
    if type_ is None:
        raise SqlTypeError("null-column", "LAG of NULL has no type", span=node.span)
    rows = _rows_back(rest[0], node) if rest else 1
    default = rest[1] if len(rest) > 1 else None
    _check_default(default, type_, node, stage, environment)
    return OverCall("LAG", type_, value, rows, default)


def _rows_back(expression: Expression, node: Over) -> int:
    if isinstance(expression, IntegerLiteral) and 1 <= expression.value <= _MOST_ROWS:
        return expression.value
    raise AnalysisError(
        "over-rows",
        f"{_shown(node)}: the second argument of LAG is a whole number from 1 to {_MOST_ROWS}",
        span=expression.span or node.span,
    )


def _check_default(
    default: Expression | None, type_: SqlType, node: Over, stage: Stage, environment: Environment
) -> None:
    found = None if default is None else environment.type_of(default, stage.columns)
    if found is not None and found != type_:
        raise SqlTypeError(
            "over-default",
            f"{_shown(node)} returns {type_}, but its default is {found}",
            fix=f"CAST the default to {type_}",
            span=node.span,
        )


def _shown(node: Over) -> str:
    return format_expression(node.call) + " OVER (...)"
