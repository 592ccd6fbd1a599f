"""EX-17: upper case."""

from examples.upper_case.app import build
from tests.examples.play import played


def test_text_is_upper_cased_and_nothing_stays_nothing() -> None:
    """A record without a value is left out."""
    with played("upper_case", build()) as driver:
        assert driver.read_key_values("output-topic") == [
            ("1", "OPEN THE GATE"),
            ("3", "LET THE WATER IN"),
        ]


def test_topology_is_four_nodes_in_a_row() -> None:
    """Source, filter, mapper, sink."""
    assert len(build().graph.nodes) == 4
