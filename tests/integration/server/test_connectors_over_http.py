"""Connectors of a server that is a process of its own, over HTTP, with its own Connect worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

from penstock.kafka.admin import Admin
from tests.integration.server.processes import Rest, ServerProcess
from tests.integration.server.test_commands import wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
TEXT = "org.apache.kafka.connect.storage.StringConverter"


def create(name: str, file: Path, topic: str) -> str:
    return (
        f"CREATE SOURCE CONNECTOR {name} WITH ('connector.class' = '{SOURCE}',"
        f" 'file' = '{file}', 'topic' = '{topic}', 'value.converter' = '{TEXT}',"
        " 'my.password' = 'hush');"
    )


def listed(rest: Rest) -> dict[str, Any]:
    (answer,) = rest.ksql("SHOW CONNECTORS;")
    return {each["name"]: each["state"] for each in answer["connectors"]}


def rows(rest: Rest, sql: str) -> list[Any]:
    body = {"ksql": sql, "streamsProperties": {"auto.offset.reset": "earliest"}}
    answer = rest.client.post("/query", json=body, timeout=600.0)
    assert answer.status_code == 200, answer.text
    return [part["row"]["columns"] for part in answer.json() if "row" in part]


def test_a_file_is_a_stream_that_outlives_the_server(
    start_process: Callable[..., ServerProcess], service: str, kafka_admin: Admin, tmp_path: Path
) -> None:
    """Lines reach push and persistent queries; after kill -9 the connector reads on."""
    file, topic = tmp_path / "lines.txt", f"{service}lines"
    file.write_text("one\ntwo\n", encoding="utf-8")
    process = start_process()
    rest = process.start()
    rest.ksql(
        f"CREATE STREAM lines (line VARCHAR) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='DELIMITED',"
        f" PARTITIONS=1); CREATE TABLE lengths WITH (KAFKA_TOPIC='{service}lengths') AS"
        " SELECT LEN(line) AS size, COUNT(*) AS n FROM lines GROUP BY LEN(line);"
    )
    (made,) = rest.ksql(create("reader", file, topic))
    assert made["@type"] == "connector_info"
    assert "hush" not in str(made)
    assert rows(rest, "SELECT line FROM lines EMIT CHANGES LIMIT 2;") == [["one"], ["two"]]
    wait_for(lambda: "1/1" in str(listed(rest)["READER"]), "the connector does not run", 90.0)
    wait_for(lambda: rows(rest, "SELECT n FROM lengths WHERE size = 3;") == [[2]], "no count", 180)
    refused = rest.refused(create("reader", file, topic))
    assert (refused["error_code"], "hush" in str(refused)) == (40001, False)
    process.kill()
    rest = process.start()
    with file.open("a", encoding="utf-8") as lines:
        lines.write("six\n")
    # A worker that is killed has not always written down how far it was: lines may come twice.
    wait_for(lambda: rows(rest, "SELECT n FROM lengths WHERE size = 3;") >= [[3]], "no more", 240)
    (described,) = rest.ksql("DESCRIBE CONNECTOR reader;")
    assert [each["name"] for each in described["sources"]] == ["LINES"]
    (dropped,) = rest.ksql("DROP CONNECTOR reader;")
    assert dropped["connectorName"] == "READER"
    assert listed(rest) == {}
    answer = rest.client.post("/ksql", json={"ksql": "DESCRIBE CONNECTOR reader;"})
    assert answer.status_code == 404
    assert process.stop() == 0
