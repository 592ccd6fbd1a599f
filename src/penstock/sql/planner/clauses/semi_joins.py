"""IN (SELECT ...) and EXISTS: keep rows with a partner in a table, or without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import (
    And,
    BooleanLiteral,
    ColumnRef,
    Comparison,
    Exists,
    Expression,
    InQuery,
    IsNull,
    Not,
    Or,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Join, Query, SelectColumn, Source, Subquery
from penstock.sql.ast.walk import rewrite, walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.joining.join_sides import is_key
from penstock.sql.planner.joining.joins import join_stages
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import RekeyStep
from penstock.sql.planner.subqueries import PlanSubquery, derived_stage

# Names that a star leaves out.
_KEY = "KSQL_SYNTH_KEY_"
_FOUND = "KSQL_SYNTH_FOUND"

FindSource = Callable[[Source], DataSource]


@dataclass(frozen=True, slots=True)
class _Partner:
    """What an outer row must equal, the query of the partners, and what the condition becomes."""

    pairs: tuple[tuple[Expression, Expression], ...]
    query: Query
    source: DataSource


def semi_joined(
    stage: Stage,
    analysis: Analysis,
    environment: Environment,
    plan: PlanSubquery,
    find: FindSource,
) -> tuple[Stage, Expression | None]:
    """Join with the queries of IN and EXISTS; WHERE then checks whether there was a partner.

    before: FROM S WHERE S.X IN (SELECT V FROM T)
    after:  FROM S LEFT JOIN (SELECT DISTINCT V AS KEY_0, TRUE AS FOUND FROM T) Q ON S.X = Q.KEY_0
            WHERE Q.FOUND IS NOT NULL
    """
    where = analysis.query.where
    for place, node in enumerate(_conditions(where)):
        alias = f"KSQL_SYNTH_{place}"
        negated = isinstance(node, InQuery) and node.negated
        partner = _partner(node, analysis, find)
        if negated:
            _check_nulls(partner, node)
        prefix = f"{environment.prefix}In{place}-"
        derived = plan(_keys_of(partner), f"{environment.prefix}{alias}")
        right = derived_stage(derived, alias)
        stage = _with_partner(stage, right, partner, (analysis, environment, prefix))
        found = IsNull(ColumnRef(_FOUND, alias), negated=not negated, span=node.span)
        condition: Expression = found
        if negated:
            # NULL is neither in a list nor outside of it.
            known = IsNull(partner.pairs[0][0], negated=True, span=node.span)
            condition = And(known, found, span=node.span)
        assert where is not None
        where = rewrite(where, lambda n, old=node, new=condition: new if n is old else None)  # type: ignore[misc]
    return stage, where


def _conditions(where: Expression | None) -> list[InQuery | Exists]:
    """Return the conditions for which FALSE and NULL have the same effect."""
    match where:
        case And() | Or():
            return [found for part in chain(where) for found in _conditions(part)]
        case InQuery() | Exists():
            return [where]
        case Not(Exists() as exists):
            return [exists]
        case _:
            return []


def _partner(node: InQuery | Exists, analysis: Analysis, find: FindSource) -> _Partner:
    query = node.query
    assert isinstance(query, Query)
    query, value = _plain(query, node)
    assert isinstance(query.source, Source | Subquery)
    if isinstance(query.source, Source):
        source = find(query.source)
        alias = query.source.alias or query.source.name
        names = {column.name for column in source.schema.columns}
    else:
        source, alias = analysis.first, str(query.source.alias)
        names = {str(value.name)} if isinstance(value, ColumnRef) else set()
    if isinstance(query.source, Source) and not source.is_table:
        raise AnalysisError(
            "subquery-of-stream",
            f"{source.name} is a stream: IN and EXISTS look into tables",
            fix=f"CREATE TABLE ... AS SELECT DISTINCT ... FROM {source.name}, and use that",
            span=node.span,
        )
    scope = _InnerScope(alias, frozenset(names), analysis)
    pairs = [] if isinstance(node, Exists) else [(node.value, value)]
    inner: list[Expression] = []
    for part in _parts(query.where):
        pair = scope.pair(part)
        if pair is None:
            inner.append(part)
        else:
            pairs.append(pair)
    if not pairs:
        raise AnalysisError(
            "exists-condition",
            "the query of EXISTS says nothing about the row outside: it has no equality with it",
            fix="write EXISTS (SELECT 1 FROM t WHERE t.column = outer.column)",
            span=node.span,
        )
    rest = reduce(And, inner) if inner else None
    return _Partner(tuple(pairs), replace(query, where=rest), source)


def _plain(query: Query, node: Node) -> tuple[Query, Expression]:
    """Return a query over one source whose only clause is WHERE, and what it selects."""
    item = query.items[0]
    is_plain = isinstance(query.source, Source) and not query.source.is_changes
    others = (query.group_by, query.having, query.window, query.partition_by, query.limit)
    is_plain = is_plain and all(each is None for each in others) and not query.union_all
    if is_plain and (isinstance(item, SelectColumn) or isinstance(node, Exists)):
        _check_items(query, node)
        return query, item.expression if isinstance(item, SelectColumn) else BooleanLiteral(True)
    _check_items(query, node)
    if isinstance(item, SelectColumn) and isinstance(node, InQuery):
        name = item.alias or getattr(item.expression, "name", None)
        if name is not None:
            alias = "KSQL_SYNTH_INNER"
            # A row needs a column besides its key.
            inner = replace(query, items=(item, SelectColumn(BooleanLiteral(True), _FOUND)))
            outer = Query(query.items, Subquery(inner, alias, span=query.span), span=query.span)
            return outer, ColumnRef(str(name), alias, span=item.span)
    raise AnalysisError(
        "subquery-form",
        "this query is too much for IN or EXISTS",
        fix="CREATE a table from it, and look into that",
        span=query.span or node.span,
    )


def _check_items(query: Query, node: Node) -> None:
    is_one = len(query.items) == 1 and isinstance(query.items[0], SelectColumn)
    if isinstance(node, InQuery) and not is_one:
        raise AnalysisError(
            "subquery-columns",
            "the query of IN selects exactly one column",
            fix="name one column, or use EXISTS to compare several",
            span=query.items[0].span or node.span,
        )


def _parts(where: Expression | None) -> list[Expression]:
    if where is None:
        return []
    return [p for each in chain(where) for p in _parts(each)] if isinstance(where, And) else [where]


@dataclass(frozen=True, slots=True)
class _InnerScope:
    """Distinguishes columns of the inner query from those of the outer one; inner ones win."""

    alias: str
    names: frozenset[str]
    analysis: Analysis

    def pair(self, part: Expression) -> tuple[Expression, Expression] | None:
        """Return what an equality compares, outer side first; None for an inner condition."""
        if not self._outer(part):
            return None
        if isinstance(part, Comparison) and part.operator == "=":
            for one, other in ((part.left, part.right), (part.right, part.left)):
                has_columns = any(isinstance(node, ColumnRef) for node in walk(other))
                if self._is_outer(one) and has_columns and not self._outer(other):
                    return self._qualified(one), other
        raise AnalysisError(
            "exists-condition",
            "a condition of the inner query uses the outer row in another way than by an equality"
            " of an outer with an inner value",
            fix="move conditions about the outer row to its own WHERE, or join with the table",
            span=part.span,
        )

    def _is_outer(self, expression: Expression) -> bool:
        refs = [node for node in walk(expression) if isinstance(node, ColumnRef)]
        return bool(refs) and len(self._outer(expression)) == len(refs)

    def _outer(self, expression: Expression) -> list[ColumnRef]:
        refs = (node for node in walk(expression) if isinstance(node, ColumnRef))
        return [ref for ref in refs if self._is_outer_ref(ref)]

    def _is_outer_ref(self, ref: ColumnRef) -> bool:
        if ref.source is not None:
            return ref.source != self.alias and any(
                each.alias == ref.source for each in self.analysis.sources
            )
        return ref.name not in self.names and bool(self._owners(ref.name))

    def _owners(self, name: str) -> list[str]:
        return [each.alias for each in self.analysis.sources if each.has_column(name)]

    def _qualified(self, expression: Expression) -> Expression:
        def change(node: Node) -> Node | None:
            if isinstance(node, ColumnRef) and node.source is None:
                return replace(node, source=self._owners(node.name)[0])
            return None

        return rewrite(expression, change)


def _check_nulls(partner: _Partner, node: Node) -> None:
    """Refuse NOT IN if the list may contain a NULL: then it would never be true."""
    _, value = partner.pairs[0]
    key = partner.source.schema.key
    is_key_column = isinstance(value, ColumnRef) and [c.name for c in key] == [value.name]
    if isinstance(partner.query.source, Source) and is_key_column:
        return
    if IsNull(value, negated=True) in _parts(partner.query.where):
        return
    raise AnalysisError(
        "not-in-nulls",
        "NOT IN is never true if the query returns a NULL, and this one may",
        fix="use NOT EXISTS (SELECT 1 FROM t WHERE t.column = outer.column), or add"
        " WHERE column IS NOT NULL to the inner query",
        span=node.span,
    )


def _keys_of(partner: _Partner) -> Query:
    items = tuple(
        SelectColumn(inner, f"{_KEY}{place}", span=inner.span)
        for place, (_, inner) in enumerate(partner.pairs)
    )
    found = SelectColumn(BooleanLiteral(True), _FOUND)
    return replace(partner.query, items=(*items, found), is_distinct=True, order_by=(), emit=None)


def _with_partner(
    stage: Stage,
    right: Stage,
    partner: _Partner,
    context: tuple[Analysis, Environment, str],
) -> Stage:
    """Join with the partners; aliases and key stay those of the stage."""
    analysis, environment, prefix = context
    alias = right.aliases[0]
    equalities: list[Expression] = [
        Comparison("=", outer, ColumnRef(f"{_KEY}{place}", alias), span=outer.span)
        for place, (outer, _) in enumerate(partner.pairs)
    ]
    on = reduce(And, equalities)
    node = Join("LEFT", analysis.query.source, Source(alias), on, span=on.span)
    joined = join_stages(node, stage, right, analysis, environment, prefix)
    if stage.step.is_table or is_key(tuple(outer for outer, _ in partner.pairs), stage):
        return replace(stage, step=joined.step)
    step = RekeyStep(
        name=f"{prefix}Key",
        input=joined.step,
        expressions=stage.key_refs,
        key_refs=joined.key_refs,
        columns=joined.columns,
        key=stage.step.key,
        key_format=stage.step.key_format,
        window=None,
        is_table=False,
    )
    return replace(stage, step=step)
