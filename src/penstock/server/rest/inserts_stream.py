"""``/inserts-stream``: rows in one direction and acknowledgements in the other, at once."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

import msgspec
import orjson
from confluent_kafka import KafkaException
from starlette.types import Receive, Scope, Send

from penstock.config import StreamsConfig
from penstock.errors import PenstockError
from penstock.formats.json.json_read import parser, reader
from penstock.formats.json.json_values import Inexact, parse_exactly
from penstock.kafka.client_config import producer_settings
from penstock.kafka.clients import new_producer, sendable_time
from penstock.model.java import MAX_LONG
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.server.errors import BadRequestError, BadStatementError, ForbiddenError, ServerError
from penstock.server.querying import QueryServices
from penstock.server.rest.query_request import refusal_of
from penstock.server.rest.replies import JSON, error_body, error_reply
from penstock.server.rest.row_forms import DELIMITED
from penstock.server.rest.row_numbers import whole_numbers
from penstock.server.rest.row_texts import dates_read
from penstock.serving.credentials import Access
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import ROWTIME
from penstock.sql.results import OutgoingRecord
from penstock.sql.statements.insert_values import RowEncoder, check_target

_log = logging.getLogger("penstock.server")
#: A line that is longer than this is refused.
_MOST_BYTES = 4_000_000
#: How many rows may wait for Kafka before the server stops reading more.
_MOST_WAITING = 10_000
_POLL_S = 0.1
_FLUSH_S = 10.0


class InsertsStream:
    """Read rows line by line, and acknowledge each one when Kafka has it.

    The order of rows is kept for each partition. An acknowledgement names the row by its number,
    ``seq``, which counts from 0. The first row that fails ends the stream.
    """

    def __init__(self, services: QueryServices, sender: RowSender) -> None:
        self._services = services
        self._sender = sender

    def close(self) -> None:
        self._sender.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope.get("penstock.access", Access.FULL) < Access.WRITE:
                raise ForbiddenError("forbidden", "inserting rows needs the role write")
            lines = _lines(receive)
            target = _target(await anext(lines, b""))
            loop = asyncio.get_running_loop()
            rows = await loop.run_in_executor(self._services.threads, self._rows, target)
        except ConnectionError:
            return
        except Exception as error:  # noqa: BLE001 - each has an answer
            await error_reply(refusal_of(error, None))(scope, receive, send)
            return
        is_json = JSON.encode() in dict(scope["headers"]).get(b"accept", b"")
        await _Exchange(rows, self._sender, send, is_json=is_json).run(lines)

    def _rows(self, target: str) -> RowReader:
        engine = self._services.host.session({}, {})
        name = _identifier(target)
        source = engine.catalog.sources.get(name)
        if source is None:
            raise BadStatementError(
                "unknown-source",
                f"{name} does not exist",
                fix=did_you_mean(name, engine.catalog.sources),
            )
        check_target(source)
        self._services.host.topic_rules.check_write(source.topic)
        self._sender.start()
        return RowReader(source, RowEncoder(source, engine.lowering("INSERT")))


class RowReader:
    """Read rows of a stream or table from JSON objects."""

    def __init__(self, source: DataSource, encoder: RowEncoder) -> None:
        self._encoder = encoder
        columns = (*source.schema.key, *source.schema.value)
        self._readers = {column.name: (column.type, reader(column.type)) for column in columns}
        self._dates = {column.name: dates_read(column.type) for column in columns}
        self._checks = {column.name: whole_numbers(column.type) for column in columns}
        self._parse = parser([column.type for column in columns])
        self._name = source.name
        self._keys = [column.name for column in source.schema.key]

    def record(self, line: bytes) -> OutgoingRecord:
        """Return the record of a line.

        Raises:
            BadRequestError: the line is not an object, or a value does not fit its column.
        """
        try:
            given = self._given(self._parse(line))
        except Inexact:
            given = self._given(parse_exactly(line))
        except ValueError:
            raise BadRequestError("bad-row", "the row is not JSON", fix="send an object") from None
        missing = [name for name in self._keys if given.get(name) is None]
        if missing:
            text = f"the row has no value for key column {missing[0]}"
            raise BadRequestError("missing-key", text)
        try:
            return self._encoder.record(given)
        except AnalysisError as error:
            raise BadRequestError(error.code, error.message, error.fix) from None

    def _given(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise BadRequestError("bad-row", "the row is not a JSON object", fix="send one")
        given = {}
        for written, value in data.items():
            name = _identifier(written)
            given[name] = None if value is None else self._value(name, value)
        return given

    def _value(self, name: str, value: Any) -> Any:
        if name == ROWTIME and type(value) is int and value <= MAX_LONG:
            return value
        if name == ROWTIME:
            text = f"ROWTIME is milliseconds since 1970, and {value!r:.100} does not fit"
            raise BadRequestError("wrong-type", text)
        if name not in self._readers:
            raise BadRequestError(
                "unknown-column",
                f"{self._name} has no column {name}",
                fix=did_you_mean(name, self._readers) or f"columns are {', '.join(self._readers)}",
            )
        type_, read = self._readers[name]
        dates, check = self._dates[name], self._checks[name]
        try:
            if check is not None:
                check(value)
            return read(value if dates is None else dates(value))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise BadRequestError(
                "wrong-type", f"column {name} is {type_}, and {value!r:.100} does not fit: {error}"
            ) from None


class RowSender(Protocol):
    """Write rows to their topics."""

    def start(self) -> None:
        """Connect to Kafka when the first rows arrive; a second call does nothing."""

    def send(self, record: OutgoingRecord, done: Callable[[Any], None]) -> None:
        """Write a record; ``done`` is called in any thread with the error, or None."""

    def close(self) -> None: ...


class KafkaSender:
    """One producer for all streams of inserts, and the thread that receives Kafka's answers."""

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._producer: Any = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._producer is None:
                settings = producer_settings(self._config)
                self._producer = new_producer(settings | {"linger.ms": 2})
                self._thread = threading.Thread(
                    target=self._run, name="penstock-inserts", daemon=True
                )
                self._thread.start()

    def send(self, record: OutgoingRecord, done: Callable[[Any], None]) -> None:
        given = record.timestamp
        time_ms = int(time.time() * 1000) if given is None else sendable_time(given)
        self._producer.produce(
            record.topic,
            key=record.key,
            value=record.value,
            timestamp=time_ms,
            on_delivery=lambda error, _: done(error),
        )

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(_FLUSH_S)
            self._producer.flush(_FLUSH_S)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(_POLL_S)


