"""Runs one record beside an application, over rows that are read from its stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.config import CACHE_MAX_BYTES, StreamsConfig
from penstock.errors import PenstockError
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.journey.decoding import Pair, store_spec, topic_decoders
from penstock.runtime.local.journey.node_trace import NodeTrace
from penstock.runtime.local.journey.watched_stores import WatchedStore
from penstock.runtime.local.outbox import Outbox
from penstock.runtime.settings import task_settings
from penstock.serving.journey.values import State, TopicRecord, Trace
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source
from penstock.topology.topology import Topology

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
        self._decoders = topic_decoders(topology.graph, task_settings(config))

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
        self.outbox = _WatchedOutbox(self.trace)

    def store(self, inner: Any) -> Any:
        """Return a store as nodes get it."""
        known = self._watched.get(inner.name)
        if known is None:
            spec = store_spec(self._graph, inner.name)
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

    def __init__(self, trace: NodeTrace) -> None:
        super().__init__()
        self._trace = trace
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
        if self._trace.step is not None and not topic.endswith("-changelog"):
            is_internal = topic in self._internal
            self._trace.sent(topic, key, value, timestamp, headers, is_internal=is_internal)


def _input(record: TopicRecord) -> tuple[str, bytes | None, bytes | None, int, Headers]:
    return record.topic, record.key, record.value, record.timestamp, record.headers


def _pipe(application: LocalApplication, record: TopicRecord) -> bool:
    """Process a record; return whether it went through."""
    try:
        application.pipe(*_input(record))
    except PenstockError:
        return False
    return True


def _has_windows(graph: Graph) -> bool:
    return any(spec.retention_ms for spec in graph.stores.values())
