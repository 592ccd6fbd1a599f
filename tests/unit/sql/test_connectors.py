"""Statements about connectors: ``statements.connectors`` and ``connector_results``."""

from typing import Any

import pytest

from penstock.connect.errors import ConnectError, UnknownConnectorError
from penstock.sql import SqlEngine, SqlError
from penstock.sql.connector_results import (
    ConnectorCreated,
    ConnectorDescription,
    ConnectorDropped,
    ConnectorList,
    ConnectorPluginList,
    ConnectorWarning,
)
from penstock.sql.statements.connectors import asks_connect
from penstock.sql.syntax.parser import parse_statement
from tests.unit.connect.fake_connect import SINK, SOURCE, MemoryConnect

CREATE = (
    f"CREATE SOURCE CONNECTOR `lines` WITH ('connector.class' = '{SOURCE}', 'file' = '/tmp/a',"
    " 'tasks.max' = 2, 'skips' = true, 'db.password' = 'hush', 'pin' = '1234');"
)


@pytest.fixture
def connect() -> MemoryConnect:
    return MemoryConnect()


@pytest.fixture
def engine(connect: MemoryConnect) -> SqlEngine:
    return SqlEngine(connectors=connect)


def refused(engine: SqlEngine, sql: str) -> SqlError:
    with pytest.raises(SqlError) as error:
        engine.execute(sql)
    return error.value


def only(engine: SqlEngine, sql: str) -> Any:
    [result] = engine.execute(sql)
    return result


def test_creating_a_connector_sends_texts(engine: SqlEngine, connect: MemoryConnect) -> None:
    """Connect takes texts only; the name is one of them, as ksqlDB sends it."""
    made = only(engine, CREATE)
    assert isinstance(made, ConnectorCreated)
    assert connect.created["lines"] == {
        "connector.class": SOURCE, "file": "/tmp/a", "tasks.max": "2", "skips": "true",
        "db.password": "hush", "pin": "1234", "name": "lines",
        "topic.creation.default.partitions": "-1",
        "topic.creation.default.replication.factor": "-1",
    }  # fmt: skip
    assert made.connector is not None
    assert (made.connector.name, made.connector.type) == ("lines", "source")


def test_no_result_has_a_secret(engine: SqlEngine) -> None:
    """Neither what a name tells, nor what the connector declares to be a password."""
    results = engine.execute(f"{CREATE} DESCRIBE CONNECTOR `lines`; SHOW CONNECTORS;")
    shown = repr(results)
    assert "hush" not in shown
    assert "1234" not in shown
    assert "'pin' = '[string]'" in results[0].sql
    assert f"'connector.class' = '{SOURCE}'" in results[0].sql


def test_unquoted_names_are_in_capitals(engine: SqlEngine, connect: MemoryConnect) -> None:
    """As all names are in ksqlDB; the advice for properties says so."""
    only(engine, f"CREATE SINK CONNECTOR out WITH ('connector.class' = '{SINK}');")
    assert list(connect.created) == ["OUT"]
    error = refused(
        engine, f"CREATE SOURCE CONNECTOR b WITH ('connector.class' = '{SOURCE}', file = 'x');"
    )
    assert error.code == "connector-invalid"
    assert "'file'" in (error.fix or "")


def test_an_existing_connector_is_refused_or_left_alone(engine: SqlEngine) -> None:
    """Names that differ in case alone are the same, as in ksqlDB."""
    only(engine, CREATE)
    assert refused(engine, CREATE.replace("`lines`", "`LINES`")).code == "connector-exists"
    again = only(engine, CREATE.replace("CONNECTOR", "CONNECTOR IF NOT EXISTS"))
    assert isinstance(again, ConnectorWarning)
    assert again.message == "Connector lines already exists"


def test_a_script_with_a_refused_connector_does_nothing(
    engine: SqlEngine, connect: MemoryConnect
) -> None:
    """All connectors are checked before the first one is created."""
    other = f"CREATE SOURCE CONNECTOR b WITH ('connector.class' = '{SOURCE}', 'pin' = '99');"
    stream = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
    error = refused(engine, f"{stream}\n{CREATE}\n{other}")
    assert error.code == "connector-invalid"
    assert error.line == 3
    assert "pin was [hidden]" in error.message
    assert connect.created == {}
    assert engine.sources == {}


def test_mistakes_have_codes(engine: SqlEngine) -> None:
    """Each error says what to do."""
    codes = {
        "CREATE SINK CONNECTOR a WITH ('topics' = 't');": "no-connector-class",
        "CREATE SINK CONNECTOR a WITH ('connector.class' = 'org.No');": "unknown-connector-class",
        f"CREATE SINK CONNECTOR a WITH ('connector.class' = '{SOURCE}');": "wrong-connector-kind",
        "CREATE SINK CONNECTOR a WITH ('a' = 1, 'a' = 2);": "duplicate-property",
        "CREATE SINK CONNECTOR a WITH ('a' = NULL);": "bad-property",
        "DROP CONNECTOR a;": "unknown-connector",
        "DESCRIBE CONNECTOR a;": "unknown-connector",
    }
    assert {sql: refused(engine, sql).code for sql in codes} == codes


def test_a_class_may_be_given_by_its_short_name(engine: SqlEngine, connect: MemoryConnect) -> None:
    """As a worker takes it."""
    only(engine, "CREATE SINK CONNECTOR a WITH ('connector.class' = 'LineSinkConnector');")
    only(engine, "CREATE SINK CONNECTOR b WITH ('connector.class' = 'LineSink');")
    assert connect.connectors() == ["A", "B"]


