"""Holding changes back."""

from penstock import BufferConfig, StreamsBuilder, Suppressed, TimeWindows, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def final_counts() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_and_grace("1m", "10s")
    counts = builder.stream("in").group_by_key().windowed_by(windows).count()
    final = counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
    final.to_stream().to("out")
    return builder.build()


def test_final_result_comes_when_the_window_closes(driver: Driver) -> None:
    """At end plus grace, not a millisecond before; and only because a record moves stream time."""
    driver.start(final_counts())
    driver.pipe("in", "key | value | time\nann | x | 0:10\nann | x | 0:20\nbob | x | 1:09.999")
    driver.advance("1d")
    assert driver.read("out") == []
    driver.pipe("in", "key | value | time\nbob | x | 1:10")
    assert driver.read("out") == rows("key | window | value | time\nann | 0:00 | 2 | 0:20")


def test_time_limit_lets_only_the_last_change_out(driver: Driver) -> None:
    """The wait begins with the first change of a key and is measured in stream time."""
    builder = StreamsBuilder()
    limit = Suppressed.until_time_limit("10s", BufferConfig.unbounded())
    builder.table("in").suppress(limit).to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:00\nann | b | 0:05\nbob | x | 0:10")
    assert driver.read("out") == rows("key | value | time\nann | b | 0:05")


def test_full_buffer_emits_early_if_it_may(driver: Driver) -> None:
    """The oldest change goes first."""
    builder = StreamsBuilder()
    buffer = BufferConfig.max_records(1).emit_early_when_full()
    builder.table("in").suppress(Suppressed.until_time_limit("1h", buffer)).to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:00\nbob | b | 0:01")
    assert driver.read("out") == rows("key | value\nann | a")
