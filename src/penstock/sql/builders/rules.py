"""The table of builders, and the walk that applies them from the leaves up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark import Token, Tree

from penstock.sql.ast.node import Span

Builder = Callable[..., Any]

# Grammar rule -> the function that builds its node from a span and the built children.
BUILDERS: dict[str, Builder] = {}


def builds(*rules: str) -> Callable[[Builder], Builder]:
    """Registers a function as the builder of these grammar rules."""

    def register(builder: Builder) -> Builder:
        BUILDERS.update(dict.fromkeys(rules, builder))
        return builder

    return register


def build(tree: Any) -> Any:
    """Builds the node of a parse tree; tokens stay, missing parts stay None."""
    if not isinstance(tree, Tree):
        return tree
    children = [build(child) for child in tree.children]
    return BUILDERS[str(tree.data)](_span(tree), *children)


def token_span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0, token.line or 1, token.column or 1)


def _span(tree: Tree[Any]) -> Span | None:
    meta = tree.meta
    if meta.empty:
        return None
    return Span(meta.start_pos, meta.end_pos, meta.line, meta.column)
