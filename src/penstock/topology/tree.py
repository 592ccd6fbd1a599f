"""A topology as a tree of text, for terminals, logs and reports of tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.subtopology import subtopologies
from penstock.topology.titles import label

_NO_NOTES: Mapping[str, Iterable[str]] = MappingProxyType({})


def to_tree(
    graph: Graph,
    notes: Mapping[str, Iterable[str]] = _NO_NOTES,
    *,
    with_names: bool = True,
) -> str:
    """Return a tree for each sub-topology: what each node does, and behind it Kafka's name.

    A node with several parents is drawn below the first one; the others refer to it by its name.

    Args:
        graph: What to draw.
        notes: Lines to write below nodes, by the node's name.
        with_names: Whether the names of nodes are drawn.
    """
    drawing = _Drawing(graph, notes, with_names=with_names)
    return "\n".join(line.rstrip() for line in drawing.lines()) + "\n"


class _Drawing:
    """The lines of one picture. ``_drawn`` has the nodes that need no second drawing."""

    def __init__(
        self, graph: Graph, notes: Mapping[str, Iterable[str]], *, with_names: bool
    ) -> None:
        self._graph = graph
        self._notes = notes
        self._with_names = with_names
        self._parts = subtopologies(graph)
        self._drawn: set[str] = set()
        self._readers = {
            topic: part.id
            for part in self._parts
            for source in part.sources(graph)
            for topic in source.topics
        }

    def lines(self) -> Iterator[str]:
        for part in self._parts:
            yield f"sub-topology {part.id}" + (" (global store)" if part.is_global else "")
            for name in part.nodes:
                if not self._graph.nodes[name].parents:
                    yield from self._node(name, "  ", "  ")

    def _node(self, name: str, first: str, rest: str) -> Iterator[str]:
        """Draw a node after ``first``, and what is below it after ``rest``."""
        if name in self._drawn:
            yield f"{first}{label(self._graph.nodes[name])} (drawn above: {name})"
            return
        self._drawn.add(name)
        yield first + self._text(name)
        children = self._graph.children(name)
        bar = "│  " if children else "   "
        for note in self._notes.get(name, ()):
            yield f"{rest}{bar}{note}"
        for child in children:
            is_last = child == children[-1]
            yield from self._node(
                child, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  ")
            )

    def _text(self, name: str) -> str:
        node = self._graph.nodes[name]
        text = label(node)
        if isinstance(node, Sink) and node.topic in self._readers:
            text += f" → sub-topology {self._readers[node.topic]}"
        is_own = not isinstance(node, Source | Sink) and name in text
        return f"{text}   [{name}]" if self._with_names and not is_own else text
