"""PT-04: a table is a stream of its changes."""

from examples.stream_table_duality.app import build
from tests.examples.play import played


def test_changes_of_a_table_make_the_same_table() -> None:
    """A deletion is a change, too."""
    with played("stream_table_duality", build()) as driver:
        first = dict(driver.get_key_value_store("positions").all())
        again = dict(driver.get_key_value_store("positions-again").all())
        assert first == again == {"knight": "g5"}
        assert driver.read_key_values("position-changes") == [
            ("knight", "f3"),
            ("bishop", "c4"),
            ("knight", "g5"),
            ("bishop", None),
        ]
        # As a stream, every move counts.
        assert driver.get_key_value_store("number-of-moves").get("knight") == 2
