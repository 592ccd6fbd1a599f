"""The databases of one task on this disk, and how far each follows its changelog."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import StoreError
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.raw_columns import RawColumns, listed
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.settings import TaskSettings
from penstock.model.remedies import declared
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.state.engine.damaged import DAMAGED, set_aside
from penstock.state.engine.pending import Checkpoint, PendingStore
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.state.spec import StoreHeaders
from penstock.state.task_directory import TaskDirectory

log = logging.getLogger(__name__)

#: Return a record of a source topic as its source node saw it, or None if the source skipped it.
AsRead = Callable[[RawRecord], RawRecord | None]

#: How many causes of an error are searched; a longer chain must be a cycle.
_DEPTH = 20

_LOCK_PATIENCE_S = 30.0


class TaskDatabases:
    """Open the databases of a task's persistent stores, and apply changelog records to them.

    A running task and a standby copy of it use the same folders in the same way, one after the
    other. So a copy that becomes the task continues where it stopped following.
    """

    def __init__(
        self,
        task_id: TaskId,
        plan: Plan,
        settings: TaskSettings,
        directory: Path,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self._task_id = task_id
        self._plan = plan
        self._settings = settings
        self._directory = directory
        self._open_engine = open_engine
        self.lock = TaskDirectory(directory, str(task_id))
        self.engines: dict[str, PendingStore] = {}
        #: By store: the next offset of its changelog after what was applied or written.
        self.ends: dict[str, int] = {}
        #: Whether a database was emptied since its store was opened. Such a store has to be opened
        #: again: it has read the stream time and the segments of what is gone.
        self.is_emptied = False
        #: By store: the progress of its restore since the last report.
        self.restores: dict[str, Restore] = {}

    # Opening

    def engine(self, store: str) -> PendingStore:
        """Return the database of a store, opened if it is not open yet."""
        if store not in self.engines:
            self.engines[store] = self._opened(self._folder(store), store)
        return self.engines[store]

    def _folder(self, store: str) -> Path:
        folder = self._plan.graph.stores[store].folder
        return self._directory / str(self._task_id) / "rocksdb" / folder

    def _opened(self, folder: Path, store: str) -> PendingStore:
        """Open a database and read its checkpoint.

        If a former owner that is ending still has it open, wait. If it is damaged, put it aside:
        often only the first read shows that.
        """
        deadline = time.monotonic() + _LOCK_PATIENCE_S
        while True:
            try:
                self.lock.acquire()
                return PendingStore(self._open_engine(folder, store, self._settings.configs))
            except StoreError as error:
                if error.code == DAMAGED:
                    set_aside(folder)
                elif error.code != "store-locked" or time.monotonic() > deadline:
                    raise
                else:
                    time.sleep(0.1)

    # Following changelogs

    def changelog_of(self, store: str) -> str | None:
        """Return the topic that a store is restored from; None if it is not logged."""
        graph = self._plan.graph
        source = graph.source_changelogs.get(store)
        if source is not None:
            return source
        return self._settings.changelog_topic(store) if graph.stores[store].logging else None

    def start_of(self, store: str, low: int, end: int) -> int:
        """Return the first offset of the changelog that the database does not contain.

        Args:
            low: the first offset that the changelog still has.
            end: the next offset of the changelog.
        """
        engine = self.engines.get(store)
        if engine is not None and engine.checkpoint.changelog_offset > end:
            # The changelog topic was created again, for example on another cluster.
            log.warning("task %s: state of %r is beyond its changelog", self._task_id, store)
            engine.wipe()
            self.is_emptied = True
        start = 0 if engine is None else engine.checkpoint.changelog_offset
        return max(start, low)

    @property
    def partition(self) -> int:
        return self._task_id.partition

    def begin_replay(self, store: Any, topic: str, offsets: range) -> None:
        """Note that a store is going to be restored from a range of its changelog."""
        self.ends[store.name] = offsets.start
        if not offsets:
            self.ends[store.name] = offsets.stop
            return
        self.restores[store.name] = Restore(
            store.name, topic, self.partition, offsets.start, offsets.stop, offsets.start, 0
        )

    def replayed(
        self, store: Any, columns: RawColumns, checkpoint: Checkpoint, as_read: AsRead | None
    ) -> None:
        """Apply the next records of a store's changelog, and note the progress."""
        taken = self.take(store, columns, checkpoint, as_read)
        before, position = self.restores[store.name], checkpoint.changelog_offset
        done = replace(before, position=position, records=before.records + taken)
        self.restores[store.name] = done
        if position >= done.end:
            log.info("task %s: restored %d records of %s", self._task_id, done.records, done.topic)

    def take(
        self, store: Any, columns: RawColumns, checkpoint: Checkpoint, as_read: AsRead | None
    ) -> int:
        """Apply records of a changelog to a store; return how many were applied."""
        fitting = restorable(columns, as_read, keeps_headers=_keeps_headers(store))
        store.restore(fitting)
        # Some stores keep a stream time of their own. It goes to disk with these records.
        store.flush()
        engine = self.engines.get(store.name)
        if engine is not None:
            engine.seal(checkpoint)
            engine.apply()
        self.ends[store.name] = checkpoint.changelog_offset
        return len(fitting)

    # Committing

    def apply(self, batch: int) -> None:
        """Move what a committed run has written into the databases."""
        for name, engine in self.engines.items():
            engine.seal(Checkpoint(batch, self._end_of(name, engine)))
            engine.apply()
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Flush databases whose writes have been in memory for long enough."""
        for engine in self.engines.values():
            if engine.is_flush_due():
                engine.persist()

    def _end_of(self, store: str, engine: PendingStore) -> int:
        return self.ends.get(store, engine.checkpoint.changelog_offset)

    def changelog_ends(self, ends: Mapping[str, int] | None = None) -> dict[tuple[str, int], int]:
        """Return the next offset of each changelog of the task, by topic and partition.

        Args:
            ends: the same by store, if not what has been applied or written here.
        """
        sources, partition = self._plan.graph.source_changelogs, self._task_id.partition
        return {
            (self._settings.changelog_topic(store), partition): end
            for store, end in (self.ends if ends is None else ends).items()
            if store not in sources
        }

    # Ending

    def discard(self) -> None:
        """Forget what a failed run has written."""
        for engine in self.engines.values():
            engine.discard()

    def mend(self, failure: StoreError) -> None:
        """After a database has failed, make it possible to open it again."""
        if failure.code == DAMAGED:
            self._put_aside(failure)
            return
        # After an error of the disk, RocksDB refuses to write until it is opened again.
        for engine in self.engines.values():
            _close_unsaved(engine)
        self.engines.clear()

    def _put_aside(self, damage: StoreError) -> None:
        """Put the database that the error names aside, so that its store is restored."""
        for name in [n for n in self.engines if repr(str(self._folder(n))) in damage.message]:
            _close_unsaved(self.engines.pop(name))
            log.warning("task %s: store %r is restored from its changelog", self._task_id, name)
            set_aside(self._folder(name))

    def close(self) -> None:
        """Write committed state to disk, close the databases and unlock the folder."""
        for name, engine in self.engines.items():
            try:
                engine.discard()
                engine.persist()
                engine.close()
            except StoreError as error:
                # Unsaved state is still in the changelog. The other stores are saved nevertheless.
                log.error("task %s: store %r could not be saved: %s", self._task_id, name, error)
                # What stays open cannot be opened again by the next run in this process.
                _close_unsaved(engine)
        self.engines.clear()
        self.lock.release()


def _close_unsaved(engine: PendingStore) -> None:
    """Close a database, also if it cannot write any more."""
    for step in (engine.discard, engine.close):
        with contextlib.suppress(StoreError):
            step()


def seen_by(decoder: SourceDecoder) -> AsRead | None:
    """Return a function that turns a record of a source topic into what the source node saw.

    This is for source topics that serve as changelogs. The function sets the timestamp that the
    source node extracted, and returns None for a record that was skipped. The result is None
    instead of a function if the records need no change.
    """
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


def restorable(
    columns: RawColumns, as_read: AsRead | None, *, keeps_headers: bool = False
) -> list[Any]:
    """Return key, value and timestamp of every record that has a key, as ``restore`` takes them.

    Args:
        keeps_headers: whether to return the headers too.
    """
    if as_read is None and not keeps_headers:
        rows = zip(columns.keys, columns.values, listed(columns.timestamps), strict=True)
        return [row for row in rows if row[0] is not None]
    raw = (RawRecord(*record) for record in columns)
    read = raw if as_read is None else map(as_read, raw)
    kept = [record for record in read if record is not None and record.key is not None]
    if keeps_headers:
        return [(r.key, r.value, r.timestamp, tuple(r.headers)) for r in kept]
    return [(r.key, r.value, r.timestamp) for r in kept]


def _keeps_headers(store: Any) -> bool:
    return getattr(store, "headers", StoreHeaders.NONE) is not StoreHeaders.NONE


def store_failure(error: BaseException) -> StoreError | None:
    """Find the error of a database that must be opened again, among the causes of an error.

    User code may have wrapped it into errors of its own.
    """
    cause: BaseException | None = error
    for _ in range(_DEPTH):
        if cause is None:
            return None
        if isinstance(cause, StoreError) and declared(cause).reopens_stores:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
