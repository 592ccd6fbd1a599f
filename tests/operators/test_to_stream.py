"""A table's changes as a stream."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_deleted_rows_are_null_values(driver: Driver) -> None:
    """Every change is a record of its own."""
    builder = StreamsBuilder()
    builder.table("in").to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | null")
    assert driver.read("out") == rows("key | value\nann | a\nann | null")


def test_key_mapper_gives_new_keys(driver: Driver) -> None:
    """Windowed keys become plain ones this way."""
    builder = StreamsBuilder()
    builder.table("in").to_stream(lambda key, value: f"{key}/{value}").to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a")
    assert driver.read("out") == rows("key | value\nann/a | a")
