"""Joins of two tables on their keys."""

from penstock import StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def joined(method: str) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    join = getattr(left, method)
    join(right, lambda one, other: f"{one}+{other}").to_stream().to("out")
    return builder.build()


def test_inner_join_retracts_when_a_side_goes(driver: Driver) -> None:
    """TOP-4: the row of the join is deleted with either of its sides."""
    driver.start(joined("join"))
    driver.pipe("left", "key | value\nann | L")
    assert driver.read("out") == []
    driver.pipe("right", "key | value\nann | R\nann | null")
    assert driver.read("out") == rows("key | value\nann | L+R\nann | null")


def test_left_join_keeps_left_rows(driver: Driver) -> None:
    """A right row without a left one gives nothing."""
    driver.start(joined("left_join"))
    driver.pipe("right", "key | value\nann | R\nbob | R")
    driver.pipe("left", "key | value\nann | L\ncid | L")
    driver.pipe("right", "key | value\nann | null")
    assert driver.read("out") == rows("""
        key | value
        ann | L+R
        cid | L+None
        ann | L+None
    """)


def test_outer_join_keeps_rows_of_both(driver: Driver) -> None:
    """Only when both sides are gone the row is."""
    driver.start(joined("outer_join"))
    driver.pipe("left", "key | value\nann | L")
    driver.pipe("right", "key | value\nann | R\nbob | R")
    driver.pipe("left", "key | value\nann | null")
    driver.pipe("right", "key | value\nann | null")
    assert driver.read("out") == rows("""
        key | value
        ann | L+None
        ann | L+R
        bob | None+R
        ann | None+R
        ann | null
    """)


def test_result_carries_the_later_time_of_both_sides(driver: Driver) -> None:
    """KS-26: the highest timestamp of the rows that were joined."""
    driver.start(joined("join"))
    driver.pipe("left", "key | value | time\nann | L | 0:09")
    driver.pipe("right", "key | value | time\nann | R | 0:05\nann | S | 0:11")
    assert driver.read("out") == rows("key | value | time\nann | L+R | 0:09\nann | L+S | 0:11")


def test_null_keys_are_dropped(driver: Driver) -> None:
    """A table has no row without a key."""
    driver.start(joined("outer_join"))
    driver.pipe("left", "key | value\nnull | L")
    assert driver.read("out") == []
    assert driver.dropped() == {"null-key": 1}
