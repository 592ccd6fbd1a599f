"""Folds a grouped stream per sliding window.

As data: ``penstock.topology.nodes.sliding_aggregate``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.aggregate import aggregated, fold_materialization
from penstock.dsl.emit_strategy import EmitStrategy
from penstock.dsl.folds import Fold
from penstock.dsl.group_by import Grouping
from penstock.dsl.logical import Operator
from penstock.dsl.materialize import sliding_window_store
from penstock.dsl.materialized import Materialized
from penstock.dsl.table import AggregatedTable, Table
from penstock.dsl.window_aggregate import time_windowed
from penstock.model.windows import SlidingWindows
from penstock.topology.nodes import SlidingAggregate


def sliding_aggregate_stream(
    grouping: Grouping,
    windows: SlidingWindows,
    emit: EmitStrategy,
    fold: Fold,
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Keeps one aggregate per key and window."""
    wanted = fold_materialization(grouping, fold, options)
    name = grouping.graph.names.given_or_new(name, fold.prefix)
    node = Operator(
        name,
        partial(
            SlidingAggregate,
            windows=windows,
            initializer=fold.initializer,
            fn=fold.aggregator,
            emit_final=emit is EmitStrategy.ON_WINDOW_CLOSE,
        ),
        table=AggregatedTable(sliding_window_store(wanted, windows, emit)),
        grace_ms=windows.grace_ms,
        output_versioned=False,
    )
    key_serde = time_windowed(wanted.key_serde, windows.difference_ms)
    return aggregated(grouping, node, wanted, key_serde)
