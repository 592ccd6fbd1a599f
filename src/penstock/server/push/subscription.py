"""One subscriber of a push query: rows wait here until its connection takes them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import PenstockError, StreamsError
from penstock.kafka.topic_reader import Positions
from penstock.kernel.record_queue import RawRecord
from penstock.server.push.runs import PushRun, RecordBatch, RowBatch
from penstock.server.push.shared_reader import Waker
from penstock.server.reading import Place

#: How many rows may wait for a subscriber. A slower one is disconnected; while it catches up, its
#: own reader waits for it instead.
MOST_WAITING = 50_000


@dataclass(slots=True)
class Delivery:
    """Rows that are sent together, and the positions after them."""

    batch: RowBatch
    #: The part of the rows that this subscriber gets.
    first: int
    last: int
    positions: Positions = field(default_factory=dict)


class Subscription:
    """Turn records into rows, count them, and queue them for the event loop.

    ``take`` and ``feed`` are called by threads that read topics, ``deliveries`` by the event loop.

    Args:
        run: Turns records into rows.
        starts: Where the query begins, by partition.
        limit: After how many rows the query ends; None for never.
        offset: How many rows are left out first.
        muted_until: Rows of records before these positions are not sent. A query that resumes after
            a lost connection processes those records only to build its state again.
        loop: The event loop of the connection.
    """

    def __init__(
        self,
        run: PushRun,
        starts: Mapping[Place, int],
        *,
        limit: int | None = None,
        offset: int = 0,
        muted_until: Mapping[Place, int] | None = None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.run = run
        self.starts: Positions = dict(starts)
        self.positions: Positions = dict(starts)
        self.failure: PenstockError | None = None
        self.is_closed = False
        #: Whether the limit has been reached.
        self.is_complete = limit == 0
        #: How many rows the connection has taken.
        self.sent = 0
        self._limit, self._skip = limit, offset
        self._muted_until = dict(muted_until or {})
        self._loop = loop
        self._event = asyncio.Event()
        self._lock = threading.Lock()
        self._queue: deque[Delivery] = deque()
        self._waiting = 0
        self._made = 0
        self._room = threading.Event()
        self._room.set()

    # In the threads that read

    def take(self, batch: RecordBatch) -> Waker | None:
        """Take records from a shared reader; fail if too many rows wait for the client."""
        if self.is_over:
            return None
        if self._waiting > MOST_WAITING:
            self.failure = StreamsError(
                "too-slow",
                f"{self._waiting} rows wait for the client, which does not take them",
                fix="read faster, or continue later with the continuation token",
            )
            return self._loop, self._event
        return (self._loop, self._event) if self._feed(batch) else None

    def feed(self, records: list[RawRecord]) -> None:
        """Take records from a reader of its own, and wake the event loop."""
        if self._feed(RecordBatch(records)):
            self.wake()

    def wait_for_room(self, timeout_s: float) -> bool:
        """Wait until the connection has taken most of the rows."""
        return self._room.wait(timeout_s)

    def _feed(self, batch: RecordBatch) -> bool:
        with self._lock:
            if self.is_closed:
                return False
            unseen = self._unseen(batch)
            try:
                if self._muted_until:
                    unseen = self._unmuted(unseen)
                if not unseen.records:
                    return False
                made = self.run.rows(unseen)
            except PenstockError as error:
                self.failure = error
                return True
            # A bug, or an error in a user's function, ends this query; other queries go on.
            except Exception as error:  # noqa: BLE001
                self.failure = StreamsError("query-failed", f"the query failed: {error!r}")
                return True
            self.positions.update(unseen.ends)
            return self._keep(made)

    def _unmuted(self, batch: RecordBatch) -> RecordBatch:
        """Process records that were sent before, without sending their rows; return the others."""
        until = self._muted_until
        sent = [r for r in batch.records if r.offset < until.get((r.topic, r.partition), 0)]
        if sent:
            before = RecordBatch(sent)
            self.run.rows(before)
            self.positions.update(before.ends)
        if all(self.positions.get(place, 0) >= at for place, at in until.items()):
            self._muted_until = {}
        return RecordBatch(
            [r for r in batch.records if r.offset >= until.get((r.topic, r.partition), 0)]
        )

    def _unseen(self, batch: RecordBatch) -> RecordBatch:
        """Leave out records that this subscriber already got from its own reader."""
        at = self.positions
        if all(first >= at.get(place, 0) for place, first in batch.firsts.items()):
            # The usual case: all subscribers share the batch and its rows.
            return batch
        return RecordBatch(
            [r for r in batch.records if r.offset >= at.get((r.topic, r.partition), 0)]
        )

    def _keep(self, batch: RowBatch) -> bool:
        """Queue the rows within OFFSET and LIMIT; return whether there is something to send."""
        count = len(batch.rows)
        first = min(self._skip, count)
        self._skip -= first
        last = count
        if self._limit is not None:
            last = min(last, first + self._limit - self._made)
        if last > first:
            self._made += last - first
            self._waiting += last - first
            self._queue.append(Delivery(batch, first, last, dict(self.positions)))
            if self._waiting > MOST_WAITING // 2:
                self._room.clear()
        if self._limit is not None and self._made >= self._limit:
            self.is_complete = True
        return last > first or self.is_complete

    def fail(self, error: PenstockError) -> None:
        self.failure = error
        self.wake()

    def wake(self) -> None:
        """Wake the event loop. Any thread may call it."""
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:
            # The loop has ended, and the connection with it.
            self.is_closed = True

    # On the event loop

    async def deliveries(self, heartbeat_s: float) -> AsyncIterator[Delivery | None]:
        """Yield rows until the limit, a failure or ``close``; None after a while without rows."""
        while True:
            while self._queue:
                delivery = self._queue.popleft()
                count = delivery.last - delivery.first
                self._waiting -= count
                self.sent += count
                if self._waiting <= MOST_WAITING // 4:
                    self._room.set()
                yield delivery
            if self.is_over:
                if self._queue:
                    continue
                return
            self._event.clear()
            if self._queue or self.is_over:
                # A row or the end arrived after the check above and before ``clear``.
                continue
            try:
                async with asyncio.timeout(heartbeat_s):
                    await self._event.wait()
            except TimeoutError:
                yield None

    @property
    def is_over(self) -> bool:
        """Whether no more rows are wanted."""
        return self.is_closed or self.is_complete or self.failure is not None

    def close(self) -> None:
        """End the query and drop its waiting rows, after the batch that is being processed."""
        self.is_closed = True
        self._room.set()
        with self._lock:
            self.run.close()
        self.wake()
