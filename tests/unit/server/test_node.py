"""One node: statements become commands, commands become the catalog, and the catalog queries.

Exercises ``server.applying``, ``server.request``, ``server.options``, ``server.node`` and
``server.host``.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.server.errors import (
    AssertionFailedError,
    BadRequestError,
    BadStatementError,
    ForbiddenError,
    NotReadyError,
    QueryEndpointError,
    ServerError,
)
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions, backup_file
from penstock.serving.credentials import Access
from penstock.sql.catalog.catalog import Catalog
from tests.unit.server.conftest import STREAM, Nodes
from tests.unit.server.memory import MemoryLog, MemoryTopic, new_node


def essence(catalog: Catalog) -> Any:
    """Return what two nodes must agree on."""
    queries = {q.id: (q.sql, q.state, q.sink, q.sources) for q in catalog.queries.values()}
    settings = {q.id: q.plan.settings for q in catalog.queries.values()}
    return catalog.sources, catalog.types, queries, settings, catalog.paused, catalog.system


def wait_until(holds: Callable[[], bool]) -> None:
    event = threading.Event()
    for _ in range(2000):
        if holds():
            return
        event.wait(0.005)
    raise AssertionError("it never held")


def test_statement_is_answered_with_its_command(node: ServerNode) -> None:
    """The answer has ksqlDB's fields: what was done, under which id and number."""
    (entity,) = node.execute("CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    query_id = entity["commandStatus"]["queryId"]
    assert entity == {
        "@type": "currentStatus",
        "statementText": "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;",
        "commandId": "table/`T`/create",
        "commandStatus": {
            "status": "SUCCESS",
            "message": f"Created query with ID {query_id}",
            "queryId": query_id,
        },
        "commandSequenceNumber": 2,
        "warnings": [],
    }
    assert query_id.startswith("CTAS_T_")


def test_bad_script_changes_nothing(node: ServerNode) -> None:
    """All statements are checked before the first one is run."""
    with pytest.raises(BadStatementError) as refused:
        node.execute("CREATE STREAM a AS SELECT * FROM s; CREATE STREAM b AS SELECT * FROM nope;")
    assert refused.value.error_code == 40001
    assert refused.value.statement == "CREATE STREAM b AS SELECT * FROM nope;"
    assert "NOPE" in refused.value.message
    assert list(node.engine.sources) == ["S"]


def test_created_query_is_started(nodes: Nodes) -> None:
    """The supervisor follows the catalog."""
    node, runtime = nodes()
    node.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    wait_until(lambda: bool(runtime.started))
    assert runtime.started == list(node.engine.queries)


def test_recreated_query_has_another_id(nodes: Nodes) -> None:
    """So its state is never that of the query that was dropped."""
    node, runtime = nodes()
    node.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    (first,) = node.engine.queries
    node.execute("DROP STREAM a;")
    wait_until(lambda: runtime.forgotten == [first])
    node.execute("CREATE STREAM a AS SELECT * FROM s;")
    (second,) = node.engine.queries
    assert first != second


def test_replaced_query_keeps_its_id(node: ServerNode) -> None:
    """CREATE OR REPLACE goes on with the state of the query."""
    node.execute("CREATE STREAM a AS SELECT * FROM s;")
    before = list(node.engine.queries)
    node.execute("CREATE OR REPLACE STREAM a AS SELECT * FROM s WHERE v > 1;")
    assert list(node.engine.queries) == before


def test_second_node_has_the_same_catalog(nodes: Nodes) -> None:
    """It reads the commands of the topic, whoever wrote them."""
    topic = MemoryTopic()
    one = nodes(topic)[0]
    one.execute(STREAM)
    one.execute(
        "SET 'auto.offset.reset' = 'earliest'; CREATE TYPE money AS DECIMAL(9, 2);"
        "CREATE STREAM a AS SELECT * FROM s; CREATE STREAM b AS SELECT * FROM s;"
    )
    first = next(iter(one.engine.queries))
    one.execute(f"PAUSE {first}; ALTER SYSTEM 'ksql.streams.num.stream.threads' = '2';")
    two = nodes(topic, host="localhost:8089")[0]
    assert essence(two.engine.catalog) == essence(one.engine.catalog)
    assert two.engine.catalog.queries[first].state == "PAUSED"
    assert dict(two.engine.catalog.queries[first].plan.settings)["auto.offset.reset"] == "earliest"


THREADS = "num.stream.threads"


@pytest.mark.parametrize("name", [THREADS, f"ksql.streams.{THREADS}"])
def test_altered_system_reaches_running_queries(nodes: Nodes, name: str) -> None:
    """They are started again with the new setting, and keep their state; new ones have it, too."""
    topic = MemoryTopic()
    node, runtime = nodes(topic)
    node.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s; CREATE STREAM b AS SELECT * FROM s;")
    first, second = node.engine.queries
    wait_until(lambda: set(runtime.started) == {first, second})
    (entity,) = node.execute(f"ALTER SYSTEM '{name}' = '3';")
    assert entity["commandStatus"]["message"] == f"System property {name} was set to 3."
    wait_until(lambda: len(runtime.started) == 4)
    assert [runtime.settings[each][THREADS] for each in (first, second)] == ["3", "3"]
    assert runtime.forgotten == []
    node.execute("CREATE STREAM c AS SELECT * FROM s;")
    wait_until(lambda: len(runtime.settings) == 3)
    assert {each[THREADS] for each in runtime.settings.values()} == {"3"}
    after, again = nodes(topic, host="localhost:8089")
    wait_until(lambda: len(again.settings) == 3)
    assert {each[THREADS] for each in again.settings.values()} == {"3"}
    assert essence(after.engine.catalog) == essence(node.engine.catalog)


def test_altered_system_leaves_a_query_s_own_setting_alone(nodes: Nodes) -> None:
    """SET says it for one query, so the query is not even started again."""
    node, runtime = nodes(None, {f"ksql.streams.{THREADS}": "1"})
    node.execute(STREAM + f"SET '{THREADS}' = '2'; CREATE STREAM a AS SELECT * FROM s;")
    node.execute("CREATE STREAM b AS SELECT * FROM s;")
    own, other = node.engine.queries
    wait_until(lambda: len(runtime.started) == 2)
    assert [runtime.settings[each][THREADS] for each in (own, other)] == ["2", "1"]
    node.execute(f"ALTER SYSTEM 'ksql.streams.{THREADS}' = '3';")
    wait_until(lambda: runtime.settings[other][THREADS] == "3")
    assert runtime.started.count(own) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER SYSTEM 'ksql.persistence.default.format.value' = 'JSON';",
        "ALTER SYSTEM 'commit.interval.ms' = '100';",
    ],
)
def test_altered_system_restarts_nothing_without_need(nodes: Nodes, statement: str) -> None:
    """What a query means is decided when it is made; the value that it has is no change."""
    node = nodes(None, {"commit.interval.ms": "100"})[0]
    node.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    (query,) = node.engine.queries.values()
    node.execute(statement)
    assert node.engine.queries[query.id].plan is query.plan


