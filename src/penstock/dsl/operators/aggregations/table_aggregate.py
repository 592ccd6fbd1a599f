"""Aggregates a grouped table. As data: ``penstock.topology.nodes.aggregations.table_aggregate``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.folds import stores_of
from penstock.dsl.operators.aggregations.table_group_by import ChangeRepartition, GroupedTable
from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.result_types import serde_of_aggregate
from penstock.dsl.operators.returns import check_function
from penstock.dsl.operators.topics.repartition import TOPIC_SUFFIX
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import Materialization, key_value_store, materialize
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreSpec
from penstock.topology.nodes import TableAggregate, TableNode, TableReduce

_AGGREGATE = "KTABLE-AGGREGATE-"
_REDUCE = "KTABLE-REDUCE-"

Options = Materialized[Any, Any] | None


def count_table(grouped: GroupedTable, options: Options, name: str | None) -> Table:
    """Add a count of the rows per group."""
    wanted = _wanted(grouped, options).with_serdes_or(grouped.key_serde, Serdes.long())
    make = partial(TableAggregate, initializer=_zero, adder=_one_more, subtractor=_one_less)
    return _add(grouped, make, wanted, name, _AGGREGATE)


def aggregate_table(
    grouped: GroupedTable,
    initializer: Callable[[], Any],
    adder: Callable[[Any, Any, Any], Any],
    subtractor: Callable[[Any, Any, Any], Any],
    options: Options,
    name: str | None,
) -> Table:
    """Add an aggregation. The user gives the serde of its values, or their type says it."""
    check_arity("aggregate", "initializer", initializer)
    check_function("aggregate", "adder", adder, "key", "value", "aggregate")
    check_arity("aggregate", "subtractor", subtractor, "key", "value", "aggregate")
    wanted = _wanted(grouped, options)
    is_named = wanted.value_serde is not None
    value_serde = None if is_named else serde_of_aggregate(initializer, adder)
    wanted = wanted.with_serdes_or(grouped.key_serde, value_serde)
    make = partial(TableAggregate, initializer=initializer, adder=adder, subtractor=subtractor)
    return _add(grouped, make, wanted, name, _AGGREGATE, stores_of(adder))


def reduce_table(
    grouped: GroupedTable,
    adder: Callable[[Any, Any], Any],
    subtractor: Callable[[Any, Any], Any],
    options: Options,
    name: str | None,
) -> Table:
    """Add an aggregation whose values have the type of the rows."""
    check_function("reduce", "adder", adder, "aggregate", "value")
    check_arity("reduce", "subtractor", subtractor, "aggregate", "value")
    wanted = _wanted(grouped, options).with_serdes_or(grouped.key_serde, grouped.value_serde)
    make = partial(TableReduce, adder=adder, subtractor=subtractor)
    return _add(grouped, make, wanted, name, _REDUCE)


def _wanted(grouped: GroupedTable, options: Options) -> Materialization:
    return materialize(grouped.graph, options or Materialized(), _AGGREGATE)


def _add(
    grouped: GroupedTable,
    make: Callable[..., TableNode],
    wanted: Materialization,
    name: str | None,
    prefix: str,
    stores: tuple[StoreSpec, ...] = (),
) -> Table:
    graph, names = grouped.graph, grouped.graph.names
    sink = names.suffixed_or_new(name, "-sink", "KSTREAM-SINK-")
    source = names.suffixed_or_new(name, "-source", "KSTREAM-SOURCE-")
    node_name = names.given_or_new(name, prefix)
    if grouped.repartition is None or grouped.name is None:
        topic = (grouped.name or wanted.store_name) + TOPIC_SUFFIX
        grouped.repartition = ChangeRepartition(source, sink, topic, grouped)
    graph.add(grouped.repartition, grouped.node)
    state = AggregatedTable(key_value_store(wanted))
    node = Operator(node_name, make, table=state, adds=stores, output_versioned=wanted.is_versioned)
    graph.add(node, grouped.repartition)
    return Table(
        name=node_name,
        node=node,
        graph=graph,
        sources=frozenset([source]),
        state=state,
        key_serde=wanted.key_serde,
        value_serde=wanted.value_serde,
        queryable_store_name=wanted.queryable_store_name,
    )


def _zero() -> int:
    return 0


def _one_more(key: Any, value: Any, count: int) -> int:
    return count + 1


def _one_less(key: Any, value: Any, count: int) -> int:
    return count - 1
