"""Functions of users: ``@udf``, ``@udtf`` and ``@udaf``, with SQL types from Python's hints.

>>> @udf("Doubles a number.")
... def twice(x: int) -> int:
...     return 2 * x
>>> twice.name
'TWICE'
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    SqlType,
)
from penstock.sql.arrow import to_array, to_values
from penstock.sql.catalog.type_names import resolve
from penstock.sql.functions.conversion import from_python, to_python
from penstock.sql.functions.registry import (
    AggregateOverload,
    Aggregator,
    FunctionRegistry,
    ScalarOverload,
    Settings,
    TableOverload,
)
from penstock.sql.functions.signature import (
    AnyOf,
    Bindings,
    DictOf,
    ListOf,
    Pattern,
    Signature,
    Variable,
    parse_signature,
    substitute,
    target_type,
)
from penstock.sql.syntax.parser import parse_type

_HINTS: dict[Any, Pattern] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    Decimal: AnyOf("DECIMAL"),
    date: DATE,
    time: TIME,
    datetime: TIMESTAMP,
    dict: AnyOf("STRUCT"),
    Any: AnyOf("ANY"),
}


TypeOf = Callable[[Sequence[Any]], SqlType]


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of a user under its SQL name, ready to be added to a registry.

    Calling it calls the Python function. ``overload`` adds another signature to the same name.
    """

    name: str
    function: Callable[..., Any]
    add_to: Callable[[FunctionRegistry], None]
    overloads: list[UserFunction] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def overload(self, other: UserFunction) -> UserFunction:
        self.overloads.append(other)
        return self

    def register(self, registry: FunctionRegistry) -> None:
        """Adds the function and its overloads; from then on queries can call it."""
        self.add_to(registry)
        for other in self.overloads:
            other.register(registry)


def udf(
    description: str = "",
    *,
    name: str | None = None,
    signature: str | None = None,
    returns: str | TypeOf | None = None,
    takes_null: bool = False,
    is_vectorised: bool = False,
) -> Callable[[Callable[..., Any]], UserFunction]:
    """Makes a Python function a scalar function of SQL.

    Args:
        description: what DESCRIBE FUNCTION shows.
        name: the SQL name; the Python name otherwise.
        signature: parameters and result, such as ``"ARRAY<A>, A... -> A"``, instead of hints.
        returns: the result's type as SQL, for types that hints cannot say: ``"DECIMAL(10, 2)"``,
            or a function that gives it from the arguments' types.
        takes_null: calls the function with None for NULL; otherwise NULL gives NULL.
        is_vectorised: the function takes and gives Arrow arrays, NULLs included; types come from
            ``signature``.
    """

    def declare(function: Callable[..., Any]) -> UserFunction:
        shape = _shape(function, signature, returns)
        sql_name = _name(function, name)

        def bind(arguments: Sequence[Any]) -> Callable[..., Any]:
            if is_vectorised:
                return _one_row(function, shape, arguments, type_of)
            return _converted(function, shape, arguments)

        type_of = None if returns is None or isinstance(returns, str) else returns
        overload = ScalarOverload(
            shape,
            bind,
            takes_null or is_vectorised,
            is_typed=True,
            returns=type_of,
            over_columns=function if is_vectorised else None,
        )
        return UserFunction(
            sql_name, function, lambda r: r.add_scalar(sql_name, overload, description)
        )

    return declare


def udtf(
    description: str = "",
    *,
    name: str | None = None,
    signature: str | None = None,
    returns: str | None = None,
) -> Callable[[Callable[..., Any]], UserFunction]:
    """Makes a Python function that gives a list a table function: a row for each element.

    With ``signature`` or ``returns`` the result is the type of one element.
    """

    def declare(function: Callable[..., Any]) -> UserFunction:
        shape = _shape(function, signature, returns, is_table=True)
        sql_name = _name(function, name)

        def rows(*values: Any) -> list[Any]:
            return list(function(*values) or ())

        overload = TableOverload(shape, rows)
        return UserFunction(
            sql_name, function, lambda r: r.add_table(sql_name, overload, description)
        )

    return declare


