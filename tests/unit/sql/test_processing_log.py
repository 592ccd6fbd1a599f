"""The processing log of queries in this process: what was dropped or failed on, and why.

Exercises ``kernel.processing_log``, ``sql.processing_log`` and ``expression_failures``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError

import penstock as ps
from penstock.errors import SerializationError
from penstock.model.processing_log import ProcessingLogSpec
from penstock.processor.expression_failures import (
    ExpressionFailure,
    report_failure,
    reporting_to,
)
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.sql import SqlEngine, SqlError
from penstock.sql.processing_log import ProcessingLogSettings
from penstock.sql.queries.cluster_log import ClusterLog
from tests.runtime.test_refusals import run
from tests.unit.sql.queries import ORDERS, Script

TOPIC = "default_ksql_processing_log"
ON = {
    "ksql.logging.processing.topic.auto.create": "true",
    "ksql.logging.processing.stream.auto.create": "true",
    "ksql.logging.processing.rows.include": "true",
}


@contextmanager
def logged(*statements: str, over_columns: bool = False, **more: str) -> Iterator[Script]:
    engine = SqlEngine({**ON, **more})
    for each in statements:
        engine.execute(each)
    with engine.local(over_columns=over_columns) as queries:
        yield Script(engine, queries)


def entries(script: Script) -> list[dict[str, Any]]:
    return [json.loads(r.value or b"") for r in script.queries.produced if r.topic == TOPIC]


COPY = "CREATE STREAM x AS SELECT * FROM orders;"
DIVIDE = "CREATE STREAM x AS SELECT id, 10 / price AS q FROM orders;"


@pytest.mark.parametrize("over_columns", [False, True])
def test_a_value_that_cannot_be_read(over_columns: bool) -> None:
    """It is skipped, and the entry has its bytes and its place."""
    with logged(ORDERS, COPY, over_columns=over_columns) as script:
        script.pipe("orders", 1, {"item": "a"})
        script.queries.pipe("orders", b"2", b"{no", 7)
        [found] = entries(script)
        assert [key for key, _ in script.read("X")] == [1]
    part = found["message"]["deserializationError"]
    assert (found["message"]["type"], part["target"], part["topic"]) == (0, "value", "orders")
    assert found["origin"]["record_offset"] == 1
    assert found["origin"]["record_value"] == "{no"
    assert (found["query_id"], found["statement"]) == ("CSAS_X_0", COPY.rstrip(";"))


@pytest.mark.parametrize("over_columns", [False, True])
def test_a_key_that_cannot_be_read(over_columns: bool) -> None:
    """The entry says which part it was."""
    with logged(ORDERS, COPY, over_columns=over_columns) as script:
        script.queries.pipe("orders", b"{", b"{}", 7)
        [found] = entries(script)
    assert found["message"]["deserializationError"]["target"] == "key"


@pytest.mark.parametrize("over_columns", [False, True])
def test_an_expression_that_fails(over_columns: bool) -> None:
    """The value is NULL, and the entry has the expression, the row and the reason."""
    with logged(ORDERS, DIVIDE, over_columns=over_columns) as script:
        script.pipe("orders", 1, {"price": 5})
        script.pipe("orders", 2, {"price": 0, "item": "pear"})
        [found] = entries(script)
        assert script.read("X") == [(1, {"Q": 2}), (2, {"Q": None})]
    part = found["message"]["recordProcessingError"]
    assert found["message"]["type"] == 1
    assert found["expression"] == "10 / ORDERS.PRICE"
    assert json.loads(part["record"])["PRICE"] == 0
    assert "10 / ORDERS.PRICE failed" in part["errorMessage"]
    assert "zero" in found["reason"].lower()
    assert found["origin"]["record_offset"] == 1
    assert found["logger"].startswith("processing.CSAS_X_0.")


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("SELECT id, item FROM orders WHERE 10 / price > 1", "10 / ORDERS.PRICE > 1"),
        ("SELECT id, CAST(item AS INT) AS n FROM orders", "CAST(ORDERS.ITEM AS INT)"),
        ("SELECT id, EXPLODE(ARRAY[10 / price]) AS n FROM orders", "10 / ORDERS.PRICE"),
    ],
)
def test_expressions_of_every_clause(query: str, expression: str) -> None:
    """A condition that fails is false; the row that it drops is in the log."""
    with logged(ORDERS, f"CREATE STREAM x AS {query};") as script:
        script.pipe("orders", 2, {"price": 0, "item": "pear"})
        assert expression in [each["expression"] for each in entries(script)]


def test_a_record_without_a_time_is_named() -> None:
    """It is dropped for what it is, not for when it came."""
    stream = ORDERS.replace("WITH (", "WITH (TIMESTAMP='item', TIMESTAMP_FORMAT='yyyy-MM-dd',")
    with logged(stream, COPY) as script:
        script.pipe("orders", 1, {"item": "no date"})
        script.pipe("orders", 2, {"item": "2026-01-01"})
        [found] = entries(script)
    assert found["reason"] == "the record has no valid time"
    assert found["origin"]["record_offset"] == 0


@pytest.mark.parametrize("over_columns", [False, True])
def test_a_row_without_a_key_is_named(over_columns: bool) -> None:
    """GROUP BY drops it; over columns, too, the log says which record it was."""
    count = "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;"
    with logged(ORDERS, count, over_columns=over_columns) as script:
        script.pipe("orders", 1, {"item": "a"})
        script.pipe("orders", 2, {"price": 1})
        found = entries(script)
    assert [each["reason"] for each in found] == [
        "a row with a NULL in its group belongs to no group"
    ]
    assert found[0]["expression"] == "ORDERS.ITEM"
    assert found[0]["origin"]["record_offset"] == 1


def test_the_log_is_a_stream() -> None:
    """A query over it sees ksqlDB's columns and those beside them."""
    alarm = (
        "CREATE STREAM alarms AS SELECT query_id AS q, message->type AS t, expression AS e,"
        " origin->topic AS source, origin->record_offset AS place,"
        " message->recordProcessingError->errorMessage AS why"
        " FROM KSQL_PROCESSING_LOG EMIT CHANGES;"
    )
    with logged(ORDERS, DIVIDE, alarm) as script:
        script.pipe("orders", 2, {"price": 0})
        [(_, row)] = script.read("ALARMS")
        assert (row["Q"], row["T"], row["E"]) == ("CSAS_X_0", 1, "10 / ORDERS.PRICE")
        assert (row["SOURCE"], row["PLACE"]) == ("orders", 0)
        assert "failed" in row["WHY"]
        [pulled] = script.engine.execute("SELECT statement FROM KSQL_PROCESSING_LOG;")
        assert pulled.rows == ((DIVIDE.rstrip(";"),),)  # type: ignore[attr-defined]


