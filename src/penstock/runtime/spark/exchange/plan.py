"""The plan of a topology on Spark: partitions per sub-topology, and the stages of a batch.

A stage runs every sub-topology whose inputs are complete by then. A repartition topic is the
shuffle between two stages. A sub-topology may feed itself through others, as in a foreign-key
join. Then it runs again in a later stage, on the records that came back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import TopologyError
from penstock.model.task_id import TaskId
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source, TableSource, may_schedule
from penstock.topology.nodes.topics.to_lake import DriverSink, ToLake
from penstock.topology.nodes.topics.to_spark import SPARK_TOPIC, ToSpark
from penstock.topology.subtopology import SubTopology, subtopologies


@dataclass(frozen=True, slots=True)
class Run:
    """One sub-topology in one stage. ``topics`` are its inputs there, internal ones included."""

    subtopology: int
    stage: int
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The partitions and stages of one application, the same on the driver and every worker."""

    graph: Graph
    #: The number of partitions of every source topic. Keys are names as in the graph: internal
    #: topics do not have the application's prefix there.
    partitions: Mapping[str, int]
    runs: tuple[Run, ...]

    @cached_property
    def subtopologies(self) -> dict[int, SubTopology]:
        return {part.id: part for part in subtopologies(self.graph)}

    @cached_property
    def stages(self) -> int:
        # A topology of only global tables has no run. It still has one stage, which keeps the
        # tables up to date.
        return 1 + max((run.stage for run in self.runs), default=0)

    @cached_property
    def has_wall_clock(self) -> bool:
        """Return whether nodes may schedule punctuations, which need batches without input."""
        return any(may_schedule(node) for node in self.graph.nodes.values())

    def may_schedule(self, subtopology: int) -> bool:
        """Tell whether nodes of a sub-topology may schedule punctuations."""
        nodes = self.graph.nodes
        return any(may_schedule(nodes[name]) for name in self.subtopologies[subtopology].nodes)

    @cached_property
    def stores_behind_repartition(self) -> frozenset[str]:
        """The stores that records reach through a repartition topic."""
        behind = {run.subtopology for run in self.runs if any(map(self.is_internal, run.topics))}
        stores = (self.subtopologies[part].stores(self.graph) for part in behind)
        return frozenset(name for names in stores for name in names)

    @cached_property
    def has_single_inputs(self) -> bool:
        """Whether no task reads more than one topic, so that none has to wait for another one."""
        parts = [run.subtopology for run in self.runs]
        is_single = all(len(run.topics) == 1 for run in self.runs) and len(set(parts)) == len(parts)
        return is_single and not self.graph.global_stores

    def runs_of(self, stage: int) -> list[Run]:
        return [run for run in self.runs if run.stage == stage]

    def title(self) -> str:
        """Return the sub-topologies in the order in which they run: ``0 (orders) → 1 (counts)``."""
        stages = [self._listed(number) for number in range(self.stages)]
        return f"sub-topology {' → '.join(stages)}"

    def _listed(self, stage: int) -> str:
        runs = self.runs_of(stage)
        return " + ".join(f"{run.subtopology} ({', '.join(run.topics)})" for run in runs)

    def tasks(self, subtopology: int) -> int:
        """Return how many tasks a sub-topology has: the partitions of its largest input."""
        topics = [t for run in self.runs if run.subtopology == subtopology for t in run.topics]
        return max(self.partitions[topic] for topic in topics)

    @cached_property
    def task_count(self) -> int:
        """Return the number of all tasks; 1 if the topology has only global tables."""
        return sum(self.tasks(part) for part in {run.subtopology for run in self.runs}) or 1

    def task_ids(self) -> list[TaskId]:
        """Return the ids of all tasks, in order."""
        parts = {run.subtopology for run in self.runs}
        return sorted(TaskId(part, number) for part in parts for number in range(self.tasks(part)))

    def consumer_of(self, topic: str) -> tuple[int, int]:
        """Return the stage and the sub-topology that read an internal topic."""
        run = next(run for run in self.runs if topic in run.topics)
        return run.stage, run.subtopology

    def internal_of(self, stage: int) -> list[tuple[str, int]]:
        """Return the partitions of repartition topics that a stage reads."""
        topics = [t for run in self.runs_of(stage) for t in run.topics if self.is_internal(t)]
        return [(topic, number) for topic in topics for number in range(self.partitions[topic])]

    def is_internal(self, topic: str) -> bool:
        return topic in self.graph.internal_topics

    def external_of(self, run: Run) -> list[str]:
        """Return the topics of a run that are not internal."""
        return [topic for topic in run.topics if not self.is_internal(topic)]

    def inputs_of(self, run: Run) -> list[tuple[tuple[str, int], ...]]:
        """Return, for each task of a run, the partitions that it reads of topics not internal."""
        topics = self.external_of(run)
        return [
            tuple((topic, number) for topic in topics if number < self.partitions[topic])
            for number in range(self.tasks(run.subtopology))
        ]

    @cached_property
    def external_topics(self) -> list[str]:
        """Return all source topics that are not internal, in a fixed order."""
        topics = {topic for run in self.runs for topic in run.topics}
        return sorted(topic for topic in topics if not self.is_internal(topic))


def driver_sinks(graph: Graph) -> list[DriverSink]:
    """Return the nodes whose records the driver takes after each cut."""
    return [node for node in graph.nodes.values() if isinstance(node, DriverSink)]


def rows_topic(application: str, sink: DriverSink) -> str:
    """Return the topic that holds the rows of a node until the driver takes them."""
    match sink:
        case ToSpark():
            return f"{application}-{(sink.topic or '').removeprefix(SPARK_TOPIC)}-to-spark"
        case ToLake():
            return f"{application}-{sink.name}-to-lake"


