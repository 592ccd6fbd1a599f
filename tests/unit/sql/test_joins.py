"""Joins: which are possible, what their key is, what comes out.

Exercises ``planner.analysis``, ``join_sides`` and ``planner.names``.
"""

import pytest

from penstock.topology.nodes import Sink
from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running

SHIPMENTS = (
    "CREATE STREAM shipments (id INT KEY, order_id INT, place VARCHAR)"
    " WITH (KAFKA_TOPIC='shipments', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
KINDS = (
    "CREATE TABLE kinds (kind VARCHAR PRIMARY KEY, tax INT)"
    " WITH (KAFKA_TOPIC='kinds', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
OWNERS = (
    "CREATE TABLE owners (name VARCHAR PRIMARY KEY, owner VARCHAR)"
    " WITH (KAFKA_TOPIC='owners', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)


def test_stream_finds_the_row_of_a_table() -> None:
    """The stream is repartitioned by the column it joins on."""
    create = (
        "CREATE STREAM x AS SELECT o.item, kind, price FROM orders o"
        " LEFT JOIN items i ON o.item = i.name;"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("orders", 2, {"item": "nut", "price": 3})
        assert script.read("X") == [
            ("fig", {"KIND": "fruit", "PRICE": 2}),
            ("nut", {"KIND": None, "PRICE": 3}),
        ]


def test_streams_join_within_a_time() -> None:
    """Records further apart than WITHIN are no partners."""
    create = (
        "CREATE STREAM x AS SELECT o.id, place FROM orders o"
        " JOIN shipments s WITHIN 10 MILLISECONDS ON o.id = s.order_id;"
    )
    with running(ORDERS, SHIPMENTS, create) as script:
        script.pipe("orders", 1, {"item": "fig"}, 0)
        script.pipe("shipments", 8, {"order_id": 1, "place": "here"}, 9)
        script.pipe("shipments", 9, {"order_id": 1, "place": "late"}, 11)
        assert script.read("X") == [(1, {"PLACE": "here"})]


@pytest.mark.parametrize(
    ("grace", "expected"),
    [
        ("", [(1, {"PLACE": None}), (1, {"PLACE": "here"})]),
        (" GRACE PERIOD 0 SECONDS", [(1, {"PLACE": "here"})]),
    ],
)
def test_left_join_without_grace_does_not_wait(grace: str, expected: object) -> None:
    """Without GRACE PERIOD a record without a partner comes at once, with it when time is up."""
    create = (
        "CREATE STREAM x AS SELECT o.id, place FROM orders o LEFT JOIN shipments s"
        f" WITHIN 10 MILLISECONDS{grace} ON o.id = s.order_id;"
    )
    with running(ORDERS, SHIPMENTS, create) as script:
        script.pipe("orders", 1, {"item": "fig"}, 0)
        script.pipe("shipments", 8, {"order_id": 1, "place": "here"}, 9)
        assert script.read("X") == expected


def test_right_join_mirrors_the_left() -> None:
    """Before and after of WITHIN change places, columns do not."""
    create = (
        "CREATE STREAM x AS SELECT s.order_id, o.item, place FROM orders o RIGHT JOIN shipments s"
        " WITHIN (0 MILLISECONDS, 10 MILLISECONDS) ON o.id = s.order_id;"
    )
    with running(ORDERS, SHIPMENTS, create) as script:
        script.pipe("orders", 1, {"item": "fig"}, 5)
        script.pipe("shipments", 8, {"order_id": 1, "place": "before"}, 4)
        script.pipe("shipments", 9, {"order_id": 1, "place": "after"}, 6)
        assert [value for _, value in script.read("X")] == [
            {"ITEM": None, "PLACE": "before"},
            {"ITEM": "fig", "PLACE": "after"},
        ]


def test_full_join_has_a_key_of_its_own() -> None:
    """Either side may be missing, so neither side's column is the key."""
    engine = engine_of(
        ITEMS,
        OWNERS,
        "CREATE TABLE x AS SELECT * FROM items i FULL OUTER JOIN owners o ON i.name = o.name;",
    )
    assert columns_of(engine, "X") == (
        "ROWKEY STRING PRIMARY KEY, I_NAME STRING, I_KIND STRING, O_NAME STRING, O_OWNER STRING"
    )


def test_tables_join_on_their_keys() -> None:
    """A row disappears with either side."""
    create = (
        "CREATE TABLE x AS SELECT i.name, kind, owner FROM items i"
        " JOIN owners o ON i.name = o.name;"
    )
    with running(ITEMS, OWNERS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("owners", "fig", {"owner": "ann"})
        script.pipe("owners", "fig", None)
        assert script.read("X") == [("fig", {"KIND": "fruit", "OWNER": "ann"}), ("fig", None)]


def test_table_joins_on_a_foreign_key() -> None:
    """A change of the right row reaches all left rows that point at it."""
    create = "CREATE TABLE x AS SELECT name, tax FROM items i JOIN kinds k ON i.kind = k.kind;"
    with running(ITEMS, KINDS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("kinds", "fruit", {"tax": 7})
        script.pipe("kinds", "fruit", {"tax": 9})
        assert script.read("X") == [("fig", {"TAX": 7}), ("fig", {"TAX": 9})]


def test_several_joins_share_one_key() -> None:
    """The second join needs no repartition when it uses what equals the key."""
    create = (
        "CREATE STREAM x AS SELECT o.item, kind, owner FROM orders o"
        " JOIN items i ON o.item = i.name JOIN owners w ON o.item = w.name;"
    )
    with running(ORDERS, ITEMS, OWNERS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("owners", "fig", {"owner": "ann"})
        script.pipe("orders", 1, {"item": "fig"})
        assert script.read("X") == [("fig", {"KIND": "fruit", "OWNER": "ann"})]
    assert len(script.engine.topology().graph.internal_topics) == 1


def test_columns_of_two_sources_are_told_apart() -> None:
    """A name that both have is prefixed; a star prefixes all."""
    create = "CREATE STREAM x AS SELECT o.id, s.id, place FROM orders o JOIN shipments s"
    engine = engine_of(ORDERS, SHIPMENTS, f"{create} WITHIN 1 SECOND ON o.id = s.order_id;")
    assert columns_of(engine, "X") == "O_ID INTEGER KEY, S_ID INTEGER, PLACE STRING"


def test_key_formats_that_differ_are_made_equal() -> None:
    """Equal keys must have equal bytes, so one side is written anew."""
    plain = SHIPMENTS.replace("KEY_FORMAT='JSON'", "KEY_FORMAT='KAFKA'")
    create = "CREATE STREAM x AS SELECT o.id, place FROM orders o JOIN shipments s"
    engine = engine_of(ORDERS, plain, f"{create} WITHIN 1 SECOND ON o.id = s.id;")
    assert list(engine.topology().graph.internal_topics) == ["Join-right-repartition"]


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ("orders o JOIN shipments s ON o.id = s.id", "join-within"),
        ("orders o JOIN items i WITHIN 1 SECOND ON o.item = i.name", "join-within"),
        ("orders o JOIN items i ON o.item = i.kind", "join-on-non-key"),
        ("orders o FULL OUTER JOIN items i ON o.item = i.name", "join-kind"),
        ("items i JOIN orders o ON o.item = i.name", "join-order"),
        ("items i RIGHT JOIN kinds k ON i.kind = k.kind", "join-kind"),
        ("orders o JOIN items i ON o.id = i.name", "join-types"),
        ("orders o JOIN items i ON o.item > i.name", "join-condition"),
        ("orders o JOIN items i ON o.item = o.id", "join-condition"),
        ("orders JOIN orders WITHIN 1 SECOND ON orders.id = orders.id", "self-join"),
    ],
)
def test_join_that_is_not_possible_is_refused(join: str, code: str) -> None:
    """Each refusal has its own code and says what to do."""
    sources = (ORDERS, SHIPMENTS, ITEMS, KINDS)
    assert refusal(*sources, f"CREATE STREAM x AS SELECT * FROM {join};").code == code


def test_topics_of_different_size_cannot_be_joined() -> None:
    """The error says both numbers."""
    wide = SHIPMENTS.replace("VALUE_FORMAT", "PARTITIONS=3, VALUE_FORMAT")
    create = "CREATE STREAM x AS SELECT * FROM orders o JOIN shipments s WITHIN 1 SECOND"
    error = refusal(ORDERS, wide, f"{create} ON o.id = s.id;")
    assert error.code == "co-partitioning"
    assert "3 partitions" in error.message


def test_keys_with_schemas_have_equal_bytes_on_both_sides() -> None:
    """The schema of a key names its column, so both sides use one name."""
    orders = "CREATE STREAM o (a INT KEY, v INT) WITH (KAFKA_TOPIC='o', FORMAT='PROTOBUF');"
    users = "CREATE TABLE u (b INT PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='u', FORMAT='PROTOBUF');"
    engine = engine_of(orders, users, "CREATE STREAM x AS SELECT a, v, w FROM o JOIN u ON a = b;")
    sinks = [node for node in engine.topology().graph.nodes.values() if isinstance(node, Sink)]
    keys = [sink.key_serde.encode((7,)) for sink in sinks if sink.is_internal and sink.key_serde]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_stores_have_the_numbers_that_ksqldb_counts() -> None:
    """A table's operators count before those of the streams it is joined with."""
    create = (
        "CREATE STREAM x AS SELECT o.id, place, owner FROM orders o"
        " JOIN shipments s WITHIN 1 HOUR ON o.id = s.id JOIN buyers b ON o.id = b.id;"
    )
    buyers = (
        "CREATE TABLE buyers (id INT PRIMARY KEY, owner VARCHAR)"
        " WITH (KAFKA_TOPIC='buyers', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
    )
    stores = engine_of(ORDERS, SHIPMENTS, buyers, create).topology().graph.stores
    # Six for the table, three for each stream, two for the windows of the join.
    assert [name for name in stores if "JOIN" in name] == [
        "KSTREAM-JOINTHIS-0000000014-store",
        "KSTREAM-JOINOTHER-0000000015-store",
    ]


@pytest.mark.parametrize("key_format", ["KAFKA", "DELIMITED", "JSON"])
def test_streams_join_on_a_struct_whatever_their_key_format_is(key_format: str) -> None:
    """Several columns become one key; where the format cannot hold it, the key is JSON."""
    sides = [
        f"CREATE STREAM {name} (id VARCHAR KEY, x INT, y INT) WITH (KAFKA_TOPIC='{name}',"
        f" KEY_FORMAT='{key_format}', VALUE_FORMAT='JSON', PARTITIONS=1);"
        for name in ("a", "b")
    ]
    create = (
        "CREATE STREAM c AS SELECT ROWKEY, a.x AS x, b.y AS y FROM a FULL JOIN b WITHIN 1 HOUR"
        " ON STRUCT(f := a.x, g := a.y) = STRUCT(f := b.x, g := b.y);"
    )
    with running(*sides, create) as script:
        script.pipe("a", None, {"X": 1, "Y": 2})
        script.pipe("b", None, {"X": 1, "Y": 2})
        script.pipe("b", None, {"X": 1, "Y": 3})
        key = {"F": 1, "G": 2}
        assert script.read("C")[:2] == [(key, {"X": 1, "Y": None}), (key, {"X": 1, "Y": 2})]
        assert script.read("C")[2:] == [({"F": 1, "G": 3}, {"X": None, "Y": 3})]
    assert script.engine.sources["C"].key_format.name == "JSON"


@pytest.mark.parametrize("grace", ["", " GRACE PERIOD 1 SECOND"])
def test_full_join_shows_records_without_a_key(grace: str) -> None:
    """They have no partner; the key of the result is NULL, as theirs is."""
    create = (
        "CREATE STREAM x AS SELECT ROWKEY, item, place FROM orders o"
        f" FULL JOIN shipments s WITHIN 10 MILLISECONDS{grace} ON o.id = s.order_id;"
    )
    with running(ORDERS, SHIPMENTS, create) as script:
        script.pipe("orders", None, {"item": "fig"}, 0)
        script.pipe("shipments", 8, {"place": "here"}, 1)
        assert script.read("X") == [
            (None, {"ITEM": "fig", "PLACE": None}),
            (None, {"ITEM": None, "PLACE": "here"}),
        ]


def test_group_by_the_right_key_of_a_left_join_is_by_what_was_joined_on() -> None:
    """As in ksqlDB: the column that SELECT has names the key, and a row without partner has one."""
    with running(
        ORDERS,
        ITEMS,
        "CREATE TABLE counts AS SELECT i.name AS name, COUNT(*) AS n FROM orders o"
        " LEFT JOIN items i ON o.item = i.name GROUP BY i.name;",
    ) as script:
        script.pipe("items", "tea", {"kind": "hot"})
        script.pipe("orders", 1, {"item": "tea", "price": 1})
        script.pipe("orders", 2, {"item": "pen", "price": 1})
        assert script.read("COUNTS") == [("tea", {"N": 1}), ("pen", {"N": 1})]
