"""A script means the same to ``penstock sql run`` and to a server that runs it as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.server.headless import FileLog, file_commands
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.sql import SqlEngine
from penstock.sql.queries.spark_queries import settings_of
from penstock.sql.starting import EXTENSIONS, cluster_settings, new_engine
from tests.unit.server.memory import Runtime

SETTINGS = {
    "ksql.service.id": "shop_",
    "ksql.streams.commit.interval.ms": "50",
    "bootstrap.servers": "b:1",
    "penstock.server.tokens": "secret",
    "listeners": "http://127.0.0.1:1",
    "application.id": "mine",
}
SCRIPT = """
    SET 'auto.offset.reset' = 'earliest';
    CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
    CREATE TABLE t AS SELECT k, COUNT(*) AS n, SUM(twice(v)) AS m FROM s GROUP BY k;
    SET 'num.stream.threads' = '3';
    UNSET 'auto.offset.reset';
    CREATE STREAM a AS SELECT * FROM s WHERE v > 1;
    INSERT INTO a SELECT * FROM s;
    INSERT INTO a SELECT * FROM s PARTITION BY k;
"""


@pytest.fixture
def extensions(tmp_path: Path) -> Path:
    text = "from penstock.sql import udf\n@udf\ndef twice(x: int) -> int:\n    return 2 * x\n"
    (tmp_path / "functions.py").write_text(text, encoding="utf-8")
    return tmp_path


def essence(engine: SqlEngine) -> object:
    """Return what decides which state a query has, and how it runs."""
    topologies = {name: str(each.describe()) for name, each in engine.topologies().items()}
    queries = {
        engine.application_id(query.id): (settings_of(query.plan), query.sink, query.sources)
        for query in engine.queries.values()
    }
    return topologies, queries, {name: each.topic for name, each in engine.sources.items()}


def test_script_and_server_run_the_same_queries(extensions: Path) -> None:
    """Ids, topics, topologies and settings are equal, so one goes on with the other's state."""
    script = new_engine(SETTINGS, extensions=extensions)
    script.execute(SCRIPT)
    engine = new_engine({**SETTINGS, EXTENSIONS: str(extensions)})
    log, runtime = FileLog(file_commands(SCRIPT, engine)), Runtime()
    with ServerNode(NodeOptions(), engine, QuerySupervisor(runtime, {}), log) as node:
        assert essence(node.engine) == essence(script)
        assert len(script.queries) == 4


def test_folder_of_functions_is_a_setting_of_scripts_too(extensions: Path) -> None:
    """An option of the command wins over it."""
    engine = new_engine({EXTENSIONS: str(extensions)})
    assert "TWICE" in engine.functions.scalars
    other = extensions / "empty"
    other.mkdir()
    assert (
        "TWICE" not in new_engine({EXTENSIONS: str(extensions)}, extensions=other).functions.scalars
    )


def test_cluster_gets_only_what_is_its_own() -> None:
    """Tokens and addresses of a server must not travel to Spark's workers."""
    assert cluster_settings({**SETTINGS, "spark.master": "local[2]", "ksql.streams.acks": "1"}) == {
        "bootstrap.servers": "b:1", "commit.interval.ms": "50", "spark.master": "local[2]",
        "acks": "1",
    }  # fmt: skip