def make_plan(graph: Graph, topic_partitions: Mapping[str, int]) -> Plan:
    """Return the plan of a graph for topics with these numbers of partitions.

    ``topic_partitions`` has every source topic that is not internal. Patterns must have been
    resolved.

    Raises:
        TopologyError: ``co-partitioning`` if joined topics have different sizes.
    """
    partitions = _internal_partitions(graph, dict(topic_partitions))
    _check_copartitioning(graph, partitions)
    return Plan(graph, partitions, tuple(_runs(graph)))


#: Topics of one sub-topology that are read together.
_Group = tuple[str, ...]


class _Flow:
    """The flow of records: which internal topics can be reached from which source topics."""

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
        """Return the internal topics that nodes below this one write, within its sub-topology."""
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
        """Return all internal topics that records of this topic can reach."""
        found: set[str] = set()
        todo = [topic]
        while todo:
            fresh = self.direct.get(todo.pop(), set()) - found
            found |= fresh
            todo.extend(fresh)
        return found

    def inputs(self, part: int) -> list[str]:
        return [t for t, source in self.sources.items() if self.part_of[source.name] == part]

    def writes(self, one: _Group, other: _Group) -> bool:
        """Return whether processing records of ``one`` writes directly to topics of ``other``."""
        return any(not self.direct[topic].isdisjoint(other) for topic in one)

    def part(self, group: _Group) -> int:
        return self.part_of[self.sources[group[0]].name]


def _runs(graph: Graph) -> Iterable[Run]:
    flow = _Flow(graph)
    groups = _without_cycles(flow, [g for part in flow.parts for g in _input_groups(flow, part.id)])
    stage_of: dict[_Group, int] = {}

    def stage(group: _Group) -> int:
        if group not in stage_of:
            writers = [other for other in groups if flow.writes(other, group)]
            stage_of[group] = max((1 + stage(writer) for writer in writers), default=0)
        return stage_of[group]

    # A task runs at most once in a stage, on all inputs that it has there.
    topics: dict[tuple[int, int], list[str]] = {}
    for group in groups:
        topics.setdefault((stage(group), flow.part(group)), []).extend(group)
    for (number, part), read in sorted(topics.items()):
        yield Run(part, number, tuple(read))


def _input_groups(flow: _Flow, part: int) -> Iterable[_Group]:
    """Return the inputs of a sub-topology in groups that are read together.

    Inputs that other inputs of the same sub-topology feed are groups of their own.
    """
    inputs = flow.inputs(part)
    fed = [t for t in inputs if any(t in flow.reach(other) for other in inputs if other != t)]
    together = tuple(t for t in inputs if t not in fed)
    return [each for each in (together, *((topic,) for topic in fed)) if each]


def _without_cycles(flow: _Flow, groups: list[_Group]) -> list[_Group]:
    """Split groups until no sub-topologies feed each other in a cycle."""
    while (circle := _circle(flow, groups)) is not None:
        for group in circle:
            fed = [t for t in group if any(flow.writes(other, (t,)) for other in circle)]
            rest = tuple(t for t in group if t not in fed)
            if fed and len(group) > 1:
                at = groups.index(group)
                groups[at : at + 1] = [*([rest] if rest else []), *((topic,) for topic in fed)]
                break
        else:
            listed = ", ".join(repr(topic) for group in circle for topic in group)
            raise TopologyError("topic-cycle", f"the internal topics {listed} feed themselves")
    return groups


def _circle(flow: _Flow, groups: list[_Group]) -> list[_Group] | None:
    """Return groups that can all be reached from each other, or None if there is no cycle."""
    after: dict[_Group, set[_Group]] = {}
    for group in groups:
        found: set[_Group] = set()
        todo = [group]
        while todo:
            one = todo.pop()
            fresh = {other for other in groups if other not in found and flow.writes(one, other)}
            found |= fresh
            todo.extend(fresh)
        after[group] = found
    for group in groups:
        if group in after[group]:
            return [other for other in groups if other in after[group] and group in after[other]]
    return None


def _internal_partitions(graph: Graph, partitions: dict[str, int]) -> dict[str, int]:
    """Return the numbers of partitions, with every internal topic added.

    The number of an internal topic is what the program asks for. Otherwise it follows the topics
    that it is joined with, or else the inputs of the sub-topologies that write it.
    """
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
    """Return the size that a repartitioned side of a join takes from the other sides.

    The result is None if the topic is not joined, or if no fixed size is known yet.
    """
    for group in groups:
        if topic in group:
            others = [t for t in group if t in partitions]
            fixed = [t for t in others if flow.graph.internal_topics.get(t, 1) is not None]
            if fixed:
                return max(partitions[t] for t in fixed)
    return None


def _writer_size(topic: str, partitions: Mapping[str, int], flow: _Flow) -> int | None:
    """Return the size of the largest input of the sub-topologies that write a topic.

    The result is None as long as the size of one of those inputs is not known.
    """
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
            tables = _table_topics(graph)
            listed = " and ".join(
                f"{'table' if topic in tables else 'stream'} {topic!r} ({size} partitions)"
                for topic, size in sizes.items()
            )
            most = max(sizes.values())
            raise TopologyError(
                "co-partitioning",
                f"{listed} cannot be joined: they need the same number of partitions",
                fix="give the topics the same number of partitions, or repartition the smaller"
                f" side before the join: .repartition(num_partitions={most})",
                at=graph.copartition_sites.get(group),
            )


def _table_topics(graph: Graph) -> set[str]:
    """Return the topics that are read as tables."""
    tables = [node for node in graph.nodes.values() if isinstance(node, TableSource)]
    sources = [graph.nodes[parent] for table in tables for parent in table.parents]
    return {topic for source in sources if isinstance(source, Source) for topic in source.topics}
