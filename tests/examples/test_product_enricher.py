"""EX-14: a topology by hand, with a clean-up in stream time."""

from examples.product_enricher.app import EnrichedTransaction, Product, Transaction, build
from penstock import TopologyTestDriver
from tests.examples.play import played


def test_transactions_get_their_product_until_it_is_stale() -> None:
    """The kettle was offered at 10:00:00; the call at 10:01:30 or later removes it."""
    with played("product_enricher", build()) as driver:
        assert driver.read_values("enriched-transactions") == [
            EnrichedTransaction("p-7", 2, "kettle", 79.0),
            EnrichedTransaction("p-8", 1, "lamp", 24.0),
        ]
        assert [key for key, _ in driver.get_key_value_store("product-store").all()] == ["p-8"]


def test_without_records_no_stream_time_passes() -> None:
    """The wall clock may run on: nothing is removed."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("products", ("p-1", Product("cup", 3.0), 0))
        driver.advance_wall_clock_time("1h")
        driver.pipe("transactions", ("p-1", Transaction("p-1", 2), 1_000))
        assert [each.total for each in driver.read_values("enriched-transactions")] == [6.0]