def test_dropping(engine: SqlEngine, connect: MemoryConnect) -> None:
    """IF EXISTS turns the error into a warning."""
    only(engine, CREATE)
    assert isinstance(only(engine, "DROP CONNECTOR `lines`;"), ConnectorDropped)
    assert connect.created == {}
    missing = only(engine, "DROP CONNECTOR IF EXISTS `lines`;")
    assert isinstance(missing, ConnectorWarning)
    assert missing.message == "Connector 'lines' does not exist."


def test_listing(engine: SqlEngine, connect: MemoryConnect) -> None:
    """SOURCE and SINK narrow the list; the state counts the tasks that run."""
    engine.execute(f"{CREATE} CREATE SINK CONNECTOR out WITH ('connector.class' = '{SINK}');")
    connect.task_states = ["RUNNING", "FAILED"]
    everything = only(engine, "SHOW CONNECTORS;")
    assert isinstance(everything, ConnectorList)
    assert everything.rows == (
        ("OUT", "sink", SINK, "RUNNING (1/2 tasks RUNNING)"),
        ("lines", "source", SOURCE, "RUNNING (1/2 tasks RUNNING)"),
    )
    assert [each.name for each in only(engine, "LIST SOURCE CONNECTORS;").connectors] == ["lines"]
    assert [each.name for each in only(engine, "SHOW SINK CONNECTORS;").connectors] == ["OUT"]
    plugins = only(engine, "SHOW CONNECTOR PLUGINS;")
    assert isinstance(plugins, ConnectorPluginList)
    assert plugins.rows[0] == (SOURCE, "source", "1")


def test_a_connector_that_vanishes_is_a_warning(
    engine: SqlEngine, connect: MemoryConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may delete it between two questions."""
    monkeypatch.setattr(connect, "connectors", lambda: ["gone"])
    found = only(engine, "SHOW CONNECTORS;")
    assert found.connectors[0].type == "unknown"
    assert "gone" in found.warnings[0]
    assert only(engine, "SHOW SINK CONNECTORS;").connectors == ()


def test_a_connector_that_no_worker_has_taken_yet_is_unassigned(
    engine: SqlEngine, connect: MemoryConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connect knows it a moment before it knows its state."""
    only(engine, CREATE)

    def no_status(name: str) -> Any:
        raise UnknownConnectorError("unknown-connector", name, status=404)

    monkeypatch.setattr(connect, "status", no_status)
    found = only(engine, "SHOW CONNECTORS;")
    assert (found.connectors[0].state, found.warnings) == ("UNASSIGNED", ())
    described = only(engine, "DESCRIBE CONNECTOR `lines`;")
    assert described.status.state == "UNASSIGNED"
    assert described.rows == ()


def test_describing_names_the_streams_over_its_topics(
    engine: SqlEngine, connect: MemoryConnect
) -> None:
    """What Connect knows of topics meets what the catalog knows."""
    stream = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);"
    engine.execute(stream + CREATE)
    connect.used_topics = ["t", "u"]
    found = only(engine, "DESCRIBE CONNECTOR `lines`;")
    assert isinstance(found, ConnectorDescription)
    assert (found.topics, found.sources) == (("t", "u"), ("S",))
    assert found.status is not None
    assert found.rows == ((0, "RUNNING", "w:1", ""),)
    assert "file = /tmp/a" in found.details["config"]
    assert "db.password = [hidden]" in found.details["config"]


def test_an_error_does_not_show_the_secrets_of_its_line(engine: SqlEngine) -> None:
    """Errors point into the script; secrets in it are stars, and every column is where it was."""
    for sql in (CREATE + CREATE, CREATE.replace("WITH", "WITHIN")):
        text = str(refused(SqlEngine(connectors=MemoryConnect()), sql))
        assert "`lines`" in text
        assert "hush" not in text
        assert "'****'" in text


def test_without_connect_the_error_says_how_to_get_one() -> None:
    """An engine that is connected to nothing has no worker."""
    error = refused(SqlEngine(), "SHOW CONNECTORS;")
    assert error.code == "no-connect"


def test_planning_asks_nobody() -> None:
    """``planned`` forgets a script; a connector in it is not created."""
    assert SqlEngine().planned(CREATE) == {}


def test_who_is_asked_is_not_a_matter_of_statements(engine: SqlEngine) -> None:
    """A login must not go to an address that a statement names."""
    assert refused(engine, "SET 'ksql.connect.url' = 'http://evil';").code == "fixed-setting"


def test_words_of_a_script_show_whether_it_needs_connect() -> None:
    """It decides what is started, so comments and strings do not matter."""
    assert asks_connect("-- mine\nSHOW CONNECTOR PLUGINS;")
    assert asks_connect("SELECT 1 FROM s; /* x */ drop connector if exists a;")
    assert asks_connect(CREATE)
    assert not asks_connect("SELECT connector FROM s EMIT CHANGES; -- SHOW CONNECTORS;")
    assert not asks_connect("INSERT INTO s VALUES ('SHOW CONNECTORS');")


def test_a_server_runs_one_statement_that_is_parsed(
    engine: SqlEngine, connect: MemoryConnect
) -> None:
    """It is checked as in a script, and errors are Connect's own."""
    parsed: Any = parse_statement(CREATE)
    made = engine.run_connector(parsed, "masked")
    assert made.sql == "masked"
    with pytest.raises(SqlError) as again:
        engine.run_connector(parsed, "masked")
    assert again.value.code == "connector-exists"
    drop: Any = parse_statement("DROP CONNECTOR nobody;")
    with pytest.raises(ConnectError) as unknown:
        engine.run_connector(drop, "masked")
    assert unknown.value.status == 404
