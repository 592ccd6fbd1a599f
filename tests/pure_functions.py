"""Lets functions of a topology run over columns, where only expressions do otherwise.

A lambda may do anything, so it keeps its task from columns. A test knows that its functions do
not: marked as pure, they are called once per record of a batch, and what is around them runs over
columns. Aggregators stay as they are: over columns they do not see the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from penstock import Topology
from penstock.expr.expression import Expression
from penstock.model.pure import pure
from penstock.topology.nodes import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    GlobalJoin,
    Map,
    MapValues,
    Node,
    Reduce,
    SelectKey,
    StreamTableJoin,
    TableFilter,
    TableMapValues,
)


def declare_pure(topology: Topology) -> Topology:
    """Mark the functions of a topology; return the topology."""
    for node in topology.graph.nodes.values():
        for fn in _functions(node):
            if not isinstance(fn, Expression):
                # Functions of C take no marks, and the planner knows those that matter.
                with suppress(AttributeError):
                    pure(fn)
    return topology


def _functions(node: Node) -> Iterator[Callable[..., Any]]:
    match node:
        case Filter() | TableFilter():
            yield node.predicate
        case Branch():
            yield from node.predicates
        case Map() | MapValues() | FlatMap() | FlatMapValues() | TableMapValues():
            yield node.fn
        case SelectKey() | Reduce():
            yield node.fn
        case StreamTableJoin():
            yield node.joiner
        case GlobalJoin():
            yield node.joiner
            yield node.key_selector
        case _:
            pass
