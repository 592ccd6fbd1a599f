"""The reader returns exact ranges from one consumer, in whatever order that returns records."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.worker import reader as module
from penstock.runtime.spark.worker.reader import RangeReader, ReadAhead

ONE, TWO = ("one", 0), ("two", 0)


def message(part: TopicPartition, offset: int, size: int = 10) -> Message:
    return Message(
        topic=part[0], partition=part[1], offset=offset, timestamp=(1, offset), key=b"k",
        value=bytes(size),
    )  # fmt: skip


class Consumer:
    """Hands over a script of messages, some at a time, whatever is wanted most."""

    def __init__(self) -> None:
        self.script: list[list[Message]] = []
        self.assigned: dict[TopicPartition, int] = {}
        self.is_closed = False

    def consume(self, most: int, timeout: float) -> list[Message]:
        return self.script.pop(0) if self.script else []

    def close(self) -> None:
        self.is_closed = True

    def incremental_assign(self, parts: list[KafkaPartition]) -> None:
        self.assigned |= {(each.topic, each.partition): each.offset for each in parts}

    def incremental_unassign(self, parts: list[KafkaPartition]) -> None:
        for each in parts:
            del self.assigned[each.topic, each.partition]


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    made = Consumer()
    monkeypatch.setattr(module, "new_consumer", lambda config: made)
    return made


def offsets(found: Any, part: TopicPartition) -> list[int]:
    return list(found.columns[part].offsets)


def test_what_came_early_is_kept_for_the_next_call(consumer: Consumer) -> None:
    """A consumer has read on long before the next batch is planned."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, n) for n in range(5)]]
    assert offsets(reader.read_columns({ONE: (0, 2)}), ONE) == [0, 1]
    assert offsets(reader.read_columns({ONE: (2, 5)}), ONE) == [2, 3, 4]
    assert consumer.assigned == {ONE: 0}


def test_a_range_that_does_not_go_on_where_the_last_ended_starts_over(consumer: Consumer) -> None:
    """A batch that runs again reads its records again."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, n) for n in range(5)], [message(ONE, n) for n in (1, 2)]]
    reader.read_columns({ONE: (0, 4)})
    assert offsets(reader.read_columns({ONE: (1, 3)}), ONE) == [1, 2]
    assert consumer.assigned == {ONE: 1}


def test_a_gap_behind_a_range_is_told_and_need_not_be_read(consumer: Consumer) -> None:
    """Compaction may leave gaps of millions of offsets: a batch can begin behind one."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, 0), message(ONE, 3_000_000), message(ONE, 3_000_001)]]
    found = reader.read_columns({ONE: (0, 5)})
    assert (offsets(found, ONE), found.reached) == ([0], {ONE: 5})
    assert found.following == {ONE: 3_000_000}
    again = reader.read_columns({ONE: (3_000_000, 3_000_001)})
    assert offsets(again, ONE) == [3_000_000]
    assert again.following == {ONE: 3_000_001}
    assert consumer.assigned == {ONE: 0}


def test_a_gap_at_the_end_of_the_log_is_told_too(consumer: Consumer) -> None:
    """There the markers of transactions stand, or records of aborted ones."""
    reader = RangeReader({}, timeout_s=1)
    ended = message(ONE, 9_000)
    ended.set_error(KafkaError(KafkaError._PARTITION_EOF))
    consumer.script = [[message(ONE, 0)], [ended]]
    found = reader.read_columns({ONE: (0, 5)})
    assert (offsets(found, ONE), found.following) == ([0], {ONE: 9_000})


def test_a_range_that_was_not_read_to_its_end_tells_no_gap(consumer: Consumer) -> None:
    """The records that come next are not all known."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, 0, 100)]]
    assert reader.read_columns({ONE: (0, 9)}, most_bytes=50).following == {}


def test_reading_ends_early_at_about_so_many_bytes(consumer: Consumer) -> None:
    """The rest is read by a later batch, from where this one got to."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, n)] for n in range(10)]
    found = reader.read_columns({ONE: (0, 10)}, most_bytes=25)
    assert (offsets(found, ONE), found.reached) == ([0, 1, 2], {ONE: 3})
    assert offsets(reader.read_columns({ONE: (3, 5)}), ONE) == [3, 4]


