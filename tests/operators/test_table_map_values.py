"""New values of rows."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_deleted_row_stays_deleted(driver: Driver) -> None:
    """The function never sees None."""
    builder = StreamsBuilder()
    builder.table("in").map_values(str.upper).to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | null")
    assert driver.read("out") == rows("key | value\nann | A\nann | null")
