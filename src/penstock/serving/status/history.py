"""Compares samples of an application: rates, shares of time, latencies, and series for charts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.serving.status.events import Event, EventLog
from penstock.serving.status.values import ApplicationStatus, Waiting

#: Rates are over this span, so that a commit per second does not make them jump.
_RATE_MS = 6_000
#: Latencies are over a longer one: p99 of a few records says nothing.
_LATENCY_MS = 30_000
#: Points of the last minutes are as they came; older ones are thinned out to one of these spans.
_FINE_MS = 5 * 60_000
_COARSE_MS = 10_000
#: How long the series is.
KEPT_MS = 60 * 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One moment of the series that charts show. None: not known at that moment."""

    at_ms: int
    #: Records a second: processed, and written to topics.
    records: float | None = None
    sent: float | None = None
    lag: int | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    #: How long the last commit took.
    commit_ms: float | None = None
    #: By source partition: lag. By task: share of time. For the heat map.
    lags: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    busy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRate:
    """What a node did lately: records a second, share of a processor, drops a second."""

    records: float = 0.0
    share: float = 0.0
    dropped: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRate:
    """What a task did lately."""

    records: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A sample, and what it says beside those before it."""

    status: ApplicationStatus
    point: Point
    #: Since when it has been in its state, waited for the same thing, made no progress.
    since_ms: int
    waiting_since_ms: int | None
    idle_since_ms: int | None
    #: Records a second that are processed, and that arrive on source topics.
    speed: float = 0.0
    arriving: float = 0.0
    #: Seconds until no record waits, at the present speed; None if it never comes to that.
    clear_s: float | None = None
    nodes: Mapping[str, NodeRate] = field(default_factory=dict)
    tasks: Mapping[str, TaskRate] = field(default_factory=dict)
    #: By topic: records read a second.
    consumed: Mapping[str, float] = field(default_factory=dict)
    #: What happened lately, the newest last.
    events: tuple[Event, ...] = ()

    @property
    def lag(self) -> int | None:
        return self.point.lag


class StatusHistory:
    """Takes samples in order of time. One thread adds; any thread reads what ``add`` returned."""

    def __init__(self) -> None:
        self._samples: deque[ApplicationStatus] = deque()
        self._events = EventLog()
        self._points: deque[Point] = deque()
        self._since: tuple[str, int] | None = None
        self._waiting: tuple[Waiting, int] | None = None
        #: The records and the time of the last progress.
        self._progress: tuple[int, int] | None = None

    def add(self, status: ApplicationStatus) -> Observation:
        """Add a sample, and compare it with those of the last seconds."""
        self._forget(status)
        self._samples.append(status)
        then = self._before(status.at_ms - _RATE_MS)
        point = self._point(status, then)
        self._keep(point)
        span_s = _span_s(then, status)
        lag, before = point.lag, total_lag(then.lag)
        growth = 0.0 if lag is None or before is None or not span_s else (lag - before) / span_s
        return Observation(
            status=status,
            point=point,
            since_ms=self._in_state_since(status),
            waiting_since_ms=self._waits_since(status),
            idle_since_ms=self._idle_since(status, lag),
            speed=point.records or 0.0,
            arriving=max((point.records or 0.0) + growth, 0.0),
            clear_s=_clear_s(lag, growth),
            nodes=_node_rates(then, status, span_s),
            tasks=_task_rates(then, status, span_s),
            consumed=_rates(then.consumed, status.consumed, span_s),
            events=self._events.add(status),
        )

    def points(self, since_ms: int = 0) -> list[Point]:
        """Return the series after a moment, oldest first."""
        return [point for point in list(self._points) if point.at_ms > since_ms]

    def _forget(self, status: ApplicationStatus) -> None:
        """Forget samples that cannot be compared with a new one."""
        last = self._samples[-1] if self._samples else None
        if last is not None and (last.at_ms >= status.at_ms or last.records > status.records):
            # The clock was set back, or the application began to count anew.
            self._samples.clear()
            while self._points and self._points[-1].at_ms >= status.at_ms:
                self._points.pop()
        while len(self._samples) > 2 and status.at_ms - self._samples[1].at_ms > _LATENCY_MS:
            self._samples.popleft()

    def _before(self, at_ms: int) -> ApplicationStatus:
        """Return the newest sample that is at least that old, or the oldest one."""
        found = self._samples[0]
        for sample in self._samples:
            if sample.at_ms > at_ms:
                break
            found = sample
        return found

    def _point(self, status: ApplicationStatus, then: ApplicationStatus) -> Point:
        span_s = _span_s(then, status)
        recent = status.latencies.since(self._samples[0].latencies)
        if len(self._samples) == 1:
            recent = status.latencies
        last = status.recent[-1] if status.recent else None
        return Point(
            at_ms=status.at_ms,
            records=_rate(then.records, status.records, span_s) if span_s else None,
            sent=_rate(then.sent, status.sent, span_s) if span_s else None,
            lag=total_lag(status.lag),
            p50_ms=recent.quantile(0.5),
            p99_ms=recent.quantile(0.99),
            commit_ms=None if last is None else last.took_ms,
            lags=status.lag or {},
            busy={name: rate.share for name, rate in _task_rates(then, status, span_s).items()},
        )

    def _keep(self, point: Point) -> None:
        points = self._points
        points.append(point)
        while points and point.at_ms - points[0].at_ms > KEPT_MS:
            points.popleft()
        fine_from = point.at_ms - _FINE_MS
        if len(points) > 2 and points[0].at_ms < fine_from:
            self._points = deque(_thinned(points, fine_from))

    def _in_state_since(self, status: ApplicationStatus) -> int:
        if self._since is None or self._since[0] != status.state:
            self._since = status.state, status.since_ms or status.at_ms
        return status.since_ms or self._since[1]

    def _waits_since(self, status: ApplicationStatus) -> int | None:
        if status.waiting is None:
            self._waiting = None
            return None
        if self._waiting is None or self._waiting[0].what != status.waiting.what:
            self._waiting = status.waiting, status.at_ms
        return self._waiting[1]

    def _idle_since(self, status: ApplicationStatus, lag: int | None) -> int | None:
        """Return since when records wait and none was processed; None if that is not so."""
        if self._progress is None or self._progress[0] != status.records or not lag:
            self._progress = status.records, status.at_ms
            return None
        return self._progress[1]


def total_lag(lag: Mapping[str, Mapping[int, int]] | None) -> int | None:
    return None if lag is None else sum(sum(parts.values()) for parts in lag.values())


def _clear_s(lag: int | None, growth: float) -> float | None:
    """Return how long a backlog takes that shrinks by so many records a second."""
    if lag is None:
        return None
    if lag == 0:
        return 0.0
    return lag / -growth if growth < 0 else None


def _span_s(then: ApplicationStatus, now: ApplicationStatus) -> float:
    return (now.at_ms - then.at_ms) / 1000


def _rate(before: float, after: float, span_s: float) -> float:
    return max(after - before, 0) / span_s if span_s > 0 else 0.0


def _rates(before: Mapping[str, int], after: Mapping[str, int], span_s: float) -> dict[str, float]:
    return {name: _rate(before.get(name, 0), count, span_s) for name, count in after.items()}


def _node_rates(
    then: ApplicationStatus, now: ApplicationStatus, span_s: float
) -> dict[str, NodeRate]:
    before = {node.name: node for node in then.nodes}
    found = {}
    for node in now.nodes:
        old = before.get(node.name, node)
        found[node.name] = NodeRate(
            records=_rate(old.records, node.records, span_s),
            share=_rate(old.busy_ns, node.busy_ns, span_s) / 1e9,
            dropped=_rate(sum(old.dropped.values()), sum(node.dropped.values()), span_s),
        )
    return found


def _task_rates(
    then: ApplicationStatus, now: ApplicationStatus, span_s: float
) -> dict[str, TaskRate]:
    before = {task.id: task for task in then.tasks}
    found = {}
    for task in now.tasks:
        old = before.get(task.id, task)
        found[task.id] = TaskRate(
            records=_rate(old.records, task.records, span_s),
            share=min(_rate(old.busy_ms, task.busy_ms, span_s) / 1000, 1.0),
        )
    return found


def _thinned(points: Iterable[Point], fine_from: int) -> list[Point]:
    """Keep one point of each span of time, the last one, and all points of the last minutes."""
    kept: list[Point] = []
    for point in points:
        is_same_span = (
            kept
            and point.at_ms < fine_from
            and kept[-1].at_ms // _COARSE_MS == point.at_ms // _COARSE_MS
        )
        if is_same_span:
            kept.pop()
        kept.append(point)
    return kept