def test_every_range_gets_a_record_before_the_reading_ends(consumer: Consumer) -> None:
    """A task that joins two topics waits for the oldest record of both: it needs one of each."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, 0, 100)], [message(TWO, 4, 1)]]
    found = reader.read_columns({ONE: (0, 9), TWO: (4, 9)}, most_bytes=25)
    assert found.reached == {ONE: 1, TWO: 5}


def test_bytes_of_other_partitions_do_not_end_the_reading(consumer: Consumer) -> None:
    """What was read ahead for one stage must not keep another stage from reading at all."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, n, 100) for n in range(5)]]
    reader.read_columns({ONE: (0, 1)})
    consumer.script = [[message(ONE, n, 100) for n in (5, 6)], [message(TWO, 0)]]
    found = reader.read_columns({TWO: (0, 1)}, most_bytes=25)
    assert (offsets(found, TWO), found.reached) == ([0], {TWO: 1})


def test_bytes_of_later_batches_do_not_end_the_reading(consumer: Consumer) -> None:
    """A topic with a backlog must not keep another one of the same task waiting."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, n, 100) for n in range(9)], [message(TWO, 0)]]
    reader.read_columns({ONE: (0, 1)})
    found = reader.read_columns({ONE: (1, 1), TWO: (0, 1)}, most_bytes=25)
    assert (offsets(found, TWO), found.reached) == ([0], {ONE: 1, TWO: 1})


def test_a_partition_without_any_record_in_time_is_named_and_the_others_are_returned(
    consumer: Consumer,
) -> None:
    """Its broker is away; nobody waits for it."""
    reader = RangeReader({}, timeout_s=60)
    consumer.script = [[message(ONE, n) for n in range(3)]]
    found = reader.read_columns({ONE: (0, 3), TWO: (4, 9)}, stuck_s=0.01)
    assert (offsets(found, ONE), offsets(found, TWO)) == ([0, 1, 2], [])
    assert (found.reached, found.stuck) == ({ONE: 3, TWO: 4}, {TWO})
    assert TWO not in found.following


def test_records_that_come_after_all_are_read_without_asking_again(consumer: Consumer) -> None:
    """The consumer has been waiting for them all the time."""
    reader = RangeReader({}, timeout_s=60)
    assert reader.read_columns({TWO: (4, 6)}, stuck_s=0.01).stuck == {TWO}
    consumer.script = [[message(TWO, 4)], [message(TWO, 5)]]
    found = reader.read_columns({TWO: (4, 6)}, stuck_s=0.01)
    assert (offsets(found, TWO), found.stuck) == ([4, 5], frozenset())
    assert consumer.assigned == {TWO: 4}


def test_a_partition_that_is_only_slow_is_not_stuck(consumer: Consumer) -> None:
    """What has come is processed; the rest is read by a later batch."""
    reader = RangeReader({}, timeout_s=60)
    consumer.script = [[message(ONE, n) for n in range(3)]]
    found = reader.read_columns({ONE: (0, 9)}, stuck_s=0.01)
    assert (offsets(found, ONE), found.reached) == ([0, 1, 2], {ONE: 3})
    assert (found.stuck, dict(found.following)) == (frozenset(), {})


def test_a_log_that_ends_before_the_range_does_is_not_stuck(consumer: Consumer) -> None:
    """The last offsets are markers of transactions."""
    reader = RangeReader({}, timeout_s=60)
    ended = message(ONE, 5)
    ended.set_error(KafkaError(KafkaError._PARTITION_EOF))
    consumer.script = [[ended]]
    assert reader.read_columns({ONE: (3, 5)}, stuck_s=60.0).stuck == frozenset()


def test_records_of_others_do_not_hide_a_partition_that_is_stuck(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large backlog beside it would keep the reading going for ever."""
    numbers = itertools.count()
    monkeypatch.setattr(consumer, "consume", lambda *given: [message(ONE, next(numbers), 100)])
    reader = RangeReader({}, timeout_s=60)
    found = reader.read_columns({ONE: (0, 1 << 40), TWO: (0, 1)}, most_bytes=250, stuck_s=0.01)
    assert found.stuck == {TWO}
    assert found.reached[ONE] >= 3


