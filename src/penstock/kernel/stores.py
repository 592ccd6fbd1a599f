"""The stores of one task: opened in the order of Kafka Streams, flushed and closed together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.errors import UnknownStoreError
from penstock.kernel.collector import Collector
from penstock.kernel.settings import TaskSettings
from penstock.model.record import Headers, RecordContext
from penstock.model.rules.drop_reasons import EXPIRED_VERSION, EXPIRED_WINDOW
from penstock.state.bytes_store import BytesStore
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.layers.cache import RecordCache
from penstock.state.layers.large_rows import warns_of_large_rows
from penstock.state.layers.metered import Metrics
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.java_order import hash_order
from penstock.topology.nodes import Process, StreamJoinWindow, TableNode

#: Opens the ordered map behind a persistent store.
Engine = Callable[[str], BytesStore]
#: A node, and the reason under which it counts the record.
Drop = tuple[str, str]


class CollectorChangelog:
    """Sends a store's writes to its changelog topic, into the task's own partition."""

    __slots__ = ("_partition", "_send", "_topic")

    def __init__(self, collector: Collector, topic: str, partition: int) -> None:
        self._send = collector.send
        self._topic = topic
        self._partition = partition

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        self._send(self._topic, key, value, timestamp, headers, self._partition)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self.append(key, value, timestamp)


class TaskStores:
    """Owns the open stores of a task; global stores belong to the global task.

    If a ``cache`` is given, the task shares it with others. Otherwise the task makes its own.
    ``metrics`` receive the duration of every operation. If it is ``None``, nothing is measured.
    ``around`` stands between a store and the nodes that ask for it from then on.
    """

    def __init__(
        self,
        specs: Iterable[StoreSpec],
        *,
        settings: TaskSettings,
        engine: Engine,
        changelog: Callable[[str], Changelog | None],
        global_stores: Mapping[str, Any] | None = None,
        cache: RecordCache | None = None,
        metrics: Metrics | None = None,
        around: Callable[[Any], Any] | None = None,
    ) -> None:
        self.around = around
        self.context = RecordContext(0, -1, -1, None)
        if cache is None:
            cache = open_cache(settings)
        specs = list(specs)
        by_name = {spec.name: spec for spec in specs}
        self._environment = StoreEnvironment(
            context=self.context,
            defaults=settings.defaults,
            engine=engine,
            changelog=lambda name: warns_of_large_rows(by_name[name], changelog(name)),
            cache=cache,
            changelog_topic=settings.changelog_topic,
            configs=settings.configs,
        )
        self._global = dict(global_stores or {})
        self._own = {
            spec.name: open_store(spec, self._environment, metrics=metrics) for spec in specs
        }

    def __getitem__(self, name: str) -> Any:
        store = self._own.get(name) or self._global.get(name)
        if store is None:
            known = ", ".join(repr(known) for known in (*self._own, *self._global)) or "none"
            raise UnknownStoreError(
                "unknown-store", f"there is no state store {name!r}; the task has {known}"
            )
        return store if self.around is None else self.around(store)

    @property
    def own(self) -> Mapping[str, Any]:
        return self._own

    def use_clocks(self, stream_time: Callable[[], int], wall_clock: Callable[[], int]) -> None:
        """Let rows with a time to live expire by these clocks."""
        self._environment.stream_time = stream_time
        self._environment.wall_clock = wall_clock

    def report_expired(self, expired: Callable[[str], None]) -> None:
        """Call ``expired`` with a store's name for each record that is too old for the store."""
        self._environment.expired = expired

    def flush(self) -> None:
        for store in self._own.values():
            store.flush()

    def close(self) -> None:
        for store in self._own.values():
            store.close()


def open_cache(settings: TaskSettings) -> RecordCache | None:
    """Return a record cache of the configured size, or ``None`` if caches are switched off."""
    return RecordCache(settings.cache_max_bytes) if settings.cache_max_bytes > 0 else None


def task_store_specs(graph: Graph, nodes: Iterable[str]) -> list[StoreSpec]:
    """Return the stores of these nodes, in the order in which Kafka Streams opens and flushes."""
    names = dict.fromkeys(s for n in nodes for s in hash_order(graph.nodes[n].stores))
    return [graph.stores[name] for name in names if name in graph.stores]


def drops_by_store(graph: Graph) -> dict[str, Drop]:
    """Return by store which node counts a record that the store refuses as too old.

    These are the stores of joins, versioned tables and processors.

    The stores of windowed aggregations are not among them. Aggregations count such records before
    they write. What a cache writes later, when its window has expired meanwhile, was not dropped:
    it has been emitted.
    """
    found: dict[str, Drop] = {}
    taken: set[str] = set()
    for name, node in graph.nodes.items():
        if isinstance(node, StreamJoinWindow):
            found.setdefault(node.store, (name, EXPIRED_WINDOW))
        elif isinstance(node, TableNode) and node.store is not None:
            taken.add(node.store)
            if _is_versioned(graph, node.store):
                found.setdefault(node.store, (name, EXPIRED_VERSION))
    for name, node in graph.nodes.items():
        for store in node.stores if isinstance(node, Process) else ():
            if store not in taken:
                reason = EXPIRED_VERSION if _is_versioned(graph, store) else EXPIRED_WINDOW
                found.setdefault(store, (name, reason))
    return found


def _is_versioned(graph: Graph, store: str) -> bool:
    spec = graph.stores.get(store)
    return spec is not None and spec.kind is StoreKind.VERSIONED_KEY_VALUE
