"""``/ws/query``: a pull or push query over a websocket, as ksqlDB's command line asks it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from penstock.errors import PenstockError
from penstock.server.entities.schemas import field_infos
from penstock.server.pull.plan_cache import BoundPull
from penstock.server.push.runs import PushRow
from penstock.server.push.service import PlannedPush
from penstock.server.querying import PulledRows, QueryServices
from penstock.server.rest import query_answers
from penstock.server.rest.query_answers import COMPLETED, HEARTBEAT_S, until_gone
from penstock.server.rest.query_request import QueryRequest, caller_of, read_request
from penstock.server.rest.row_forms import V1JsonForm
from penstock.server.rest.threaded import ThreadedRows
from penstock.sql.planner.lowering.context import Row

_log = logging.getLogger("penstock.server")
_NORMAL, _UNACCEPTABLE, _FAILED = 1000, 1003, 1011
#: A close frame holds at most 123 bytes of text.
_MOST_REASON = 120


class QuerySocket:
    """Send the columns as one message, then each row as one, and close with ``done``.

    The query is in the URL: ``?request={"ksql": ..., "streamsProperties": ...}``. Deleted rows of
    tables are left out.

    Args:
        services: The queries of the server.
        asked: Parses and plans a request.
    """

    def __init__(self, services: QueryServices, asked: Callable[[QueryRequest], Any]) -> None:
        self._services = services
        self._asked = asked

    async def answer(self, websocket: WebSocket) -> None:
        """Run the query of one websocket until its end, or until the client leaves."""
        await websocket.accept()
        code, reason = _NORMAL, "done"
        try:
            request = _request(websocket)
            await self._services.host.caught_up(request.command_sequence_number)
            loop = asyncio.get_running_loop()
            asked = await loop.run_in_executor(self._services.threads, self._asked, request)
            if isinstance(asked, BoundPull | PlannedPush):
                self._services.check_access(asked, caller_of(websocket.scope).access)
            if isinstance(asked, BoundPull):
                await until_gone(self._pull(asked, request, websocket), websocket.receive)
            elif isinstance(asked, PlannedPush):
                await self._push(asked, websocket)
            else:
                code, reason = _UNACCEPTABLE, "PRINT is answered by /query-stream"
        except PenstockError as error:
            code, reason = _UNACCEPTABLE, error.message
        except (WebSocketDisconnect, TimeoutError):
            _log.debug("a websocket ended early: its client has left, or takes no rows")
            return
        except Exception as error:  # noqa: BLE001 - each has an answer
            _log.error("a query over a websocket could not be answered", exc_info=error)
            code, reason = _FAILED, "the query could not be answered: see the server's log"
        with contextlib.suppress(RuntimeError, OSError, WebSocketDisconnect):
            await websocket.close(code, _shortened(reason))

    async def _pull(self, bound: BoundPull, request: QueryRequest, websocket: WebSocket) -> None:
        pull, left = self._services.pull, threading.Event()
        fresh = pull.freshness(bound, request.settings, request.request)
        with self._services.pull_place(bound) as sent:
            rows = ThreadedRows(self._services.threads, lambda: pull.rows(bound, fresh, left))
            try:
                await self._send_rows(bound, rows.bunches(), sent, websocket)
            finally:
                left.set()
                await rows.close()

    async def _send_rows(
        self,
        bound: BoundPull,
        bunches: AsyncIterator[list[Row]],
        sent: PulledRows,
        websocket: WebSocket,
    ) -> None:
        form = V1JsonForm(bound.prepared.columns)
        # An error before the first row closes the socket without columns.
        bunch: list[Row] | None = await anext(bunches, None)
        await _columns(websocket, bound.prepared.columns)
        while bunch is not None:
            for row in bunch:
                await _row(websocket, form, PushRow(row))
            sent.count += len(bunch)
            bunch = await anext(bunches, None)

    async def _push(self, planned: PlannedPush, websocket: WebSocket) -> None:
        services, loop = self._services, asyncio.get_running_loop()
        opened = await loop.run_in_executor(
            services.threads, services.push.open, planned, loop, caller_of(websocket.scope).digest
        )

        async def write() -> None:
            form = V1JsonForm(planned.columns)
            await _columns(websocket, planned.columns)
            async for delivery in opened.subscription.deliveries(HEARTBEAT_S):
                if delivery is None:
                    continue
                for row in delivery.batch.rows[delivery.first : delivery.last]:
                    if not row.is_deleted:
                        await _row(websocket, form, row)
            if opened.subscription.failure is not None:
                raise opened.subscription.failure
            if not opened.subscription.is_complete:
                await _send(websocket, orjson.dumps({"finalMessage": COMPLETED}))

        try:
            await until_gone(write(), websocket.receive)
        finally:
            closing = loop.run_in_executor(services.threads, services.push.close, opened)
            await asyncio.shield(closing)


def _request(websocket: WebSocket) -> QueryRequest:
    return read_request(websocket.query_params.get("request", "").encode())


async def _columns(websocket: WebSocket, columns: Any) -> None:
    await _send(websocket, orjson.dumps(field_infos(columns)))


async def _row(websocket: WebSocket, form: V1JsonForm, row: PushRow) -> None:
    text = form.row(row)
    if text is not None:
        await _send(websocket, text.lstrip(b",\n"))


async def _send(websocket: WebSocket, text: bytes) -> None:
    """Send one message; a client that does not take it within a minute is disconnected."""
    async with asyncio.timeout(query_answers.SEND_S):
        await websocket.send_text(text.decode())


def _shortened(reason: str) -> str:
    """Return as much of a reason as a close frame holds, which counts bytes."""
    return reason.encode()[:_MOST_REASON].decode(errors="ignore")
