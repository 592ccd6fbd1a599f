"""Looking a stream up in a table that every task has whole."""

from penstock import GlobalKTable, StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def joined(method: str = "join") -> Topology:
    builder = StreamsBuilder()
    prices = builder.global_table("prices", materialized="prices")
    assert isinstance(prices, GlobalKTable)  # XX-04: not a KTable.
    join = getattr(builder.stream("orders"), method)
    join(prices, lambda order, price: f"{order}@{price}", key=lambda key, value: value).to("out")
    return builder.build()


def test_key_to_look_up_may_be_any(driver: Driver) -> None:
    """No repartition: every task has every row. The result keeps the stream's key and time."""
    driver.start(joined())
    driver.pipe("prices", "key | value | time\ntea | 3 | 0:09")
    driver.pipe("orders", "key | value | time\nann | tea | 0:01\nann | rum | 0:02")
    assert driver.read("out") == rows("key | value | time\nann | tea@3 | 0:01")
    assert "repartition" not in str(joined().describe())


def test_left_join_keeps_orders_without_a_price(driver: Driver) -> None:
    """A key of None to look up finds nothing, which is an answer for a left join."""
    driver.start(joined("left_join"))
    driver.pipe("orders", "key | value\nann | rum")
    assert driver.read("out") == rows("key | value\nann | rum@None")


def test_global_table_has_no_changelog(driver: Driver) -> None:
    """XX-10: its topic is its changelog."""
    driver.start(joined())
    driver.pipe("prices", "key | value\ntea | 3")
    assert driver.inner.produced_topic_names() == set()
