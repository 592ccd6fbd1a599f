"""``/query``, ``/query-stream``, ``/inserts-stream``, ``/close-query`` and ``/ws/query``."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Mapping
from urllib.parse import parse_qs

import msgspec
import orjson
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from penstock.server.cuts.service import REQUEST_CUT
from penstock.server.errors import BadRequestError, BadStatementError, ServerError
from penstock.server.host import QueryHost
from penstock.server.pull.plan_cache import BoundPull
from penstock.server.push.service import CONTINUATION, PlannedPush
from penstock.server.querying import QueryServices
from penstock.server.rest.inserts_stream import InsertsStream, KafkaSender, RowSender
from penstock.server.rest.printing import PrintAnswer
from penstock.server.rest.query_answers import CUT_HEADER, PullAnswer, PushAnswer
from penstock.server.rest.query_request import (
    QueryRequest,
    caller_of,
    read_body,
    read_request,
    refusal_of,
)
from penstock.server.rest.query_socket import QuerySocket
from penstock.server.rest.replies import WatchedSend, error_reply
from penstock.server.rest.row_forms import (
    DELIMITED,
    EVENTS,
    ChangesForm,
    DelimitedForm,
    FormFactory,
    form_for,
)
from penstock.server.security.masking import masked
from penstock.serving.credentials import Caller
from penstock.sql.ast.administration import PrintTopic
from penstock.sql.ast.queries import Query
from penstock.sql.syntax.parser import parse_statement

_log = logging.getLogger("penstock.server")


class NotAcceptableError(ServerError):
    """The caller accepts none of the forms that the server can send."""

    status, error_code = 406, 40600


Asked = BoundPull | PlannedPush | PrintTopic


def query_routes(host: QueryHost) -> list[BaseRoute]:
    """Return the routes of all queries of a server, over services of their own."""
    return QueryRoutes(QueryServices(host)).routes()


class QueryRoutes:
    """Answer queries over HTTP/1.1, HTTP/2 and websockets.

    It is one of the services that run beside a node: ``end_feeds`` ends push queries before the
    server stops, and ``close`` frees what they used.
    """

    def __init__(self, services: QueryServices, sender: RowSender | None = None) -> None:
        self.services = services
        self._inserts = InsertsStream(services, sender or KafkaSender(services.host.config))
        services.start()

    def routes(self) -> list[BaseRoute]:
        socket = QuerySocket(self.services, self.asked)
        return [
            Route("/query", _Endpoint(self, is_stream=False), methods=["POST"]),
            Route("/query-stream", _Endpoint(self, is_stream=True), methods=["POST", "GET"]),
            Route("/inserts-stream", self._inserts, methods=["POST"]),
            Route("/close-query", _Close(self.services), methods=["POST"]),
            WebSocketRoute("/ws/query", socket.answer),
        ]

    def end_feeds(self) -> None:
        """Tell all push queries to end; only on the event loop."""
        for opened in self.services.push.all():
            self.services.push.end(opened.id)

    def close(self) -> None:
        self._inserts.close()
        self.services.close()

    def asked(self, request: QueryRequest) -> Asked:
        """Parse and plan a request; takes some milliseconds, so a thread does it.

        Raises:
            BadStatementError: the statement is wrong, or is not a query.
        """
        with self.services.host.planning:
            return self._planned(request)

    def _planned(self, request: QueryRequest) -> Asked:
        sql, services = request.statement, self.services
        try:
            statement = parse_statement(sql, request.variables)
            if isinstance(statement, PrintTopic):
                return statement
            if not isinstance(statement, Query):
                raise BadStatementError(
                    "not-a-query",
                    f"{type(statement).__name__} is neither a SELECT nor a PRINT",
                    fix="send it to /ksql",
                    statement=masked(sql),
                )
            if statement.emit is None:
                return services.pull.plan(sql, request.settings, request.variables, statement)
            return services.push.plan(
                sql, request.settings, request.variables, request.request, statement
            )
        except Exception as error:
            refusal = refusal_of(error, sql)
            if refusal is error:
                raise
            raise refusal from None


@functools.lru_cache(maxsize=64)
def _form(accept: bytes | None, is_stream: bool) -> FormFactory | None:
    text = None if accept is None else accept.decode("latin-1")
    return form_for(text, is_stream=is_stream)


class _Endpoint:
    """Run one query, without Starlette's requests and responses, which took a third of the time."""

    def __init__(self, routes: QueryRoutes, *, is_stream: bool) -> None:
        self._routes = routes
        self._services = routes.services
        self._is_stream = is_stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sql: str | None = None
        answered = WatchedSend(send)
        try:
            headers: Mapping[bytes, bytes] = dict(scope["headers"])
            accept = headers.get(b"accept")
            if scope["method"] == "GET":
                request = _from_url(scope, headers)
                accept = EVENTS.encode()
            else:
                request = read_request(await read_body(receive))
            sql = request.statement
            if CUT_HEADER in headers:
                wanted = headers[CUT_HEADER].decode("latin-1")
                request.request_properties = {**request.request, REQUEST_CUT: wanted}
            factory = _form(accept, self._is_stream)
            if factory is None:
                raise NotAcceptableError(
                    "not-acceptable", "the server has no form of rows that the Accept header allows"
                )
            await self._answer(request, factory, caller_of(scope), receive, answered)
        except ConnectionError:
            _log.debug("a client left before its query was read")
        except Exception as error:  # noqa: BLE001 - each has an answer
            if answered.has_started:
                _log.debug("an answer ended early", exc_info=True)
                return
            await error_reply(refusal_of(error, sql))(scope, receive, send)

    async def _answer(
        self,
        request: QueryRequest,
        factory: FormFactory,
        caller: Caller,
        receive: Receive,
        send: Send,
    ) -> None:
        services = self._services
        if request.command_sequence_number is not None:
            await services.host.caught_up(request.command_sequence_number)
        asked: Asked | None = services.pull.cached(
            request.statement, request.settings, request.variables
        )
        if asked is None:
            loop = asyncio.get_running_loop()
            asked = await loop.run_in_executor(services.threads, self._routes.asked, request)
        if not isinstance(asked, PrintTopic):
            services.check_access(asked, caller.access)
        if isinstance(asked, BoundPull):
            fresh = services.pull.freshness(asked, request.settings, request.request)
            await PullAnswer(services, asked, fresh, factory).send(receive, send)
        elif isinstance(asked, PrintTopic):
            if self._is_stream and factory not in (DelimitedForm, ChangesForm):
                # PRINT has lines of text, and no other form.
                raise NotAcceptableError("not-acceptable", f"PRINT answers with {DELIMITED} only")
            services.host.topic_rules.check_read(asked.topic, caller.access)
            await PrintAnswer(services, asked).send(receive, send)
        else:
            await PushAnswer(services, asked, factory, caller.digest).send(receive, send)


