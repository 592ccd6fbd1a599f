"""Finds functions of a user that never return a value where their result is what counts."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site

_IS_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def check_function(operator: str, what: str, fn: Callable[..., Any], *shape: str) -> None:
    """Refuse a function that cannot be called with these arguments, or never returns a value.

    A Java compiler finds a forgotten ``return``. In Python the function returns ``None``: an
    aggregator that only changes its aggregate in place deletes it with every record, a predicate
    drops all records, and nothing is logged. A lambda has a result that was written down, so
    ``lambda key, value, aggregate: None`` is accepted.
    """
    check_arity(operator, what, fn, *shape)
    code = _code(fn)
    if code is None or code.co_name == "<lambda>" or code.co_flags & _IS_LATER:
        return
    returned = list(_are_values(code))
    if returned and not any(returned):
        raise InvalidArgumentError(
            "no-return-value",
            f"{operator}: {what} {code.co_name}() never returns a value",
            fix="end it with return and its result, also if it changes an argument in place",
            at=caller_site(),
        )


def _code(fn: Any) -> CodeType | None:
    """Return the code that a call runs, or ``None`` if it is not Python code."""
    while isinstance(fn, partial):
        fn = fn.func
    if not hasattr(fn, "__code__") and not inspect.isclass(fn):
        fn = type(fn).__call__
    code = getattr(fn, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _are_values(code: CodeType) -> Iterator[bool]:
    """Return for each ``return`` of the code whether it may return anything but ``None``."""
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST":
            yield instruction.argval is not None
        elif instruction.opname == "RETURN_VALUE":
            # A jump to the instruction brings a value of its own, as in ``return first or None``.
            is_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
            yield not is_none or instruction.is_jump_target
        before = instruction
