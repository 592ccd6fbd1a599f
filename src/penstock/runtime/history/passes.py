"""The passes of a topology over history: which sub-topology runs when, on which topics.

A pass runs one sub-topology over all records of some of its topics. Its tasks write the topics that
later passes read: repartition topics, and topics of the program that the topology itself reads. A
sub-topology that is fed by its own results, as the left side of a foreign-key join is, runs once
for what it sends and again when everything that it reads is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.errors import InvalidArgumentError, TopologyError
from penstock.model.site import caller_site
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.topology.graph import Graph
from penstock.topology.nodes import (
    ForeignKeyLookUp,
    ForeignKeyResolve,
    ForeignKeyUpdate,
    GlobalJoin,
    Node,
    Process,
    Sink,
    Source,
    StreamTableJoin,
    TableJoin,
    TableTransformValues,
)
from penstock.topology.nodes.topics.to_lake import DriverSink
from penstock.topology.subtopology import SubTopology, subtopologies

#: Nodes that read the stores of others, and write none of those that they are connected to.
_READERS = (
    ForeignKeyLookUp, ForeignKeyResolve, ForeignKeyUpdate, GlobalJoin, StreamTableJoin, TableJoin,
)  # fmt: skip
#: The number of the sub-topology that stands for all global stores.
_GLOBAL = -1
#: Nodes whose code may ask for a global store.
_READ_GLOBAL = (GlobalJoin, Process, TableTransformValues)


@dataclass(frozen=True, slots=True)
class Pass:
    """One sub-topology over the records of some of its topics.

    ``writes`` are the topics that later passes read of this one. The last pass of a sub-topology
    reads all of its topics: only its stores, and its output to other topics, are results.
    """

    number: int
    part: SubTopology
    topics: tuple[str, ...]
    writes: tuple[str, ...]
    #: Topics of global stores that its nodes may ask for.
    global_topics: tuple[str, ...]
    is_last: bool
    #: The number of tasks.
    tasks: int

    @property
    def is_global(self) -> bool:
        """Whether the pass is only there for the rows of the global stores."""
        return self.part.is_global


@dataclass(frozen=True)
class PassPlan:
    """All passes, each behind those that write its topics."""

    graph: Graph
    #: The number of partitions of every topic that is read, by its name in the graph.
    partitions: Mapping[str, int]
    passes: tuple[Pass, ...]

    @cached_property
    def written(self) -> frozenset[str]:
        """The topics that one pass writes and another one reads."""
        return frozenset(topic for each in self.passes for topic in each.writes)

    @cached_property
    def input_topics(self) -> tuple[str, ...]:
        """The topics whose records have to be given, in the order of the program."""
        read = dict.fromkeys(t for each in self.passes for t in (*each.topics, *each.global_topics))
        return tuple(topic for topic in read if topic not in self.written)

    @cached_property
    def feeds_itself(self) -> bool:
        """Whether some sub-topology reads what others make of its own results."""
        return any(not each.is_last for each in self.passes)


def plan_passes(graph: Graph, partitions: Mapping[str, int], given: Iterable[str]) -> PassPlan:
    """Return the passes of a graph.

    Args:
        graph: Its patterns may be unresolved: they match the given topics.
        partitions: How many partitions topics have; every topic of a source has to be there.
        given: The topics whose records are given.

    Raises:
        TopologyError: ``co-partitioning``, or ``batch-feedback`` if a topic depends on itself.
    """
    graph = with_topics(graph, given)
    plan = make_plan(graph, _source_sizes(graph, partitions))
    flow = _Flow(graph)
    passes = [
        Pass(
            number, flow.parts[part], topics, writes, flow.global_topics(part), is_last,
            max((plan.partitions[topic] for topic in topics), default=1),
        )
        for number, (part, topics, writes, is_last) in enumerate(_in_order(flow))
    ]  # fmt: skip
    if graph.global_stores:
        topics = tuple(dict.fromkeys(store.topic for store in graph.global_stores.values()))
        part = SubTopology(_GLOBAL, (), is_global=True)
        passes.append(Pass(len(passes), part, (), (), topics, is_last=True, tasks=1))
    return PassPlan(graph, plan.partitions, tuple(passes))


def with_topics(graph: Graph, given: Iterable[str]) -> Graph:
    """Return the graph with each pattern replaced by the given topics that match it."""
    nodes, names = dict(graph.nodes), sorted(given)
    for name, node in graph.nodes.items():
        if isinstance(node, Source) and node.pattern is not None:
            topics = tuple(topic for topic in names if node.pattern.fullmatch(topic))
            if not topics:
                raise TopologyError(
                    "missing-source-topic",
                    f"no input matches the pattern {node.pattern.pattern!r} of source {name!r}",
                    fix="give the history of the topics that match it",
                    at=node.site,
                )
            nodes[name] = replace(node, topics=topics, pattern=None)
    return replace(graph, nodes=nodes)


def looped_topics(graph: Graph) -> set[str]:
    """Return the topics that the topology both writes and reads."""
    read = {t for node in graph.nodes.values() if isinstance(node, Source) for t in node.topics}
    sinks = [node for node in graph.nodes.values() if isinstance(node, Sink)]
    return {sink.topic for sink in sinks if sink.topic is not None} & read


def written_input(topic: str) -> InvalidArgumentError:
    """Return the error for records of a topic that the topology itself writes."""
    return InvalidArgumentError(
        "written-input",
        f"the topology itself writes topic {topic!r}, so its records are computed",
        fix=f"leave {topic!r} out of the inputs",
        at=caller_site(),
    )


def _source_sizes(graph: Graph, partitions: Mapping[str, int]) -> dict[str, int]:
    sources = [node for node in graph.nodes.values() if isinstance(node, Source)]
    topics = [topic for source in sources for topic in source.topics]
    return {topic: partitions[topic] for topic in topics if topic not in graph.internal_topics}


#: Sub-topology, topics that it reads, topics that it writes for others, whether it reads all.
_Step = tuple[int, tuple[str, ...], tuple[str, ...], bool]


class _Flow:
    """Which topics of a graph are made of which."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parts = {part.id: part for part in subtopologies(graph) if not part.is_global}
        self.looped = looped_topics(graph)
        self._global_by_topic = {s.topic: s for s in graph.global_stores.values()}
        #: By looped topic: the sub-topologies that write it, each with the topics that matter.
        self.needs: dict[str, dict[int, set[str]]] = {topic: {} for topic in sorted(self.looped)}
        for part in self.parts.values():
            for topic in self.written_by(part):
                self.needs[topic][part.id] = self._inputs_of(part, topic)

    def inputs(self, part: int) -> list[str]:
        """Return the topics that the sources of a sub-topology read."""
        return [t for source in self.parts[part].sources(self.graph) for t in source.topics]

    def global_topics(self, part: int) -> tuple[str, ...]:
        """Return the topics of all global stores if a node of the sub-topology may read them."""
        nodes = [self.graph.nodes[name] for name in self.parts[part].nodes]
        reads = any(isinstance(node, _READ_GLOBAL) for node in nodes)
        return tuple(self._global_by_topic) if reads else ()

    def written_by(self, part: SubTopology) -> list[str]:
        """Return the looped topics that a sub-topology writes."""
        topics = [s.topic for s in part.sinks(self.graph) if not isinstance(s, DriverSink)]
        return list(dict.fromkeys(t for t in topics if t is not None and t in self.looped))

    def made_of(self, topic: str) -> set[str]:
        """Return all topics whose records decide what is in this one."""
        found: set[str] = set()
        todo = [topic]
        while todo:
            needed = set().union(*self.needs.get(todo.pop(), {}).values())
            todo += needed - found
            found |= needed
        return found

    def _inputs_of(self, part: SubTopology, topic: str) -> set[str]:
        """Return the inputs of a sub-topology that decide what it writes to a topic."""
        sinks = [sink.name for sink in part.sinks(self.graph) if sink.topic == topic]
        nodes = self._with_writers(part, self._above(sinks))
        sources = [node for name in nodes if isinstance(node := self.graph.nodes[name], Source)]
        return {t for source in sources for t in source.topics} | {*self.global_topics(part.id)}

    def _above(self, names: Iterable[str]) -> set[str]:
        """Return these nodes and everything that leads to them."""
        found: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self.graph.nodes[name].parents
        return found

    def _with_writers(self, part: SubTopology, nodes: set[str]) -> set[str]:
        """Add the nodes that write a store which one of the nodes uses, and what leads to them."""
        while True:
            used = {store for name in nodes for store in self.graph.nodes[name].stores}
            writers = [
                name
                for name in part.nodes
                if name not in nodes and not used.isdisjoint(_writes(self.graph.nodes[name]))
            ]
            if not writers:
                return nodes
            nodes = nodes | self._above(writers)


