"""SHOW, DESCRIBE and EXPLAIN as the JSON that ksqlDB's clients read.

Exercises ``entities.listings``, ``entities.sources``, ``entities.queries``, ``entities.schemas``
and ``entities.facts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.server.entities.queries import aggregate_status
from penstock.server.entities.schemas import schema_info
from penstock.server.errors import BadStatementError
from penstock.server.node import ServerNode
from penstock.sql.catalog.type_names import resolve
from penstock.sql.syntax.parser import parse_type
from tests.unit.server.memory import Runtime, new_node
from tests.unit.server.test_node import wait_until

SCRIPT = """
    CREATE TYPE address AS STRUCT<street STRING, no INT>;
    CREATE STREAM s (k INT KEY, v DECIMAL(4, 2), h BYTES HEADER('x'))
        WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
    CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k;
"""


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[ServerNode, Runtime]]:
    node, runtime = new_node()
    with node:
        node.execute(SCRIPT)
        wait_until(lambda: bool(runtime.started))
        yield node, runtime


@pytest.fixture
def node(made: tuple[ServerNode, Runtime]) -> ServerNode:
    return made[0]


def one(node: ServerNode, sql: str) -> dict[str, Any]:
    (entity,) = node.execute(sql)
    assert entity["statementText"] == sql
    assert entity["warnings"] == []
    return entity


def test_streams_and_tables_are_listed(node: ServerNode) -> None:
    assert one(node, "SHOW STREAMS;")["streams"] == [
        {
            "type": "STREAM", "name": "S", "topic": "s", "keyFormat": "KAFKA",
            "valueFormat": "JSON", "isWindowed": False,
        }
    ]  # fmt: skip
    (table,) = one(node, "LIST TABLES;")["tables"]
    assert (table["type"], table["name"], table["isWindowed"]) == ("TABLE", "T", True)


def test_queries_are_listed_with_their_state(node: ServerNode) -> None:
    (query,) = one(node, "SHOW QUERIES;")["queries"]
    assert query["state"] == "RUNNING"
    assert query["statusCount"] == {"RUNNING": 1}
    assert query["sinks"] == ["T"]
    assert query["sinkKafkaTopics"] == ["T"]
    assert query["queryType"] == "PERSISTENT"


def test_description_has_columns_and_queries(node: ServerNode) -> None:
    described = one(node, "DESCRIBE s;")["sourceDescription"]
    assert [field["name"] for field in described["fields"]] == ["K", "V", "H"]
    assert [field.get("type") for field in described["fields"]] == ["KEY", None, "HEADER"]
    assert described["fields"][1]["schema"] == {
        "type": "DECIMAL", "fields": None, "memberSchema": None,
        "parameters": {"precision": 4, "scale": 2},
    }  # fmt: skip
    assert described["fields"][2]["headerKey"] == "x"
    assert [query["sinks"] for query in described["readQueries"]] == [["T"]]
    assert described["statement"].startswith("CREATE STREAM s")


def test_extended_descriptions_say_so(node: ServerNode) -> None:
    described = one(node, "DESCRIBE t EXTENDED;")["sourceDescription"]
    assert described["extended"] is True
    assert described["windowType"] == "TUMBLING"
    assert len(described["queryOffsetSummaries"]) == 1
    (listed,) = one(node, "DESCRIBE TABLES EXTENDED;")["sourceDescriptions"]
    assert listed == described
    assert len(one(node, "SHOW STREAMS EXTENDED;")["sourceDescriptions"]) == 1


def test_extended_queries_have_errors_per_query(made: tuple[ServerNode, Runtime]) -> None:
    node, runtime = made
    (query_id,) = node.engine.queries
    runtime.applications[query_id].fail(StreamsError("broker-away", "Kafka is gone"))
    wait_until(lambda: bool(node.failures(query_id)))
    (described,) = one(node, "SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert described["state"] == "ERROR"
    assert described["ksqlHostQueryStatus"] == {node.host: "ERROR"}
    (error,) = described["queryErrors"]
    assert error["type"] == "SYSTEM"
    assert error["queryId"] == query_id
    node.supervisor.retry(query_id)
    wait_until(lambda: node.supervisor.status(query_id) == "RUNNING")


def test_explain_describes_queries_and_statements(node: ServerNode) -> None:
    (query_id,) = node.engine.queries
    described = one(node, f"EXPLAIN {query_id};")["queryDescription"]
    assert described["id"] == query_id
    assert described["sources"] == ["S"]
    assert "GROUP BY" in described["executionPlan"]
    assert "Sub-topology" in described["topology"]
    other = one(node, "EXPLAIN SELECT k FROM s EMIT CHANGES;")["queryDescription"]
    assert [field["name"] for field in other["fields"]] == ["K"]
    assert other["queryType"] == "PUSH"
    with pytest.raises(BadStatementError):
        node.execute("EXPLAIN nothing;")


def test_functions_are_listed_and_described(node: ServerNode) -> None:
    names = one(node, "SHOW FUNCTIONS;")["functions"]
    assert {"name": "COUNT", "type": "aggregate", "category": ""} in names
    described = one(node, "DESCRIBE FUNCTION substring;")
    assert described["name"] == "SUBSTRING"
    assert described["type"] == "SCALAR"
    assert described["functions"][0]["returnType"]
    with pytest.raises(BadStatementError):
        node.execute("DESCRIBE FUNCTION nope;")


def test_types_properties_and_topics_are_listed(node: ServerNode) -> None:
    types = one(node, "SHOW TYPES;")["types"]
    assert types["ADDRESS"]["type"] == "STRUCT"
    assert [field["name"] for field in types["ADDRESS"]["fields"]] == ["STREET", "NO"]
    listed = one(node, "SHOW PROPERTIES;")
    names = {each["name"]: each for each in listed["properties"]}
    assert names["ksql.service.id"]["scope"] == "KSQL"
    assert not names["ksql.functions.python.enabled"]["editable"]
    (changed,) = node.execute("SHOW PROPERTIES;", {"auto.offset.reset": "earliest"})
    assert changed["overwrittenProperties"] == ["auto.offset.reset"]
    assert one(node, "SHOW TOPICS;")["topics"] == []
    assert one(node, "SHOW ALL TOPICS EXTENDED;")["@type"] == "kafka_topics_extended"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("VARCHAR", "STRING"), ("INT", "INTEGER"), ("BIGINT", "BIGINT"), ("BYTES", "BYTES"),
        ("TIMESTAMP", "TIMESTAMP"), ("MAP<STRING, INT>", "MAP"), ("ARRAY<DATE>", "ARRAY"),
    ],
)  # fmt: skip
def test_types_have_ksqldbs_names(text: str, name: str) -> None:
    info = schema_info(resolve(parse_type(text), {}))
    assert info["type"] == name
    assert (info["memberSchema"] is None) == (name not in ("MAP", "ARRAY"))


def test_error_on_one_host_is_an_error() -> None:
    assert aggregate_status({"a": "RUNNING", "b": "ERROR"}) == "ERROR"
    assert aggregate_status({"a": "RUNNING", "b": "UNRESPONSIVE"}) == "RUNNING"
    assert aggregate_status({"a": "PAUSED"}) == "PAUSED"
    assert aggregate_status({}) == "RUNNING"
