"""A server that runs a file: its queries run, and nobody can change anything over HTTP."""

from __future__ import annotations

import pytest

from penstock.model.sql.errors import SqlError
from penstock.server.errors import NotReadyError
from penstock.server.headless import FileLog, file_commands
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.sql import SqlEngine
from tests.unit.server.memory import Runtime

SCRIPT = """
    SET 'auto.offset.reset' = 'earliest';
    DEFINE topic = 'clicks';
    CREATE STREAM clicks (k INT KEY, v INT)
        WITH (KAFKA_TOPIC='${topic}', VALUE_FORMAT='JSON', PARTITIONS=1);
    UNSET 'auto.offset.reset';
    CREATE STREAM big AS SELECT * FROM clicks WHERE v > 10;
"""


def test_file_runs_as_if_its_statements_were_commands() -> None:
    """Settings and variables hold for what stands behind them; ids do not depend on the place."""
    engine, runtime = SqlEngine(), Runtime()
    log = FileLog(file_commands(SCRIPT, engine))
    node = ServerNode(NodeOptions(), engine, QuerySupervisor(runtime, {}), log)
    with node:
        assert list(node.engine.queries) == ["CSAS_BIG_0"]
        assert node.engine.sources["CLICKS"].topic == "clicks"
        assert node.server_status == "RUNNING"
        with pytest.raises(NotReadyError) as refused:
            node.execute("DROP STREAM big;")
        assert refused.value.code == "headless"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO clicks VALUES (1, 2);", "not-in-a-file"),
        ("SELECT * FROM clicks EMIT CHANGES;", "not-in-a-file"),
        ("DROP STREAM clicks;", "not-in-a-file"),
        ("TERMINATE ALL;", "not-in-a-file"),
        ("SHOW STREAMS;", "not-in-a-file"),
        ("CREATE STREAM x AS SELECT k, nope FROM clicks;", "unknown-column"),
        ("CREATE NONSENSE;", "unexpected-token"),
    ],
)
def test_file_is_checked_before_anything_runs(statement: str, code: str) -> None:
    """What cannot stand in a file is refused with its line."""
    script = SCRIPT + statement
    with pytest.raises(SqlError) as refused:
        file_commands(script, SqlEngine())
    assert refused.value.code == code
    assert refused.value.line == script.count("\n") + 1


def test_file_without_a_query_is_refused() -> None:
    """A server that has nothing to run was started by mistake."""
    with pytest.raises(SqlError) as refused:
        file_commands("SET 'auto.offset.reset' = 'earliest';", SqlEngine())
    assert refused.value.code == "no-queries"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "CREATE SOURCE CONNECTOR jdbc WITH ('connector.class'='a.B', 'password'='hush');",
            "CREATE SOURCE CONNECTOR jdbc",
        ),
        (
            "CREATE  SINK\nCONNECTOR `x` WITH ('connector.class'='a.B');",
            "CREATE SINK CONNECTOR `x`",
        ),
        ("DROP CONNECTOR jdbc;", "DROP CONNECTOR jdbc"),
        ("SHOW CONNECTORS;", "SHOW CONNECTORS"),
        ("DESCRIBE CONNECTOR jdbc;", "DESCRIBE CONNECTOR jdbc"),
    ],
)
def test_connectors_in_a_file_are_refused_by_name(statement: str, words: str) -> None:
    """ksqlDB's headless mode has no connectors; the error says where they belong."""
    script = SCRIPT + statement
    with pytest.raises(SqlError) as refused:
        file_commands(script, SqlEngine())
    assert refused.value.code == "connector-in-a-file"
    assert refused.value.message.startswith(f"{words} cannot")
    assert "penstock sql run" in (refused.value.fix or "")
    assert refused.value.line == SCRIPT.count("\n") + 1
    assert "hush" not in str(refused.value)
