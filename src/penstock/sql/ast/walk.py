"""Functions that visit all nodes of a tree, or replace some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from penstock.sql.ast.node import Node

N = TypeVar("N", bound=Node)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, from left to right.

    >>> from penstock.sql.syntax.parser import parse_expression
    >>> [type(node).__name__ for node in walk(parse_expression("a + 1"))]
    ['Binary', 'ColumnRef', 'IntegerLiteral']
    """
    pending: list[Node] = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below a node."""
    for name in _names(node):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))


def rewrite(node: N, change: Callable[[Node], Node | None]) -> N:
    """Return the tree with some nodes replaced, from the top down.

    If ``change`` returns a node, that node replaces the old one and is not visited. If it returns
    None, the node stays and its children are visited. Unchanged parts are shared.
    """
    return cast(N, _rewritten(node, change))


def _rewritten(node: Node, change: Callable[[Node], Node | None]) -> Node:
    changed = change(node)
    if changed is not None:
        return changed
    updates: dict[str, Any] = {}
    for name in _names(node):
        value = getattr(node, name)
        new = _rewritten_value(value, change)
        if new is not value:
            updates[name] = new
    return replace(node, **updates) if updates else node


def _rewritten_value(value: Any, change: Callable[[Node], Node | None]) -> Any:
    if isinstance(value, Node):
        return _rewritten(value, change)
    if not isinstance(value, tuple) or not any(isinstance(item, Node) for item in value):
        return value
    items = tuple(_rewritten(i, change) if isinstance(i, Node) else i for i in value)
    return value if all(a is b for a, b in zip(items, value, strict=True)) else items


_FIELDS: dict[Any, tuple[str, ...]] = {}


def _names(node: Node) -> tuple[str, ...]:
    kind: Any = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind) if field.name != "span")
    return _FIELDS[kind]
