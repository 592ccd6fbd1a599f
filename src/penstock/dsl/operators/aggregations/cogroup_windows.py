"""Aggregates several grouped streams into one value per window. Without: ``cogroup``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.aggregations.cogroup import (
    Cogroup,
    CogroupPlan,
    cogroup_materialization,
    cogrouped,
)
from penstock.dsl.operators.aggregations.folds import Initializer, Merger, check_merger
from penstock.dsl.operators.aggregations.session_aggregate import session_windowed
from penstock.dsl.operators.aggregations.window_aggregate import time_windowed
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.materialize import session_store, sliding_window_store, window_store
from penstock.dsl.plan.table import Table
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.topology.nodes import SessionAggregate, SlidingAggregate, WindowAggregate

#: A cogroup cannot emit on window close: its aggregations see different stream times.
_EMIT = EmitStrategy.ON_WINDOW_UPDATE


def window_aggregate_cogroup(
    cogroup: Cogroup,
    windows: TimeWindows | UnlimitedWindows,
    initializer: Initializer,
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Keep one aggregate per key and time window."""
    wanted = cogroup_materialization(cogroup, initializer, options)
    plan = CogroupPlan(
        wanted=wanted,
        store=window_store(wanted, windows, _EMIT),
        arm=lambda fn: partial(WindowAggregate, windows=windows, initializer=initializer, fn=fn),
        key_serde=time_windowed(wanted.key_serde, windows.size_ms),
        grace_ms=windows.grace_ms,
    )
    return cogrouped(cogroup, plan, name)


def sliding_aggregate_cogroup(
    cogroup: Cogroup,
    windows: SlidingWindows,
    initializer: Initializer,
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Keep one aggregate per key and sliding window."""
    wanted = cogroup_materialization(cogroup, initializer, options)
    plan = CogroupPlan(
        wanted=wanted,
        store=sliding_window_store(wanted, windows, _EMIT),
        arm=lambda fn: partial(SlidingAggregate, windows=windows, initializer=initializer, fn=fn),
        key_serde=time_windowed(wanted.key_serde, windows.difference_ms),
        grace_ms=windows.grace_ms,
    )
    return cogrouped(cogroup, plan, name)


def session_aggregate_cogroup(
    cogroup: Cogroup,
    windows: SessionWindows,
    initializer: Initializer,
    merger: Merger,
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Keep one aggregate per key and session."""
    check_merger(merger)
    wanted = cogroup_materialization(cogroup, initializer, options)
    plan = CogroupPlan(
        wanted=wanted,
        store=session_store(wanted, windows, _EMIT),
        arm=lambda fn: partial(
            SessionAggregate, windows=windows, initializer=initializer, fn=fn, merger=merger
        ),
        key_serde=session_windowed(wanted.key_serde),
        grace_ms=windows.grace_ms + windows.gap_ms,
    )
    return cogrouped(cogroup, plan, name)
