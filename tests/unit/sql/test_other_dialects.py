"""What Flink and Postgres write in another way: ``clauses.window_functions``,
``clauses.retiming``, ``lowering.retime``, ``clauses.comma_joins`` and FILTER."""

import json

import pytest

from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement
from tests.unit.sql.queries import ITEMS, ORDERS, Script, columns_of, engine_of, refusal, running

BIDS = (
    "CREATE STREAM bids (id INT KEY, item VARCHAR, price INT, at TIMESTAMP)"
    " WITH (KAFKA_TOPIC='bids', FORMAT='JSON', TIMESTAMP='at');"
)


def windows(script: Script) -> dict[tuple[str, int], object]:
    """The last row of each key and window that table T has."""
    found = {}
    for record in script.queries.produced:
        if record.topic == "T" and record.key is not None:
            start = int.from_bytes(record.key[-8:], "big")
            found[json.loads(record.key[:-8]), start] = json.loads(record.value or b"null")
    return found


def _values(script: Script) -> list[object]:
    records = [each for each in script.queries.produced if each.topic == "T"]
    return [json.loads(each.value) for each in records if each.value is not None]


@pytest.mark.parametrize(
    "source",
    [
        "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MILLISECOND))",
        "TUMBLE(bids, at, 10 MILLISECONDS) b",
    ],
)
def test_function_of_windows_is_a_window_clause(source: str) -> None:
    """WINDOW_START and WINDOW_END are timestamps, as in Flink; the key keeps its windows."""
    create = (
        f"CREATE TABLE t AS SELECT item, window_start, window_end AS e, MAX(price) AS most"
        f" FROM {source} GROUP BY item, window_start, window_end;"
    )
    with running(BIDS, create) as script:
        for at, price in ((1, 5), (9, 7), (12, 3)):
            script.pipe("bids", 1, {"item": "fig", "price": price, "at": at})
        assert windows(script) == {
            ("fig", 0): {"WINDOW_START": 0, "E": 10, "MOST": 7},
            ("fig", 10): {"WINDOW_START": 10, "E": 20, "MOST": 3},
        }


