"""Aggregations of tables: every change is subtracted and added."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_count_goes_down_when_rows_go(driver: Driver) -> None:
    """A group without rows keeps its count of 0: nothing deletes it."""
    builder = StreamsBuilder()
    table = builder.table("in")
    table.group_by(lambda key, value: (value, key)).count().to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | x\nbob | x\nann | null\nbob | null")
    assert driver.read("out") == rows("key | value\nx | 1\nx | 2\nx | 1\nx | 0")


def test_reduce_adds_and_subtracts(driver: Driver) -> None:
    """The first value starts the aggregate; the adder sees no None."""
    builder = StreamsBuilder()
    table = builder.table("in", key=str, value=int)
    grouped = table.group_by(lambda key, value: ("all", value), key=str, value=int)
    grouped.reduce(
        lambda total, value: total + value, lambda total, value: total - value
    ).to_stream().to("out", value=int)
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | 3\nbob | 4\nann | 5")
    assert driver.read("out") == rows("key | value\nall | 3\nall | 7\nall | 9")
