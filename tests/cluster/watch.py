"""Watch the application's commits, and find the longest time without one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import KafkaException

from penstock.errors import PenstockError
from tests.cluster.reading import Log
from tests.cluster.topology import INPUTS

_EVERY_S = 0.5
_OUTPUTS_EVERY_S = 4.0


@dataclass(frozen=True)
class Gap:
    """A time without a commit, in seconds of the monotonic clock."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


class Watch(Protocol):
    """What the injector asks: whether the application works again."""

    def has_committed(self, since_s: float) -> bool:
        """Whether a commit was seen after a moment of the monotonic clock."""


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
        #: When a commit was seen last, by the monotonic clock.
        self.committed_s: float | None = None
        self.longest = Gap(0.0, 0.0)

    def has_committed(self, since_s: float) -> bool:
        """Whether a commit was seen after a moment of the monotonic clock."""
        return self.committed_s is not None and self.committed_s > since_s

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
        if self.committed_s is not None and now_s - self.committed_s > self.longest.length_s:
            self.longest = Gap(self.committed_s, now_s)
        if done != self.done:
            self.done, self.committed_s = done, now_s

    def stop(self) -> None:
        """Stop watching, because input no longer flows."""
        self._stopping.set()
        self.join()
        self._log.close()


class OutputWatch(threading.Thread):
    """Keeps how far the outputs reach: a question that takes long while brokers are away."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="cluster-outputs", daemon=True)
        self._log = Log(bootstrap)
        self._stopping = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self._stopping.wait(_OUTPUTS_EVERY_S):
            try:
                self.count = self._log.output_count()
            except (KafkaException, PenstockError):
                continue

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        self._log.close()
