"""Questions to a slot's state, answered from the newest committed batch; ``store_view`` asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from penstock.errors import InvalidArgumentError, UnknownStoreError
from penstock.model.record import RecordContext
from penstock.runtime.spark.worker.slot import Slot
from penstock.runtime.spark.worker.task_state import TaskState
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.pending import CommittedView
from penstock.state.environment import StoreEnvironment
from penstock.state.open import open_store
from penstock.state.session.session_store import TypedSessionStore
from penstock.state.window.window_store import TypedWindowStore

_MOST_ROWS = 1_000_000
_METHODS = frozenset(
    {"get", "range", "reverse_range", "all", "reverse_all", "prefix_scan", "fetch",
     "fetch_range", "fetch_all", "backward_fetch", "find_sessions", "fetch_session",
     "approximate_num_entries"}
)  # fmt: skip


def answer_query(
    slot: Slot, store: str, partition: int, method: str, arguments: tuple[Any, ...]
) -> Any:
    """Calls a reading method of a store of one partition; iterators come back as lists."""
    if method not in _METHODS:
        raise InvalidArgumentError("unknown-query", f"stores cannot be asked for {method!r}")
    with slot.reading:
        if store in slot.global_stores:
            view = slot.global_stores[store]
        else:
            view = _view(slot, _task_with(slot, store, partition), store)
        result = getattr(view, method)(*arguments)
        if isinstance(result, Iterable) and not isinstance(result, tuple | str | bytes | dict):
            return list(islice(result, _MOST_ROWS))
        return result


def _task_with(slot: Slot, store: str, partition: int) -> TaskState:
    for task, state in slot.tasks.items():
        if task.partition == partition and state.has_store(store):
            return state
    raise UnknownStoreError(
        "store-not-ready",
        f"slot {slot.number} does not hold partition {partition} of store {store!r} yet",
        fix="ask again when the first batch has run",
    )


def _view(slot: Slot, state: TaskState, store: str) -> Any:
    """A second, unlogged and uncached store over the committed bytes.

    A store in memory has no committed copy beside the batch that is under way; it is read as it
    is, between batches.
    """
    engine = state.engines.get(store)
    if engine is None:
        found = state.store(store)
        is_windowed = isinstance(found, TypedWindowStore | TypedSessionStore)
        return found.without_cache() if is_windowed else found
    spec = slot.application.plan.graph.stores[store].with_logging_disabled()
    opened: Callable[[str], BytesStore] = lambda name: CommittedView(engine)  # noqa: E731
    environment = StoreEnvironment(
        context=RecordContext(0, -1, -1, None),
        defaults=slot.settings.defaults,
        engine=opened,
        changelog=lambda name: None,
    )
    kernel = state.kernel
    if kernel is not None:
        # Rows that have expired are not shown, whether or not they have been deleted yet.
        environment.stream_time, environment.wall_clock = kernel.stream_time, kernel.system_time
    return open_store(spec.with_caching_disabled(), environment)
