"""EX-26: orders behind an outbox, checked, priced and routed."""

from examples.order_pipeline.app import OrderEvent, ProcessedOrder, Product, build
from penstock import TopologyTestDriver
from tests.examples.play import played

DAY = 24 * 3600 * 1000


def test_each_order_is_processed_once_and_routed_by_its_kind() -> None:
    """The outbox sends the first order twice."""
    with played("order_pipeline", build()) as driver:
        assert driver.read_values("processed-orders-goods") == [
            ProcessedOrder("o-1", "lamp", 48.0, "goods")
        ]
        assert driver.read_values("processed-orders-services") == [
            ProcessedOrder("o-2", "repair", 60.0, "services")
        ]


def test_order_that_is_not_valid_is_kept_aside() -> None:
    """Somebody has to look at it."""
    with played("order_pipeline", build()) as driver:
        assert [order.order_id for order in driver.read_values("rejected-orders")] == ["o-3"]


def test_events_are_remembered_for_a_day() -> None:
    """The store does not grow for ever."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("product-catalog", ("p-1", Product("lamp", 24.0, "goods")))
        for time in (0, DAY - 1, DAY):
            driver.pipe("orders-raw", ("o-1", OrderEvent("e-1", "o-1", "p-1", 1), time))
        assert len(driver.read_values("processed-orders-goods")) == 2
