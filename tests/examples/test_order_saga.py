"""EX-08: a process manager that completes, cancels and compensates."""

import pytest

from examples.order_saga.app import Order, Reply, build
from penstock import TopologyTestDriver
from tests.examples.play import played


def test_each_saga_of_the_sample_ends_as_it_should() -> None:
    """Delivered, paid back, and declined."""
    with played("order_saga", build()) as driver:
        ends = {key: saga.state for key, saga in driver.get_key_value_store("sagas").all()}
    assert ends == {"o-1": "completed", "o-2": "compensated", "o-3": "cancelled"}


def test_order_that_comes_twice_is_paid_once() -> None:
    """The saga that is there decides."""
    with played("order_saga", build()) as driver:
        sent = [command.action for key, command in driver.read_key_values("payment-commands")]
    assert sorted(sent) == ["pay", "pay", "pay", "refund"]


def test_compensation_follows_the_payment() -> None:
    """The order of the states is the story of the order."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", ("o-9", Order("o-9", "unicorn", 10.0)))
        states = [saga.state for saga in driver.read_values("saga-states")]
    assert states == ["paying", "reserving", "refunding", "compensated"]


@pytest.mark.parametrize("result", ["paid", "reserved", "refunded", "nonsense"])
def test_reply_that_does_not_fit_changes_nothing(result: str) -> None:
    """A reply may come twice, late, or for an order that nobody knows."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", ("o-9", Order("o-9", "lamp", 10.0)))
        driver.read_values("saga-states")
        driver.pipe("replies", ("o-9", Reply("o-9", result)), ("o-7", Reply("o-7", result)))
        assert driver.read_values("saga-states") == []