def _writes(node: Node) -> set[str]:
    return set() if isinstance(node, _READERS) else set(node.stores)


def _in_order(flow: _Flow) -> list[_Step]:
    """Return the passes, each behind those that write its topics."""
    _check_feedback(flow)
    # A topic is written when everything is there that does not depend on it, because all inputs
    # advance stream time. If sub-topologies wait for each other then, only what decides about the
    # records of the topic has to be there.
    for with_all in (True, False):
        ordered = _sorted(flow, with_all=with_all)
        if ordered is not None:
            return ordered
    raise _feedback(flow.looped)


def _sorted(flow: _Flow, *, with_all: bool) -> list[_Step] | None:
    """Return the passes in order; ``None`` if there is no order."""
    waiting = [step for part in flow.parts for step in _steps(flow, part, with_all=with_all)]
    ordered: list[_Step] = []
    while waiting:
        unwritten = {topic for _, _, writes, _ in waiting for topic in writes}
        ready = [
            step
            for step in waiting
            if unwritten.isdisjoint({*step[1], *flow.global_topics(step[0])})
        ]
        if not ready:
            return None
        ordered += ready
        waiting = [step for step in waiting if step not in ready]
    return ordered


def _steps(flow: _Flow, part: int, *, with_all: bool) -> list[_Step]:
    """Return the passes of one sub-topology: one for each set of topics that has to be complete."""
    inputs = flow.inputs(part)
    whole = tuple(inputs)
    by_inputs: dict[tuple[str, ...], list[str]] = {whole: []}
    for topic in flow.written_by(flow.parts[part]):
        needed = flow.needs[topic][part]
        chosen = tuple(
            each
            for each in inputs
            if each in needed or (with_all and topic not in flow.made_of(each))
        )
        by_inputs.setdefault(chosen, []).append(topic)
    return [(part, topics, tuple(writes), topics == whole) for topics, writes in by_inputs.items()]


def _check_feedback(flow: _Flow) -> None:
    in_circle = {topic for topic in flow.looped if topic in flow.made_of(topic)}
    if in_circle:
        raise _feedback(in_circle)


def _feedback(topics: Iterable[str]) -> TopologyError:
    listed = ", ".join(map(repr, sorted(topics)))
    return TopologyError(
        "batch-feedback",
        f"what the topology writes to {listed} decides what it writes there next: history can only"
        " run through a topology whose results do not come back to where they are made",
        fix="read these records with a topology of their own, or run the application on the topics",
    )
