"""FROM a, b WHERE a.x = b.x: joins whose condition is in WHERE; and FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import And, ColumnRef, Comparison, Expression, FunctionCall
from penstock.sql.ast.queries import Join, Query, Relation, Source, Subquery
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import ROWTIME

_CLOCK = ("PROCTIME", "NOW", "CURRENT_TIMESTAMP")

#: Returns the source of an alias, and whether it is an inner query.
FindAlias = Callable[[str], tuple[DataSource, bool]]


def with_conditions(query: Query, find: FindAlias) -> Query:
    """Move the equalities that join the sources of a comma from WHERE to ON.

    All columns have their sources by now. A comma says nothing about the order of its sources, so
    streams come first: a table cannot be joined with a stream, only a stream with a table.

    before: SELECT * FROM A, B WHERE A.X = B.Y AND A.Z > 5
    after:  SELECT * FROM A JOIN B ON A.X = B.Y WHERE A.Z > 5
    """
    joins = _joins(query.source)
    if not any(join.is_comma for join in joins):
        return query
    source = query.source
    if all(join.is_comma for join in joins):
        source = _streams_first(joins, find)
    rest = list(_parts(query.where))
    source = _placed(source, rest)
    where = reduce(lambda left, right: And(left, right, span=left.span), rest) if rest else None
    return replace(query, source=source, where=where)


def _streams_first(joins: list[Join], find: FindAlias) -> Relation:
    first = joins[0].left
    assert not isinstance(first, Join)
    sources = [first, *(join.right for join in joins)]
    sources.sort(key=lambda source: find(_alias(source))[0].is_table)
    relation: Relation = sources[0]
    for join, right in zip(joins, sources[1:], strict=True):
        relation = replace(join, left=relation, right=right)
    return relation


def _joins(relation: Relation) -> list[Join]:
    return [*_joins(relation.left), relation] if isinstance(relation, Join) else []


def _parts(where: Expression | None) -> list[Expression]:
    if isinstance(where, And):
        return [part for each in chain(where) for part in _parts(each)]
    return [] if where is None else [where]


def _placed(relation: Relation, rest: list[Expression]) -> Relation:
    """Return a relation with its conditions, which are removed from ``rest``."""
    if not isinstance(relation, Join):
        return relation
    relation = replace(relation, left=_placed(relation.left, rest))
    if not relation.is_comma:
        return relation
    left, right = _aliases(relation.left), _aliases(relation.right)
    chosen = [part for part in rest if _is_between(part, left, right)]
    if not chosen:
        names = f"{', '.join(sorted(left))} and {', '.join(sorted(right))}"
        raise AnalysisError(
            "comma-join",
            f"WHERE has no equality between a column of {names}, which FROM has with a comma",
            fix="add the equality to WHERE, or write JOIN ... ON",
            span=relation.right.span,
        )
    rest[:] = [part for part in rest if part not in chosen]
    on = reduce(lambda one, other: And(one, other, span=one.span), chosen)
    return replace(relation, on=on, is_comma=False)


def _aliases(relation: Relation) -> set[str]:
    if isinstance(relation, Join):
        return _aliases(relation.left) | _aliases(relation.right)
    return {_alias(relation)}


def _alias(source: Source | Subquery) -> str:
    if isinstance(source, Source):
        return source.alias or source.name
    assert source.alias is not None
    return source.alias


def _is_between(part: Expression, left: set[str], right: set[str]) -> bool:
    if not isinstance(part, Comparison) or part.operator != "=":
        return False
    one, other = _sources(part.left), _sources(part.right)
    if not one or not other:
        return False
    return (one <= left and other <= right) or (one <= right and other <= left)


def _sources(expression: Expression) -> set[str]:
    refs = [node for node in walk(expression) if isinstance(node, ColumnRef)]
    return {ref.source or "" for ref in refs}


def check_moments(query: Query, find: FindAlias) -> None:
    """Check what stands behind FOR SYSTEM_TIME AS OF, which changes nothing.

    A stream that is joined with a table finds the row that the table has at the time of the record:
    both are read in the order of their times.

    Raises:
        AnalysisError: ``as-of``: the source is a stream, or the moment is another one.
    """
    for join in _joins(query.source):
        right = join.right
        if not isinstance(right, Source) or right.as_of is None:
            continue
        source, _ = find(right.alias or right.name)
        if not source.is_table:
            raise AnalysisError(
                "as-of",
                f"{source.name} is a stream: FOR SYSTEM_TIME AS OF is for tables",
                fix="join two streams with WITHIN",
                span=right.span,
            )
        if not _is_time_of_record(right.as_of, find):
            raise AnalysisError(
                "as-of",
                "a join finds the row that a table has at the time of the record, not at another"
                " moment",
                fix="write FOR SYSTEM_TIME AS OF with PROCTIME() or with the column of the stream"
                " that is its TIMESTAMP, or leave it out",
                span=right.as_of.span or right.span,
            )


def _is_time_of_record(moment: Expression, find: FindAlias) -> bool:
    if isinstance(moment, FunctionCall):
        return moment.name in _CLOCK and not moment.arguments
    if not isinstance(moment, ColumnRef) or moment.source is None:
        return False
    source, is_inner = find(moment.source)
    # The column of an inner query may be PROCTIME(): rows keep the times of their records.
    is_timestamp = source.timestamp is not None and source.timestamp.name == moment.name
    return is_inner or is_timestamp or moment.name == ROWTIME
