"""Sliding windows: one for every set of records that are close enough together."""

from penstock import SlidingWindows, StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def counts(grace: str = "0s") -> Topology:
    builder = StreamsBuilder()
    windows = SlidingWindows.of_time_difference_and_grace("10s", grace)
    builder.stream("in").group_by_key().windowed_by(windows).count().to_stream().to("out")
    return builder.build()


def test_window_ends_at_a_record_and_another_begins_after_it(driver: Driver) -> None:
    """Both bounds are inclusive: a difference of exactly 10 s is still together."""
    driver.start(counts(grace="1m"))
    driver.pipe("in", "key | value | time\nann | x | 0:10\nann | x | 0:20")
    assert driver.read("out") == rows("""
        key | window        | value
        ann | 0:00-0:10     | 1
        ann | 0:10.001-0:20.001 | 1
        ann | 0:10-0:20     | 2
    """)


def test_window_stays_open_at_equality(driver: Driver) -> None:
    """XX-17: dropped if end < stream time - grace, so at equality the window is still open."""
    driver.start(counts(grace="5s"))
    driver.pipe(
        "in",
        """
        key | value | time
        bob | x     | 0:25
        ann | x     | 0:20   # its window ends at 0:20 = 0:25 - 5 s
        bob | x     | 0:25.001
        ann | x     | 0:20   # one millisecond too late
        """,
    )
    written = [row for row in driver.read("out") if row.cells["key"] == "ann"]
    assert written == rows("key | window | value\nann | 0:10-0:20 | 1")
    assert driver.dropped() == {"expired-window": 1}


def test_null_keys_and_values_are_dropped(driver: Driver) -> None:
    """Without a value there is nothing to fold, without a key nowhere to put it."""
    driver.start(counts())
    driver.pipe("in", "key | value | time\nnull | x | 0:10\nann | null | 0:10")
    assert driver.read("out") == []
    assert sum(driver.dropped().values()) == 2
