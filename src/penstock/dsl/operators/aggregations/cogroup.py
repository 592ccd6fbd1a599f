"""Aggregates several grouped streams into one value: an aggregation per stream, one store.

As data: the aggregations of ``penstock.topology.nodes`` and ``TablePassThrough``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.folds import (
    Aggregator,
    Initializer,
    check_aggregator,
    check_initializer,
)
from penstock.dsl.operators.aggregations.group_by import Grouping, repartition_of
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode, Operator, PlannedStore
from penstock.dsl.plan.materialize import Materialization, key_value_store, materialize
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.serde.base import Serde
from penstock.topology.nodes import Aggregate, Node, TablePassThrough

_AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"
_MERGE = "COGROUPKSTREAM-MERGE-"

#: From the aggregator of a stream to the aggregation of the stream.
Arm = Callable[[Aggregator], Callable[..., Node]]


@dataclass(slots=True, eq=False)
class Cogroup:
    """Grouped streams with an aggregator each, in the order they were added.

    ``parents`` are the nodes to aggregate from, after a repartition if one is needed.
    """

    graph: LogicalGraph
    aggregators: dict[Grouping, Aggregator] = field(default_factory=dict)
    parents: dict[Grouping, LogicalNode] = field(default_factory=dict)

    def add(self, grouping: Grouping, aggregator: Aggregator) -> None:
        check_aggregator("cogroup", aggregator)
        self.aggregators[grouping] = aggregator


@dataclass(frozen=True, slots=True)
class CogroupPlan:
    """What differs between kinds of cogroups: the aggregation, its store, the keys."""

    wanted: Materialization
    store: PlannedStore
    arm: Arm
    key_serde: Serde[Any] | None
    grace_ms: int | None = None
    output_versioned: bool | None = None


def cogroup_materialization(
    cogroup: Cogroup, initializer: Initializer, options: Materialized[Any, Any] | None
) -> Materialization:
    """Name the store. Its serdes are only those of the options: those of the streams may differ."""
    check_initializer(initializer)
    return materialize(cogroup.graph, options or Materialized(), _AGGREGATE)


def aggregate_cogroup(
    cogroup: Cogroup,
    initializer: Initializer,
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Keep one aggregate per key."""
    wanted = cogroup_materialization(cogroup, initializer, options)
    plan = CogroupPlan(
        wanted=wanted,
        store=key_value_store(wanted),
        arm=lambda fn: partial(Aggregate, initializer=initializer, fn=fn),
        key_serde=wanted.key_serde,
        output_versioned=wanted.is_versioned,
    )
    return cogrouped(cogroup, plan, name)


def cogrouped(cogroup: Cogroup, plan: CogroupPlan, name: str | None) -> Table:
    """Add an aggregation per stream, and the node that merges their updates."""
    _regroup(cogroup, plan.wanted)
    graph, states, nodes = cogroup.graph, [], []
    for number, (grouping, aggregator) in enumerate(cogroup.aggregators.items()):
        state = AggregatedTable(plan.store)
        node = Operator(
            graph.names.suffixed_or_new(name, f"-cogroup-agg-{number}", _AGGREGATE),
            plan.arm(aggregator),
            table=state,
            grace_ms=plan.grace_ms,
            output_versioned=plan.output_versioned,
        )
        graph.add(node, cogroup.parents[grouping])
        states.append(state)
        nodes.append(node)
    merged = AggregatedTable(plan.store, tuple(states))
    merge = _merge(graph.names.suffixed_or_new(name, "-cogroup-merge", _MERGE), merged)
    graph.add(merge, *nodes)
    return Table(
        name=merge.name,
        node=merge,
        graph=graph,
        sources=frozenset([merge.name]),
        state=merged,
        key_serde=plan.key_serde,
        value_serde=plan.wanted.value_serde,
        queryable_store_name=plan.wanted.queryable_store_name,
    )


def _regroup(cogroup: Cogroup, wanted: Materialization) -> None:
    for grouping in cogroup.aggregators:
        if not grouping.key_changed:
            cogroup.parents[grouping] = grouping.node
            continue
        made = repartition_of(grouping, wanted.store_name, store_is_named=wanted.is_queryable)
        if grouping not in cogroup.parents:
            cogroup.graph.add(made, grouping.node)
            cogroup.parents[grouping] = made
    sources = (source for grouping in cogroup.parents for source in grouping.sources)
    cogroup.graph.copartition(*sources)


def _merge(name: str, state: AggregatedTable) -> Operator:
    # This node only reads the store. The aggregations before it own it.
    def make(**fields: Any) -> TablePassThrough:
        return TablePassThrough(store=state.store_name, sends_old=state.sends_old, **fields)

    return Operator(name, make)
