"""Optimizes the logical graph by ``topology.optimization``, with the results of Kafka Streams.

Names of topics and stores depend on the order of the steps, and even on mistakes in Kafka Streams.
These are kept, so that a program finds its topics and stores again.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.config import TOPOLOGY_OPTIMIZATION, StreamsConfig
from penstock.dsl.operators.joins.stream_join import StreamJoinStep, WindowStep
from penstock.dsl.operators.topics.repartition import Repartition, new_repartition
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.errors import ConfigError, StreamsError

REUSE_SOURCE_TOPICS = "reuse.ktable.source.topics"
MERGE_REPARTITION_TOPICS = "merge.repartition.topics"
SINGLE_STORE_SELF_JOIN = "single.store.self.join"
_RULES = frozenset({REUSE_SOURCE_TOPICS, MERGE_REPARTITION_TOPICS, SINGLE_STORE_SELF_JOIN})

#: The repartitions after a change of key, without a change of values in between.
_Repartitions = dict[LogicalNode, dict[Repartition, None]]


def optimizations(config: StreamsConfig) -> frozenset[str]:
    """Return the optimizations of the configuration; raise ConfigError for an unknown one."""
    given = [rule.strip() for rule in config[TOPOLOGY_OPTIMIZATION].split(",")]
    if given == ["all"]:
        return _RULES
    if given == ["none"]:
        return frozenset()
    unknown = [rule for rule in given if rule not in _RULES]
    if unknown:
        raise ConfigError(
            "bad-setting",
            f"{TOPOLOGY_OPTIMIZATION.name}={config[TOPOLOGY_OPTIMIZATION]!r} has the unknown rule"
            f" {unknown[0]!r}",
            fix=f"give 'none', 'all' or a list of {', '.join(sorted(_RULES))}",
        )
    return frozenset(given)


def merge_repartition_topics(graph: LogicalGraph) -> None:
    """Replace the repartitions that follow one change of key by a single one.

    before: select_key -> [repartition -> count, filter -> repartition -> reduce]
    after:  select_key -> repartition -> [count, filter -> reduce]
    """
    for key_changer, repartitions in _repartitions_by_key_changer(graph).items():
        if repartitions:
            _merge_repartitions(graph, key_changer, list(repartitions))


def rewrite_self_joins(node: LogicalNode, visited: set[LogicalNode] | None = None) -> None:
    """Let a join of a stream with itself use one window store instead of two equal ones.

    before: stream -> [window A, window B] -> join
    after:  stream -> window A -> self-join
    """
    visited = set() if visited is None else visited
    visited.add(node)
    if isinstance(node, StreamJoinStep) and len(node.parents) == 1:
        _rewrite_self_join(node)
    for child in list(node.children):
        if child not in visited:
            rewrite_self_joins(child, visited)


def drop_null_keys(graph: LogicalGraph) -> None:
    """Let a repartition drop records without a key, unless a later left join needs them."""
    reached = _below(graph.root)
    wanted: set[LogicalNode] = set()
    above = [parent for node in reached if node.relaxes_null_keys for parent in node.parents]
    while above:
        node = above.pop()
        if node not in wanted:
            wanted.add(node)
            above.extend(node.parents)
    for node in reached - wanted:
        if isinstance(node, Repartition):
            node.keeps_null_keys = False


def _below(root: LogicalNode) -> set[LogicalNode]:
    found, waiting = {root}, [root]
    while waiting:
        new = [child for child in waiting.pop().children if child not in found]
        found.update(new)
        waiting.extend(new)
    return found


def _repartitions_by_key_changer(graph: LogicalGraph) -> _Repartitions:
    found: _Repartitions = {}
    merges: dict[LogicalNode, None] = {}
    for node in graph.nodes:
        if node.changes_key:
            found[node] = {}
        elif isinstance(node, Repartition) and node.is_mergeable:
            key_changer = _key_changer_of(node)
            if key_changer is not None:
                found[key_changer][node] = None
        elif node.is_merge:
            merges[node] = None
    return _moved_to_merges(found, merges)


def _key_changer_of(repartition: Repartition) -> LogicalNode | None:
    key_changer = _find_upwards(repartition, lambda node: node.changes_key)
    changer = _find_upwards(repartition, lambda node: node.changes_key or node.changes_value)
    return key_changer if changer is key_changer else None


def _moved_to_merges(found: _Repartitions, merges: dict[LogicalNode, None]) -> _Repartitions:
    """Move repartitions after a merge to it, so that several changes of key share them."""
    key_changers: dict[LogicalNode, list[LogicalNode]] = {}
    for merge in merges:
        key_changers[merge] = [
            key_changer
            for key_changer, repartitions in found.items()
            if all(_is_below(merge, repartition) for repartition in repartitions)
            and _is_below(key_changer, merge)
        ]
    moved: set[LogicalNode] = set()
    for merge, parents in key_changers.items():
        found[merge] = {repartition: None for parent in parents for repartition in found[parent]}
        moved.update(parents)
    return {node: below for node, below in found.items() if node not in moved}


def _is_below(above: LogicalNode, node: LogicalNode) -> bool:
    return _find_upwards(node, lambda each: above in each.parents) is not None


def _find_upwards(node: LogicalNode, matches: Callable[[LogicalNode], bool]) -> LogicalNode | None:
    """Return the node itself, or the nearest one above it, that matches.

    Above a node with several parents, only the last parent is searched.
    """
    if matches(node):
        return node
    found = None
    for parent in node.parents:
        if matches(parent):
            return parent
        found = _find_upwards(parent, matches)
    return found


def _merge_repartitions(
    graph: LogicalGraph, key_changer: LogicalNode, repartitions: list[Repartition]
) -> None:
    key_serde = next((each.key_serde for each in repartitions if each.key_serde), None)
    value_serde = next((each.value_serde for each in repartitions if each.value_serde), None)
    single = new_repartition(
        graph, repartitions[0].topic, key_serde, value_serde, name_is_given=True
    )
    single.site = repartitions[0].site
    # With the priority of the key change, it is lowered before all later nodes.
    single.priority = key_changer.priority
    for repartition in repartitions:
        _replace_repartition(graph, key_changer, repartition, single)
    key_changer.add_child(single)


def _replace_repartition(
    graph: LogicalGraph, key_changer: LogicalNode, replaced: Repartition, single: Repartition
) -> None:
    first = _find_upwards(replaced, lambda node: key_changer in node.parents)
    if first is None:
        raise StreamsError(
            "no-key-changing-child",
            f"found no child of {key_changer.name!r} that leads to the repartition"
            f" {replaced.topic!r}",
            fix="name the operators between, or switch merge.repartition.topics off",
            at=replaced.site,
        )
    single.add_child(first)
    key_changer.remove_child(first)
    children, parents = list(replaced.children), list(replaced.parents)
    for child in children:
        for parent in parents:
            parent.add_child(child)
    for parent in parents:
        parent.remove_child(replaced)
    for child in children:
        replaced.remove_child(child)
    for group in graph.copartitioned:
        if replaced.name in group:
            group.remove(replaced.name)
            group.add(single.name)


def _rewrite_self_join(join: StreamJoinStep) -> None:
    (parent,) = join.parents
    windows = {
        child.name: child
        for child in parent.children
        if isinstance(child, WindowStep) and child.priority < join.priority
    }
    left = windows.get(join.names.left_window)
    right = windows.get(join.names.right_window)
    if left is None or right is None or left.priority >= right.priority:
        raise StreamsError(
            "bad-self-join",
            f"join {join.name!r} of a stream with itself does not find its two windows",
            at=join.site,
        )
    parent.remove_child(right)
    join.is_self_join = True
