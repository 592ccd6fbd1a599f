"""Answer queries to a slot's stores from the newest committed batch; ``store_view`` sends them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.errors import InvalidArgumentError, UnknownStoreError
from penstock.kernel.serdes import required_serde
from penstock.kernel.settings import TaskSettings
from penstock.model.record import RecordContext
from penstock.runtime.spark.worker.slot import Slot
from penstock.runtime.spark.worker.task_state import TaskState
from penstock.serving.answering import StoreAnswers
from penstock.serving.application import Row
from penstock.serving.question import KeyQuestion, Question
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.pending import CommittedView, PendingStore
from penstock.state.environment import StoreEnvironment
from penstock.state.open import open_store
from penstock.state.session.session_store import TypedSessionStore
from penstock.state.spec import StoreSpec
from penstock.state.window.window_store import TypedWindowStore

_METHODS = frozenset(
    {"get", "range", "reverse_range", "all", "reverse_all", "backward_all", "prefix_scan", "fetch",
     "backward_fetch", "fetch_range", "backward_fetch_range", "fetch_all", "backward_fetch_all",
     "find_sessions", "backward_find_sessions", "fetch_session", "versions",
     "approximate_num_entries"}
)  # fmt: skip


def is_quick(store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> bool:
    """Tell whether a question is about one key only, so that the answer takes almost no time."""
    return method == "get" or (method == "answer" and isinstance(arguments[0], KeyQuestion))


def waits_for_commit(slot: Slot, store: str) -> bool:
    """Whether a store has no committed rows beside those of the stage that is under way.

    Such a store is in memory only. It can be read between two stages.
    """
    spec = slot.application.plan.graph.stores.get(store)
    return spec is not None and not spec.persistent


@contextlib.contextmanager
def _committed(slot: Slot, store: str) -> Iterator[None]:
    """Hold a store at the slot's last commit while it is read."""
    with contextlib.ExitStack() as held:
        if waits_for_commit(slot, store):
            held.enter_context(slot.lock)
        held.enter_context(slot.reading)
        yield


def answer_query(
    slot: Slot, store: str, partition: int, method: str, arguments: tuple[Any, ...]
) -> Any:
    """Call a reading method of a store of one partition; iterators come back as lists."""
    if method == "answer":
        return _answered(slot, store, partition, *arguments)
    with _committed(slot, store):
        if store in slot.global_stores:
            return read_rows(slot.global_stores[store], method, arguments)
        return read_rows(_view(slot, _task_with(slot, store, partition), store), method, arguments)


def read_rows(view: Any, method: str, arguments: tuple[Any, ...]) -> Any:
    """Call a reading method of a store, and turn an iterator into a list."""
    if method not in _METHODS:
        raise InvalidArgumentError("unknown-query", f"stores cannot be asked for {method!r}")
    result = getattr(view, method)(*arguments)
    if isinstance(result, Iterable) and not isinstance(result, tuple | str | bytes | dict):
        return list(result)
    return result


def _answered(
    slot: Slot, store: str, partition: int, question: Question
) -> tuple[list[Row], bool, dict[int, int]]:
    """Answer a question with its rows, whether there are more, and the changelog's position."""
    graph = slot.application.plan.graph
    with _committed(slot, store):
        if store in slot.global_stores:
            spec, view = graph.global_stores[store].spec, slot.global_stores[store]
            return *store_answers(view, spec, slot.settings).answer(question), {}
        state = _task_with(slot, store, partition)
        view = _view(slot, state, store)
        reader = store_answers(view, graph.stores[store], slot.settings)
        rows, has_more = reader.answer(question)
        engine = state.databases.engines.get(store)
        # ``ends`` already counts records that were written but not applied yet. The checkpoint
        # of the database says what has been applied.
        known = None if engine is None else engine.checkpoint.changelog_offset
        end = state.databases.ends.get(store) if known is None else known
        return rows, has_more, {} if end is None else {partition: end}


def store_answers(view: Any, spec: StoreSpec, settings: TaskSettings) -> StoreAnswers:
    """Return an object that answers questions from the view of one partition."""
    what = f"store {spec.name!r}"
    serde = required_serde(spec.key_serde, settings.defaults, "key", what)
    return StoreAnswers(view, serde, settings.changelog_topic(spec.name))


def _task_with(slot: Slot, store: str, partition: int) -> TaskState:
    for task, state in slot.tasks.items():
        if task.partition == partition and state.has_store(store):
            if state.is_restoring:
                raise _restoring(store, partition, state)
            if not state.is_ready and store not in state.databases.engines:
                raise _failed(store, partition)
            return state
    raise UnknownStoreError(
        "store-not-ready",
        f"slot {slot.number} does not hold partition {partition} of store {store!r} yet",
        fix="ask again when the first batch has run",
    )


def _failed(store: str, partition: int) -> UnknownStoreError:
    return UnknownStoreError(
        "store-not-ready",
        f"partition {partition} of store {store!r} is restored when its failed batch runs again",
        fix="ask again in a moment",
    )


def _restoring(store: str, partition: int, state: TaskState) -> UnknownStoreError:
    progress = state.databases.restores.get(store)
    done = "" if progress is None else f", {progress.position} of {progress.end} offsets are read"
    return UnknownStoreError(
        "store-not-ready",
        f"partition {partition} of store {store!r} is being restored from its changelog{done}",
        fix="ask again later; KafkaStreams.restoring() tells how far it is",
    )


def _view(slot: Slot, state: TaskState, store: str) -> Any:
    kernel = state.kernel
    return committed_view(
        slot.application.plan.graph.stores[store],
        state.store(store),
        state.databases.engines.get(store),
        slot.settings,
        None if kernel is None else kernel.stream_time,
        None if kernel is None else kernel.system_time,
    )


def committed_view(
    spec: StoreSpec,
    store: Any,
    engine: PendingStore | None,
    settings: TaskSettings,
    stream_time: Callable[[], int] | None,
    wall_clock: Callable[[], int] | None,
) -> Any:
    """Return a second, unlogged and uncached store over the committed bytes.

    A store in memory has no committed copy beside the batch that is under way. It is read as it
    is, between batches. Rows that have expired by the clocks are not shown, whether or not they
    have been deleted yet.
    """
    if engine is None:
        is_windowed = isinstance(store, TypedWindowStore | TypedSessionStore)
        return store.without_cache() if is_windowed else store
    opened: Callable[[str], BytesStore] = lambda name: CommittedView(engine)  # noqa: E731
    environment = StoreEnvironment(
        context=RecordContext(0, -1, -1, None),
        defaults=settings.defaults,
        engine=opened,
        changelog=lambda name: None,
    )
    if stream_time is not None and wall_clock is not None:
        environment.stream_time, environment.wall_clock = stream_time, wall_clock
    return open_store(spec.with_logging_disabled().with_caching_disabled(), environment)
