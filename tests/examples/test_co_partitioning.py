"""EX-13: topics that can be joined, and topics that cannot."""

import pytest

from examples.co_partitioning.app import PricedOrder, build, build_wrong
from penstock.errors import TopologyError
from tests.examples.play import played

EQUAL = {"orders": 4, "products": 4, "priced-orders": 4}


def test_orders_with_the_key_of_products_meet_them() -> None:
    """Four partitions on both sides; the orders travel through a topic of four, too."""
    with played("co_partitioning", build(), num_partitions=EQUAL) as driver:
        assert sorted(driver.read_values("priced-orders"), key=lambda each: each.order_id) == [
            PricedOrder("o-1", "kettle", 79.0),
            PricedOrder("o-2", "lamp", 24.0),
            PricedOrder("o-3", "lamp", 72.0),
        ]


def test_wrong_key_finds_nothing() -> None:
    """Nothing fails, and nothing matches: an order's id is no product's."""
    with played("co_partitioning", build_wrong(), num_partitions=EQUAL) as driver:
        assert driver.read_values("priced-orders") == []


def test_different_numbers_of_partitions_are_refused() -> None:
    """The message names both topics and their sizes."""
    sizes = EQUAL | {"products": 6}
    with (
        pytest.raises(TopologyError, match=r"'orders'.*4.*'products'.*6"),
        played("co_partitioning", build_wrong(), num_partitions=sizes),
    ):
        pass
