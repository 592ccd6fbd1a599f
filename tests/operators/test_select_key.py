"""New keys."""

import pytest

from penstock import Named, Repartitioned, StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_new_key_keeps_value_and_time(driver: Driver) -> None:
    """Only the key changes."""
    builder = StreamsBuilder()
    builder.stream("in").select_key(lambda key, value: value[0]).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | xyz | 0:05")
    assert driver.read("out") == rows("key | value | time\nx | xyz | 0:05")


@pytest.mark.parametrize("name", ["first", Named.as_("first"), Repartitioned(name="first")])
def test_name_may_come_in_three_forms(
    driver: Driver, name: str | Named | Repartitioned[str, str]
) -> None:
    """XX-03: a name, Named, or Repartitioned, which also sends the stream through a topic."""
    builder = StreamsBuilder()
    builder.stream("in").select_key(lambda key, value: value[0], name).to("out")
    topology = builder.build()
    is_repartitioned = "first-repartition" in str(topology.describe())
    assert is_repartitioned == isinstance(name, Repartitioned)
    driver.start(topology)
    driver.pipe("in", "key | value\nann | xyz")
    assert driver.read("out") == rows("key | value\nx | xyz")
