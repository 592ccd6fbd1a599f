"""Runs one record beside an application, over rows that are read from its stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.config import CACHE_MAX_BYTES, StreamsConfig
from penstock.errors import PenstockError
from penstock.kernel.serdes import required_serde
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.journey.node_trace import NodeTrace
from penstock.runtime.local.journey.snapshot import snapshot
from penstock.runtime.local.journey.watched_stores import WatchedStore
from penstock.runtime.local.outbox import Outbox
from penstock.runtime.settings import task_settings
from penstock.serde.base import Serde
from penstock.serving.journey.values import Sending, State, TopicRecord, Trace
from penstock.state.spec import StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.topology import Topology

Pair = tuple[Serde[Any], Serde[Any]]

_NO_CLOCK = (
    "The time up to which the application had read is not known here, so it cannot be told whether"
    " a window was closed already for this record."
)
_CACHED = (
    "The application has a record cache, which may merge several updates of a key into one. There"
    " is none here: every update goes on at once."
)


class Sandbox:
    """Makes applications of one task that live for one record. Nothing outside is written.

    Functions of the program run again, except those of ``peek`` and ``foreach``.
    """

    def __init__(self, topology: Topology, config: StreamsConfig) -> None:
        self._topology, self._config = topology, config
        self._decoders = _decoders(topology.graph, config)

    def sources(self) -> dict[str, Pair]:
        """Return the topics that the application reads from others, with complete serdes."""
        graph, found = self._topology.graph, {}
        for node in graph.nodes.values():
            if isinstance(node, Source):
                for topic in node.topics:
                    if topic not in graph.internal_topics:
                        found[topic] = self._decoders[topic]
        return found

    def run(self, before: Sequence[TopicRecord], record: TopicRecord, state: State) -> Trace:
        """Run records in order, and return the trace of the last one."""
        watch = _Watch(self._topology.graph, state, self._decoders)
        names = {name: self._config[name] for name in self._config}
        names.pop("cache.max.bytes.buffering", None)
        config = StreamsConfig({**names, CACHE_MAX_BYTES.name: 0})
        application = LocalApplication(
            self._topology, config, record.timestamp, on_disk=False, watch=watch
        )
        try:
            failed = sum(not _pipe(application, each) for each in before)
            watch.trace.start()
            try:
                application.pipe(*_input(record))
            except PenstockError as error:
                watch.trace.trace.error = str(error)
            trace = watch.trace.finish()
        finally:
            application.close()
        trace.notes += watch.notes
        if failed:
            trace.notes.append(f"{failed} of the records before it failed here.")
        if _has_windows(self._topology.graph):
            trace.notes.append(_NO_CLOCK)
        if self._config.cache_max_bytes > 0 and self._topology.graph.stores:
            trace.notes.append(_CACHED)
        return trace


class _Watch:
    """What stands between a local application and its nodes, stores and output."""

    def __init__(self, graph: Graph, state: State, decoders: Mapping[str, Pair]) -> None:
        self.trace = NodeTrace(graph, decoders)
        #: Sentences about rows that are not known, each once.
        self.notes: dict[str, None] = {}
        self._state, self._graph = state, graph
        self._watched: dict[str, WatchedStore] = {}
        self.outbox = _WatchedOutbox(self.trace, decoders)

    def store(self, inner: Any) -> Any:
        """Return a store as nodes get it."""
        known = self._watched.get(inner.name)
        if known is None:
            spec = _spec(self._graph, inner.name)
            serdes = (None, None) if spec is None else (spec.key_serde, spec.value_serde)
            known = WatchedStore(inner, self.trace, self._state, self.notes, serdes)
            self._watched[inner.name] = known
        return known

    def attach(self, task: StreamTask) -> None:
        """Stand in front of the nodes of a task that has not run yet."""
        self.outbox.set_internal({task.topic_name(name) for name in self._graph.internal_topics})
        self.trace.attach(task)


class _WatchedOutbox(Outbox):
    """Notes what is sent with the step that sends it. Changelogs are noted with their stores."""

    def __init__(self, trace: NodeTrace, decoders: Mapping[str, Pair]) -> None:
        super().__init__()
        self._trace, self._decoders = trace, decoders
        self._internal: set[str] = set()

    def set_internal(self, topics: set[str]) -> None:
        self._internal = topics

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        super().send(topic, key, value, timestamp, headers, partition)
        step = self._trace.step
        if step is None or topic.endswith("-changelog"):
            return
        of_keys, of_values = self._decoders.get(topic, (None, None))
        step.sent.append(
            Sending(
                topic=topic,
                key=snapshot(_decoded(of_keys, topic, key, headers), of_keys),
                value=snapshot(_decoded(of_values, topic, value, headers), of_values),
                timestamp=timestamp,
                is_internal=topic in self._internal,
            )
        )


def _input(record: TopicRecord) -> tuple[str, bytes | None, bytes | None, int, Headers]:
    return record.topic, record.key, record.value, record.timestamp, record.headers


def _pipe(application: LocalApplication, record: TopicRecord) -> bool:
    """Process a record; return whether it went through."""
    try:
        application.pipe(*_input(record))
    except PenstockError:
        return False
    return True


def _decoded(serde: Serde[Any] | None, topic: str, data: bytes | None, headers: Headers) -> Any:
    if data is None:
        return None
    try:
        if serde is not None:
            return serde.deserialize(topic, data, headers)
    except Exception:  # noqa: BLE001 - any serde
        pass
    return data.decode("utf-8", "backslashreplace")


def _decoders(graph: Graph, config: StreamsConfig) -> dict[str, Pair]:
    """Return the serdes of every topic that a node names, under its real name."""
    settings, found = task_settings(config), {}
    for node in graph.nodes.values():
        names: tuple[str, ...] = ()
        if isinstance(node, Source):
            names = node.topics
        elif isinstance(node, Sink) and isinstance(node.topic, str):
            names = (node.topic,)
        for name in names:
            assert isinstance(node, Source | Sink)
            what, topic = f"node {node.name!r}", name
            if name in graph.internal_topics:
                topic = settings.topic(name)
            found[topic] = (
                required_serde(node.key_serde, settings.defaults, "key", what, node.site),
                required_serde(node.value_serde, settings.defaults, "value", what, node.site),
            )
    return found


def _spec(graph: Graph, name: str) -> StoreSpec | None:
    shared = graph.global_stores.get(name)
    return graph.stores.get(name) if shared is None else shared.spec


def _has_windows(graph: Graph) -> bool:
    return any(spec.retention_ms for spec in graph.stores.values())
