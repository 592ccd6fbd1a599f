"""``WITH (SINK='…')``: the result of a query is written to a table of a lakehouse, too.

Exercises ``sql.lake_rows`` and ``sql.spark_types``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.model.windows.windowed import Window, Windowed
from penstock.sql import AnalysisError, SqlEngine
from penstock.sql.lake_rows import LakeRowSerde
from penstock.topology.nodes import ToLake

ORDERS = (
    "CREATE STREAM orders (id VARCHAR KEY, item VARCHAR, amount INT)"
    " WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);"
)


def lake_node(statement: str) -> ToLake:
    engine = SqlEngine()
    engine.execute(ORDERS + statement)
    (query,) = engine.queries.values()
    (node,) = (each for each in query.topology.graph.nodes.values() if isinstance(each, ToLake))
    return node


@pytest.mark.parametrize("kind", ["delta:/lake/large", "iceberg:shop.large"])
def test_a_stream_has_its_columns_as_a_struct(kind: str) -> None:
    node = lake_node(
        f"CREATE STREAM large WITH (SINK='{kind}') AS SELECT id, item, amount FROM orders;"
    )
    assert (node.topic, node.name) == (kind, "SINK")
    assert (node.key_type, node.value_type) == ("string", "struct<`ITEM`:string,`AMOUNT`:int>")
    assert not node.is_windowed


def test_a_table_has_all_columns_of_its_key() -> None:
    node = lake_node(
        "CREATE TABLE t WITH (SINK='delta:/lake/t', KEY_FORMAT='JSON') AS"
        " SELECT id, item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR)"
        " GROUP BY id, item;"
    )
    assert node.key_type == "struct<`ID`:string,`ITEM`:string>"
    assert node.value_type == "struct<`N`:bigint>"
    assert node.is_windowed


def test_a_table_may_have_its_present_rows() -> None:
    node = lake_node(
        "CREATE TABLE t WITH (SINK='delta:/lake/t', SINK_MODE='present') AS"
        " SELECT id, COUNT(*) AS n FROM orders GROUP BY id;"
    )
    assert node.has_present_rows


SELECT = "SELECT id, item, COUNT(*) AS n FROM orders GROUP BY id, item;"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE STREAM s WITH ({}) AS SELECT * FROM orders;", "not of a STREAM with 1"),
        ("CREATE TABLE t WITH (KEY_FORMAT='JSON', {}) AS " + SELECT, "not of a TABLE with 2"),
    ],
)
def test_present_rows_need_a_table_with_one_key(statement: str, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        SqlEngine().execute(ORDERS + statement.format("SINK='delta:/lake/t', SINK_MODE='PRESENT'"))


@pytest.mark.parametrize("properties", ["SINK_MODE='PRESENT'", "SINK='delta:/l', SINK_MODE='x'"])
def test_a_mode_without_sense_is_refused(properties: str) -> None:
    with pytest.raises(AnalysisError, match="SINK_MODE") as caught:
        SqlEngine().execute(
            f"{ORDERS} CREATE STREAM s WITH ({properties}) AS SELECT * FROM orders;"
        )
    assert caught.value.code == "bad-property"


def test_the_topic_gets_the_rows_as_always() -> None:
    engine = SqlEngine()
    engine.execute(
        ORDERS + "CREATE STREAM large WITH (SINK='delta:/lake/large') AS"
        " SELECT id, amount FROM orders WHERE amount > 1;"
        "INSERT INTO orders (id, amount) VALUES ('a', 1), ('b', 2);"
    )
    queries = engine.local()
    found: dict[str, list[Any]] = {}
    for made in queries.produced:
        found.setdefault(made.topic, []).append(json.loads(made.value or b"null"))
    assert found == {"LARGE": [{"AMOUNT": 2}], "delta:/lake/large": [{"AMOUNT": 2}]}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE STREAM s WITH (SINK='lake') AS SELECT * FROM orders;", "rows cannot go to 'lake'"),
        ("CREATE STREAM s WITH (SINK='iceberg:/lake/s') AS SELECT * FROM orders;", "namespace"),
        ("CREATE STREAM s WITH (SINK=5) AS SELECT * FROM orders;", "rows cannot go to '5'"),
    ],
)
def test_a_sink_that_cannot_be_written_is_refused_at_its_place(
    statement: str, message: str
) -> None:
    with pytest.raises(AnalysisError, match=message) as caught:
        SqlEngine().execute(ORDERS + statement)
    assert caught.value.code == "bad-property"
    assert caught.value.line


def test_a_declared_stream_has_no_sink() -> None:
    """It is written by others, and no query of it exists that could write a table."""
    with pytest.raises(AnalysisError, match="'SINK' cannot be used here"):
        SqlEngine().execute(ORDERS.replace("PARTITIONS=1", "SINK='delta:/lake/s'"))


def test_a_sink_may_come_and_go() -> None:
    """It is no part of the state of a query."""
    engine = SqlEngine()
    select = "SELECT id, amount FROM orders;"
    engine.execute(f"{ORDERS} CREATE STREAM s AS {select}")
    for properties in ("WITH (SINK='delta:/lake/s')", "WITH (SINK='delta:/lake/t')", ""):
        engine.execute(f"CREATE OR REPLACE STREAM s {properties} AS {select}")


@pytest.mark.parametrize(
    ("type_", "value", "written"),
    [
        (BOOLEAN, True, True),
        (INTEGER, 5, 5),
        (BIGINT, 2**62, 2**62),
        (DOUBLE, 1.5, 1.5),
        (DOUBLE, float("nan"), "NaN"),
        (DOUBLE, float("-inf"), "-Infinity"),
        (STRING, "x", "x"),
        (BYTES, b"\x00\xff", "AP8="),
        (DATE, 1, "1970-01-02"),
        (DATE, 10**9, None),
        (TIME, 3_600_001, "01:00:00.001"),
        (TIMESTAMP, 1_500, "1970-01-01T00:00:01.500+00:00"),
        (TIMESTAMP, 10**18, None),
        (
            DecimalType(30, 2),
            Decimal("12345678901234567890123456.78"),
            "12345678901234567890123456.78",
        ),
        (ArrayType(DATE), [0, None], ["1970-01-01", None]),
        (MapType(STRING, TIME), {"a": 0, None: 1}, {"a": "00:00:00.000"}),
        (
            StructType((Field("A", DATE), Field("B", STRING))),
            {"A": 0},
            {"A": "1970-01-01", "B": None},
        ),
    ],
)
def test_every_type_is_written_as_spark_reads_it(type_: SqlType, value: Any, written: Any) -> None:
    key = LakeRowSerde.of_key([Field("K", type_)])
    row = LakeRowSerde.of_value([Field("K", type_), Field("L", INTEGER)])
    assert json.loads(key.encode((value,))) == written
    assert json.loads(row.encode((value, None))) == {"K": written, "L": None}
    windowed = json.loads(key.encode(Windowed((value,), Window(0, 9))))
    assert windowed == {"key": written, "window_start": 0, "window_end": 9}


def test_a_row_without_a_key_or_a_value_has_null() -> None:
    assert LakeRowSerde.of_key([]).spark_type is None
    assert LakeRowSerde.of_value([Field("K", STRING)]).spark_type == "struct<`K`:string>"
