"""One node on its own: a task that holds nothing but the node, its stores and its clocks."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any, NamedTuple

from penstock.kernel.executor import Executor, Forward
from penstock.kernel.punctuation import PunctuationQueue
from penstock.kernel.registry import executor_for
from penstock.kernel.services import JoinClock
from penstock.model.change import Change
from penstock.model.record import Headers, RecordContext
from penstock.model.task_id import TaskId
from penstock.model.windows.windowed import Window, Windowed
from penstock.processor.context import Cancellable, PunctuationType, Punctuator
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import StoreEnvironment
from penstock.state.layers.cache import RecordCache
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes.node import Node


class Forwarded(NamedTuple):
    """What a child saw: the record, and the child's name if it was chosen."""

    key: Any
    value: Any
    timestamp: int
    headers: Headers = ()
    child: str | None = None


class SingleNode:
    """A task of one node, and whatever the test needs to see of it.

    ``out`` has what the node forwarded, ``drops`` why records went no further. Each forward also
    checks that the record context moved along, since stores and sinks further down rely on it.
    """

    collector: Any = None
    failures: Any = None
    current: Any = None
    state_dir = None

    def __init__(
        self,
        node: Node,
        *specs: StoreSpec,
        children: Sequence[str] = (),
        global_stores: Sequence[str] = (),
        cache_bytes: int = 0,
        emit_interval_ms: int = 0,
        configs: dict[str, Any] | None = None,
    ) -> None:
        self.context = RecordContext(0, -1, -1, None)
        self.defaults = SerdeDefaults(Serdes.string(), Serdes.string())
        self.task_id = TaskId(0, 3)
        self.application_id = "app"
        self.configs = configs or {}
        self.emit_interval_ms = emit_interval_ms
        self.now = 0
        self.out: list[Forwarded] = []
        self.drops: list[str] = []
        self.commit_requested = False
        self.stream_punctuations = PunctuationQueue()
        self.wall_punctuations = PunctuationQueue()
        self._children = tuple(children)
        self._global_stores = frozenset(global_stores)
        self._stream_time = -1
        self._offset = -1
        environment = StoreEnvironment(
            context=self.context,
            defaults=self.defaults,
            engine=lambda name: MemoryStore(),
            changelog=lambda name: None,
            cache=RecordCache(cache_bytes) if cache_bytes else None,
        )
        self.specs = {spec.name: spec for spec in specs}
        self.stores: dict[str, Any] = {spec.name: open_store(spec, environment) for spec in specs}
        self.executor: Executor[Any] = executor_for(node)(node, self)
        self.executor.forward = self._capture(None)
        self.executor.init()

    def pipe(self, key: Any, value: Any, timestamp: int, headers: Headers = ()) -> list[Forwarded]:
        """Processes one record as the task would; gives what the node forwarded for it."""
        self._offset += 1
        self._stream_time = max(self._stream_time, timestamp)
        context = self.context
        context.timestamp, context.headers = timestamp, headers
        context.topic, context.partition, context.offset = "in", 3, self._offset
        seen = len(self.out)
        self.executor.process(key, value, timestamp, headers)
        assert (context.timestamp, context.headers) == (timestamp, headers)
        return self.out[seen:]

    def values(self) -> list[Any]:
        """The values forwarded so far, of changes the new ones."""
        return [f.value.new if isinstance(f.value, Change) else f.value for f in self.out]

    def punctuate(self, now: int, kind: PunctuationType) -> bool:
        queue = self.stream_punctuations
        if kind is PunctuationType.WALL_CLOCK_TIME:
            queue, self.now = self.wall_punctuations, now
        return queue.run_due(now, self._punctuate)

    def _punctuate(self, node: str, time: int, callback: Punctuator) -> None:
        context = self.context
        context.timestamp, context.headers = time, ()
        context.topic, context.partition, context.offset = None, -1, -1
        callback(time)

    def _capture(self, child: str | None) -> Forward:
        def capture(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            assert (self.context.timestamp, self.context.headers) == (timestamp, headers)
            self.out.append(Forwarded(key, value, timestamp, headers, child))

        return capture

    # TaskServices

    @property
    def thread(self) -> int:
        return get_ident()

    def topic_name(self, topic: str) -> str:
        return topic

    def store(self, name: str) -> Any:
        return self.stores[name]

    def store_spec(self, name: str) -> StoreSpec:
        return self.specs[name]

    def value_getter(self, table: str) -> Any:
        raise NotImplementedError

    def node(self, name: str) -> Node:
        return Node(name=name, parents=(self.executor.node.name,))

    def children(self, name: str) -> Sequence[str]:
        return self._children

    def child(self, name: str) -> Forward | None:
        return self._capture(name) if name in self._children else None

    def is_global_store(self, name: str) -> bool:
        return name in self._global_stores

    def join_clock(self, name: str) -> JoinClock:
        raise NotImplementedError

    def unsettled(self, name: str) -> dict[bytes, bytes | None]:
        raise NotImplementedError

    def dropped(self, node: str, reason: str) -> None:
        assert node == self.executor.node.name
        self.drops.append(reason)

    def stream_time(self) -> int:
        return self._stream_time

    def system_time(self) -> int:
        return self.now

    def schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Punctuator,
        start_ms: int | None = None,
    ) -> Cancellable:
        if kind is PunctuationType.STREAM_TIME:
            return self.stream_punctuations.schedule(node, start_ms or 0, interval_ms, callback)
        first = self.now + interval_ms if start_ms is None else start_ms
        return self.wall_punctuations.schedule(node, first, interval_ms, callback)

    def request_commit(self) -> None:
        self.commit_requested = True


def timestamped_store(*, caching: bool = False) -> StoreSpec:
    return StoreSpec(name="store", kind=StoreKind.TIMESTAMPED_KEY_VALUE, caching=caching)


def window_store(size_ms: int, retention_ms: int, *, persistent: bool = False) -> StoreSpec:
    return StoreSpec(
        name="store",
        kind=StoreKind.TIMESTAMPED_WINDOW,
        persistent=persistent,
        window_size_ms=size_ms,
        retention_ms=retention_ms,
    )


def session_store(retention_ms: int, *, caching: bool = False) -> StoreSpec:
    return StoreSpec(
        name="store",
        kind=StoreKind.SESSION,
        persistent=False,
        retention_ms=retention_ms,
        caching=caching,
    )


def windowed(key: Any, start: int, end: int) -> Windowed[Any]:
    return Windowed(key, Window(start, end))


def joined(key: Any, value: Any, aggregate: str) -> str:
    """An aggregator that shows what it saw, in order."""
    text = "-" if value is None else value
    return f"{aggregate},{text}" if aggregate else text
