"""PT-01: a command, an event and a query."""

from examples.command_event_query.app import Reply, Transferred, build
from tests.examples.play import played


def test_command_is_answered_and_event_is_for_everybody() -> None:
    """A command may be refused; an event is sent only for what has happened."""
    with played("command_event_query", build()) as driver:
        assert driver.read_values("transfer-replies") == [
            Reply("t-1", is_done=True),
            Reply("t-2", is_done=True),
            Reply("t-3", is_done=False, why="bob has 20"),
        ]
        assert driver.read_values("transfers") == [
            Transferred("vault", "ann", 600),
            Transferred("ann", "bob", 20),
        ]
        assert driver.read_values("large-transfers") == [Transferred("vault", "ann", 600)]
        assert driver.read_values("letters")[1] == "Dear bob, you got 20 from ann."


def test_query_reads_and_changes_nothing() -> None:
    """Asking twice gives the same answer."""
    with played("command_event_query", build()) as driver:
        balances = driver.get_key_value_store("balances")
        for _ in range(2):
            assert balances.get("main-street/ann") == 580
            assert balances.get("main-street/bob") == 20
