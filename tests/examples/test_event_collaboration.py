"""EX-07: services that share topics and nothing else."""

from collections import Counter
from contextlib import ExitStack

from examples.event_collaboration import app
from penstock import TopologyTestDriver
from tests.examples.play import collaborate, played, samples_of


def topics_written(*services: app.Service) -> Counter[str]:
    """Runs each service in a driver of its own; only records go from one to the other."""
    topologies = [app.build(service) for service in services]
    with ExitStack() as stack:
        running = [(each, stack.enter_context(TopologyTestDriver(each))) for each in topologies]
        written = collaborate(running, samples_of("event_collaboration", app.build()))
    return Counter(record.topic for record in written)


FIRST = (app.payments, app.inventory, app.notifier)


def test_an_order_reaches_the_customer_through_three_services() -> None:
    """The order that was declined ends at the payment."""
    assert topics_written(*FIRST) == {
        "orders-placed": 3,
        "payments-processed": 3,
        "inventory-reserved": 2,
        "notifications-sent": 2,
    }


def test_analytics_subscribes_without_a_change_of_the_others() -> None:
    """The same services with the same topics, and one more topic."""
    with_analytics = topics_written(*FIRST, app.analytics)
    assert with_analytics - topics_written(*FIRST) == {"payment-statistics": 3}


def test_all_services_in_one_application_say_the_same() -> None:
    """Topics connect them inside one application, too."""
    with played("event_collaboration", app.build()) as driver:
        assert driver.read_map("notifications-sent") == {
            "o-1": app.NotificationSent("o-1", "mail"),
            "o-3": app.NotificationSent("o-3", "post"),
        }
        assert driver.read_map("payment-statistics") == {"paid": 2, "declined": 1}


def test_one_service_can_run_alone() -> None:
    """``penstock run app.py:payments_alone`` calls it without arguments."""
    assert len(app.payments_alone().graph.nodes) == 3
