"""One stream task on a worker: its stores at the right version, its kernel, its changelogs."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import StoreError
from penstock.kernel.clocks import Clocks, fitting
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.raw_columns import RawColumns, listed
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores, open_cache, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.bundles import Sent
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.stage_request import Restore, StageRequest
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.task_output import TaskOutput
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.damaged import DAMAGED, set_aside
from penstock.state.engine.pending import Checkpoint, PendingStore
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.state.layers.cache import RecordCache
from penstock.state.spec import StoreHeaders
from penstock.state.task_directory import TaskDirectory
from penstock.topology.nodes import Source

log = logging.getLogger(__name__)

_RESTORE_CHUNK = 200_000
_LOCK_PATIENCE_S = 30.0


class Watermarks(Protocol):
    """Finds the first and the next offset of a topic partition that a committed read can see."""

    def __call__(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]: ...


class _OutputChangelog:
    """Hands a store's writes to the task's output, which logs each key once per run."""

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
    """A task between batches. While ``is_ready``, its stores hold all that is committed."""

    def __init__(
        self,
        task_id: TaskId,
        plan: Plan,
        settings: TaskSettings,
        output: TaskOutput,
        directory: Path,
        global_stores: Mapping[str, Any],
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self._open_engine = open_engine
        self.task_id = task_id
        self.output = output
        self.is_ready = False
        self.may_use_columns = True
        #: By store: what was read back since the last report.
        self.restores: dict[str, Restore] = {}
        self._plan = plan
        self._settings = settings
        self._directory = directory
        self._global_stores = global_stores
        self._part = plan.subtopologies[task_id.subtopology]
        self._lock = TaskDirectory(directory, str(task_id))
        self._engines: dict[str, PendingStore] = {}
        self._clock_ms = 0
        self._ends: dict[str, int] = {}
        self._sources = self._source_by_topic()
        self._stores: TaskStores | None = None
        self.kernel: StreamTask | None = None
        self._cache: RecordCache | None = None

    # Getting ready

    def prepare(
        self,
        request: StageRequest,
        clocks: Clocks | None,
        reader: Callable[[], Reader],
        marks: Watermarks,
    ) -> None:
        """Bring the state to what is committed, if it is not there already."""
        self._clock_ms = request.clock_ms
        if not self.is_ready:
            self._reopen(clocks)
            self._restore(request, reader(), marks)
            self.is_ready = True

    def _reopen(self, clocks: Clocks | None) -> None:
        self.close_kernel()
        for engine in self._engines.values():
            engine.discard()
        nodes = [name for name in self._plan.graph.nodes if name in self._part.nodes]
        self._cache = open_cache(self._settings)
        self._stores = TaskStores(
            task_store_specs(self._plan.graph, nodes),
            settings=self._settings,
            engine=self._engine,
            changelog=self._changelog,
            global_stores=self._global_stores,
            cache=self._cache,
        )
        self.kernel = StreamTask(
            self.task_id, self._plan.graph, nodes, settings=self._settings, collector=self.output,
            stores=self._stores, wall_clock=lambda: self._clock_ms,
        )  # fmt: skip
        if self.may_use_columns:
            self.kernel.columns = column_task(self.kernel, nodes)
        # A topology that has changed may have given the task's number to another sub-topology.
        fit = None if clocks is None else fitting(clocks, set(self._sources), set(nodes))
        if fit is not None:
            for queue in fit["partitions"]:
                self._queue(queue)
            self.kernel.set_clocks(fit)

    def _engine(self, store: str) -> PendingStore:
        if store not in self._engines:
            self._engines[store] = PendingStore(self._opened(self._folder(store), store))
        return self._engines[store]

    def _folder(self, store: str) -> Path:
        folder = self._plan.graph.stores[store].folder
        return self._directory / str(self.task_id) / "rocksdb" / folder

    def _opened(self, folder: Path, store: str) -> BytesStore:
        """Open a database; wait for a former owner that is ending, put a damaged one aside."""
        deadline = time.monotonic() + _LOCK_PATIENCE_S
        while True:
            try:
                self._lock.acquire()
                return self._open_engine(folder, store, self._settings.configs)
            except StoreError as error:
                if error.code == DAMAGED:
                    set_aside(folder)
                elif error.code != "store-locked" or time.monotonic() > deadline:
                    raise
                else:
                    time.sleep(0.1)

    def _changelog(self, store: str) -> _OutputChangelog | None:
        if store in self._plan.graph.source_changelogs:
            return None
        return _OutputChangelog(self.output, store)

    # Restoring

    def _restore(self, request: StageRequest, reader: Reader, marks: Watermarks) -> None:
        assert self._stores is not None
        graph = self._plan.graph
        for name, store in self._stores.own.items():
            engine = self._engines.get(name)
            source = graph.source_changelogs.get(name)
            if source is None and not graph.stores[name].logging:
                continue
            topic = source or self._settings.changelog_topic(name)
            low, end = marks(topic, self.task_id.partition, is_own=source is None)
            as_read = None
            if source is not None:
                end = request.table_positions.get((source, self.task_id.partition), end)
                as_read = self._as_read(source)
            if engine is not None and engine.checkpoint.changelog_offset > end:
                # The changelog was made anew, on another cluster say.
                log.warning("task %s: state of %r is beyond its changelog", self.task_id, name)
                engine.wipe()
            start = 0 if engine is None else engine.checkpoint.changelog_offset
            offsets = range(max(start, low), end)
            self._replay(store, engine, topic, offsets, request, reader, as_read)
        self.output.forget_changelogs()

    def _replay(
        self,
        store: Any,
        engine: PendingStore | None,
        topic: str,
        offsets: range,
        request: StageRequest,
        reader: Reader,
        as_read: Callable[[RawRecord], RawRecord | None] | None,
    ) -> None:
        part = (topic, self.task_id.partition)
        progress = Restore(store.name, *part, offsets.start, offsets.stop, offsets.start, 0)
        if offsets:
            self.restores[store.name] = progress
        for start in range(offsets.start, offsets.stop, _RESTORE_CHUNK):
            stop = min(start + _RESTORE_CHUNK, offsets.stop)
            columns = reader.read_columns({part: (start, stop)}).columns[part]
            fitting = _restorable(columns, as_read, keeps_headers=_keeps_headers(store))
            store.restore(fitting)
            # A store's own time goes to disk with what it was restored from.
            store.flush()
            progress = replace(progress, position=stop, records=progress.records + len(fitting))
            self.restores[store.name] = progress
            if engine is not None:
                engine.seal(Checkpoint(request.batch - 1, stop))
                engine.apply()
        self._ends[store.name] = offsets.stop
        if offsets:
            log.info("task %s: restored %d records of %s", self.task_id, progress.records, topic)

    def _as_read(self, topic: str) -> Callable[[RawRecord], RawRecord | None] | None:
        """Sees records of a source topic as the source did: with its times, without skipped ones.

        None means that it takes them as they are.
        """
        node = self._plan.graph.nodes[self._sources[topic]]
        assert isinstance(node, Source)
        assert self.kernel is not None
        decoder = SourceDecoder(node, self.kernel)
        if decoder.keeps_all:
            return None
        partition_time = -1

        def as_read(raw: RawRecord) -> RawRecord | None:
            nonlocal partition_time
            timestamp = decoder.restored(raw, partition_time)
            if timestamp is None:
                return None
            partition_time = max(partition_time, timestamp)
            return raw._replace(timestamp=timestamp)

        return as_read

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
            records: what was read of real topics.
            sent: what was read of repartition topics, by upstream task.
            truncated: topics of which there is more than was read.
            stop: asked between records whether to leave the rest to the next batch.

        Returns:
            By queue: how many of its records were processed.
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
        cut = frozenset(name for name, _ in inputs if name.partition("|")[0] in truncated)
        consumed = kernel.run_batch(inputs, truncated=cut, stop=stop)
        self.output.write_repartitioned()
        return consumed

    def write_changelogs(self) -> int:
        return self.output.write_changelogs(self._ends)

    def apply(self, batch: int) -> None:
        """Take what a committed run has written into the stores."""
        for name, engine in self._engines.items():
            engine.seal(Checkpoint(batch, self._end_of(name, engine)))
            engine.apply()
            if engine.is_flush_due():
                engine.persist()
        if self._cache is not None:
            # A batch may use all of the setting. Between batches, where a cache only spares
            # reading, the tasks share it: else an application of many would hold it many times.
            self._cache.keep(self._settings.cache_max_bytes // self._plan.task_count)

    def _end_of(self, store: str, engine: PendingStore) -> int:
        return self._ends.get(store, engine.checkpoint.changelog_offset)

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
        self.is_ready = False
        for engine in self._engines.values():
            engine.discard()

    def put_aside(self, damage: StoreError) -> None:
        """Put the database that the error names aside, so that its store is restored."""
        self.is_ready = False
        for name in [n for n in self._engines if repr(str(self._folder(n))) in damage.message]:
            engine = self._engines.pop(name)
            with contextlib.suppress(StoreError):
                engine.discard()
                engine.close()
            log.warning("task %s: store %r is restored from its changelog", self.task_id, name)
            set_aside(self._folder(name))

    def close_kernel(self) -> None:
        if self.kernel is None:
            return
        kernel, self.kernel = self.kernel, None
        try:
            kernel.close_processors()
        except Exception:
            log.exception("task %s: a processor failed to close", self.task_id)

    def close(self) -> None:
        """Bring what is committed to disk and let go of everything."""
        started = time.monotonic()
        self.is_ready = False
        self.close_kernel()
        for name, engine in self._engines.items():
            try:
                engine.discard()
                engine.persist()
                engine.close()
            except StoreError as error:
                # What could not be saved is in the changelog; the others are saved still.
                log.error("task %s: store %r could not be saved: %s", self.task_id, name, error)
        self._engines.clear()
        self._lock.release()
        log.debug("task %s closed in %.3f s", self.task_id, time.monotonic() - started)

    def has_store(self, name: str) -> bool:
        return self._stores is not None and name in self._stores.own

    def store(self, name: str) -> Any:
        assert self._stores is not None
        return self._stores[name]

    @property
    def engines(self) -> Mapping[str, PendingStore]:
        return self._engines


def _keeps_headers(store: Any) -> bool:
    return getattr(store, "headers", StoreHeaders.NONE) is not StoreHeaders.NONE


def _restorable(
    columns: RawColumns,
    as_read: Callable[[RawRecord], RawRecord | None] | None,
    *,
    keeps_headers: bool = False,
) -> list[Any]:
    """Return key, value and timestamp of every record with a key, and headers if they are kept."""
    if as_read is None and not keeps_headers:
        rows = zip(columns.keys, columns.values, listed(columns.timestamps), strict=True)
        return [row for row in rows if row[0] is not None]
    raw = (RawRecord(*record) for record in columns)
    read = raw if as_read is None else map(as_read, raw)
    kept = [record for record in read if record is not None and record.key is not None]
    if keeps_headers:
        return [(r.key, r.value, r.timestamp, tuple(r.headers)) for r in kept]
    return [(r.key, r.value, r.timestamp) for r in kept]
