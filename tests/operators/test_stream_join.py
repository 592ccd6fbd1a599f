"""Joins of two streams within a time window."""

from penstock import JoinWindows, StreamsBuilder, Topology, java
from penstock.testing import rows
from tests.operators.driver import Driver


def joined(method: str = "join", windows: JoinWindows | None = None) -> Topology:
    builder = StreamsBuilder()
    windows = windows or JoinWindows.of_time_difference_and_grace("10s", "5s")
    join = getattr(builder.stream("left"), method)
    join(builder.stream("right"), lambda one, other: f"{one}+{other}", windows).to("out")
    return builder.build()


def test_records_join_up_to_the_difference(driver: Driver) -> None:
    """Both bounds are inclusive; each pair is joined once, whoever comes first."""
    driver.start(joined())
    driver.pipe("left", "key | value | time\nann | L | 0:20")
    driver.pipe(
        "right",
        """
        key | value | time
        ann | a     | 0:10
        ann | b     | 0:30
        ann | c     | 0:30.001
        ann | d     | 0:09.999
        """,
    )
    assert driver.read("out") == rows("key | value\nann | L+a\nann | L+b")


def test_result_carries_the_later_time(driver: Driver) -> None:
    """KS-26: the highest timestamp of the two records."""
    driver.start(joined())
    driver.pipe("left", "key | value | time\nann | L | 0:20")
    driver.pipe("right", "key | value | time\nann | R | 0:12")
    assert driver.read("out") == rows("key | value | time\nann | L+R | 0:20")


def test_windows_may_be_asymmetric(driver: Driver) -> None:
    """before and after count from the left record."""
    windows = JoinWindows.of_time_difference_with_no_grace("10s").before("0s")
    driver.start(joined(windows=windows))
    driver.pipe("left", "key | value | time\nann | L | 0:20")
    driver.pipe("right", "key | value | time\nann | a | 0:19\nann | b | 0:25")
    assert driver.read("out") == rows("key | value\nann | L+b")


def test_left_join_waits_until_no_partner_can_come(driver: Driver) -> None:
    """A record without a partner is emitted once stream time passes its window and grace."""
    driver.start(joined("left_join"))
    driver.pipe("left", "key | value | time\nann | L | 0:20")
    driver.pipe("right", "key | value | time\nbob | R | 0:35")
    assert driver.read("out") == []
    driver.pipe("right", "key | value | time\nbob | R | 0:35.001")
    assert driver.read("out") == rows("key | value | time\nann | L+None | 0:20")


def test_left_join_with_the_older_windows_waits_for_nothing(driver: Driver) -> None:
    """``JoinWindows.of`` emits at once, as before Kafka 3.1; a partner that comes later follows."""
    driver.start(joined("left_join", java.JoinWindows.of("10s").grace("5s")))
    driver.pipe("left", "key | value | time\nann | L | 0:20")
    assert driver.read("out") == rows("key | value | time\nann | L+None | 0:20")
    driver.pipe("right", "key | value | time\nann | R | 0:25")
    assert driver.read("out") == rows("key | value | time\nann | L+R | 0:25")


def test_joiner_that_fails_keeps_back_only_what_was_not_emitted(driver: Driver) -> None:
    """As in Java, the last record before the failure stays, too: it comes at least once."""

    def join(one: str | None, other: str | None) -> str:
        if one == "bad":
            raise ValueError(one)
        return f"{one}+{other}"

    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference_with_no_grace("10s")
    builder.stream("left").left_join(builder.stream("right"), join, windows).to("out")
    driver.start(builder.build(), {"processing.exception.handler": "continue"})
    driver.pipe("left", "key | value | time\na | 1 | 0:01\nb | 2 | 0:02\nc | bad | 0:03")
    driver.pipe("left", "key | value | time\nx | 8 | 0:30")
    driver.pipe("left", "key | value | time\nx | 9 | 0:31")
    assert driver.read("out") == rows("key | value\na | 1+None\nb | 2+None\nb | 2+None")


def test_outer_join_waits_on_both_sides(driver: Driver) -> None:
    """Either side may be the one that is missing."""
    driver.start(joined("outer_join"))
    driver.pipe("right", "key | value | time\nann | R | 0:20")
    driver.pipe("left", "key | value | time\nbob | L | 1:00")
    assert driver.read("out") == rows("key | value\nann | None+R")


def test_null_values_are_dropped_and_null_keys_only_where_they_must(driver: Driver) -> None:
    """TOP-3: an inner join drops both; a left join keeps a left record without a key."""
    driver.start(joined())
    driver.pipe("left", "key | value\nnull | L\nann | null")
    assert driver.dropped() == {"null-key-or-value": 2}
    driver.start(joined("left_join"))
    driver.pipe("left", "key | value\nnull | L")
    assert driver.read("out") == rows("key | value\nnull | L+None")


def test_record_that_is_too_late_for_its_store_is_counted(driver: Driver) -> None:
    """It may still find partners, but no later record will find it."""
    driver.start(joined())
    driver.pipe("left", "key | value | time\nann | L | 10:00")
    driver.pipe("right", "key | value | time\nann | old | 9:55\nann | older | 0:10")
    driver.pipe("left", "key | value | time\nann | oldest | 0:05")
    assert driver.read("out") == rows("key | value\nann | L+old")
    assert driver.dropped() == {"expired-window": 2}