def test_hop_has_its_advance_before_its_size() -> None:
    create = (
        "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM TABLE(HOP(TABLE orders,"
        " DESCRIPTOR(ROWTIME), 5 MILLISECONDS, 10 MILLISECONDS)) GROUP BY item, window_start;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"item": "fig"}, 12)
        assert windows(script) == {("fig", 5): {"N": 1}, ("fig", 10): {"N": 1}}


def test_windows_of_an_inner_query_can_be_aggregated() -> None:
    """The most of each window: two steps, as in Nexmark's query 7."""
    create = (
        "CREATE TABLE t AS SELECT ws, MAX(n) AS n FROM (SELECT item, WINDOWSTART AS ws, COUNT(*) AS"
        " n FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ROWTIME), 10 MILLISECONDS))"
        " GROUP BY item, window_start, window_end) q GROUP BY ws;"
    )
    with running(ORDERS, create) as script:
        for time, item in ((1, "fig"), (2, "nut"), (3, "fig"), (12, "nut")):
            script.pipe("orders", 1, {"item": item}, time)
        assert dict(script.read("T")) == {0: {"N": 2}, 10: {"N": 1}}


@pytest.mark.parametrize(
    ("group", "bounds"),
    [
        ("TUMBLE(at, INTERVAL '10' SECOND)", (0, 10_000)),
        ("HOP(at, INTERVAL '10' SECOND, INTERVAL '20' SECOND)", (0, 20_000)),
        ("SESSION(at, INTERVAL '10' SECOND)", (2_000, 9_000)),
    ],
)
def test_windows_in_group_by(group: str, bounds: tuple[int, int]) -> None:
    """Their bounds are calls with the same arguments."""
    name, arguments = group.split("(", 1)
    create = (
        f"CREATE TABLE t AS SELECT item, {name}_START({arguments} AS s, {name}_END({arguments} AS"
        f" e, COUNT(*) AS n FROM bids GROUP BY item, {group};"
    )
    with running(BIDS, create) as script:
        for at in (2_000, 9_000):
            script.pipe("bids", 1, {"item": "fig", "price": 1, "at": at})
        assert {"S": bounds[0], "E": bounds[1], "N": 2} in _values(script)


def test_windows_of_a_table_are_those_of_its_records() -> None:
    create = (
        "CREATE TABLE t AS SELECT kind, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE items,"
        " DESCRIPTOR(ROWTIME), 10 MILLISECONDS)) GROUP BY kind, window_start, window_end;"
    )
    with running(ITEMS, create) as script:
        for time, name, row in (
            (1, "fig", "x"),
            (2, "fig", "x"),
            (3, "fig", None),
            (12, "nut", "x"),
        ):
            script.pipe("items", name, None if row is None else {"kind": row}, time)
        assert windows(script) == {("x", 0): {"N": 2}, ("x", 10): {"N": 1}}


def test_windows_without_aggregates_are_those_that_have_rows() -> None:
    create = (
        "CREATE TABLE t AS SELECT item, window_start FROM TABLE(TUMBLE(TABLE bids,"
        " DESCRIPTOR(at), 10 MILLISECONDS)) GROUP BY item, window_start, window_end;"
    )
    with running(BIDS, create) as script:
        script.pipe("bids", 1, {"item": "fig", "price": 1, "at": 12})
        assert windows(script) == {("fig", 10): {"WINDOW_START": 10}}


def test_windows_alone_are_one_group_inside_a_query() -> None:
    """A table needs a key that its SELECT has, which a total of each window has not."""
    create = (
        "CREATE TABLE t AS SELECT e, SUM(n) AS n FROM (SELECT window_end AS e, COUNT(*) AS n FROM"
        " TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), 10 MILLISECONDS))"
        " GROUP BY window_start, window_end) GROUP BY e;"
    )
    with running(BIDS, create) as script:
        for at in (1, 2, 12):
            script.pipe("bids", 1, {"item": "fig", "price": 1, "at": at})
        assert dict(script.read("T")) == {10: {"N": 2}, 20: {"N": 1}}


@pytest.mark.parametrize(
    "inner",
    ["SELECT *, CAST(price * 10 AS BIGINT) AS p FROM bids", "SELECT item, at AS p FROM bids"],
)
def test_windows_may_go_by_any_time(inner: str) -> None:
    """Rows take the time of the column, and stay as they are if it is theirs anyway."""
    create = (
        f"CREATE TABLE t AS WITH b AS ({inner}) SELECT item, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE"
        " b, DESCRIPTOR(p), 100 MILLISECONDS)) GROUP BY item, window_start, window_end;"
    )
    with running(BIDS, create) as script:
        for at, price in ((10, 1), (20, 2), (110, 11)):
            script.pipe("bids", 1, {"item": "fig", "price": price, "at": at})
        assert windows(script) == {("fig", 0): {"N": 2}, ("fig", 100): {"N": 1}}


def test_rows_without_a_time_have_no_window() -> None:
    create = (
        "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders"
        " GROUP BY item, TUMBLE(price, INTERVAL '1' SECOND);"
    )
    bigint = ORDERS.replace("price INT", "price BIGINT")
    with running(bigint, create) as script:
        for price in (None, -1, 5):
            script.pipe("orders", 1, {"item": "fig", "price": price})
        assert windows(script) == {("fig", 0): {"N": 1}}


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("bids GROUP BY item, TUMBLE(at, 10)", "window-function"),
        ("bids GROUP BY item, HOP(at, INTERVAL '1' SECOND)", "window-function"),
        ("bids GROUP BY item, SESSION(at, INTERVAL '1' MONTH)", "window-function"),
        ("bids GROUP BY item, TUMBLE(item, INTERVAL '1' SECOND)", "window-time-column"),
        ("TUMBLE(bids, price, 1 SECOND) GROUP BY item, window_start", "window-time-column"),
        ("TUMBLE(bids, at, 1 SECOND) GROUP BY item", "window-function"),
        ("TUMBLE(bids, at, 1 SECOND) GROUP BY window_start", "window-function"),
        ("TUMBLE(bids, at, 1 SECOND, 2 SECONDS) GROUP BY item", "window-function"),
        ("RANK(bids, at, 1 SECOND) GROUP BY item", "window-function"),
        ("TABLE(TUMBLE(TABLE bids, COLUMN(at), 1 SECOND)) GROUP BY item", "window-function"),
        (
            "bids a JOIN TUMBLE(bids, at, 1 SECOND) b WITHIN 1 HOUR ON a.id = b.id GROUP BY a.item",
            "window-function-join",
        ),
    ],
)
def test_other_functions_of_windows_are_refused(rest: str, code: str) -> None:
    error = refusal(BIDS, f"CREATE TABLE t AS SELECT COUNT(*) AS n FROM {rest};")
    assert (error.code, bool(error.fix)) == (code, True)


