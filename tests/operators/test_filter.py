"""Filters of streams."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_filter_keeps_and_filter_not_drops(driver: Driver) -> None:
    """What passes is unchanged: key, value and time."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.filter(lambda key, value: value != "b").to("kept")
    stream.filter_not(lambda key, value: value != "b").to("others")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:01\nnull | b | 0:02")
    assert driver.read("kept") == rows("key | value | time\nann | a | 0:01")
    assert driver.read("others") == rows("key | value | time\nnull | b | 0:02")


def test_predicate_sees_null_keys_and_values(driver: Driver) -> None:
    """TOP-3: a stream drops nothing by itself."""
    builder = StreamsBuilder()
    builder.stream("in").filter(lambda key, value: key is None or value is None).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nnull | a\nann | null\nann | a")
    assert driver.read("out") == rows("key | value\nnull | a\nann | null")
