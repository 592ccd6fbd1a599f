"""Lets functions of a topology run over columns, where only expressions do otherwise.

A function that may have side effects keeps its task from columns. A test knows that its functions
have none: declared as column functions, they are called once per record of a batch, and what is
around them runs over columns.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from penstock import Topology
from penstock.expr.aggregates import count_merge, count_start, count_step
from penstock.model.column_function import ColumnFunction, MadeOf
from penstock.topology.nodes import (
    Aggregate,
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    GlobalJoin,
    Map,
    MapValues,
    Node,
    Reduce,
    SelectKey,
    SessionAggregate,
    SlidingAggregate,
    Source,
    StreamJoin,
    StreamTableJoin,
    TableAggregate,
    TableFilter,
    TableGroupBy,
    TableJoin,
    TableMapValues,
    TableReduce,
    WindowAggregate,
)


def declare_pure(topology: Topology) -> Topology:
    """Declare the functions of a topology to be column functions; return the topology."""
    nodes = topology.graph.nodes
    for name, node in nodes.items():
        for field in _FUNCTIONS.get(type(node), ()):
            # The graph is complete, so its nodes are changed where they are.
            object.__setattr__(nodes[name], field, _declared(getattr(node, field)))
    return topology


def _declared(fn: Any) -> Any:
    """Wrap a function of Python; the planner knows those of C that matter, and how to count."""
    if isinstance(fn, tuple):
        return tuple(map(_declared, fn))
    if fn in (count_start, count_step, count_merge):
        return fn
    return ColumnFunction(fn) if isinstance(fn, FunctionType | MadeOf) else fn


#: Fields of nodes that hold functions, or a tuple of them.
_FUNCTIONS: dict[type[Node], tuple[str, ...]] = {
    Aggregate: ("initializer", "fn"),
    Branch: ("predicates",),
    Filter: ("predicate",),
    FlatMap: ("fn",),
    FlatMapValues: ("fn",),
    ForeignKeyResolve: ("joiner",),
    ForeignKeySubscribe: ("foreign_key",),
    GlobalJoin: ("joiner", "key_selector"),
    Map: ("fn",),
    MapValues: ("fn",),
    Reduce: ("fn",),
    SelectKey: ("fn",),
    SlidingAggregate: ("initializer", "fn"),
    SessionAggregate: ("initializer", "fn", "merger"),
    Source: ("timestamp_extractor",),
    StreamJoin: ("joiner",),
    StreamTableJoin: ("joiner",),
    TableAggregate: ("initializer", "adder", "subtractor"),
    TableFilter: ("predicate",),
    TableGroupBy: ("fn",),
    TableJoin: ("joiner",),
    TableMapValues: ("fn",),
    TableReduce: ("adder", "subtractor"),
    WindowAggregate: ("initializer", "fn"),
}
