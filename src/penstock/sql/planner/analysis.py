"""The first passes: sources of FROM, qualified columns, a name for every SELECT item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.types import SqlType
from penstock.sql.ast import expressions as ast
from penstock.sql.ast.clock import current_value
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import (
    AllColumns,
    Join,
    Query,
    Relation,
    SelectColumn,
    Source,
    Subquery,
)
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import PSEUDO_COLUMNS, SYSTEM_COLUMNS, WINDOW_COLUMNS
from penstock.sql.planner.clauses.aliases import with_aliases_meant
from penstock.sql.planner.clauses.changes import changes_of
from penstock.sql.planner.clauses.comma_joins import check_moments, with_conditions
from penstock.sql.planner.names import AliasGenerator, join_column

if TYPE_CHECKING:
    from penstock.sql.planner.subqueries import Derived, PlanSubquery


@dataclass(frozen=True, slots=True)
class AliasedSource:
    """A stream or table with its alias in the query."""

    alias: str
    source: DataSource
    derived: Derived | None = None
    #: The table, if ``source`` is the stream of its changes.
    changed: DataSource | None = None

    def has_column(self, name: str) -> bool:
        if self.source.schema.find(name) is not None:
            return True
        if self.source.window is not None and name in _names(WINDOW_COLUMNS):
            return True
        has_pseudo_columns = self.derived is None or not self.source.is_table
        return has_pseudo_columns and name in _names(PSEUDO_COLUMNS)


def _names(columns: tuple[tuple[str, SqlType], ...]) -> set[str]:
    return {name for name, _ in columns}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A query whose names are resolved, and the sources they come from, in order."""

    query: Query
    sources: tuple[AliasedSource, ...]
    is_persistent: bool

    @property
    def first(self) -> DataSource:
        return self.sources[0].source

    @property
    def is_join(self) -> bool:
        return len(self.sources) > 1

    def source(self, alias: str) -> DataSource:
        return next(each.source for each in self.sources if each.alias == alias)

    def projects(self, ref: ColumnRef) -> bool:
        """Return whether SELECT contains a column unchanged, by name or with a star."""
        return any(_covers(item, ref) for item in self.query.items)


def _covers(item: Node, ref: ColumnRef) -> bool:
    if isinstance(item, AllColumns):
        return item.source in (None, ref.source)
    return isinstance(item, SelectColumn) and item.expression == ref


def analyze(
    query: Query, catalog: Catalog, plan_subquery: PlanSubquery, *, is_persistent: bool
) -> Analysis:
    """Resolve the sources of a query, then every name in it.

    before: SELECT ID, V + 1 FROM S
    after:  SELECT S.ID AS ID, S.V + 1 AS KSQL_COL_0 FROM S
    """
    sources = tuple(_sources(query.source, catalog, plan_subquery))
    _refuse_repeats(sources, query)
    query = with_aliases_meant(query, lambda name: any(each.has_column(name) for each in sources))
    qualified = rewrite(query, _Qualifier(sources, query.window is not None).change)
    find = partial(_found, sources=sources)
    check_moments(qualified, find)
    analysis = Analysis(with_conditions(qualified, find), sources, is_persistent)
    return replace(analysis, query=_named(analysis))


def _found(alias: str, sources: tuple[AliasedSource, ...]) -> tuple[DataSource, bool]:
    found = next(each for each in sources if each.alias == alias)
    return found.source, found.derived is not None


def _sources(
    relation: Relation, catalog: Catalog, plan_subquery: PlanSubquery
) -> Iterable[AliasedSource]:
    match relation:
        case Join(left=left, right=right):
            yield from _sources(left, catalog, plan_subquery)
            yield from _sources(right, catalog, plan_subquery)
        case Subquery(query, alias):
            assert alias is not None
            derived = plan_subquery(query, alias)
            yield AliasedSource(alias, derived.source, derived)
        case Source(name, alias, is_changes):
            source = catalog.source(name, relation.span)
            if is_changes:
                changes = changes_of(source, relation)
                yield AliasedSource(alias or name, changes, changed=source)
            elif relation.windows is not None:
                # The windows are those of the table's records: each row that was ever written.
                yield AliasedSource(alias or name, replace(source, kind="STREAM"))
            else:
                yield AliasedSource(alias or name, source)


def _refuse_repeats(sources: tuple[AliasedSource, ...], query: Query) -> None:
    seen: set[str] = set()
    for each in sources:
        if each.alias in seen:
            raise AnalysisError(
                "self-join",
                f"FROM has {each.alias} twice, so that its columns could not be told apart",
                fix=f"give each a name: FROM {each.source.name} a JOIN {each.source.name} b",
                span=query.source.span,
            )
        seen.add(each.alias)


