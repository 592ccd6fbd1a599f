"""A copy of one table in this process: every row of its topic, kept up to date by a thread."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import PenstockError, StreamsError
from penstock.kafka.topic_reader import Positions, has_reached
from penstock.kernel.record_queue import RawRecord
from penstock.server.pull.kept_rows import KeptRows
from penstock.server.reading import PartitionWatch, Place, Topics
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.pull.table_rows import TableRows
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.rocks import open_rocks

_log = logging.getLogger("penstock.server")
#: A replica without a query for this many seconds is closed; the next query opens a new one.
IDLE_S = 3_600.0
_POLL_S = 0.2
_CLOSE_S = 5.0


class TableReplica:
    """The rows of one table by key, and how much of the topic they contain.

    RocksDB has the rows, so a table may be larger than the memory. The folder is deleted with the
    replica: the topic has everything. All threads may read.

    Args:
        source: The table.
        topics: The topics of the cluster.
        ends: The partitions of the topic, with their present ends.
        folder: Where RocksDB keeps the rows.
        idle: Called in the replica's thread after ``IDLE_S`` seconds without a query.
    """

    def __init__(
        self,
        source: DataSource,
        topics: Topics,
        ends: Mapping[Place, int],
        folder: Path,
        idle: Callable[[TableReplica], None],
    ) -> None:
        self.source = source
        self._idle = idle
        self.failure: PenstockError | None = None
        self.asked_at = time.monotonic()
        self._folder = folder
        self._store: BytesStore = open_rocks(folder, source.name, is_logged=False)
        self._topics = topics
        begin = dict.fromkeys(ends, 0)
        #: The rows up to ``positions``, and as of earlier cuts.
        self.kept = KeptRows(source, self._store, begin)
        self._ends: Positions = dict(ends)
        self._watch = PartitionWatch(topics, source.topic, len(ends))
        self._changed = threading.Condition()
        self._closing = threading.Event()
        #: Set once the rows that were there at the start are all here.
        self.is_complete = has_reached(begin, ends)
        self._is_loading = not self.is_complete
        self._reader = topics.reader(begin, is_eager=self._is_loading)
        self._start = dict(ends)
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-replica-{source.name}", daemon=True
        )
        self._thread.start()

    # Life

    def close(self) -> None:
        """Stop following the topic and delete the copy."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S)
        self._store.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._take(self._reader.read(_POLL_S))
                self._watch.check()
                if self._is_loading and self.is_complete:
                    self._follow()
                if time.monotonic() - self.asked_at > IDLE_S:
                    self._idle(self)
        except PenstockError as error:
            self._fail(error)
        # A copy that no longer follows its topic must not answer, whatever the error was.
        except Exception as error:  # noqa: BLE001
            text = f"the copy of table {self.source.name} has failed: {error!r}"
            self._fail(StreamsError("copy-failed", text, fix="ask again: a new copy is made"))
        finally:
            self._reader.close()

    def _follow(self) -> None:
        """Replace the reader by one that polls the broker less often while nothing is written."""
        self._is_loading = False
        eager, self._reader = self._reader, self._topics.reader(self._reader.positions)
        eager.close()

    def _fail(self, error: PenstockError) -> None:
        if self._closing.is_set():
            return
        _log.error("table %s is no longer followed: %s", self.source.name, error)
        with self._changed:
            self.failure = error
            self._changed.notify_all()

    def _take(self, records: list[RawRecord]) -> None:
        self.kept.take(records, self._reader.positions)
        with self._changed:
            self._ends.update(self._reader.ends())
            self.is_complete = self.is_complete or has_reached(self.positions, self._start)
            self._changed.notify_all()

    @property
    def is_usable(self) -> bool:
        """Whether the rows are all here and still followed."""
        return self.is_complete and self.failure is None

    @property
    def rows(self) -> TableRows:
        """The present rows."""
        return self.kept.now

    # How far it is

    @property
    def positions(self) -> Positions:
        """The offset of the next record that the rows do not contain, by partition."""
        return self.kept.positions

    @property
    def lag(self) -> int:
        """How many offsets of the topic the rows do not contain, as far as is known."""
        positions = self.positions
        return sum(max(end - positions.get(place, 0), 0) for place, end in self._ends.items())

    def wait(self, positions: Mapping[Place, int] | None, timeout_s: float) -> bool:
        """Wait until the rows contain everything before these positions.

        None waits for the records that were there when the replica started.

        Raises:
            PenstockError: why the topic cannot be read.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.failure is not None or self._contains(positions), timeout_s
            )
        if self.failure is not None:
            raise self.failure
        return self._contains(positions)

    def _contains(self, positions: Mapping[Place, int] | None) -> bool:
        if positions is None:
            return self.is_complete
        return self.is_complete and has_reached(self.positions, positions)

    @property
    def approximate_rows(self) -> int:
        return self._store.approximate_num_entries()
