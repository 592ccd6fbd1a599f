"""Chains of AND and OR, which people and programs write with hundreds of links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from penstock.sql.ast.expressions import And, Expression, Or

T = TypeVar("T")
#: Longer chains are put together as a tree, which stays within Python's limit of recursion.
_LONG = 32


def fold(parts: Sequence[T], join: Callable[[T, T], T]) -> T:
    """Join the parts of a chain, from left to right if it is short and else half by half.

    AND and OR give the same whichever way. 500 parts from left to right would be a tree of 499
    levels, and walks over trees call themselves.
    """
    if len(parts) <= _LONG:
        return reduce(join, parts)
    middle = len(parts) // 2
    return join(fold(parts[:middle], join), fold(parts[middle:], join))


def chain(node: And | Or) -> list[Expression]:
    """Return the parts of ``a AND b AND c`` from left to right.

    A part on the right that is itself a chain was written in brackets and stays one part; so does
    half of a long chain.
    """
    kind = type(node)
    parts: list[Expression] = []
    current: Expression = node
    while isinstance(current, And | Or) and type(current) is kind:
        parts.append(current.right)
        current = current.left
    parts.append(current)
    parts.reverse()
    return parts
