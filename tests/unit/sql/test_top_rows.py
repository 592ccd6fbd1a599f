"""ROW_NUMBER in any order, with WHERE around it: ``clauses.top_rows``, ``lowering.top`` and
``lowering.top_of_table``."""

from typing import Any

import pytest

from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement
from tests.unit.sql.queries import ORDERS, Script, refusal, running

KEYED = (
    "CREATE TABLE stock (id INT PRIMARY KEY, item VARCHAR, price INT)"
    " WITH (KAFKA_TOPIC='stock', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
DEAREST = "ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC)"


def _top(source: str, where: str, order: str = DEAREST) -> str:
    return f"CREATE TABLE t AS SELECT * FROM (SELECT *, {order} AS n FROM {source}) WHERE {where};"


def _rows(script: Script) -> dict[tuple[str, int], Any]:
    """The present rows by partition and rank: the id of each."""
    found = {
        (key["ITEM"], key["N"]): None if row is None else row["ID"] for key, row in script.read("T")
    }
    return {place: id_ for place, id_ in found.items() if id_ is not None}


def test_first_rows_of_a_stream_keep_their_places() -> None:
    """A row that comes between two moves those behind it; equal rows stay in order of arrival."""
    with running(ORDERS, _top("orders", "n <= 2")) as script:
        for id_, item, price in ((1, "fig", 5), (2, "fig", 7), (3, "nut", 1), (4, "fig", 7)):
            script.pipe("orders", id_, {"item": item, "price": price})
        assert _rows(script) == {("fig", 1): 2, ("fig", 2): 4, ("nut", 1): 3}


def test_row_behind_the_first_ones_changes_nothing() -> None:
    with running(ORDERS, _top("orders", "n <= 2")) as script:
        for id_, price in ((1, 5), (2, 7), (3, 4)):
            script.pipe("orders", id_, {"item": "fig", "price": price})
        assert len(script.read("T")) == 3


@pytest.mark.parametrize("where", ["n = 1", "n <= 1", "n < 2", "1 >= n", "2 > n", "1 = n"])
def test_single_row_has_the_partition_as_its_key(where: str) -> None:
    with running(ORDERS, _top("orders", where)) as script:
        for id_, price in ((1, 5), (2, 7), (3, 6), (4, 7)):
            script.pipe("orders", id_, {"item": "fig", "price": price})
        found = [(key, row["ID"]) for key, row in script.read("T")]
        assert found == [("fig", 1), ("fig", 2)]


@pytest.mark.parametrize(("where", "ids"), [("n = 2", [1]), ("n BETWEEN 1 AND 2", [2, 1])])
def test_rows_up_to_the_last_rank_of_where_are_kept(where: str, ids: list[int]) -> None:
    with running(ORDERS, _top("orders", where)) as script:
        for id_, price in ((1, 5), (2, 7), (3, 4)):
            script.pipe("orders", id_, {"item": "fig", "price": price})
        assert [row for _, row in sorted(_rows(script).items())] == ids


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("price", [1, 2]),
        ("price DESC", [3, 2]),
        ("price NULLS FIRST", [3, 1]),
        ("price DESC NULLS LAST", [2, 1]),
        ("price > 5, id DESC", [3, 1]),
    ],
)
def test_order_is_that_of_order_by(order: str, ids: list[int]) -> None:
    """NULLs come last ascending and first descending, unless the text says otherwise."""
    by = f"ROW_NUMBER() OVER (PARTITION BY item ORDER BY {order})"
    for source, topic in ((ORDERS, "orders"), (KEYED, "stock")):
        with running(source, _top(topic, "n <= 2", by)) as script:
            for id_, price in ((2, 7), (3, None), (1, 5)):
                script.pipe(topic, id_, {"item": "fig", "price": price})
            assert [row for _, row in sorted(_rows(script).items())] == ids


def test_rows_of_a_table_leave_their_places() -> None:
    """All rows of the table stay known, so that the next one moves up."""
    with running(KEYED, _top("stock", "n <= 2")) as script:
        for id_, price in ((1, 5), (2, 7), (3, 6)):
            script.pipe("stock", id_, {"item": "fig", "price": price})
        assert _rows(script) == {("fig", 1): 2, ("fig", 2): 3}
        script.pipe("stock", 2, {"item": "nut", "price": 7})
        assert _rows(script) == {("fig", 1): 3, ("fig", 2): 1, ("nut", 1): 2}
        script.pipe("stock", 3, None)
        assert _rows(script) == {("fig", 1): 1, ("nut", 1): 2}


