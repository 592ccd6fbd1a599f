"""``Planning``: how many statements are planned at a time, and when Python looks for garbage.

Python runs one thread at a time. The event loop, which answers health checks, is one of them and
waits behind all others that compute. So only a few may do so at a time.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

#: More statements at a time would not be planned faster in one process. Two, because one may have
#: to wait for the schema registry.
PLANNED_AT_A_TIME = 2

#: How long a thread computes before others get their turn. With Python's 5 ms, a few threads that
#: plan statements let the event loop wait for a tenth of a second.
_SWITCH_S = 0.001

#: How often to see whether there is garbage, and how long to wait for statements before it is
#: collected.
_LOOK_S = 1.0
_WAIT_S = 5.0
#: Garbage is collected after so many collections of younger objects, as Python does by itself.
_YOUNG = 10
#: One of so many collections looks at all objects, also at those that earlier ones have kept.
_EVERYTHING = 100
#: So many collections never come.
_NEVER = 1_000_000


class Planning:
    """The places for statements that are being parsed or planned; ``with planning:`` takes one."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(PLANNED_AT_A_TIME)

    def __enter__(self) -> None:
        self._free.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._free.release()

    @property
    def is_free(self) -> bool:
        """Whether no statement is being planned."""
        with self._pause(0.0) as is_free:
            return is_free

    @contextmanager
    def _pause(self, timeout_s: float) -> Iterator[bool]:
        """Let no new statement begin; the value says whether those under way ended in time."""
        deadline, taken = time.monotonic() + timeout_s, 0
        while taken < PLANNED_AT_A_TIME and self._take(deadline - time.monotonic()):
            taken += 1
        try:
            yield taken == PLANNED_AT_A_TIME
        finally:
            if taken:
                self._free.release(taken)

    def _take(self, timeout_s: float) -> bool:
        return self._free.acquire(timeout=max(0.0, timeout_s))

    def collect(self, *, everything: bool) -> None:
        """Collect garbage between two statements; else only what came since the last time.

        A collection stops all threads, and takes the longer the more objects live. The tree of
        a long statement has a million: while it lives, a collection takes 300 ms.
        """
        with self._pause(_WAIT_S):
            if everything:
                gc.unfreeze()
            gc.collect()
            gc.freeze()


class Collector:
    """Collect garbage between statements, not in the middle of one; ``close`` ends that.

    Python's own full collections are off meanwhile. It keeps collecting young objects, which
    takes no time worth mentioning.
    """

    def __init__(self, planning: Planning) -> None:
        self._planning, self._ended = planning, threading.Event()
        self._before = gc.get_threshold(), sys.getswitchinterval()
        self._thread = threading.Thread(target=self._run, name="penstock-garbage", daemon=True)

    def start(self) -> Collector:
        # Modules and functions live as long as the process, so they are never looked at again.
        gc.collect()
        gc.freeze()
        young, middle, _ = self._before[0]
        gc.set_threshold(young, middle, _NEVER)
        sys.setswitchinterval(min(self._before[1], _SWITCH_S))
        self._thread.start()
        return self

    def _run(self) -> None:
        collected = 0
        while not self._ended.wait(_LOOK_S):
            if gc.get_count()[2] >= _YOUNG:
                collected += 1
                self._planning.collect(everything=collected % _EVERYTHING == 0)

    def close(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
            gc.set_threshold(*self._before[0])
            sys.setswitchinterval(self._before[1])
            gc.unfreeze()
