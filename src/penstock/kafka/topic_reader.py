"""Reading topics without a consumer group: from given offsets to an end, or on and on.

Every reader outside of the stream threads is one of these, so that all treat errors alike: what
passes is waited for, what a person has to mend is raised, and a wait for an end has a limit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.admin_answers import Partition
from penstock.kafka.admin_failures import explained
from penstock.kafka.clients import new_consumer
from penstock.kafka.error_table import Verdict, verdict

log = logging.getLogger(__name__)

Positions = dict[Partition, int]
#: The first offset of a range, and the offset after its last record.
Span = tuple[int, int]

#: How many records one read returns at most.
MOST_RECORDS = 2_000
#: How long a reader waits for something to arrive before it gives up.
PATIENCE_S = 60.0
_POLL_S = 0.2
#: How long the broker may wait before it sends an empty answer. The default is half a second.
_EAGER_MS = 10
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)
_RAISED = (Verdict.FORBIDDEN, Verdict.FATAL, Verdict.OFFSETS)


class TopicReader:
    """Reads records of some partitions, in the order of each partition. One thread may use it.

    Args:
        settings: librdkafka's, at least ``bootstrap.servers``. They win over the defaults here,
            such as ``isolation.level``, which is ``read_committed``.
        starts: the offset of the first record that is wanted, by partition. If the log begins
            later, the reader begins there, unless ``auto.offset.reset`` is ``error``.
        is_eager: whether the end of a partition is noticed soon. It shows only in an empty answer,
            which the broker delays. A reader that follows a topic for hours should poll less often.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        starts: Mapping[Partition, int],
        *,
        is_eager: bool = False,
    ) -> None:
        #: The offset of the next record, by partition. Only records before it have been seen.
        self.positions: Positions = dict(starts)
        #: The last error that was waited for, as text.
        self.trouble: str | None = None
        self._consumer = new_consumer(
            {
                # librdkafka requires a group, but this consumer assigns its partitions itself.
                "group.id": "penstock-reader",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                # Without it, a fetch that failed once would be tried again after half a second.
                "fetch.error.backoff.ms": 50,
                **({"fetch.wait.max.ms": _EAGER_MS} if is_eager else {}),
                **settings,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        self._assign()

    def read(self, timeout_s: float) -> list[Message]:
        """Wait for a record, and return it with those that are there already.

        Raises:
            StreamsError: ``topic-gone``: a topic was deleted.
            KafkaRequestError: a right is missing, or the offset is not there any more.
        """
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        messages: list[Message] = []
        for message in (first, *self._consumer.consume(MOST_RECORDS - 1, 0)):
            error = message.error()
            if error is None:
                place = str(message.topic()), int(message.partition() or 0)
                self.positions[place] = int(message.offset() or 0) + 1
                messages.append(message)
            else:
                self._note(message, error)
        return messages

    def _note(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # Transaction markers have offsets, too, so the end may be after the last record.
            place = str(message.topic()), int(message.partition() or 0)
            self.positions[place] = max(self.positions.get(place, 0), int(message.offset() or 0))
        elif error.code() in _GONE:
            raise StreamsError(
                "topic-gone",
                f"topic {message.topic()!r} cannot be read: {error.str()}",
                fix="create the topic again, or stop what reads it",
            )
        elif error.fatal() or verdict(error) in _RAISED:
            what = f"read topic {message.topic()!r}" if message.topic() else "read records"
            raise explained(KafkaException(error), what, "the cluster")
        else:
            # For example, a broker restarts. The client connects again by itself.
            self.trouble = error.str()
            log.debug("a topic cannot be read now: %s", self.trouble)

    def ends(self) -> Positions:
        """Return the last known ends of the partitions; a partition that is not known is left out.

        They come with the records, so asking costs nothing.
        """
        found: Positions = {}
        for place in self.positions:
            try:
                bounds = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            except KafkaException:
                continue
            if bounds[1] >= 0:
                found[place] = bounds[1]
        return found

    def forget(self, places: Iterable[Partition]) -> None:
        """Read some partitions no longer."""
        for place in places:
            self.positions.pop(place, None)
        self._assign()

    def close(self) -> None:
        self._consumer.close()

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(*place, at) for place, at in self.positions.items()])

    def __enter__(self) -> TopicReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_to_end(
    settings: Mapping[str, Any], spans: Mapping[Partition, Span], *, patience_s: float = PATIENCE_S
) -> Iterator[Message]:
    """Yield the records of each partition's span; partitions are read side by side.

    Offsets inside a span may be missing: markers of transactions and records that compaction
    removed have none. So the position of the reader, not a count, tells when a span has ended.

    Raises:
        StreamsError: ``read-stopped``: nothing has arrived for ``patience_s``.
    """
    ends = {place: end for place, (start, end) in spans.items() if start < end}
    if not ends:
        return
    starts = {place: spans[place][0] for place in ends}
    with TopicReader(settings, starts, is_eager=True) as reader:
        deadline = time.monotonic() + patience_s
        while not has_reached(reader.positions, ends):
            before = dict(reader.positions)
            for message in reader.read(_POLL_S):
                place = str(message.topic()), int(message.partition() or 0)
                if int(message.offset() or 0) < ends[place]:
                    yield message
            if reader.positions != before:
                deadline = time.monotonic() + patience_s
            elif time.monotonic() > deadline:
                raise _stopped(reader, ends, patience_s)


def follow(
    settings: Mapping[str, Any],
    starts: Mapping[Partition, int],
    is_over: Callable[[Positions], bool],
) -> Iterator[Message]:
    """Yield records as they come, until a function of what has been read says that it is enough.

    The function is asked several times per second, also while nothing comes.
    """
    with TopicReader(settings, starts) as reader:
        while not is_over(reader.positions):
            yield from reader.read(_POLL_S)


def has_reached(positions: Mapping[Partition, int], ends: Mapping[Partition, int]) -> bool:
    """Return whether everything before ``ends`` has been read."""
    return all(positions.get(place, 0) >= end for place, end in ends.items())


def _stopped(reader: TopicReader, ends: Mapping[Partition, int], patience_s: float) -> StreamsError:
    topic, partition = next(
        place for place, end in ends.items() if reader.positions.get(place, 0) < end
    )
    why = "" if reader.trouble is None else f"; the last trouble was: {reader.trouble}"
    return StreamsError(
        "read-stopped",
        f"partition {partition} of topic {topic!r} could not be read to its end: nothing has"
        f" arrived for {patience_s:.0f} s{why}",
        fix="see whether its leader answers: penstock topics describe, then try again",
    )