def test_a_query_over_the_log_writes_no_log() -> None:
    """Each of its failures would be its next record, without an end."""
    over = "CREATE STREAM y AS SELECT 1 / (message->type - 1) AS n FROM KSQL_PROCESSING_LOG;"
    with logged(ORDERS, DIVIDE, over) as script:
        script.pipe("orders", 2, {"price": 0})
        assert len(entries(script)) == 1
        assert len(script.read("Y")) == 1


def test_rows_are_left_out_unless_they_are_wanted() -> None:
    """By default the log has places of records and no values."""
    off = {"ksql.logging.processing.rows.include": "false"}
    query = "CREATE STREAM x AS SELECT id, CAST(item AS INT) AS n FROM orders;"
    with logged(ORDERS, query, **off) as script:
        script.pipe("orders", 1, {"item": "4111-secret"})
        script.queries.pipe("orders", b"2", b"{4111-secret", 7)
        found = entries(script)
    assert len(found) == 2
    assert "4111-secret" not in json.dumps(found)


def test_without_the_settings_there_is_no_log() -> None:
    """As in ksqlDB, somebody has to ask for it."""
    engine = SqlEngine()
    engine.execute(ORDERS + DIVIDE)
    with engine.local() as queries:
        queries.pipe("orders", b"2", b'{"price": 0}', 7)
        assert [record.topic for record in queries.produced] == ["X"]
    assert "KSQL_PROCESSING_LOG" not in engine.sources


def test_an_insert_after_a_run_is_not_in_the_log() -> None:
    """Expressions report to the task that runs them, and to nobody else."""
    with logged(ORDERS, DIVIDE) as script:
        script.pipe("orders", 2, {"price": 0})
        with pytest.raises(SqlError):
            script.engine.execute("INSERT INTO orders (id, price) VALUES (1, 1 / 0);")
        assert len(entries(script)) == 1


def test_reports_reach_the_innermost_listener() -> None:
    """And the one before it again afterwards."""
    heard: list[str] = []
    failure = ExpressionFailure("step", "1 / 0", ValueError(), {})
    report_failure(failure)
    with reporting_to(lambda each: heard.append("outer")):
        with reporting_to(lambda each: heard.append("inner")):
            report_failure(failure)
        report_failure(failure)
    report_failure(failure)
    assert heard == ["inner", "outer"]


def test_settings_have_ksqldb_s_names_and_are_checked() -> None:
    """A wrong one is refused when the engine is made."""
    prefix = "ksql.logging.processing."
    found = ProcessingLogSettings.of(
        {"ksql.service.id": "shop_", f"{prefix}topic.partitions": "3", f"{prefix}stream.name": "L"}
    )
    assert (found.topic, found.partitions, found.stream) == ("shop_ksql_processing_log", 3, "L")
    assert not found.is_wanted
    for name, value in (("topic.auto.create", "maybe"), ("topic.partitions", "0")):
        with pytest.raises(SqlError, match=name):
            SqlEngine({prefix + name: value})


