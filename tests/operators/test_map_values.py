"""New values under the same keys."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_function_takes_the_value_or_key_and_value(driver: Driver) -> None:
    """What it takes is found out from its signature."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.map_values(lambda value: value.upper()).to("shouted")
    stream.map_values(lambda key, value: f"{key}:{value}").to("named")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a")
    assert driver.read("shouted") == rows("key | value\nann | A")
    assert driver.read("named") == rows("key | value\nann | ann:a")


def test_values_alone_need_no_repartition(driver: Driver) -> None:
    """Keys stay where they are."""
    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).group_by_key().count().to_stream().to("out")
    topology = builder.build()
    assert "repartition" not in str(topology.describe())
    driver.start(topology)
    driver.pipe("in", "key | value\nann | a\nann | a")
    assert driver.read("out") == rows("key | value\nann | 1\nann | 2")
