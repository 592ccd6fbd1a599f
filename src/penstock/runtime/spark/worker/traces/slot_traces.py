"""The watches of a slot, and the committed traces that wait to be asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from penstock.extras import require
from penstock.serving.journey.values import LiveTrace, RecordWatch, Trace, Traced

#: A watch ends if nobody has asked for its traces for so long.
LEASE_S = 5.0
#: What waits at most until somebody asks for it, for each watch.
MOST_WAITING, MOST_BYTES = 20, 1_000_000


class SlotTraces:
    """The watches of a slot, and the committed traces that wait for them.

    Any thread may call ``take``. The others are for the thread that runs the slot.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}

    def take(self, watch: RecordWatch) -> Traced:
        """Begin a watch, or go on with it; return what was traced since the last call."""
        require("a live trace", "server")
        with self._lock:
            self._forget()
            found = self._watched.get(watch.name)
            if found is None:
                found = self._watched[watch.name] = _Watched(watch)
            found.until = self._clock() + LEASE_S
            return found.take()

    @property
    def is_on(self) -> bool:
        return bool(self._watched)

    def watches(self) -> dict[str, RecordWatch]:
        """Return the watches by name, without those that nobody asks for any more."""
        with self._lock:
            self._forget()
            return {name: each.watch for name, each in self._watched.items()}

    def add(self, names: Sequence[str], trace: LiveTrace) -> None:
        """Keep a trace for the watches that have asked for it."""
        with self._lock:
            for name in names:
                if name in self._watched:
                    self._watched[name].add(trace)

    def miss(self, name: str, count: int) -> None:
        """Count records that fit a watch and are not traced, because there are too many."""
        with self._lock:
            if name in self._watched:
                self._watched[name].missed += count

    def _forget(self) -> None:
        now = self._clock()
        self._watched = {name: w for name, w in self._watched.items() if w.until > now}


class _Watched:
    """One watch, and what waits for it."""

    def __init__(self, watch: RecordWatch) -> None:
        self.watch = watch
        self.until = 0.0
        self._traces: list[LiveTrace] = []
        self._bytes = self.missed = 0

    def add(self, trace: LiveTrace) -> None:
        size = _size(trace.trace)
        if len(self._traces) >= MOST_WAITING or self._bytes + size > MOST_BYTES:
            self.missed += 1
            return
        self._traces.append(trace)
        self._bytes += size

    def take(self) -> Traced:
        taken = Traced(traces=self._traces, missed=self.missed)
        self._traces, self._bytes, self.missed = [], 0, 0
        return taken


def _size(trace: Trace) -> int:
    """Return how many bytes the values of a trace have."""
    total = 0
    for step in trace.steps:
        total += len(bytes(step.key)) + len(bytes(step.value))
        for access in step.accesses:
            total += len(bytes(access.key)) + len(bytes(access.value))
            total += len(bytes(access.before or b""))
        total += sum(len(bytes(sent.key)) + len(bytes(sent.value)) for sent in step.sent)
    return total
