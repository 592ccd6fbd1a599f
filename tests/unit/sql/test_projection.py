"""SELECT: names of columns, what stays the key, WHERE, and where the result goes.

Exercises ``lowering.sink``, ``planner.insertion``, ``planner.sink``, ``planner.stage`` and
``sql.timestamps``.
"""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running


def made(select: str, *before: str) -> str:
    engine = engine_of(ORDERS, *before, f"CREATE STREAM x AS {select};")
    return columns_of(engine, "X")


def test_star_is_the_key_then_the_values() -> None:
    """System columns are not part of a star."""
    assert made("SELECT * FROM orders") == "ID INTEGER KEY, ITEM STRING, PRICE INTEGER"


def test_expression_without_a_name_gets_a_number() -> None:
    """Names differ from those of the source."""
    assert made("SELECT id, price + 1, price * 1.5 AS half FROM orders") == (
        "ID INTEGER KEY, KSQL_COL_0 INTEGER, HALF DECIMAL(13, 1)"
    )


def test_key_can_be_renamed_and_copied() -> None:
    """A plain column stays the key; AS_VALUE makes a copy in the value."""
    assert made("SELECT id AS k, AS_VALUE(id) AS v FROM orders") == "K INTEGER KEY, V INTEGER"


@pytest.mark.parametrize(
    ("select", "code"),
    [
        ("SELECT price FROM orders", "missing-key"),
        ("SELECT id, id AS again, price FROM orders", "repeated-key"),
        ("SELECT id FROM orders", "no-value-columns"),
        ("SELECT id, price, item AS price FROM orders", "duplicate-column"),
        ("SELECT *, id FROM orders", "repeated-key"),
        ("SELECT id, NULL AS n FROM orders", "null-column"),
        ("SELECT id, rowtime FROM orders", "reserved-name"),
        ("SELECT id, price AS rowtime FROM orders", "reserved-name"),
        ("SELECT id, price FROM orders WHERE price", "condition-not-boolean"),
        ("SELECT id, price FROM orders LIMIT 5", "limit"),
        ("SELECT id, price FROM orders OFFSET 5", "limit"),
        ("SELECT id, price FROM orders EMIT FINAL", "emit-final"),
        ("SELECT o.id, price FROM orders", "unknown-source"),
        ("SELECT * FROM nothing", "unknown-source"),
    ],
)
def test_select_that_cannot_be_a_stream_is_refused(select: str, code: str) -> None:
    """Each refusal has its own code and a place in the text."""
    error = refusal(ORDERS, f"CREATE STREAM x AS {select};")
    assert error.code == code
    assert error.line == 1


def test_a_misspelt_key_is_told_the_right_name() -> None:
    """Nobody who types ``idd`` wonders how to add ``id``."""
    error = refusal(ORDERS, "CREATE STREAM x AS SELECT idd, price FROM orders;")
    assert (error.code, error.fix) == ("unknown-column", "did you mean 'ID'?")
    assert error.column == len("CREATE STREAM x AS SELECT ") + 1


def test_result_must_be_of_the_kind_created() -> None:
    """An aggregate is a table, a projection of a stream a stream."""
    assert refusal(ORDERS, "CREATE TABLE x AS SELECT * FROM orders;").code == "wrong-kind"
    assert refusal(ITEMS, "CREATE STREAM x AS SELECT * FROM items;").code == "wrong-kind"


def test_system_columns_tell_time_and_place() -> None:
    """ROWTIME, ROWPARTITION and ROWOFFSET belong to the source's record."""
    select = "SELECT id, rowtime AS t, rowpartition AS p, rowoffset AS o FROM orders"
    with running(ORDERS, f"CREATE STREAM x AS {select};") as script:
        script.pipe("orders", 1, {"price": 1}, 123)
        script.pipe("orders", 1, {"price": 1}, 124)
        assert [v for _, v in script.read("X")] == [
            {"T": 123, "P": 0, "O": 0},
            {"T": 124, "P": 0, "O": 1},
        ]


def test_struct_star_gives_its_fields() -> None:
    """``->*`` is one column for each field."""
    stream = (
        "CREATE STREAM s (k INT KEY, a STRUCT<x INT, y VARCHAR>)"
        " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    )
    engine = engine_of(stream, "CREATE STREAM x AS SELECT k, a->* FROM s;")
    assert columns_of(engine, "X") == "K INTEGER KEY, X INTEGER, Y STRING"


def test_filtered_row_of_a_table_is_deleted() -> None:
    """A row that no longer meets WHERE disappears from the result."""
    with running(ITEMS, "CREATE TABLE x AS SELECT * FROM items WHERE kind = 'a';") as script:
        script.pipe("items", "n", {"kind": "a"})
        script.pipe("items", "n", {"kind": "b"})
        assert script.read("X") == [("n", {"KIND": "a"}), ("n", None)]


def test_result_takes_formats_from_its_source() -> None:
    """WITH changes them; a topic is named after the stream unless it says otherwise."""
    engine = engine_of(
        ORDERS,
        "CREATE STREAM a AS SELECT * FROM orders;",
        "CREATE STREAM b WITH (KAFKA_TOPIC='bees', VALUE_FORMAT='DELIMITED', KEY_FORMAT='KAFKA')"
        " AS SELECT * FROM orders;",
    )
    a, b = engine.sources["A"], engine.sources["B"]
    assert (a.topic, a.key_format.name, a.value_format.name) == ("A", "JSON", "JSON")
    assert (b.topic, b.key_format.name, b.value_format.name) == ("bees", "KAFKA", "DELIMITED")


def test_timestamp_column_gives_the_time_of_a_result() -> None:
    """Records whose column has no time are dropped."""
    create = "CREATE STREAM x WITH (TIMESTAMP='t') AS SELECT id, CAST(price AS BIGINT) AS t"
    with running(ORDERS, f"{create} FROM orders;") as script:
        script.pipe("orders", 1, {"price": 500}, 1)
        script.pipe("orders", 2, {"price": None}, 2)
        assert script.times("X") == [500]


def test_timestamp_column_gives_the_time_of_a_source() -> None:
    """Text is read by its format."""
    stream = (
        "CREATE STREAM s (k INT KEY, t VARCHAR) WITH (KAFKA_TOPIC='s', KEY_FORMAT='JSON',"
        " VALUE_FORMAT='JSON', TIMESTAMP='t', TIMESTAMP_FORMAT='yyyy-MM-dd');"
    )
    with running(stream, "CREATE STREAM x AS SELECT * FROM s;") as script:
        script.pipe("s", 1, {"t": "1970-01-02"})
        script.pipe("s", 1, {"t": "never"})
        assert script.times("X") == [86_400_000]


def test_inserting_query_fills_an_existing_stream() -> None:
    """Columns must fit by name and type; narrower numbers are widened."""
    target = (
        "CREATE STREAM t (id INT KEY, price BIGINT)"
        " WITH (KAFKA_TOPIC='t', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
    )
    with running(ORDERS, target, "INSERT INTO t SELECT id, price FROM orders;") as script:
        script.pipe("orders", 1, {"price": 5})
        assert script.read("t") == [(1, {"PRICE": 5})]
    error = refusal(ORDERS, target, "INSERT INTO t SELECT id, item AS price FROM orders;")
    assert error.code == "incompatible-insert"
    error = refusal(ORDERS, ITEMS, "INSERT INTO items SELECT id, item FROM orders;")
    assert error.code == "cannot-insert"
