"""How a topology is laid out on Spark: partitions per sub-topology, and the stages of a batch.

A stage runs every sub-topology whose inputs are complete by then. A repartition topic is the
shuffle between two stages. A sub-topology that feeds itself through others (a foreign-key join)
runs once more in a later stage, on what came back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import TopologyError
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.subtopology import SubTopology, subtopologies


@dataclass(frozen=True, slots=True)
class Run:
    """One sub-topology in one stage. ``topics`` are its inputs there, internal ones included."""

    subtopology: int
    stage: int
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The layout of one application; the same on the driver and on every worker."""

    graph: Graph
    #: Partitions of every source topic, by its name in the graph (internal ones undecorated).
    partitions: Mapping[str, int]
    runs: tuple[Run, ...]

    @cached_property
    def subtopologies(self) -> dict[int, SubTopology]:
        return {part.id: part for part in subtopologies(self.graph)}

    @cached_property
    def stages(self) -> int:
        # A topology of global tables alone has no run; its stage only keeps the tables.
        return 1 + max((run.stage for run in self.runs), default=0)

    def runs_of(self, stage: int) -> list[Run]:
        return [run for run in self.runs if run.stage == stage]

    def tasks(self, subtopology: int) -> int:
        """How many tasks a sub-topology has: its largest input decides."""
        topics = [t for run in self.runs if run.subtopology == subtopology for t in run.topics]
        return max(self.partitions[topic] for topic in topics)

    def consumer_of(self, topic: str) -> tuple[int, int]:
        """The stage and the sub-topology that read an internal topic."""
        run = next(run for run in self.runs if topic in run.topics)
        return run.stage, run.subtopology

    def is_internal(self, topic: str) -> bool:
        return topic in self.graph.internal_topics

    @cached_property
    def external_topics(self) -> list[str]:
        """The real topics that tasks read, in a fixed order."""
        topics = {topic for run in self.runs for topic in run.topics}
        return sorted(topic for topic in topics if not self.is_internal(topic))


def make_plan(graph: Graph, topic_partitions: Mapping[str, int]) -> Plan:
    """Lays the graph out over topics of the given sizes.

    ``topic_partitions`` has every external source topic; patterns must have been resolved.

    Raises:
        TopologyError: ``co-partitioning`` if joined topics have different sizes.
    """
    partitions = _internal_partitions(graph, dict(topic_partitions))
    _check_copartitioning(graph, partitions)
    return Plan(graph, partitions, tuple(_runs(graph)))


