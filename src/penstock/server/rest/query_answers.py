"""Send the answers of pull and push queries over HTTP, and notice when the client leaves."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Sequence
from typing import Any

from starlette.types import Receive, Send

from penstock.errors import PenstockError
from penstock.server.errors import ServerError
from penstock.server.positions import to_token
from penstock.server.pull.plan_cache import BoundPull
from penstock.server.pull.prepared import PreparedPull
from penstock.server.pull.service import Freshness
from penstock.server.push.runs import PushRow
from penstock.server.push.service import OpenPush, PlannedPush
from penstock.server.push.subscription import Delivery
from penstock.server.querying import PulledRows, QueryServices
from penstock.server.rest.replies import error_body
from penstock.server.rest.row_forms import EventForm, FormFactory, RowForm
from penstock.server.rest.threaded import ThreadedRows
from penstock.sql.planner.lowering.context import Row
from penstock.sql.pull.plans import StreamScan

LIMIT_REACHED, COMPLETED = "Limit Reached", "Query Completed"
#: A push query sends a heartbeat after this many seconds without a row.
HEARTBEAT_S = 15.0
#: A client that takes nothing for this many seconds is disconnected.
SEND_S = 60.0
#: In a request, the cut to read; in an answer, the number of the cut that was read.
CUT_HEADER = b"penstock-cut"
_NO_STORE = (b"cache-control", b"no-store")
_NO_SNIFF = (b"x-content-type-options", b"nosniff")
_NO_BUFFER = (b"x-accel-buffering", b"no")


class PullAnswer:
    """Answer one pull query. Errors before the first row are raised, later ones are sent."""

    def __init__(
        self, services: QueryServices, bound: BoundPull, fresh: Freshness, factory: FormFactory
    ) -> None:
        self._services = services
        self._bound, self._fresh = bound, fresh
        self._form = form_of(bound.prepared, factory)
        self._sent = PulledRows()

    async def send(self, receive: Receive, send: Send) -> None:
        with self._services.pull_place(self._bound) as self._sent:
            if self._fresh.wanted_cut is not None:
                loop, services = asyncio.get_running_loop(), self._services
                self._fresh = await loop.run_in_executor(
                    services.threads, services.pull.at_cut, self._bound, self._fresh
                )
            rows = self._services.pull.at_once(self._bound, self._fresh)
            if rows is None:
                await self._send_parts(receive, send)
            else:
                await self._send_whole(rows, send)

    async def _send_whole(self, rows: Sequence[Row], send: Send) -> None:
        form = self._form
        parts = [form.begin(_pull_id(), self._bound.prepared.schema)]
        parts += self._texts(rows)
        parts.append(self._end())
        body = b"".join(parts)
        headers = [
            (b"content-type", form.media.encode()),
            (b"content-length", b"%d" % len(body)),
            _NO_STORE,
            _NO_SNIFF,
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _send_parts(self, receive: Receive, send: Send) -> None:
        services, bound, fresh = self._services, self._bound, self._fresh
        left = threading.Event()
        rows = ThreadedRows(services.threads, lambda: services.pull.rows(bound, fresh, left))
        try:
            # The client may leave before the first row: a scan may wait for Kafka.
            await until_gone(self._write(rows.bunches(), send), receive)
        finally:
            left.set()
            await rows.close()

    async def _write(self, bunches: Any, send: Send) -> None:
        # An error before the first row can still become an HTTP status.
        first = await anext(bunches, None)
        cut = self._fresh.cut
        more = () if cut is None else ((CUT_HEADER, str(cut.number).encode()),)
        await send_start(send, self._form.media, *more)
        begin = self._form.begin(_pull_id(), self._bound.prepared.schema)
        await send_body(send, begin + b"".join(self._texts(first or ())))
        try:
            async for bunch in bunches:
                await send_body(send, b"".join(self._texts(bunch)))
        except PenstockError as error:
            text = self._form.error(_error_body(error)) + self._form.end()
            await send_body(send, text, more=False)
            return
        await send_body(send, self._end(), more=False)

    def _texts(self, rows: Sequence[Row]) -> list[bytes]:
        self._sent.count += len(rows)
        write = self._form.row
        return [text for row in rows if (text := write(PushRow(row))) is not None]

    def _end(self) -> bytes:
        form, prepared = self._form, self._bound.prepared
        text = b""
        if self._fresh.sends_token:
            text = form.consistency(to_token(self._services.pull.positions(self._bound)))
        if isinstance(prepared.plan, StreamScan):
            is_limited = prepared.limit is not None and self._sent.count >= prepared.limit
            text += form.final(LIMIT_REACHED if is_limited else COMPLETED)
        return text + form.end()


class PushAnswer:
    """Send the rows of one push query until its end, or until the client leaves."""

    def __init__(
        self, services: QueryServices, planned: PlannedPush, factory: FormFactory, owner: bytes
    ) -> None:
        self._services = services
        self._planned, self._owner = planned, owner
        self._factory = factory
        self._form = factory(planned.columns)
        self._sends_tokens = planned.sends_tokens or isinstance(self._form, EventForm)

    async def send(self, receive: Receive, send: Send) -> None:
        services, loop = self._services, asyncio.get_running_loop()
        opened = await loop.run_in_executor(
            services.threads, services.push.open, self._planned, loop, self._owner
        )
        try:
            await send_start(send, self._form.media, _NO_BUFFER)
            planned = self._planned
            await send_body(send, self._form.begin(opened.id, planned.schema, planned.row_key))
            await until_gone(self._write(opened, send), receive)
        finally:
            closing = loop.run_in_executor(services.threads, services.push.close, opened)
            await asyncio.shield(closing)

    async def _write(self, opened: OpenPush, send: Send) -> None:
        form = self._form
        async for delivery in opened.subscription.deliveries(HEARTBEAT_S):
            text = form.heartbeat() if delivery is None else self._text(delivery, opened)
            if text:
                await send_body(send, text)
        await send_body(send, self._last_words(opened) + form.end(), more=False)

    def _text(self, delivery: Delivery, opened: OpenPush) -> bytes:
        form = self._form
        # Subscribers of the same query in the same form share the texts.
        texts = delivery.batch.texts((self._planned.key, self._factory), form.row)
        text = b"".join(filter(None, texts[delivery.first : delivery.last]))
        if self._sends_tokens:
            text += form.continuation(opened.token_at(delivery.positions))
        return text

    def _last_words(self, opened: OpenPush) -> bytes:
        subscription = opened.subscription
        if subscription.failure is not None:
            return self._form.error(_error_body(subscription.failure))
        return self._form.final(LIMIT_REACHED if subscription.is_complete else COMPLETED)


def form_of(prepared: PreparedPull, factory: FormFactory) -> RowForm:
    """Return the writer of a plan's rows in a form; it is made once for each form."""
    form: RowForm | None = prepared.forms.get(factory)
    if form is None:
        form = prepared.forms[factory] = factory(prepared.columns)
    return form


