"""How a pull query finds its rows, by the conditions of WHERE."""

import pytest

from penstock.sql import AnalysisError, SqlEngine
from penstock.sql.queries.access import (
    NO_KEY,
    ONLY_MATERIALIZED,
    Access,
    KeyLookup,
    KeyRange,
    Scan,
    access_of,
    described,
    start_range,
)
from penstock.sql.queries.row_plan import row_plan

TABLES = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT) WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
    CREATE TABLE counts (a INT PRIMARY KEY, b VARCHAR PRIMARY KEY, n BIGINT)
        WITH (KAFKA_TOPIC='counts', PARTITIONS=1, FORMAT='JSON');
    CREATE TABLE visits (id INT PRIMARY KEY, n BIGINT)
        WITH (KAFKA_TOPIC='visits', PARTITIONS=1, VALUE_FORMAT='JSON',
              WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 SECOND');
"""  # noqa: E501


def access(sql: str) -> Access:
    engine = SqlEngine()
    engine.execute(TABLES)
    query = engine.pull(sql)
    lowering = engine.lowering("test")
    rows = row_plan(query.push.plan, lowering)
    assert rows is not None
    return access_of(rows.step, rows.conditions, lowering.environment.scope(()))


def keys(sql: str) -> list[tuple[object, ...]]:
    way = access(sql).way
    assert isinstance(way, KeyLookup)
    return [tuple(constant.value for constant in key) for key in way.keys]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id = 'ann'", [("ann",)]),
        ("'ann' = id", [("ann",)]),
        ("id = CONCAT('a', 'nn')", [("ann",)]),
        ("id IN ('ann', 'bob', 'ann')", [("ann",), ("bob",)]),
        ("(id = 'ann' OR id = 'bob')", [("ann",), ("bob",)]),
        ("id = 'ann' AND age > 3", [("ann",)]),
    ],
)
def test_conditions_that_name_the_key_are_lookups(
    where: str, expected: list[tuple[object, ...]]
) -> None:
    """A value, a list of values or a constant expression for the key is looked up."""
    assert keys(f"SELECT * FROM users WHERE {where};") == expected


def test_every_column_of_the_key_is_needed_for_a_lookup() -> None:
    """A part of a key cannot be looked up; several values for its parts make several keys."""
    assert keys("SELECT * FROM counts WHERE a IN (1, 2) AND b = 'x';") == [(1, "x"), (2, "x")]
    assert isinstance(access("SELECT * FROM counts WHERE a = 1;").way, Scan)


def test_the_condition_of_the_key_is_not_checked_again() -> None:
    """What is left to check are the conditions that the lookup has not used."""
    found = access("SELECT * FROM users WHERE id = 'ann' AND age > 3 AND id <> 'bob';")
    assert len(found.rest) == 2


def test_a_value_that_no_key_can_have_is_marked() -> None:
    """1.5 equals no whole number, and neither does a number beyond 32 bits an INT."""
    assert keys("SELECT * FROM visits WHERE id = 1.5;") == [(NO_KEY,)]
    assert keys("SELECT * FROM visits WHERE id = 3000000000;") == [(NO_KEY,)]
    assert keys("SELECT * FROM visits WHERE id = 1.0;") == [(1,)]


@pytest.mark.parametrize("where", ["id = age || ''", "age = 3", "id <> 'ann'", "id = UUID()"])
def test_anything_else_is_a_scan(where: str) -> None:
    """Without a constant for the key, all rows are read; a random value is not a constant."""
    sql = f"SELECT * FROM users WHERE {where};".replace("age || ''", "CAST(age AS VARCHAR)")
    assert isinstance(access(sql).way, Scan)


@pytest.mark.parametrize(
    ("where", "low", "high"),
    [
        ("id >= 'b'", "b", None),
        ("'b' > id", None, "b"),
        ("id > 'a' AND id <= 'c'", "a", "c"),
        ("id BETWEEN 'a' AND 'c'", "a", "c"),
    ],
)
def test_text_keys_can_be_read_in_ranges(where: str, low: str | None, high: str | None) -> None:
    """The bytes of text keys have the order of the texts."""
    assert access(f"SELECT * FROM users WHERE {where};").way == KeyRange(low, high)


def test_a_key_that_is_null_is_refused() -> None:
    """No row has it, so the statement cannot be meant."""
    with pytest.raises(AnalysisError, match="never NULL"):
        access("SELECT * FROM users WHERE id IN ('ann', NULL);")


def test_text_for_a_key_that_is_a_number_is_refused() -> None:
    """IN reads text as a number, but then all rows would have to be read for one key."""
    with pytest.raises(AnalysisError, match="INTEGER and a key of VISITS") as refused:
        access("SELECT * FROM visits WHERE id IN ('10', 8);")
    assert refused.value.code == "wrong-key-type"
    assert keys("SELECT * FROM visits WHERE id IN (10, 8);") == [(10,), (8,)]


def test_numbers_and_windows_are_not_read_in_ranges() -> None:
    """The bytes of negative numbers come behind those of positive ones."""
    assert isinstance(access("SELECT * FROM visits WHERE id > 3;").way, Scan)


def test_bounds_of_windows_are_found() -> None:
    """The starts of windows narrow a lookup; their conditions stay."""
    found = access(
        "SELECT * FROM visits WHERE id = 1 AND 1000 <= WINDOWSTART AND WINDOWSTART < 5000;"
    )
    bounds = [(bound.operator, bound.constant.value) for bound in found.starts]
    assert start_range(bounds) == (1000, 4999)
    assert len(found.rest) == 2


def test_explain_says_which_way_is_taken() -> None:
    """EXPLAIN of a pull query begins with the plan that a server uses."""
    engine = SqlEngine()
    engine.execute(TABLES)

    def pull(sql: str) -> str:
        (result,) = engine.execute(f"EXPLAIN {sql}")
        way: str = result.details["pull"]  # type: ignore[attr-defined]
        return way.removesuffix(f". {ONLY_MATERIALIZED}")

    assert pull("SELECT * FROM users WHERE id = 'ann';") == "KEY_LOOKUP: looks up 1 key of USERS"
    assert pull("SELECT * FROM users WHERE id > 'b';") == (
        "RANGE_SCAN: reads the keys of USERS from 'b', checks 1 condition"
    )
    assert pull("SELECT * FROM users;") == "TABLE_SCAN: reads all rows of USERS"
    assert pull("SELECT age, COUNT(*) FROM users GROUP BY age;").startswith("GENERAL")
    assert pull("SELECT * FROM visits WHERE id = 1 AND WINDOWSTART > 9;") == (
        "KEY_LOOKUP: looks up 1 key of VISITS, windows that start from 10, checks 1 condition"
    )


def test_a_table_that_ksqldb_would_not_read_is_named() -> None:
    """Its error says that a table must be materialized; here it is a note, and rows come."""
    engine = SqlEngine()
    engine.execute(f"{TABLES} CREATE TABLE ages AS SELECT id, age FROM users;")
    notes = []
    for name in ("users", "ages"):
        (result,) = engine.execute(f"EXPLAIN SELECT * FROM {name};")
        notes.append(ONLY_MATERIALIZED in result.details["pull"])  # type: ignore[attr-defined]
    assert notes == [True, False]


def test_a_scan_is_described_without_conditions_if_there_are_none() -> None:
    """``described`` leaves out what there is not."""
    engine = SqlEngine()
    engine.execute(TABLES)
    assert described(Access(Scan(), ()), engine.sources["USERS"]).endswith("all rows of USERS")
