"""Tumbling and hopping windows: which records count where, and until when.

Exercises ``sink_columns``.
"""

import pytest

from penstock import EmitStrategy, StreamsBuilder, TimeWindows, Topology, UnlimitedWindows, java
from penstock.testing import rows
from tests.operators.driver import Driver


def count_per_minute(grace_s: int = 0) -> Topology:
    return counts(TimeWindows.of_size("1m").grace(f"{grace_s}s"))


def counts(windows: TimeWindows | UnlimitedWindows) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("clicks").group_by_key().windowed_by(windows)
    grouped.count().to_stream().to("counts")
    return builder.build()


def test_late_record_within_grace_updates_its_old_window(driver: Driver) -> None:
    """Grace keeps a window open for late records, exactly as long as it says."""
    driver.start(count_per_minute(grace_s=30))
    driver.pipe(
        "clicks",
        """
        key | value | time
        ann | /home | 0:10
        bob | /home | 1:05
        ann | /buy  | 0:50   # 15 s late: inside grace
        bob | /home | 1:30   # closes the window that ended at 1:00
        ann | /buy  | 0:55   # dropped
        """,
    )
    assert driver.read("counts") == rows("""
        key | window | value
        ann | 0:00   | 1
        bob | 1:00   | 1
        ann | 0:00   | 2
        bob | 1:00   | 2
    """)
    assert driver.dropped() == {"expired-window": 1}


def test_window_closes_when_stream_time_reaches_its_end_plus_grace(driver: Driver) -> None:
    """XX-17: dropped if end <= stream time - grace, so at equality the window is closed."""
    driver.start(count_per_minute(grace_s=30))
    driver.pipe(
        "clicks",
        """
        key | value | time
        bob | x     | 1:29.999
        ann | x     | 0:59      # still open
        bob | x     | 1:30
        ann | x     | 0:59      # closed
        """,
    )
    written = [row for row in driver.read("counts") if row.cells["key"] == "ann"]
    assert written == rows("key | window | value\nann | 0:00 | 1")


def test_tumbling_windows_are_aligned_to_the_epoch(driver: Driver) -> None:
    """XX-12: neither the first record nor the wall clock moves them; the end is exclusive."""
    driver.start(count_per_minute())
    driver.pipe("clicks", "key | value | time\nann | x | 0:59.999\nann | x | 1:00\nann | x | 1:01")
    assert driver.read("counts") == rows("""
        key | window    | value | time
        ann | 0:00-1:00 | 1     | 0:59.999
        ann | 1:00-2:00 | 1     | 1:00
        ann | 1:00-2:00 | 2     | 1:01
    """)


def test_hopping_windows_overlap(driver: Driver) -> None:
    """A record counts in every window that contains it, the earliest first."""
    driver.start(counts(TimeWindows.of_size("1m").advance_by("20s").grace("1m")))
    driver.pipe("clicks", "key | value | time\nann | x | 0:50")
    assert driver.read("counts") == rows("""
        key | window    | value
        ann | 0:00-1:00 | 1
        ann | 0:20-1:20 | 1
        ann | 0:40-1:40 | 1
    """)


def test_result_carries_the_highest_time_of_its_window(driver: Driver) -> None:
    """KS-26: a late record updates the count, but not the time of the result."""
    driver.start(count_per_minute(grace_s=30))
    driver.pipe("clicks", "key | value | time\nann | x | 0:40\nann | x | 0:10")
    assert driver.read("counts") == rows("""
        key | value | time
        ann | 1     | 0:40
        ann | 2     | 0:40
    """)


def test_null_key_is_dropped_and_null_value_counts(driver: Driver) -> None:
    """KS-05: unlike an aggregation without windows, this one takes records without a value."""
    driver.start(count_per_minute())
    driver.pipe("clicks", "key | value | time\nnull | x | 0:10\nann | null | 0:10")
    assert driver.read("counts") == rows("key | value\nann | 1")
    assert driver.dropped() == {"null-key": 1}


