"""Restore the stores of a task in a thread of its own, while other tasks of the slot run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.runtime.spark.worker.memory import no_garbage_collection
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.task_databases import AsRead, TaskDatabases

_STOP_S = 30.0


@dataclass(frozen=True, slots=True)
class Replay:
    """The range of its changelog that one store has to read."""

    store: Any
    topic: str
    offsets: range
    as_read: AsRead | None


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
                    for each in self._replays:
                        self._databases.replay(
                            each.store, each.topic, each.offsets, self._batch, reader,
                            each.as_read, self._is_over.is_set,
                        )  # fmt: skip
            finally:
                reader.close()
        except BaseException as error:  # noqa: BLE001 - the slot raises it with its next batch
            self._error = error
