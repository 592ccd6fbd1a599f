"""Snapshots of a running application, taken again and again; ``live_view`` draws them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from penstock.errors import PenstockError
from penstock.runtime.states import State

_RATE_SPAN_S = 5.0


class Metrics(Protocol):
    """The totals since the start that ``KafkaStreams.metrics()`` returns."""

    @property
    def threads(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def records_sent(self) -> int: ...
    @property
    def changelog_records(self) -> int: ...
    @property
    def restored_records(self) -> int: ...
    @property
    def last_batch_seconds(self) -> float: ...
    @property
    def last_batch_records(self) -> int: ...
    @property
    def dropped(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def lag(self) -> Mapping[tuple[str, int], int]: ...
    @property
    def column_errors(self) -> Mapping[str, int]: ...


class Restore(Protocol):
    """The progress of restoring a store: ``position`` moves from ``start`` to ``end``."""

    @property
    def store(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def position(self) -> int: ...


class Streams(Protocol):
    """The part of ``KafkaStreams`` that a snapshot needs."""

    @property
    def state(self) -> State: ...
    def metrics(self) -> Metrics: ...
    def restoring(self) -> Sequence[Restore]: ...


#: Rows of a store: its name, and the keys with their values.
Rows = tuple[str, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The application at one moment; ``metrics`` is None while it starts or stops."""

    seconds: float
    state: State
    metrics: Metrics | None = None
    records_per_second: float = 0.0
    rows: Rows | None = None
    #: The stores that are being restored at this moment.
    restores: tuple[Restore, ...] = ()
    #: What the application waits for: a broker, a lost executor, or to become the leader.
    waiting_for: str | None = None

    @property
    def lag(self) -> int:
        return 0 if self.metrics is None else sum(self.metrics.lag.values())

    @property
    def dropped(self) -> int:
        return 0 if self.metrics is None else sum(self.metrics.dropped.values())

    @property
    def column_errors(self) -> int:
        return 0 if self.metrics is None else sum(self.metrics.column_errors.values())

    @property
    def is_idle(self) -> bool:
        """Return whether the application has processed all its input."""
        return self.state is State.RUNNING and self.metrics is not None and self.lag == 0

    def to_json(self) -> dict[str, Any]:
        known = self.metrics
        numbers: dict[str, Any] = {}
        if known is not None:
            numbers = {
                "records": known.records,
                "records_per_second": round(self.records_per_second, 1),
                "batches": known.batches,
                "last_batch_seconds": round(known.last_batch_seconds, 3),
                "last_batch_records": known.last_batch_records,
                "records_sent": known.records_sent,
                "changelog_records": known.changelog_records,
                "restored_records": known.restored_records,
                "restoring": {
                    f"{each.store}-{each.partition}": round(share(each), 3)
                    for each in self.restores
                },
                "dropped": {f"{node}: {why}": n for (node, why), n in known.dropped.items()},
                "column_errors": dict(known.column_errors),
                "lag": {f"{topic}-{number}": n for (topic, number), n in known.lag.items()},
            }
        told = {"seconds": round(self.seconds, 1), "state": self.state.value}
        if self.waiting_for is not None:
            told["waiting_for"] = self.waiting_for
        return told | numbers


def share(restore: Restore) -> float:
    """Return the part of a restore that is complete, from 0 to 1."""
    size = restore.end - restore.start
    return 1.0 if size <= 0 else (restore.position - restore.start) / size


@dataclass(slots=True)
class Rate:
    """Records per second over the last few seconds."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, now: float, total: int) -> float:
        """Add the total at this time, and return the rate up to now."""
        self._seen.append((now, total))
        while len(self._seen) > 2 and now - self._seen[1][0] > _RATE_SPAN_S:
            self._seen.popleft()
        (before, least), (after, most) = self._seen[0], self._seen[-1]
        return (most - least) / (after - before) if after > before else 0.0


class Watch:
    """Take snapshots of an application again and again, in a thread of its own.

    A broker that does not answer delays the numbers, but not the view that shows them.
    """

    def __init__(
        self,
        streams: Streams,
        *,
        rows: Callable[[], Rows | None] = lambda: None,
        interval_s: float = 0.4,
    ) -> None:
        self._streams = streams
        self._rows = rows
        self._interval_s = interval_s
        self._begun = time.monotonic()
        self._rate = Rate()
        self._last = Snapshot(0.0, streams.state)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="penstock-look", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()

    @property
    def latest(self) -> Snapshot:
        """Return the last snapshot, with the present state and time."""
        now = time.monotonic() - self._begun
        waiting_for = getattr(self._streams, "waiting_for", None)
        return replace(self._last, seconds=now, state=self._streams.state, waiting_for=waiting_for)

    def _look_on(self) -> None:
        while not self._ended.wait(self._interval_s):
            self._last = self._look()

    def _look(self) -> Snapshot:
        now = time.monotonic() - self._begun
        before = self._last
        try:
            metrics = self._streams.metrics()
        except PenstockError:
            # The application has not started or has ended, or the broker is away. Then the last
            # numbers stay.
            return replace(before, records_per_second=0.0, restores=())
        return Snapshot(
            now,
            self._streams.state,
            metrics,
            self._rate.add(now, metrics.records),
            self._rows() or before.rows,
            self._restores(),
        )

    def _restores(self) -> tuple[Restore, ...]:
        try:
            found = self._streams.restoring()
        except (PenstockError, OSError, EOFError):
            # A slot that is ending does not answer.
            return ()
        return tuple(each for each in found if each.position < each.end)
