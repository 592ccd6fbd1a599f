"""Refuses expressions that read a field which no record of the stream has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.expr.expression import Expression, Field, Key, Left, Right, Value
from penstock.model.site import caller_site
from penstock.serde.base import Serde
from penstock.serde.shape import NoMemberError, Shape


def check_fields(
    operator: str, fn: object, first: Serde[Any] | None, second: Serde[Any] | None
) -> None:
    """Refuse an expression with a field that its operand never has; leave functions alone.

    A field that does not exist is ``None`` for every record: a filter would drop all of them, and
    a sum would stay 0. Where no serde says which fields there are, nothing is known until a record
    comes.

    Args:
        operator: The method that the user called.
        fn: The user's function or expression.
        first: The serde of its first argument: of the key, or in a join of the left value.
        second: The serde of its second argument: of the value, or in a join of the right value.
    """
    if not isinstance(fn, Expression):
        return
    operands = tuple(None if serde is None else serde.shape for serde in (first, second))
    for each in _fields_in(fn):
        _check_field(operator, each, operands)


def _check_field(operator: str, field: Field, operands: tuple[Shape | None, ...]) -> None:
    shape = _shape_of(field.of, operands)
    if shape is None:
        return
    try:
        shape.member(field.name)
    except NoMemberError as error:
        raise InvalidArgumentError(
            "unknown-expression-field",
            f"{operator}: {field!r} reads a field that {error.of} does not have",
            fix=_advice(field.name, error),
            at=caller_site(),
        ) from None


def _shape_of(expression: Expression, operands: tuple[Shape | None, ...]) -> Shape | None:
    """Return what is known of the result of an expression; ``None`` means nothing."""
    match expression:
        case Key() | Left():
            return operands[0]
        case Value() | Right():
            return operands[1]
        case Field(of=of, name=name):
            shape = _shape_of(of, operands)
            try:
                return None if shape is None else shape.member(name)
            except NoMemberError:
                return None
        case _:
            return None


def _fields_in(expression: Expression) -> Iterator[Field]:
    """Return the fields that the expression reads, the innermost first."""
    for part in fields(expression):  # type: ignore[arg-type]
        for each in _expressions_in(getattr(expression, part.name)):
            yield from _fields_in(each)
    if isinstance(expression, Field):
        yield expression


def _expressions_in(part: object) -> Iterator[Expression]:
    if isinstance(part, Expression):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _expressions_in(each)


def _advice(name: object, error: NoMemberError) -> str:
    if not error.names:
        return f"use value itself, or a serde whose values have fields: {error.of} has none"
    near = get_close_matches(str(name), error.names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}{error.of} has {', '.join(error.names)}"
