"""How the built-in functions are declared: decorators that add to one registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.model.sql.types import SqlType
from penstock.sql.functions.registry import (
    AggregateOverload,
    Aggregator,
    FunctionRegistry,
    ScalarOverload,
    Settings,
    TableOverload,
)
from penstock.sql.functions.signature_text import parse_signature

F = TypeVar("F", bound=Callable[..., Any])
Binder = Callable[[Sequence[Any], Sequence[Any], Settings], Aggregator]

BUILT_IN = FunctionRegistry()


def scalar(
    name: str,
    *signatures: str,
    takes_null: bool = False,
    is_typed: bool = False,
    returns: Callable[[Sequence[Any]], SqlType] | None = None,
    check: Callable[[Sequence[str | None]], None] | None = None,
) -> Callable[[F], F]:
    """Declare a scalar function with one or more signatures; its docstring describes it."""

    def declare(function: F) -> F:
        for text in signatures:
            overload = ScalarOverload(
                parse_signature(text), function, takes_null, is_typed, returns, check=check
            )
            BUILT_IN.add_scalar(name, overload, _first_line(function))
        return function

    return declare


def table(name: str, *signatures: str) -> Callable[[F], F]:
    """Declare a table function; the signature's result is the type of one row."""

    def declare(function: F) -> F:
        for text in signatures:
            overload = TableOverload(parse_signature(text), function)
            BUILT_IN.add_table(name, overload, _first_line(function))
        return function

    return declare


def aggregate(name: str, *signatures: str, constants: int = 0) -> Callable[[Binder], Binder]:
    """Declare an aggregate function; the decorated function binds it to types."""

    def declare(bind: Binder) -> Binder:
        for text in signatures:
            overload = AggregateOverload(parse_signature(text), bind, constants)
            BUILT_IN.add_aggregate(name, overload, _first_line(bind))
        return bind

    return declare


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]
