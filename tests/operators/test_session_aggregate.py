"""Sessions: bursts of activity that grow, and grow together."""

import pytest

from penstock import EmitStrategy, SessionWindows, StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def counts(grace: str = "1h") -> Topology:
    builder = StreamsBuilder()
    windows = SessionWindows.of_inactivity_gap_and_grace("10s", grace)
    builder.stream("in").group_by_key().windowed_by(windows).count().to_stream().to("out")
    return builder.build()


def test_record_within_the_gap_extends_the_session(driver: Driver) -> None:
    """WT-05: the old session is deleted first, since its key, the window, has changed."""
    driver.start(counts())
    driver.pipe("in", "key | value | time\nann | x | 0:10\nann | x | 0:20\nann | x | 0:30.001")
    assert driver.read("out") == rows("""
        key | window            | value
        ann | 0:10-0:10         | 1
        ann | 0:10-0:10         | null
        ann | 0:10-0:20         | 2
        ann | 0:30.001-0:30.001 | 1      # one millisecond more than the gap
    """)


def test_record_between_two_sessions_merges_them(driver: Driver) -> None:
    """TOP-4: both sessions get a tombstone before the merged one appears."""
    driver.start(counts())
    driver.pipe("in", "key | value | time\nann | x | 0:10\nann | x | 0:30\nann | x | 0:20")
    assert driver.read("out")[2:] == rows("""
        key | window    | value | time
        ann | 0:10-0:10 | null  | 0:10   # the time of a session is its end
        ann | 0:30-0:30 | null  | 0:30
        ann | 0:10-0:30 | 3     | 0:30
    """)


def test_session_stays_open_at_equality(driver: Driver) -> None:
    """XX-17: dropped if end < stream time - grace - gap."""
    driver.start(counts(grace="5s"))
    driver.pipe(
        "in",
        """
        key | value | time
        bob | x     | 0:35
        ann | x     | 0:20       # 0:20 = 0:35 - 5 s - 10 s
        cid | x     | 0:19.999   # one millisecond too late
        """,
    )
    assert driver.read("out") == rows("key | window\nbob | 0:35\nann | 0:20")
    assert driver.dropped() == {"expired-window": 1}


def test_null_keys_are_dropped(driver: Driver) -> None:
    """A session belongs to a key."""
    driver.start(counts())
    driver.pipe("in", "key | value | time\nnull | x | 0:10")
    assert driver.read("out") == []
    assert driver.dropped() == {"null-key": 1}


def final_counts(strategy: EmitStrategy) -> Topology:
    builder = StreamsBuilder()
    windows = SessionWindows.of_inactivity_gap_and_grace("10s", "0s")
    grouped = builder.stream("in").group_by_key().windowed_by(windows)
    grouped.emit_strategy(strategy).count().to_stream().to("out")
    return builder.build()


QUIET_PERIOD = """
    key | value | time
    ann | x     | 0:10
    bob | x     | 0:11
    cid | x     | 60:00   # the store forgets ann and bob before their sessions are emitted
"""


def test_session_lost_after_a_quiet_period_is_counted(driver: Driver) -> None:
    """As Kafka Streams does it: the new record enters the store before closed ones leave."""
    driver.start(final_counts(EmitStrategy.AFTER_EXPIRY))
    driver.pipe("in", QUIET_PERIOD)
    assert driver.read("out") == []
    assert driver.dropped() == {"expired-before-emission": 2}


@pytest.mark.parametrize("strategy", ["on_window_close"])
def test_session_is_emitted_before_a_jump_of_time_makes_it_expire(
    driver: Driver, strategy: str
) -> None:
    """No result is lost because the next record comes late."""
    driver.start(final_counts(EmitStrategy(strategy)))
    driver.pipe("in", QUIET_PERIOD)
    assert driver.read("out") == rows("key | window | value\nann | 0:10 | 1\nbob | 0:11 | 1")
    assert driver.dropped() == {}


def test_session_that_is_emitted_in_time_is_not_counted(driver: Driver) -> None:
    """A short pause loses nothing."""
    driver.start(final_counts(EmitStrategy.AFTER_EXPIRY))
    driver.pipe("in", "key | value | time\nann | x | 0:10\nbob | x | 0:50")
    assert driver.read("out") == rows("key | window | value\nann | 0:10 | 1")
    assert driver.dropped() == {}


def test_old_value_of_one_timestamp_is_told_if_wanted(driver: Driver) -> None:
    """A filter then deletes what no longer passes. Kafka Streams tells it only from a cache."""
    builder = StreamsBuilder()
    windows = SessionWindows.of_inactivity_gap_and_grace("10s", "0s")
    grouped = builder.stream("in").group_by_key().windowed_by(windows)
    for strategy in (EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.WITH_OLD_VALUE):
        few = grouped.emit_strategy(strategy).count().filter(lambda key, n: n < 2)
        few.to_stream().to(strategy.value)
    driver.start(builder.build(), {"statestore.cache.max.bytes": 0})
    driver.pipe("in", "key | value | time\nann | x | 0:10\nann | x | 0:10")
    assert driver.read("on_window_update") == rows("key | window | value\nann | 0:10 | 1")
    expected = rows("key | window | value\nann | 0:10 | 1\nann | 0:10 | null")
    assert driver.read("with_old_value") == expected
