"""Aliases of SELECT in GROUP BY and HAVING."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.sql.ast.expressions import ColumnRef, Expression, Lambda
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query, SelectColumn
from penstock.sql.ast.walk import rewrite

IsColumn = Callable[[str], bool]


def with_aliases_meant(query: Query, is_column: IsColumn) -> Query:
    """Replace aliases of SELECT by their expressions.

    before: SELECT UCASE(PAGE) AS P, COUNT(*) AS N FROM S GROUP BY P HAVING N > 1
    after:  SELECT UCASE(PAGE) AS P, COUNT(*) AS N FROM S GROUP BY UCASE(PAGE) HAVING COUNT(*) > 1

    In GROUP BY a column of a source comes before a name of SELECT, as in Postgres. In HAVING only
    a column that is grouped does: any other column could not stand there.
    """
    if query.group_by is None:
        return query
    aliases: dict[str, Expression] = {}
    for item in query.items:
        if isinstance(item, SelectColumn) and item.alias is not None:
            aliases.setdefault(item.alias, item.expression)
    group_by = tuple(
        _replaced(each, aliases, lambda name: not is_column(name)) for each in query.group_by
    )
    grouped = {each.name for each in group_by if isinstance(each, ColumnRef)}
    having = query.having
    if having is not None:
        having = _replaced(having, aliases, lambda name: name not in grouped)
    return replace(query, group_by=group_by, having=having)


def _replaced(
    expression: Expression, aliases: dict[str, Expression], is_alias: Callable[[str], bool]
) -> Expression:
    def change(node: Node) -> Node | None:
        if isinstance(node, Lambda) and set(node.parameters) & set(aliases):
            # The parameters of a lambda hide the aliases of SELECT.
            return node
        if isinstance(node, ColumnRef) and node.source is None:
            meant = aliases.get(node.name)
            return meant if meant is not None and is_alias(node.name) else None
        return None

    return rewrite(expression, change)
