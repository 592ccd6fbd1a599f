"""What Kafka Streams' timestamp extractors do about a negative timestamp."""

import time
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.record import ConsumerRecord
from penstock.processor.functions import (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)


def at(timestamp: int) -> ConsumerRecord[Any, Any]:
    return ConsumerRecord("in", 1, 7, timestamp, "k", "v", ())


@pytest.mark.parametrize(
    "extractor",
    [
        FailOnInvalidTimestamp(),
        LogAndSkipOnInvalidTimestamp(),
        UsePartitionTimeOnInvalidTimestamp(),
    ],
)
def test_a_valid_timestamp_is_kept(extractor: Any) -> None:
    """Zero is valid: it is the first millisecond of 1970."""
    assert [extractor(at(time), 50) for time in (0, 40)] == [0, 40]


def test_the_default_fails_and_says_where() -> None:
    """A topic with such records needs a decision of the user."""
    with pytest.raises(StreamsError, match="partition 1 offset 7 has the negative timestamp -1"):
        FailOnInvalidTimestamp()(at(-1), 50)


def test_a_record_can_be_skipped_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A negative result drops the record."""
    assert LogAndSkipOnInvalidTimestamp()(at(-1), 50) == -1
    assert "topic 'in' partition 1 offset 7" in caplog.text


def test_the_time_of_the_partition_can_stand_in() -> None:
    """The first record of a partition has no such time."""
    extractor = UsePartitionTimeOnInvalidTimestamp()
    assert extractor(at(-1), 50) == 50
    assert extractor(at(-1), 0) == 0
    with pytest.raises(StreamsError, match="there is no partition time yet"):
        extractor(at(-1), -1)


def test_the_wall_clock_ignores_the_record() -> None:
    """It is read in milliseconds."""
    before = time.time_ns() // 1_000_000
    assert before <= WallclockTimestampExtractor()(at(-1), 50) <= time.time_ns() // 1_000_000
