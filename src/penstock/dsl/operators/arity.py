"""Finds out from the signature of a user's function with which arguments to call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.expr.expression import Expression
from penstock.model.site import caller_site


def number_of_arguments(
    operator: str, what: str, fn: Callable[..., Any], *shapes: Sequence[str]
) -> int:
    """Return the number of arguments to call the function with: that of the first shape that fits.

    Args:
        operator: The method that the user called, such as ``map_values``.
        what: The role of the function, such as ``mapper``.
        fn: The user's function.
        shapes: Names of the arguments, one sequence per way of calling the function. A function
            without a signature is called in the first way.
    """
    check_callable(operator, what, fn, _calls(shapes, "of"))
    if operator != "map_values_async":
        _check_not_async(operator, what, fn)
    try:
        # ``inspect`` asks for the truth value of an object, which an expression does not have.
        signature = inspect.signature(fn if not isinstance(fn, Expression) else fn.__call__)
    except (TypeError, ValueError):
        return len(shapes[0])
    for shape in shapes:
        if _fits(signature, len(shape)):
            return len(shape)
    raise InvalidArgumentError(
        "wrong-arity",
        f"{operator}: {what} {_text(fn, signature)} cannot be called {_calls(shapes, 'with')}",
        fix=f"give a function {_calls(shapes, 'of')}",
        at=caller_site(),
    )


def check_arity(operator: str, what: str, fn: Callable[..., Any], *shape: str) -> None:
    """Refuse a function that cannot be called with these arguments."""
    number_of_arguments(operator, what, fn, shape)


def check_callable(operator: str, what: str, fn: object, calls: str) -> None:
    """Refuse an object that cannot be called. ``calls`` are the arguments, for the message."""
    if fn is None:
        raise NullArgumentError(
            "missing-function",
            f"{operator}: {what} is None",
            fix=f"give a function {calls}",
            at=caller_site(),
        )
    if not callable(fn):
        raise InvalidArgumentError(
            "not-a-function",
            f"{operator}: {what} {fn!r} is not a function",
            fix=f"give a function {calls}, such as a lambda",
            at=caller_site(),
        )


def _check_not_async(operator: str, what: str, fn: Callable[..., Any]) -> None:
    """Refuse a coroutine function: nothing would await what it returns."""
    if inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__):
        raise InvalidArgumentError(
            "async-function",
            f"{operator}: {what} {getattr(fn, '__name__', type(fn).__name__)} is async, and"
            f" {operator} does not wait for answers",
            fix="use map_values_async(fn), which runs many calls at once and keeps the order of"
            " each key, or give a function without async",
            at=caller_site(),
        )


def _fits(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _text(fn: Callable[..., Any], signature: inspect.Signature) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return f"{'lambda' if name == '<lambda>' else name}{signature}"


def _calls(shapes: Sequence[Sequence[str]], preposition: str) -> str:
    named = [f"({', '.join(shape)})" for shape in shapes if shape]
    return f"{preposition} {' or '.join(named)}" if named else "without arguments"
