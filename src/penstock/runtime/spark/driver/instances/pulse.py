"""Notices that this process was paused: another instance may lead since then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache

_BEAT_S = 0.5
#: Within this time after a pause, a process learns from Kafka which instance leads.
_GRACE_S = 3.0
#: A clock that also counts while the machine sleeps, if the system has one.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Pulse:
    """Beats twice a second, and remembers the last time that a beat came late.

    A paused process (a stopped one, a laptop that was closed, a virtual machine that was moved)
    does not notice by itself. Questions that arrived meanwhile are answered when it wakes up.

    Args:
        now: returns the time in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._beat = now()
        #: The last beat that was late by more than a second: when it came, and how late.
        self._late: tuple[float, float] | None = None

    def beat(self) -> None:
        """Note that this process is awake."""
        now = self._now()
        if now - self._beat > _BEAT_S + 1.0:
            self._late = now, now - self._beat
        self._beat = now

    def is_steady(self, longest_s: float) -> bool:
        """Tell whether this process was not paused for longer than ``longest_s`` recently."""
        now = self._now()
        if now - self._beat > longest_s:
            return False
        return self._late is None or self._late[1] <= longest_s or now > self._late[0] + _GRACE_S


@cache
def process_pulse() -> Pulse:
    """Return the pulse of this process; the first call starts its thread."""
    pulse = Pulse(lambda: time.clock_gettime(_CLOCK))

    def run() -> None:
        while True:
            time.sleep(_BEAT_S)
            pulse.beat()

    threading.Thread(target=run, name="penstock-pulse", daemon=True).start()
    return pulse
