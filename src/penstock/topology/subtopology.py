"""Divides a graph into sub-topologies: nodes with a common path or store run in one task."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source


@dataclass(frozen=True, slots=True)
class SubTopology:
    """Nodes that are always processed together. A global one only fills a global store."""

    id: int
    nodes: tuple[str, ...]
    is_global: bool

    def sources(self, graph: Graph) -> list[Source]:
        return [node for name in self.nodes if isinstance(node := graph.nodes[name], Source)]

    def sinks(self, graph: Graph) -> list[Sink]:
        return [node for name in self.nodes if isinstance(node := graph.nodes[name], Sink)]

    def stores(self, graph: Graph) -> list[str]:
        """Return the stores of these nodes, in the order in which they were first connected."""
        return list(dict.fromkeys(s for name in self.nodes for s in graph.nodes[name].stores))


def subtopologies(graph: Graph) -> tuple[SubTopology, ...]:
    """Divide the graph. The first node of a part decides its number, as in Kafka Streams."""
    groups = _Groups(graph)
    members: dict[str, list[str]] = {}
    for name in graph.nodes:
        members.setdefault(groups.root(name), []).append(name)
    global_nodes = {name for s in graph.global_stores.values() for name in (s.source, s.processor)}
    return tuple(
        SubTopology(number, tuple(names), not global_nodes.isdisjoint(names))
        for number, names in enumerate(members.values())
    )


class _Groups:
    """Disjoint sets of node names, merged along edges and shared stores."""

    def __init__(self, graph: Graph) -> None:
        self._parent = {name: name for name in graph.nodes}
        store_user: dict[str, str] = {}
        for node in graph.nodes.values():
            for parent in node.parents:
                self._unite(node.name, parent)
            for store in node.stores:
                self._unite(node.name, store_user.setdefault(store, node.name))

    def root(self, name: str) -> str:
        while (parent := self._parent[name]) != name:
            self._parent[name] = name = self._parent[parent]
        return name

    def _unite(self, one: str, other: str) -> None:
        self._parent[self.root(one)] = self.root(other)
