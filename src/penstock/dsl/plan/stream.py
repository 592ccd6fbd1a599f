"""A stream inside the DSL, for operators. The class for users: ``dsl.faces.kstream``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.serde.base import Serde

if TYPE_CHECKING:
    from penstock.dsl.operators.topics.repartition import Repartition
    from penstock.dsl.plan.table import Table


@dataclass(slots=True, eq=False)
class Stream:
    """The output of ``node``, with the serdes known so far.

    ``sources`` are the source nodes of its sub-topology, for co-partitioning. ``key_changed`` means
    that records may be in the wrong partition. ``join_repartition`` is the repartition of an
    earlier join, which later joins of the same stream share.
    """

    name: str
    node: LogicalNode
    graph: LogicalGraph
    sources: frozenset[str]
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    key_changed: bool = False
    join_repartition: Repartition | None = None

    def then(self, node: LogicalNode, **changes: Any) -> Stream:
        """Add the node below this stream; return its output stream, with some fields changed."""
        self.graph.add(node, self.node)
        return replace(self, name=node.name, node=node, join_repartition=None, **changes)


def copartition(first: Stream | Table, others: Iterable[Stream | Table]) -> frozenset[str]:
    """Demand equal partition counts of all sources, and return these sources."""
    others = list(others)
    for other in others:
        check_same_builder(first.graph, other.graph)
    sources = first.sources.union(*(other.sources for other in others))
    first.graph.copartition(*sources)
    return sources


def check_same_builder(graph: LogicalGraph, other: LogicalGraph) -> None:
    """Refuse streams and tables of different builders."""
    if graph is not other:
        raise TopologyError(
            "two-builders",
            "the two sides come from different StreamsBuilders",
            fix="make all streams and tables of a program with one builder",
            at=caller_site(),
        )
