"""The output of a running script: rows of SELECT ... EMIT CHANGES, records of PRINT."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from rich.text import Text

from penstock.cli.sql.print_format import PrintFormat
from penstock.cli.sql.results import RowLines, plain_row
from penstock.cli.text_format import as_text, as_time
from penstock.config import StreamsConfig
from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, restore_consumer_settings
from penstock.kafka.topic_reader import follow
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.spark_push import RunningPush
from penstock.sql.queries.spark_queries import SparkQueries
from penstock.sql.results import PrintResult

#: After this time without a row, a feed counts as quiet.
_QUIET_S = 2.0
_POLL_S = 0.1

#: One item to print: as lines of text, and as JSON.
Item = tuple[list[Text], dict[str, Any]]


class Feed:
    """Read items in a thread of its own; the view takes them with ``take``.

    The error of a feed with ``stands_alone`` ends only the feed, not the run.
    """

    def __init__(
        self, name: str, items: Callable[[], Iterator[Item]], *, stands_alone: bool = False
    ) -> None:
        self.error: Exception | None = None
        self.stands_alone = stands_alone
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
        """Return the items since the last call."""
        while self._waiting:
            yield self._waiting.popleft()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            for item in self._items():
                self._last_at = time.monotonic()
                self._waiting.append(item)
        # The main thread reports it.
        except Exception as error:  # noqa: BLE001
            self.error = error


def push_items(running: RunningPush) -> Iterator[Item]:
    """Return the rows of a push query."""
    columns = running.query.columns
    lines = RowLines(columns)
    for row in running.rows():
        yield lines.lines(row), {"query": running.query.id, "row": plain_row(row, columns)}


class PullAnswer:
    """The answer to a SELECT without EMIT, once all queries have processed their input."""

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
    """Read a topic for PRINT, from its beginning or its end, decoded as far as possible."""

    def __init__(self, wanted: PrintResult, kafka: StreamsConfig, shown: PrintFormat) -> None:
        self._wanted = wanted
        self._kafka = kafka
        self._shown = shown
        self._stop = threading.Event()

    def items(self) -> Iterator[Item]:
        """Yield every ``INTERVAL``-th record, up to the LIMIT.

        If the topic cannot be read, yield the error as an item, so that the rest of the script
        goes on.
        """
        try:
            yield from self._records()
        except PenstockError as error:
            yield self._failure(error)
            raise

    def _records(self) -> Iterator[Item]:
        wanted, admin = self._wanted, Admin(admin_settings(self._kafka))
        places = [(wanted.topic, state.id) for state in admin.topic(wanted.topic).partitions]
        is_whole = wanted.from_beginning
        starts = admin.begin_offsets(places) if is_whole else admin.end_offsets(places)
        # It joins no group, so it needs no settings of one; the level of isolation is the user's.
        settings = restore_consumer_settings(self._kafka) | {"auto.offset.reset": "earliest"}
        found = follow(settings, starts, lambda _: self._stop.is_set())
        numbered = (message for n, message in enumerate(found) if n % wanted.interval == 0)
        for message in islice(numbered, wanted.limit):
            yield self._item(message)

    def _item(self, message: Any) -> Item:
        key, value = self._shown.key(message.key()), self._shown.value(message.value())
        _, time_ms = message.timestamp()
        texts = ["-" if part is None else as_text(part) for part in (key, value)]
        line = Text(f"{as_time(time_ms)}  ", style="dim").append("  ".join(texts), style="not dim")
        record = {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": time_ms,
            "key": key,
            "value": value,
        }
        return [line], {"print": record}

    def _failure(self, error: PenstockError) -> Item:
        line = Text(f"PRINT {self._wanted.topic}: {error.message}", style="red")
        problem = {"code": error.code, "message": error.message}
        return [line], {"print": {"topic": self._wanted.topic}, "error": problem}

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self.stop()
