"""Restore stores from their changelogs: many together, or a long one in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.runtime.spark.worker.memory import no_garbage_collection
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.task_databases import AsRead, TaskDatabases
from penstock.state.engine.pending import Checkpoint

_STOP_S = 30.0
#: The most bytes of changelogs that are read before they are applied.
_CHUNK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Replay:
    """The range of its changelog that one store has to read."""

    store: Any
    topic: str
    offsets: range
    as_read: AsRead | None


def replay_together(
    replays: Sequence[tuple[TaskDatabases, Replay]],
    batch: int,
    reader: Reader,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Read the changelogs of many stores at the same time, in pieces of a limited size.

    One after the other, each would wait for the broker by itself.

    Args:
        batch: the newest batch that the changelogs contain.
        is_over: asked around each read; True leaves the rest unread. A read may take so long that
            another thread uses the databases by then.
    """
    for databases, each in replays:
        databases.begin_replay(each.store, each.topic, each.offsets)
    left = [(databases, each, each.offsets.start) for databases, each in replays if each.offsets]
    while left and not is_over():
        ranges = {
            (each.topic, databases.partition): (at, each.offsets.stop)
            for databases, each, at in left
        }
        found = reader.read_columns(ranges, _CHUNK_BYTES)
        if is_over():
            return
        now, left = left, []
        for databases, each, _ in now:
            part = each.topic, databases.partition
            reached = found.reached[part]
            checkpoint = Checkpoint(batch, reached)
            databases.replayed(each.store, found.columns[part], checkpoint, each.as_read)
            if reached < each.offsets.stop:
                left.append((databases, each, reached))


class Restoration:
    """Read changelogs into the stores of one task until that is done or ``stop`` is called.

    No other thread may use the task's stores meanwhile. If it is stopped, the records read so far
    are kept, and the next restore continues after them.

    Args:
        batch: the newest batch that the changelogs contain.
        new_reader: makes the reader of this thread, which closes it.
    """

    def __init__(
        self,
        databases: TaskDatabases,
        replays: Sequence[Replay],
        batch: int,
        new_reader: Callable[[], Reader],
    ) -> None:
        self._databases = databases
        self._replays = replays
        self._batch = batch
        self._new_reader = new_reader
        self._is_over = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-restore", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    @property
    def ends(self) -> dict[str, int]:
        """Return the committed end of each store's changelog, not how far it has been read."""
        return {each.store.name: each.offsets.stop for each in self._replays}

    def finish(self) -> None:
        """Raise the error that has ended the restore, if there was one."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End soon, between two chunks; an error of the restore is ignored."""
        self._is_over.set()
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        try:
            reader = self._new_reader()
            try:
                with no_garbage_collection():
                    replay_together(
                        [(self._databases, each) for each in self._replays], self._batch, reader,
                        self._is_over.is_set,
                    )  # fmt: skip
            finally:
                reader.close()
        except BaseException as error:  # noqa: BLE001 - the slot raises it with its next batch
            self._error = error
