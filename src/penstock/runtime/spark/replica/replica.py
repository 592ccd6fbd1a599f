"""Copies of all stores of an application, which always show the state at a cut."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.config import StreamsConfig
from penstock.errors import StoreError, StreamsError, UnknownStoreError
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener, SuspendReason
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.exchange.stage_request import Application, Restore
from penstock.runtime.spark.replica.task_copy import Followed, TaskCopy
from penstock.runtime.spark.worker.clients import Clients
from penstock.runtime.spark.worker.global_copy import GlobalCopy
from penstock.runtime.spark.worker.memory import no_garbage_collection
from penstock.runtime.spark.worker.queries import committed_view, read_rows, store_answers
from penstock.runtime.spark.worker.reader import Range, Reader, ReadRanges
from penstock.runtime.spark.worker.task_databases import store_failure
from penstock.serving.answering import StoreAnswers
from penstock.serving.application import Row
from penstock.serving.question import Question
from penstock.state.engine.rocks import OpenEngine, open_rocks

log = logging.getLogger(__name__)

#: How many bytes of all changelogs together are read before they are applied.
_CHUNK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CopyLag:
    """How far the copy of one partition of a store is behind the newest cut."""

    store: str
    task: TaskId
    topic: str
    position: int
    end: int

    @property
    def lag(self) -> int:
        return max(self.end - self.position, 0)


class Replica:
    """Apply the changelogs of all tasks from cut to cut.

    Invariant: while ``cut`` is set, a thread that holds ``reading`` sees every store exactly as of
    that cut. While a backlog is read that is too large to be applied at once, ``cut`` is None.

    Args:
        application: the application as this instance plans it; its generation is not used.
        listener: called when a copy starts to follow, has applied records, or stops. Its
            exceptions are logged.
        tasks: whose stores to copy, without global stores; None copies everything.
        directory: the folder of the copies; None means the folders of the tasks themselves.
    """

    def __init__(
        self,
        application: Application,
        clients: Clients,
        *,
        listener: StandbyUpdateListener | None = None,
        tasks: Iterable[TaskId] | None = None,
        directory: Path | None = None,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self._plan = application.plan
        self._tasks = list(application.plan.task_ids() if tasks is None else tasks)
        self._has_globals = tasks is None
        self._clients = clients
        self._listener = listener
        self._open_engine = open_engine
        self._directory = directory or Path(application.state_dir) / application.id
        config = StreamsConfig(application.config)
        self._settings = task_settings(config, emit_interval_ms=0, state_dir=self._directory)
        self._global = GlobalCopy(application, self._settings, None, clients, open_engine)
        self._copies: dict[TaskId, TaskCopy] = {}
        self._followed: list[Followed] = []
        self._positions: dict[Followed, int] = {}
        self._starts: dict[Followed, int] = {}
        self._reader: Reader | None = None
        #: By store and partition: the views that queries read.
        self._views: dict[tuple[str, int], Any] = {}
        self._readers: dict[tuple[str, int], StoreAnswers] = {}
        #: How many records were applied since the copies were opened.
        self.applied = 0
        #: The newest cut that was asked for, and the one that the stores show.
        self.target: Cut | None = None
        self.cut: Cut | None = None
        #: Held while stores change, and by threads that read them.
        self.reading = threading.RLock()

    # Following

    def follow(self, cut: Cut, is_over: Callable[[], bool] = lambda: False) -> None:
        """Bring all stores to a cut; stop early, between two chunks, once ``is_over``.

        After an error nothing is shown until a later call succeeds: one store may be further than
        another.
        """
        self.target = cut
        if not self._copies:
            self._open(cut)
        try:
            # Restoring makes millions of objects that live only briefly.
            with no_garbage_collection():
                while not is_over() and not self._is_ahead(cut):
                    if self._takes(self._read(cut), cut):
                        return
        except Exception as error:
            failure = store_failure(error)
            if failure is not None:
                self._close_copies(failure)
            raise

    def _takes(self, found: ReadRanges, cut: Cut) -> bool:
        """Apply what was read; return whether the stores show the cut now."""
        is_whole = all(at >= cut.ends[part] for part, at in found.reached.items())
        with self.reading:
            # Threads that do not hold the lock see the former cut until the new one is there.
            shown: Cut | None = cut if is_whole else None
            if not is_whole:
                self.cut = None
            try:
                self._apply(found, cut)
                if is_whole and self._has_globals:
                    self._global.catch_up(cut.global_ends, {})
            except BaseException:
                shown = None
                raise
            finally:
                self.cut = shown
        return is_whole

    def _is_ahead(self, cut: Cut) -> bool:
        """Tell whether a store has more than the cut; then only a later cut can be shown.

        The last cut of a leader that was killed may be lost, and this may be the leader's state.
        """
        ends = cut.ends
        return any(at > ends.get(each.part, at) for each, at in self._positions.items())

    def _open(self, cut: Cut) -> None:
        """Open all copies, or none: half of them would show stores without rows."""
        copies: dict[TaskId, TaskCopy] = {}
        positions: dict[Followed, int] = {}
        try:
            for task in self._tasks:
                copies[task] = TaskCopy(
                    task, self._plan, self._settings, self._directory, self._open_engine
                )
            for each in [each for copy in copies.values() for each in copy.followed()]:
                low, high = self._clients.watermarks(*each.part, is_own=False)
                end = cut.ends.get(each.part, 0)
                positions[each] = copies[each.task].position(
                    each.store, min(low, end), max(high, end)
                )
        except BaseException:
            for copy in copies.values():
                copy.close()
            raise
        self._copies, self._followed = copies, list(positions)
        self._positions, self._starts = positions, dict(positions)
        for each, start in positions.items():
            self._tell("on_update_start", each.part, each.store, start)

    def _read(self, cut: Cut) -> ReadRanges:
        ranges: dict[TopicPartition, Range] = {}
        for each in self._followed:
            end = cut.ends.get(each.part)
            if end is not None:
                start = min(self._positions[each], ranges.get(each.part, (end, 0))[0], end)
                ranges[each.part] = start, end
        if self._reader is None:
            self._reader = self._clients.restorer()
        try:
            return self._reader.read_columns(ranges, _CHUNK_BYTES)
        except StreamsError as error:
            if error.code == "offset-out-of-range":
                self._skip_deleted()
            raise

    def _skip_deleted(self) -> None:
        """Move positions past records that Kafka has deleted because of the topic's retention."""
        for each in self._followed:
            low, _ = self._clients.watermarks(*each.part, is_own=False)
            self._positions[each] = max(self._positions[each], low)

    def _apply(self, found: ReadRanges, cut: Cut) -> None:
        for each in self._followed:
            columns, until = found.columns.get(each.part), found.reached.get(each.part, 0)
            position = self._positions[each]
            if columns is None or until <= position:
                continue
            known = sum(1 for offset in columns.offsets if offset < position)
            taken = self._copies[each.task].take(
                each.store, columns.cut(known, len(columns)), cut.batch, until
            )
            self._positions[each] = until
            self.applied += taken
            self._tell(
                "on_batch_loaded", each.part, each.store, each.task, until, taken,
                cut.ends[each.part],
            )  # fmt: skip
        for copy in self._copies.values():
            copy.databases.flush_if_due()

    def _tell(self, what: str, *arguments: Any) -> None:
        if self._listener is None:
            return
        try:
            getattr(self._listener, what)(*arguments)
        except Exception:
            log.exception("the standby listener failed in %s", what)

    # What can be seen

    def lags(self) -> list[CopyLag]:
        """Return the position of each copy, and its end in the newest known cut."""
        ends: Mapping[TopicPartition, int] = {} if self.target is None else self.target.ends
        return [
            CopyLag(
                each.store, each.task, each.part[0], self._positions[each],
                ends.get(each.part, self._positions[each]),
            )
            for each in self._followed
        ]  # fmt: skip

    def restoring(self) -> list[Restore]:
        """Return which stores are being restored; empty once the copies show a cut."""
        if self.cut is not None or self.target is None:
            return []
        return [
            Restore(
                each.store, *each.part, self._starts[each], end, self._positions[each],
                self._positions[each] - self._starts[each],
            )
            for each in self._followed
            if (end := self.target.ends.get(each.part, 0)) > self._positions[each]
        ]  # fmt: skip

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a reading method of the copy of one partition; return iterators as lists."""
        with self.reading:
            if self.cut is None:
                raise _catching_up(store)
            if store in self._global.stores:
                return read_rows(self._global.stores[store], method, arguments)
            return read_rows(self._view(store, partition), method, arguments)

    def answer(
        self, store: str, partition: int, question: Question, *, waits: bool = True
    ) -> tuple[list[Row], bool, Cut] | None:
        """Return the rows that answer a question about one partition, and the cut they are from.

        Args:
            waits: whether to wait while the stores change. If not, the result is None then.
        """
        if not self.reading.acquire(blocking=waits):
            return None
        try:
            cut = self.cut
            if cut is None:
                raise _catching_up(store)
            reader = self._readers.get((store, partition))
            if reader is None:
                reader = self._readers[store, partition] = self._reader_of(store, partition)
            return *reader.answer(question), cut
        finally:
            self.reading.release()

    def _reader_of(self, store: str, partition: int) -> StoreAnswers:
        graph = self._plan.graph
        if store in self._global.stores:
            spec, view = graph.global_stores[store].spec, self._global.stores[store]
            return store_answers(view, spec, self._settings)
        return store_answers(self._view(store, partition), graph.stores[store], self._settings)

    def _view(self, store: str, partition: int) -> Any:
        view = self._views.get((store, partition))
        if view is None:
            view = self._views[store, partition] = self._opened_view(store, partition)
        return view

    def _opened_view(self, store: str, partition: int) -> Any:
        for task, copy in self._copies.items():
            if task.partition == partition and store in copy.stores:
                return committed_view(
                    self._plan.graph.stores[store], copy.stores[store],
                    copy.databases.engines.get(store), self._settings, copy.clock, _wall_clock,
                )  # fmt: skip
        raise UnknownStoreError(
            "store-not-copied",
            f"this instance has no copy of partition {partition} of store {store!r}",
            fix="a store without a changelog is only where its task runs: ask the leader, or"
            " log the store",
        )

    # Ending

    def close(self, *, is_promoted: bool = False) -> None:
        """Write the copies to disk and close them, so that tasks can open the same folders."""
        with self.reading:
            self.cut = None
            reason = SuspendReason.PROMOTED if is_promoted else SuspendReason.MIGRATED
            for each in self.lags():
                part = (each.topic, each.task.partition)
                self._tell("on_update_suspended", part, each.store, each.position, each.end, reason)
            self._close_copies()
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._clients.close()

    def _close_copies(self, failure: StoreError | None = None) -> None:
        """Close the databases; those that have failed can be opened again afterwards."""
        with self.reading:
            self.cut = None
            for copy in self._copies.values():
                if failure is not None:
                    copy.databases.mend(failure)
                copy.close()
            self._copies.clear()
            self._views.clear()
            self._readers.clear()
            self._followed, self._positions = [], {}
            self._global.close()


def _catching_up(store: str) -> StreamsError:
    return StreamsError(
        "copy-catching-up",
        f"the copy of store {store!r} is still reading its changelog",
        fix="ask again in a moment, or ask the instance that leads",
    )


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000
