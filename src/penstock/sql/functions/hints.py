"""Python's type hints as patterns of SQL types, and whether a parameter takes NULL."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
)
from penstock.sql.catalog.type_names import resolve
from penstock.sql.functions.signature import (
    AnyOf,
    DictOf,
    ListOf,
    Pattern,
    StructField,
    StructOf,
    Variable,
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
#: By name, so that a program that uses none of them does not import pyarrow.
_ARROW_HINTS: dict[str, Pattern] = {
    "BooleanArray": BOOLEAN,
    "Int32Array": INTEGER,
    "Int64Array": BIGINT,
    "DoubleArray": DOUBLE,
    "StringArray": STRING,
    "BinaryArray": BYTES,
    "Date32Array": DATE,
    "Time32Array": TIME,
    "TimestampArray": TIMESTAMP,
}
#: The parameter that gets the settings of a function.
SETTINGS = "settings"
_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
)
_DICTS = (dict, collections.abc.Mapping)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a Python function: its pattern, and which arguments it accepts.

    ``pattern`` is None where there is no hint. ``takes_null`` is True for ``Optional``, False for
    another hint, and None where the hints do not say.
    """

    name: str
    pattern: Pattern | None
    takes_null: bool | None
    has_default: bool = False
    is_variadic: bool = False


def site_of(function: Callable[..., Any]) -> str | None:
    """Return ``file.py:12``, where a function or class is defined."""
    try:
        line = inspect.getsourcelines(function)[1]
        return f"{Path(inspect.getsourcefile(function) or '').name}:{line}"
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return code and f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def wants_settings(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter ``settings`` that is given by name only."""
    try:
        found = inspect.signature(function).parameters.get(SETTINGS)
    except (ValueError, TypeError):
        return False
    return found is not None and found.kind is found.KEYWORD_ONLY


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the hints of a function with the names in them resolved."""
    try:
        # From Python 3.14 on, ``get_type_hints`` finds nothing where it raised this before.
        if isinstance(function, partial):
            raise TypeError(f"{function!r} is not a class, a method or a function")
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise AnalysisError(
            "unreadable-hints",
            f"the type hints of {_shown(function)} cannot be read: {error}",
            fix="define the classes that hints name at the top of the module, before the function",
            at=site_of(function),
        ) from None


def parameters_of(
    function: Callable[..., Any], skip: int = 0, *, is_hinted: bool = True
) -> list[Parameter]:
    """Return the parameters that a SQL call can fill, without the first ``skip``.

    Args:
        function: the user's function.
        skip: how many parameters are not arguments of the call, such as ``self``.
        is_hinted: refuses a parameter without a hint.
    """
    try:
        hints, signature = hints_of(function), inspect.signature(function)
    except (AnalysisError, ValueError, TypeError):
        # Some functions written in C and some wrappers have no signature.
        if not is_hinted:
            return []
        raise
    found = []
    for each in [*signature.parameters.values()][skip:]:
        has_default = each.default is not each.empty
        if each.kind is each.KEYWORD_ONLY and each.name == SETTINGS:
            continue
        if each.kind is each.VAR_KEYWORD or (each.kind is each.KEYWORD_ONLY and not has_default):
            raise AnalysisError(
                "keyword-parameter",
                f"{_shown(function)}: parameter {each.name!r} can only be given by name,"
                " and SQL passes arguments by position",
                fix="make it a positional parameter, or give it a default",
                at=site_of(function),
            )
        if each.kind is each.KEYWORD_ONLY:
            continue
        hint = hints.get(each.name)
        found.append(
            Parameter(
                each.name,
                pattern_of(function, each.name, hint) if is_hinted else None,
                _takes_null(hint),
                has_default,
                each.kind is each.VAR_POSITIONAL,
            )
        )
    return found


def pattern_of(function: Callable[..., Any], what: str, hint: Any) -> Pattern:
    """Return the pattern of a hint; ``what`` is the parameter's name, or ``return``."""
    found = _pattern(hint)
    if found is not None:
        return found
    problem = "no type hint" if hint is None else f"the type hint {_text(hint)}"
    raise AnalysisError(
        "no-sql-type",
        f"{_shown(function)}: {what!r} has {problem}, which is not a SQL type",
        fix="hint bool, int, float, str, bytes, Decimal, date, time, datetime, list[...],"
        " dict[str, ...], a dataclass or Annotated[..., 'a type of SQL'],"
        " or give the decorator a signature",
        at=site_of(function),
    )


def element_of(pattern: Pattern) -> Pattern | None:
    """Return the pattern of a list's elements; None if the pattern is not a list."""
    return pattern.element if isinstance(pattern, ListOf) else None


def has_open_decimal(pattern: Pattern) -> bool:
    """Return whether the pattern has a DECIMAL without precision and scale."""
    match pattern:
        case AnyOf("DECIMAL"):
            return True
        case ListOf(element):
            return has_open_decimal(element)
        case DictOf(key, value):
            return has_open_decimal(key) or has_open_decimal(value)
        case StructOf(fields):
            return any(has_open_decimal(field.pattern) for field in fields)
        case _:
            return False


def _pattern(hint: Any) -> Pattern | None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments)
    if _is_union(origin):
        rest = [argument for argument in arguments if argument is not type(None)]
        return _pattern(rest[0]) if len(rest) == 1 else None
    if isinstance(hint, TypeVar):
        return Variable(hint.__name__)
    if origin in _LISTS or (origin is tuple and arguments[1:] == (...,)):
        element = _pattern(arguments[0])
        return element and ListOf(element, converts=True)
    if origin in _DICTS:
        key, value = (_pattern(argument) for argument in arguments)
        return DictOf(key, value, converts=True) if key and value else None
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _struct(hint)
    if getattr(hint, "__module__", "").startswith("pyarrow"):
        return _ARROW_HINTS.get(hint.__name__)
    return _HINTS.get(hint) if isinstance(hint, collections.abc.Hashable) else None


def _annotated(arguments: tuple[Any, ...]) -> Pattern | None:
    written = next((each for each in arguments[1:] if isinstance(each, str)), None)
    if written is None:
        return _pattern(arguments[0])
    try:
        return resolve(parse_type(written))
    except SqlError:
        return None


def _struct(class_: type) -> StructOf | None:
    hints = hints_of(class_)
    fields = []
    for field in dataclasses.fields(class_):
        pattern = _pattern(hints[field.name])
        if pattern is None or not field.init:
            return None
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        fields.append(StructField(field.name.upper(), pattern, has_default))
    return StructOf(tuple(fields), class_)


def _takes_null(hint: Any) -> bool | None:
    if get_origin(hint) is Annotated:
        return _takes_null(get_args(hint)[0])
    if hint is None or hint is Any:
        return None
    return _is_union(get_origin(hint)) and type(None) in get_args(hint)


def _is_union(origin: Any) -> bool:
    return origin is typing.Union or origin is types.UnionType


def _text(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _shown(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function)).rpartition("<locals>.")[2]