def test_guarantee_cannot_change_while_queries_run(node: ServerNode) -> None:
    """As in ksqlDB: what they have written was written under the old one."""
    alter = "ALTER SYSTEM 'processing.guarantee' = 'at_least_once';"
    node.execute("CREATE STREAM a AS SELECT * FROM s;")
    with pytest.raises(BadStatementError) as refused:
        node.execute(alter)
    assert refused.value.code == "queries-running"
    node.execute("DROP STREAM a;")
    node.execute(alter)


@pytest.mark.parametrize(
    "name",
    ["bootstrap.servers", "application.id", "ksql.streams.application.id", "ksql.service.id"],
)
def test_identity_of_a_service_cannot_be_altered(node: ServerNode, name: str) -> None:
    """Its topics and its state hang on it, so taking the statement would promise too much."""
    with pytest.raises(BadStatementError) as refused:
        node.execute(f"ALTER SYSTEM '{name}' = 'other';")
    assert refused.value.code == "fixed-setting"


@pytest.mark.parametrize(
    ("sql", "properties", "code"),
    [
        ("ASSERT TOPIC s;", {"ksql.assert.topic.default.timeout.ms": "x"}, "bad-setting"),
        ("SHOW STREAMS;", {"auto.offset.reset": ["earliest"]}, "bad-setting"),
        ("SHOW STREAMS;", {"ksql.functions.collect_set.limit": "many"}, "bad-setting"),
        (STREAM.replace("s (", "x (").replace("=2", "=99999999999"), {}, "bad-property"),
        (STREAM.replace("s (", "x (").replace("=2", "=1, REPLICAS=70000"), {}, "bad-property"),
    ],
)
def test_numbers_are_checked_before_they_are_used(
    node: ServerNode, sql: str, properties: dict[str, Any], code: str
) -> None:
    """What nobody has checked would be an error of the server."""
    with pytest.raises(ServerError) as refused:
        node.execute(sql, properties)
    assert refused.value.status == 400
    assert refused.value.code == code


