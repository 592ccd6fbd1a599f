"""``ksql.new.query.planner.enabled``: SELECT says which columns are the key, and their order."""

import pytest

from tests.unit.sql.queries import columns_of, engine_of, refusal, running

PAIRS = (
    "CREATE STREAM pairs (a INT KEY, b INT KEY, v INT)"
    " WITH (KAFKA_TOPIC='pairs', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
NEW = {"ksql_new_query_planner_enabled": "true"}


@pytest.mark.parametrize(
    ("select", "columns", "key"),
    [
        ("SELECT b, a, v", "B INTEGER KEY, A INTEGER KEY, V INTEGER", b'{"B":2,"A":1}'),
        ("SELECT v, b", "B INTEGER KEY, V INTEGER", b"2"),
        ("SELECT a, b, v", "A INTEGER KEY, B INTEGER KEY, V INTEGER", b'{"A":1,"B":2}'),
    ],
)
def test_key_has_the_columns_that_are_selected(select: str, columns: str, key: bytes) -> None:
    """The bytes of the key have them in this order, too, so that equal keys stay together."""
    made = f"CREATE STREAM x AS {select} FROM pairs;"
    assert columns_of(engine_of(PAIRS, made, **NEW), "X") == columns
    with running(PAIRS, made, **NEW) as script:
        script.pipe("pairs", {"A": 1, "B": 2}, {"V": 3})
        assert [(r.key, r.value) for r in script.queries.produced] == [(key, b'{"V":3}')]


def test_without_the_setting_a_key_is_selected_as_a_whole() -> None:
    """The setting is off by default, as in ksqlDB."""
    assert refusal(PAIRS, "CREATE STREAM x AS SELECT b, v FROM pairs;").code == "missing-key"
    kept = engine_of(PAIRS, "CREATE STREAM x AS SELECT b, a, v FROM pairs;")
    assert columns_of(kept, "X") == "A INTEGER KEY, B INTEGER KEY, V INTEGER"


def test_key_of_a_table_stays() -> None:
    """Another key would be another row."""
    table = PAIRS.replace("STREAM", "TABLE").replace("KEY,", "PRIMARY KEY,")
    error = refusal(table, "CREATE TABLE x AS SELECT b, v FROM pairs;", **NEW)
    assert error.code == "missing-key"
