"""The reader returns exact ranges from a real broker, also after it has read ahead."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.worker.reader import RangeReader, ReadAhead
from tests.integration.kafka.records import write

pytestmark = pytest.mark.kafka

RECORDS = 60_000
#: Enough for a batch that is taken for a backlog.
MANY = 25_000


@pytest.fixture
def reader(kafka_broker: str) -> Iterator[RangeReader]:
    made = RangeReader({"bootstrap.servers": kafka_broker, "group.id": "ranges"})
    yield made
    made.close()


@pytest.fixture
def topic(kafka_broker: str, new_topic: Callable[..., str]) -> str:
    made = new_topic("ranges")
    write(kafka_broker, made, ((None, str(n)) for n in range(RECORDS)))
    return made


def offsets(reader: RangeReader, topic: str, start: int, end: int) -> list[int]:
    found = reader.read_columns({(topic, 0): (start, end)}).columns[topic, 0]
    assert list(found.values) == [b"%d" % offset for offset in found.offsets]
    return list(found.offsets)


def until_taken(reader: RangeReader) -> None:
    reader.read_ahead()
    ahead = reader._ahead
    assert ahead is not None, "a backlog is read ahead"
    deadline = time.monotonic() + 30
    while reader._received and not any(each.last_offset > 0 for each in reader._received.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_was_read_ahead_comes_next(reader: RangeReader, topic: str) -> None:
    """Nothing is lost and nothing comes twice where one range ends and the next begins."""
    assert offsets(reader, topic, 0, MANY) == list(range(MANY))
    until_taken(reader)
    assert offsets(reader, topic, MANY, MANY + 10) == list(range(MANY, MANY + 10))
    assert offsets(reader, topic, MANY + 10, RECORDS) == list(range(MANY + 10, RECORDS))


def test_a_replay_does_not_see_what_was_read_ahead(reader: RangeReader, topic: str) -> None:
    """A range that begins elsewhere starts over there."""
    assert offsets(reader, topic, 0, MANY) == list(range(MANY))
    until_taken(reader)
    assert offsets(reader, topic, 5, 15) == list(range(5, 15))


def test_a_small_batch_reads_nothing_ahead(reader: RangeReader, topic: str) -> None:
    """Without a backlog there is nothing, and a thread would only wait."""
    offsets(reader, topic, 0, 100)
    reader.read_ahead()
    assert reader._ahead is None


def test_an_error_ahead_is_raised_by_the_next_read() -> None:
    """It belongs to the batch that wanted the records."""

    def fail(_: int) -> int:
        raise StreamsError("read-failed", "the topic is gone")

    ahead = ReadAhead(fail)
    with pytest.raises(StreamsError, match="the topic is gone"):
        ahead.end()


def test_reading_ahead_ends_when_it_is_asked_to() -> None:
    """It takes step by step, and no further one."""
    started = threading.Event()

    def take(most: int) -> int:
        started.set()
        time.sleep(0.001)
        return 1

    ahead = ReadAhead(take)
    assert started.wait(10)
    ahead.end()
    assert not ahead._thread.is_alive()