def test_aggregate_over_the_first_rows_takes_back_what_leaves() -> None:
    create = (
        f"CREATE TABLE t AS SELECT item, SUM(price) AS total FROM (SELECT item, price, {DEAREST}"
        " AS n FROM orders) WHERE n <= 2 GROUP BY item;"
    )
    with running(ORDERS, create) as script:
        for id_, price in ((1, 5), (2, 7), (3, 6)):
            script.pipe("orders", id_, {"item": "fig", "price": price})
        assert script.read("T")[-1] == ("fig", {"TOTAL": 13})


def test_first_rows_can_be_joined() -> None:
    """One row for each partition is a table with the partition as its key."""
    create = (
        f"CREATE STREAM t AS SELECT o.item AS item, o.id AS id, s.price AS most FROM orders o JOIN"
        f" (SELECT item, price, {DEAREST} AS n FROM stock) s ON o.item = s.item WHERE s.n = 1;"
    )
    with running(ORDERS, KEYED, create) as script:
        script.pipe("stock", 1, {"item": "fig", "price": 9}, 1)
        script.pipe("orders", 7, {"item": "fig", "price": 3}, 2)
        assert script.read("T") == [("fig", {"ID": 7, "MOST": 9})]


def test_first_rows_of_each_window() -> None:
    """Flink's window Top-N: the partition is the window of a table of counts."""
    create = (
        "CREATE TABLE t AS SELECT * FROM (SELECT item, n, ROW_NUMBER() OVER (PARTITION BY"
        " starts ORDER BY n DESC) AS place, starts FROM (SELECT item, window_start AS starts,"
        " COUNT(*) AS n FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ROWTIME), INTERVAL '10' SECOND))"
        " GROUP BY item, window_start, window_end)) WHERE place = 1;"
    )
    with running(ORDERS, create) as script:
        for at, item in ((1, "fig"), (2, "nut"), (3, "nut"), (11_000, "fig")):
            script.pipe("orders", 1, {"item": item}, at)
        rows = {key: row["ITEM"] for key, row in script.read("T") if row is not None}
        assert rows == {0: "nut", 10_000: "fig"}


def test_rows_with_null_in_their_partition_are_left_out() -> None:
    for source, topic in ((ORDERS, "orders"), (KEYED, "stock")):
        with running(source, _top(topic, "n <= 2")) as script:
            script.pipe(topic, 1, {"price": 5})
            assert script.read("T") == []


def test_order_of_arrival_still_makes_a_stream() -> None:
    """It is never corrected, so that rows need not be kept."""
    create = (
        "CREATE STREAM t AS SELECT id, n FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item"
        " ORDER BY ROWTIME) AS n FROM orders) WHERE n = 1;"
    )
    with running(ORDERS, create) as script:
        for id_ in (1, 2):
            script.pipe("orders", id_, {"item": "fig"})
        assert script.read("T") == [(1, {"N": 1})]


@pytest.mark.parametrize(
    ("item", "where", "code"),
    [
        (DEAREST, "n >= 1", "over-order"),
        (DEAREST, "n <= 0", "over-rows"),
        (DEAREST, "n <= 1001", "over-rows"),
        (DEAREST.replace("price", "ARRAY[price]"), "n <= 3", "not-sortable"),
        ("ROW_NUMBER() OVER (ORDER BY price)", "n <= 3", "over-without-partition"),
        (f"{DEAREST} AS n, LAG(id) OVER (PARTITION BY item)", "n <= 3", "several-overs"),
    ],
)
def test_other_forms_are_refused(item: str, where: str, code: str) -> None:
    error = refusal(
        ORDERS,
        f"CREATE TABLE t AS SELECT * FROM (SELECT *, {item} AS n FROM orders) WHERE {where};",
    )
    assert error.code == code


def test_table_without_a_limit_is_refused_with_the_way() -> None:
    error = refusal(KEYED, f"CREATE TABLE t AS SELECT id, {DEAREST} AS n FROM stock;")
    assert error.code == "over-on-table"
    assert "WHERE n <= 10" in str(error.fix)


def test_formatted_statement_means_the_same() -> None:
    text = f"SELECT * FROM (SELECT A, {DEAREST.upper()} AS N FROM S) WHERE N <= 3"
    assert format_statement(parse_statement(f"{text};")) == text
