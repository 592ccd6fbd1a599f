"""The filter in front of every repartition topic that feeds an aggregation or a join."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_repartition_drops_null_keys_and_keeps_null_values(driver: Driver) -> None:
    """XX-18: records without a key would meet nobody; the topic is spared them."""
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by(lambda key, value: key, name="by-name")
    grouped.count().to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nnull | a\nann | null\nann | a")
    sent = driver.inner.read_values("topology-test-driver-by-name-repartition")
    assert sent == [None, "a"]
    assert driver.read("out") == rows("key | value\nann | 1")
    assert driver.dropped() == {"null-key": 1, "null-key-or-value": 1}


def test_left_join_keeps_null_keys(driver: Driver) -> None:
    """A record without a key has no partner, and that is an answer, too."""
    builder = StreamsBuilder()
    stream = builder.stream("in").select_key(lambda key, value: key)
    stream.left_join(builder.table("table"), lambda left, right: f"{left}+{right}").to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nnull | a")
    assert driver.read("out") == rows("key | value\nnull | a+None")
