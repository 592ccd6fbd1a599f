"""Changes to queries over tables, whose steps take old rows back: right rows, or a refusal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError, TopologyError
from penstock.model.sql.errors import SqlError
from penstock.sql import SqlEngine
from penstock.sql.queries.local_cluster import ClusterQueries, LocalCluster

STOCK = """
CREATE TABLE stock (id INT PRIMARY KEY, item VARCHAR, n INT)
    WITH (KAFKA_TOPIC='stock', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE copies (id INT PRIMARY KEY, item VARCHAR, n INT)
    WITH (KAFKA_TOPIC='stock', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM moves (id INT KEY, item VARCHAR, n INT)
    WITH (KAFKA_TOPIC='stock', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE items (item VARCHAR PRIMARY KEY, size INT)
    WITH (KAFKA_TOPIC='items', FORMAT='JSON', PARTITIONS=1);
"""
ROWS: list[tuple[int, str, int]] = [(1, "tea", 1), (2, "tea", 5), (3, "rum", 1)]
SIZES = [("tea", 1), ("rum", 9)]
#: One word of each query changes.
COUNTS = "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM stock WHERE {} GROUP BY item;"
UNFILTERED = COUNTS.replace("WHERE {} ", "")
LAG = "CREATE STREAM x AS SELECT id, LAG(n) OVER (PARTITION BY item) AS p FROM moves WHERE {};"
UNION = "CREATE STREAM x AS SELECT id, n{} FROM moves WHERE {} UNION ALL SELECT id, n FROM moves;"
ALL, LARGE = "n >= 0", "n >= 3"


def send(cluster: LocalCluster, topic: str, key: Any, row: dict[str, Any], at: int = 0) -> None:
    cluster.send(topic, json.dumps(key).encode(), json.dumps(row).encode(), at)


def feed(cluster: LocalCluster) -> None:
    """Write every row, whether it was there before or not."""
    for item, size in SIZES:
        send(cluster, "items", item, {"SIZE": size})
    for id_, item, n in ROWS:
        send(cluster, "stock", id_, {"ITEM": item, "N": n})


def run(cluster: LocalCluster, script: str) -> None:
    engine = SqlEngine()
    engine.execute(script)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()


def replacing(query: str) -> str:
    return query.replace("CREATE ", "CREATE OR REPLACE ")


def written(cluster: LocalCluster, since: int = 0) -> list[tuple[Any, Any]]:
    return [
        (json.loads(record.key or b"null"), json.loads(record.value or b"null"))
        for record in cluster.topic("X")[since:]
    ]


def table(cluster: LocalCluster) -> dict[Any, Any]:
    return {key: row for key, row in dict(written(cluster)).items() if row is not None}


INNER_TABLE = "(SELECT * FROM stock WHERE {}) AS s"
INNER_ITEMS = "(SELECT * FROM items WHERE {}) AS i"
REFUSED = {
    "WHERE is tighter": (COUNTS.format(ALL), COUNTS.format(LARGE)),
    "WHERE is looser": (COUNTS.format(LARGE), COUNTS.format(ALL)),
    "WHERE comes": (UNFILTERED, COUNTS.format(LARGE)),
    "WHERE goes": (COUNTS.format(LARGE), UNFILTERED),
    "aggregated expression": tuple(
        "CREATE TABLE x AS SELECT item, SUM(p) AS p FROM"
        f" (SELECT id, item, n * {by} AS p FROM stock) AS s GROUP BY item;"
        for by in (2, 3)
    ),
    "HAVING of an inner table": tuple(
        "CREATE TABLE x AS SELECT n, COUNT(*) AS m FROM (SELECT item, COUNT(*) AS n FROM moves"
        f" GROUP BY item HAVING COUNT(*) >= {least}) AS s GROUP BY n;"
        for least in (1, 2)
    ),
    "left side of a foreign key": tuple(
        f"CREATE TABLE x AS SELECT s.id AS id, i.size AS size FROM {INNER_TABLE.format(where)}"
        " JOIN items i ON s.item = i.item;"
        for where in (ALL, LARGE)
    ),
    "right side of a foreign key": tuple(
        "CREATE TABLE x AS SELECT s.id AS id, i.size AS size FROM stock s"
        f" JOIN {INNER_ITEMS.format(where)} ON s.item = i.item;"
        for where in ("size >= 0", "size >= 3")
    ),
    "side of a join of tables": tuple(
        f"CREATE TABLE x AS SELECT s.id AS id, c.n AS n FROM {INNER_TABLE.format(where)}"
        " JOIN copies c ON s.id = c.id;"
        for where in (ALL, LARGE)
    ),
    "IN over a table that is counted": tuple(
        "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM stock WHERE item IN"
        f" (SELECT item FROM items WHERE size >= {size}) GROUP BY item;"
        for size in (0, 3)
    ),
    "IN becomes NOT IN": tuple(
        "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM stock"
        f" WHERE item {word} (SELECT item FROM items) GROUP BY item;"
        for word in ("IN", "NOT IN")
    ),
    "IN over values that are counted": tuple(
        "CREATE STREAM x AS SELECT id, item, n FROM moves"
        f" WHERE n IN (SELECT size FROM items WHERE size >= {size});"
        for size in (0, 3)
    ),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED.keys())
def test_change_that_cannot_take_old_rows_back_is_refused(old: str, new: str) -> None:
    """Stopped or running, with CREATE OR REPLACE; the error says what to do."""
    cluster = LocalCluster()
    feed(cluster)
    engine = SqlEngine()
    engine.execute(STOCK + old)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()
        with pytest.raises(SqlError) as running:
            engine.execute(replacing(new))
    assert running.value.code == "cannot-upgrade"
    assert "another name" in str(running.value.fix)
    before = written(cluster)
    with pytest.raises(TopologyError) as stopped:
        run(cluster, STOCK + replacing(new))
    assert stopped.value.code == "plan-changed"
    assert "another name" in str(stopped.value.fix)
    assert "penstock reset" in str(stopped.value.fix)
    assert "OR REPLACE" not in str(stopped.value.fix)
    assert written(cluster) == before


LOOKED_UP = (
    "CREATE STREAM x AS SELECT m.item AS item, i.size AS size FROM moves m"
    f" JOIN {INNER_ITEMS} ON m.item = i.item;"
)
#: Old and new query, and what the second feeding writes.
LATER: dict[str, tuple[str, str, list[tuple[Any, Any]]]] = {
    "WHERE of a stream that is counted": (
        COUNTS.replace("stock", "moves").format(ALL),
        COUNTS.replace("stock", "moves").format(LARGE),
        [("tea", {"N": 3})],
    ),
    "table that a stream looks into": (
        LOOKED_UP.format("size >= 0"),
        LOOKED_UP.format("size >= 3"),
        [("rum", {"SIZE": 9})],
    ),
    "IN over keys": (
        "CREATE STREAM x AS SELECT id, n FROM moves WHERE item IN (SELECT item FROM items);",
        "CREATE STREAM x AS SELECT id, n FROM moves WHERE item NOT IN (SELECT item FROM items);",
        [],
    ),
    "WHERE in front of DISTINCT": (
        f"CREATE STREAM x AS SELECT DISTINCT id, n FROM moves WHERE {LARGE};",
        "CREATE STREAM x AS SELECT DISTINCT id, n FROM moves WHERE n >= 0;",
        [(1, {"N": 1}), (3, {"N": 1})],
    ),
    "WHERE in front of OVER": (
        LAG.format(ALL),
        LAG.format(LARGE),
        [(2, {"P": 5})],
    ),
    "WHERE behind CHANGES": (
        f"CREATE STREAM x AS SELECT id, n FROM CHANGES(stock) WHERE {ALL};",
        f"CREATE STREAM x AS SELECT id, n FROM CHANGES(stock) WHERE {LARGE};",
        [(2, {"N": 5})],
    ),
    "WHERE that a table no longer has": (
        f"CREATE TABLE x AS SELECT id, n FROM stock WHERE {LARGE};",
        "CREATE TABLE x AS SELECT id, n FROM stock;",
        [(1, {"N": 1}), (2, {"N": 5}), (3, {"N": 1})],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), LATER.values(), ids=LATER.keys())
def test_change_that_only_later_rows_see_is_accepted(old: str, new: str, expected: Any) -> None:
    """CREATE OR REPLACE keeps the state, and rows from then on follow the new query."""
    cluster = LocalCluster()
    feed(cluster)
    run(cluster, STOCK + old)
    before = len(cluster.topic("X"))
    feed(cluster)
    run(cluster, STOCK + replacing(new))
    assert sorted(written(cluster, before)) == expected


def test_arms_of_a_union_change_as_streams_without_state() -> None:
    """UNION ALL keeps nothing, so that a plain CREATE may change what an arm selects."""
    cluster = LocalCluster()
    run(cluster, STOCK + UNION.format("", ALL))
    feed(cluster)
    run(cluster, STOCK + UNION.format(" * 10 AS n", LARGE))
    assert sorted(key for key, _ in written(cluster)) == [1, 2, 2, 3]
    assert (2, {"N": 50}) in written(cluster)
    longer = UNION.format("", ALL).replace(";", " UNION ALL SELECT id, n FROM moves;")
    with pytest.raises(TopologyError, match="UNION ALL of 3"):
        run(cluster, STOCK + longer)


HOUR = 3_600_000


def expiring(hours: int) -> str:
    return STOCK.replace("PARTITIONS=1", f"PARTITIONS=1, ROW_TTL='{hours} HOURS'", 1)


def test_changed_row_ttl_needs_a_replacement_and_holds_for_later_rows() -> None:
    """A row that is there keeps the deadline it has: one hour for the first, three for the next."""
    cluster = LocalCluster()
    send(cluster, "stock", 1, {"ITEM": "tea", "N": 1})
    run(cluster, expiring(1) + UNFILTERED)
    with pytest.raises(TopologyError) as refused:
        run(cluster, expiring(3) + UNFILTERED)
    assert "ROW_TTL 3 HOURS" in str(refused.value)
    assert "OR REPLACE" in str(refused.value.fix)
    send(cluster, "stock", 2, {"ITEM": "tea", "N": 1}, HOUR // 2)
    send(cluster, "stock", 3, {"ITEM": "rum", "N": 1}, 2 * HOUR)
    run(cluster, expiring(3) + replacing(UNFILTERED))
    assert table(cluster) == {"tea": {"N": 1}, "rum": {"N": 1}}
    send(cluster, "stock", 4, {"ITEM": "rum", "N": 1}, 4 * HOUR)
    run(cluster, expiring(3) + replacing(UNFILTERED))
    assert table(cluster).get("tea") in (None, {"N": 0})
    assert table(cluster)["rum"] == {"N": 2}


@pytest.mark.parametrize(("first", "second"), [(STOCK, expiring(1)), (expiring(1), STOCK)])
def test_row_ttl_that_comes_or_goes_is_refused(first: str, second: str) -> None:
    """Rows that are there have no deadline, or one that would be forgotten."""
    cluster = LocalCluster()
    run(cluster, first + UNFILTERED)
    with pytest.raises(TopologyError) as refused:
        run(cluster, second + replacing(UNFILTERED))
    assert "ROW_TTL 1 HOURS" in str(refused.value)


@dataclass(frozen=True)
class Version:
    """A count over the rows of the table that have a least number."""

    least: int | None

    @property
    def script(self) -> str:
        where = "" if self.least is None else f" WHERE n >= {self.least}"
        query = "CREATE OR REPLACE TABLE x AS SELECT item, COUNT(*) AS n FROM stock"
        return f"{STOCK}{query}{where} GROUP BY item;"

    def counts(self, rows: dict[int, tuple[str, int]]) -> dict[str, int]:
        """The table as it is recomputed from the rows of its source."""
        passed = [item for item, n in rows.values() if self.least is None or n >= self.least]
        return {item: passed.count(item) for item in passed}


thresholds = st.none() | st.integers(0, 3)
changes_of_rows = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["tea", "rum"]), st.integers(0, 4)), max_size=4
)


@given(thresholds, st.lists(st.tuples(changes_of_rows, thresholds), min_size=1, max_size=4))
def test_counts_over_a_table_are_those_of_a_recomputation(
    first: int | None, steps: list[tuple[list[tuple[int, str, int]], int | None]]
) -> None:
    """Whatever version is accepted, its counts are those of the rows that the table has."""
    cluster, current = LocalCluster(), Version(first)
    rows: dict[int, tuple[str, int]] = {}
    run(cluster, current.script)
    for changes, least in steps:
        for id_, item, n in changes:
            rows[id_] = item, n
            send(cluster, "stock", id_, {"ITEM": item, "N": n})
        version = Version(least)
        try:
            run(cluster, version.script)
            current = version
        except PenstockError:
            run(cluster, current.script)
        counted = {item: row["N"] for item, row in table(cluster).items() if row["N"]}
        assert counted == current.counts(rows)
