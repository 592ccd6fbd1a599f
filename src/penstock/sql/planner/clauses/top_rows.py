"""ROW_NUMBER in any order with a limit: the first rows of each partition, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import BIGINT, ArrayType, MapType, StructType
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import (
    And,
    Between,
    ColumnRef,
    Comparison,
    Expression,
    IntegerLiteral,
    Over,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Join, OrderItem, Query, Relation, SelectColumn, Source
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.partitioning import key_type
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import TopStep
from penstock.sql.syntax.format_expression import format_expression

_PART = "KSQL_SYNTH_PART_"
_RANK = "KSQL_SYNTH_RANK"
_MOST_ROWS = 1_000
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def with_limits(query: Query) -> Query:
    """Tell ROW_NUMBER in a query of FROM how many rows of a partition WHERE lets through.

    before: SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY A ORDER BY B) AS N FROM S)
            WHERE N <= 3
    after:  the same, with 3 in the OVER
    """
    limits = dict(_limits(query.where))
    return query if not limits else replace(query, source=_limited(query.source, limits))


def _limited(relation: Relation, limits: dict[ColumnRef, int]) -> Relation:
    if isinstance(relation, Join):
        left, right = _limited(relation.left, limits), _limited(relation.right, limits)
        assert not isinstance(right, Join)
        return replace(relation, left=left, right=right)
    if isinstance(relation, Source):
        return relation
    items = []
    for item in relation.query.items:
        if isinstance(item, SelectColumn) and isinstance(item.expression, Over) and item.alias:
            refs = (ColumnRef(item.alias), ColumnRef(item.alias, relation.alias))
            limit = next((limits[ref] for ref in refs if ref in limits), None)
            if item.expression.call.name == "ROW_NUMBER" and limit is not None:
                item = replace(item, expression=replace(item.expression, at_most=limit))
        items.append(item)
    return replace(relation, query=replace(relation.query, items=tuple(items)))


def _limits(where: Expression | None) -> Iterator[tuple[ColumnRef, int]]:
    """Yield the columns that WHERE compares with a largest whole number."""
    match where:
        case And():
            for part in chain(where):
                yield from _limits(part)
        case Between(ColumnRef() as ref, IntegerLiteral(), IntegerLiteral(last), False):
            yield ref, last
        case Comparison(operator, ColumnRef() as ref, IntegerLiteral(count)):
            yield from _limit(operator, ref, count)
        case Comparison(operator, IntegerLiteral(count), ColumnRef() as ref):
            yield from _limit(_TURNED.get(operator, ""), ref, count)
        case _:
            pass


def _limit(operator: str, ref: ColumnRef, count: int) -> Iterator[tuple[ColumnRef, int]]:
    if operator in ("=", "<="):
        yield ref, count
    elif operator == "<":
        yield ref, count - 1


def first_rows(
    stage: Stage, query: Query, node: Over, environment: Environment, key_format: FormatSpec
) -> tuple[Stage, Query]:
    """Keep the first rows of each partition, with their rank in it.

    before: SELECT S.A, S.B, ROW_NUMBER() OVER (PARTITION BY S.A ORDER BY S.B) AS N FROM S
    after:  SELECT KSQL_SYNTH_PART_0 AS A, S.B, KSQL_SYNTH_RANK AS N, of a table with these two as
            its key

    A single row of each partition needs no rank in the key.
    """
    at_most = _checked_limit(node)
    _check_order(node, stage, environment)
    types = [key_type(each, stage, environment, "PARTITION BY") for each in node.partition_by]
    parts = [Column(f"{_PART}{place}", type_) for place, type_ in enumerate(types)]
    added = (*parts, Column(_RANK, BIGINT))
    in_key = parts if at_most == 1 else added
    step = TopStep(
        name=f"{environment.prefix}Top",
        input=stage.step,
        partition_by=node.partition_by,
        order_by=tuple(item for item in node.order_by if isinstance(item, OrderItem)),
        at_most=at_most,
        keeps_key=node.partition_by == stage.key_refs and stage.step.window is None,
        columns=(*stage.columns, *added),
        key=tuple(SourceColumn(column.name, column.type, "KEY") for column in in_key),
        key_format=key_format,
        window=None,
        is_table=True,
    )
    refs = tuple(ColumnRef(column.name) for column in in_key)
    computed = tuple(zip(node.partition_by, refs, strict=False))
    places: dict[Node, Node] = {node: ColumnRef(_RANK), **dict(computed)}
    query = rewrite(query, places.get)
    return (
        replace(stage, step=step, key_refs=refs, equivalent=(), viable=(), computed=computed),
        query,
    )


def _checked_limit(node: Over) -> int:
    assert node.at_most is not None
    if 1 <= node.at_most <= _MOST_ROWS:
        return node.at_most
    raise AnalysisError(
        "over-rows",
        f"ROW_NUMBER keeps from 1 to {_MOST_ROWS} rows of a partition, WHERE asks for"
        f" {node.at_most}",
        fix="compare the row number with a number in that range",
        span=node.span,
    )


def _check_order(node: Over, stage: Stage, environment: Environment) -> None:
    for item in node.order_by:
        assert isinstance(item, OrderItem)
        type_ = environment.type_of(item.expression, stage.columns)
        if type_ is None or isinstance(type_, ArrayType | MapType | StructType):
            raise AnalysisError(
                "not-sortable",
                f"rows cannot be sorted by {format_expression(item.expression)}, which is"
                f" {type_ or 'NULL'}",
                fix="sort by one of its elements",
                span=item.span,
            )
