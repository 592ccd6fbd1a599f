"""Metrics of a slot's tasks, measured only when the driver asks, so that batches cost nothing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.measures import TaskMeasures

if TYPE_CHECKING:
    from penstock.runtime.spark.worker.slot import Slot
    from penstock.runtime.spark.worker.task_state import TaskState


def slot_measures(slot: Slot) -> list[TaskMeasures]:
    """Measure every task of a slot; this takes no lock and is safe while a batch runs."""
    return [_measured(slot.number, task, state) for task, state in list(slot.tasks.items())]


def _measured(slot: int, task: TaskId, state: TaskState) -> TaskMeasures:
    databases = {}
    for name, engine in list(state.databases.engines.items()):
        # A store that is being closed cannot be measured.
        with contextlib.suppress(PenstockError):
            databases[name] = engine.properties()
    cache = state.cache
    kernel = state.kernel
    columns = None if kernel is None else kernel.columns
    is_planned = columns is not None and columns.plan.is_vectorised
    return TaskMeasures(
        task=task,
        slot=slot,
        cache_bytes=0 if cache is None else cache.size_bytes,
        cache_reads={} if cache is None else cache.reads(),
        databases={name: found for name, found in databases.items() if found},
        column_batches=0 if columns is None else columns.batches,
        record_batches={} if columns is None else dict(columns.reasons),
        never_columns="" if columns is None or is_planned else columns.why_not,
    )
