"""``describe()``: the parts of a topology, and the text that Kafka Streams prints for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from penstock.topology.graph import GlobalStore, Graph
from penstock.topology.java_order import TreeOrder, hash_order
from penstock.topology.nodes import Node, Sink, Source
from penstock.topology.subtopology import SubTopology, subtopologies


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """One node as ``describe()`` shows it, with neighbours and stores in the printed order."""

    name: str
    kind: str
    detail: str
    predecessors: tuple[str, ...]
    successors: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.name} ({self.detail})"]
        if self.kind != "Sink":
            lines.append(f"      --> {_names(self.successors)}")
        if self.kind != "Source":
            lines.append(f"      <-- {_names(self.predecessors)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SubTopologyDescription:
    """The nodes of one sub-topology, larger sub-trees first."""

    id: int
    nodes: tuple[NodeDescription, ...]

    def __str__(self) -> str:
        body = "".join(f"    {node}\n" for node in self.nodes)
        return f"Sub-topology: {self.id}\n{body}\n"


@dataclass(frozen=True, slots=True)
class GlobalStoreDescription:
    """A global store with the source and the processor that feed it."""

    id: int
    source: NodeDescription
    processor: NodeDescription

    def __str__(self) -> str:
        return (
            f"Sub-topology: {self.id} for global store (will not generate tasks)\n"
            f"    {self.source}\n    {self.processor}\n"
        )


@dataclass(frozen=True, slots=True)
class TopologyDescription:
    """What ``Topology.describe()`` returns; its text equals Java's for the same program."""

    subtopologies: tuple[SubTopologyDescription, ...]
    global_stores: tuple[GlobalStoreDescription, ...]

    def __str__(self) -> str:
        parts: list[SubTopologyDescription | GlobalStoreDescription]
        parts = [*self.subtopologies, *self.global_stores]
        parts.sort(key=lambda part: part.id)
        return "Topologies:\n " + "".join(f"  {part}" for part in parts)


def describe(graph: Graph) -> TopologyDescription:
    """Describe the whole graph."""
    plain, global_ = [], []
    for part in subtopologies(graph):
        if part.is_global:
            global_.append(_describe_global(part, graph))
        else:
            plain.append(_describe_part(part, graph))
    return TopologyDescription(tuple(plain), tuple(global_))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"


@dataclass(slots=True, eq=False)
class _Drawn:
    """A node while the description is built. ``size`` counts the node and all nodes after it."""

    node: Node
    size: int = 1
    before: TreeOrder[_Drawn] = field(default_factory=lambda: TreeOrder(_larger_first))
    after: TreeOrder[_Drawn] = field(default_factory=lambda: TreeOrder(_larger_first))

    def grow(self, delta: int) -> None:
        self.size += delta
        for predecessor in self.before:
            predecessor.grow(delta)


def _larger_first(one: _Drawn, other: _Drawn) -> int:
    if one is other:
        return 0
    if one.size != other.size:
        return other.size - one.size
    return -1 if one.node.name < other.node.name else 1


def _describe_part(part: SubTopology, graph: Graph) -> SubTopologyDescription:
    # As in Java: the nodes are visited in the order of a hash map, while sizes still grow.
    order = hash_order(hash_order(part.nodes))
    drawn = {name: _Drawn(graph.nodes[name]) for name in order}
    for item in drawn.values():
        for parent in item.node.parents:
            predecessor = drawn[parent]
            item.before.add(predecessor)
            predecessor.after.add(item)
            predecessor.grow(item.size)
    ranked = sorted(drawn.values(), key=lambda item: (-item.size, item.node.name))
    return SubTopologyDescription(part.id, tuple(_describe_node(item) for item in ranked))


def _describe_node(item: _Drawn) -> NodeDescription:
    return NodeDescription(
        item.node.name,
        _kind(item.node),
        _detail(item.node),
        tuple(other.node.name for other in item.before),
        tuple(other.node.name for other in item.after),
    )


def _describe_global(part: SubTopology, graph: Graph) -> GlobalStoreDescription:
    store = next(s for s in graph.global_stores.values() if s.processor in part.nodes)
    return GlobalStoreDescription(part.id, *_global_pair(store, graph))


def _global_pair(store: GlobalStore, graph: Graph) -> tuple[NodeDescription, NodeDescription]:
    source, processor = graph.nodes[store.source], graph.nodes[store.processor]
    return (
        NodeDescription(source.name, "Source", _detail(source), (), (processor.name,)),
        NodeDescription(processor.name, "Processor", _detail(processor), (source.name,), ()),
    )


def _kind(node: Node) -> str:
    return (
        "Source" if isinstance(node, Source) else "Sink" if isinstance(node, Sink) else "Processor"
    )


def _detail(node: Node) -> str:
    if isinstance(node, Source):
        if isinstance(node.pattern, re.Pattern):
            return f"topics: {node.pattern.pattern}"
        return f"topics: [{', '.join(hash_order(node.topics, presized=True))}]"
    if isinstance(node, Sink):
        if node.topic is None:
            return f"extractor class: {node.topic_extractor}"
        return f"topic: {node.topic}"
    return f"stores: [{', '.join(hash_order(hash_order(node.stores), presized=True))}]"
