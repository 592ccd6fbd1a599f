"""The input of a task: one queue per input partition. The smallest timestamp goes first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from penstock.kernel.java_queue import JavaQueue
from penstock.model.record import Headers

T = TypeVar("T")


class RawRecord(NamedTuple):
    """A record as it was read from Kafka. A plain tuple of this shape can be used, too."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


#: The decoded first record of a queue: raw record, key, value, timestamp. It is a plain tuple,
#: because one is made per record. A negative timestamp stands for records that were skipped. It
#: only moves the offset.
Head = tuple[RawRecord, Any, Any, int]

#: Decodes a raw record, given the partition time. ``None`` means that the record is skipped.
Decoder = Callable[[RawRecord, int], Head | None]

#: Tells whether a batch has to end. It is called between records, so it has to be cheap.
Stop = Callable[[], bool]


class RecordQueue:
    """The records of one input partition; the first one is decoded, so that its timestamp is known.

    All records before the head are consumed: taken, or skipped while the head was looked for.
    Skipped records have been reported to the handler, the dead letters and the drop counters. The
    head is not consumed: decoding it changes nothing until it is taken, so ``give_back`` can forget
    it.
    """

    __slots__ = (
        "_decode", "_records", "head", "is_truncated", "name", "partition_time", "received",
        "source",
    )  # fmt: skip

    def __init__(self, name: str, source: str, decode: Decoder) -> None:
        self.name = name
        self.source = source
        self.head: Head | None = None
        self.partition_time = -1
        #: How many records have come through this queue: used as offsets if there is no topic.
        self.received = 0
        #: Whether the topic has more records than were added.
        self.is_truncated = False
        self._records: deque[RawRecord] = deque()
        self._decode = decode

    def __len__(self) -> int:
        return len(self._records) + (self.head is not None)

    def add(self, records: Iterable[RawRecord]) -> None:
        self._records.extend(records)
        self._update_head()

    def take(self) -> Head:
        """Return the first record, and decode the next one."""
        head = self.head
        assert head is not None
        self.head = None
        if head[3] > self.partition_time:
            self.partition_time = head[3]
        self._update_head()
        return head

    def give_back(self) -> int:
        """Remove the records that are not consumed; return how many there were.

        A head that only stands for skipped records is consumed: its records were decoded.
        """
        count = len(self._records) + (self.head is not None and self.head[3] >= 0)
        self._records.clear()
        self.head = None
        return count

    def drain(self) -> Iterator[Head]:
        """Return all records in turn, each after the next one is decoded, as ``take`` does."""
        records, decode = self._records, self._decode
        while (head := self.head) is not None:
            timestamp = head[3]
            if timestamp > self.partition_time:
                self.partition_time = timestamp
            if records:
                raw = records.popleft()
                self.head = decode(raw, self.partition_time)
                if self.head is None:
                    self._update_head(raw)
            else:
                self.head = None
            yield head

    def _update_head(self, skipped: RawRecord | None = None) -> None:
        records, decode = self._records, self._decode
        while self.head is None and records:
            raw = records.popleft()
            self.head = decode(raw, self.partition_time)
            if self.head is None:
                skipped = raw
        if self.head is None and skipped is not None and not self.is_truncated:
            # Without this head, the offset of skipped records at the end would never be committed.
            # If more records follow, it would change the place of the queue among the others. In
            # one batch, the same records would not do that.
            self.head = (skipped, None, None, -1)


def _head_time(queue: RecordQueue) -> int:
    head = queue.head
    return -1 if head is None else head[3]


class PartitionGroup:
    """All input queues of a task, and stream time: the highest timestamp taken so far.

    ``order`` has the names of the queues as a batch that was cut has left them. Among equal
    timestamps, the place in the heap decides. So the next batch fills the queues in this order.
    """

    __slots__ = ("_ready", "order", "queues", "stream_time")

    def __init__(self) -> None:
        self.queues: dict[str, RecordQueue] = {}
        self.stream_time = -1
        self.order: list[str] = []
        self._ready: JavaQueue[RecordQueue] = JavaQueue(_head_time)

    def __len__(self) -> int:
        return sum(len(queue) for queue in self.queues.values())

    @property
    def has_records(self) -> bool:
        return len(self._ready) > 0

    def add(self, name: str, records: Iterable[RawRecord]) -> None:
        queue = self.queues[name]
        was_empty = len(queue) == 0
        queue.add(records)
        if was_empty and len(queue):
            self._ready.offer(queue)

    def in_order(self, inputs: Sequence[tuple[str, T]]) -> list[tuple[str, T]]:
        """Sort inputs by the order in which a cut batch has left their queues; others follow."""
        ranks = {name: rank for rank, name in enumerate(self.order)}
        return sorted(inputs, key=lambda each: ranks.get(each[0], len(ranks)))

    def empty_truncated(self) -> list[str]:
        """Return the queues that are empty although their topic has more records."""
        return [n for n, queue in self.queues.items() if queue.is_truncated and not len(queue)]

    def give_back(self) -> dict[str, int]:
        """Remove what is not consumed, and note the order; return by queue how many records."""
        ready = self._ready
        while (first := ready.peek()) is not None and _head_time(first) < 0:
            # The head only stands for skipped records. An uncut batch would take it next.
            ready.poll().give_back()
        queues = ready.take_all()
        self.order = [queue.name for queue in queues]
        return {queue.name: queue.give_back() for queue in queues}

    def take_only(self) -> RecordQueue | None:
        """Take the only queue that has records out of the heap; ``put_back`` puts it back."""
        return self._ready.poll() if len(self._ready) == 1 else None

    def put_back(self, queue: RecordQueue) -> None:
        if queue.head is not None:
            self._ready.offer(queue)

    def next(self) -> tuple[RecordQueue, Head]:
        """Take the record with the smallest timestamp of all queues."""
        queue = self._ready.poll()
        head = queue.take()
        self.put_back(queue)
        if head[3] > self.stream_time:
            self.stream_time = head[3]
        return queue, head
