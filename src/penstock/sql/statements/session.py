"""Statements about running queries and the session: TERMINATE, SET, DEFINE and their opposites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.config import PROCESSING_GUARANTEE
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.sql.ast import administration as admin
from penstock.sql.ast.node import Node
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.ksql_settings import has_no_effect
from penstock.sql.results import StatementResult
from penstock.sql.setting_names import (
    STREAMS_PREFIX,
    alias_of,
    check_changeable,
    check_setting,
    check_system,
    check_written,
    layered,
    reaches_running_queries,
)

if TYPE_CHECKING:
    from penstock.sql.planner.plan import QueryPlan

_DONE = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}


def control(catalog: Catalog, statement: admin.ControlQuery, sql: str) -> StatementResult:
    names = list(catalog.queries) if statement.query_id is None else [statement.query_id]
    for name in names:
        _control(catalog, statement, name)
    return StatementResult("control", sql, f"{', '.join(names)} {_DONE[statement.action]}")


def _control(catalog: Catalog, statement: admin.ControlQuery, name: str) -> None:
    query = catalog.queries.get(name)
    if query is None:
        raise AnalysisError(
            "unknown-query",
            f"there is no query {name!r}",
            fix=did_you_mean(name, catalog.queries) or "SHOW QUERIES lists them",
            span=statement.span,
        )
    if statement.action == "PAUSE":
        catalog.paused.add(name)
    else:
        catalog.paused.discard(name)
    if statement.action == "TERMINATE":
        catalog.end_query(name)
    else:
        catalog.add_query(query)


def set_property(catalog: Catalog, statement: admin.SetProperty, sql: str) -> StatementResult:
    check_changeable(statement.name, statement.span)
    check_written(statement.name, statement.value, statement.span)
    # The later of two names of one setting wins.
    catalog.properties = layered(catalog.properties, {statement.name: statement.value})
    return _set(statement, sql)


def alter_system(catalog: Catalog, statement: admin.AlterSystem, sql: str) -> StatementResult:
    """Change a setting for all sessions, and for all queries that did not SET it themselves.

    The runtime restarts a query whose plan has changed, with its state.
    """
    name, value = statement.name, statement.value
    check_changeable(name, statement.span)
    check_setting(name, value, statement.span)
    check_system(name, statement.span)
    _check_guarantee(catalog, statement)
    catalog.system = layered(catalog.system, {name: value})
    if reaches_running_queries(name):
        for query in catalog.queries.values():
            plan = altered(query.plan, name, value)
            catalog.queries[query.id] = replace(query, plan=plan)
    return _set(statement, sql)


def altered(plan: QueryPlan, name: str, value: str) -> QueryPlan:
    """Return a plan with a setting of ALTER SYSTEM; unchanged if the query has its own."""
    if not plan.own_settings.isdisjoint({name, alias_of(name)}):
        return plan
    settings = tuple(sorted(layered(dict(plan.settings), {name: value}).items()))
    return plan if settings == plan.settings else replace(plan, settings=settings)


def _check_guarantee(catalog: Catalog, statement: admin.AlterSystem) -> None:
    """Refuse another guarantee while queries run, as ksqlDB does: their state was made with one."""
    if statement.name.removeprefix(STREAMS_PREFIX) != PROCESSING_GUARANTEE.name:
        return
    if catalog.queries:
        raise AnalysisError(
            "queries-running",
            f"{statement.name} cannot change while {len(catalog.queries)} persistent queries run",
            fix="TERMINATE ALL first, or SET it for new queries",
            span=statement.span,
        )


def _set(statement: admin.SetProperty | admin.AlterSystem, sql: str) -> StatementResult:
    note = ", which changes nothing here" if has_no_effect(statement.name) else ""
    return StatementResult("set", sql, f"{statement.name} = {statement.value}{note}")


def unset_property(catalog: Catalog, statement: admin.UnsetProperty, sql: str) -> StatementResult:
    check_changeable(statement.name, statement.span)
    check_written(statement.name, None, statement.span)
    for name in (statement.name, alias_of(statement.name)):
        catalog.properties.pop(name, None)
    return StatementResult("unset", sql, f"{statement.name} unset")


def define(catalog: Catalog, statement: admin.Define, sql: str) -> StatementResult:
    catalog.variables[statement.name.upper()] = statement.value
    return StatementResult("define", sql, f"{statement.name} = {statement.value}")


def undefine(catalog: Catalog, statement: admin.Undefine, sql: str) -> StatementResult:
    catalog.variables.pop(statement.name.upper(), None)
    return StatementResult("undefine", sql, f"{statement.name} undefined")


#: Statements that need nothing but the catalog.
CATALOG_HANDLERS: dict[type[Node], Callable[..., StatementResult]] = {
    admin.ControlQuery: control,
    admin.SetProperty: set_property,
    admin.AlterSystem: alter_system,
    admin.UnsetProperty: unset_property,
    admin.Define: define,
    admin.Undefine: undefine,
}
