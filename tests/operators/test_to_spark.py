"""Leaving for Spark. What Spark makes of it is tested where there is a Spark."""

from penstock import Serdes, StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_records_are_collected_instead_of_written_to_a_topic(driver: Driver) -> None:
    """Without Spark they wait where it would fetch them, and the function is not called."""
    builder = StreamsBuilder()
    orders = builder.stream("in", value=Serdes.json())
    orders.to_spark(lambda frame, batch_id: 1 // 0, name="frames")
    driver.start(builder.build())
    driver.pipe("in", 'key | value | time\nann | {"amount": 5} | 0:05')
    (row,) = driver.read("spark:frames")
    assert row == rows("key | time\nann | 0:05")[0]
    assert "5" in str(row.cells["value"])
