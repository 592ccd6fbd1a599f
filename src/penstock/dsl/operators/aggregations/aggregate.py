"""Aggregates a grouped stream. As data: ``penstock.topology.nodes.aggregations.aggregate``.

``aggregated`` is shared by all aggregations of streams.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.folds import Fold
from penstock.dsl.operators.aggregations.group_by import Grouping, regrouped
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_aggregate
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import Materialization, key_value_store, materialize
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.topology.nodes import Aggregate, Node, Reduce


def aggregate_stream(
    grouping: Grouping, fold: Fold, options: Materialized[Any, Any] | None, name: str | None
) -> Table:
    """Keep one aggregate per key."""
    wanted = fold_materialization(grouping, fold, options)
    name = grouping.graph.names.given_or_new(name, fold.prefix)
    make: Callable[..., Node]
    if fold.reducer is not None:
        make = partial(Reduce, fn=fold.reducer)
    else:
        make = partial(Aggregate, initializer=fold.initializer, fn=fold.aggregator)
    state = AggregatedTable(key_value_store(wanted))
    node = Operator(name, make, table=state, adds=fold.stores, output_versioned=wanted.is_versioned)
    return aggregated(grouping, node, wanted, wanted.key_serde)


def fold_materialization(
    grouping: Grouping, fold: Fold, options: Materialized[Any, Any] | None
) -> Materialization:
    """Name the store. Serdes that are not given follow from the fold, if possible."""
    for expression in fold.expressions:
        check_fields("aggregate", expression, grouping.key_serde, grouping.value_serde)
    wanted = materialize(grouping.graph, options or Materialized(), fold.prefix)
    value_serde = grouping.value_serde
    if fold.reducer is None:
        is_named = wanted.value_serde is not None
        value_serde = None if is_named else serde_of_aggregate(fold.initializer, fold.aggregator)
    return wanted.with_serdes_or(grouping.key_serde, value_serde)


def aggregated(
    grouping: Grouping,
    node: Operator,
    wanted: Materialization,
    key_serde: Serde[Any] | None,
) -> Table:
    """Add an aggregation, after a repartition if one is needed, and return its table."""
    assert node.table is not None
    parent, sources = regrouped(grouping, wanted.store_name, store_is_named=wanted.is_queryable)
    grouping.graph.add(node, parent)
    return Table(
        name=node.name,
        node=node,
        graph=grouping.graph,
        sources=sources,
        state=node.table,
        key_serde=key_serde,
        value_serde=wanted.value_serde,
        queryable_store_name=wanted.queryable_store_name,
    )


def count_options(
    grouping: Grouping, options: Materialized[Any, Any] | None, *, skips_number: bool = True
) -> Materialized[Any, Any]:
    """Return the options of the store of ``count``, whose values are longs.

    As in Java, options without a store name take one more number than no options. ``skips_number``
    is for sliding windows, where they do not.
    """
    if options is None:
        return Materialized(key=grouping.key_serde, value=Serdes.long())
    if options.store_name is None and skips_number:
        grouping.graph.names.new_store_name("KSTREAM-AGGREGATE-")
    return options if options.value else options.with_value(Serdes.long())
