"""Nodes that hand records on: merge, and the ends of branches."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_merge_gives_the_records_of_both(driver: Driver) -> None:
    """Within each stream the order stays."""
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).to("out")
    driver.start(builder.build())
    driver.pipe("left", "key | value\na | 1\na | 2")
    driver.pipe("right", "key | value\na | 3")
    assert driver.read("out") == rows("key | value\na | 1\na | 2\na | 3")
