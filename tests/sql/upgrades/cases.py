"""The matrix: changes to scripts, what each does to state, and what the script means then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.sql.upgrades.recomputation import Grouped, Mapped, Order

ORDERS = """
CREATE STREAM orders (id INT KEY, item VARCHAR, region VARCHAR, price INT)
    WITH (KAFKA_TOPIC='orders', KEY_FORMAT='JSON', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
TOTALS = """
CREATE TABLE totals AS SELECT item, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY item;
"""
PICKED = "CREATE STREAM picked AS SELECT id, item, price FROM orders;\n"
MINUTES = """
CREATE TABLE minutes AS SELECT item, COUNT(*) AS n
    FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY item;
"""
RICH = """
CREATE TABLE items (name VARCHAR PRIMARY KEY, kind VARCHAR)
    WITH (KAFKA_TOPIC='items', KEY_FORMAT='JSON', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM picked AS SELECT o.item AS item, o.price AS price, i.kind AS kind
    FROM orders o JOIN items i ON o.item = i.name;
"""
#: What the table of items has from the beginning.
KINDS = {"tea": "hot", "rum": "cold", "gin": "cold"}
#: Half of them are processed before the change, half behind it.
INPUT = tuple(
    Order(number, item, region, price, number * 10_000)
    for number, (item, region, price) in enumerate(
        [("tea", "eu", 3), ("rum", "us", 30), ("tea", "us", 4), ("gin", "eu", 20), ("tea", "eu", 5),
         ("rum", "eu", 31), ("tea", "us", 40), ("gin", "us", 2), ("rum", "us", 1), ("tea", "eu", 6)]
    )
)  # fmt: skip


def count(orders: list[Order]) -> int:
    return len(orders)


def most(orders: list[Order]) -> int:
    return max(order.price for order in orders)


def total(orders: list[Order]) -> int:
    return sum(order.price for order in orders)


COUNTED = Grouped((("N", count), ("TOTAL", total)))
PER_MINUTE = Grouped((("N", count),), window_ms=60_000)
CHOSEN = Mapped((("ITEM", lambda order: order.item), ("PRICE", lambda order: order.price)))


WITH_KIND = Mapped(
    (("PRICE", lambda order: order.price), ("KIND", lambda order: KINDS[order.item])),
    key=lambda order: order.item,
)


@dataclass(frozen=True)
class Case:
    """One change of a script.

    ``continues`` are the ways in which the changed script goes on: ``plain`` for the statement as
    it is, ``replace`` for CREATE OR REPLACE. ``spec`` is what the changed script means. ``told``
    has to be in the refusal of the plain statement.
    """

    name: str
    old: str
    new: str
    before: Grouped | Mapped
    spec: Grouped | Mapped
    continues: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    sink: str = "TOTALS"


def changed(
    name: str,
    find: str,
    put: str,
    *continues: str,
    spec: Grouped | None = None,
    told: tuple[str, ...] = (),
) -> Case:
    """A change of the table of totals."""
    old, new = ORDERS + TOTALS, (ORDERS + TOTALS).replace(find, put)
    assert old != new, name
    return Case(name, old, new, COUNTED, spec or COUNTED, continues, told)


def picked(
    name: str,
    find: str,
    put: str,
    *continues: str,
    spec: Mapped | None = None,
    told: tuple[str, ...] = (),
) -> Case:
    """A change of the stream of picked columns."""
    old, new = ORDERS + PICKED, (ORDERS + PICKED).replace(find, put)
    assert old != new, name
    return Case(f"stream: {name}", old, new, CHOSEN, spec or CHOSEN, continues, told, "PICKED")


def windowed(
    name: str, find: str, put: str, *continues: str, spec: Grouped | None = None,
    told: tuple[str, ...] = (),
) -> Case:  # fmt: skip
    """A change of the table of minutes."""
    old, new = ORDERS + MINUTES, (ORDERS + MINUTES).replace(find, put)
    assert old != new, name
    after = spec or PER_MINUTE
    return Case(f"window: {name}", old, new, PER_MINUTE, after, continues, told, "MINUTES")


def joined(
    name: str, find: str, put: str, *continues: str, spec: Mapped | None = None,
    told: tuple[str, ...] = (),
) -> Case:  # fmt: skip
    """A change of a join of the stream with a table."""
    old, new = ORDERS + RICH, (ORDERS + RICH).replace(find, put)
    assert old != new, name
    after = spec or WITH_KIND
    return Case(f"join: {name}", old, new, WITH_KIND, after, continues, told, "PICKED")


ALWAYS = ("plain", "replace")
LINES = "VALUE_FORMAT='DELIMITED'"

CASES = [
    # Columns
    changed(
        "columns swapped", "COUNT(*) AS n, SUM(price) AS total",
        "SUM(price) AS total, COUNT(*) AS n",
        spec=replace(COUNTED, columns=(("TOTAL", total), ("N", count))),
        told=("column N BIGINT", "aggregate COUNT(*)", "penstock reset"),
    ),
    changed(
        "aggregates swapped under the same names", "COUNT(*) AS n, SUM(price) AS total",
        "CAST(SUM(price) AS BIGINT) AS n, CAST(COUNT(*) AS INT) AS total",
        spec=replace(COUNTED, columns=(("N", total), ("TOTAL", count))),
        told=("aggregate COUNT(*)", "aggregate SUM(PRICE)"),
    ),
    changed(
        "aggregate added", "AS total", "AS total, MAX(price) AS most",
        spec=replace(COUNTED, columns=(*COUNTED.columns, ("MOST", most))),
        told=("+ aggregate MAX(PRICE)", "+ column MOST INTEGER"),
    ),
    changed(
        "column added that has no state of its own", "AS total",
        "AS total, SUM(price) * 2 AS twice", "replace",
        spec=replace(COUNTED, columns=(*COUNTED.columns, ("TWICE", lambda os: 2 * total(os)))),
        told=("+ SELECT SUM(PRICE) * 2", "CREATE OR REPLACE"),
    ),
    changed(
        "column removed", ", SUM(price) AS total", "",
        spec=replace(COUNTED, columns=(("N", count),)), told=("- aggregate SUM(PRICE)",),
    ),
    changed(
        "column renamed", "AS n,", "AS m,",
        spec=replace(COUNTED, columns=(("M", count), ("TOTAL", total))),
        told=("- column N BIGINT", "+ column M BIGINT"),
    ),
    changed(
        "another aggregate under the same name", "SUM(price)", "MAX(price)",
        spec=replace(COUNTED, columns=(("N", count), ("TOTAL", most))),
        told=("- aggregate SUM(PRICE)", "+ aggregate MAX(PRICE)"),
    ),
    # Filters
    changed(
        "WHERE added", "GROUP BY", "WHERE price > 3 GROUP BY", "replace",
        spec=replace(COUNTED, where=lambda o: o.price > 3),
        told=("+ WHERE PRICE > 3", "CREATE OR REPLACE", "penstock reset"),
    ),
    changed(
        "WHERE over another column", "GROUP BY", "WHERE region = 'us' GROUP BY", "replace",
        spec=replace(COUNTED, where=lambda o: o.region == "us"), told=("+ WHERE REGION = 'us'",),
    ),
    changed(
        "HAVING added", "GROUP BY item", "GROUP BY item HAVING COUNT(*) > 1", "replace",
        spec=replace(COUNTED, having=lambda os: len(os) > 1),
        told=("+ HAVING COUNT(*) > 1", "CREATE OR REPLACE"),
    ),
    changed(
        "HAVING that rows no longer pass", "GROUP BY item", "GROUP BY item HAVING COUNT(*) > 4",
        "replace", spec=replace(COUNTED, having=lambda os: len(os) > 4),
    ),
    changed(
        "HAVING over an aggregate of its own", "GROUP BY item",
        "GROUP BY item HAVING MAX(price) > 5",
        spec=replace(COUNTED, having=lambda os: most(os) > 5),
        told=("+ aggregate MAX(PRICE)",),
    ),
    # Window, key, source, format
    changed(
        "window added", "FROM orders", "FROM orders WINDOW TUMBLING (SIZE 1 MINUTE)",
        spec=replace(COUNTED, window_ms=60_000), told=("+ WINDOW TUMBLING (SIZE 1 MINUTES)",),
    ),
    windowed(
        "size changed", "1 MINUTE", "30 SECONDS", spec=replace(PER_MINUTE, window_ms=30_000),
        told=("- WINDOW TUMBLING (SIZE 1 MINUTES)", "+ WINDOW TUMBLING (SIZE 30 SECONDS)"),
    ),
    windowed("grace added", "1 MINUTE", "1 MINUTE, GRACE PERIOD 0 SECONDS", told=("GRACE PERIOD",)),
    windowed("another unit", "1 MINUTE", "60 SECONDS", *ALWAYS),
    changed(
        "key changed", "SELECT item, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY item",
        "SELECT region, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY region",
        spec=replace(COUNTED, group=lambda o: o.region),
        told=("- GROUP BY ITEM", "+ GROUP BY REGION"),
    ),
    changed(
        "same names over another topic", "KAFKA_TOPIC='orders'", "KAFKA_TOPIC='others'",
        told=("topic 'orders'", "topic 'others'"),
    ),
    changed(
        "format of the input", "KEY_FORMAT='JSON', VALUE_FORMAT='JSON'",
        "KEY_FORMAT='JSON', VALUE_FORMAT='DELIMITED'", told=("value JSON", "value DELIMITED"),
    ),
    Case(
        "column in the middle of lines", ORDERS.replace("VALUE_FORMAT='JSON'", LINES) + TOTALS,
        ORDERS.replace("VALUE_FORMAT='JSON'", LINES).replace("price INT", "shop INT, price INT")
        + TOTALS, COUNTED, COUNTED, (), ("SHOP INTEGER",),
    ),
    changed(
        "format of the output", "CREATE TABLE totals AS",
        "CREATE TABLE totals WITH (VALUE_FORMAT='DELIMITED') AS",
        told=("- value JSON", "+ value DELIMITED"),
    ),
    changed(
        "topic of the output", "CREATE TABLE totals AS",
        "CREATE TABLE totals WITH (KAFKA_TOPIC='t') AS",
        told=("- topic 'TOTALS'", "+ topic 't'"),
    ),
    changed(
        "type of an input column", "price INT", "price BIGINT",
        told=("- reads PRICE INTEGER", "+ reads PRICE BIGINT"),
    ),
    # What does not reach the state
    changed("statement added in front", TOTALS, PICKED + TOTALS, *ALWAYS),
    changed("statement added behind", TOTALS, TOTALS + PICKED, *ALWAYS),
    Case("order of statements", ORDERS + TOTALS + PICKED, ORDERS + PICKED + TOTALS, COUNTED,
         COUNTED, ALWAYS),
    Case("statement removed", ORDERS + PICKED + TOTALS, ORDERS + TOTALS, COUNTED, COUNTED, ALWAYS),
    changed("an alias", "SELECT item, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY item",
            "SELECT o.item AS item, COUNT(*) AS n, SUM(o.price) AS total FROM orders o"
            " GROUP BY o.item", *ALWAYS),
    changed("input column that no query reads", "region VARCHAR", "shop VARCHAR", "plain"),
    changed("spaces and a comment", "COUNT(*) AS n,", "count( * )  AS n, -- how many\n", *ALWAYS),
    # A stream without state
    picked(
        "columns swapped", "item, price FROM", "price, item FROM",
        spec=Mapped((("PRICE", lambda o: o.price), ("ITEM", lambda o: o.item))),
        told=("column ITEM STRING",),
    ),
    picked(
        "column added", "price FROM", "price, region FROM", *ALWAYS,
        spec=replace(CHOSEN, columns=(*CHOSEN.columns, ("REGION", lambda o: o.region))),
    ),
    picked(
        "column removed", ", price FROM", " FROM", told=("- column PRICE INTEGER",),
        spec=replace(CHOSEN, columns=CHOSEN.columns[:1]),
    ),
    picked(
        "column renamed", "price FROM", "price AS cost FROM", told=("+ column COST INTEGER",),
        spec=replace(CHOSEN, columns=(CHOSEN.columns[0], ("COST", lambda o: o.price))),
    ),
    picked("another expression", "price FROM", "price + 1 AS price FROM", *ALWAYS,
           spec=replace(CHOSEN, columns=(CHOSEN.columns[0], ("PRICE", lambda o: o.price + 1)))),
    picked("WHERE added", "FROM orders", "FROM orders WHERE price > 3", *ALWAYS,
           spec=replace(CHOSEN, where=lambda o: o.price > 3)),
    picked("key changed", "SELECT id, item, price FROM orders",
           "SELECT id, item, price FROM orders PARTITION BY item",
           told=("+ PARTITION BY ITEM",),
           spec=Mapped((("ID", lambda o: o.id), ("PRICE", lambda o: o.price)),
                       key=lambda o: o.item)),
    picked("same names over another topic", "KAFKA_TOPIC='orders'", "KAFKA_TOPIC='others'",
           told=("topic 'others'",)),
    picked("format of the output", "CREATE STREAM picked AS",
           "CREATE STREAM picked WITH (VALUE_FORMAT='DELIMITED') AS", told=("+ value DELIMITED",)),
    # A join keeps the rows of its table
    joined("WHERE added", "= i.name;", "= i.name WHERE o.price > 3;", *ALWAYS,
           spec=replace(WITH_KIND, where=lambda o: o.price > 3)),
    joined("column of the stream added", "i.kind AS kind", "i.kind AS kind, o.region AS region",
           *ALWAYS,
           spec=replace(WITH_KIND, columns=(*WITH_KIND.columns, ("REGION", lambda o: o.region)))),
    joined("aliases", RICH[RICH.index("SELECT") :],
           "SELECT a.item AS item, a.price AS price, b.kind AS kind"
           " FROM orders a JOIN items b ON a.item = b.name;", *ALWAYS),
    joined("another kind of join", "orders o JOIN", "orders o LEFT JOIN",
           told=("- INNER JOIN", "+ LEFT JOIN")),
    joined("another topic of the table", "KAFKA_TOPIC='items'", "KAFKA_TOPIC='items2'",
           told=("topic 'items2'",)),
    joined("column of the table added", "kind VARCHAR)", "kind VARCHAR, weight INT)",
           told=("WEIGHT INTEGER",)),
    joined("time of the table's rows", "i.kind AS kind", "i.kind AS kind, i.rowtime AS since",
           told=("ROWTIME",),
           spec=replace(WITH_KIND, columns=(*WITH_KIND.columns, ("SINCE", lambda o: 0)))),
]  # fmt: skip
