"""Metrics of a slot's tasks, measured only when the driver asks, so that batches cost nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.model.recent import Recent
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.measures import (
    OperationTimes,
    StoreMeasures,
    TaskMeasures,
)
from penstock.state.spec import StoreKind

if TYPE_CHECKING:
    from penstock.runtime.spark.worker.slot import Slot
    from penstock.runtime.spark.worker.task_state import TaskState


class StoreTimes:
    """Takes the measurements of a task's stores; rates and averages are over the last samples.

    The task calls it while it runs, and another thread reads. A reader may miss the newest value.
    """

    def __init__(
        self, sample_s: float, samples: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sample_s, self._samples, self._clock = sample_s, samples, clock
        self._operations: dict[str, dict[str, Recent]] = {}
        self._buffers: dict[str, dict[str, Recent]] = {}
        self._numbers = count()
        #: By store: when each open iterator was opened, in milliseconds since 1970.
        self._open: dict[str, dict[int, int]] = {}

    def record(self, store: str, operation: str, elapsed_ns: int) -> None:
        """Add one call."""
        self._add(self._operations, store, operation, elapsed_ns)

    def note_buffers(self, stores: Mapping[str, Any]) -> None:
        """Add the sizes of the buffers among the stores; the task calls this after a batch."""
        for name, store in stores.items():
            if store.kind is StoreKind.TIME_ORDERED_BUFFER:
                self._add(self._buffers, name, "count", store.num_records)
                self._add(self._buffers, name, "size", store.buffer_size_bytes)

    def _add(
        self, measured: dict[str, dict[str, Recent]], store: str, what: str, value: float
    ) -> None:
        found = measured.setdefault(store, {})
        values = found.get(what)
        if values is None:
            values = found[what] = Recent(self._sample_s, self._samples, self._clock)
        values.record(value)

    def opened(self, store: str) -> int:
        """Note that an iterator is open; return its number, for ``closed``."""
        number = next(self._numbers)
        self._open.setdefault(store, {})[number] = time.time_ns() // 1_000_000
        return number

    def closed(self, store: str, number: int) -> None:
        """Note that an iterator is closed."""
        self._open[store].pop(number, None)

    def of(self, store: str, *, is_persistent: bool) -> StoreMeasures:
        """Return the measures of a store."""
        times = {}
        for name, values in list(self._operations.get(store, {}).items()):
            span = values.span
            if span is not None:
                times[name] = OperationTimes(values.rate, span.average, span.most)
        buffered = {}
        for name, values in list(self._buffers.get(store, {}).items()):
            span = values.span
            if span is not None:
                buffered[name] = (span.average, span.most)
        opened = list(self._open.get(store, {}).values())
        return StoreMeasures(
            operations=times,
            open_iterators=len(opened),
            oldest_iterator_ms=min(opened, default=None),
            is_persistent=is_persistent,
            buffered=buffered,
        )


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
        stores=_store_measures(state),
        nodes=_node_measures(state),
        column_batches=0 if columns is None else columns.batches,
        record_batches={} if columns is None else dict(columns.reasons),
        sensors=tuple(state.sensors.metrics().values()),
        never_columns="" if columns is None or is_planned else columns.why_not,
    )


def _node_measures(state: TaskState) -> dict[str, tuple[int, int]]:
    """Return records and time by node. Sinks are counted by what was sent to their topic."""
    kernel = state.kernel
    meter = None if kernel is None else kernel.meter
    if kernel is None or meter is None:
        return {}
    found = {
        name: (round(meter.records.get(name, 0)), round(meter.busy_ns.get(name, 0)))
        for name in meter.records.keys() | meter.busy_ns.keys()
    }
    for name, topic in kernel.sink_topics().items():
        found[name] = state.output.passed.get(topic, 0), found.get(name, (0, 0))[1]
    return found


def _store_measures(state: TaskState) -> dict[str, StoreMeasures]:
    times = state.times
    if times is None:
        return {}
    stores = list(state.stores.items())
    return {name: times.of(name, is_persistent=store.persistent) for name, store in stores}
