"""Counts of pull and push queries, by kind of plan and by table."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.model.metric import Metric

GROUP = "sql-query-metrics"


@dataclass(slots=True)
class _Pulls:
    requests: int = 0
    errors: int = 0
    rows: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0


@dataclass(slots=True)
class _Pushes:
    opened: int = 0
    active: int = 0
    rows: int = 0


class QueryMeter:
    """Counts since the start of the server. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pulls: dict[tuple[str, str], _Pulls] = {}
        self._pushes: dict[str, _Pushes] = {}

    def pulled(
        self, kind: str, source: str, seconds: float, rows: int, *, is_error: bool = False
    ) -> None:
        """Count one pull query that was answered or failed."""
        with self._lock:
            of = self._pulls.get((kind, source))
            if of is None:
                of = self._pulls[kind, source] = _Pulls()
            of.requests += 1
            of.rows += rows
            of.seconds += seconds
            if is_error:
                of.errors += 1
            if seconds > of.longest_s:
                of.longest_s = seconds

    def opened(self, source: str) -> None:
        """Count a push query that begins."""
        with self._lock:
            of = self._pushes.setdefault(source, _Pushes())
            of.opened += 1
            of.active += 1

    def closed(self, source: str, rows: int) -> None:
        """Count a push query that ends, and the rows that it has sent."""
        with self._lock:
            of = self._pushes.setdefault(source, _Pushes())
            of.active -= 1
            of.rows += rows

    def metrics(self) -> list[Metric]:
        """Return all counts. A pull query's tags are the kind of its plan and its table."""
        with self._lock:
            return [*self._pull_metrics(), *self._push_metrics()]

    def _pull_metrics(self) -> Iterable[Metric]:
        for (kind, source), of in self._pulls.items():
            tags = {"kind": kind, "source": source}
            average = 1000 * of.seconds / of.requests
            yield Metric("pull-requests-total", GROUP, of.requests, tags, "Pull queries.")
            yield Metric("pull-errors-total", GROUP, of.errors, tags, "Pull queries that failed.")
            yield Metric("pull-rows-total", GROUP, of.rows, tags, "Rows of pull queries.")
            yield Metric("pull-latency-avg", GROUP, average, tags, "Average time in ms.")
            yield Metric(
                "pull-latency-max", GROUP, 1000 * of.longest_s, tags, "Longest time in ms."
            )

    def _push_metrics(self) -> Iterable[Metric]:
        for source, of in self._pushes.items():
            tags = {"source": source}
            yield Metric("push-queries-total", GROUP, of.opened, tags, "Push queries.")
            yield Metric("push-active", GROUP, of.active, tags, "Push queries that run.")
            yield Metric("push-rows-total", GROUP, of.rows, tags, "Rows of ended push queries.")
