"""Aggregates a grouped stream per session. Node: ``nodes.aggregations.session_aggregate``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.aggregate import aggregated, fold_materialization
from penstock.dsl.operators.aggregations.folds import Fold
from penstock.dsl.operators.aggregations.group_by import Grouping
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import session_store
from penstock.dsl.plan.table import AggregatedTable, Table
from penstock.model.windows.definitions import SessionWindows
from penstock.serde.base import Serde
from penstock.serde.windowed import SessionWindowedSerde
from penstock.topology.nodes import SessionAggregate


def session_aggregate_stream(
    grouping: Grouping,
    windows: SessionWindows,
    emit: EmitStrategy,
    fold: Fold,
    options: Materialized[Any, Any] | None,
    name: str | None,
    idle_ms: int | None = None,
) -> Table:
    """Keep one aggregate per key and session."""
    assert fold.merger is not None
    wanted = fold_materialization(grouping, fold, options)
    name = grouping.graph.names.given_or_new(name, fold.prefix)
    node = Operator(
        name,
        partial(
            SessionAggregate,
            windows=windows,
            initializer=fold.initializer,
            fn=fold.aggregator,
            merger=fold.merger,
            emit_final=emit.is_final,
            emits_first=emit.emits_first,
            tells_old=emit is EmitStrategy.WITH_OLD_VALUE,
            idle_ms=idle_ms,
        ),
        table=AggregatedTable(session_store(wanted, windows, emit)),
        # A session can also grow during the gap after its end.
        grace_ms=windows.grace_ms + windows.gap_ms,
        output_versioned=False,
    )
    return aggregated(grouping, node, wanted, session_windowed(wanted.key_serde))


def session_windowed(key_serde: Serde[Any] | None) -> Serde[Any]:
    """Return the serde of the result's keys. An open inner serde is the configured one."""
    return SessionWindowedSerde(key_serde)