def _from_url(scope: Scope, headers: Mapping[bytes, bytes]) -> QueryRequest:
    """Return the query of a GET, as a browser's EventSource sends it."""
    given = parse_qs(scope["query_string"].decode("latin-1"))
    sql = given.get("sql", given.get("ksql", [""]))[0]
    if not sql:
        raise BadRequestError("no-query", "the URL has no query", fix="add ?sql=SELECT ...")
    try:
        properties = orjson.loads(given.get("properties", ["{}"])[0])
    except ValueError:
        properties = None
    if not isinstance(properties, dict):
        raise BadRequestError("bad-properties", "properties in the URL is not a JSON object")
    last = headers.get(b"last-event-id")
    request = {} if not last else {CONTINUATION: last.decode("latin-1")}
    return QueryRequest(sql=sql, properties=properties, request_properties=request)


class _CloseRequest(msgspec.Struct, rename="camel"):
    query_id: str


class _Close:
    """End a push query by its id: the caller's own, or any query with the role write."""

    def __init__(self, services: QueryServices) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive)
            query_id = _query_id(body)
            if not self._services.push.end(query_id, caller_of(scope)):
                raise BadRequestError(
                    "unknown-query",
                    f"no push query with id {query_id!r} runs here",
                    fix="give the queryId of the answer's header; it may have ended already",
                )
        except ConnectionError:
            return
        except Exception as error:  # noqa: BLE001 - each has an answer
            await error_reply(error)(scope, receive, send)
            return
        await Response(status_code=200)(scope, receive, send)


def _query_id(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_CloseRequest).query_id
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadRequestError(
            "bad-body", f"the body is not a request to close a query: {error}", fix='send "queryId"'
        ) from None
