"""Evaluates expressions for a whole batch, with the same results as record by record.

Operands are evaluated for all records, also for those whose result does not need them. If an
operand raises for one of these, the batch runs record at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from penstock.expr.expression import (
    Binary,
    Cast,
    Choice,
    Expression,
    Field,
    Key,
    Left,
    Literal,
    Right,
    Split,
    Struct,
    Text,
    Value,
    WithFields,
    field_of,
)
from penstock.kernel.columns.batch_column import BatchColumn, WindowedColumn
from penstock.kernel.columns.session_column import SessionColumn
from penstock.model.user_code import UserCodeError, user_code

Values = Sequence[Any]


def evaluated(expression: Expression, first: BatchColumn, second: BatchColumn) -> Values:
    """Return what ``evaluate`` returns; if a single pair fails, raise ``UserCodeError``.

    An error that no single pair has is a fault of this module, and it is raised as it is.
    """
    try:
        return evaluate(expression, first, second)
    except UserCodeError:
        raise
    except Exception:
        with user_code("an expression"):
            for key, value in zip(first.values(), second.values(), strict=True):
                expression(key, value)
        raise


def evaluate(  # noqa: PLR0911 - one case per kind of expression
    expression: Expression, first: BatchColumn, second: BatchColumn
) -> Values:
    """Return the expression's value for each pair: key and value, or left and right in a join."""
    match expression:
        case Literal(constant=constant):
            return [constant] * len(first)
        case Key() | Left():
            return first.values()
        case Value() | Right():
            return second.values()
        case Field(of=of, name=name):
            return _fields(of, name, first, second)
        case Binary(sign=sign, left=left, right=right):
            return _binary(sign, left, right, first, second)
        case Cast(of=of, to=to):
            return [None if v is None else to(v) for v in evaluate(of, first, second)]
        case Split(of=of, separator=mark):
            return [None if v is None else v.split(mark) for v in evaluate(of, first, second)]
        case Text(method=method, of=of):
            return _texts(method, evaluate(of, first, second))
        case Choice(condition=condition, yes=yes, no=no):
            return _choices(condition, yes, no, first, second)
        case Struct(members=members):
            return _structs(members, first, second)
        case WithFields(of=of, members=members):
            return _with_fields(evaluate(of, first, second), members, first, second)
        case _:
            pairs = zip(first.values(), second.values(), strict=True)
            return [expression(key, value) for key, value in pairs]


def _fields(of: Expression, name: Any, first: BatchColumn, second: BatchColumn) -> Values:
    if isinstance(of, Key) and isinstance(first, WindowedColumn | SessionColumn):
        found = first.member(name)
        if found is not None:
            return found
    items = evaluate(of, first, second)
    if set(map(type, items)) == {dict}:
        try:
            return [*map(itemgetter(name), items)]
        except KeyError:
            return [item.get(name) for item in items]
    return [field_of(item, name) for item in items]


def _binary(
    sign: str, left: Expression, right: Expression, first: BatchColumn, second: BatchColumn
) -> Values:
    lefts = evaluate(left, first, second)
    if isinstance(right, Literal) and right.constant is not None:
        constant = right.constant
        if sign in _DIVISIONS and constant == 0:
            return [None] * len(lefts)
        return _WITH_CONSTANT[sign](lefts, constant)
    rights = evaluate(right, first, second)
    if sign in _DIVISIONS:
        rights = [None if item is None or item == 0 else item for item in rights]
    return _PAIRWISE[sign](lefts, rights)


def _texts(method: str, items: Values) -> Values:
    return [None if item is None else getattr(item, method)() for item in items]


def _choices(
    condition: Expression, yes: Expression, no: Expression, first: BatchColumn, second: BatchColumn
) -> Values:
    conditions = evaluate(condition, first, second)
    if isinstance(yes, Literal) and isinstance(no, Literal):
        one, other = yes.constant, no.constant
        return [one if chosen else other for chosen in conditions]
    # No record needs both sides.
    sides = [evaluated(side, first, second) for side in (yes, no)]
    return [one if chosen else other for chosen, one, other in zip(conditions, *sides, strict=True)]


Members = tuple[tuple[str, Expression], ...]


def _structs(members: Members, first: BatchColumn, second: BatchColumn) -> Values:
    if not members:
        return [{} for _ in range(len(first))]
    columns = [evaluate(member, first, second) for _, member in members]
    return _maker(tuple(name for name, _ in members))(*columns)


def _with_fields(
    items: Values, members: Members, first: BatchColumn, second: BatchColumn
) -> Values:
    if not members:
        return [None if item is None else {**item} for item in items]
    # A record without an object does not need them.
    columns = [evaluated(member, first, second) for _, member in members]
    return _adder(tuple(name for name, _ in members))(items, *columns)


# Each operator, and each set of names, has a comprehension of its own. A call per record would cost
# more than the operation.

_SIGNS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=")
_DIVISIONS = ("/", "//", "%")


def _compiled(text: str) -> Callable[..., Any]:
    return eval(text)  # type: ignore[no-any-return]  # noqa: S307 - only text made here


_WITH_CONSTANT: dict[str, Callable[[Values, Any], Values]] = {
    sign: _compiled(f"lambda items, c: [None if a is None else a {sign} c for a in items]")
    for sign in _SIGNS
}
_PAIRWISE: dict[str, Callable[[Values, Values], Values]] = {
    sign: _compiled(
        "lambda lefts, rights: [None if a is None or b is None else"
        f" a {sign} b for a, b in zip(lefts, rights, strict=True)]"
    )
    for sign in _SIGNS
}


@cache
def _maker(names: tuple[str, ...]) -> Callable[..., Values]:
    """Return a function from columns to one object per row, with these members."""
    arguments, pairs = _members(names)
    return _compiled(
        f"lambda *columns: [{{{pairs}}} for {arguments}, in zip(*columns, strict=True)]"
    )


@cache
def _adder(names: tuple[str, ...]) -> Callable[..., Values]:
    """Return a function that adds these members to the objects of its first column."""
    arguments, pairs = _members(names)
    return _compiled(
        f"lambda *columns: [None if item is None else {{**item, {pairs}}}"
        f" for item, {arguments} in zip(*columns, strict=True)]"
    )


def _members(names: tuple[str, ...]) -> tuple[str, str]:
    arguments = ", ".join(f"v{n}" for n in range(len(names)))
    return arguments, ", ".join(f"{name!r}: v{n}" for n, name in enumerate(names))
