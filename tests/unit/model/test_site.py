"""Which line of the user's program an error names."""

import json

from penstock.model.site import caller_site, raising_site
from penstock.sql import SqlEngine


def price(order: dict[str, str]) -> str:
    return order["price"]


def caught(text: str) -> Exception:
    try:
        price(json.loads(text))
    except Exception as error:  # noqa: BLE001 - any error will do
        return error
    raise AssertionError("nothing was raised")


def test_the_last_line_of_the_program_is_named() -> None:
    """Not the line of a library that the program has called."""
    first = price.__code__.co_firstlineno
    assert raising_site(caught("{}")) == f"test_site.py:{first + 1}"
    in_json = raising_site(caught("{"))
    assert in_json == f"test_site.py:{caught.__code__.co_firstlineno + 2}"


def test_an_error_that_was_never_raised_has_no_line() -> None:
    assert raising_site(KeyError("amount")) is None


def test_the_caller_is_the_nearest_line_outside_of_the_package() -> None:
    line = test_the_caller_is_the_nearest_line_outside_of_the_package.__code__.co_firstlineno + 2
    assert caller_site() == f"test_site.py:{line}"


def test_queries_of_sql_are_made_in_the_line_that_asks_for_them() -> None:
    """They are planned inside of a context manager: nodes named a line of contextlib."""
    engine = SqlEngine()
    engine.execute(
        "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE STREAM o AS SELECT a + 1 AS b FROM s;"
    )
    graph = engine.topology("CSAS_O_0").graph
    assert {str(node.site).split(":", 1)[0] for node in graph.nodes.values()} == {"test_site.py"}
