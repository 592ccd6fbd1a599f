"""EX-18: names that stay when a program grows."""

from collections.abc import Callable

from examples.named_operators.app import CustomerOrders, build, build_without_names, config
from penstock import Topology, TopologyTestDriver
from tests.examples.play import played, samples_of


def internal_topics(made: Callable[[int], Topology], version: int) -> set[str]:
    with TopologyTestDriver(made(version), config) as driver:
        for sample in samples_of("named_operators", made(version)):
            driver.pipe_bytes(*sample)
        return {name for name in driver.produced_topic_names() if driver.is_internal_topic(name)}


def test_orders_are_summed_per_customer() -> None:
    """Deleted orders and those that cost nothing do not count."""
    with played("named_operators", build()) as driver:
        assert driver.read_map("customer-orders") == {"c-1": CustomerOrders(2, 25.5)}


def test_named_program_keeps_its_topics_when_an_operator_is_added() -> None:
    """Store, changelog and repartition topic have the names that the program gave them."""
    expected = {
        "customer-orders-repartition-by-customer-repartition",
        "customer-orders-customer-orders-store-changelog",
    }
    assert internal_topics(build, 1) == internal_topics(build, 2) == expected


def test_program_without_names_loses_its_topics() -> None:
    """The numbers behind the new operator move, and with them the names."""
    before, after = (internal_topics(build_without_names, version) for version in (1, 2))
    assert before.isdisjoint(after)
    assert len(before) == len(after) == 2
