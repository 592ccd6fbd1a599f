"""Names of key columns in the bytes: both sides of a join have the same."""

import json

import pytest

from penstock.topology.nodes import Sink
from tests.unit.sql.queries import columns_of, engine_of
from tests.unit.sql.test_composite_joins import PRICES, SALES, STOCK

VISITS = (
    "CREATE STREAM visits (place VARCHAR KEY, thing VARCHAR KEY, n INT)"
    " WITH (KAFKA_TOPIC='visits', FORMAT='JSON');"
)


def test_a_rekeyed_stream_writes_the_names_of_the_table() -> None:
    """JSON has the names in the bytes, which decide the partition."""
    create = (
        "CREATE STREAM x WITH (KEY_FORMAT='JSON') AS SELECT p.shop, s.item, id, each FROM sales s"
        " JOIN prices p ON s.item = p.what AND p.shop = s.shop;"
    )
    engine = engine_of(SALES, PRICES, create)
    assert columns_of(engine, "X") == "P_SHOP STRING KEY, ITEM STRING KEY, ID INTEGER, EACH INTEGER"
    sinks = [node for node in engine.topology().graph.nodes.values() if isinstance(node, Sink)]
    (serde,) = [sink.key_serde for sink in sinks if sink.is_internal]
    assert serde is not None
    assert json.loads(serde.encode(("a", "fig"))) == {"SHOP": "a", "WHAT": "fig"}


@pytest.mark.parametrize(
    ("sources", "join", "written"),
    [
        ((VISITS, PRICES), "visits l JOIN prices r ON l.place = r.shop AND l.thing = r.what", 1),
        ((STOCK, PRICES), "stock l JOIN prices r ON l.place = r.shop AND l.thing = r.what", 1),
        ((VISITS, STOCK), "visits l JOIN stock r ON l.thing = r.thing AND l.place = r.place", 0),
    ],
)
def test_topics_with_other_names_are_written_anew(
    sources: tuple[str, ...], join: str, written: int
) -> None:
    """Equal keys have equal bytes; where the names are the same, nothing is written."""
    kind = "TABLE" if "stock l" in join else "STREAM"
    create = f"CREATE {kind} x AS SELECT l.place, l.thing, l.n AS n FROM {join};"
    topics = engine_of(*sources, create).topology().graph.internal_topics
    assert len(topics) == written


def test_the_names_of_an_inner_query_are_not_those_in_the_bytes() -> None:
    """AS gives a key another name; its topic still has the old one."""
    create = (
        "CREATE TABLE x AS SELECT l.a, l.b, l.n AS n FROM"
        " (SELECT place AS a, thing AS b, n FROM stock) l"
        " JOIN stock r ON l.a = r.place AND l.b = r.thing;"
    )
    assert not engine_of(STOCK, create).topology().graph.internal_topics
