"""Queries inside a query: in place of a source, or named by WITH."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import CommonTable, Join, Query, Relation, Source, Subquery
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.catalog import DataSource, FormatSpec
from penstock.sql.catalog.schema import PSEUDO_COLUMNS, WINDOW_COLUMNS, Schema
from penstock.sql.expressions import Column
from penstock.sql.planner.projection import Projected
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import DerivedStep, RekeyStep, UnionStep, shape_of

#: What a query in FROM is called that has no name.
_NAME = "SUBQUERY"


@dataclass(frozen=True, slots=True)
class Derived:
    """A planned inner query, and its source: a stream or table without a topic."""

    result: Projected
    source: DataSource


#: Plans the query that stands in place of the source with the given alias.
PlanSubquery = Callable[[Query, str], Derived]


def inlined(query: Query) -> Query:
    """Replace the names of WITH by their queries.

    before: WITH A AS (SELECT * FROM S) SELECT * FROM A
    after:  SELECT * FROM (SELECT * FROM S) A
    """
    known: dict[str, Query] = {}
    for table in query.common_tables:
        known[table.name] = _replaced(inlined(table.query), known, table)
    return replace(_replaced(query, known), common_tables=())


def _replaced(query: Query, known: dict[str, Query], table: CommonTable | None = None) -> Query:
    if table is not None and table.name in known:
        raise AnalysisError(
            "duplicate-name", f"WITH has two queries called {table.name}", span=table.span
        )

    def change(node: Node) -> Node | None:
        if isinstance(node, Source) and node.name in known:
            if node.is_changes:
                raise AnalysisError(
                    "changes-of-query",
                    f"CHANGES takes a table of the catalog; {node.name} is a query of WITH",
                    fix="CREATE the table first",
                    span=node.span,
                )
            alias = node.alias or node.name
            return Subquery(known[node.name], alias, node.windows, span=node.span)
        return None

    return rewrite(query, change)


def with_names(query: Query) -> Query:
    """Give a name to each query in FROM that has none, as in Flink and Postgres.

    before: SELECT * FROM (SELECT * FROM S)
    after:  SELECT * FROM (SELECT * FROM S) SUBQUERY
    """
    taken = set(_names(query.source))
    return replace(query, source=_named(query.source, taken))


def _names(relation: Relation) -> Iterator[str]:
    if isinstance(relation, Join):
        yield from _names(relation.left)
        yield from _names(relation.right)
    elif isinstance(relation, Source):
        yield relation.alias or relation.name
    elif relation.alias is not None:
        yield relation.alias


def _named(relation: Relation, taken: set[str]) -> Relation:
    if isinstance(relation, Join):
        left = _named(relation.left, taken)
        right = _named(relation.right, taken)
        assert not isinstance(right, Join)
        return replace(relation, left=left, right=right)
    if isinstance(relation, Source) or relation.alias is not None:
        return relation
    numbered = (f"{_NAME}_{number}" for number in count(2))
    name = next(name for name in chain([_NAME], numbered) if name not in taken)
    taken.add(name)
    return replace(relation, alias=name)


def derived_source(result: Projected, alias: str, value_format: FormatSpec) -> DataSource:
    """Return an inner query as a source of the outer one."""
    step = result.stage.step
    return DataSource(
        name=alias,
        kind="TABLE" if step.is_table else "STREAM",
        schema=Schema(result.columns),
        topic=result.stage.topic,
        key_format=step.key_format,
        value_format=value_format,
        window=step.window,
    )


def derived_stage(derived: Derived, alias: str) -> Stage:
    """Return the first stage over an inner query's rows; a table's rows have no pseudo columns."""
    inner, schema = derived.result.stage, derived.source.schema
    named = [(column.name, column.type) for column in inner.step.columns]
    if not inner.step.is_table:
        named.extend(PSEUDO_COLUMNS)
    named.extend((column.name, column.type) for column in schema.key)
    if inner.step.window is not None:
        named.extend(WINDOW_COLUMNS)
    step = DerivedStep(
        name=f"{alias}-Subquery",
        input=inner.step,
        columns=tuple(Column(name, type_, alias) for name, type_ in named),
        key=schema.key,
        key_format=inner.step.key_format,
        window=inner.step.window,
        is_table=inner.step.is_table,
    )
    refs = tuple(ColumnRef(column.name, alias) for column in schema.key)
    stage = Stage(step, refs, (alias,), topic=inner.topic)
    return _with_equal_keys_together(stage) if isinstance(inner.step, UnionStep) else stage


def _with_equal_keys_together(stage: Stage) -> Stage:
    """Repartition rows if a clause needs equal keys in one partition.

    The topics of UNION ALL may have different numbers of partitions.
    """
    step = RekeyStep(
        name=f"{stage.step.name}-Keyed",
        input=stage.step,
        expressions=stage.key_refs,
        is_forced=True,
        **shape_of(stage.step),
    )
    return replace(stage, step=step)
