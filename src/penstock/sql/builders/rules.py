"""The table of builders, and the walk that applies them from the leaves up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark import Token, Tree

from penstock.model.sql.errors import ParseError
from penstock.model.sql.span import Span
from penstock.sql.ast.chains import fold

Builder = Callable[..., Any]

# Grammar rule -> the function that builds its node from a span and the built children.
BUILDERS: dict[str, Builder] = {}


def builds(*rules: str) -> Callable[[Builder], Builder]:
    """Register a function as the builder of these grammar rules."""

    def register(builder: Builder) -> Builder:
        BUILDERS.update(dict.fromkeys(rules, builder))
        return builder

    return register


# Deeper trees would exhaust Python's stack in one of the walks that follow.
MAX_DEPTH = 150
# Rules with any number of parts, which ``fold`` puts together.
_CHAINS = frozenset(("or_", "and_"))


def build(tree: Any) -> Any:
    """Build the node of a parse tree; tokens stay, missing parts stay None.

    Works from the leaves up in a loop, so that a tree that is too deep raises a ParseError, not
    Python's RecursionError.
    """
    if not isinstance(tree, Tree):
        return tree
    built: dict[int, tuple[Any, int]] = {}
    for subtree in tree.iter_subtrees():
        rule = str(subtree.data)
        children = [built.get(id(c), (c, 0)) for c in subtree.children]
        span = _span(subtree)
        depth = _depth(rule, [depth for _, depth in children])
        if depth > MAX_DEPTH:
            raise ParseError(
                "nested-too-deeply",
                f"the statement is nested more than {MAX_DEPTH} levels deep",
                fix="split it into several statements",
                span=span,
            )
        built[id(subtree)] = BUILDERS[rule](span, *(node for node, _ in children)), depth
    return built[id(tree)][0]


def _depth(rule: str, depths: list[int]) -> int:
    if rule in _CHAINS:
        return fold(depths, lambda left, right: 1 + max(left, right))
    return 1 + max(depths, default=0)


def token_span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0, token.line or 1, token.column or 1)


def _span(tree: Tree[Any]) -> Span | None:
    meta = tree.meta
    if meta.empty:
        return None
    return Span(meta.start_pos, meta.end_pos, meta.line, meta.column)