def test_altered_system_is_listed(node: ServerNode) -> None:
    """SHOW PROPERTIES has the value that is in force."""
    node.execute("ALTER SYSTEM 'ksql.streams.num.stream.threads' = '3';")
    (listed,) = node.execute("SHOW PROPERTIES;")
    found = {each["name"]: each["value"] for each in listed["properties"]}
    assert found["ksql.streams.num.stream.threads"] == "3"


def test_descriptions_have_only_the_settings_of_the_query(nodes: Nodes) -> None:
    """Passwords of the server are in force for every query, and are shown to nobody."""
    node = nodes(None, {"sasl.password": "hunter2", "linger.ms": "5"})[0]
    node.execute(
        STREAM + "SET 'auto.offset.reset' = 'earliest'; SET 'ssl.key.password' = 'swordfish';"
        "CREATE STREAM a AS SELECT * FROM s;"
    )
    (query_id,) = node.engine.queries
    (explained,) = node.execute(f"EXPLAIN {query_id};")
    assert explained["queryDescription"]["overriddenProperties"] == {
        "auto.offset.reset": "earliest", "ssl.key.password": "[hidden]",
    }  # fmt: skip
    (listed,) = node.execute("SHOW QUERIES EXTENDED;")
    assert "hunter2" not in str(listed)
    assert "swordfish" not in str(listed)


def test_requests_that_wait_hold_nobody_up(node: ServerNode) -> None:
    """Clients may wait for commands that never come, as many as they like."""
    node.options = replace(node.options, catch_up_s=120.0)

    async def test() -> None:
        waiting = [asyncio.ensure_future(node.caught_up(10_000)) for _ in range(100)]
        await asyncio.sleep(0)
        (listed,) = await asyncio.wait_for(asyncio.to_thread(node.execute, "SHOW STREAMS;"), 60)
        assert len(listed["streams"]) == 1
        assert not any(each.done() for each in waiting)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(test())


def test_state_of_others_is_left_alone_at_the_start(nodes: Nodes) -> None:
    """What a killed node could not delete is deleted. A script has the same names, and keeps it."""
    topic = MemoryTopic()
    first = nodes(topic)[0]
    first.execute(
        STREAM + "CREATE STREAM a AS SELECT * FROM s; CREATE STREAM b AS SELECT * FROM s;"
    )
    ended, running = first.engine.queries
    first.execute("DROP STREAM a;")
    ids = (ended, running, "CSAS_SCRIPT_0")
    topics = {f"{first.application_id(each)}-penstock-batches": None for each in ids}
    made, runtime = new_node(topic, host="localhost:8089")
    admin = SimpleNamespace(topics=lambda: topics)
    made.cluster = cast(Any, SimpleNamespace(admin=admin, close=lambda: None))
    with made:
        wait_until(lambda: bool(runtime.forgotten))
        assert runtime.forgotten == [ended]
        assert set(runtime.started) <= {running}


