"""How answers look: entities, errors, rows.

Exercises ``prompt.entities``, ``source_text``, ``error_text`` and ``row_table``.
"""

import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console, RenderableType

from penstock.cli.sql.prompt.entities import shown
from penstock.cli.sql.prompt.error_text import caret_text, error_text, plain_error
from penstock.cli.sql.prompt.row_table import RowLines, json_row, row_table
from penstock.client.errors import refusal
from penstock.client.rows import Columns
from penstock.errors import ConfigError
from penstock.model.sql.errors import ParseError
from penstock.model.sql.span import Span


def printed(*parts: RenderableType, width: int = 100) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    for part in parts:
        console.print(part)
    return file.getvalue()


FIELDS = [
    {"name": "ID", "schema": {"type": "STRING"}, "type": "KEY"},
    {"name": "N", "schema": {"type": "ARRAY", "memberSchema": {"type": "BIGINT"}}},
]
SOURCE = {
    "name": "ORDERS", "type": "TABLE", "fields": FIELDS, "topic": "orders", "partitions": 4,
    "replication": 1, "keyFormat": "KAFKA", "valueFormat": "JSON", "extended": True,
    "statement": "CREATE TABLE ORDERS ...;", "windowType": "TUMBLING",
    "readQueries": [{"id": "Q1", "queryString": "SELECT\n1", "statusCount": {"RUNNING": 1}}],
    "statistics": "messages-per-sec: 3",
    "queryOffsetSummaries": [{
        "groupId": "g",
        "topicSummaries": [{
            "kafkaTopic": "orders",
            "offsets": [{"partition": 0, "logEndOffset": 9, "consumerOffset": 4}],
        }],
    }],
}  # fmt: skip
QUERY = {
    "id": "CTAS_T_1", "queryType": "PERSISTENT", "sources": ["A"], "sinks": ["T"],
    "statementText": "CREATE TABLE T AS SELECT 1;", "fields": FIELDS, "topology": "Topologies:",
    "executionPlan": " > [ SINK ]", "overriddenProperties": {"auto.offset.reset": "earliest"},
    "queryErrors": [{"type": "USER", "errorMessage": "bad row"}],
    "ksqlHostQueryStatus": {"h:1": "RUNNING"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("entity", "texts"),
    [
        ({"@type": "currentStatus", "commandStatus": {"status": "SUCCESS", "message": "made",
          "queryId": "Q1"}, "warnings": [{"message": "careful"}]},
         ["✓ made", "query Q1", "warning: careful"]),
        ({"@type": "currentStatus", "commandStatus": {"status": "ERROR", "message": "no"}},
         ["✗ no"]),
        ({"@type": "streams", "streams": [{"name": "A", "topic": "a", "isWindowed": False}]},
         ["Stream", "A ", "no"]),
        ({"@type": "kafka_topics", "topics": [{"name": "a", "replicaInfo": [1, 1]}]}, ["2", "a "]),
        ({"@type": "kafka_topics_extended", "topics": [
            {"name": "a", "replicaInfo": [3], "consumerCount": 7, "consumerGroupCount": 2}]},
         ["Consumers", "7"]),
        ({"@type": "queries", "queries": [{"id": "Q", "statusCount": {"RUNNING": 2},
          "queryString": "a\n  b", "sinks": ["T"]}]}, ["RUNNING:2", "a b", "T"]),
        ({"@type": "properties", "properties": [{"name": "p", "scope": "KSQL", "level": "SERVER",
          "value": "1"}]}, ["KSQL", "SERVER"]),
        ({"@type": "properties", "properties": {"p": "1"}}, ["p ", "1"]),
        ({"@type": "function_names", "functions": [{"name": "LEN", "type": "SCALAR"}]}, ["LEN"]),
        ({"@type": "describe_function", "name": "LEN", "description": "length", "functions": [
            {"arguments": [{"name": "text", "type": "STRING", "isVariadic": True,
             "description": "what"}], "returnType": "INTEGER", "description": "counts"}]},
         ["LEN(text STRING...) -> INTEGER", "text: what", "counts"]),
        ({"@type": "type_list", "types": {"T": {"type": "INTEGER"}}}, ["T ", "INTEGER"]),
        ({"@type": "variables", "variables": [{"name": "v", "value": "1"}]}, ["v ", "1"]),
        ({"@type": "connector_list", "connectors": [{"name": "pg", "state": "RUNNING"}]}, ["pg"]),
        ({"@type": "connector_plugins_list", "connectorsPlugins": [{"className": "io.A"}]},
         ["io.A"]),
        ({"@type": "connector_description", "connectorClass": "io.A", "topics": ["t1"], "status": {
            "name": "pg", "type": "source", "connector": {"state": "FAILED"},
            "tasks": [{"id": 0, "state": "FAILED", "trace": "boom"}]}},
         ["io.A", "FAILED", "boom", "t1"]),
        ({"@type": "connector_info", "info": {"name": "pg"}}, ["connector pg created"]),
        ({"@type": "drop_connector", "connectorName": "pg"}, ["connector pg dropped"]),
        ({"@type": "terminate_query", "queryId": "Q"}, ["query Q terminated"]),
        ({"@type": "assert_topic", "topicName": "t", "exists": False}, ["t does not exist"]),
        ({"@type": "assert_schema", "subject": None, "id": 3, "exists": True},
         ["schema 3 exists"]),
        ({"@type": "warning_entity", "message": "hm"}, ["hm"]),
        ({"@type": "executionPlan", "executionPlanText": "plan"}, ["plan"]),
        ({"@type": "topicDescription", "name": "A", "topic": "a"}, ["A "]),
        ({"@type": "sourceDescription", "sourceDescription": SOURCE},
         ["primary key", "ARRAY<BIGINT>", "TUMBLING", "Q1 (RUNNING:1): SELECT 1", "lag 5",
          "messages-per-sec"]),
        ({"@type": "source_descriptions", "sourceDescriptions": [{**SOURCE, "extended": False}]},
         ["DESCRIBE ORDERS EXTENDED;"]),
        ({"@type": "queryDescription", "queryDescription": QUERY},
         ["CTAS_T_1", "RUNNING:1", "[ SINK ]", "auto.offset.reset", "USER error: bad row"]),
        ({"@type": "query_descriptions", "queryDescriptions": [QUERY]}, ["Topologies:"]),
        ({"@type": "new_kind", "answer": 42}, ['"answer": 42']),
    ],
)  # fmt: skip
def test_every_kind_of_entity_is_shown(entity: dict[str, Any], texts: list[str]) -> None:
    text = printed(*shown(entity))
    for wanted in texts:
        assert wanted in text, text


def test_caret_is_below_the_word() -> None:
    assert str(caret_text("SELECT a,\n\tb c", 2, 4)) == "  2 | \tb c\n    | \t  ^"
    assert str(caret_text("SELECT '注文' FORM", 1, 13)) == (
        "  1 | SELECT '注文' FORM\n    |               ^^^^"
    )
    assert str(caret_text("SELECT", 9, 1)) == ""
    assert str(caret_text("a", 1, 5)).endswith("^")


def test_error_of_the_server_shows_its_own_code_and_fix() -> None:
    """The server sends Penstock's own message; its place is drawn once."""
    message = (
        "[unexpected-token] unexpected 'FORM'; expected 'FROM'\n  at:  line 1, column 10\n"
        "       SELECT * FORM a;\n                ^^^^\n  fix: did you mean 'FROM'?"
    )
    error = refusal(400, {"error_code": 40001, "message": message}, "SELECT * FORM a;")
    assert str(error_text(error)).splitlines() == [
        "[unexpected-token] unexpected 'FORM'; expected 'FROM'",
        "  1 | SELECT * FORM a;",
        "    |          ^^^^",
        "  fix: did you mean 'FROM'?",
    ]


def test_other_errors_keep_their_text() -> None:
    assert str(error_text(ConfigError("c", "m", "f"))) == "[c] m\n  fix: f"
    parse = ParseError("p", "m", span=Span(0, 1, 1, 1), source="x")
    assert plain_error(parse)["error"] == {"code": "p", "message": "m", "line": 1, "column": 1}
    assert plain_error(ConfigError("c", "m", "f"))["error"] == {
        "code": "c", "message": "m", "fix": "f",
    }  # fmt: skip


COLUMNS = Columns.of(["ID", "N", "AT", "S"], ["STRING", "DECIMAL(4, 1)", "TIMESTAMP",
                                              "STRUCT<A BYTES>"])  # fmt: skip
ROW = COLUMNS.row(["x" * 30, Decimal("1.5"), "2024-01-02T03:04:05.006", {"A": "AQ=="}])


def test_table_wraps_or_cuts_to_the_width() -> None:
    wrapped = printed(row_table(COLUMNS, [ROW], 70), width=70)
    assert max(map(len, wrapped.splitlines())) <= 70
    assert wrapped.count("x") == 30
    cut = printed(row_table(COLUMNS, [ROW], 70, is_wrapped=False), width=70)
    assert "…" in cut
    assert "+-" in printed(row_table(COLUMNS, [ROW], 160, is_terminal=False), width=160)


def test_lines_keep_to_the_width_of_the_terminal() -> None:
    lines = RowLines(COLUMNS, 72)
    assert [len(str(line)) <= 72 for line in (lines.heading(), *lines.lines([ROW]))] == [True] * 2
    assert "x" * 30 in str(RowLines(COLUMNS, None).lines([ROW])[0])


def test_json_has_dates_and_bytes_as_text() -> None:
    assert json_row(ROW) == {
        "ID": "x" * 30,
        "N": "1.5",
        "AT": "2024-01-02T03:04:05.006",
        "S": {"A": "AQ=="},
    }
    assert ROW["AT"] == datetime(2024, 1, 2, 3, 4, 5, 6000, UTC)
