"""Pull queries of this server: plans from the cache, rows from replicas."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.kafka.topic_reader import Positions, has_reached
from penstock.kernel.record_queue import RawRecord
from penstock.server.cuts.server_cut import ServerCut
from penstock.server.cuts.service import READ_CUT, REQUEST_CUT, ServerCuts, cut_number, wanted_cut
from penstock.server.errors import BadRequestError, BusyError, NotReadyError, ServerError
from penstock.server.host import QueryHost
from penstock.server.positions import from_token
from penstock.server.pull.plan_cache import BoundPull, PlanCache
from penstock.server.pull.prepared import prepare
from penstock.server.pull.replica import TableReplica
from penstock.server.pull.replicas import Replicas
from penstock.server.reading import Topics
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.planner.lowering.context import Row
from penstock.sql.pull.plans import KeyLookup
from penstock.sql.pull.table_rows import TableRows

MAX_LAG = "ksql.query.pull.max.allowed.offset.lag"
TOKENS_ENABLED = "ksql.query.pull.consistency.token.enabled"
MAX_CONCURRENT = "ksql.query.pull.max.concurrent.requests"
MAX_QPS = "ksql.query.pull.max.qps"
CONSISTENCY = "request.ksql.query.pull.consistency.token"
_POLL_S = 0.1
#: Statements of this length are looked up in a fraction of a millisecond.
_LONGEST = 10_000
_UNLIMITED = 2**31 - 1


class TooStaleError(ServerError):
    """The replica of a table is further behind its topic than the request allows."""

    status, error_code = 503, 50300


@dataclass(frozen=True, slots=True)
class Freshness:
    """How new an answer must be: at these positions, and at most ``max_lag`` offsets behind."""

    positions: Positions | None = None
    max_lag: int | None = None
    #: The number of the cut to read, or ``LATEST``; None reads what is there.
    wanted_cut: int | None = None
    #: That cut, once it is there.
    cut: ServerCut | None = None
    #: Whether the answer ends with a token of its position.
    sends_token: bool = False


ANY_AGE = Freshness()


class PullService:
    """Plan and answer SELECT without EMIT. Threads may share it.

    Args:
        host: The server's catalog.
        topics: The topics of the cluster.
        replicas: The copies of tables.
        cuts: The cuts over all queries.
        timeout_s: How long a query may wait for a replica, or for a cut.
    """

    def __init__(
        self,
        host: QueryHost,
        topics: Topics,
        replicas: Replicas,
        cuts: ServerCuts,
        timeout_s: float = 30.0,
    ) -> None:
        self._host = host
        self._topics = topics
        self._replicas = replicas
        self._cuts = cuts
        self._timeout_s = timeout_s
        self._cache = PlanCache()
        #: The catalog that the replicas belong to.
        self._followed: Catalog | None = None
        settings = host.engine.config
        self._most = int(settings.get(MAX_CONCURRENT, _UNLIMITED))
        self._rate = _Rate(int(settings.get(MAX_QPS, _UNLIMITED)))
        self._has_defaults = any(name in settings for name in (MAX_LAG, TOKENS_ENABLED, READ_CUT))
        self._under_way = 0

    # Planning

    def cached(
        self, sql: str, properties: Mapping[str, Any], variables: Mapping[str, str]
    ) -> BoundPull | None:
        """Return the plan of a statement if its shape has one. Takes microseconds."""
        # The event loop calls this: a long statement is read in a thread.
        if (
            variables
            or len(sql) > _LONGEST
            or not self._cache.is_current(self._host.engine.catalog)
        ):
            return None
        return self._cache.find(sql, properties)[0]

    def plan(
        self,
        sql: str,
        properties: Mapping[str, Any],
        variables: Mapping[str, str],
        parsed: Query | None = None,
    ) -> BoundPull:
        """Plan a statement, which may be parsed, and keep the plan; takes some milliseconds.

        Raises:
            SqlError: what is wrong with the statement.
        """
        catalog = self._host.engine.catalog
        self._cache.is_current(catalog)
        if catalog is not self._followed:
            self._followed = catalog
            self._replicas.follow(catalog)
        if variables:
            session = self._host.session(properties, variables)
            return BoundPull(prepare(session, sql, (), parsed), ())
        found, shape = self._cache.find(sql, properties)
        if found is not None:
            return found
        session = self._host.session(properties, variables)
        return self._cache.planned(
            shape, properties, lambda literals: prepare(session, sql, literals, parsed), catalog
        )

    def freshness(
        self, bound: BoundPull, properties: Mapping[str, Any], request: Mapping[str, Any]
    ) -> Freshness:
        """Return how new the answer must be, by the statement, the request and the settings."""
        fresh, cut = self._by_settings(properties, request), bound.prepared.query.query.cut
        return fresh if cut is None else replace(fresh, wanted_cut=cut_number(cut))

    def _by_settings(self, properties: Mapping[str, Any], request: Mapping[str, Any]) -> Freshness:
        engine = self._host.engine
        if not (properties or request or self._has_defaults or engine.catalog.system):
            return ANY_AGE
        settings = {**engine.config, **engine.catalog.system, **properties}
        token = request.get(CONSISTENCY)
        return Freshness(
            from_token(token)[0] if token else None,
            _lag(settings.get(MAX_LAG)),
            wanted_cut(request.get(REQUEST_CUT, settings.get(READ_CUT))),
            sends_token=str(settings.get(TOKENS_ENABLED, "false")).lower() == "true",
        )

    def at_cut(self, bound: BoundPull, fresh: Freshness) -> Freshness:
        """Return the request with the cut that it wants. May wait: not for the event loop.

        Raises:
            NoCutError: there is none in time, or the cut does not have what the query reads.
        """
        if fresh.wanted_cut is None or fresh.cut is not None:
            return fresh
        sources = [
            found
            for each in bound.prepared.query.push.plan.sources
            if (found := self._host.engine.catalog.sources.get(each.name)) is not None
        ]
        return replace(fresh, cut=self._cuts.at(fresh.wanted_cut, sources, self._timeout_s))

    # Limits

    def enter(self) -> None:
        """Count one more request that is under way; call ``leave`` at its end.

        Raises:
            BusyError: there are as many as the settings allow, or they come too fast.
        """
        if self._under_way >= self._most:
            raise BusyError(
                "too-many-pull-queries",
                f"{self._under_way} pull queries are under way, and {MAX_CONCURRENT} is"
                f" {self._most}",
                fix="ask again in a moment",
            )
        self._rate.check()
        self._under_way += 1

    def leave(self) -> None:
        self._under_way -= 1

    # Answering

    def at_once(self, bound: BoundPull, fresh: Freshness) -> list[Row] | None:
        """Return the rows of a lookup by key if the replica is there and new enough.

        It reads a few keys from memory or from disk, so the event loop may call it. None means
        that the answer has to wait, or that the query is not a lookup of a few rows by key.
        """
        prepared, plan = bound.prepared, bound.prepared.plan
        if not isinstance(plan, KeyLookup) or not prepared.is_plain or not prepared.is_light:
            return None
        if fresh.wanted_cut is not None:
            return None
        replica = self._replicas.ready(plan.source)
        if replica is None or not _is_fresh(replica, fresh):
            return None
        found = plan.few(replica.rows, bound.literals)
        return None if found is None else list(prepared.paged(found))

    def rows(
        self, bound: BoundPull, fresh: Freshness, left: threading.Event | None = None
    ) -> Iterable[Row]:
        """Return the rows of any pull query. May wait and read much: not for the event loop.

        Args:
            bound: The plan, and the literals of the statement.
            fresh: How new the rows have to be.
            left: Set when the client has left. Then topics are not read to their ends.

        Raises:
            NotReadyError: a table is still being loaded.
            TooStaleError: a table is too far behind.
        """
        reads = _Reads(self, self.at_cut(bound, fresh), left)
        return bound.prepared.paged(bound.prepared.plan.answer(reads, bound.literals))

    def positions(self, bound: BoundPull) -> Positions:
        """Return the positions of the tables that a query reads, for a consistency token."""
        names = {source.name for source in bound.prepared.query.push.plan.sources}
        found: Positions = {}
        for replica in self._replicas.all():
            if replica.source.name in names:
                found |= replica.positions
        return found

    def table(self, source: DataSource, fresh: Freshness) -> TableRows:
        """Return the rows of a table, as new as they have to be; may wait.

        Raises:
            NotReadyError: the table is still being loaded.
            TooStaleError: it is too far behind.
        """
        if fresh.cut is not None:
            return fresh.cut.tables[source.name]
        replica = self._replicas.of(source, self._timeout_s)
        wanted = fresh.positions
        if wanted is not None:
            own = {place: at for place, at in wanted.items() if place[0] == source.topic}
            if not replica.wait(own, self._timeout_s):
                raise NotReadyError(
                    "not-caught-up",
                    f"the rows of table {source.name} do not contain the position of the token yet",
                    fix="ask again in a moment",
                )
        if fresh.max_lag is not None and replica.lag > fresh.max_lag:
            raise TooStaleError(
                "too-stale",
                f"table {source.name} is {replica.lag} offsets behind, and {MAX_LAG} is"
                f" {fresh.max_lag}",
                fix=f"ask again in a moment, or allow more with {MAX_LAG}",
            )
        return replica.rows

    def to_end(
        self, topic: str, fresh: Freshness, gone: threading.Event | None
    ) -> Iterator[RawRecord]:
        """Yield the records of a topic up to the end it has now, or until the client has gone.

        In a cut, they end where the cut does.
        """
        places = self._topics.places([topic])
        if fresh.cut is None:
            ends = self._topics.ends(places)
        else:
            ends = {place: fresh.cut.positions.get(place, 0) for place in places}
        begins = self._topics.begins(places)
        left = {place: end for place, end in ends.items() if end > begins[place]}
        if not left:
            return
        reader = self._topics.reader({place: begins[place] for place in left}, is_eager=True)
        try:
            while not has_reached(reader.positions, left) and not (gone and gone.is_set()):
                for record in reader.read(_POLL_S):
                    if record.offset < left[record.topic, record.partition]:
                        yield record
        finally:
            reader.close()


@dataclass(frozen=True, slots=True)
class _Reads:
    """What one answer is read from."""

    service: PullService
    fresh: Freshness
    #: Set when the client has left.
    left: threading.Event | None

    def table(self, source: DataSource) -> TableRows:
        return self.service.table(source, self.fresh)

    def stream(self, source: DataSource) -> Iterator[RawRecord]:
        return self.service.to_end(source.topic, self.fresh, self.left)


def _lag(given: Any) -> int | None:
    """Return how many offsets an answer may be behind.

    Raises:
        BadRequestError: ``bad-setting``.
    """
    try:
        return None if given is None else int(given)
    except (TypeError, ValueError):
        raise BadRequestError(
            "bad-setting", f"{MAX_LAG} is {given!r}, which is not a whole number", fix="send one"
        ) from None


def _is_fresh(replica: TableReplica, fresh: Freshness) -> bool:
    if fresh.positions is not None:
        topic = replica.source.topic
        own = {place: at for place, at in fresh.positions.items() if place[0] == topic}
        if not has_reached(replica.positions, own):
            return False
    return fresh.max_lag is None or replica.lag <= fresh.max_lag


class _Rate:
    """Allow a limited number of requests in each second of the clock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._second = 0
        self._count = 0

    def check(self) -> None:
        if self._most >= _UNLIMITED:
            return
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._count = second, 0
        if self._count >= self._most:
            raise BusyError(
                "too-many-pull-queries",
                f"{self._count} pull queries have come in this second, and {MAX_QPS} is"
                f" {self._most}",
                fix="ask again in a second",
            )
        self._count += 1
