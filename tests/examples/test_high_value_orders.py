"""EX-16: orders of more than 100."""

import pytest

from examples.high_value_orders.app import HighValueOrder, build
from tests.examples.play import played


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_only_orders_above_100_are_kept(engine: str) -> None:
    """Exactly 100 is not more than 100; over columns the result is the same."""
    with played("high_value_orders", build(), engine=engine) as driver:
        assert driver.read_values("high-value-orders") == [
            HighValueOrder("o-3", 100.01, "priority"),
            HighValueOrder("o-4", 750.0, "express"),
        ]
