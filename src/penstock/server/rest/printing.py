"""PRINT over HTTP: the records of a topic as lines of text."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.types import Receive, Send

from penstock.kernel.record_queue import RawRecord
from penstock.model.windows.windowed import Windowed
from penstock.server.querying import QueryServices
from penstock.server.rest.json_rows import row_writer
from penstock.server.rest.query_answers import send_body, send_start, until_gone
from penstock.server.rest.row_forms import DELIMITED
from penstock.server.rest.threaded import ThreadedRows
from penstock.server.security.masking import masked_command
from penstock.server.security.topic_rules import TopicRules
from penstock.sql.ast.administration import PrintTopic
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.engine import SqlEngine

_POLL_S = 0.2
#: Formats whose bytes are text that can be read as it is.
_TEXTS = ("JSON", "DELIMITED", "NONE")
Show = Callable[[bytes | None], str]


class PrintAnswer:
    """Send a line for each record, until the LIMIT or until the client leaves."""

    def __init__(self, services: QueryServices, wanted: PrintTopic) -> None:
        self._services = services
        self._wanted = wanted
        self._stop = threading.Event()

    async def send(self, receive: Receive, send: Send) -> None:
        with self._services.print_place():
            await self._printed(receive, send)

    async def _printed(self, receive: Receive, send: Send) -> None:
        # Its thread waits for records, so it is not one of those that queries share.
        threads = ThreadPoolExecutor(1, "penstock-print")
        lines = ThreadedRows(threads, self._lines, together=1)
        try:
            bunches = lines.bunches()
            # The first line comes at once; if the topic is missing, it is an error of HTTP.
            first: list[str] = await anext(bunches, [])
            await send_start(send, DELIMITED)
            await send_body(send, "".join(first).encode())
            await until_gone(_write(bunches, send), receive)
        finally:
            self._stop.set()
            await lines.close()
            threads.shutdown(wait=False)

    def _lines(self) -> Iterator[str]:
        wanted, host = self._wanted, self._services.host
        topics = self._services.topics
        places = topics.places([wanted.topic])
        key, value = shown_by(host.engine, host.topic_rules, wanted.topic)
        yield f"topic: {wanted.topic}, partitions: {len(places)}\n"
        starts = dict.fromkeys(places, 0) if wanted.from_beginning else topics.ends(places)
        reader = topics.reader(starts)
        try:
            seen = shown = 0
            while not self._stop.is_set():
                for record in reader.read(_POLL_S):
                    if shown == wanted.limit:
                        return
                    seen += 1
                    if (seen - 1) % (wanted.interval or 1) == 0:
                        shown += 1
                        yield _line(record, key, value)
                if shown == wanted.limit:
                    return
        finally:
            reader.close()


async def _write(bunches: Any, send: Send) -> None:
    async for bunch in bunches:
        await send_body(send, "".join(bunch).encode())
    await send_body(send, b"", more=False)


def _line(record: RawRecord, key: Show, value: Show) -> str:
    return (
        f"rowtime: {_time(record.timestamp)}, key: {key(record.key)}, value: {value(record.value)},"
        f" partition: {record.partition}\n"
    )


def _time(timestamp: int) -> str:
    """Return the time of a record; a year that Python has no date for is shown in milliseconds."""
    if timestamp < 0:
        return "N/A"
    try:
        moment = datetime.fromtimestamp(timestamp // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
    return f"{moment:%Y/%m/%d %H:%M:%S}.{timestamp % 1000:03d} Z"


def shown_by(engine: SqlEngine, rules: TopicRules, topic: str) -> tuple[Show, Show]:
    """Return how keys and values of a topic are shown: as its stream or table reads them."""
    if rules.has_commands(topic):
        return text_of, _command_text
    source = next((s for s in engine.sources.values() if s.topic == topic), None)
    if source is None:
        return text_of, text_of
    key_serde, value_serde = engine.serdes(source)
    return (
        _shown(source, key_serde, source.schema.key, source.key_format.name),
        _shown(source, value_serde, source.schema.value, source.value_format.name),
    )


def _shown(source: DataSource, serde: Any, columns: Sequence[SourceColumn], name: str) -> Show:
    if not columns or (name in _TEXTS and (source.window is None or columns[0].namespace != "KEY")):
        return text_of
    write = row_writer(columns)

    def show(data: bytes | None) -> str:
        try:
            row = serde.deserialize(source.topic, data)
            if row is None:
                return "<null>"
            window = ""
            if isinstance(row, Windowed):
                window = f"@{row.window.start}/{row.window.end}"
                row = row.key
            values = orjson.loads(write(row))
            if len(columns) == 1 and columns[0].namespace == "KEY":
                found = values[0]
                text = found if isinstance(found, str) else orjson.dumps(found).decode()
                return f"[{text}{window}]" if window else text
            named = dict(zip((column.name for column in columns), values, strict=True))
            return orjson.dumps(named).decode() + window
        # PRINT shows every record, also a broken one: it is how users look at those.
        except Exception:  # noqa: BLE001
            return text_of(data)

    return show


def _command_text(data: bytes | None) -> str:
    """Return a command without its secrets; a record that is none may have them anywhere."""
    return masked_command(data) or "<not a command>"


def text_of(data: bytes | None) -> str:
    """Return bytes as text, or as base64 if they are not text."""
    if data is None:
        return "<null>"
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
