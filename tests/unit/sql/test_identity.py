"""Ids of queries: the same wherever a statement stands in a script."""

from penstock.topology.upgrades.stores import fingerprint_of
from tests.unit.sql.queries import ITEMS, ORDERS, engine_of

SINK = "CREATE STREAM sink AS SELECT id, item FROM orders;"
ONE = "INSERT INTO sink SELECT id, item FROM orders WHERE price > 1;"
TWO = "INSERT INTO sink SELECT id, item FROM orders WHERE price > 2;"
OTHER = ORDERS.replace("orders", "others")
FROM_OTHERS = "INSERT INTO sink SELECT id, item FROM others;"
TOTALS = "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;"


def ids(*statements: str) -> set[str]:
    return set(engine_of(ORDERS, OTHER, ITEMS, *statements).queries)


def test_order_of_statements_does_not_decide() -> None:
    """A query keeps its id, and so its offsets and state."""
    in_order, reordered = ids(SINK, TOTALS, ONE, FROM_OTHERS), ids(SINK, FROM_OTHERS, ONE, TOTALS)
    assert in_order == reordered
    assert in_order == {
        "CSAS_SINK_0", "CTAS_T_0", "INSERTQUERY_SINK_ORDERS_0", "INSERTQUERY_SINK_OTHERS_0",
    }  # fmt: skip


def test_inserts_that_read_and_write_the_same_are_numbered() -> None:
    """A name from the user tells them apart for good."""
    named = TWO.replace("sink", "sink WITH (QUERY_ID='second')")
    assert ids(SINK, ONE, TWO) == {
        "CSAS_SINK_0", "INSERTQUERY_SINK_ORDERS_0", "INSERTQUERY_SINK_ORDERS_1",
    }  # fmt: skip
    assert ids(SINK, ONE, named) == {"CSAS_SINK_0", "INSERTQUERY_SINK_ORDERS_0", "SECOND"}


def test_only_unnamed_inserts_beside_each_other_can_be_mistaken() -> None:
    """Where one stands alone, or has a name, the id says which one it is."""

    def mistakable(*statements: str) -> list[bool]:
        topologies = engine_of(ORDERS, OTHER, SINK, *statements).topologies().values()
        return [fingerprint_of(each.graph).is_one_of_several for each in topologies]

    named = TWO.replace("sink", "sink WITH (QUERY_ID='second')")
    assert mistakable(ONE, TWO) == [False, True, True]
    assert mistakable(ONE, FROM_OTHERS) == [False, False, False]
    assert mistakable(ONE, named) == [False, False, False]


def test_id_is_free_again_when_a_query_has_ended() -> None:
    """Whoever runs queries is told to delete the state of the former one."""
    engine = engine_of(ORDERS, SINK, "DROP STREAM sink;", SINK, ONE)
    engine.execute("TERMINATE INSERTQUERY_SINK_ORDERS_0;")
    assert list(engine.queries) == ["CSAS_SINK_0"]
    assert engine.catalog.ended == ["CSAS_SINK_0", "INSERTQUERY_SINK_ORDERS_0"]
