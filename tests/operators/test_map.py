"""New keys and values, record by record."""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_map_replaces_key_and_value_and_keeps_the_time(driver: Driver) -> None:
    """KS-26: results of stateless operators carry the time of their record."""
    builder = StreamsBuilder()
    builder.stream("in").map(lambda key, value: (value, key)).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:05\nnull | b | 0:01")
    assert driver.read("out") == rows("key | value | time\na | ann | 0:05\nb | null | 0:01")


def test_map_repartitions_only_if_equal_keys_must_meet(driver: Driver) -> None:
    """TOP-5: the key may have changed, which matters to a grouping and not to a sink."""
    builder = StreamsBuilder()
    mapped = builder.stream("in").map(lambda key, value: (value, key))
    mapped.to("out")
    assert "repartition" not in str(builder.build().describe())
    mapped.group_by_key().count("counts")
    assert "counts-repartition" in str(builder.build().describe())
    driver.start(builder.build())
