"""Persistent queries of one node: start those of the catalog, watch them, restart failed ones."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from penstock.runtime.states import State
from penstock.server.supervision.error_class import ErrorClass, error_classifier
from penstock.server.supervision.query_work import QueryWork
from penstock.sql.catalog.catalog import Catalog, PersistentQuery
from penstock.sql.planner.identity import told_apart
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams

_log = logging.getLogger("penstock.server")
T = TypeVar("T")

QueryStatus = Literal["RUNNING", "PAUSED", "ERROR"]
FIRST_PAUSE = "ksql.query.retry.backoff.initial.ms"
LONGEST_PAUSE = "ksql.query.retry.backoff.max.ms"
ERRORS_KEPT = "ksql.query.error.max.queue.size"
_LOOK_S = 0.1
#: How long one step waits for queries that it starts or ends. Slower ones go on in the background.
_PATIENCE_S = 0.25
#: How many queries end at the same time when the node ends.
_AT_ONCE = 8
_CLEAN_AGAIN_S = 2.0
_CLEAN_ATTEMPTS = 15
_ENDED = (State.ERROR, State.PENDING_ERROR, State.NOT_RUNNING)


class QueryRuntime(Protocol):
    """The runtime that runs queries, such as ``SparkQueries``."""

    @property
    def applications(self) -> Mapping[str, KafkaStreams]: ...
    def start(self, query: PersistentQuery, topology: Topology) -> None: ...
    def stop(self, query_id: str) -> None: ...
    def pause(self, query_id: str, *, is_paused: bool) -> None: ...
    def forget(self, query_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """One failure of a query, as SHOW QUERIES EXTENDED and DESCRIBE EXTENDED list it."""

    time_ms: int
    message: str
    error_class: ErrorClass


@dataclass(slots=True)
class _Watched:
    """What the supervisor knows of one query."""

    query: PersistentQuery
    failures: deque[QueryFailure]
    failed_in_a_row: int = 0
    restarts: int = 0
    #: When it may be started, by the monotonic clock.
    due: float = 0.0
    started: float = 0.0


@dataclass(slots=True)
class _Cleaning:
    """Work that waits until a query has ended on all nodes, such as deleting its topics."""

    work: Callable[[], None]
    what: str
    #: The queries that have to end first.
    after: frozenset[str] = frozenset()
    due: float = 0.0
    attempts: int = 0
    done: threading.Event = field(default_factory=threading.Event)


class QuerySupervisor:
    """Keep exactly the queries of the catalog running, in a thread of its own.

    A query that fails is started again after a pause, which doubles with every failure, as in
    ksqlDB. The status of a query comes from the query itself, so a dead one never shows RUNNING.
    A query that takes long to start or to end does not delay others.

    Args:
        runtime: Runs the queries.
        settings: ksqlDB's settings of the node.
        clock: The time in seconds, for tests.
        patience_s: How long one step waits for queries that it starts or ends.
    """

    def __init__(
        self,
        runtime: QueryRuntime,
        settings: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._runtime, self._clock, self._patience_s = runtime, clock, patience_s
        self._classify = error_classifier(settings)
        self._first_s = float(settings.get(FIRST_PAUSE, 15_000)) / 1000
        self._longest_s = float(settings.get(LONGEST_PAUSE, 900_000)) / 1000
        self._kept = int(settings.get(ERRORS_KEPT, 10))
        self._lock = threading.Lock()
        self._catalog = Catalog()
        self._watched: dict[str, _Watched] = {}
        self._cleanings: list[_Cleaning] = []
        self._wake = threading.Event()
        self._work = QueryWork(self._wake.set)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-queries", daemon=True)

    # Calls of the node

    def start(self) -> None:
        self._thread.start()

    def follow(self, catalog: Catalog) -> None:
        """Take a new catalog: from now on its queries run, and no others."""
        with self._lock:
            self._catalog = catalog
        self._wake.set()

    def forget(self, query_id: str) -> None:
        """Delete the state of a query once it has ended; try again while other nodes run it."""

        def work() -> None:
            # A new query may have the same id by now; then the state belongs to it.
            if query_id not in self._runtime.applications:
                self._runtime.forget(query_id)

        self._clean(work, f"the state of {query_id}", [query_id])

    def afterwards(
        self, work: Callable[[], None], what: str, queries: Collection[str]
    ) -> threading.Event:
        """Call ``work`` once dropped queries have ended; the event is set after it."""
        return self._clean(work, what, queries)

    def retry(self, query_id: str | None) -> None:
        """Start failed queries now, instead of at the end of their pause."""
        with self._lock:
            for name, watched in self._watched.items():
                if query_id in (None, name):
                    watched.due = 0.0
        self._wake.set()

    def close(self, timeout_s: float = 60.0) -> None:
        """End all queries after their current batches."""
        self._closing.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        self._work.close(timeout_s)
        _side_by_side(self._runtime.stop, list(self._runtime.applications))

    # Status

    def application(self, query_id: str) -> KafkaStreams | None:
        return self._runtime.applications.get(query_id)

    def status(self, query_id: str) -> QueryStatus:
        """Return the present status of a query of the catalog on this node."""
        application = self._runtime.applications.get(query_id)
        watched = self._watched.get(query_id)
        if application is None:
            has_failed = watched is not None and watched.failed_in_a_row > 0
            return "ERROR" if has_failed else self._wanted_status(query_id)
        if application.state in _ENDED:
            return "ERROR"
        return self._wanted_status(query_id)

    def _wanted_status(self, query_id: str) -> QueryStatus:
        query = self._catalog.queries.get(query_id)
        return "PAUSED" if query is not None and query.state == "PAUSED" else "RUNNING"

    def failures(self, query_id: str) -> list[QueryFailure]:
        """Return the last failures of a query, oldest first."""
        watched = self._watched.get(query_id)
        return [] if watched is None else list(watched.failures)

    def restarts(self) -> dict[str, int]:
        """Return how often each query was started again after a failure."""
        return {name: watched.restarts for name, watched in list(self._watched.items())}

    # The thread

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self.step()
            except Exception:  # noqa: BLE001 - the other queries must be watched on
                _log.exception("the supervisor of queries failed and goes on")
            self._wake.wait(_LOOK_S)
            self._wake.clear()

    def step(self) -> None:
        """Compare the running queries with the catalog once; start and end what differs."""
        with self._lock:
            # Both are read under one lock. The node sets the catalog before it adds a cleaning, so
            # a cleaning never meets an older catalog.
            catalog, cleanings = self._catalog, list(self._cleanings)
        # A query whose work ends during this step is handled in the next one.
        busy = self._work.busy()
        self._end_others(catalog, busy)
        self._clean_up(cleanings, busy)
        for query in list(catalog.queries.values()):
            if self._closing.is_set():
                return
            if query.id not in busy:
                self._look_at(query, catalog)
        self._work.settle(self._patience_s)

    def _end_others(self, catalog: Catalog, busy: Collection[str]) -> None:
        """End queries that are gone from the catalog, or have another plan there.

        ALTER SYSTEM may give all of them another plan.
        """
        for query_id, watched in list(self._watched.items()):
            wanted = catalog.queries.get(query_id)
            is_other = wanted is None or wanted.plan is not watched.query.plan
            if is_other and query_id not in busy:
                self._end(query_id)
                del self._watched[query_id]
        self._work.settle(self._patience_s)

    def _end(self, query_id: str) -> None:
        self._work.begin("end", query_id, lambda: self._runtime.stop(query_id))

    def _look_at(self, query: PersistentQuery, catalog: Catalog) -> None:
        """Start a query of the catalog, if it is due."""
        watched = self._watched.get(query.id)
        if watched is None:
            watched = self._watched[query.id] = _Watched(query, deque(maxlen=self._kept))
        was_paused, watched.query = watched.query.state == "PAUSED", query
        if was_paused and query.state == "RUNNING":
            watched.due = 0.0
        if self._is_due(watched):
            self._work.begin("start", query.id, lambda: self._begin(watched, catalog))

    def _is_due(self, watched: _Watched) -> bool:
        """Check one query, and return whether it has to be started now."""
        query_id = watched.query.id
        if query_id in self._work.busy():
            # The query is still ending with its older plan.
            return False
        application = self._runtime.applications.get(query_id)
        if application is not None and application.state in _ENDED:
            error = application.error or RuntimeError("the query ended by itself")
            self._end(query_id)
            self._failed(watched, error)
        elif application is not None:
            self._runtime.pause(query_id, is_paused=watched.query.state == "PAUSED")
            if watched.failed_in_a_row and self._clock() - watched.started > self._longest_s:
                watched.failed_in_a_row = 0
        else:
            return self._clock() >= watched.due
        return False

    def _begin(self, watched: _Watched, catalog: Catalog) -> None:
        query = watched.query
        watched.restarts += bool(watched.failed_in_a_row)
        try:
            self._runtime.start(query, told_apart(query, catalog.queries))
        # A start may fail for any reason; the other queries must not notice it.
        except Exception as error:  # noqa: BLE001
            self._runtime.stop(query.id)
            self._failed(watched, error)
            return
        watched.started = self._clock()
        _log.info("query %s runs", query.id)

    def _failed(self, watched: _Watched, error: BaseException) -> None:
        watched.failed_in_a_row += 1
        pause_s = min(self._first_s * 2 ** (watched.failed_in_a_row - 1), self._longest_s)
        watched.due = self._clock() + pause_s
        failure = QueryFailure(int(time.time() * 1000), str(error), self._classify(error))
        watched.failures.append(failure)
        _log.error(
            "query %s failed (%s) and is started again in %.1f s: %s",
            watched.query.id, failure.error_class, pause_s, error,
        )  # fmt: skip

    # Cleaning up

    def _clean(
        self, work: Callable[[], None], what: str, queries: Collection[str]
    ) -> threading.Event:
        cleaning = _Cleaning(work, what, frozenset(queries))
        with self._lock:
            self._cleanings.append(cleaning)
        self._wake.set()
        return cleaning.done

    def _clean_up(self, cleanings: Sequence[_Cleaning], busy: frozenset[str]) -> None:
        for cleaning in cleanings:
            # A query that was starting when this step began may run by now. It has not been told to
            # end yet.
            is_early = cleaning.after & (busy | self._work.busy())
            if is_early or self._clock() < cleaning.due:
                continue
            try:
                cleaning.work()
            except Exception as error:  # noqa: BLE001 - tried again, then told
                cleaning.attempts += 1
                cleaning.due = self._clock() + _CLEAN_AGAIN_S
                if cleaning.attempts < _CLEAN_ATTEMPTS:
                    continue
                _log.warning("%s could not be deleted: %s", cleaning.what, error)
            with self._lock:
                self._cleanings.remove(cleaning)
            cleaning.done.set()


def _side_by_side(work: Callable[[T], None], items: Sequence[T]) -> None:
    """End several queries at the same time: mostly they wait for Kafka."""
    with ThreadPoolExecutor(_AT_ONCE, "penstock-queries") as pool:
        list(pool.map(work, items))
