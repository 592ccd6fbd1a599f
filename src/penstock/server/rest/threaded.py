"""Rows that a thread produces and the event loop sends; the thread waits for a slow client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")
#: How many rows are sent together, and how many such bunches may wait.
_TOGETHER = 500
_AHEAD = 8
_END = object()
#: How long the thread waits for a client that takes nothing.
_WAIT_S = 300.0
_LOOK_S = 0.5


class ThreadedRows(Generic[T]):
    """Iterate in a thread over what ``make`` returns; the event loop gets bunches of rows.

    The thread pauses while too many bunches wait. It stops after ``close``.
    """

    def __init__(
        self,
        threads: ThreadPoolExecutor,
        make: Callable[[], Iterable[T]],
        *,
        together: int = _TOGETHER,
    ) -> None:
        self._together = together
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[list[T] | object] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._make = make
        self._is_closed = False
        self._work = self._loop.run_in_executor(threads, self._run)

    def _run(self) -> None:
        rows: Iterator[T] = iter(())
        try:
            rows = iter(self._make())
            while not self._is_closed:
                bunch = list(islice(rows, self._together))
                if not bunch:
                    return
                self._put(bunch)
        finally:
            close = getattr(rows, "close", None)
            if close is not None:
                close()
            # The end is queued even if the queue is full, so that the reader never waits for ever.
            self._hand(_END)

    def _put(self, bunch: list[T]) -> None:
        """Pass a bunch to the event loop, once there is room for it.

        Raises:
            TimeoutError: the client has taken nothing for too long.
        """
        deadline = time.monotonic() + _WAIT_S
        while not self._is_closed and not self._room.acquire(timeout=_LOOK_S):
            # The loop may have ended while the thread was waiting.
            if self._loop.is_closed():
                self._is_closed = True
            elif time.monotonic() > deadline:
                raise TimeoutError("the client takes no rows")
        if not self._is_closed:
            self._hand(bunch)

    def _hand(self, item: list[T] | object) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:
            self._is_closed = True

    async def bunches(self) -> AsyncIterator[list[T]]:
        """Yield bunches of rows.

        Raises:
            Exception: what ``make`` or its iterator has raised.
        """
        while True:
            item = await self._queue.get()
            self._room.release()
            if item is _END:
                await self._work
                return
            assert isinstance(item, list)
            yield item

    async def close(self) -> None:
        """Stop the thread; waiting rows are dropped."""
        self._is_closed = True
        self._room.release()
        await asyncio.wait((self._work,))
        if not self._work.cancelled():
            # The client has got the error already, or no longer wants the rows.
            self._work.exception()
