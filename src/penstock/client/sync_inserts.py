"""Rows that a program produces one by one, sent in requests of several rows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.client.inserts import BATCH_ROWS, LINGER_S

Rows = list[Mapping[str, Any]]
_END = object()


class RowBatches:
    """Cut an iterable of rows into batches; a row never waits longer than the linger time.

    The iterable is read in a thread of its own, since it may block for any time. An error of the
    iterable is raised after the rows that came before it.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        batch_rows: int = BATCH_ROWS,
        linger_s: float = LINGER_S,
    ) -> None:
        self._rows = rows
        self._batch_rows = batch_rows
        self._linger_s = linger_s
        # The queue holds at most two batches, so that a fast producer waits for the server.
        self._queue: queue.Queue[Any] = queue.Queue(2 * batch_rows)
        self._is_closed = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, name="penstock-inserts", daemon=True)

    def __iter__(self) -> Iterator[Rows]:
        self._thread.start()
        try:
            yield from self._batches()
        finally:
            self._is_closed.set()
        if self._error is not None:
            raise self._error

    def _batches(self) -> Iterator[Rows]:
        while True:
            row = self._queue.get()
            batch: Rows = []
            while row is not _END:
                batch.append(row)
                if len(batch) == self._batch_rows:
                    break
                try:
                    row = self._queue.get(timeout=self._linger_s)
                except queue.Empty:
                    break
            if batch:
                yield batch
            if row is _END:
                return

    def _read(self) -> None:
        try:
            for row in self._rows:
                self._put(row)
                if self._is_closed.is_set():
                    return
        # The thread that sends the rows raises it.
        except BaseException as error:  # noqa: BLE001
            self._error = error
        self._put(_END)

    def _put(self, item: Any) -> None:
        while not self._is_closed.is_set():
            try:
                self._queue.put(item, timeout=0.2)
            except queue.Full:
                continue
            return
