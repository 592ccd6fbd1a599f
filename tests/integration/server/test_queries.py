"""Servers with running queries: restart, kill -9, several servers, failures, foreign clients."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

pytest.importorskip("granian", reason="needs penstock[server]")

from penstock.kafka.admin import Admin
from penstock.server.composition import new_server
from penstock.server.sql_server import SqlServer
from tests.integration.server.processes import Rest, ServerProcess
from tests.integration.server.test_commands import wait_for
from tests.sqlcases.topic_reading import committed_records

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
Start = Callable[..., SqlServer]
#: Names an interpreter that has the package ``ksql`` from PyPI.
KSQL_PYTHON = "PENSTOCK_KSQL_PYTHON"


def script(service: str) -> str:
    return f"""
        CREATE STREAM clicks (page VARCHAR KEY, n INT)
            WITH (KAFKA_TOPIC='{service}clicks', VALUE_FORMAT='JSON', PARTITIONS=2);
        CREATE TABLE sums WITH (KAFKA_TOPIC='{service}sums') AS
            SELECT page, SUM(n) AS total FROM clicks GROUP BY page;
    """


def sums(servers: str, topic: str) -> dict[str, int]:
    """Return the last value of each key."""
    found: dict[str, int] = {}
    for record in committed_records(servers, topic):
        assert record.key is not None
        assert record.value is not None
        found[record.key.decode()] = json.loads(record.value)["TOTAL"]
    return found


def wait_for_sums(servers: str, service: str, wanted: dict[str, int]) -> None:
    topic = f"{service}sums"
    names = Admin({"bootstrap.servers": servers})
    wait_for(
        lambda: topic in names.topics() and sums(servers, topic) == wanted,
        f"sums are not {wanted}",
        180.0,
    )


def summing(start: Start, service: str, kafka_broker: str) -> tuple[SqlServer, Rest]:
    """Start a server whose query has summed its first row."""
    server = start()
    rest = Rest(server.url)
    rest.ksql(script(service))
    rest.ksql("INSERT INTO clicks VALUES ('a', 1);")
    wait_for_sums(kafka_broker, service, {"a": 1})
    return server, rest


def test_queries_go_on_after_a_restart(
    start: Start, service: str, kafka_broker: str, settings: dict[str, str]
) -> None:
    """Statements, queries and their state outlive the process; nothing is counted twice."""
    server = start()
    rest = Rest(server.url)
    rest.ksql(script(service))
    rest.ksql("INSERT INTO clicks VALUES ('a', 1); INSERT INTO clicks VALUES ('b', 5);")
    wait_for_sums(kafka_broker, service, {"a": 1, "b": 5})
    (query_id,) = server.node.engine.queries
    assert rest.status(query_id) == "RUNNING"
    server.close()
    again = start()
    rest = Rest(again.url)
    rest.ksql("INSERT INTO clicks VALUES ('a', 2);")
    wait_for_sums(kafka_broker, service, {"a": 3, "b": 5})
    assert list(again.node.engine.queries) == [query_id]


def test_life_of_a_query(start: Start, service: str, kafka_broker: str, kafka_admin: Admin) -> None:
    """PAUSE, RESUME, CREATE OR REPLACE, TERMINATE and DROP ... DELETE TOPIC do what they say."""
    server, rest = summing(start, service, kafka_broker)
    (query_id,) = server.node.engine.queries
    rest.ksql(f"PAUSE {query_id};")
    assert rest.status(query_id) == "PAUSED"
    rest.ksql("INSERT INTO clicks VALUES ('a', 1);")
    rest.ksql(f"RESUME {query_id};")
    wait_for_sums(kafka_broker, service, {"a": 2})
    (described,) = rest.ksql("DESCRIBE sums EXTENDED;")
    source = described["sourceDescription"]
    assert source["partitions"] == 2
    offsets = source["queryOffsetSummaries"][0]["topicSummaries"][0]["offsets"]
    assert sum(each["logEndOffset"] for each in offsets) == 2
    rest.ksql(f"TERMINATE {query_id};")
    application = server.node.application_id(query_id)
    wait_for(
        lambda: not [name for name in kafka_admin.topics() if name.startswith(application)],
        "topics of the query are left",
    )
    rest.ksql("DROP TABLE sums DELETE TOPIC; DROP STREAM clicks DELETE TOPIC;")
    assert not [name for name in kafka_admin.topics() if name.startswith(f"{service}s")]
    assert application not in [group.id for group in kafka_admin.groups()]


def test_failed_query_shows_error_and_heals(
    start: Start, service: str, kafka_admin: Admin, kafka_broker: str
) -> None:
    """A query whose topic is deleted is ERROR, and runs again when the topic is back."""
    server, rest = summing(start, service, kafka_broker)
    (query_id,) = server.node.engine.queries
    application = server.node.running(query_id)
    assert application is not None
    application._give_up(RuntimeError("made to fail"))
    wait_for(lambda: server.node.failures(query_id), "the failure is not noticed")
    (failure,) = server.node.failures(query_id)
    assert "made to fail" in failure.message
    assert failure.error_class == "UNKNOWN"
    wait_for(lambda: rest.status(query_id) == "RUNNING", "the query is not started again")
    rest.ksql("INSERT INTO clicks VALUES ('a', 1);")
    wait_for_sums(kafka_broker, service, {"a": 2})


def test_killed_server_loses_nothing(
    start_process: Callable[..., ServerProcess], service: str, kafka_broker: str
) -> None:
    """kill -9 under load, then a new start: every row is counted once."""
    process = start_process()
    rest = process.start()
    rest.ksql(script(service))
    producer = Producer({"bootstrap.servers": kafka_broker, "partitioner": "murmur2_random"})
    total = 2000

    def load() -> None:
        for number in range(total):
            producer.produce(f"{service}clicks", b'{"N": 1}', b"abcde"[number % 5 :][:1])
            producer.poll(0)
            if number % 20 == 0:
                time.sleep(0.05)
        producer.flush(60.0)

    loading = threading.Thread(target=load)
    loading.start()
    wait_for(lambda: f"{service}sums" in Admin({"bootstrap.servers": kafka_broker}).topics(), "up")
    wait_for(lambda: sums(kafka_broker, f"{service}sums"), "the query has no result", 180.0)
    process.kill()
    rest = process.start()
    loading.join(120.0)
    wait_for_sums(kafka_broker, service, dict.fromkeys("abcde", total // 5))
    (listed,) = rest.ksql("SHOW QUERIES;")
    assert [each["state"] for each in listed["queries"]] == ["RUNNING"]


def test_another_server_takes_over(
    start_process: Callable[..., ServerProcess], service: str, kafka_broker: str
) -> None:
    """Two servers run one query; when the leading one is killed, the other one goes on."""
    one, two = start_process("one"), start_process("two")
    first = one.start()
    first.ksql(script(service))
    second = two.start()
    first.ksql("INSERT INTO clicks VALUES ('a', 1);")
    wait_for_sums(kafka_broker, service, {"a": 1})

    def counts() -> Any:
        (listed,) = second.ksql("SHOW QUERIES;")
        return listed["queries"][0]["statusCount"]

    wait_for(lambda: counts() == {"RUNNING": 2}, "both servers do not run the query")
    one.kill()
    second.ksql("INSERT INTO clicks VALUES ('a', 2);")
    wait_for_sums(kafka_broker, service, {"a": 3})
    wait_for(
        lambda: counts() == {"RUNNING": 1, "UNRESPONSIVE": 1}, "the dead server is not noticed"
    )


def test_headless_server(
    settings: dict[str, str], service: str, kafka_broker: str, tmp_path: Path
) -> None:
    """A file runs, and HTTP has only health, metrics and information."""
    file = tmp_path / "app.sql"
    file.write_text(script(service), encoding="utf-8")
    with new_server(settings, queries_file=file) as server:
        producer = Producer({"bootstrap.servers": kafka_broker})
        wait_for(
            lambda: f"{service}clicks" in Admin({"bootstrap.servers": kafka_broker}).topics(),
            "the topic is not made",
        )
        producer.produce(f"{service}clicks", b'{"N": 4}', b"a")
        producer.flush(30.0)
        wait_for_sums(kafka_broker, service, {"a": 4})
        client = Rest(server.url).client
        assert client.post("/ksql", json={"ksql": "SHOW STREAMS;"}).status_code == 404
        assert client.get("/healthcheck").json()["isHealthy"] is True
        assert "running_queries" in client.get("/metrics").text


def test_cluster_can_be_terminated(
    start: Start, service: str, kafka_broker: str, kafka_admin: Admin
) -> None:
    """All queries end, and topics that fit the patterns are deleted."""
    _, rest = summing(start, service, kafka_broker)
    answer = rest.client.post("/ksql/terminate", json={"deleteTopicList": [f"{service}su.*"]})
    assert answer.status_code == 200, answer.text
    wait_for(lambda: f"{service}sums" not in kafka_admin.topics(), "the topic is left")
    assert rest.refused("SHOW STREAMS;")["error_code"] == 50304
    assert f"{service}clicks" in kafka_admin.topics()


@pytest.mark.skipif(not os.environ.get(KSQL_PYTHON), reason=f"{KSQL_PYTHON} is not set")
def test_client_from_pypi(start: Start, service: str) -> None:
    """A client that nobody here wrote creates, inserts, pulls, pushes and terminates."""
    server = start()
    program = Path(__file__).with_name("pypi_client.py")
    done = subprocess.run(
        [os.environ[KSQL_PYTHON], str(program), server.url, service],
        capture_output=True, text=True, timeout=300, check=False, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["properties"] > 10
    assert [ack["status"] for ack in told["acks"]] == ["ok", "ok"]
    assert told["pull"][0]["row"]["columns"] == ["a", 3]
    assert len(told["push"]) == 2
    assert "".join(told["push over HTTP/2"]).splitlines()[1:] == ["[1]", "[2]"]
    assert told["terminated"] == "SUCCESS"
    assert "nonsense" in told["error"].lower()
