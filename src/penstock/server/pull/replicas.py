"""The replicas of this server: one for each table that is queried, opened by the first query."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

from penstock.server.errors import NotReadyError
from penstock.server.pull.replica import TableReplica
from penstock.server.reading import Topics
from penstock.sql.catalog.catalog import Catalog, DataSource

_log = logging.getLogger("penstock.server")
_FOLDER = "penstock-replicas"


class Replicas:
    """Open replicas when they are needed, and close them when their table is gone.

    A replica belongs to the table as it was created: after DROP and CREATE, or ALTER, the next
    query opens a new one. All threads may use this.

    Args:
        topics: The topics of the cluster.
        folder: Where the copies are kept, each in a folder of its own.
    """

    def __init__(self, topics: Topics, folder: Path) -> None:
        self._topics = topics
        self._open: dict[str, TableReplica] = {}
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._base = folder / _FOLDER
        self._is_closed = False

    def start(self) -> None:
        """Delete the folders that killed servers have left behind."""
        if not self._base.is_dir():
            return
        for folder in self._base.iterdir():
            pid = folder.name.partition("-")[0]
            if not (pid.isdigit() and _is_alive(int(pid))):
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            replicas, self._open = list(self._open.values()), {}
        for replica in replicas:
            replica.close()

    def all(self) -> list[TableReplica]:
        with self._lock:
            return list(self._open.values())

    def ready(self, source: DataSource) -> TableReplica | None:
        """Return the replica of a table if it can answer at once. Never waits."""
        replica = self._open.get(source.name)
        if replica is None or replica.source is not source or not replica.is_complete:
            return None
        if replica.failure is not None:
            return None
        replica.asked_at = time.monotonic()
        return replica

    def of(self, source: DataSource, timeout_s: float) -> TableReplica:
        """Return the replica of a table with all rows that are there now. May wait.

        Raises:
            NotReadyError: ``table-loading``, if the rows are not here in time.
        """
        replica = self._opened(source)
        replica.asked_at = time.monotonic()
        if not replica.wait(None, timeout_s):
            raise NotReadyError(
                "table-loading",
                f"the rows of table {source.name} are still being read: {replica.lag} offsets of"
                f" topic {source.topic!r} are left",
                fix="ask again in a moment",
            )
        return replica

    def follow(self, catalog: Catalog) -> None:
        """Close the replicas of tables that were dropped or changed."""
        with self._lock:
            gone = [r for n, r in self._open.items() if catalog.sources.get(n) is not r.source]
            for replica in gone:
                del self._open[replica.source.name]
        for replica in gone:
            # Closing waits for the thread, and the caller may be the event loop.
            threading.Thread(target=replica.close, daemon=True).start()

    def _opened(self, source: DataSource) -> TableReplica:
        with self._lock:
            lock = self._opening.setdefault(source.name, threading.Lock())
        with lock:
            old = self._open.get(source.name)
            if old is not None and old.source is source and old.failure is None:
                return old
            replica = self._new(source)
            with self._lock:
                self._open[source.name] = replica
                is_closed = self._is_closed
            if old is not None:
                old.close()
            if is_closed:
                self._drop(replica)
                raise NotReadyError("closing", "the server is ending")
            return replica

    def _new(self, source: DataSource) -> TableReplica:
        ends = self._topics.ends(self._topics.places([source.topic]))
        self._base.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._base))
        _log.info("table %s is copied from topic %s", source.name, source.topic)
        return TableReplica(source, self._topics, ends, folder, self._drop)

    def _drop(self, replica: TableReplica) -> None:
        with self._lock:
            if self._open.get(replica.source.name) is replica:
                del self._open[replica.source.name]
        replica.close()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
