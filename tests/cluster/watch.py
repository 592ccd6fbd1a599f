"""Watches the application's commits, and finds the longest time without one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException

from tests.cluster.reading import Log
from tests.cluster.topology import INPUTS

_EVERY_S = 0.5


@dataclass(frozen=True)
class Gap:
    """A time without a commit, in seconds of the monotonic clock."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


class CommitWatch(threading.Thread):
    """Asks for the committed offsets twice a second while input flows."""

    def __init__(self, bootstrap: str, fed: Callable[[], int]) -> None:
        super().__init__(name="cluster-watch", daemon=True)
        self._log = Log(bootstrap)
        self._fed = fed
        self._stopping = threading.Event()
        self._partitions = self._log.partitions(INPUTS)
        #: The sum of the committed offsets, which is how many input records are done.
        self.done = 0
        self._changed_s: float | None = None
        self.longest = Gap(0.0, 0.0)

    @property
    def has_committed(self) -> bool:
        return self._changed_s is not None

    @property
    def lag(self) -> int:
        """Acknowledged input records that no commit has covered yet."""
        return self._fed() - self.done

    def run(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            try:
                done = sum(self._log.committed(self._partitions, 2.0).values())
            except KafkaException:
                # The brokers are away, and so is the application's way to commit.
                continue
            self.note(done, time.monotonic())

    def note(self, done: int, now_s: float) -> None:
        """Take one observation; time without a commit counts from the first commit on."""
        if self._changed_s is not None and now_s - self._changed_s > self.longest.length_s:
            self.longest = Gap(self._changed_s, now_s)
        if done != self.done:
            self.done, self._changed_s = done, now_s

    def stop(self) -> None:
        """Stop watching, because input no longer flows."""
        self._stopping.set()
        self.join()
        self._log.close()
