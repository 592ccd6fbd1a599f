"""Aggregates a grouped stream per sliding window.

As data: ``penstock.topology.nodes.aggregations.sliding_aggregate``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.aggregate import aggregated, fold_materialization
from penstock.dsl.operators.aggregations.folds import Fold
from penstock.dsl.operators.aggregations.group_by import Grouping
from penstock.dsl.operators.aggregations.window_aggregate import time_windowed
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import sliding_window_store
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.model.windows.definitions import SlidingWindows
from penstock.topology.nodes import SlidingAggregate


def sliding_aggregate_stream(
    grouping: Grouping,
    windows: SlidingWindows,
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
            SlidingAggregate,
            windows=windows,
            initializer=fold.initializer,
            fn=fold.aggregator,
            emit_final=emit.is_final,
            emits_first=emit.emits_first,
            idle_ms=idle_ms,
        ),
        table=AggregatedTable(sliding_window_store(wanted, windows, emit)),
        grace_ms=windows.grace_ms,
        output_versioned=False,
    )
    key_serde = time_windowed(wanted.key_serde, windows.difference_ms)
    return aggregated(grouping, node, wanted, key_serde)