def test_filter_leaves_rows_out_of_one_aggregate() -> None:
    create = (
        "CREATE TABLE t AS SELECT item, COUNT(*) AS n, COUNT(*) FILTER (WHERE price > 5) AS many,"
        " SUM(price) FILTER (WHERE price < 5) AS few FROM orders GROUP BY item;"
    )
    with running(ORDERS, create) as script:
        for price in (1, 7, 3):
            script.pipe("orders", 1, {"item": "fig", "price": price})
        assert script.read("T")[-1][1] == {"N": 3, "MANY": 1, "FEW": 4}


def test_filter_is_refused_where_null_is_a_value() -> None:
    error = refusal(
        ORDERS,
        "SELECT item, COLLECT_LIST(price) FILTER (WHERE price > 1) FROM orders"
        " GROUP BY item EMIT CHANGES;",
    )
    assert error.code == "filtered-aggregate"


@pytest.mark.parametrize(
    "source",
    [
        "orders o, items i WHERE o.item = i.name AND price > 3",
        "orders o, items i WHERE price > 3 AND i.name = item",
        "items i, orders o WHERE i.name = o.item AND price > 3",
        "orders o JOIN items FOR SYSTEM_TIME AS OF o.ROWTIME i ON o.item = i.name WHERE price > 3",
        "orders o JOIN items FOR SYSTEM_TIME AS OF PROCTIME() i ON o.item = i.name WHERE price > 3",
        "(SELECT *, NOW() AS p FROM orders) o JOIN items FOR SYSTEM_TIME AS OF p ON item = name",
    ],
)
def test_joins_of_other_dialects(source: str) -> None:
    """A comma is a join whose condition is in WHERE; AS OF is what a join with a table does."""
    create = f"CREATE STREAM t AS SELECT o.item AS item, kind, price FROM {source};"
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"}, 1)
        script.pipe("orders", 1, {"item": "fig", "price": 5}, 2)
        assert script.read("T") == [("fig", {"KIND": "fruit", "PRICE": 5})]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("orders o, items i WHERE o.price > 3", "comma-join"),
        ("orders o, items i", "comma-join"),
        ("orders a, orders b WHERE a.item = b.item", "join-within"),
        ("orders o JOIN items FOR SYSTEM_TIME AS OF o.price i ON o.item = i.name", "as-of"),
        ("orders o JOIN orders FOR SYSTEM_TIME AS OF PROCTIME() b ON o.id = b.id", "as-of"),
    ],
)
def test_joins_without_what_they_need_are_refused(source: str, code: str) -> None:
    error = refusal(ORDERS, ITEMS, f"CREATE STREAM t AS SELECT * FROM {source};")
    assert (error.code, bool(error.fix)) == (code, True)


def test_three_sources_may_have_commas() -> None:
    """Each comma takes the equality that belongs to it; what is left stays in WHERE."""
    create = (
        "CREATE STREAM t AS SELECT o.item AS item, i.kind AS a, j.kind AS b FROM orders o, items i,"
        " items j WHERE o.item = i.name AND o.price > 1 AND j.name = o.item;"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"}, 1)
        script.pipe("orders", 1, {"item": "fig", "price": 5}, 2)
        script.pipe("orders", 2, {"item": "fig", "price": 1}, 3)
        assert script.read("T") == [("fig", {"A": "fruit", "B": "fruit"})]


def test_columns_of_a_star_are_those_of_the_text() -> None:
    """Streams are joined first, whatever their place among the commas."""
    create = "CREATE STREAM t AS SELECT * FROM items i, orders o WHERE i.name = o.item;"
    names = columns_of(engine_of(ORDERS, ITEMS, create), "T")
    assert names == "O_ITEM STRING KEY, I_NAME STRING, I_KIND STRING, O_ID INTEGER, O_PRICE INTEGER"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM A, B AS X WHERE A.I = X.I",
        "SELECT * FROM S INNER JOIN T FOR SYSTEM_TIME AS OF S.P AS X ON S.A = X.A",
        "SELECT X FROM TABLE(TUMBLE(TABLE B, DESCRIPTOR(T), 10 SECONDS)) GROUP BY X, WINDOW_START",
        "SELECT X FROM TABLE(HOP(TABLE B, DESCRIPTOR(T), 2 SECONDS, 10 SECONDS)) AS C",
        "SELECT X FROM TABLE(SESSION(TABLE B, DESCRIPTOR(T), 2 SECONDS))",
        "SELECT FILTER(A, X => X > 1) AS `FILTER`, `FOR` FROM S",
    ],
)
def test_formatted_statements_mean_the_same(text: str) -> None:
    """FILTER, FOR and the names of the functions may still be names of columns."""
    assert format_statement(parse_statement(f"{text};")) == text