def test_without_a_limit_a_partition_that_is_stuck_is_an_error_in_the_end(
    consumer: Consumer,
) -> None:
    """A restore needs every record."""
    reader = RangeReader({}, timeout_s=0.01)
    with pytest.raises(StreamsError, match="while reading two-0 up to 9") as raised:
        reader.read_columns({ONE: (0, 0), TWO: (4, 9)})
    assert raised.value.code == "read-timeout"


def test_a_time_that_is_over_between_two_looks_at_the_clock_is_an_error(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore must never return with a part of the records."""
    ticks = itertools.count(0, 0.01)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(ticks))
    for timeout_s in (0.005, 0.015, 0.025, 0.035, 0.045, 0.055):
        with pytest.raises(StreamsError, match="while reading two-0 up to 9"):
            RangeReader({}, timeout_s=timeout_s).read_columns({TWO: (4, 9)})


def test_a_reader_that_rests_asks_for_nothing_until_the_next_read(consumer: Consumer) -> None:
    """An idle consumer would ask the broker twenty times a second."""
    reader = RangeReader({}, timeout_s=1)
    reader.rest()
    consumer.script = [[message(ONE, 0), message(ONE, 1)], [message(TWO, 4)], [message(ONE, 2)]]
    reader.read_columns({ONE: (0, 1), TWO: (4, 5)})
    reader.rest()
    reader.rest()
    assert consumer.assigned == {}
    assert offsets(reader.read_columns({ONE: (1, 3)}), ONE) == [1, 2]
    assert consumer.assigned == {ONE: 2, TWO: 5}


def test_a_reader_is_closed_although_reading_ahead_has_failed(consumer: Consumer) -> None:
    """Its consumer would stay, and the error would hide the one that has ended the batch."""

    def failing(most: int) -> int:
        raise KafkaException(KafkaError(KafkaError._FATAL))

    reader = RangeReader({}, timeout_s=1)
    reader._ahead = ReadAhead(failing)
    reader.close()
    assert consumer.is_closed


def test_a_small_batch_takes_what_has_arrived_since_it_was_planned(consumer: Consumer) -> None:
    """Otherwise these records would wait for the next commit; other partitions end as planned."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [
        [message(ONE, 0), message(TWO, 0)],
        [message(ONE, n) for n in (1, 2)] + [message(TWO, 1)],
        [message(ONE, 3)],
    ]
    found = reader.read_columns({ONE: (0, 1), TWO: (0, 1)}, open_ended=[ONE])
    assert (offsets(found, ONE), offsets(found, TWO)) == ([0, 1, 2], [0])
    assert found.reached == {ONE: 3, TWO: 1}
    found = reader.read_columns({ONE: (3, 4), TWO: (1, 2)})
    assert (offsets(found, ONE), offsets(found, TWO)) == ([3], [1])
    assert consumer.assigned == {ONE: 0, TWO: 0}


def test_a_large_batch_ends_where_it_was_planned(consumer: Consumer) -> None:
    """It would only become larger: behind a backlog there is always more."""
    reader = RangeReader({}, timeout_s=1)
    consumer.script = [[message(ONE, 0, size=1 << 20)], [message(ONE, 1)]]
    found = reader.read_columns({ONE: (0, 1)}, open_ended=[ONE])
    assert found.reached == {ONE: 1}
    assert len(consumer.script) == 1