@pytest.mark.parametrize("name", ["große Käufe", "日本", "a" * 300, "a/b", "..", "'"])
def test_queries_of_odd_names_have_topics_that_kafka_takes(node: ServerNode, name: str) -> None:
    """The name is the user's; what Kafka gets of it is legal, and never that of another query."""
    node.execute(f"CREATE STREAM `{name}` WITH (KAFKA_TOPIC='t') AS SELECT * FROM s;")
    node.execute(f"CREATE STREAM `{name}!` WITH (KAFKA_TOPIC='t') AS SELECT * FROM s;")
    found = [node.application_id(each) for each in node.engine.queries]
    assert len(set(found)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,200}", each) for each in found)


def test_nodes_that_race_have_the_same_catalog(nodes: Nodes) -> None:
    """Of two CREATEs of one name, one wins everywhere and the other is refused."""
    topic = MemoryTopic()
    made = [nodes(topic, host=f"localhost:{port}")[0] for port in (1, 2)]
    made[0].execute(STREAM)
    refusals: list[ServerError] = []

    def race(node: ServerNode, number: int) -> None:
        node.wait_for(0)
        for turn in range(6):
            try:
                node.execute(f"CREATE STREAM r{turn} AS SELECT *, {number} AS who FROM s;")
            except ServerError as error:
                refusals.append(error)

    threads = [threading.Thread(target=race, args=(node, i)) for i, node in enumerate(made)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    last = topic.entries[-1].offset
    for node in made:
        node.runner.wait_for(last, 10.0)
    assert len(refusals) == 6
    assert all("exists already" in error.message for error in refusals)
    assert len(made[0].engine.queries) == 6
    assert essence(made[0].engine.catalog) == essence(made[1].engine.catalog)


def test_write_in_doubt_is_answered_as_done(nodes: Nodes) -> None:
    """The statement is not refused because its own first try has arrived."""
    log = MemoryLog(MemoryTopic())
    node = nodes(log=log)[0]
    log.doubtful_writes = 1
    (entity,) = node.execute(STREAM)
    assert entity["commandStatus"]["status"] == "SUCCESS"
    assert len(log.topic.entries) == 1


def test_select_belongs_to_another_endpoint(node: ServerNode) -> None:
    """ksqlDB's error code tells clients where to go."""
    for sql in ("SELECT * FROM s EMIT CHANGES;", "PRINT 's';"):
        with pytest.raises(QueryEndpointError) as refused:
            node.execute(sql)
        assert refused.value.error_code == 40002


def test_rows_are_written(node: ServerNode) -> None:
    """INSERT VALUES is no command, and has no entity."""
    assert node.execute("INSERT INTO s VALUES (1, 2);") == []
    assert [record.topic for record in node.engine.outbox] == ["s"]
    assert node.runner.sequence == 0


def test_session_of_a_request_ends_with_it(node: ServerNode) -> None:
    """SET and DEFINE hold for the statements behind them, and for no other request."""
    entities = node.execute(
        "DEFINE name = 'hello'; SET 'ksql.streams.num.stream.threads' = '3';"
        "SHOW VARIABLES; CREATE STREAM ${name} AS SELECT * FROM s; UNDEFINE name; SHOW VARIABLES;"
    )
    assert entities[0]["variables"] == [{"name": "NAME", "value": "hello"}]
    assert entities[2]["variables"] == []
    assert "HELLO" in node.engine.sources
    (query,) = node.engine.queries.values()
    assert dict(query.plan.settings)["ksql.streams.num.stream.threads"] == "3"
    assert node.engine.catalog.variables == {}
    assert node.engine.catalog.properties == {}


def test_properties_of_a_request_are_in_force(node: ServerNode) -> None:
    """streamsProperties and sessionVariables work as SET and DEFINE do."""
    node.execute(
        "CREATE STREAM ${x} AS SELECT * FROM s;", {"auto.offset.reset": "latest"}, {"x": "y"}
    )
    (query,) = node.engine.queries.values()
    assert dict(query.plan.settings)["auto.offset.reset"] == "latest"
    assert query.sink == "Y"


@pytest.mark.parametrize("properties", [{"ksql.nonsense": "1"}, {"processing.guarantee": "maybe"}])
def test_bad_property_is_a_bad_request(node: ServerNode, properties: dict[str, str]) -> None:
    """A setting that nobody knows is not ignored."""
    with pytest.raises(BadRequestError) as refused:
        node.execute("SHOW STREAMS;", properties)
    assert refused.value.error_code == 40000


def test_denied_property_is_refused(nodes: Nodes) -> None:
    """Who runs the server can keep settings from its users."""
    denied = "linger.ms, ksql.streams.auto.offset.reset"
    node = nodes(settings={"ksql.properties.overrides.denylist": denied})[0]
    for name in ("auto.offset.reset", "ksql.streams.auto.offset.reset"):
        with pytest.raises(BadRequestError):
            node.execute("SHOW STREAMS;", {name: "earliest"})
        with pytest.raises(BadRequestError):
            node.execute(f"SET '{name}' = 'earliest'; SHOW STREAMS;")


def test_existing_stream_is_only_a_warning_with_if_not_exists(node: ServerNode) -> None:
    """Nothing is written to the command topic."""
    before = node.runner.sequence
    (entity,) = node.execute(STREAM.replace("STREAM s", "STREAM IF NOT EXISTS s"))
    assert entity["@type"] == "warning_entity"
    assert node.runner.sequence == before


def test_failed_assertion_has_a_code_of_its_own(node: ServerNode) -> None:
    """ASSERT TOPIC answers 417 where the topic is missing."""
    (entity,) = node.execute("ASSERT TOPIC s TIMEOUT 1 SECONDS;")
    assert entity["@type"] == "assert_topic"
    assert entity["exists"] is True
    with pytest.raises(AssertionFailedError) as refused:
        node.execute("ASSERT TOPIC nope TIMEOUT 10 MILLISECONDS;")
    assert refused.value.status == 417


def test_error_in_the_middle_has_the_entities_before_it(node: ServerNode) -> None:
    """A client learns which of its statements were run."""
    with pytest.raises(AssertionFailedError) as refused:
        node.execute(
            "CREATE STREAM a AS SELECT * FROM s; ASSERT TOPIC nope TIMEOUT 1 MILLISECONDS;"
        )
    assert [entity["@type"] for entity in refused.value.entities] == ["currentStatus"]


def test_roles_decide_what_may_be_run(node: ServerNode) -> None:
    """A reader may look, a writer may change streams, only an admin the system."""
    node.execute("SHOW STREAMS;", access=Access.READ)
    for sql, access in (
        ("INSERT INTO s VALUES (1, 1);", Access.READ),
        ("DROP STREAM s;", Access.READ),
        ("ALTER SYSTEM 'auto.offset.reset' = 'earliest';", Access.WRITE),
        ("DROP STREAM s DELETE TOPIC;", Access.WRITE),
    ):
        with pytest.raises(ForbiddenError):
            node.execute(sql, access=access)
    node.execute("INSERT INTO s VALUES (1, 1); DROP STREAM s;", access=Access.WRITE)


def test_degraded_node_answers_and_writes_nothing(nodes: Nodes) -> None:
    """Questions are answered, with a warning; statements are refused with 503."""
    topic = MemoryTopic()
    node = nodes(topic)[0]
    node.execute(STREAM)
    with topic.lock:
        topic.append(None, b"rubbish")
    wait_until(lambda: node.server_status == "DEGRADED")
    (entity,) = node.execute("SHOW STREAMS;")
    assert entity["streams"][0]["name"] == "S"
    assert "not a command" in entity["warnings"][0]["message"]
    with pytest.raises(NotReadyError) as refused:
        node.execute("CREATE STREAM a AS SELECT * FROM s;")
    assert refused.value.status == 503


def test_connectors_need_connect(node: ServerNode) -> None:
    """Without Kafka Connect the answer says what to set."""
    with pytest.raises(BadStatementError) as refused:
        node.execute("SHOW CONNECTORS;")
    assert "ksql.connect.url" in (refused.value.fix or "")


def test_restarted_node_has_everything(nodes: Nodes, tmp_path: Path) -> None:
    """The topic has the whole catalog, and the copy on disk agrees with it."""
    topic, file = MemoryTopic(), tmp_path / "commands.jsonl"
    first, _ = new_node(topic, backup=file)
    first.start()
    first.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    before = essence(first.engine.catalog)
    first.close()
    second, runtime = nodes(topic, backup=file)
    assert second.server_status == "RUNNING"
    assert essence(second.engine.catalog) == before
    wait_until(lambda: runtime.started == list(second.engine.queries))


def test_ended_query_of_the_past_is_not_started(nodes: Nodes) -> None:
    """A node that replays the topic runs only what is left in the end."""
    topic = MemoryTopic()
    first, _ = new_node(topic)
    first.start()
    first.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    (gone,) = first.engine.queries
    first.execute(f"TERMINATE {gone}; CREATE STREAM b AS SELECT * FROM s;")
    first.close()
    runtime = nodes(topic)[1]
    wait_until(lambda: bool(runtime.started))
    assert gone not in runtime.started


def test_deleted_topic_is_deleted_after_the_query(nodes: Nodes) -> None:
    """DROP ... DELETE TOPIC waits for the query that writes to it."""
    node, runtime = nodes()
    node.execute(STREAM + "CREATE STREAM a AS SELECT * FROM s;")
    wait_until(lambda: bool(runtime.started))
    node.execute("DROP STREAM a DELETE TOPIC;")
    assert runtime.applications == {}
    assert list(node.engine.sources) == ["S"]


def test_place_of_the_copy_follows_the_settings(tmp_path: Path) -> None:
    """Each service has a file of its own."""
    options = NodeOptions(settings={"ksql.service.id": "shop_"})
    given = {**options.settings, "ksql.metastore.backup.location": str(tmp_path)}
    assert backup_file(given, options.config) == tmp_path / "commands-shop_.jsonl"
    assert backup_file(options.settings, options.config).name == "commands-shop_.jsonl"
    assert options.backup() is None


class Pushes:
    """One push query that pretends to run."""

    def __init__(self) -> None:
        self.running = {"transient_S_1": "SELECT * FROM s EMIT CHANGES;"}

    def describe(self) -> dict[str, str]:
        return dict(self.running)

    def end(self, query_id: str) -> bool:
        return self.running.pop(query_id, None) is not None


@pytest.mark.parametrize("written", ["transient_S_1", "TRANSIENT_s_1", "`transient_S_1`"])
def test_push_queries_are_listed_and_ended_where_they_run(node: ServerNode, written: str) -> None:
    """They are no commands: only the node that runs them knows them."""
    node.transient = Pushes()
    before = node.runner.sequence
    (listed,) = node.execute("SHOW QUERIES;")
    assert [(each["id"], each["queryType"]) for each in listed["queries"]] == [
        ("transient_S_1", "PUSH")
    ]
    (ended,) = node.execute(f"TERMINATE {written};")
    assert ended["queryId"] == "transient_S_1"
    assert ended["@type"] == "terminate_query"
    assert ended["wasTerminated"] is True
    assert node.execute("SHOW QUERIES;")[0]["queries"] == []
    assert node.runner.sequence == before
    with pytest.raises(BadStatementError):
        node.execute("TERMINATE `transient_S_1`;")


def test_the_processing_log_is_a_stream_of_the_service(nodes: Nodes) -> None:
    """One node makes it through the command topic, so that the others know it, too."""
    topic = MemoryTopic()
    setting = {"ksql.logging.processing.stream.auto.create": "true"}
    first = nodes(topic, setting)[0]
    other = nodes(topic)[0]
    nodes(topic, setting)
    sql = "CREATE STREAM failures AS SELECT reason FROM KSQL_PROCESSING_LOG;"
    (done,) = other.execute(sql)
    assert done["commandStatus"]["status"] == "SUCCESS"
    assert len(topic.entries) == 2
    assert "CSAS_FAILURES" in next(iter(other.engine.queries))
    first.wait_for(done["commandSequenceNumber"])
    # The two nodes have other settings of the log, and agree on everything else.
    assert essence(first.engine.catalog)[:3] == essence(other.engine.catalog)[:3]
