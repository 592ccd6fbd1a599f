"""Chains of AND and OR, which people and programs write with hundreds of links."""

from __future__ import annotations

from penstock.sql.ast.expressions import And, Expression, Or


def chain(node: And | Or) -> list[Expression]:
    """Gives the parts of ``a AND b AND c`` from left to right.

    A part on the right that is itself a chain was written in brackets and stays one part.
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
