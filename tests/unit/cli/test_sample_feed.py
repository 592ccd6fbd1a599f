"""Samples that a private broker gets while a program runs."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import StreamsBuilder
from penstock.cli.live.sample_feed import Sample, SampleFeed, samples_of
from penstock.cli.program import LoadedProgram
from penstock.errors import InvalidArgumentError, StreamsError

HERE = Path(__file__)


class Producer:
    """Keeps what is written, and tells when there is enough of it."""

    def __init__(self, enough: int = 1) -> None:
        self.written: list[tuple[str, bytes | None, bytes | None, int]] = []
        self.flushed = 0
        self.has_enough = threading.Event()
        self._enough = enough

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, *, timestamp: int
    ) -> None:
        self.written.append((topic, key, value, timestamp))
        if len(self.written) >= self._enough:
            self.has_enough.set()

    def poll(self, timeout: float, /) -> int:
        return 0

    def flush(self, timeout: float, /) -> int:
        self.flushed = len(self.written)
        return 0


def numbers() -> Iterator[Sample]:
    number = 0
    while True:
        yield Sample("in", None, b"%d" % number, number)
        number += 1


def program(samples: object) -> LoadedProgram:
    builder = StreamsBuilder()
    builder.stream("orders", key=str, value=int).to("out", key=str, value=int)
    return LoadedProgram(HERE, builder.build(), samples=lambda: samples)  # type: ignore[arg-type, return-value]


def test_first_samples_are_in_kafka_before_the_program_starts() -> None:
    """A screen without a number in it looks as if something were wrong."""
    producer = Producer()
    SampleFeed(producer).write_first(numbers(), 3)
    assert [value for _, _, value, _ in producer.written] == [b"0", b"1", b"2"]
    assert producer.flushed == 3


def test_times_of_the_first_samples_are_as_if_they_had_come_one_by_one() -> None:
    """Sixty records of one moment would fill no window."""
    producer = Producer()
    feed = SampleFeed(producer, per_second=10)
    feed.write_first(iter([Sample("in", None, b"a"), Sample("in", None, b"b")]), 2)
    (*_, first), (*_, second) = producer.written
    assert second - first == 100


def test_feed_goes_on_where_the_first_samples_ended_until_it_is_closed() -> None:
    producer = Producer(enough=5)
    feed = SampleFeed(producer, per_second=1000)
    feed.write_first(numbers(), 3)
    feed.resume()
    assert producer.has_enough.wait(10)
    feed.close()
    seen = [time_ms for *_, time_ms in producer.written]
    assert seen == list(range(len(seen)))
    assert producer.flushed == len(seen)


def test_nothing_is_written_during_a_pause() -> None:
    """Two runs are compared over exactly the same input."""
    producer = Producer()
    feed = SampleFeed(producer, per_second=1000)
    feed.resume(numbers())
    assert producer.has_enough.wait(10)
    feed.pause()
    seen = len(producer.written)
    assert producer.flushed == seen
    feed.close()
    assert len(producer.written) == seen


def test_samples_are_written_as_the_source_reads_them() -> None:
    made = samples_of(program([("orders", "o-1", 7), ("orders", None, 8, 1_000)]))
    assert list(made) == [
        Sample("orders", b"o-1", (7).to_bytes(8, "big")),
        Sample("orders", None, (8).to_bytes(8, "big"), 1_000),
    ]


def test_program_without_samples_has_none() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    assert list(samples_of(LoadedProgram(HERE, builder.build()))) == []


@pytest.mark.parametrize(
    ("record", "why"),
    [("orders", "is not a record"), (("orders", 1), "is not a"), (("orders", "k", "x"), "cannot")],
)
def test_what_is_no_record_is_named(record: object, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why) as raised:
        list(samples_of(program([record])))
    assert raised.value.code == "bad-sample"
    assert "yield (" in str(raised.value)


def test_an_error_of_the_generator_names_its_line() -> None:
    def broken() -> Iterator[object]:
        yield ("orders", "o-1", 7)
        raise KeyError("country")

    made = samples_of(program(broken()))
    assert next(made).key == b"o-1"
    with pytest.raises(StreamsError, match="KeyError") as raised:
        next(made)
    assert raised.value.code == "program-failed"
    assert f"{HERE.name}:" in str(raised.value)
