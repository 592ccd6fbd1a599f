"""Statements about running queries and the session: TERMINATE, SET, DEFINE and their opposites."""

from __future__ import annotations

from collections.abc import Callable

from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.sql.ast import administration as admin
from penstock.sql.ast.node import Node
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.ksql_settings import has_no_effect
from penstock.sql.results import StatementResult
from penstock.sql.setting_names import check_changeable, check_setting

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


def set_property(
    catalog: Catalog, statement: admin.SetProperty | admin.AlterSystem, sql: str
) -> StatementResult:
    check_changeable(statement.name, statement.span)
    check_setting(statement.name, statement.value, statement.span)
    catalog.properties[statement.name] = statement.value
    note = ", which changes nothing here" if has_no_effect(statement.name) else ""
    return StatementResult("set", sql, f"{statement.name} = {statement.value}{note}")


def unset_property(catalog: Catalog, statement: admin.UnsetProperty, sql: str) -> StatementResult:
    check_changeable(statement.name, statement.span)
    check_setting(statement.name, None, statement.span)
    catalog.properties.pop(statement.name, None)
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
    admin.AlterSystem: set_property,
    admin.UnsetProperty: unset_property,
    admin.Define: define,
    admin.Undefine: undefine,
}
