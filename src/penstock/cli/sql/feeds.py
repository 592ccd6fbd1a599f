"""What a script prints while it runs: rows of SELECT ... EMIT CHANGES, records of PRINT."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import TopicPartition
from rich.text import Text

from penstock.cli.sql.results import RowLines, plain_row
from penstock.cli.text_format import as_printable, as_time
from penstock.kafka.admin import Admin
from penstock.kafka.clients import new_consumer
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.spark_push import RunningPush
from penstock.sql.queries.spark_queries import SparkQueries
from penstock.sql.results import PrintResult

#: So long without a row means that there are no more for now.
_QUIET_S = 2.0
_POLL_S = 0.1

#: One thing to print: its lines for people, and its JSON.
Item = tuple[list[Text], dict[str, Any]]


class Feed:
    """Reads items in a thread of its own; whoever draws takes them from here."""

    def __init__(self, name: str, items: Callable[[], Iterator[Item]]) -> None:
        self.error: Exception | None = None
        self._items = items
        self._waiting: deque[Item] = deque()
        self._last_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"penstock-{name}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive() and not self._waiting

    @property
    def is_quiet(self) -> bool:
        return self.has_ended or time.monotonic() - self._last_at > _QUIET_S

    def take(self) -> Iterator[Item]:
        """Gives what came since the last call."""
        while self._waiting:
            yield self._waiting.popleft()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            for item in self._items():
                self._last_at = time.monotonic()
                self._waiting.append(item)
        # It is raised again where somebody can answer it.
        except Exception as error:  # noqa: BLE001
            self.error = error


def push_items(running: RunningPush) -> Iterator[Item]:
    """Gives the rows of a push query."""
    columns = running.query.columns
    lines = RowLines(columns)
    for row in running.rows():
        yield lines.lines(row), {"query": running.query.id, "row": plain_row(row, columns)}


class PullAnswer:
    """SELECT without EMIT: answered once all queries have processed what was there."""

    def __init__(self, query: PullQuery, connection: SparkQueries) -> None:
        self._query = query
        self._connection = connection
        self._stop = threading.Event()

    def items(self) -> Iterator[Item]:
        while not self._connection.run_until_idle(_POLL_S):
            if self._stop.is_set():
                return
        columns = self._query.columns
        lines = RowLines(columns)
        for row in self._connection.pull(self._query):
            yield lines.lines(row), {"row": plain_row(row, columns)}

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self.stop()


class TopicPrinter:
    """PRINT: reads a topic from its beginning or its end, as text."""

    def __init__(self, wanted: PrintResult, admin: Admin, settings: dict[str, Any]) -> None:
        self._wanted = wanted
        places = [(wanted.topic, state.id) for state in admin.topic(wanted.topic).partitions]
        is_whole = wanted.from_beginning
        offsets = admin.begin_offsets(places) if is_whole else admin.end_offsets(places)
        self._consumer = new_consumer(settings | {"group.id": "penstock-print"})
        self._consumer.assign([TopicPartition(*place, at) for place, at in offsets.items()])
        self._stop = threading.Event()

    def items(self) -> Iterator[Item]:
        """Gives every ``INTERVAL``-th record, up to the LIMIT."""
        seen = shown = 0
        while not self._stop.is_set() and shown != self._wanted.limit:
            message = self._consumer.poll(_POLL_S)
            if message is None or message.error() is not None:
                continue
            seen += 1
            if (seen - 1) % self._wanted.interval == 0:
                shown += 1
                yield self._item(message)

    def _item(self, message: Any) -> Item:
        key, value = (
            None if data is None else as_printable(data)
            for data in (message.key(), message.value())
        )
        _, time_ms = message.timestamp()
        line = Text(f"{as_time(time_ms)}  ", style="dim").append(
            f"{'-' if key is None else key}  {'-' if value is None else value}", style="not dim"
        )
        record = {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": time_ms,
            "key": key,
            "value": value,
        }
        return [line], {"print": record}

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self.stop()
        self._consumer.close()
