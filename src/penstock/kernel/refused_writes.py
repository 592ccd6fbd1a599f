"""Which node a record counts for that a store has refused, because it is too old for the store."""

from __future__ import annotations

from penstock.model.rules.drop_reasons import EXPIRED_VERSION, EXPIRED_WINDOW
from penstock.state.spec import StoreKind
from penstock.topology.graph import Graph
from penstock.topology.nodes import Process, StreamJoinWindow, TableNode

#: A node, and the reason under which it counts the record.
Drop = tuple[str, str]


def drops_by_store(graph: Graph) -> dict[str, Drop]:
    """Return the stores whose refusals are drops: those of joins, versioned tables, processors.

    The stores of windowed aggregations are not among them. Aggregations count such records before
    they write. What a cache writes later, when its window has expired meanwhile, was not dropped:
    it has been emitted.
    """
    found: dict[str, Drop] = {}
    taken: set[str] = set()
    for name, node in graph.nodes.items():
        if isinstance(node, StreamJoinWindow):
            found.setdefault(node.store, (name, EXPIRED_WINDOW))
        elif isinstance(node, TableNode) and node.store is not None:
            taken.add(node.store)
            if _is_versioned(graph, node.store):
                found.setdefault(node.store, (name, EXPIRED_VERSION))
    for name, node in graph.nodes.items():
        for store in node.stores if isinstance(node, Process) else ():
            if store not in taken:
                reason = EXPIRED_VERSION if _is_versioned(graph, store) else EXPIRED_WINDOW
                found.setdefault(store, (name, reason))
    return found


def _is_versioned(graph: Graph, store: str) -> bool:
    spec = graph.stores.get(store)
    return spec is not None and spec.kind is StoreKind.VERSIONED_KEY_VALUE
