"""EX-19, EX-20, EX-21: order counts, revenue, windows and sessions."""

from collections.abc import Iterator

import pytest

from examples.order_statistics.app import build
from penstock.testing import TopologyTestDriver
from tests.examples.play import played


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    """The sample, played whole."""
    with played("order_statistics", build()) as driver:
        yield driver


def test_orders_and_revenue_add_up_per_user(driver: TopologyTestDriver) -> None:
    """The stores answer by user."""
    assert driver.get_key_value_store("order-count-store").get("user-123") == 4
    assert driver.get_key_value_store("revenue-store").get("user-123") == 162.5
    assert driver.read_map("revenue") == {"user-123": 162.5, "user-456": 50.0}


def test_windows_of_five_minutes_are_counted_apart(driver: TopologyTestDriver) -> None:
    """Each window has its own count."""
    assert driver.read_map("order-counts-per-window") == {
        "user-123@10:00": 2,
        "user-123@10:20": 1,
        "user-123@11:15": 1,
        "user-456@10:00": 1,
        "user-456@10:20": 1,
        "user-456@11:15": 1,
    }


def test_half_an_hour_without_an_order_ends_a_session(driver: TopologyTestDriver) -> None:
    """A session that grows is deleted and written anew: its last record per key counts."""
    sessions = driver.get_session_store("user-session-counts")
    found = [(key.window.start_time.hour, count) for key, count in sessions.fetch("user-123")]
    assert found == [(10, 3), (11, 1)]
    assert driver.read_map("orders-per-session") == {
        "user-123@10:01": 3,
        "user-456@10:02": 2,
        "user-123@11:15": 1,
        "user-456@11:16": 1,
    }