class _Failing(ps.Serde[str]):
    """Cannot write what begins with an exclamation mark."""

    def encode(self, value: str) -> bytes:
        if value.startswith("!"):
            raise SerializationError("no", f"cannot write {value!r}")
        return value.encode()

    def decode(self, data: bytes) -> str:
        return data.decode()


@pytest.fixture
def staged() -> Iterator[tuple[MemoryKafka, StagedApplication]]:
    """An application on the code of Spark's workers, over topics in memory."""
    kafka = MemoryKafka(1)
    for topic in ("in", "out", "log"):
        kafka.create(topic)
    builder = ps.StreamsBuilder()
    lines = builder.stream("in", key="string", value="string")
    lines.to("out", key="string", value=_Failing())
    settings = {
        "application.id": "app", "bootstrap.servers": "memory:9092",
        "production.exception.handler": "continue",
        "__processing.log__": ProcessingLogSpec("log", "Q", "SELECT 1;", True),
    }  # fmt: skip
    application = StagedApplication(builder.build().graph, settings, kafka)
    yield kafka, application
    application.close()


def in_log(kafka: MemoryKafka) -> list[dict[str, Any]]:
    return [json.loads(each.value or b"") for each in kafka.committed if each.topic == "log"]


def test_a_record_that_cannot_be_written(staged: tuple[MemoryKafka, StagedApplication]) -> None:
    """The entry is committed with the output of the batch."""
    kafka, application = staged
    for number, line in enumerate(("a", "!b", "c")):
        kafka.append("in", b"k", line.encode(), number)
    run(application)
    assert [each.value for each in kafka.committed if each.topic == "out"] == [b"a", b"c"]
    [found] = in_log(kafka)
    part = found["message"]["serializationError"]
    assert (found["message"]["type"], part["target"], part["topic"]) == (3, "value", "out")
    assert found["origin"]["record_offset"] == 1


def test_a_record_that_kafka_refuses(staged: tuple[MemoryKafka, StagedApplication]) -> None:
    """The entry stands in its place, with the input record that it was made of."""
    kafka, application = staged
    kafka.refusal = lambda topic, key, value, timestamp: (
        KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if topic == "out" and len(value) > 9 else None
    )
    for number, line in enumerate(("a", "b" * 10, "c")):
        kafka.append("in", b"k", line.encode(), number)
    run(application)
    assert [each.value for each in kafka.committed if each.topic == "out"] == [b"a", b"c"]
    [found] = in_log(kafka)
    assert found["message"]["type"] == 2
    assert "Kafka refused" in found["message"]["productionError"]["errorMessage"]
    assert found["origin"]["record_offset"] == 1


class _Cluster:
    """The topics of a cluster, and what is written to it."""

    def __init__(self, *topics: str) -> None:
        self.names = dict.fromkeys(topics)
        self.made: list[Any] = []
        self.written: list[tuple[str, dict[str, Any]]] = []

    def topics(self) -> dict[str, None]:
        return self.names

    def create_topics(self, specs: Any) -> None:
        self.made += specs
        self.names |= dict.fromkeys(spec.name for spec in specs)

    def produce(self, topic: str, *, value: bytes, timestamp: int) -> None:
        self.written.append((topic, json.loads(value)))

    def poll(self, timeout: float) -> None: ...


def _plan() -> Any:
    engine = SqlEngine()
    engine.execute(ORDERS + DIVIDE)
    return engine.queries["CSAS_X_0"].plan


def test_a_log_on_a_cluster_needs_its_topic() -> None:
    """It is made if the settings say so; a query without the topic writes no log."""
    cluster: Any = _Cluster()
    assert ClusterLog(ProcessingLogSettings("log"), cluster, cluster).spec(_plan()) is None
    wanted = ProcessingLogSettings("log", partitions=2, creates_topic=True)
    spec = ClusterLog(wanted, cluster, cluster).spec(_plan())
    assert [(each.name, each.partitions) for each in cluster.made] == [("log", 2)]
    assert spec is not None
    assert (spec.query_id, spec.statement) == ("CSAS_X_0", DIVIDE.rstrip(";"))
    there: Any = _Cluster("log")
    assert ClusterLog(ProcessingLogSettings("log"), there, there).spec(_plan()) is not None


def test_a_query_that_fails_is_in_the_log() -> None:
    """Its transaction is gone, so the driver writes the entry."""
    cluster: Any = _Cluster("log")
    log = ClusterLog(ProcessingLogSettings("log"), cluster, cluster)
    spec = log.spec(_plan())
    assert spec is not None
    log.query_failed(spec, RuntimeError("disk is full"))
    [(topic, found)] = cluster.written
    part = found["message"]["kafkaStreamsThreadError"]
    assert (topic, found["message"]["type"]) == ("log", 4)
    assert "query CSAS_X_0 failed" in part["errorMessage"]
    assert "disk is full" in found["reason"]
