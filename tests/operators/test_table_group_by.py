"""Rows under new keys, on their way to an aggregation."""

from penstock import StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def letters_by_group() -> Topology:
    """Values are group and letter: 'x:a' is letter a in group x."""
    builder = StreamsBuilder()
    grouped = builder.table("in").group_by(lambda key, value: tuple(value.split(":")))
    letters = grouped.aggregate(
        str, lambda key, value, sofar: sofar + value, lambda key, value, sofar: sofar + f"-{value}"
    )
    letters.to_stream().to("out")
    return builder.build()


def test_old_row_is_subtracted_before_the_new_one_is_added(driver: Driver) -> None:
    """TOP-4: when the group stays the same it is one change, subtracted first, emitted once."""
    driver.start(letters_by_group())
    driver.pipe("in", "key | value\nann | x:a\nann | x:b")
    assert driver.read("out") == rows("key | value\nx | a\nx | a-ab")


def test_row_that_moves_leaves_its_old_group_first(driver: Driver) -> None:
    """The old group hears of it before the new one."""
    driver.start(letters_by_group())
    driver.pipe("in", "key | value\nann | x:a\nann | y:a")
    assert driver.read("out") == rows("key | value\nx | a\nx | a-a\ny | a")


def test_deleted_row_is_subtracted(driver: Driver) -> None:
    """A tombstone of the table takes the row out of its group."""
    driver.start(letters_by_group())
    driver.pipe("in", "key | value\nann | x:a\nann | null\nbob | null")
    assert driver.read("out") == rows("key | value\nx | a\nx | a-a")