def test_stream_time_belongs_to_the_operator(driver: Driver) -> None:
    """XX-17: what a filter keeps from the operator does not close its windows."""
    builder = StreamsBuilder()
    clicks = builder.stream("clicks").filter(lambda key, value: value != "ping")
    windowed = clicks.group_by_key().windowed_by(TimeWindows.of_size("1m"))
    windowed.count().to_stream().to("counts")
    driver.start(builder.build())
    driver.pipe("clicks", "key | value | time\nbob | ping | 9:00\nann | x | 0:10")
    assert driver.read("counts") == rows("key | window | value\nann | 0:00 | 1")


def test_final_results_come_once_when_the_window_closes(driver: Driver) -> None:
    """EmitStrategy.ON_WINDOW_CLOSE: nothing before, one result per window after."""
    builder = StreamsBuilder()
    grouped = builder.stream("clicks").group_by_key()
    windowed = grouped.windowed_by(TimeWindows.of_size("1m").grace("10s"))
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()
    final.to_stream().to("counts")
    driver.start(builder.build())
    driver.pipe("clicks", "key | value | time\nann | x | 0:10\nann | x | 0:20\nann | x | 1:09")
    assert driver.read("counts") == []
    driver.pipe("clicks", "key | value | time\nbob | x | 1:10")
    assert driver.read("counts") == rows("key | window | value | time\nann | 0:00 | 2 | 0:20")


def test_unlimited_window_never_closes(driver: Driver) -> None:
    """One window from its start to the end of time; what is older belongs to none."""
    driver.start(counts(UnlimitedWindows.of().start_on(60_000)))
    driver.pipe("clicks", "key | value | time\nann | x | 0:59\nann | x | 99:00\nann | x | 1:00")
    assert driver.read("counts") == rows("""
        key | window | value
        ann | 1:00   | 1
        ann | 1:00   | 2
    """)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (java.TimeWindows.of("1m").grace("5s"), TimeWindows.of_size_and_grace("1m", "5s")),
        (java.TimeWindows.of("1m"), TimeWindows.of_size_and_grace("1m", "23h 59m")),
    ],
)
def test_older_spellings_stand_for_the_same(older: TimeWindows, newer: TimeWindows) -> None:
    """XX-15: of().grace() is gone from Java; here it stays, with its grace of a day in all."""
    assert older == newer


@pytest.mark.parametrize("strategy", ["on_window_close", "after_expiry"])
def test_final_results_of_either_strategy_are_the_same(driver: Driver, strategy: str) -> None:
    """AFTER_EXPIRY differs from the others only in what a store without a cache forgets."""
    builder = StreamsBuilder()
    grouped = builder.stream("clicks").group_by_key()
    windowed = grouped.windowed_by(TimeWindows.of_size("1m").grace("10s"))
    windowed.emit_strategy(strategy).count().to_stream().to("counts")
    driver.start(builder.build())
    driver.pipe("clicks", "key | value | time\nann | x | 0:10\nann | x | 0:20\nbob | x | 1:12")
    driver.pipe("clicks", "key | value | time\nann | x | 0:30\nann | x | 2:15")
    assert driver.read("counts") == rows("""
        key | window | value
        ann | 0:00   | 2
        bob | 1:00   | 1
    """)


@pytest.mark.parametrize(("strategy", "emitted"), [("on_window_close", 2), ("after_expiry", 0)])
def test_windows_that_a_jump_of_time_closes_are_emitted(
    driver: Driver, strategy: str, emitted: int
) -> None:
    """The store forgets them as soon as it has the new record; only Kafka Streams' order loses."""
    builder = StreamsBuilder()
    grouped = builder.stream("clicks").group_by_key()
    windowed = grouped.windowed_by(TimeWindows.of_size_with_no_grace("1m"))
    windowed.emit_strategy(strategy).count().to_stream().to("counts")
    driver.start(builder.build(), {"statestore.cache.max.bytes": 0})
    driver.pipe("clicks", "key | value | time\nann | x | 0:10\nbob | x | 0:20\ncid | x | 90:00")
    assert len(driver.read("counts")) == emitted