class _Qualifier:
    """Adds its source to every column reference, except to parameters of lambdas.

    The bounds of the windows that a query makes have none either: ``S.WINDOWSTART`` means the
    bound of the window that a row of S falls into, as in ksqlDB.
    """

    def __init__(self, sources: tuple[AliasedSource, ...], is_windowed: bool) -> None:
        self._sources = sources
        self._is_windowed = is_windowed
        self._parameters: list[str] = []

    def change(self, node: Node) -> Node | None:
        match node:
            case Subquery() | ast.Exists():
                # The names inside an inner query are resolved when that query is planned.
                return node
            case ast.InQuery():
                return replace(node, value=rewrite(node.value, self.change))
            case SelectColumn(ColumnRef(name) as ref, None):
                # A column of a star in an inner join is called here as it is in its source.
                meant = self.change(ref)
                if not isinstance(meant, ColumnRef) or meant.name == name:
                    return None
                return SelectColumn(meant, name, span=node.span)
            case ColumnRef(name, None):
                return self._qualified(node, name)
            case ColumnRef():
                self._check_source(node)
                return replace(node, source=None) if self._is_bound(node) else self._renamed(node)
            case ast.Lambda():
                return self._lambda(node)
            case AllColumns(source) if source is not None:
                self._check_alias(source, node)
                return None
        return None

    def _qualified(self, node: ColumnRef, name: str) -> Node | None:
        if name in self._parameters:
            return node
        found = [each.alias for each in self._sources if each.has_column(name)]
        if len(found) > 1:
            raise AnalysisError(
                "ambiguous-column",
                f"column {name!r} is ambiguous",
                fix=f"write {' or '.join(f'{alias}.{name}' for alias in found)}",
                span=node.span,
            )
        if found:
            return replace(node, source=found[0])
        return current_value(node) or self._renamed(node) or node

    def _renamed(self, node: ColumnRef) -> ColumnRef | None:
        """Return the column of an inner join that is called so in its source."""
        found = [
            ColumnRef(each.derived.result.plain_names[node.name], each.alias, span=node.span)
            for each in self._sources
            if each.derived is not None
            and node.source in (None, each.alias)
            and not each.has_column(node.name)
            and node.name in each.derived.result.plain_names
        ]
        return found[0] if len(found) == 1 else None

    def _is_bound(self, node: ColumnRef) -> bool:
        if not self._is_windowed or node.name not in _names(WINDOW_COLUMNS):
            return False
        own = next(each for each in self._sources if each.alias == node.source)
        return not own.has_column(node.name)

    def _check_source(self, node: ColumnRef) -> None:
        assert node.source is not None
        self._check_alias(node.source, node)

    def _check_alias(self, alias: str, node: Node) -> None:
        known = [each.alias for each in self._sources]
        if alias not in known:
            raise AnalysisError(
                "unknown-source",
                f"no source of the query is called {alias!r}",
                fix=did_you_mean(alias, known) or f"sources are {', '.join(known)}",
                span=node.span,
            )

    def _lambda(self, node: ast.Lambda) -> Node:
        for name in node.parameters:
            if name in self._parameters:
                raise AnalysisError(
                    "lambda-parameter",
                    f"parameter {name!r} is already one of an outer lambda",
                    fix="give the inner parameter another name",
                    span=node.span,
                )
            if any(each.source.schema.find(name) for each in self._sources):
                raise AnalysisError(
                    "lambda-parameter",
                    f"parameter {name!r} of a lambda is also a column",
                    fix="give the parameter another name",
                    span=node.span,
                )
        self._parameters.extend(node.parameters)
        body = rewrite(node.body, self.change)
        del self._parameters[len(self._parameters) - len(node.parameters) :]
        return replace(node, body=body)


def _named(analysis: Analysis) -> Query:
    taken = [c.name for each in analysis.sources for c in each.source.schema.columns]
    names = AliasGenerator(taken)
    items = []
    for item in analysis.query.items:
        if isinstance(item, SelectColumn):
            alias = item.alias or _alias(item.expression, names, analysis)
            _refuse_reserved(item, alias, analysis)
            item = replace(item, alias=alias)
        items.append(item)
    return replace(analysis.query, items=tuple(items))


def _alias(expression: Expression, names: AliasGenerator, analysis: Analysis) -> str:
    if not isinstance(expression, ColumnRef):
        return names.alias_for(expression)
    name, source = expression.name, expression.source
    clashes = sum(each.has_column(name) for each in analysis.sources) > 1
    return join_column(source, name) if source is not None and clashes else name


def _refuse_reserved(item: SelectColumn, alias: str, analysis: Analysis) -> None:
    if alias not in SYSTEM_COLUMNS:
        return
    is_itself = isinstance(item.expression, ColumnRef) and item.expression.name == alias
    if is_itself and not analysis.is_persistent:
        return
    raise AnalysisError(
        "reserved-name",
        f"{alias} is the name of a system column and cannot name a column of the result",
        fix=f"write {alias} AS another name" if is_itself else "choose another name",
        span=item.span,
    )
