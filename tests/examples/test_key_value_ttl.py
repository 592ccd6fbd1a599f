"""Rows of a key-value store that expire."""

from examples.key_value_ttl.app import build
from penstock import TopologyTestDriver
from tests.examples.play import played

MINUTE = 60_000


def test_order_that_comes_again_within_ten_minutes_is_dropped() -> None:
    """After ten minutes its id is forgotten, and may be used again."""
    with played("key_value_ttl", build()) as driver:
        assert driver.read_key_values("new-orders") == [
            ("o-1", "two lamps"),
            ("o-2", "a kettle"),
            ("o-1", "two lamps, a month later"),
        ]
        assert [key for key, _ in driver.get_key_value_store("seen").all()] == ["o-1"]


def test_store_has_as_many_rows_as_there_are_orders_in_ten_minutes() -> None:
    """However many there have ever been."""
    with TopologyTestDriver(build()) as driver:
        for minute in range(100):
            driver.pipe("orders", (f"o-{minute}", "a cup", minute * MINUTE))
        assert len(list(driver.get_key_value_store("seen").all())) == 10
