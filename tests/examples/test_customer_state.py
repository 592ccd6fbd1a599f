"""EX-15: what is known of a customer."""

from examples.customer_state.app import CustomerState, Event, build
from tests.examples.play import played


def test_events_of_a_customer_become_one_row() -> None:
    """Orders add up, and a complaint that was helped is not open any more."""
    with played("customer_state", build()) as driver:
        assert dict(driver.get_key_value_store("customers").all()) == {
            "customer-123": CustomerState(1, 20.0, 1),
            "customer-456": CustomerState(2, 40.0, 0),
        }


def test_unknown_event_changes_nothing() -> None:
    """Somebody may send what this program does not know yet."""
    assert CustomerState(1, 2.0, 3).after(Event("waved")) == CustomerState(1, 2.0, 3)
