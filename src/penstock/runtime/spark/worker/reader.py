"""Read offset ranges from Kafka directly, in the worker that owns the partitions."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer
from penstock.kafka.error_table import Verdict, reason, verdict
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import RawRecord
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.worker.consumer_buffer import ReceivedColumns, runs_of
from penstock.runtime.spark.worker.memory import no_garbage_collection

#: Settings for fast reading. With a deep queue librdkafka reads five times as many records per
#: second as with its defaults.
FAST_READING: dict[str, Any] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # Per partition. Each waiting record costs half a kilobyte in addition to its own bytes.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 64 * 1024,
    "fetch.queue.backoff.ms": 5,
    "fetch.message.max.bytes": 8 * 1024 * 1024,
    "fetch.wait.max.ms": 50,
    # If the broker has deleted the wanted records, that is an error: they are not skipped.
    "auto.offset.reset": "error",
}
_BATCH = 20_000
_LARGE_RECORD = 100_000
#: How long a call waits if it asks for more records than there are. So a call never asks for more
#: than are missing.
_PATIENCE_S = 0.01
Range = tuple[int, int]
_BEYOND = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
#: A smaller batch means that there is no backlog: then there is nothing to read ahead.
_BACKLOG = 20_000
#: The most records that are read ahead. The limits of the consumer's own queues do not count
#: records that it has already returned.
_MOST_AHEAD = 100_000
#: While batches are small, they take records that have arrived since they were planned: so many,
#: if the planned ones have fewer bytes than this.
_NEWER, _NEWER_BYTES = 1_000, 256 * 1024
#: Records per step of reading ahead. The next read waits until the current step ends.
_AHEAD_BATCH = 5_000


class ReadRanges(NamedTuple):
    """The records of some ranges, and by partition the offset that reading has reached."""

    columns: dict[TopicPartition, RawColumns]
    reached: dict[TopicPartition, int]
    #: For ranges that were read to their end: an offset before which no other record follows.
    #: Compaction and transactions leave gaps, which may be far longer than a batch.
    following: Mapping[TopicPartition, int] = MappingProxyType({})
    #: Partitions that have more records in their range, of which none came in time.
    stuck: frozenset[TopicPartition] = frozenset()


class Reader(Protocol):
    """Read exact offset ranges of topic partitions."""

    def read(self, ranges: Mapping[TopicPartition, Range]) -> dict[TopicPartition, list[RawRecord]]:
        """Return the committed records of every range, in offset order."""

    def read_columns(
        self,
        ranges: Mapping[TopicPartition, Range],
        most_bytes: int = 1 << 40,
        stuck_s: float | None = None,
        open_ended: Collection[TopicPartition] = (),
    ) -> ReadRanges:
        """Return the committed records of every range as columns, up to about ``most_bytes``.

        Args:
            open_ended: partitions of which records behind the range are welcome, too, if they are
                here already and all ranges are small.
            stuck_s: after so long without any record the call returns what there is, and names the
                partitions that are stuck. With None it waits, and raises an error in the end.
        """

    def connect(self, parts: Iterable[TopicPartition]) -> None:
        """Connect to the leaders of these partitions without reading anything."""

    def read_ahead(self) -> None:
        """Read on in the background for the next call, if there is a backlog."""

    def rest(self) -> None:
        """Ask the broker for nothing until the next read; the connections stay open."""

    def close(self) -> None: ...


def _reading(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for fast reading that the user has not set otherwise.

    A missing offset is always an error, whatever the user has set.
    """
    fast = {name: value for name, value in FAST_READING.items() if name not in config}
    return fast | {"auto.offset.reset": "error"}


class ReadAhead:
    """A thread that takes records for the next batch while no other thread reads."""

    def __init__(self, take: Callable[[int], int]) -> None:
        self._take = take
        self._is_over = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-read-ahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        left = _MOST_AHEAD
        try:
            with no_garbage_collection():
                while left > 0 and not self._is_over.is_set():
                    taken = self._take(min(left, _AHEAD_BATCH))
                    if not taken:
                        return
                    left -= taken
        except Exception as error:  # noqa: BLE001 - the next read raises it
            self._error = error

    def end(self) -> None:
        """Stop the thread, wait for its end, and raise its error if it failed."""
        self._is_over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


