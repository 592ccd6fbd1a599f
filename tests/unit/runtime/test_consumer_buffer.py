"""Messages of a consumer become columns, cut at the offsets that a batch asks for."""

from typing import Any

from confluent_kafka import Message

from penstock.kernel.raw_columns import columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.runtime.spark.worker.consumer_buffer import ReceivedColumns, runs_of


def message(
    at: int, where: tuple[str, int] = ("in", 0), noted: Any = None, value: bytes | None = None
) -> Message:
    return Message(
        topic=where[0], partition=where[1], offset=at, timestamp=(1, at * 10), key=b"k%d" % at,
        value=value, headers=noted,
    )  # fmt: skip


def received(*messages: Message) -> ReceivedColumns:
    columns = ReceivedColumns("in", 0)
    columns.add(list(messages))
    return columns


def test_take_leaves_later_records_for_the_next_batch() -> None:
    """The end of a range is an offset, and offsets have gaps."""
    columns = received(*map(message, (3, 4, 7, 9)))
    assert list(columns.take(8)) == [
        ("in", 0, at, at * 10, b"k%d" % at, None, ()) for at in (3, 4, 7)
    ]
    assert columns.last_offset == 9
    assert list(columns.take(10).offsets) == [9]
    assert columns.last_offset == -1


def test_the_size_of_a_range_is_that_of_its_values() -> None:
    """A batch is limited by what it takes; records behind its end belong to the next one."""
    values = [b"a", None, b"bbb", b"ccccc"]
    columns = received(*[message(at * 2, value=value) for at, value in enumerate(values)])
    assert [columns.bytes_before(end) for end in (0, 1, 4, 5, 7)] == [0, 1, 1, 4, 9]


def test_headers_are_kept_where_a_record_has_some() -> None:
    """A column of headers exists only for records that have any."""
    columns = received(message(0), message(1, noted=[("a", b"1")]))
    assert columns.take(2).headers == [(), (("a", b"1"),)]
    assert received(message(0)).take(2).headers is None


def test_runs_end_where_topic_or_partition_changes() -> None:
    """Partition 1 of one topic is not partition 1 of another."""
    parts = [("a", 0), ("a", 0), ("a", 1), ("b", 1), ("a", 1)]
    messages = [message(at, part) for at, part in enumerate(parts)]
    assert [(part, [m.offset() for m in run]) for part, run in runs_of(messages)] == [
        (("a", 0), [0, 1]), (("a", 1), [2]), (("b", 1), [3]), (("a", 1), [4]),
    ]  # fmt: skip


def test_columns_give_back_the_records_they_were_made_of() -> None:
    """Whoever works record by record sees no difference."""
    records = [
        RawRecord("in", 2, 5, 50, b"k", None, ()),
        RawRecord("in", 2, 6, 40, None, b"v", (("h", None),)),
    ]
    assert list(columns_of("in", 2, records)) == records
    assert len(columns_of("in", 2, [])) == 0
