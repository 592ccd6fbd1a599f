"""Connectors through a real Connect worker on a real broker.

Exercises ``connect.worker``, ``connect.distribution``, ``connect.access``, ``worker_registry`` and
``cli.connect.command``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.connect import worker_registry
from penstock.kafka.embedded import EmbeddedBroker
from penstock.sql import SqlEngine, SqlError
from penstock.sql.queries.spark_queries import SparkQueries
from tests.integration.kafka.records import read, write

pytestmark = pytest.mark.kafka

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def eventually(is_true: Callable[[], Any], timeout_s: float = 180.0) -> Any:
    """Wait until something holds, and return it."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = is_true()
        if found or time.monotonic() > deadline:
            assert found
            return found
        time.sleep(0.1)


@pytest.fixture
def engine(kafka_broker: str) -> Iterator[tuple[SqlEngine, SparkQueries]]:
    engine = SqlEngine({"ksql.service.id": "files_"})
    connection = engine.connect({"bootstrap.servers": kafka_broker})
    yield engine, connection
    connection.close()


def only(engine: SqlEngine, sql: str) -> Any:
    [result] = engine.execute(sql)
    return result


def listed(engine: SqlEngine) -> Any:
    return only(engine, "SHOW CONNECTORS;").connectors


def test_lines_of_a_file_go_through_a_topic_into_another(
    engine: tuple[SqlEngine, SparkQueries],
    kafka_broker: str,
    new_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    """One worker, made by the first statement, runs both connectors; DROP ends them."""
    sql, connection = engine
    topic, source, target = new_topic("lines"), tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("one\ntwo\n", encoding="utf-8")
    plugins = only(sql, "SHOW CONNECTOR PLUGINS;")
    assert {SOURCE, SINK} <= {each.class_name for each in plugins.plugins}
    text = "'key.converter' = 'org.apache.kafka.connect.storage.StringConverter',"
    text += " 'value.converter' = 'org.apache.kafka.connect.storage.StringConverter'"
    sql.execute(f"""
        CREATE SOURCE CONNECTOR `reader` WITH ('connector.class' = '{SOURCE}', {text},
            'file' = '{source}', 'topic' = '{topic}', 'my.password' = 'hush');
        CREATE SINK CONNECTOR `writer` WITH ('connector.class' = '{SINK}', {text},
            'file' = '{target}', 'topics' = '{topic}');
    """)
    write(kafka_broker, topic, [(None, "three")])
    wanted = {"one", "two", "three"}
    eventually(lambda: target.is_file() and wanted <= set(target.read_text("utf-8").split()))
    assert {value for _, value in read(kafka_broker, topic)} == wanted
    eventually(
        lambda: all("1/1" in each.state for each in only(sql, "SHOW CONNECTORS;").connectors)
    )
    described = only(sql, "DESCRIBE CONNECTOR `reader`;")
    assert described.topics == (topic,)
    assert "hush" not in repr(described)
    with pytest.raises(SqlError, match="reader") as refused:
        sql.execute(f"CREATE SOURCE CONNECTOR `reader` WITH ('connector.class' = '{SOURCE}');")
    assert refused.value.code == "connector-exists"
    with pytest.raises(SqlError, match="topic") as invalid:
        sql.execute(f"CREATE SOURCE CONNECTOR `x` WITH ('connector.class' = '{SOURCE}');")
    assert invalid.value.code == "connector-invalid"
    sql.execute("DROP CONNECTOR `reader`; DROP CONNECTOR `writer`;")
    assert only(sql, "SHOW CONNECTORS;").connectors == ()
    worker = connection.connectors._own_worker().folder
    connection.close()
    assert not worker.root.exists()


@pytest.mark.slow
def test_connectors_go_on_with_the_next_engine(
    kafka_broker: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """They are kept in Kafka; ``sync`` starts a worker for them without being asked."""
    topic, source = new_topic("more"), tmp_path / "in.txt"
    source.write_text("one\n", encoding="utf-8")
    settings, kafka = {"ksql.service.id": "again_"}, {"bootstrap.servers": kafka_broker}
    first = SqlEngine(settings)
    connection = first.connect(kafka)
    first.execute(
        f"CREATE SOURCE CONNECTOR `r` WITH ('connector.class' = '{SOURCE}',"
        f" 'file' = '{source}', 'topic' = '{topic}');"
    )
    eventually(lambda: read(kafka_broker, topic))
    connection.close()
    second = SqlEngine(settings)
    with second.connect(kafka) as connection:
        assert connection.connectors.has_worker
        with source.open("a", encoding="utf-8") as lines:
            lines.write("two\n")
        eventually(lambda: '"two"' in {value for _, value in read(kafka_broker, topic)})
        second.execute("DROP CONNECTOR `r`;")


@pytest.mark.slow
def test_a_worker_of_a_project_outlives_the_command(
    embedded_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``penstock connect start`` leaves it running, and every command of the project finds it."""
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    started = run(app, ["connect", "start", "-b", embedded_broker.bootstrap_servers])
    assert started.exit_code == 0, started.output
    try:
        url = worker_registry.running_project_worker()
        assert url is not None
        assert run(app, ["connect", "status"]).exit_code == 0
        assert "already runs" in run(app, ["connect", "start"]).output
        assert only(SqlEngine({"ksql.connect.url": url}), "SHOW CONNECTOR PLUGINS;").plugins
    finally:
        assert run(app, ["connect", "stop"]).exit_code == 0
    assert worker_registry.running_project_worker() is None
    assert run(app, ["connect", "status"]).exit_code == 1


@pytest.mark.slow
def test_a_connector_is_installed_with_what_it_depends_on(tmp_path: Path) -> None:
    """A small module of Maven Central, which is no connector, with one dependency."""
    folder = tmp_path / "plugins"
    made = CliRunner().invoke(
        app, ["connect", "install", "com.google.code.gson:gson:2.11.0", "--plugins", str(folder)]
    )
    if "kafka-download-failed" in made.output:
        pytest.skip("Maven Central cannot be reached")
    assert made.exit_code == 0, made.output
    names = sorted(each.name for each in (folder / "gson-2.11.0").iterdir())
    assert names == ["error_prone_annotations-2.27.0.jar", "gson-2.11.0.jar"]
    listed = CliRunner().invoke(app, ["connect", "plugins", "--plugins", str(folder)])
    assert "gson-2.11.0" in listed.output
