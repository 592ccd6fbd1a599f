"""From the logical graph to a topology: optimize, find versioned tables, lower in order."""

from __future__ import annotations

import heapq
import itertools

from penstock.config import (
    DSL_STORE,
    DSL_STORE_FORMAT,
    DSL_STORE_SUPPLIERS,
    EXPLICIT_NAMING,
    StreamsConfig,
)
from penstock.dsl.operators.topics.source import StreamSource
from penstock.dsl.options.store_type import StoreType, configured_store_type
from penstock.dsl.plan.logical import GeneratedNames, LogicalGraph, LogicalNode
from penstock.dsl.plan.lowering import Lowering
from penstock.dsl.plan.optimize import (
    MERGE_REPARTITION_TOPICS,
    REUSE_SOURCE_TOPICS,
    SINGLE_STORE_SELF_JOIN,
    drop_null_keys,
    merge_repartition_topics,
    optimizations,
    rewrite_self_joins,
)
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.topology.graph import GraphBuilder
from penstock.topology.nodes import Source


def build_graph(program: LogicalGraph, config: StreamsConfig) -> GraphBuilder:
    """Return the nodes and stores of a program, without changing the program."""
    rules = optimizations(config)
    graph = program.copy()
    merge_equal_sources(graph)
    if MERGE_REPARTITION_TOPICS in rules:
        merge_repartition_topics(graph)
    if SINGLE_STORE_SELF_JOIN in rules:
        rewrite_self_joins(graph.root)
    drop_null_keys(graph)
    follow_versions(graph)
    lowering = Lowering(
        GraphBuilder(),
        store_type=store_type_in(config) or StoreType.ROCKS_DB,
        reuses_source_topics=REUSE_SOURCE_TOPICS in rules,
        keeps_headers=config[DSL_STORE_FORMAT] == "HEADERS",
    )
    _lower(graph, lowering)
    _check_copartitioned_topics(lowering.graph)
    if config[EXPLICIT_NAMING]:
        _check_names(graph.generated)
    return lowering.graph


def store_type_in(config: StreamsConfig) -> StoreType | None:
    """Return the configured store type; None if there is none."""
    for setting in (DSL_STORE_SUPPLIERS, DSL_STORE):
        if config.has(setting):
            return configured_store_type(setting.name, config[setting])
    return None


def merge_equal_sources(graph: LogicalGraph) -> None:
    """Merge sources of the same topic, so that it is read once.

    before: [source A of "orders" -> filter, source B of "orders" -> map]
    after:  source A of "orders" -> [filter, map]
    """
    by_topic: dict[str, StreamSource] = {}
    by_pattern: dict[tuple[str, int], StreamSource] = {}
    for node in list(graph.root.children):
        if not isinstance(node, StreamSource):
            continue
        if node.pattern is not None:
            key = (node.pattern.pattern, node.pattern.flags)
            _merge_into(by_pattern.setdefault(key, node), node, graph)
        for topic in node.topics:
            first = by_topic.setdefault(topic, node)
            _check_equal_topics(first, node, topic)
            _merge_into(first, node, graph)


def follow_versions(graph: LogicalGraph) -> None:
    """Set for each table operator which of its parents are versioned.

    before: versioned table -> filter -> group_by
    after:  the same, and both ignore updates that are not the latest
    """
    for node in graph.nodes:
        if node.follows_versions:
            node.versioned_parents = frozenset(
                parent.name for parent in node.parents if _is_versioned(parent, graph.root)
            )


def _is_versioned(node: LogicalNode, root: LogicalNode) -> bool:
    if node.output_versioned is not None:
        return node.output_versioned
    if node is root:
        return False
    return all(_is_versioned(parent, root) for parent in node.parents)


def _lower(graph: LogicalGraph, lowering: Lowering) -> None:
    """Lower parents before children and, among nodes that are ready, the oldest first."""
    for topic, partitions in graph.internal_topics.items():
        lowering.graph.add_internal_topic(topic, partitions)
    order = itertools.count()
    waiting = [(graph.root.priority, next(order), graph.root)]
    written: set[LogicalNode] = set()
    while waiting:
        _, _, node = heapq.heappop(waiting)
        # A node with another parent that is not lowered yet comes again with that parent.
        if node in written or not written.issuperset(node.parents):
            continue
        node.lower(lowering)
        written.add(node)
        for child in node.children:
            heapq.heappush(waiting, (child.priority, next(order), child))
    for group, site in zip(graph.copartitioned, graph.copartition_sites, strict=True):
        lowering.graph.copartition(*sorted(group), site=site)


def _merge_into(first: StreamSource, node: StreamSource, graph: LogicalGraph) -> None:
    if first is not node:
        first.absorb(node)
        graph.root.remove_child(node)


def _check_equal_topics(first: StreamSource, other: StreamSource, topic: str) -> None:
    if set(first.topics) != set(other.topics):
        raise TopologyError(
            "overlapping-topics",
            f"topic {topic!r} is read by two streams that do not read the same topics:"
            f" {list(first.topics)} (at {first.site}) and {list(other.topics)}",
            fix="read each topic with a stream of its own and merge the streams",
            at=other.site,
        )


def _check_copartitioned_topics(graph: GraphBuilder) -> None:
    """Refuse internal topics that are joined and have different partition counts."""
    for group in graph.copartitioned:
        sources = [node for name in group if isinstance(node := graph.nodes.get(name), Source)]
        topics = {topic for source in sources for topic in source.topics}
        counts = {topic: graph.internal_topics.get(topic) for topic in sorted(topics)}
        if None not in counts.values() and len(set(counts.values())) > 1:
            listed = ", ".join(f"{topic!r} has {count}" for topic, count in counts.items())
            raise TopologyError(
                "co-partitioning",
                f"topics that are joined need the same number of partitions: {listed}",
                fix="give both repartitions the same number of partitions",
                at=graph.copartition_sites.get(group),
            )


def _check_names(generated: list[GeneratedNames]) -> None:
    listed = {
        "changelog topics": [each.changelog_topic for each in generated if each.changelog_topic],
        "state stores": [each.store for each in generated if each.store],
        "repartition topics": [
            each.repartition_topic for each in generated if each.repartition_topic
        ],
    }
    problems = [f"{what} {', '.join(map(repr, names))}" for what, names in listed.items() if names]
    if problems:
        raise TopologyError(
            "generated-names",
            f"these have no name of their own: {'; '.join(problems)}",
            fix="name them with Materialized, Grouped, Joined, StreamJoined or Repartitioned, or"
            f" switch {EXPLICIT_NAMING.name} off",
            at=caller_site(),
        )