async def until_gone(writing: Any, receive: Receive) -> None:
    """Write until the end, or until the other side has left."""
    writer = asyncio.ensure_future(writing)
    reader = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
    finally:
        reader.cancel()
        if not writer.done():
            writer.cancel()
        done = await asyncio.gather(writer, reader, return_exceptions=True)
    failure = done[0]
    if isinstance(failure, Exception) and not isinstance(failure, asyncio.CancelledError):
        raise failure


async def _gone(receive: Receive) -> None:
    with contextlib.suppress(RuntimeError):
        while not (await receive())["type"].endswith("disconnect"):
            # The HTTP server may repeat the end of the body; the pause lets other tasks run.
            await asyncio.sleep(0)


async def send_start(send: Send, media: str, *more: tuple[bytes, bytes]) -> None:
    """Begin an answer whose body follows in parts."""
    headers = [(b"content-type", media.encode()), _NO_STORE, _NO_SNIFF, *more]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def send_body(send: Send, data: bytes, *, more: bool = True) -> None:
    """Send a part of a body; a client that does not take it within a minute is disconnected."""
    async with asyncio.timeout(SEND_S):
        await send({"type": "http.response.body", "body": data, "more_body": more})


def _error_body(error: PenstockError) -> dict[str, Any]:
    if isinstance(error, ServerError):
        return error_body(error)
    return error_body(ServerError(error.code, error.message, error.fix))


_numbers = itertools.count(1)


def _pull_id() -> str:
    """Return an id for the header of an answer; it is only there for logs."""
    return f"query_{next(_numbers)}"
