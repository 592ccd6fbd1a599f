"""How a user's function wants to be called, found out from its signature."""

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
    """Gives how many arguments the function is to be called with: as many as the shape that fits.

    Args:
        operator: What the user called, such as ``map_values``.
        what: What the function is there, such as ``mapper``.
        fn: The user's function.
        shapes: Names of the arguments, one sequence per way of calling it. The first one that
            fits wins, and it is taken for functions that show no signature.
    """
    check_callable(operator, what, fn, _calls(shapes, "of"))
    try:
        # An expression has no truth value, which ``inspect`` asks for. Its class has a signature.
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
    """Refuses a function that cannot be called in the one way there is."""
    number_of_arguments(operator, what, fn, shape)


def check_callable(operator: str, what: str, fn: object, calls: str) -> None:
    """Refuses what is no function; ``calls`` says with which arguments it will be called."""
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
