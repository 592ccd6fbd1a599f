"""The last failures of an application, for those who look at it later."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from penstock.errors import PenstockError
from penstock.serving.status.values import Failure

_MOST = 20


def now_ms() -> int:
    """Return the time of the wall clock, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class FailureLog:
    """Keeps the last failures; the same one again is counted, not kept twice."""

    def __init__(self, clock_ms: Callable[[], int] = now_ms) -> None:
        self._clock_ms = clock_ms
        self._kept: deque[Failure] = deque(maxlen=_MOST)

    def note(self, error: BaseException) -> None:
        """Keep a failure."""
        failure = failure_of(error, self._clock_ms())
        last = self._kept[-1] if self._kept else None
        if last is not None and (last.code, last.message) == (failure.code, failure.message):
            self._kept[-1] = replace(failure, count=last.count + 1)
        else:
            self._kept.append(failure)

    def latest(self) -> tuple[Failure, ...]:
        """Return the failures, the newest last."""
        return tuple(self._kept)


def failure_of(error: BaseException, at_ms: int) -> Failure:
    """Return an error as its readers see it."""
    if isinstance(error, PenstockError):
        return Failure(
            at_ms=at_ms, code=error.code, message=error.message, fix=error.fix, site=error.at
        )
    return Failure(at_ms=at_ms, code=type(error).__name__, message=str(error))
