"""PT-08: commands, events and views."""

from contextlib import ExitStack
from typing import Any

from examples.cqrs import app
from penstock import TopologyTestDriver
from tests.examples.play import collaborate, played, samples_of


def views(driver: TopologyTestDriver) -> dict[str, dict[Any, Any]]:
    stores = ("books-of-reader", "times-lent")
    return {name: dict(driver.get_key_value_store(name).all()) for name in stores}


EXPECTED = {
    "books-of-reader": {"ann": frozenset({"Ulysses"}), "bob": frozenset({"Emma"})},
    "times-lent": {"Emma": 2, "Ulysses": 1},
}


def test_only_possible_commands_become_events() -> None:
    """A book that is lent cannot be lent again, nor given back by somebody else."""
    with played("cqrs", app.build()) as driver:
        assert driver.read_key_values("library-events") == [
            ("Emma", app.Event("lent", "ann")),
            ("Ulysses", app.Event("lent", "ann")),
            ("Emma", app.Event("returned", "ann")),
            ("Emma", app.Event("lent", "bob")),
        ]
        assert views(driver) == EXPECTED


def test_views_are_made_again_from_the_events_alone() -> None:
    """The read side never sees a command."""
    write, read = app.write_side_alone(), app.read_side_alone()
    with ExitStack() as stack:
        deciding = stack.enter_context(TopologyTestDriver(write))
        log = collaborate([(write, deciding)], samples_of("cqrs", app.build()))
        reading = stack.enter_context(TopologyTestDriver(read))
        collaborate([(read, reading)], [each for each in log if each.topic == "library-events"])
        assert views(reading) == EXPECTED
        assert "lent-to" not in reading.state_store_names()
