"""Traces the watched records of one task: counterpart of ``slot_traces``.

Without a watch nothing of this runs. A task that meets a watched record gets a kernel whose nodes,
stores and output are noted, and runs record by record until the watch ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from penstock.kernel.collector import Collector
from penstock.kernel.executor import Executor, Forward
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.settings import TaskSettings
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.local.journey.decoding import store_spec, topic_decoders
from penstock.runtime.local.journey.live_stores import LiveStore
from penstock.runtime.local.journey.node_trace import NodeTrace
from penstock.runtime.spark.exchange.trace_mark import TraceMark, without_marks
from penstock.runtime.spark.worker.traces.slot_traces import MOST_WAITING, SlotTraces
from penstock.serving.journey.values import LiveTrace, Origin, RecordWatch, TopicRecord, Trace
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

_CACHED = (
    "What it changed waits in the record cache until the commit, which may merge it with later"
    " updates of the key. What the commit then sends on is not part of this trace."
)

#: What distinguishes a record among those of a batch.
_Identity = tuple[str, int, int, bytes | None, bytes | None]


class TaskTraces:
    """Traces the watched records of one task.

    Each batch begins with ``choose``. What is traced is handed on when the batch is committed.
    """

    def __init__(
        self, slot: SlotTraces, task: TaskId, graph: Graph, settings: TaskSettings
    ) -> None:
        self._slot, self._task, self._graph, self._settings = slot, task, graph, settings
        has_cache = settings.cache_max_bytes > 0
        self._cached = {s.name for s in graph.stores.values() if has_cache and s.caching}
        self._internal = {settings.topic(name) for name in graph.internal_topics}
        #: Notes what the nodes of the kernel do; None while the kernel is an ordinary one.
        self._notes: NodeTrace | None = None
        self._marks: dict[_Identity, TraceMark] = {}
        #: The mark of the record that is being traced.
        self._mark: TraceMark | None = None
        self._uncommitted: list[tuple[TraceMark, LiveTrace]] = []

    @property
    def is_attached(self) -> bool:
        """Whether the kernel is one whose nodes are noted."""
        return self._notes is not None

    def choose(
        self, inputs: Sequence[tuple[str, RawColumns]]
    ) -> tuple[list[tuple[str, RawColumns]], bool]:
        """Choose the records of a batch that are traced.

        Return the inputs without marks, and whether the kernel has to be one that is noted.
        """
        self._marks.clear()
        watches = self._slot.watches() if self._slot.is_on else {}
        found = []
        for queue, columns in inputs:
            plain, marks = without_marks(columns)
            found.append((queue, plain))
            if watches:
                self._choose(plain, marks, watches)
        return found, bool(watches) and (self.is_attached or bool(self._marks))

    def _choose(
        self, columns: RawColumns, marks: dict[int, TraceMark], watches: dict[str, RecordWatch]
    ) -> None:
        for place, mark in marks.items():
            names = tuple(name for name in mark.watches if name in watches)
            if names:
                raw = columns.record(place)
                self._marks[_identity(raw)] = TraceMark(mark.origin, names)
        for name, watch in watches.items():
            places = _places(columns, watch)
            for place in islice(places, MOST_WAITING):
                raw = columns.record(place)
                known = self._marks.get(_identity(raw))
                names = (name,) if known is None else (*known.watches, name)
                origin = Origin(raw.topic, raw.partition, raw.offset)
                self._marks[_identity(raw)] = TraceMark(origin, names)
            self._slot.miss(name, sum(1 for _ in places))

    # A kernel that is noted

    def begin(self) -> None:
        """Note the nodes of the next kernel."""
        decoders = topic_decoders(self._graph, self._settings)
        self._notes = NodeTrace(self._graph, decoders, calls_all=True)

    def end(self) -> None:
        """Let the next kernel be an ordinary one."""
        self._notes = self._mark = None
        self._marks.clear()

    def store(self, inner: Any) -> Any:
        """Return a store as the nodes of the kernel get it."""
        if self._notes is None:
            return inner
        spec = store_spec(self._graph, inner.name)
        serdes = (None, None) if spec is None else (spec.key_serde, spec.value_serde)
        return LiveStore(inner, self._notes, serdes)

    def output(self, inner: Collector) -> Collector:
        """Return the output of the kernel."""
        return inner if self._notes is None else _NotedOutput(inner, self)

    def attach(self, kernel: StreamTask) -> None:
        """Stand between the nodes of a kernel that has not run yet."""
        if self._notes is None:
            return
        self._notes.attach(kernel)
        for executor in kernel.executors:
            if isinstance(executor.node, Source):
                executor.forward = self._from_source(kernel, executor, self._notes)

    def _from_source(
        self, kernel: StreamTask, executor: Executor[Any], notes: NodeTrace
    ) -> Forward:
        name, forward = executor.node.name, executor.forward

        def enter(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            raw = kernel.current
            mark = None if raw is None else self._marks.pop(_identity(raw), None)
            if raw is None or mark is None:
                forward(key, value, timestamp, headers)
                return
            self._mark = mark
            notes.start()
            notes.enter_source(name, key, value, timestamp)
            try:
                forward(key, value, timestamp, headers)
            finally:
                self._mark = None
                self._keep(mark, raw, notes.finish())

        return enter

    def _keep(self, mark: TraceMark, raw: Sequence[Any], trace: Trace) -> None:
        topic, partition, offset, timestamp, key, value = raw[:6]
        record = TopicRecord(
            topic=topic, partition=partition, offset=offset, timestamp=timestamp, key=key,
            value=value,
        )  # fmt: skip
        written = {each.store for step in trace.steps for each in step.accesses if each.before}
        if not written.isdisjoint(self._cached):
            trace.notes.append(_CACHED)
        found = LiveTrace(origin=mark.origin, task=str(self._task), record=record, trace=trace)
        self._uncommitted.append((mark, found))

    def sent(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> Headers:
        """Note a record that is sent; return the headers with which it is."""
        mark, is_internal = self._mark, topic in self._internal
        if mark is None or self._notes is None:
            return headers
        self._notes.sent(topic, key, value, timestamp, headers, is_internal=is_internal)
        return (*headers, mark.header()) if is_internal else headers

    # The end of a batch

    def committed(self) -> None:
        """Hand on what was traced since the last commit."""
        for mark, trace in self._uncommitted:
            self._slot.add(mark.watches, trace)
        self._uncommitted.clear()

    def forget(self) -> None:
        """Forget it: the batch has failed, and runs again."""
        self._uncommitted.clear()


class _NotedOutput:
    """Notes each record that the nodes of a task send."""

    def __init__(self, inner: Collector, traces: TaskTraces) -> None:
        self._inner, self._traces = inner, traces
        self.partitions = inner.partitions

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        headers = self._traces.sent(topic, key, value, timestamp, headers)
        self._inner.send(topic, key, value, timestamp, headers, partition)


def _places(columns: RawColumns, watch: RecordWatch) -> Iterator[int]:
    """Return the places of the records that a watch asks for."""
    if columns.topic != watch.topic:
        return
    for place, key in enumerate(columns.keys):
        if watch.key is not None and key != watch.key:
            continue
        if watch.every == 1 or columns.offsets[place] % watch.every == 0:
            yield place


def _identity(raw: RawRecord) -> _Identity:
    return raw[0], raw[2], raw[3], raw[4], raw[5]