def udaf(
    description: str = "",
    *,
    signature: str,
    state: str | TypeOf,
    name: str | None = None,
    returns: TypeOf | None = None,
    constants: int = 0,
    columns: int | None = None,
) -> Callable[[type], UserFunction]:
    """Makes a class an aggregate function.

    The class has ``initialize()``, ``aggregate(state, *values)``, ``merge(a, b)``, ``map(state)``
    and, to aggregate tables, ``undo(state, *values)``.

    Args:
        description: what DESCRIBE FUNCTION shows.
        signature: parameters and result, such as ``"ARRAY<A>, INTEGER -> A"``.
        state: the SQL type of each group's state, or a function of the arguments' types.
        name: the SQL name; the class's name otherwise.
        returns: the result's type from the arguments' types, where the signature cannot say it.
        constants: how many last arguments of a call are literals, given to the class.
        columns: how many first arguments are not literals, when any number of literals follows.
    """

    def declare(class_: type) -> UserFunction:
        shape = parse_signature(signature)
        sql_name = _name(class_, name)
        state_of: TypeOf = _fixed(state) if isinstance(state, str) else state

        def bind(arguments: Sequence[Any], values: Sequence[Any], _: Settings) -> Aggregator:
            one = class_(*values)
            found = shape.match([*arguments, *(None for _ in values)])
            bound = found[1] if found else Bindings()
            return Aggregator(
                one.initialize,
                one.aggregate,
                one.merge,
                getattr(one, "map", lambda value: value),
                state_of(arguments),
                returns(arguments) if returns else substitute(shape.result, bound, arguments),
                getattr(one, "undo", None),
            )

        overload = AggregateOverload(shape, bind, constants, columns)
        return UserFunction(
            sql_name, class_, lambda r: r.add_aggregate(sql_name, overload, description)
        )

    return declare


def _fixed(text: str) -> TypeOf:
    type_ = resolve(parse_type(text))
    return lambda _: type_


def _name(function: Callable[..., Any], name: str | None) -> str:
    return (name or function.__name__).upper()


def _converted(
    function: Callable[..., Any], shape: Signature, arguments: Sequence[Any]
) -> Callable[..., Any]:
    """Wraps a function so that dates and times reach it as Python has them."""
    found = shape.match(arguments)
    bound = found[1] if found else Bindings()
    patterns = shape.expanded(len(arguments)) or ()
    readers = [to_python(p if not isinstance(p, Variable) else bound[p.name]) for p in patterns]
    write = from_python(shape.result)
    if write is None and not any(readers):
        return function

    def call(*values: Any) -> Any:
        given = [
            read(value) if read and value is not None else value
            for read, value in zip(readers, values, strict=True)
        ]
        result = function(*given)
        return result if write is None or result is None else write(result)

    return call


def _one_row(
    function: Callable[..., Any],
    shape: Signature,
    arguments: Sequence[Any],
    type_of: TypeOf | None,
) -> Callable[..., Any]:
    """Gives a function over values that calls one over arrays, with arrays of one element."""
    found = shape.match(arguments)
    bound = found[1] if found else Bindings()
    patterns = shape.expanded(len(arguments)) or ()
    types = [target_type(p, t, bound) or STRING for p, t in zip(patterns, arguments, strict=True)]
    result = type_of(arguments) if type_of else substitute(shape.result, bound, arguments)

    def call(*values: Any) -> Any:
        arrays = (to_array([v], t) for v, t in zip(values, types, strict=True))
        return to_values(function(*arrays), result)[0]

    return call


def _shape(
    function: Callable[..., Any],
    signature: str | None,
    returns: str | TypeOf | None,
    *,
    is_table: bool = False,
) -> Signature:
    if signature is not None:
        return parse_signature(signature)
    hints = typing.get_type_hints(function)
    patterns: list[Pattern] = []
    variadic = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = len(patterns)
        patterns.append(_pattern(function, parameter.name, hints.get(parameter.name)))
    result: Pattern | SqlType
    if isinstance(returns, str):
        result = resolve(parse_type(returns))
    elif returns is not None:
        result = AnyOf("ANY")
    else:
        result = _pattern(function, "return", hints.get("return"))
        if is_table and isinstance(result, ListOf):
            result = result.element
    return Signature(tuple(patterns), result, variadic)


def _pattern(function: Callable[..., Any], what: str, hint: Any) -> Pattern:
    arguments = get_args(hint)
    origin = get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        rest = [argument for argument in arguments if argument is not type(None)]
        return _pattern(function, what, rest[0] if len(rest) == 1 else None)
    if isinstance(hint, TypeVar):
        return Variable(hint.__name__)
    if origin is list:
        return ListOf(_pattern(function, what, arguments[0]))
    if origin is dict:
        return DictOf(*(_pattern(function, what, argument) for argument in arguments))
    if hint in _HINTS:
        return _HINTS[hint]
    raise AnalysisError(
        "no-sql-type",
        f"{function.__name__}: {what!r} has the type hint {hint!r}, which is no SQL type",
        fix="hint bool, int, float, str, bytes, Decimal, date, time, datetime, list[...] or"
        " dict[str, ...], or give the decorator a signature",
    )
