"""Tells a ``StateRestoreListener`` how restores go, while they run and when they are complete.

Slots restore stores in processes of their own. The driver asks them every now and then how far they
are, and learns from the report of a stage that a store is complete.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator

from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StateRestoreListener
from penstock.runtime.spark.exchange.stage_request import Restore

log = logging.getLogger(__name__)

#: How often the slots are asked for the progress of their restores.
_ASK_S = 1.0
_JOIN_S = 3.0


class RestoreWatch:
    """Calls a listener in Kafka Streams' order: start, batches, then end or suspended.

    A restore that is shorter than the interval of the questions is heard of when it is complete,
    with one batch. A restore that begins again at another offset, or that the application does not
    finish, is suspended.
    """

    def __init__(self, ask: Callable[[], Iterable[Restore]], interval_s: float = _ASK_S) -> None:
        self.listener: StateRestoreListener | None = None
        #: Called when the stores of all tasks are as they were committed.
        self.ended: Callable[[], object] = lambda: None
        self._ask = ask
        self._interval_s = interval_s
        #: The last progress that the listener knows, for each restore that has not ended.
        self._told: dict[tuple[TopicPartition, str], Restore] = {}
        #: How often ``completed`` was called. An answer of a slot from before may be out of date.
        self._completions = 0
        #: Held while the listener is called, so that its calls are in order.
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Ask the slots while the body runs; afterwards, suspend the restores that are left."""
        is_over = threading.Event()
        thread = threading.Thread(
            target=self._follow, args=(is_over,), name="penstock-restores", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(_JOIN_S)
            self.suspend()

    def progressed(self, restores: Iterable[Restore], completions: int | None = None) -> None:
        """Tell the listener of restores that are under way.

        Args:
            completions: how often ``completed`` had been called when the slots were asked.
        """
        with self._lock:
            if completions in (None, self._completions):
                for restore in restores:
                    self._move(restore)

    def completed(self, restores: Iterable[Restore]) -> None:
        """Tell the listener of restores that are complete."""
        with self._lock:
            self._completions += 1
            for restore in restores:
                self._move(restore)
                del self._told[_key(restore)]
                self._call("on_restore_end", restore, restore.records)

    def suspend(self) -> None:
        """Tell the listener that the restores under way are not continued."""
        with self._lock:
            while self._told:
                _, restore = self._told.popitem()
                self._call("on_restore_suspended", restore, restore.records)

    def _follow(self, is_over: threading.Event) -> None:
        while not is_over.wait(self._interval_s):
            if self.listener is not None:
                completions = self._completions
                found = list(self._ask())
                if not is_over.is_set():
                    self.progressed(found, completions)

    def _move(self, restore: Restore) -> None:
        told = self._told.get(_key(restore))
        if told is not None and (told.start, told.end) != (restore.start, restore.end):
            self._call("on_restore_suspended", told, told.records)
            told = None
        if told is None:
            self._call("on_restore_start", restore, restore.start, restore.end)
        self._told[_key(restore)] = restore
        position, records = (restore.start, 0) if told is None else (told.position, told.records)
        if restore.position > position:
            taken = restore.records - records
            self._call("on_batch_restored", restore, restore.position, taken)

    def _call(self, name: str, restore: Restore, *figures: int) -> None:
        """Call a method of the listener; if it raises, log the error and continue."""
        if self.listener is None:
            return
        part = (restore.topic, restore.partition)
        try:
            getattr(self.listener, name)(part, restore.store, *figures)
        except Exception:
            log.exception("the restore listener failed in %s for %r", name, restore.store)


def _key(restore: Restore) -> tuple[TopicPartition, str]:
    return (restore.topic, restore.partition), restore.store
