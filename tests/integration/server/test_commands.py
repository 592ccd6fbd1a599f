"""The command topic on a real broker: servers that race, damage, and repair.

Exercises ``commands.log``, ``commands.restore``, ``server.host_topic`` and
``cli.server.command``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner

pytest.importorskip("granian", reason="needs penstock[server]")

from penstock.cli.main import app
from penstock.kafka.admin import Admin
from penstock.server.commands.log import commands_topic
from penstock.server.errors import ServerError
from penstock.server.sql_server import SqlServer
from tests.integration.server.processes import Rest
from tests.unit.server.test_node import essence

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
Start = Callable[..., SqlServer]


def stream(name: str) -> str:
    return (
        f"CREATE STREAM {name} (k INT KEY, v INT)"
        f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )


def wait_for(holds: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_servers_that_race_have_equal_catalogs(start: Start, service: str, tmp_path: Path) -> None:
    """Kafka lets one of them write at a time; whoever is overtaken checks again."""
    one, two = start(), start(state_dir=str(tmp_path / "two"))
    refused: list[ServerError] = []

    def race(server: SqlServer, mine: str) -> None:
        for turn in range(5):
            for name in (f"{service}own_{mine}{turn}", f"{service}both{turn}"):
                try:
                    server.node.execute(stream(name))
                except ServerError as error:
                    refused.append(error)

    threads = [threading.Thread(target=race, args=(s, n)) for s, n in ((one, "a"), (two, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120.0)
    one.node.runner.catch_up()
    two.node.runner.catch_up()
    assert [error.code for error in refused] == ["already-exists"] * 5
    assert len(one.node.engine.sources) == 15
    assert essence(one.node.engine.catalog) == essence(two.node.engine.catalog)
    three = start(state_dir=str(tmp_path / "three"))
    assert essence(three.node.engine.catalog) == essence(one.node.engine.catalog)


def test_servers_know_each_other(start: Start, service: str, tmp_path: Path) -> None:
    """Each of them lists all hosts, and waits for commands of the others."""
    one = start(ksql_advertised_listener="http://one:1")
    two = start(state_dir=str(tmp_path / "two"))
    first, second = Rest(one.url), Rest(two.url)
    (status,) = first.ksql(stream(f"{service}x"))
    (listed,) = second.ksql("SHOW STREAMS;", commandSequenceNumber=status["commandSequenceNumber"])
    assert [each["topic"] for each in listed["streams"]] == [f"{service}x"]

    # Any free port was asked for; the others are told which one it is.
    both = {"one:1", two.url.removeprefix("http://")}
    for rest in (first, second):
        wait_for(
            lambda rest=rest: (
                set(rest.client.get("/clusterStatus").json()["clusterStatus"]) == both
            ),
            "the other server is not heard of",
        )


def test_bad_record_degrades_and_restoring_repairs(
    start: Start, service: str, kafka_broker: str, settings: dict[str, str]
) -> None:
    """Nothing is lost: the copy on disk has every command from before."""
    server = start()
    rest = Rest(server.url)
    rest.ksql(stream(f"{service}x") + stream(f"{service}y"))
    before = essence(server.node.engine.catalog)
    producer = Producer({"bootstrap.servers": kafka_broker})
    producer.produce(commands_topic(service), b"rubbish", b"key", partition=0)
    producer.flush(30.0)
    wait_for(lambda: rest.server_status() == "DEGRADED", "the bad record is not noticed")
    assert rest.refused(stream(f"{service}z"))["error_code"] == 50302
    (listed,) = rest.ksql("SHOW STREAMS;")
    assert len(listed["streams"]) == 2
    assert listed["warnings"]
    server.close()
    options = [
        part for n in ("ksql.service.id", "state.dir") for part in ("-c", f"{n}={settings[n]}")
    ]
    restored = CliRunner().invoke(
        app, ["server", "restore-commands", "--yes", "-b", kafka_broker, *options, "--json"]
    )
    assert restored.exit_code == 0, restored.output
    again = start()
    assert again.node.server_status == "RUNNING"
    assert essence(again.node.engine.catalog) == before
    Rest(again.url).ksql(stream(f"{service}z"))


def test_commands_of_ksqldb_are_not_deleted(
    start: Start, service: str, kafka_broker: str, kafka_admin: Admin, settings: dict[str, str]
) -> None:
    """A topic that ksqlDB uses may have been named by mistake."""
    server = start()
    Rest(server.url).ksql(stream(f"{service}x"))
    server.close()
    pattern = f"{service}-of-ksqldb"
    kafka_admin.create_topic(pattern, partitions=1)
    producer = Producer({"bootstrap.servers": kafka_broker})
    record = b'{"statement": "SHOW STREAMS;", "streamsProperties": {}, "version": 18}'
    producer.produce(pattern, record, b"key", partition=0)
    producer.flush(30.0)
    given = {name: settings[name] for name in ("ksql.service.id", "state.dir")}
    given["penstock.server.command.topic"] = pattern
    options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
    refused = CliRunner().invoke(
        app, ["server", "restore-commands", "--yes", "-b", kafka_broker, *options]
    )
    assert refused.exit_code != 0
    assert "commands of ksqlDB" in " ".join(refused.output.split())
    assert kafka_admin.end_offsets([(pattern, 0)])[pattern, 0] == 1


def test_the_command_topic_has_the_name_of_a_setting(
    start: Start, service: str, kafka_admin: Admin
) -> None:
    """As in ksqlDB, if it is set so; the next server finds the statements there."""
    pattern = "_confluent-ksql-${ksql.service.id}_command_topic"
    server = start(penstock_server_command_topic=pattern)
    Rest(server.url).ksql(stream(f"{service}x"))
    server.close()
    topics = kafka_admin.topics()
    assert f"_confluent-ksql-{service}_command_topic" in topics
    assert commands_topic(service) not in topics
    again = Rest(start(penstock_server_command_topic=pattern).url)
    (listed,) = again.ksql("SHOW STREAMS;")
    assert [each["topic"] for each in listed["streams"]] == [f"{service}x"]
    (topics_shown,) = again.ksql("SHOW TOPICS;")
    assert not [each for each in topics_shown["topics"] if "command_topic" in each["name"]]


def test_emptied_topic_is_noticed_at_the_start(
    start: Start, service: str, kafka_admin: Admin
) -> None:
    """A topic without its commands must not look like a new service."""
    server = start()
    Rest(server.url).ksql(stream(f"{service}x"))
    server.close()
    kafka_admin.delete_topics([commands_topic(service)])
    again = start()
    rest = Rest(again.url)
    assert rest.server_status() == "DEGRADED"
    assert "restore-commands" in rest.refused(stream(f"{service}y"))["message"]
    assert rest.client.get("/healthcheck").status_code == 503


def test_inferred_columns_are_the_same_after_a_new_schema(start: Start, service: str) -> None:
    """A restarted server does not ask the registry again."""
    server = start()
    rest = Rest(server.url)
    topic = f"{service}avro"
    with_avro = f"WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='AVRO', PARTITIONS=1);"
    rest.ksql(f"CREATE STREAM first (a INT, b STRING) {with_avro}")
    rest.ksql(f"CREATE STREAM inferred {with_avro}")
    rest.ksql("DROP STREAM first;")
    before = server.node.engine.sources["INFERRED"].schema
    server.close()
    again = start()
    assert again.node.engine.sources["INFERRED"].schema == before


def test_headless_server_runs_a_file(settings: dict[str, str], tmp_path: Path) -> None:
    """A file that is refused starts nothing; see the tests with Spark for one that runs."""
    file = tmp_path / "app.sql"
    file.write_text("SHOW STREAMS;", encoding="utf-8")
    given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    result = CliRunner().invoke(app, ["server", "--queries-file", str(file), *given])
    assert result.exit_code == 1
    assert "not-in-a-file" in result.output
