"""EX-23: orders with users, products and payments."""

from collections.abc import Iterator

import pytest

from examples.order_enrichment.app import Order, Payment, PricedOrder, User, build
from penstock.testing import TopologyTestDriver
from tests.examples.play import played


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    """The sample, played whole."""
    with played("order_enrichment", build()) as driver:
        yield driver


def test_orders_get_their_users_newest_row(driver: TopologyTestDriver) -> None:
    """An order of somebody unknown is left out, as an inner join does it."""
    found = driver.read_values("orders-with-users")
    assert [(each.order.order_id, each.user.country) for each in found] == [
        ("o-1", "SE"),
        ("o-2", "NO"),
        ("o-4", "SE"),
    ]


def test_orders_get_their_product_by_a_field_of_the_value(driver: TopologyTestDriver) -> None:
    """The key stays the user's: a global table is looked up, nothing is repartitioned."""
    assert driver.read_key_values("orders-with-products") == [
        ("u-1", PricedOrder("o-1", "kettle", 79.0)),
        ("u-2", PricedOrder("o-2", "lamp", 24.0)),
        ("u-3", PricedOrder("o-3", "lamp", 72.0)),
    ]


def test_payments_meet_orders_at_most_30_seconds_away(driver: TopologyTestDriver) -> None:
    """The order's id is the key of both sides; the payment of o-2 comes too late."""
    matched = driver.read_map("matched-payments")
    amounts = {key: event.payment.amount for key, event in matched.items()}
    assert amounts == {"o-1": 79.0, "o-4": 15.0}


def test_payment_before_its_order_matches_too() -> None:
    """Either side may come first."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("payments", ("o-9", Payment("o-9", 5.0), 1_000))
        driver.pipe("users", ("u-9", User("Cy", "FI"), 0))
        driver.pipe("orders", ("u-9", Order("o-9", "u-9", "p-1", 1), 31_000))
        driver.pipe("orders", ("u-9", Order("o-9", "u-9", "p-1", 2), 31_001))
        assert [event.order.quantity for event in driver.read_values("matched-payments")] == [1]
