"""Push queries of this server: plan, open, list and close them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from penstock.kafka.topic_reader import Positions
from penstock.server.cuts.service import (
    LATEST,
    READ_CUT,
    REQUEST_CUT,
    ServerCuts,
    cut_number,
    wanted_cut,
)
from penstock.server.errors import (
    BadRequestError,
    BadStatementError,
    ForbiddenError,
    ServerError,
)
from penstock.server.host import QueryHost
from penstock.server.positions import from_token, to_token
from penstock.server.push.catch_up import CatchUp
from penstock.server.push.cut_feed import CutFeed
from penstock.server.push.runs import PushRun, RowRun, TopologyRun
from penstock.server.push.shared_reader import SharedReader, SharedReaders
from penstock.server.push.subscription import Subscription
from penstock.server.query_meter import QueryMeter
from penstock.server.reading import Place, Topics
from penstock.serving.credentials import Access, Caller
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.row_plan import RowPlan, row_plan
from penstock.sql.session import SqlSession
from penstock.sql.setting_names import STREAMS_PREFIX

MAX_PUSH_QUERIES = "ksql.max.push.queries"
MAX_CATCH_UP = "ksql.query.push.v2.max.catchup.consumers"
TOKENS_ENABLED = "ksql.query.push.v2.continuation.tokens.enabled"
CONTINUATION = "request.ksql.query.push.continuation.token"
_OFFSET_RESET = "auto.offset.reset"
_CLOSE_S = 5.0
#: The caller that may end every query: the server itself.
_SERVER = Caller(Access.FULL)


class TooManyPushQueriesError(ServerError):
    """The server has as many push queries as it may have."""

    status, error_code = 429, 40003


@dataclass(frozen=True, slots=True)
class PlannedPush:
    """A SELECT with EMIT, planned: what it reads, where it begins, and what its rows are."""

    query: PushQuery
    rows: RowPlan | None
    #: What subscribers of the same query have in common.
    key: Any
    is_latest: bool
    sends_tokens: bool
    token: str | None = None
    #: The table whose changes come cut by cut; None if they come as they are written.
    cut_of: DataSource | None = None

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return self.query.columns

    @property
    def topics(self) -> list[str]:
        return sorted({source.topic for source in self.query.plan.sources})

    @property
    def source(self) -> str:
        """The streams and tables that the query reads, for the metrics."""
        return ",".join(sorted({source.name for source in self.query.plan.sources}))

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """The columns that tell rows of a table apart; None for a stream.

        It is empty if the SELECT leaves out a part of the key.
        """
        return self.query.row_key

    @property
    def schema(self) -> str:
        """The columns as ksqlDB writes them; no column of a push query is marked as a key."""
        quoted = (("`" + c.name.replace("`", "``") + "`", c.type) for c in self.columns)
        return ", ".join(f"{name} {type_}" for name, type_ in quoted)


@dataclass(slots=True)
class OpenPush:
    """A push query that runs; ``close`` it."""

    id: str
    planned: PlannedPush
    subscription: Subscription
    readers: Sequence[SharedReader]
    catch_up: CatchUp | CutFeed | None = None
    #: The digest of the credentials that opened it.
    owner: bytes = b""
    is_closed: bool = False
    #: Set if the query was ended by /close-query.
    is_ended: bool = False

    @property
    def token(self) -> str:
        """The continuation token: a client that lost its connection resumes after its last row."""
        return self.token_at(self.subscription.positions)

    def token_at(self, positions: Mapping[Place, int]) -> str:
        starts = self.subscription.starts if self.subscription.run.has_state else None
        return to_token(positions, starts)


@dataclass(slots=True)
class PushService:
    """Open push queries up to the limit of the server; ``close`` ends all of them."""

    host: QueryHost
    topics: Topics
    meter: QueryMeter
    cuts: ServerCuts
    _readers: SharedReaders = field(init=False)
    _open: dict[str, OpenPush] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _places: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        settings = self.host.engine.config
        self._readers = SharedReaders(self.topics)
        self._places = threading.Semaphore(int(settings.get(MAX_CATCH_UP, "5")))

    # Planning

    def plan(
        self,
        sql: str,
        properties: Mapping[str, Any],
        variables: Mapping[str, str],
        request: Mapping[str, Any],
        parsed: Query | None = None,
    ) -> PlannedPush:
        """Plan a SELECT with EMIT, which may be parsed; takes some milliseconds.

        Raises:
            SqlError: what is wrong with the statement.
        """
        session = self.host.session(properties, variables)
        query = session.query(sql, parsed)
        lowering = session.lowering(query.id)
        rows = row_plan(query.plan, lowering)
        given = (properties, variables, session.catalog.system)
        shared = (sql, *(str(sorted(each.items())) for each in given))
        return PlannedPush(
            query,
            rows,
            (*shared, *((source.name, source.sql) for source in query.plan.sources)),
            is_latest=_setting(session, _OFFSET_RESET, "latest") == "latest",
            sends_tokens=_setting(session, TOKENS_ENABLED, "false").lower() == "true",
            token=request.get(CONTINUATION) or None,
            cut_of=_cut_of(session, query, rows, request),
        )

    # Life

    def open(
        self, planned: PlannedPush, loop: asyncio.AbstractEventLoop, owner: bytes = b""
    ) -> OpenPush:
        """Start a planned query for a connection of an event loop. Asks Kafka, so it may wait.

        Args:
            planned: The query.
            loop: The event loop of the connection.
            owner: The digest of the caller's credentials. A caller with the same ones may end it.

        Raises:
            TooManyPushQueriesError: ``too-many-push-queries``.
        """
        query_id = _new_id(planned)
        with self._lock:
            self._check_room(planned)
            # The query is counted before Kafka is asked, so that the limit holds.
            self._open[query_id] = _PENDING
        readers: list[SharedReader] = []
        try:
            # The copy of the table is read instead of the topic.
            for topic in () if planned.cut_of is not None else planned.topics:
                readers.append(self._readers.acquire(topic))
            opened = self._subscribed(query_id, planned, readers, loop)
            opened.owner = owner
        except BaseException:
            for reader in readers:
                self._readers.release(reader)
            with self._lock:
                del self._open[query_id]
            raise
        with self._lock:
            self._open[query_id] = opened
        self.meter.opened(planned.source)
        return opened

    def close(self, opened: OpenPush) -> None:
        """End a query and free everything that it used. May wait a moment."""
        with self._lock:
            if opened.is_closed:
                return
            opened.is_closed = True
            self._open.pop(opened.id, None)
        for reader in opened.readers:
            reader.detach(opened.subscription)
        opened.subscription.close()
        for reader in opened.readers:
            self._readers.release(reader)
        if opened.catch_up is not None:
            opened.catch_up.join(_CLOSE_S)
        self.meter.closed(opened.planned.source, opened.subscription.sent)

    def end(self, query_id: str, caller: Caller = _SERVER) -> bool:
        """End a query by its id, as /close-query does; false if there is none.

        Raises:
            ForbiddenError: ``forbidden``, for a reader who has not opened the query.
        """
        with self._lock:
            opened = self._open.get(query_id)
        if opened is None or opened is _PENDING:
            return False
        if caller.access < Access.WRITE and caller.digest != opened.owner:
            raise ForbiddenError(
                "forbidden",
                f"query {query_id} belongs to another caller: ending it needs the role write",
                fix="use the credentials that opened it, or some with the role write",
            )
        opened.is_ended = True
        opened.subscription.is_closed = True
        opened.subscription.wake()
        return True

    def all(self) -> list[OpenPush]:
        with self._lock:
            return [each for each in self._open.values() if each is not _PENDING]

    def close_all(self) -> None:
        for opened in self.all():
            self.close(opened)
        self._readers.close()

    @property
    def shared_readers(self) -> list[SharedReader]:
        return self._readers.all()

    # Inside

    def _check_room(self, planned: PlannedPush) -> None:
        most = int(self.host.engine.config.get(MAX_PUSH_QUERIES, "100"))
        if len(self._open) >= most:
            raise TooManyPushQueriesError(
                "too-many-push-queries",
                f"{len(self._open)} push queries run, and {MAX_PUSH_QUERIES} is {most}",
                fix=f"end one of them, or raise {MAX_PUSH_QUERIES} in the server's settings",
                statement=planned.query.plan.sql or None,
            )

    def _subscribed(
        self,
        query_id: str,
        planned: PlannedPush,
        readers: list[SharedReader],
        loop: asyncio.AbstractEventLoop,
    ) -> OpenPush:
        if planned.cut_of is not None:
            return self._by_cuts(query_id, planned, planned.cut_of, loop)
        run = self._run(planned, readers)
        plan = planned.query.plan
        starts, muted = self._starts(planned, run)
        subscription = Subscription(
            run, starts, limit=plan.limit, offset=plan.offset, muted_until=muted, loop=loop
        )
        opened = OpenPush(query_id, planned, subscription, readers)
        if subscription.is_complete:
            return opened
        if starts:
            opened.catch_up = CatchUp(self.topics, subscription, readers, self._places)
            opened.catch_up.start()
            return opened
        for reader in readers:
            found = reader.attach(subscription, None)
            assert found is not None
            # Records may have arrived since ``attach``, and have moved the positions already.
            for place, at in found.items():
                subscription.positions.setdefault(place, at)
            subscription.starts.update(found)
        return opened

    def _by_cuts(
        self,
        query_id: str,
        planned: PlannedPush,
        source: DataSource,
        loop: asyncio.AbstractEventLoop,
    ) -> OpenPush:
        assert planned.rows is not None
        plan = planned.query.plan
        run = RowRun(planned.rows, planned.key)
        subscription = Subscription(run, {}, limit=plan.limit, offset=plan.offset, loop=loop)
        opened = OpenPush(query_id, planned, subscription, ())
        if not subscription.is_complete:
            feed = CutFeed(self.cuts, source, subscription, is_latest=planned.is_latest)
            opened.catch_up = feed
            feed.start()
        return opened

    def _run(self, planned: PlannedPush, readers: list[SharedReader]) -> PushRun:
        if planned.rows is not None:
            return RowRun(planned.rows, planned.key)
        return TopologyRun(planned.query, {r.topic: r.partitions for r in readers})

    def _starts(self, planned: PlannedPush, run: PushRun) -> tuple[Positions, Positions | None]:
        """Return where a query begins, and up to where its rows were sent before.

        An empty first result means the present end.
        """
        if planned.token is None and planned.is_latest:
            return {}, None
        beginning = dict.fromkeys(self.topics.places(planned.topics), 0)
        if planned.token is None:
            return beginning, None
        ends, starts = from_token(planned.token)
        if not {*ends, *starts} <= beginning.keys():
            raise BadRequestError(
                "bad-token",
                "the token belongs to another query: it names topics that this one does not read",
                fix="send a token of the same query, or leave it out",
            )
        # A partition that was added after the token was made is read from its beginning.
        ends = beginning | ends
        return (beginning | starts, ends) if run.has_state and starts else (ends, None)


def _cut_of(
    session: SqlSession, query: PushQuery, rows: RowPlan | None, request: Mapping[str, Any]
) -> DataSource | None:
    """Return the table whose changes are wanted cut by cut; None without that setting.

    Raises:
        BadStatementError: ``push-cut``: the query is not over the rows of one table.
    """
    if query.plan.cut is not None:
        wanted: int | None = cut_number(query.plan.cut)
    else:
        wanted = wanted_cut(request.get(REQUEST_CUT, session.settings.get(READ_CUT)))
    if wanted is None:
        return None
    source = None if rows is None else session.catalog.sources[rows.source.name]
    if source is None or not source.is_table or wanted != LATEST:
        raise BadStatementError(
            "push-cut",
            "over cuts, a push query selects rows of one table, and gets those of new cuts only",
            fix="make a table of it with CREATE TABLE ... AS SELECT, and select from that AS OF CUT"
            " LATEST; or leave out AS OF CUT and set 'penstock.read.cut' to 'none'",
            statement=query.plan.sql or None,
        )
    return source


def _setting(session: SqlSession, name: str, default: str) -> str:
    """Return a setting in force, under its own name or with ksqlDB's prefix for streams."""
    settings = session.settings
    return settings.get(name, settings.get(STREAMS_PREFIX + name, default))


def _new_id(planned: PlannedPush) -> str:
    """Return an id in ksqlDB's form, from which clients see the kind of the query."""
    unique = uuid4().hex[:12]
    if planned.rows is not None and planned.is_latest:
        return f"SCALABLE_PUSH_QUERY_{unique}"
    return f"transient_{planned.source.replace(',', '_')}_{unique}"


#: Stands for a query that is being opened, so that it counts for the limit.
_PENDING: Any = object()
