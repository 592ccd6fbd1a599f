"""The cuts of this server: taken one after the other, as long as somebody reads them."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence

from penstock.errors import PenstockError
from penstock.server.cuts.coverage import Part, QueryPlace, coverage
from penstock.server.cuts.server_cut import NoCutError, ServerCut
from penstock.server.cuts.taking import Taking
from penstock.server.errors import BadRequestError
from penstock.server.host import QueryHost
from penstock.server.pull.replicas import Replicas
from penstock.server.reading import Topics
from penstock.sql.ast.queries import Cut
from penstock.sql.catalog.catalog import DataSource, PersistentQuery

_log = logging.getLogger("penstock.server")

READ_CUT = "penstock.read.cut"
#: The same as a property of one request.
REQUEST_CUT = "request.penstock.read.cut"
LATEST = -1
#: How many cuts can be read at a time.
_KEPT = 4
#: Between two cuts: at least so long, and so many times as long as the last one took.
_LEAST_S, _SHARE = 0.1, 2.0
#: How long one cut may take. All queries stop at their sources until the slowest has come there.
_PATIENCE_S = 5.0
_BACKOFF_S, _MOST_BACKOFF_S = 0.5, 30.0
#: Without a question for so long, no cut is taken, and none is kept.
_IDLE_S = 30.0
#: How long a push query waits for the copy of its table.
_LOADING_S = 300.0
#: A cut that was begun before that is waited out for a newer one, for as long.
_FRESH_S = 1.0


def wanted_cut(text: str | None) -> int | None:
    """Return the cut that a setting names: a number, ``LATEST``, or None for none.

    Raises:
        BadRequestError: ``bad-setting``.
    """
    if text is None or text.lower() in ("", "none"):
        return None
    if text.lower() == "latest":
        return LATEST
    if text.isdecimal():
        return int(text)
    raise BadRequestError(
        "bad-setting",
        f"penstock.read.cut is {text!r:.100}, which is no cut",
        fix="send 'latest', the number of a cut, or 'none'",
    )


def cut_number(cut: Cut) -> int:
    """Return the number of a cut that a statement names, or ``LATEST``."""
    return LATEST if cut.number is None else cut.number


class ServerCuts:
    """Take cuts over all queries of this server, and keep the newest. Threads may share it.

    Nothing happens before the first question, and after half a minute without one it ends.

    Args:
        host: The server's catalog and its queries.
        topics: The topics of the cluster.
        replicas: The copies of tables.
    """

    def __init__(self, host: QueryHost, topics: Topics, replicas: Replicas) -> None:
        self._host, self._topics, self._replicas = host, topics, replicas
        self._changed = threading.Condition()
        self._kept: deque[ServerCut] = deque(maxlen=_KEPT)
        self._number = 0
        self._failure: PenstockError | None = None
        self._asked_at = 0.0
        #: Streams that were asked for, by topic.
        self._streams: set[str] = set()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def at(self, wanted: int, sources: Sequence[DataSource], timeout_s: float) -> ServerCut:
        """Return a cut that has some tables and streams; wait for one if there is none.

        Args:
            wanted: The number of a cut, or ``LATEST`` for the newest.
            sources: What the question reads.
            timeout_s: How long to wait.

        Raises:
            NoCutError: ``no-cut``, ``not-in-cut`` or ``cut-gone``.
            NotReadyError: ``table-loading``.
        """
        began = time.monotonic()
        for source in sources:
            if source.is_table:
                self._replicas.of(source, timeout_s)
        with self._changed:
            self._streams |= {source.topic for source in sources if not source.is_table}
            asked_ms = _now_ms()
            while True:
                self._asked_at = time.monotonic()
                self._begin()
                found = self._found(wanted, sources, asked_ms)
                waited_s = time.monotonic() - began
                if found is not None and (wanted != LATEST or _is_fresh(found, waited_s)):
                    return found
                if waited_s > timeout_s:
                    raise self._failure or NoCutError(
                        "no-cut", "no cut of all queries was there in time", fix="ask again"
                    )
                self._changed.wait(0.05 if found is not None else 0.5)

    def after(
        self, before: ServerCut | None, sources: Sequence[DataSource], timeout_s: float
    ) -> ServerCut | None:
        """Return the newest cut that has some tables and is newer than another one.

        None if there is none in time: whoever follows cuts waits for as long as it takes.

        Raises:
            NoCutError: ``not-in-cut``: cuts do not cover a table.
            NotReadyError: ``table-loading``.
        """
        for source in sources:
            self._replicas.of(source, _LOADING_S)
        deadline = time.monotonic() + timeout_s
        with self._changed:
            asked_ms = _now_ms()
            while True:
                self._asked_at = time.monotonic()
                self._begin()
                found = self._found(LATEST, sources, asked_ms)
                if found is not None and (before is None or found.number > before.number):
                    return found
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return None
                self._changed.wait(left_s)

    def _found(self, wanted: int, sources: Sequence[DataSource], asked_ms: int) -> ServerCut | None:
        if wanted == LATEST:
            for cut in reversed(self._kept):
                if _has(cut, sources):
                    return cut
                if cut.number >= asked_ms:
                    _check_covered(cut, sources)
            return None
        numbered = next((each for each in self._kept if each.number == wanted), None)
        if numbered is None:
            raise _gone(wanted, self._kept)
        _check_covered(numbered, sources)
        if not _has(numbered, sources):
            raise NoCutError(
                "not-in-cut",
                f"cut {wanted} was taken before anybody asked for all of what this query reads",
                fix="read the newest: AS OF CUT LATEST, or SET 'penstock.read.cut'='latest'",
            )
        return numbered

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._kept.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE_S)

    # The thread

    def _begin(self) -> None:
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="penstock-cuts", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        pause_s, failures = 0.0, 0
        while not self._is_over(pause_s):
            began = time.monotonic()
            try:
                cut = self._take()
            except Exception as error:  # noqa: BLE001 - whoever waits for the cut gets it
                failures += 1
                pause_s = min(_BACKOFF_S * 2**failures, _MOST_BACKOFF_S)
                _log.log(
                    logging.WARNING if failures in (1, 4) else logging.DEBUG,
                    "no cut of all queries: %s; the next is tried in %.0f s", error, pause_s,
                )  # fmt: skip
                with self._changed:
                    self._failure = error if isinstance(error, PenstockError) else _failed(error)
                    self._changed.notify_all()
                continue
            failures = 0
            pause_s = max(_LEAST_S, (time.monotonic() - began) * _SHARE)
            with self._changed:
                self._failure = None
                self._kept.append(cut)
                self._changed.notify_all()

    def _is_over(self, pause_s: float) -> bool:
        """Wait between two cuts; true if nobody wants another one."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, pause_s)
            if not self._is_closed and time.monotonic() - self._asked_at < _IDLE_S:
                return False
            self._thread = None
            self._kept.clear()
            self._streams.clear()
            return True

    def _take(self) -> ServerCut:
        self._number = max(self._number + 1, _now_ms())
        queries = list(self._host.engine.catalog.queries.values())
        covered = coverage([self._place(query) for query in queries])
        copies = [each.kept for each in self._replicas.all() if each.is_usable]
        with self._changed:
            streams = set(self._streams)
        return Taking(covered, copies, streams, self._topics, _PATIENCE_S).take(self._number)

    def _place(self, query: PersistentQuery) -> QueryPlace:
        plan = query.plan
        assert plan.sink is not None
        part, why = self._part(query)
        reads = frozenset(source.topic for source in plan.sources)
        return QueryPlace(
            query.id, reads if part is None else part.topics, plan.sink.topic, part, why
        )

    def _part(self, query: PersistentQuery) -> tuple[Part | None, str]:
        if query.state == "PAUSED":
            return None, f"query {query.id} is paused"
        application = self._host.running(query.id)
        try:
            part: Part | None = None if application is None else application.cut_part()
        except PenstockError:
            part = None
        return part, "" if part is not None else f"query {query.id} does not run on this server"


