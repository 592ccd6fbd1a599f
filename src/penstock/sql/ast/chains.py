"""Chains of AND and OR, which may have hundreds of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from penstock.sql.ast.expressions import And, Expression, Or

T = TypeVar("T")
#: Longer chains become a balanced tree, which stays within Python's recursion limit.
_LONG = 32


def fold(parts: Sequence[T], join: Callable[[T, T], T]) -> T:
    """Join the parts of a chain: from left to right if it is short, else as a balanced tree.

    AND and OR have the same result either way. From left to right, 500 parts would be a tree of 499
    levels, and the functions that walk a tree are recursive.
    """
    if len(parts) <= _LONG:
        return reduce(join, parts)
    middle = len(parts) // 2
    return join(fold(parts[:middle], join), fold(parts[middle:], join))


def chain(node: And | Or) -> list[Expression]:
    """Return the parts of ``a AND b AND c`` from left to right.

    A part on the right that is itself a chain was written in brackets, and stays one part. The
    halves of a long chain stay one part, too.
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
