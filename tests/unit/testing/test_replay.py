"""Recorded input, run again: plain output, the clock of the records, topics that are read."""

from dataclasses import dataclass

from penstock import (
    Processor,
    PunctuationType,
    Record,
    StreamsBuilder,
    TimeWindows,
    Topology,
    WindowedSerdes,
)
from penstock.testing.replay import replay


@dataclass(frozen=True)
class Order:
    amount: int
    tags: frozenset[str] = frozenset()


def orders() -> Topology:
    builder = StreamsBuilder()
    builder.stream("orders", value=Order).filter(lambda _, order: order.amount > 1).to("large")
    return builder.build()


def test_output_is_plain_values() -> None:
    """A class becomes an object, a set a sorted list, and None stays None."""
    records = [
        ("orders", b"a", b'{"amount": 5, "tags": ["y", "x"]}', 10, (), None),
        ("orders", b"b", b'{"amount": 1}', 11, (), None),
    ]
    assert replay(orders(), records) == [("large", "a", {"amount": 5, "tags": ["x", "y"]}, 10)]


def test_windowed_keys_have_start_and_end() -> None:
    """They can be written into a test."""
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .group_by_key()
        .windowed_by(TimeWindows.of_size_with_no_grace("1s"))
        .count("counts")
        .to_stream()
        .to("out", key=WindowedSerdes.time_windowed("string", "1s"))
    )
    assert replay(builder.build(), [("in", b"a", b"x", 1_500, (), None)]) == [
        ("out", {"key": "a", "start": 1000, "end": 2000}, 1, 1_500)
    ]


def test_topic_that_is_not_read_is_left_out() -> None:
    """A new version may read fewer topics than the old one."""
    assert replay(orders(), [("others", b"a", b"{}", 10, (), None)]) == []


class Tick(Processor[str, str, str, str]):
    def init(self, context):  # type: ignore[no-untyped-def]
        context.schedule("1m", PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        pass

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", str(now), now))


def test_wall_clock_follows_the_records() -> None:
    """A punctuation runs when the records are a minute apart."""
    builder = StreamsBuilder()
    builder.stream("in").process(Tick).to("ticks")
    records = [("in", b"a", b"x", time, (), None) for time in (1_000, 30_000, 61_000, 62_000)]
    assert replay(builder.build(), records) == [("ticks", "tick", "61000", 61_000)]


def test_partitions_have_tasks_of_their_own() -> None:
    """The same key in two partitions is counted twice, as it would be in Kafka."""
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts").to_stream().to("out")
    records = [("in", b"a", b"x", 1, (), 0), ("in", b"a", b"x", 2, (), 1)]
    found = replay(builder.build(), records, partitions={"in": 2, "unknown": 3})
    assert [record.value for record in found] == [1, 1]
