"""Some nodes wired together: a task for operators that need a table or a second arm beside them."""

from __future__ import annotations

from threading import get_ident
from typing import Any, NamedTuple

from penstock.kernel.executor import Executor, Forward
from penstock.kernel.registry import executor_for
from penstock.kernel.services import JoinClock
from penstock.kernel.value_getter import ValueGetter, value_getter_for
from penstock.kernel.wiring import to_all
from penstock.model.change import Change
from penstock.model.record import Headers, RecordContext
from penstock.model.task_id import TaskId
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import StoreEnvironment
from penstock.state.layers.cache import RecordCache
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Node, TableSource


class Out(NamedTuple):
    """What left the last node; of a change the new value."""

    key: Any
    value: Any
    timestamp: int


class SeveralNodes:
    """A task of these nodes. ``pipe`` enters at any of them; those without children give ``out``.

    ``changes`` has the changes as they came, ``headers`` the headers, ``drops`` why records went
    no further.
    """

    collector: Any = None
    failures: Any = None
    state_dir = None

    def __init__(
        self,
        *nodes: Node,
        stores: tuple[StoreSpec, ...] = (),
        cache_bytes: int = 0,
        wait_ms: int = 0,
    ) -> None:
        self.context = RecordContext(0, -1, -1, None)
        self.defaults = SerdeDefaults(Serdes.string(), Serdes.string())
        self.task_id = TaskId(0, 3)
        self.application_id = "app"
        self.configs: dict[str, Any] = {}
        self.emit_interval_ms = wait_ms
        self.now = 0
        self.out: list[Out] = []
        self.changes: list[Change] = []
        self.headers: list[Headers] = []
        self.drops: list[str] = []
        self._clocks: dict[str, JoinClock] = {}
        self._unsettled: dict[str, dict[bytes, bytes | None]] = {}
        environment = StoreEnvironment(
            context=self.context,
            defaults=self.defaults,
            engine=lambda name: MemoryStore(),
            changelog=lambda name: None,
            cache=RecordCache(cache_bytes) if cache_bytes else None,
        )
        self.specs = {spec.name: spec for spec in stores}
        self.stores: dict[str, Any] = {spec.name: open_store(spec, environment) for spec in stores}
        self._nodes = {node.name: node for node in nodes}
        self.executors: dict[str, Executor[Any]] = {
            node.name: executor_for(node)(node, self) for node in nodes
        }
        for executor in self.executors.values():
            executor.forward = to_all(self._children(executor.node.name))
        for executor in self.executors.values():
            executor.init()

    def pipe(
        self, node: str, key: Any, value: Any, timestamp: int, headers: Headers = ()
    ) -> list[Out]:
        """Processes one record; gives what came out of it."""
        context = self.context
        context.timestamp, context.headers = timestamp, headers
        context.topic, context.partition, context.offset = "in", 3, 0
        seen = len(self.out)
        self.executors[node].process(key, value, timestamp, headers)
        assert (context.timestamp, context.headers, context.topic) == (timestamp, headers, "in")
        return self.out[seen:]

    def _children(self, name: str) -> list[Forward]:
        children = [c for c, node in self._nodes.items() if name in node.parents]
        return [self._entry(child) for child in children] or [self._capture]

    def _entry(self, child: str) -> Forward:
        return lambda *record: self.executors[child].process(*record)

    def _capture(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        assert (self.context.timestamp, self.context.headers) == (timestamp, headers)
        if isinstance(value, Change):
            self.changes.append(value)
            value = value.new
        self.out.append(Out(key, value, timestamp))
        self.headers.append(headers)

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

    def value_getter(self, table: str) -> ValueGetter:
        return value_getter_for(self, table)

    def node(self, name: str) -> Node:
        return self._nodes[name]

    def is_global_store(self, name: str) -> bool:
        return False

    def children(self, node: str) -> list[str]:
        return []

    def child(self, name: str) -> Forward | None:
        raise NotImplementedError

    def join_clock(self, name: str) -> JoinClock:
        return self._clocks.setdefault(name, JoinClock())

    def unsettled(self, name: str) -> dict[bytes, bytes | None]:
        return self._unsettled.setdefault(name, {})

    def settle(self) -> None:
        for keys in self._unsettled.values():
            keys.clear()

    def dropped(self, node: str, reason: str) -> None:
        assert node in self._nodes
        self.drops.append(reason)

    def stream_time(self) -> int:
        return -1

    def system_time(self) -> int:
        return self.now

    def schedule(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def request_commit(self) -> None:
        raise NotImplementedError


def rows(name: str, *, caching: bool = False) -> StoreSpec:
    """A store of a table's rows."""
    kind = StoreKind.TIMESTAMPED_KEY_VALUE
    return StoreSpec(name=name, kind=kind, persistent=False, caching=caching)


def versions(name: str, history_ms: int = 1_000) -> StoreSpec:
    """A store of a versioned table's rows."""
    return StoreSpec(
        name=name,
        kind=StoreKind.VERSIONED_KEY_VALUE,
        history_retention_ms=history_ms,
        segment_interval_ms=10_000,
    )


def source(name: str, store: str | None = None, *, sends_old: bool = False) -> TableSource:
    """A table that ``pipe`` can fill."""
    return TableSource(name=name, store=store, sends_old=sends_old)


def pipe_joined(left: Any, right: Any) -> str:
    """A joiner that shows what it saw."""
    return f"{left}|{right}"
