"""Types of user functions that are not processors: extractors and partitioners."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.errors import StreamsError
from penstock.model.record import ConsumerRecord, RecordContext

log = logging.getLogger(__name__)

#: ``(record, partition_time) -> timestamp``; a negative result drops the record.
TimestampExtractor = Callable[[ConsumerRecord[Any, Any], int], int]
#: ``(key, value, context) -> topic``.
TopicNameExtractor = Callable[[Any, Any, RecordContext], str]
#: ``(topic, key, value, partitions) -> partitions``; None is the default, an empty set drops.
StreamPartitioner = Callable[[str, Any, Any, int], Iterable[int] | int | None]


class FailOnInvalidTimestamp:
    """Uses the record's own timestamp and fails if it is negative. This is the default."""

    def __call__(self, record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        if record.timestamp < 0:
            raise StreamsError(
                "invalid-timestamp",
                f"record at topic {record.topic!r} partition {record.partition} offset"
                f" {record.offset} has the negative timestamp {record.timestamp}",
                fix="use LogAndSkipOnInvalidTimestamp, UsePartitionTimeOnInvalidTimestamp"
                " or a timestamp extractor of your own",
            )
        return record.timestamp


class LogAndSkipOnInvalidTimestamp:
    """Uses the record's own timestamp; logs and drops a record with a negative one."""

    def __call__(self, record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        if record.timestamp < 0:
            log.warning(
                "skipping record with negative timestamp %d: topic %r partition %d offset %d",
                record.timestamp, record.topic, record.partition, record.offset,
            )  # fmt: skip
        return record.timestamp


class UsePartitionTimeOnInvalidTimestamp:
    """Uses the record's own timestamp or, if that is negative, the partition's time."""

    def __call__(self, record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        if record.timestamp >= 0:
            return record.timestamp
        if partition_time < 0:
            raise StreamsError(
                "invalid-timestamp",
                f"the first record of topic {record.topic!r} partition {record.partition} has the"
                f" negative timestamp {record.timestamp}, and there is no partition time yet",
                fix="use LogAndSkipOnInvalidTimestamp or a timestamp extractor of your own",
            )
        return partition_time


class WallclockTimestampExtractor:
    """Uses the wall clock: processing time instead of event time."""

    def __call__(self, record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        return time.time_ns() // 1_000_000