class _Exchange:
    """One stream of inserts: reads rows while it sends acknowledgements."""

    def __init__(self, rows: RowReader, sender: RowSender, send: Send, *, is_json: bool) -> None:
        self._rows, self._sender, self._send = rows, sender, send
        self._is_json = is_json
        self._loop = asyncio.get_running_loop()
        self._done: deque[tuple[int, Any]] = deque()
        self._wakes = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._sent = self._acknowledged = 0
        self._is_read = False
        self._failure: tuple[int, ServerError] | None = None
        self._is_refused = False
        self._is_first = True

    async def run(self, lines: AsyncIterator[bytes]) -> None:
        media = JSON if self._is_json else DELIMITED
        headers = [(b"content-type", media.encode()), (b"cache-control", b"no-store")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        # The headers go out at once: a client may wait for them before it sends rows.
        await self._write(b"[" if self._is_json else b"")
        reading = asyncio.ensure_future(self._read(lines))
        try:
            await self._acknowledge()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, lines: AsyncIterator[bytes]) -> None:
        try:
            async for line in lines:
                if not line.strip():
                    continue
                await self._room.wait()
                if not self._take(line):
                    return
        except BadRequestError as error:
            self._failure = (self._sent, error)
        except ConnectionError:
            self._failure = (self._sent, ServerError("gone", "the client has left"))
        except Exception as error:  # noqa: BLE001 - a row must never be lost in silence
            _log.error("a row could not be read", exc_info=error)
            text = f"the row could not be read: {type(error).__name__}"
            self._failure = (self._sent, ServerError("insert-failed", text))
        finally:
            self._is_read = True
            self._wakes.set()

    def _take(self, line: bytes) -> bool:
        number = self._sent
        try:
            self._sender.send(self._rows.record(line), lambda error: self._hear(number, error))
        except ServerError as error:
            self._failure = (number, error)
            return False
        except KafkaException as error:
            # Such as a row that is larger than Kafka takes.
            text = f"Kafka refused the row: {error.args[0].str()}"
            self._failure = (number, BadRequestError("insert-failed", text))
            return False
        except (PenstockError, BufferError) as error:
            self._failure = (number, ServerError("insert-failed", str(error)))
            return False
        self._sent += 1
        if self._sent - self._acknowledged > _MOST_WAITING:
            self._room.clear()
        return True

    def _hear(self, number: int, error: Any) -> None:
        """Take Kafka's answer, in the producer's thread."""
        self._done.append((number, error))
        try:
            self._loop.call_soon_threadsafe(self._wakes.set)
        except RuntimeError:
            _log.debug("a stream of inserts has ended before its last acknowledgement")

    async def _acknowledge(self) -> None:
        while True:
            self._wakes.clear()
            await self._write_done()
            is_settled = self._is_read and self._acknowledged == self._sent
            if self._is_refused or is_settled:
                # Rows before a wrong one are written and acknowledged before the error is sent.
                await self._end(None if self._failure is None else _insert_error(*self._failure))
                return
            if not self._done:
                await self._wakes.wait()

    async def _write_done(self) -> None:
        parts = []
        while self._done:
            number, error = self._done.popleft()
            if error is not None:
                text = f"Kafka refused the row: {error}"
                self._failure = (number, ServerError("insert-failed", text))
                self._is_refused = True
                break
            self._acknowledged += 1
            parts.append(self._element(b'{"status":"ok","seq":%d}' % number))
        self._room.set()
        if parts:
            await self._write(b"".join(parts))

    def _element(self, text: bytes) -> bytes:
        if not self._is_json:
            return text + b"\n"
        separator, self._is_first = (b"" if self._is_first else b","), False
        return separator + text

    async def _end(self, error: Mapping[str, Any] | None) -> None:
        text = b"" if error is None else self._element(orjson.dumps(error))
        await self._write(text + (b"]" if self._is_json else b""), more=False)

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


def _insert_error(number: int, error: ServerError) -> dict[str, Any]:
    return {**error_body(error), "status": "error", "seq": number}


async def _lines(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the lines of a body that may still be on its way.

    Raises:
        BadRequestError: a line is too long.
        ConnectionError: the client has left.
    """
    rest = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client has left")
        more = message.get("more_body", False)
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > _MOST_BYTES:
            raise BadRequestError("too-large", f"a line has more than {_MOST_BYTES} bytes")
    if rest:
        yield rest


class _Arguments(msgspec.Struct):
    target: str
    properties: dict[str, Any] | None = None


def _target(line: bytes) -> str:
    try:
        return msgspec.json.decode(line, type=_Arguments).target
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadRequestError(
            "bad-body",
            f"the first line does not say where rows go: {error}",
            fix='send {"target": "STREAM"} first',
        ) from None


def _identifier(written: str) -> str:
    """Return a name as the catalog has it: in upper case unless it is quoted."""
    if len(written) > 1 and written[0] == written[-1] and written[0] in '`"':
        return written[1:-1]
    return written.upper()
