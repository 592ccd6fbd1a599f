"""The loop of a task: one partition of one sub-topology. Tests and Spark run the same code."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import nullcontext
from functools import wraps
from itertools import chain, islice, repeat
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from penstock.errors import StreamsError
from penstock.kernel.batch_run import BatchRun, Inputs
from penstock.kernel.clocks import Clocks, read_clocks, set_clocks
from penstock.kernel.collector import Collector
from penstock.kernel.executor import Executor, Forward
from penstock.kernel.failures import FailedProcessingError, Failures, processing_error
from penstock.kernel.observing.node_meter import NodeMeter
from penstock.kernel.observing.sensors import TaskSensors
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.processing_log import ProcessingLog
from penstock.kernel.punctuation import PunctuationQueue
from penstock.kernel.record_queue import (
    Decoder,
    Head,
    PartitionGroup,
    RawRecord,
    RecordQueue,
    Stop,
)
from penstock.kernel.services import JoinClock
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores, drops_by_store
from penstock.kernel.value_getter import ValueGetter, value_getter_for
from penstock.kernel.wiring import wire
from penstock.model.task_id import TaskId
from penstock.processor.context import Cancellable, PunctuationType, Punctuator
from penstock.processor.expression_failures import reporting_to
from penstock.state.spec import StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.nodes import Node, Sink, Source

if TYPE_CHECKING:
    # Columns need libraries that take a while to import.
    from penstock.kernel.columns.column_task import ColumnTask
    from penstock.kernel.columns.merge_order import Run

log = logging.getLogger(__name__)

#: Asking ``stop`` costs a twentieth of a fast record. So it is asked after each of the first
#: records, which shows whether records are slow, and after that once per so many records.
_ASKED_OFTEN = 16
_ASKED_EVERY = 32


P = ParamSpec("P")
T = TypeVar("T")


def running(
    method: Callable[Concatenate[StreamTask, P], T],
) -> Callable[Concatenate[StreamTask, P], T]:
    """Let processors forward on this thread while a method runs, and log failing expressions.

    Expressions that fail inside the method are written to the task's processing log.
    """

    @wraps(method)
    def call(self: StreamTask, /, *args: P.args, **kwargs: P.kwargs) -> T:
        before, self.thread = self.thread, get_ident()
        try:
            if self.log is None:
                return method(self, *args, **kwargs)
            with reporting_to(self.log.expression):
                return method(self, *args, **kwargs)
        finally:
            self.thread = before

    return call


class StreamTask:
    """Runs some nodes of a graph over some input partitions, one record at a time.

    Records go depth-first through the nodes, children in the order in which they were added. A task
    reads no clock: its caller tells it the time.
    """

    def __init__(
        self,
        task_id: TaskId,
        graph: Graph,
        nodes: Iterable[str],
        *,
        settings: TaskSettings,
        collector: Collector,
        stores: TaskStores,
        wall_clock: Callable[[], int],
        meter: NodeMeter | None = None,
        sensors: TaskSensors | None = None,
    ) -> None:
        self.task_id = task_id
        self.meter = meter
        self.settings = settings
        # Without sensors of the caller, rates follow the clock that it moves, as in a test.
        self.sensors = sensors or TaskSensors(
            settings.recording_level, settings.samples, lambda: wall_clock() / 1000
        )
        self.collector = collector
        self.defaults = settings.defaults
        self.application_id = settings.application_id
        self.configs = settings.configs
        self.emit_interval_ms = settings.emit_interval_ms
        self.context = stores.context
        #: The processing log; ``None`` if the settings ask for none.
        self.log = (
            None
            if settings.processing_log is None
            else ProcessingLog(settings.processing_log, self)
        )
        self.failures = Failures(self)
        #: The record that is being processed; ``None`` in a punctuation.
        self.current: RawRecord | None = None
        self.thread: int | None = None
        self.dropped_records: Counter[tuple[str, str]] = Counter()
        #: Told of the node, the reason and the record of each drop; records over columns are only
        #: counted.
        self.on_dropped: Callable[[str, str, RawRecord | None], None] | None = None
        self.consumed_offsets: dict[tuple[str, int], int] = {}
        self.commit_requested = False
        #: Whether a record that the last flush has committed had asked for a commit.
        self.commit_was_requested = False
        self._graph = graph
        self._stores = stores
        self._wall_clock = wall_clock
        self._group = PartitionGroup()
        self._stream_punctuations = PunctuationQueue()
        self._wall_punctuations = PunctuationQueue()
        self._join_clocks: dict[str, JoinClock] = {}
        self._unsettled: dict[str, dict[bytes, bytes | None]] = {}
        self._executors: dict[str, Executor[Any]] = {}
        self._edges: dict[str, Forward] = {}
        #: The column executors of the same nodes, if the caller has planned them.
        self.columns: ColumnTask | None = None
        #: By node, what replays the calls of islands that begin with it: one for each input.
        self.replays: dict[str, list[Any]] = {}
        self._drops_by_store = drops_by_store(graph)
        stores.use_clocks(self.stream_time, wall_clock)
        stores.report_expired(self._expired_in)
        self._wire(nodes)
        self._waiting = [each for each in self._executors.values() if each.waits]

    @running
    def _wire(self, nodes: Iterable[str]) -> None:
        guards = self._guards = wire(self, self._graph, nodes, self._executors, self._edges)
        if self.meter is not None:
            self.meter.attach(guards, self._executors)

    # Input

    def add_queue(self, name: str, source: str, decode: Decoder | None = None) -> None:
        """Add an input partition: records that are added under this name enter at that source."""
        node = self._graph.nodes[source]
        assert isinstance(node, Source)
        decode = decode or SourceDecoder(node, self).decode
        self._group.queues[name] = RecordQueue(name, source, decode)

    def has_queue(self, name: str) -> bool:
        return name in self._group.queues

    def add_records(self, queue: str, records: Iterable[RawRecord]) -> None:
        self._group.add(queue, records)

    def next_offsets(self, queue: str, count: int) -> range:
        """Return offsets for records that come from no topic; they continue from batch to batch."""
        counted = self._group.queues[queue]
        first = counted.received
        counted.received += count
        return range(first, counted.received)

    @property
    def has_records(self) -> bool:
        return self._group.has_records

    # Processing

    @running
    def process_next(self) -> None:
        """Process the record with the smallest timestamp through the whole sub-topology."""
        queue, head = self._group.next()
        self._process(queue, (head,))

    @running
    def process_all(self, stop: Stop | None = None) -> None:
        """Process all queued records, each followed by the punctuations that it makes due.

        No records are added meanwhile. Processing ends early if ``stop``, asked between records,
        returns true. It also ends if a truncated queue is empty, because its next record might be
        the oldest.
        """
        group, is_stopped = self._group, False
        while group.has_records and not is_stopped:
            queue = group.take_only()
            if queue is None:
                queue, head = group.next()
                self._process_chunk(queue, (head,))
                is_cut = queue.is_truncated and queue.head is None
                is_stopped = is_cut or (stop is not None and stop())
            else:
                # There is no other input whose timestamps have to be compared.
                try:
                    is_stopped = self._drain(queue, stop)
                finally:
                    group.put_back(queue)

    def _drain(self, queue: RecordQueue, stop: Stop | None) -> bool:
        """Process the records of one queue; return true if ``stop`` has ended that."""
        heads = queue.drain()
        if stop is None:
            self._process_chunk(queue, heads)
            return False
        for count in chain(repeat(1, _ASKED_OFTEN), repeat(_ASKED_EVERY)):
            self._process_chunk(queue, islice(heads, count))
            if queue.head is None or stop():
                break
        return queue.head is not None

    def _process_chunk(self, queue: RecordQueue, heads: Iterable[Head]) -> None:
        """Process some records, each followed by the punctuations that it makes due."""
        meter = self.meter
        if meter is None or self._is_replaying or not meter.is_due():
            self._process(queue, heads, punctuates=True)
            return
        with meter.chunk(queue.source) as counted:
            self._process(queue, counted(heads), punctuates=True)

    def _process(
        self, queue: RecordQueue, heads: Iterable[Head], *, punctuates: bool = False
    ) -> None:
        """Process records in a loop; whatever does not change is looked up before the loop."""
        context, group, schedules = self.context, self._group, self._stream_punctuations
        forward = self._executors[queue.source].forward
        source = self._graph.nodes[queue.source]
        raw: RawRecord | None = None
        for raw, key, value, timestamp in heads:
            if timestamp < 0:
                continue
            if timestamp > group.stream_time:
                group.stream_time = timestamp
            context.topic, context.partition, context.offset, _, raw_key, _, headers = raw
            context.timestamp, context.headers = timestamp, headers
            self.current = raw
            try:
                forward(key, value, timestamp, headers)
            except FailedProcessingError as failed:
                raise processing_error(failed, raw_key) from failed.error
            except Exception as error:
                at_source = FailedProcessingError(source, error, context)
                raise processing_error(at_source, raw_key) from error
            if punctuates and schedules.is_used:
                self.punctuate_stream_time()
        if raw is not None:
            self.consumed_offsets[raw[0], raw[1]] = raw[2]

    @running
    def run_batch(
        self,
        inputs: Inputs,
        *,
        truncated: Set[str] = frozenset(),
        stop: Stop | None = None,
    ) -> dict[str, int]:
        """Run a batch up to its commit, over columns where the result is provably the same.

        Return by queue how many records are consumed: processed, skipped or dropped. The task
        forgets the others, and the next batch has to begin with them. A cut changes no result:
        records come in the order of the whole batch.

        Args:
            inputs: The records of each queue.
            truncated: Queues whose topics have more records. As soon as one of them is empty and
                another one is not, no more records are processed. So a truncated queue for which
                no records are given keeps the others waiting.
            stop: Asked after each of the first records and then after every 32nd. With several
                inputs it is asked after every record, and over columns between pieces if there is
                one input. Once it has returned true, no more records are processed. At least one
                always is.
        """
        try:
            consumed = BatchRun(self, self._group, truncated, stop).run(inputs)
            self._end_batch(consumed)
        finally:
            self._end_replay()
        return consumed

    @running
    def run_in_order(self, inputs: Inputs, runs: Sequence[Run]) -> None:
        """Run a batch in an order that the caller has decided, up to its commit.

        It runs over columns where the result is provably the same.

        Args:
            inputs: The records of each queue; none of them is empty.
            runs: Which records of which input come next, until all have come.
        """
        try:
            self._end_batch(BatchRun(self, self._group, runs=runs).run(inputs))
        finally:
            self._end_replay()

    def _end_batch(self, consumed: Mapping[str, int]) -> None:
        # Record by record, this is done after each record. Over columns, only nodes of other
        # sub-topologies can have asked for it.
        self.punctuate_stream_time()
        self.punctuate_wall_clock()
        if self.meter is None:
            self.flush()
            return
        with nullcontext() if self._is_replaying else self.meter.flush():
            self.flush()
        by_source: Counter[str] = Counter()
        for name, count in consumed.items():
            by_source[self._group.queues[name].source] += count
        self.meter.end_batch(by_source)

    @property
    def _is_replaying(self) -> bool:
        """Whether nodes repeat what they did before a batch was given up: it is not measured."""
        return self.columns is not None and self.columns.is_replaying

    def _end_replay(self) -> None:
        if self.columns is not None:
            self.columns.end_replay()

    @running
    def punctuate_stream_time(self) -> bool:
        """Run the callbacks that are due by stream time; return true if there were any."""
        now = self._group.stream_time
        if self._is_replaying:
            # A processor has asked for calls at a record that is still to come.
            return False
        return now >= 0 and self._stream_punctuations.run_due(now, self._punctuate)

    @running
    def punctuate_wall_clock(self) -> bool:
        """Run the callbacks that are due by the wall clock; return true if there were any."""
        return self._wall_punctuations.run_due(self._wall_clock(), self._punctuate)

    @running
    def flush(self) -> None:
        """Flush the caches to later nodes and into the stores: the first half of a commit."""
        self._release_waiting()
        try:
            self._stores.flush()
            # What left a cache may wait again, and what waited may enter a cache.
            while self._release_waiting():
                self._stores.flush()
        except FailedProcessingError as failed:
            when = ", whose result left a cache at a commit"
            raise processing_error(failed, when=when) from failed.error
        self.commit_was_requested = self.commit_requested
        self.commit_requested = False

    def _release_waiting(self) -> bool:
        """Forward the records that wait in nodes; return true if there were any."""
        were_there = False
        try:
            for each in self._waiting:
                were_there |= each.drain()
        except FailedProcessingError as failed:
            raise processing_error(failed) from failed.error
        return were_there

    def settle(self) -> None:
        """Tell the executors that no message of the application is on its way between tasks."""
        for keys in self._unsettled.values():
            keys.clear()

    def clocks(self) -> Clocks:
        """Return every clock and schedule, to be committed together with the stores."""
        return read_clocks(*self._timekeepers())

    def set_clocks(self, noted: Clocks) -> None:
        """Continue where a task with the same nodes stopped."""
        set_clocks(noted, *self._timekeepers())

    def take_over(self, other: StreamTask) -> None:
        """Continue where another kernel of the same task and its stores has ended a batch."""
        self.set_clocks(other.clocks())
        for name, keys in other._unsettled.items():
            self.unsettled(name).update(keys)

    @property
    def has_stream_time_punctuations(self) -> bool:
        return self._stream_punctuations.is_used

    @property
    def has_wall_clock_punctuations(self) -> bool:
        return self._wall_punctuations.next_time() is not None

    def _timekeepers(
        self,
    ) -> tuple[
        PartitionGroup,
        dict[str, Executor[Any]],
        dict[str, JoinClock],
        PunctuationQueue,
        PunctuationQueue,
    ]:
        return (
            self._group,
            self._executors,
            self._join_clocks,
            self._stream_punctuations,
            self._wall_punctuations,
        )

    def close(self) -> None:
        """Close every processor, then every store, even if one of them fails."""
        try:
            self.close_processors()
        finally:
            self._stores.close()

    @running
    def close_processors(self) -> None:
        """Close every processor, even if one of them fails; the stores stay open."""
        failure: StreamsError | None = None
        for executor in self._executors.values():
            node = executor.node
            try:
                executor.close()
            except Exception as error:
                log.exception("node %r failed to close", node.name)
                message = f"node {node.name!r} failed to close: {error!r}"
                if failure is None:
                    failure = StreamsError("close", message, "make close() succeed", node.site)
                    failure.__cause__ = error
        if failure is not None:
            raise failure

    def sink_topics(self) -> dict[str, str]:
        """Return the topic of each sink that always writes to the same one, under its real name."""
        nodes = [executor.node for executor in self._executors.values()]
        return {
            node.name: self.topic_name(node.topic)
            for node in nodes
            if isinstance(node, Sink) and node.topic is not None
        }

    # What executors ask for (``TaskServices``)

    def store(self, name: str) -> Any:
        return self._stores[name]

    def flushed_stores(self) -> list[str]:
        """Return the task's stores in the order in which a commit flushes them."""
        return [*self._stores.own]

    def store_spec(self, name: str) -> StoreSpec:
        """Return the description of a store of this task's graph."""
        return self._graph.stores[name]

    def value_getter(self, table: str) -> ValueGetter:
        return value_getter_for(self, table)

    def is_global_store(self, name: str) -> bool:
        return name in self._graph.global_stores

    def children(self, node: str) -> list[str]:
        return self._graph.children(node)

    @property
    def state_dir(self) -> Path | None:
        return self.settings.state_dir

    def node(self, name: str) -> Node:
        return self._graph.nodes[name]

    def find_node(self, name: str) -> Node | None:
        """Return a node, or ``None`` if there is none of that name."""
        return self._graph.nodes.get(name)

    def child(self, name: str) -> Forward | None:
        return self._edges.get(name)

    @property
    def executors(self) -> Iterable[Executor[Any]]:
        """The executors of all nodes, in the order of the graph."""
        return self._executors.values()

    def divert(self, node: str, process: Forward | None) -> None:
        """Let another function process the records of a node; ``None`` ends that."""
        self._guards[node].bind(process or self._executors[node].process)

    def join_clock(self, name: str) -> JoinClock:
        return self._join_clocks.setdefault(name, JoinClock())

    def unsettled(self, name: str) -> dict[bytes, bytes | None]:
        return self._unsettled.setdefault(name, {})

    def operator_clock(self, node: str) -> OperatorClock:
        clock: OperatorClock = self._executors[node].clock  # type: ignore[attr-defined]
        return clock

    def dropped(self, node: str, reason: str, raw: RawRecord | None = None) -> None:
        self.dropped_records[node, reason] += 1
        if self.on_dropped is not None:
            self.on_dropped(node, reason, raw or self.current)
        if self.log is not None:
            self.log.dropped(node, reason, raw)

    def _expired_in(self, store: str) -> None:
        """Count a record that a store has refused, unless another node has counted it."""
        drop = self._drops_by_store.get(store)
        if drop is not None:
            self.dropped(*drop)

    def stream_time(self) -> int:
        return self._group.stream_time

    def set_stream_time(self, time: int) -> None:
        """Show processors the stream time of a record that a batch over columns has come to."""
        self._group.stream_time = time

    def system_time(self) -> int:
        return self._wall_clock()

    def topic_name(self, topic: str) -> str:
        is_internal = topic in self._graph.internal_topics
        return self.settings.topic(topic) if is_internal else topic

    def schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Punctuator,
        start_ms: int | None = None,
    ) -> Cancellable:
        is_stream = kind is PunctuationType.STREAM_TIME
        queue = self._stream_punctuations if is_stream else self._wall_punctuations
        if start_ms is not None:
            return queue.schedule(node, start_ms, interval_ms, callback, is_anchored=True)
        # Stream time may still be unknown. Then the first record fires the callback.
        first = 0 if is_stream else self._wall_clock() + interval_ms
        return queue.schedule(node, first, interval_ms, callback)

    def request_commit(self) -> None:
        self.commit_requested = True

    def _punctuate(self, node: str, time: int, callback: Punctuator) -> None:
        context = self.context
        context.timestamp, context.offset, context.partition = time, -1, -1
        context.topic, context.headers = None, ()
        self.current = None
        try:
            callback(time)
        except FailedProcessingError as failed:
            raise processing_error(failed) from failed.error
        except Exception as error:  # noqa: BLE001 - user code; the handler decides
            try:
                self.failures.punctuation(self._graph.nodes[node], error)
            except FailedProcessingError as failed:
                raise processing_error(failed) from failed.error
