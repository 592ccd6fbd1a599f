"""EXPLODE and its kin in SELECT.

Exercises ``lowering.explode`` and ``planner.steps``.
"""

import pytest

from tests.unit.sql.queries import ITEMS, refusal, running

LISTS = (
    "CREATE STREAM lists (k INT KEY, a ARRAY<INT>, b ARRAY<VARCHAR>)"
    " WITH (KAFKA_TOPIC='lists', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)


def test_explode_gives_a_row_for_each_element() -> None:
    """An empty array, or none, gives no rows."""
    with running(LISTS, "CREATE STREAM x AS SELECT k, EXPLODE(a) * 2 AS n FROM lists;") as script:
        script.pipe("lists", 1, {"a": [4, 5]})
        script.pipe("lists", 2, {"a": []})
        script.pipe("lists", 3, {})
        assert script.read("X") == [(1, {"N": 8}), (1, {"N": 10})]


def test_several_functions_are_zipped() -> None:
    """The shorter one ends in NULLs."""
    create = "CREATE STREAM x AS SELECT k, EXPLODE(a) AS a, EXPLODE(b) AS b FROM lists;"
    with running(LISTS, create) as script:
        script.pipe("lists", 1, {"a": [4, 5], "b": ["z"]})
        assert script.read("X") == [(1, {"A": 4, "B": "z"}), (1, {"A": 5, "B": None})]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT k, EXPLODE(EXPLODE(a)) AS x FROM lists", "nested-table-function"),
        ("SELECT k, CASE WHEN k = 1 THEN EXPLODE(a) END AS x FROM lists", "nested-table-function"),
        ("SELECT k, a FROM lists WHERE EXPLODE(a) = 1", "misplaced-table-function"),
        ("SELECT EXPLODE(a) AS x FROM lists PARTITION BY EXPLODE(a)", "misplaced-table-function"),
        ("SELECT name, EXPLODE(ARRAY[kind]) AS x FROM items", "table-function-on-table"),
    ],
)
def test_misplaced_table_function_is_refused(query: str, code: str) -> None:
    """Table functions stand in SELECT of a stream, outside other table functions and CASE."""
    assert refusal(LISTS, ITEMS, f"CREATE STREAM x AS {query};").code == code
