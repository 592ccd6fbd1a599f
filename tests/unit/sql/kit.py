"""Expressions evaluated from text, for tests."""

from typing import Any

from penstock.model.sql.types import SqlType
from penstock.sql.catalog.type_names import resolve
from penstock.sql.expressions import Column, Compiled, Scope, compile_expression
from penstock.sql.functions.library import built_in_functions
from penstock.sql.syntax.parser import parse_expression, parse_type

FUNCTIONS = built_in_functions()


def sql_type(text: str) -> SqlType:
    return resolve(parse_type(text))


def scope_of(columns: dict[str, str], errors: list[str] | None = None) -> Scope:
    """A scope whose columns are given as names and SQL types."""
    found = tuple(Column(name, sql_type(type_), "S") for name, type_ in columns.items())

    def log(text: str, error: Exception, row: object) -> None:
        if errors is not None:
            errors.append(f"{text}: {error}")

    return Scope(found, FUNCTIONS, log=log)


def compiled(text: str, **columns: str) -> Compiled:
    return compile_expression(parse_expression(text), scope_of(columns))


def type_of(text: str, **columns: str) -> str:
    return str(compiled(text, **columns).type)


def value_of(text: str) -> Any:
    """The value of an expression without columns."""
    return compiled(text).evaluate(())


def evaluate(text: str, columns: dict[str, str], *row: Any) -> Any:
    return compile_expression(parse_expression(text), scope_of(columns)).evaluate(row)