class _Flow:
    """Which internal topics can be reached from which source topics."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parts = [part for part in subtopologies(graph) if not part.is_global]
        self.part_of = {name: part.id for part in self.parts for name in part.nodes}
        self.sources: dict[str, Source] = {}
        self.direct: dict[str, set[str]] = {}
        for node in graph.nodes.values():
            if isinstance(node, Source) and node.name in self.part_of:
                for topic in node.topics:
                    self.sources[topic] = node
                    self.direct[topic] = self._sinks_below(node.name)

    def _sinks_below(self, name: str) -> set[str]:
        """The internal topics written by nodes below this one, without crossing a topic."""
        found, todo = set(), [name]
        while todo:
            for child in self.graph.children(todo.pop()):
                node = self.graph.nodes[child]
                if isinstance(node, Sink):
                    if node.topic in self.graph.internal_topics:
                        found.add(str(node.topic))
                else:
                    todo.append(child)
        return found

    def reach(self, topic: str) -> set[str]:
        """All internal topics that records of this topic can get to."""
        found: set[str] = set()
        todo = [topic]
        while todo:
            fresh = self.direct.get(todo.pop(), set()) - found
            found |= fresh
            todo.extend(fresh)
        return found

    def inputs(self, part: int) -> list[str]:
        return [t for t, source in self.sources.items() if self.part_of[source.name] == part]


def _runs(graph: Graph) -> Iterable[Run]:
    flow = _Flow(graph)
    feedback = {
        topic
        for part in flow.parts
        for topic in flow.inputs(part.id)
        if any(topic in flow.reach(other) for other in flow.inputs(part.id) if other != topic)
    }
    stage_of: dict[str, int] = {}

    def stage(topic: str) -> int:
        """The stage in which records of a topic are processed."""
        if topic not in stage_of:
            part = flow.part_of[flow.sources[topic].name]
            together = [topic] if topic in feedback else [
                t for t in flow.inputs(part) if t not in feedback
            ]  # fmt: skip
            writers = [w for t in together for w in flow.direct if t in flow.direct[w]]
            result = max((1 + stage(writer) for writer in writers), default=0)
            for each in together:
                stage_of[each] = result
        return stage_of[topic]

    grouped: dict[tuple[int, int], list[str]] = {}
    for topic, source in flow.sources.items():
        grouped.setdefault((stage(topic), flow.part_of[source.name]), []).append(topic)
    for (number, part_id), topics in sorted(grouped.items()):
        yield Run(part_id, number, tuple(topics))


def _internal_partitions(graph: Graph, partitions: dict[str, int]) -> dict[str, int]:
    """Gives every internal topic its size: as asked, as its joined topics, or as its writers."""
    flow = _Flow(graph)
    partitions |= {t: n for t, n in graph.internal_topics.items() if n is not None}
    groups = [_topics_of(graph, group) for group in graph.copartitioned]
    open_topics = [t for t in graph.internal_topics if t not in partitions and t in flow.sources]
    while open_topics:
        before = len(open_topics)
        for topic in list(open_topics):
            size = _joined_size(topic, groups, partitions, flow) or _writer_size(
                topic, partitions, flow
            )
            if size is not None:
                partitions[topic] = size
                open_topics.remove(topic)
        if len(open_topics) == before:
            raise TopologyError(
                "partition-count",
                f"the number of partitions of {', '.join(map(repr, open_topics))} cannot be found:"
                " these internal topics depend on each other",
                fix="give one of them a number: .repartition(num_partitions=…)",
            )
    return partitions


def _joined_size(
    topic: str, groups: list[set[str]], partitions: Mapping[str, int], flow: _Flow
) -> int | None:
    """A repartitioned side of a join takes the size of the other sides, once all are known."""
    for group in groups:
        if topic in group:
            others = [t for t in group if t in partitions]
            fixed = [t for t in others if flow.graph.internal_topics.get(t, 1) is not None]
            if fixed:
                return max(partitions[t] for t in fixed)
    return None


def _writer_size(topic: str, partitions: Mapping[str, int], flow: _Flow) -> int | None:
    """Else it takes the size of the largest input of the sub-topologies that write it."""
    writers = {
        flow.part_of[flow.sources[source].name]
        for source, sinks in flow.direct.items()
        if topic in sinks
    }
    inputs = {t for part in writers for t in flow.inputs(part) if topic not in flow.reach(topic)}
    upstream = {t for t in inputs if topic in flow.reach(t)}
    if not upstream or any(t not in partitions for t in upstream):
        return None
    return max(partitions[t] for t in upstream)


def _topics_of(graph: Graph, sources: Iterable[str]) -> set[str]:
    topics: set[str] = set()
    for name in sources:
        node = graph.nodes.get(name)
        if isinstance(node, Source):
            topics.update(node.topics)
    return topics


def _check_copartitioning(graph: Graph, partitions: Mapping[str, int]) -> None:
    for group in graph.copartitioned:
        sizes = {topic: partitions[topic] for topic in sorted(_topics_of(graph, group))}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{topic!r} ({size} partitions)" for topic, size in sizes.items())
            sites = [s for name in sorted(group) if (s := graph.nodes[name].site)]
            most = max(sizes.values())
            raise TopologyError(
                "co-partitioning",
                f"{listed} cannot be joined: they need the same number of partitions",
                fix="give the topics the same number of partitions, or repartition the smaller"
                f" side before the join: .repartition(num_partitions={most})",
                at=", ".join(sites) or None,
            )
