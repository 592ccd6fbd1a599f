"""Aggregates a grouped stream per time window. Node: ``nodes.aggregations.window_aggregate``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.aggregate import aggregated, fold_materialization
from penstock.dsl.operators.aggregations.folds import Fold
from penstock.dsl.operators.aggregations.group_by import Grouping
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import window_store
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.model.windows.definitions import TimeWindows, UnlimitedWindows
from penstock.serde.base import Serde
from penstock.serde.windowed import TimeWindowedSerde
from penstock.topology.nodes import WindowAggregate


def window_aggregate_stream(
    grouping: Grouping,
    windows: TimeWindows | UnlimitedWindows,
    emit: EmitStrategy,
    fold: Fold,
    options: Materialized[Any, Any] | None,
    name: str | None,
    idle_ms: int | None = None,
) -> Table:
    """Keep one aggregate per key and window."""
    wanted = fold_materialization(grouping, fold, options)
    name = grouping.graph.names.given_or_new(name, fold.prefix)
    node = Operator(
        name,
        partial(
            WindowAggregate,
            windows=windows,
            initializer=fold.initializer,
            fn=fold.aggregator,
            emit_final=emit.is_final,
            emits_first=emit.emits_first,
            idle_ms=idle_ms,
        ),
        table=AggregatedTable(window_store(wanted, windows, emit)),
        adds=fold.stores,
        grace_ms=windows.grace_ms,
        output_versioned=False,
    )
    return aggregated(grouping, node, wanted, time_windowed(wanted.key_serde, windows.size_ms))


def time_windowed(key_serde: Serde[Any] | None, size_ms: int) -> Serde[Any]:
    """Return the serde of the result's keys. An open inner serde is the configured one."""
    return TimeWindowedSerde(key_serde, size_ms)