class RangeReader:
    """Read exact offset ranges through one consumer that stays connected between batches.

    Records that were read ahead are kept for the next batch. If a range does not begin where the
    last one ended (a replay, a new owner), the reader drops them and seeks to that offset.
    """

    def __init__(self, config: Mapping[str, Any], *, timeout_s: float = 60.0) -> None:
        self._consumer = new_consumer({**config, **_reading(config)})
        self._timeout_s = timeout_s
        self._received: dict[TopicPartition, ReceivedColumns] = {}
        self._next: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._following: Mapping[TopicPartition, int] = {}
        self._last_count = 0
        self._ahead: ReadAhead | None = None
        self._last_error: KafkaError | None = None
        self._is_resting = False
        #: The estimated size of a record, from the records received last. Until the first ones
        #: arrive, the estimate is a large record.
        self._record_bytes = _LARGE_RECORD

    def read(self, ranges: Mapping[TopicPartition, Range]) -> dict[TopicPartition, list[RawRecord]]:
        """Return the records of every range, in offset order."""
        found = self.read_columns(ranges).columns
        return {part: [RawRecord(*record) for record in columns] for part, columns in found.items()}

    def read_columns(
        self,
        ranges: Mapping[TopicPartition, Range],
        most_bytes: int = 1 << 40,
        stuck_s: float | None = None,
        open_ended: Collection[TopicPartition] = (),
    ) -> ReadRanges:
        """Return the records of every range as columns, in offset order.

        Reading ends early when the records have about ``most_bytes``, but not before every range
        has a record: a task that waits for the oldest of several inputs needs one of each.
        """
        self._end_ahead()
        self._wake()
        self._seek(ranges)
        todo = {part: end for part, (start, end) in ranges.items() if start < end}
        self._forget_complete(todo)
        patience_s = self._timeout_s if stuck_s is None else stuck_s
        deadline = time.monotonic() + patience_s
        stuck: frozenset[TopicPartition] = frozenset()
        # Records received for other stages or batches do not count towards this size.
        size = sum(self._of(part).bytes_before(end) for part, (_, end) in ranges.items())
        while todo and (size < most_bytes or any(self._of(p).last_offset < 0 for p in todo)):
            # A call returns as many records as it was asked for, whatever their size. So ask for
            # about as many as still fit.
            fitting = max(most_bytes - size, 0) // self._record_bytes + 1
            wanted = min(_BATCH, self._missing(todo), fitting)
            messages = self._consumer.consume(wanted, _PATIENCE_S)
            if messages:
                self._record_bytes = max(sum(map(len, messages)) // len(messages), 1)
                accepted = self._accept(messages, todo)
                if size < most_bytes and (accepted or stuck_s is None):
                    deadline = time.monotonic() + patience_s
                size += accepted
                self._forget_complete(todo)
            # One look at the clock: between two of them the time may be over, and a restore, which
            # needs every record, would end without an error and without all records.
            if not todo or time.monotonic() <= deadline:
                continue
            if stuck_s is None:
                raise self._stuck(todo)
            stuck = frozenset(part for part in todo if self._of(part).last_offset < 0)
            break
        reached = {part: end for part, (_, end) in ranges.items()}
        for part in todo:
            reached[part] = max(self._of(part).last_offset + 1, ranges[part][0])
        if open_ended and not todo and size < _NEWER_BYTES:
            self._accept(self._consumer.consume(_NEWER, 0.0), {})
            for part in ranges.keys() & open_ended:
                reached[part] = max(reached[part], self._of(part).last_offset + 1)
        self._next.update(reached)
        found = {part: self._of(part).take(reached[part]) for part in ranges}
        self._last_count = sum(map(len, found.values()))
        complete = [part for part in ranges if part not in todo]
        self._following = {part: self._first_from(part, reached[part]) for part in complete}
        return ReadRanges(found, reached, self._following, stuck)

    def _first_from(self, part: TopicPartition, end: int) -> int:
        """Return where the first record from ``end`` on is, as far as the broker has told."""
        first = self._of(part).first_offset
        return max(end, self._ends.get(part, end) if first < 0 else first)

    def read_ahead(self) -> None:
        """Read on in a thread until the next call, or until no more records are there."""
        if self._last_count >= _BACKLOG and self._ahead is None:
            self._ahead = ReadAhead(self._take_ahead)

    def rest(self) -> None:
        """Give all partitions back: an idle reader would ask the broker twenty times a second.

        Partitions that are only paused get their first record a second after they are resumed.
        """
        self._end_ahead()
        if self._next and not self._is_resting:
            self._consumer.incremental_unassign([KafkaPartition(*part) for part in self._next])
            self._is_resting = True

    def _wake(self) -> None:
        if self._is_resting:
            self._is_resting = False
            # Behind what has been received for later batches.
            self._consumer.incremental_assign(
                [
                    KafkaPartition(*part, max(at, self._of(part).last_offset + 1))
                    for part, at in self._next.items()
                ]
            )

    def _take_ahead(self, most: int) -> int:
        messages = self._consumer.consume(most, _PATIENCE_S)
        self._accept(messages, {})
        return len(messages)

    def _end_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.end()

    def connect(self, parts: Iterable[TopicPartition]) -> None:
        """Connect to the leaders of these partitions by asking for the ends of their logs.

        The answers are not used. The connections stay open.
        """
        self._end_ahead()
        for part in parts:
            self._consumer.get_watermark_offsets(KafkaPartition(*part), self._timeout_s)

    def close(self) -> None:
        with contextlib.suppress(StreamsError, KafkaException):
            # An error of reading ahead does not matter any more.
            self._end_ahead()
        self._consumer.close()

    def _accept(self, messages: list[Message], todo: Mapping[TopicPartition, int]) -> int:
        """Store what the consumer has returned; return the bytes that belong to ``todo``."""
        # count(None) would be faster, but comparing a KafkaError with None raises an error.
        if any(map(Message.error, messages)):
            self._note_ends([message for message in messages if message.error() is not None])
            messages = [message for message in messages if message.error() is None]
        size = 0
        for part, run in runs_of(messages):
            self._of(part).add(run)
            if part in todo:
                size += sum(map(len, run))
        return size

    def _note_ends(self, messages: list[Message]) -> None:
        for message in messages:
            error = message.error()
            assert error is not None
            part = (message.topic() or "", message.partition() or 0)
            if error.code() in _BEYOND:
                raise _out_of_range(error, part)
            if error.code() != KafkaError._PARTITION_EOF:
                self._noticed(error, part)
                continue
            # A log may end with transaction markers instead of a record. So a range is complete
            # when the end of the log is reached, even if no record has that offset.
            self._ends[part] = message.offset() or 0

    def _noticed(self, error: KafkaError, part: TopicPartition) -> None:
        """Raise an error that will not pass by itself; otherwise remember it and continue."""
        if verdict(error) not in (Verdict.WAIT, Verdict.RENEW):
            raise _read_error(error, part)
        self._last_error = error

    def _forget_complete(self, todo: dict[TopicPartition, int]) -> None:
        for part, end in list(todo.items()):
            if self._of(part).last_offset >= end - 1 or self._ends.get(part, -1) >= end:
                del todo[part]

    def _missing(self, todo: Mapping[TopicPartition, int]) -> int:
        """Return the most records that may still come; fewer come if offsets have gaps."""
        return sum(end - max(self._next[p], self._of(p).last_offset + 1) for p, end in todo.items())

    def _of(self, part: TopicPartition) -> ReceivedColumns:
        received = self._received.get(part)
        if received is None:
            received = self._received[part] = ReceivedColumns(*part)
        return received

    def _seek(self, ranges: Mapping[TopicPartition, Range]) -> None:
        for part, (start, _) in ranges.items():
            if self._next.get(part, start) < start <= self._following.get(part, -1):
                # A batch may begin behind a gap. What was received already begins there, too.
                self._next[part] = start
        moved = [p for p, (start, _) in ranges.items() if self._next.get(p) != start]
        if not moved and ranges.keys() <= self._next.keys():
            return
        for part in moved:
            self._received.pop(part, None)
            self._ends.pop(part, None)
        known = [p for p in moved if p in self._next]
        if known:
            self._consumer.incremental_unassign([KafkaPartition(*part) for part in known])
        self._consumer.incremental_assign(
            [KafkaPartition(topic, number, ranges[topic, number][0]) for topic, number in moved]
        )
        for part in moved:
            self._next[part] = ranges[part][0]

    def _stuck(self, todo: Mapping[TopicPartition, int]) -> StreamsError:
        listed = ", ".join(f"{t}-{p} up to {end}" for (t, p), end in todo.items())
        return StreamsError(
            "read-timeout",
            f"no records came from Kafka for {self._timeout_s:.0f} s while reading {listed}"
            + (f" ({self._last_error.str()})" if self._last_error is not None else ""),
            fix="check that the broker is up and that the topics still exist;"
            " the batch is read again after a restart",
        )


def _out_of_range(error: KafkaError, part: TopicPartition) -> StreamsError:
    return StreamsError(
        "offset-out-of-range",
        f"topic {part[0]!r} partition {part[1]} does not have the offset that comes next:"
        f" {error.str()}",
        fix="records were deleted before they were processed, or the topic was created again;"
        " auto.offset.reset says where to continue",
    )


def _read_error(error: KafkaError, part: TopicPartition) -> StreamsError:
    is_forbidden = verdict(error) is Verdict.FORBIDDEN
    return StreamsError(
        "not-allowed" if is_forbidden else "read-failed",
        f"reading topic {part[0]!r} partition {part[1]} failed: {reason(error)} ({error.name()})",
        fix="give the application's user the right, or correct its password"
        if is_forbidden
        else "check the topic and the broker; the batch is read again after a restart",
    )
