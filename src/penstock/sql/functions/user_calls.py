"""Calls of users' functions: converts arguments, handles NULLs, and checks results.

An error names the function, the reason and the line of the user's file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import unwrap
from pathlib import Path
from types import TracebackType
from typing import Any

from penstock.model.sql.errors import FunctionError
from penstock.model.sql.types import SqlType
from penstock.sql.functions.conversion import Convert, WrongResultError, reader, writer
from penstock.sql.functions.hints import site_of, wants_settings
from penstock.sql.functions.registry import Aggregator, Settings
from penstock.sql.functions.signature import (
    Bindings,
    LambdaArgument,
    Pattern,
    Signature,
    substitute,
    target_type,
)

_FUNCTIONS = "ksql.functions."
#: The prefix of the settings that every function gets.
_OF_ALL = f"{_FUNCTIONS}_global_."

Types = Sequence[Any]
TypeOf = Callable[[Types], SqlType]


@dataclass(frozen=True, slots=True)
class Declared:
    """The declared parameters and result of a user's function.

    ``takes_null`` says for each parameter of ``shape`` whether the function is called with None
    for NULL. ``returns`` computes the type of the result if ``shape`` does not contain it.
    """

    name: str
    shape: Signature
    takes_null: tuple[bool, ...]
    returns: TypeOf | None = None
    at: str | None = None

    def bound(self, types: Types) -> Bindings:
        """Return the type variables of a call."""
        found = self.shape.match(types)
        return found[1] if found else Bindings()

    def result(self, types: Types) -> SqlType:
        """Return the type of a call's result."""
        if self.returns is not None:
            return self.returns(types)
        return substitute(self.shape.result, self.bound(types), types)

    def targets(self, types: Types) -> list[SqlType | None]:
        """Return the types that the arguments of a call are converted to."""
        bound = self.bound(types)
        return [
            None if isinstance(t, LambdaArgument) else target_type(p, t, bound)
            for p, t in zip(self.patterns(len(types)), types, strict=True)
        ]

    def patterns(self, count: int) -> tuple[Pattern, ...]:
        """Return the pattern of each argument of a call."""
        return self.shape.expanded(count) or ()

    def needed(self, count: int) -> list[int]:
        """Return the positions of arguments that must not be NULL."""
        # The shape maps arguments to parameters, variadic ones included.
        flags: Any = replace(self.shape, parameters=self.takes_null).expanded(count)  # type: ignore[arg-type]
        return [place for place, takes_null in enumerate(flags or ()) if not takes_null]

    def prepared(self, types: Types) -> Callable[[tuple[Any, ...]], list[Any] | None]:
        """Return the conversion of SQL values to arguments.

        It returns None if one of them is a NULL that the function does not take.
        """
        targets = self.targets(types)
        readers = [reader(p, t) for p, t in zip(self.patterns(len(types)), targets, strict=True)]
        needed = self.needed(len(types))
        reads = [(place, read) for place, read in enumerate(readers) if read is not None]

        def prepare(values: tuple[Any, ...]) -> list[Any] | None:
            for place in needed:
                if values[place] is None:
                    return None
            arguments = list(values)
            for place, read in reads:
                if arguments[place] is not None:
                    arguments[place] = read(arguments[place])
            return arguments

        return prepare

    def failed(self, error: Exception, function: Callable[..., Any]) -> FunctionError:
        """Return the error of a call, with the line of the user's file that raised it."""
        if isinstance(error, FunctionError):
            return error
        if isinstance(error, WrongResultError):
            return FunctionError("wrong-result", f"{self.name} returned {error}", at=self.at)
        return FunctionError(
            "function-failed",
            f"{self.name} raised {type(error).__name__}: {error}",
            at=_line_in(error.__traceback__, function) or self.at,
        )


def with_settings(function: Callable[..., Any], name: str, given: Settings) -> Callable[..., Any]:
    """Return a user's function, or class, with its settings if it wants them.

    Args:
        function: The user's function or class.
        name: Its name in SQL.
        given: All settings in force.
    """
    if not wants_settings(function):
        return function
    bound = partial(function, settings=own_settings(name, given))
    # Errors name the line of the function itself.
    bound.__wrapped__ = function  # type: ignore[attr-defined]
    return bound


def own_settings(name: str, given: Settings) -> dict[str, str]:
    """Return the settings of a function, without their prefix, over those of all functions.

    >>> given = {"ksql.functions._global_.zone": "EU", "ksql.functions.tax.rate": "7"}
    >>> own_settings("TAX", given)
    {'zone': 'EU', 'rate': '7'}
    """
    found: dict[str, str] = {}
    for prefix in (_OF_ALL, f"{_FUNCTIONS}{name.lower()}."):
        for setting, value in given.items():
            if setting.startswith(prefix):
                found[setting.removeprefix(prefix)] = value
    return found


def scalar_call(function: Callable[..., Any], declared: Declared, types: Types) -> Convert:
    """Return the function over SQL values that calls a user's function."""
    prepare, write = declared.prepared(types), writer(declared.result(types))

    def call(*values: Any) -> Any:
        try:
            arguments = prepare(values)
            return None if arguments is None else write(function(*arguments))
        except Exception as error:
            raise declared.failed(error, function) from error

    return call


def table_call(
    function: Callable[..., Any], declared: Declared, types: Types
) -> Callable[..., list[Any]]:
    """Return the function from SQL values to the rows of a user's table function."""
    prepare, write = declared.prepared(types), writer(declared.result(types))

    def rows(*values: Any) -> list[Any]:
        try:
            arguments = prepare(values)
            if arguments is None:
                return []
            found = function(*arguments)
            if isinstance(found, str | bytes | dict) or not isinstance(found, Iterable | None):
                raise WrongResultError(
                    f"{found!r} ({type(found).__name__}), which is not a list or a generator"
                )
            return [write(row) for row in found or ()]
        except Exception as error:
            raise declared.failed(error, function) from error

    return rows


def aggregator(
    one: Any, declared: Declared, types: Types, state: tuple[Pattern | None, SqlType]
) -> Aggregator:
    """Return an instance of a user's class as an aggregate function.

    ``state`` is the pattern of each group's state, if hints gave one, and its type.
    """
    pattern, state_type = state
    read = reader(pattern or state_type, state_type)
    write, prepare = writer(state_type), declared.prepared(types)
    result = declared.result(types)
    write_result = writer(result)

    def opened(value: Any) -> Any:
        return value if read is None or value is None else read(value)

    def guarded(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            try:
                return step(*values)
            except Exception as error:
                raise declared.failed(error, type(one).aggregate) from error

        return call

    def folded(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(state: Any, *values: Any) -> Any:
            arguments = prepare(values)
            return state if arguments is None else write(method(opened(state), *arguments))

        return guarded(step)

    read_out = getattr(one, "map", None) or (lambda value: value)
    undo = getattr(one, "undo", None)
    return Aggregator(
        guarded(lambda: write(one.initialize())),
        folded(one.aggregate),
        guarded(lambda a, b: write(one.merge(opened(a), opened(b)))),
        guarded(lambda value: write_result(read_out(opened(value)))),
        state_type,
        result,
        None if undo is None else folded(undo),
    )


def _line_in(trace: TracebackType | None, function: Callable[..., Any]) -> str | None:
    """Return the last line of the traceback that is in the file of the user's function."""
    code = getattr(unwrap(function), "__code__", None)
    found = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if code is not None and file == code.co_filename:
            found = f"{Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found or site_of(function)
