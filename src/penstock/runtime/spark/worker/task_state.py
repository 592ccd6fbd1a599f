"""One stream task on a worker: its stores as of the last commit, its kernel, its changelogs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import StoreError
from penstock.kernel.clocks import Clocks, fitting
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.observing.node_meter import NodeMeter
from penstock.kernel.observing.sensors import TaskSensors
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores, open_cache, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.bundles import Sent
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.stage_request import StageRequest
from penstock.runtime.spark.worker.measures import StoreTimes
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.restoration import Replay, Restoration
from penstock.runtime.spark.worker.task_databases import AsRead, TaskDatabases, seen_by
from penstock.runtime.spark.worker.task_output import TaskOutput
from penstock.runtime.spark.worker.traces.slot_traces import SlotTraces
from penstock.runtime.spark.worker.traces.task_traces import TaskTraces
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.state.layers.cache import RecordCache
from penstock.topology.nodes import Source

log = logging.getLogger(__name__)

#: A restore of more records than this does not hold up the other tasks of its slot.
AT_ONCE = 200_000


class Watermarks(Protocol):
    """Return the first and the next offset that a reader of committed records can see."""

    def __call__(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]: ...


class _OutputChangelog:
    """Pass a store's writes to the task's output, which logs each key once per run."""

    __slots__ = ("_log", "_log_all", "_store")

    def __init__(self, output: TaskOutput, store: str) -> None:
        self._log = output.log
        self._log_all = output.log_all
        self._store = store

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        self._log(self._store, key, value, timestamp, headers)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        self._log_all(self._store, keys, values, timestamps)


class TaskState:
    """A stream task, which stays open between batches.

    Invariant: while ``is_ready``, its stores contain exactly what is committed.
    """

    def __init__(
        self,
        task_id: TaskId,
        plan: Plan,
        settings: TaskSettings,
        output: TaskOutput,
        directory: Path,
        global_stores: Mapping[str, Any],
        open_engine: OpenEngine = open_rocks,
        traces: SlotTraces | None = None,
    ) -> None:
        self.task_id = task_id
        self.output = output
        self.is_ready = False
        self.may_use_columns = True
        self._plan = plan
        self._settings = settings
        self._global_stores = global_stores
        self._part = plan.subtopologies[task_id.subtopology]
        self.databases = TaskDatabases(task_id, plan, settings, directory, open_engine)
        self._clock_ms = 0
        self._sources = self._source_by_topic()
        self._stores: TaskStores | None = None
        self.kernel: StreamTask | None = None
        self._cache: RecordCache | None = None
        self._restoration: Restoration | None = None
        #: When the present restore began, and the stores that it fills.
        self._restores: tuple[int, list[str]] | None = None
        samples = settings.store_samples
        self._traces = TaskTraces(traces or SlotTraces(), task_id, plan.graph, settings)
        #: The durations of store operations; None if they are not measured.
        self.times = None if samples is None else StoreTimes(*samples)
        #: What processors measure; kept when the kernel is made again.
        self.sensors = TaskSensors(settings.recording_level, settings.samples, time.monotonic)

    # Getting ready

    def prepare(
        self,
        request: StageRequest,
        clocks: Clocks | None,
        marks: Watermarks,
        new_reader: Callable[[], Reader],
    ) -> list[Replay]:
        """Open the stores; return what has to be read before ``restored`` makes the task ready.

        A long restore runs in the background instead. The task is not ready until a later call
        finds that the restore is complete.

        Args:
            new_reader: makes the reader of a background restore.
        """
        self._clock_ms = request.clock_ms
        if self.is_ready:
            return []
        if self._restoration is not None:
            if self._restoration.is_done:
                restoration, self._restoration = self._restoration, None
                restoration.finish()
                self.restored()
            return []
        began = time.perf_counter_ns()
        self._reopen(clocks)
        replays = self._replays(request, marks)
        if self.databases.is_emptied:
            self.databases.is_emptied = False
            self._reopen(clocks)
            replays = self._replays(request, marks)
        self._restores = began, [each.store.name for each in replays if each.offsets]
        if sum(len(each.offsets) for each in replays) > AT_ONCE:
            batch = request.batch - 1
            self._restoration = Restoration(self.databases, replays, batch, new_reader)
            return []
        if not replays:
            self.restored()
        return replays

    def restored(self) -> None:
        """Note that the stores contain what is committed."""
        if self.times is not None and self._restores:
            began, stores = self._restores
            for store in stores:
                self.times.record(store, "restore", time.perf_counter_ns() - began)
        self._restores = None
        self.output.forget_changelogs()
        self.is_ready = True

    def changelogs(self) -> Iterator[tuple[TopicPartition, bool]]:
        """Return the changelogs of the task's stores, and whether each is the application's own."""
        sources = self._plan.graph.source_changelogs
        for name in self._part.stores(self._plan.graph):
            topic = self.databases.changelog_of(name)
            if topic is not None:
                yield (topic, self.task_id.partition), name not in sources

    @property
    def is_restoring(self) -> bool:
        """Whether the stores are being read back in the background."""
        return self._restoration is not None

    def changelog_ends(self) -> dict[TopicPartition, int]:
        """Return where the task's changelogs end after its last commit, also during a restore."""
        restoration = self._restoration
        return self.databases.changelog_ends(None if restoration is None else restoration.ends)

    def _stop_restoring(self) -> None:
        restoration, self._restoration = self._restoration, None
        if restoration is not None:
            restoration.stop()

    def _reopen(self, clocks: Clocks | None) -> None:
        self.close_kernel()
        self.databases.discard()
        nodes = [name for name in self._plan.graph.nodes if name in self._part.nodes]
        self._cache = open_cache(self._settings)
        self._stores = TaskStores(
            task_store_specs(self._plan.graph, nodes),
            settings=self._settings,
            engine=self.databases.engine,
            changelog=self._changelog,
            global_stores=self._global_stores,
            cache=self._cache,
            metrics=self.times,
        )
        self._traces.end()
        kernel = self._make_kernel(NodeMeter(time.perf_counter_ns))
        # If the topology has changed, the task's number may now belong to another sub-topology.
        fit = None if clocks is None else fitting(clocks, set(self._sources), set(nodes))
        if fit is not None:
            for queue in fit["partitions"]:
                self._queue(queue)
            kernel.set_clocks(fit)

    def _make_kernel(self, meter: NodeMeter) -> StreamTask:
        """Make the kernel over the open stores; it begins with no clocks."""
        assert self._stores is not None
        nodes = [name for name in self._plan.graph.nodes if name in self._part.nodes]
        traces = self._traces
        self._stores.around = traces.store if traces.is_attached else None
        self.kernel = StreamTask(
            self.task_id, self._plan.graph, nodes, settings=self._settings,
            collector=traces.output(self.output), stores=self._stores,
            wall_clock=lambda: self._clock_ms, meter=meter, sensors=self.sensors,
        )  # fmt: skip
        traces.attach(self.kernel)
        if self.may_use_columns and not traces.is_attached:
            self.kernel.columns = column_task(self.kernel, nodes)
        return self.kernel

    def _note_nodes(self, *, is_noted: bool) -> StreamTask:
        """Make the kernel anew, with nodes that are noted or without; the stores stay open.

        That is what moving the task to another thread would do: processors are closed and made
        again. So it is done only for a record that is watched, and when no watch is left.
        """
        before = self.kernel
        assert before is not None
        assert before.meter is not None
        if is_noted:
            self._traces.begin()
        else:
            self._traces.end()
        self.close_kernel()
        kernel = self._make_kernel(before.meter)
        for queue in before.clocks()["partitions"]:
            self._queue(queue)
        kernel.take_over(before)
        return kernel

    def _changelog(self, store: str) -> _OutputChangelog | None:
        if store in self._plan.graph.source_changelogs:
            return None
        return _OutputChangelog(self.output, store)

    # Restoring

    def _replays(self, request: StageRequest, marks: Watermarks) -> list[Replay]:
        """Return what each store has to read of its changelog."""
        assert self._stores is not None
        sources, databases = self._plan.graph.source_changelogs, self.databases
        found: list[Replay] = []
        for name, store in self._stores.own.items():
            topic = databases.changelog_of(name)
            if topic is None:
                continue
            is_own = name not in sources
            low, end = marks(topic, self.task_id.partition, is_own=is_own)
            as_read = None
            if not is_own:
                end = request.table_positions.get((topic, self.task_id.partition), end)
                as_read = self._as_read(topic)
            offsets = range(databases.start_of(name, low, end), end)
            found.append(Replay(store, topic, offsets, as_read))
        return found

    def _as_read(self, topic: str) -> AsRead | None:
        node = self._plan.graph.nodes[self._sources[topic]]
        assert isinstance(node, Source)
        assert self.kernel is not None
        return seen_by(SourceDecoder(node, self.kernel))

    # Running

    def run(
        self,
        records: Mapping[str, RawColumns],
        sent: Sequence[Sent],
        truncated: frozenset[str],
        stop: Callable[[], bool] | None,
    ) -> dict[str, int]:
        """Process the inputs of one stage in order of time.

        Args:
            records: the records of topics that are not repartition topics.
            sent: the records of repartition topics, by upstream task.
            truncated: topics that have more records than were read.
            stop: called between records; True leaves the rest to the next batch.

        Returns:
            How many records of each queue were processed.
        """
        kernel = self.kernel
        assert kernel is not None
        inputs = list(records.items())
        for topic in records:
            self._queue(topic)
        for each in sent:
            self._queue(each.queue)
            offsets = kernel.next_offsets(each.queue, len(each))
            inputs.append((each.queue, each.columns(self._settings.topic(each.topic), offsets)))
        inputs, is_noted = self._traces.choose(inputs)
        if is_noted is not self._traces.is_attached and self.may_use_columns:
            kernel = self._note_nodes(is_noted=is_noted)
        cut = frozenset(name for name, _ in inputs if name.partition("|")[0] in truncated)
        consumed = kernel.run_batch(inputs, truncated=cut, stop=stop)
        if self.times is not None:
            self.times.note_buffers(self.stores)
        self.output.pack_repartitioned()
        return consumed

    def settle(self) -> None:
        """Tell the kernel that earlier batches have left no message on its way."""
        if self.kernel is not None:
            self.kernel.settle()

    def write_changelogs(self) -> int:
        return self.output.write_changelogs(self.databases.ends)

    def apply(self, batch: int) -> None:
        """Move the writes of a committed run from memory into the databases."""
        self.databases.apply(batch)
        self._traces.committed()
        if self._cache is not None:
            # While its batch runs, a task may use the whole cache size that the user has set.
            # Between batches a cache only saves reads. Then the tasks share that size: otherwise
            # an application with many tasks would use many times as much memory.
            self._cache.keep(self._settings.cache_max_bytes // self._plan.task_count)

    def _queue(self, name: str) -> None:
        assert self.kernel is not None
        if not self.kernel.has_queue(name):
            self.kernel.add_queue(name, self._sources[name.partition("|")[0]])

    def _source_by_topic(self) -> dict[str, str]:
        sources: dict[str, str] = {}
        for name in self._part.nodes:
            node = self._plan.graph.nodes[name]
            if isinstance(node, Source):
                sources |= dict.fromkeys(node.topics, name)
        return sources

    # Ending

    def discard(self) -> None:
        """Forget a run that failed; the next one starts from the committed state."""
        self._stop_restoring()
        self.is_ready = False
        self.databases.discard()
        self._traces.forget()

    def mend(self, failure: StoreError) -> None:
        """Open databases again for the next run: a damaged one is put aside and restored."""
        self._stop_restoring()
        self.is_ready = False
        self.databases.mend(failure)

    def close_kernel(self) -> None:
        if self.kernel is None:
            return
        kernel, self.kernel = self.kernel, None
        try:
            kernel.close_processors()
        except Exception:
            log.exception("task %s: a processor failed to close", self.task_id)

    def close(self) -> None:
        """Close the processors, write committed state to disk and close the databases."""
        started = time.monotonic()
        self._stop_restoring()
        self.is_ready = False
        self.close_kernel()
        self.databases.close()
        log.debug("task %s closed in %.3f s", self.task_id, time.monotonic() - started)

    def has_store(self, name: str) -> bool:
        return self._stores is not None and name in self._stores.own

    def store(self, name: str) -> Any:
        return self.stores[name]

    @property
    def stores(self) -> Mapping[str, Any]:
        """The open stores of the task by name."""
        return {} if self._stores is None else self._stores.own

    @property
    def cache(self) -> RecordCache | None:
        return self._cache
