"""Samples an application in a thread of its own, and tells everyone who watches at once.

However many consoles are open, the application is asked once a second. While nobody watches, it is
asked every ten seconds and only for what it knows without asking Kafka or its workers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.serving.application import Queryable
from penstock.serving.status.history import Observation, Point, StatusHistory

_log = logging.getLogger(__name__)

WATCHED_S = 1.0
UNWATCHED_S = 10.0
#: Somebody watches as long as somebody has asked within this time.
_ATTENTION_S = 10.0
_JOIN_S = 2.0

#: Called with each sample, from the sampler's thread; it returns at once.
Listener = Callable[[Observation], None]


@dataclass(frozen=True, slots=True)
class Sampled:
    """The newest sample, and its number."""

    number: int
    seen: Observation


class StatusSampler:
    """Takes samples from ``start`` to ``close``."""

    def __init__(self, application: Queryable, clock: Callable[[], float] = time.monotonic) -> None:
        self._application, self._clock = application, clock
        self._history = StatusHistory()
        self._listeners: list[Listener] = []
        self._attention = -_ATTENTION_S
        self._latest: Sampled | None = None
        #: Held while a sample is taken: samples come in order, and a caller may take one itself.
        self._lock = threading.Lock()
        self._wakes = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="penstock-status", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Take no more samples."""
        self._is_closed = True
        self._wakes.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def latest(self) -> Observation:
        """Return the newest sample if it is fresh, else take one."""
        was_watched, self._attention = self.is_watched, self._clock()
        if was_watched and self._latest is not None:
            return self._latest.seen
        self._wakes.set()
        return self.sample()

    def points(self, since_ms: int = 0) -> list[Point]:
        """Return the series after a moment, oldest first."""
        self._attention = self._clock()
        with self._lock:
            return self._history.points(since_ms)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a listener with each sample from now on; return what ends that."""
        self._listeners.append(listener)
        self._wakes.set()
        return lambda: self._listeners.remove(listener)

    @property
    def is_watched(self) -> bool:
        """Tell whether anybody looks at the samples."""
        return bool(self._listeners) or self._clock() - self._attention < _ATTENTION_S

    def sample(self) -> Observation:
        """Take a sample now."""
        with self._lock:
            status = self._application.status(is_watched=self.is_watched)
            seen = self._history.add(status)
            number = 0 if self._latest is None else self._latest.number + 1
            self._latest = Sampled(number, seen)
        for listener in list(self._listeners):
            listener(seen)
        return seen

    def _run(self) -> None:
        while not self._is_closed:
            try:
                self.sample()
            except Exception as error:  # noqa: BLE001 - the next sample may work
                level = logging.DEBUG if isinstance(error, PenstockError) else logging.ERROR
                _log.log(level, "no sample could be taken", exc_info=error)
            self._wakes.clear()
            self._wakes.wait(WATCHED_S if self.is_watched else UNWATCHED_S)