def _has(cut: ServerCut, sources: Sequence[DataSource]) -> bool:
    return all(
        _has_table(cut, each) if each.is_table else _has_stream(cut, each) for each in sources
    )


def _has_table(cut: ServerCut, source: DataSource) -> bool:
    rows = cut.tables.get(source.name)
    return rows is not None and rows.source is source and rows.is_whole


def _has_stream(cut: ServerCut, source: DataSource) -> bool:
    return any(topic == source.topic for topic, _ in cut.positions)


def _gone(wanted: int, kept: Sequence[ServerCut]) -> NoCutError:
    there = "there is no cut now"
    if kept:
        there = f"the oldest is {kept[0].number}, and the newest is {kept[-1].number}"
    return NoCutError(
        "cut-gone",
        f"the server has no cut {wanted} that could be read: {there}",
        fix="read the newest with AS OF CUT LATEST, or with SET 'penstock.read.cut'='latest'; the"
        f" last {_KEPT} are kept while somebody reads them",
    )


def _check_covered(cut: ServerCut, sources: Sequence[DataSource]) -> None:
    for source in sources:
        if source.topic in cut.left_out:
            raise NoCutError(
                "not-in-cut",
                f"cuts do not contain {source.name}: {cut.left_out[source.topic]}",
                fix="let the query go on, or read without AS OF CUT and penstock.read.cut",
            )


def _is_fresh(cut: ServerCut, waited_s: float) -> bool:
    return waited_s >= _FRESH_S or _now_ms() - cut.number <= _FRESH_S * 1000


def _failed(error: Exception) -> NoCutError:
    return NoCutError("no-cut", f"no cut of all queries could be taken: {error!r}", fix="ask again")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
