"""The Python client, the prompt in a pipe and migrations, on a real server, Kafka and Spark.

Exercises ``penstock.client``, ``prompt.command`` and ``migrations.actions``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("granian", reason="needs the extra server")

from penstock.cli.main import app
from penstock.client import AsyncClient, Client, InsertError, RequestRefusedError
from penstock.server.sql_server import SqlServer

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
Start = Callable[..., SqlServer]
EARLIEST = {"auto.offset.reset": "earliest"}
TYPES = """
    CREATE STREAM types (id STRING KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, m DECIMAL(9, 3),
        y BYTES, da DATE, ti TIME, ts TIMESTAMP, a ARRAY<DATE>, mp MAP<STRING, DECIMAL(4, 1)>,
        st STRUCT<x INT, t TIMESTAMP>)
        WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
ROW: dict[str, Any] = {
    "ID": "k",
    "B": True,
    "I": 1,
    "L": 2**40,
    "D": 1.5,
    "M": Decimal("123456.789"),
    "Y": b"\x01",
    "DA": date(2024, 1, 2),
    "TI": clock_time(1, 2, 3),
    "TS": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    "A": [date(2024, 1, 2), None],
    "MP": {"k": Decimal("1.5")},
    "ST": {"X": 1, "T": datetime(2024, 1, 1, tzinfo=UTC)},
}


def eventually(value: Callable[[], Any], wanted: Any, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while (found := value()) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


@pytest.mark.parametrize("http2", [False, True])
def test_row_comes_back_as_it_was_sent(start: Start, service: str, http2: bool) -> None:
    """Every type, over HTTP/1.1 and HTTP/2."""
    with Client(start().url, http2=http2, properties=EARLIEST) as client:
        client.execute_statement(TYPES.format(topic=f"{service}types"))
        client.insert_into("types", ROW)
        found = client.execute_query("SELECT * FROM types EMIT CHANGES LIMIT 1;")
        assert found[0].as_dict() == ROW
        assert found.to_arrow().num_rows == 1
        rows = ({"ID": f"r{i}", "I": i} for i in range(1_200))
        assert [ack.seq for ack in client.stream_inserts("types", rows)] == list(range(1_200))
        with pytest.raises(InsertError, match="NOPE") as raised:
            list(client.stream_inserts("types", [{"ID": "a"}, {"NOPE": 1}, {"ID": "b"}]))
        assert raised.value.seq == 1


def test_statements_queries_and_listings(start: Start, service: str) -> None:
    """The same on a real server as on the one of the unit tests."""
    with Client(start().url) as client:
        client.execute_statement(TYPES.format(topic=f"{service}types"))
        client.execute_statement(
            f"CREATE TABLE n WITH (KAFKA_TOPIC='{service}n') AS"
            " SELECT id, COUNT(*) AS n FROM types GROUP BY id;",
            EARLIEST,
        )
        client.insert_into("types", ROW)
        eventually(lambda: [*client.execute_query("SELECT * FROM n WHERE id = 'k';")], [("k", 1)])
        assert [each.name for each in client.list_streams()] == ["TYPES"]
        assert [each.name for each in client.list_tables()] == ["N"]
        (query,) = client.list_queries()
        assert client.describe_source("n").writers[0].id == query.id
        assert client.describe_source("types").fields[-1].type == (
            "STRUCT<`X` INTEGER, `T` TIMESTAMP>"
        )
        assert "COUNT" in {each.name for each in client.list_functions()}
        assert client.list_properties()["ksql.service.id"] == service
        assert client.server_info().status == "RUNNING"
        client.assert_topic(f"{service}types", {"PARTITIONS": 1}, timeout=timedelta(seconds=5))
        with pytest.raises(RequestRefusedError) as raised:
            client.execute_query("SELECT idd FROM n;")
        assert (raised.value.code, raised.value.place) == ("unknown-column", (1, 8))


def test_push_query_ends_on_the_server_when_its_reader_leaves(start: Start, service: str) -> None:
    async def run(url: str) -> None:
        async with AsyncClient(url, properties=EARLIEST) as client:
            await client.execute_statement(TYPES.format(topic=f"{service}types"))
            await client.insert_into("types", ROW)
            async with client.stream_query("SELECT id FROM types EMIT CHANGES;") as rows:
                assert (await anext(rows))["ID"] == "k"
                assert rows.query_id is not None
                await client.terminate_push_query(rows.query_id)
                assert [row async for row in rows] == []
            rows = client.stream_query("SELECT id FROM types EMIT CHANGES;")
            async for _ in rows:
                break
            await rows.close()
            async with asyncio.timeout(60):
                while True:
                    try:
                        await client.terminate_push_query(rows.query_id or "")
                    except RequestRefusedError:
                        return
                    await asyncio.sleep(0.2)

    asyncio.run(run(start().url))


def test_prompt_in_a_pipe(start: Start, service: str) -> None:
    """Rows of JSON on standard output, and exit 1 at the first failure."""
    url = start().url

    def sql(text: str) -> Result:
        return CliRunner().invoke(app, ["sql", url, "--output", "json"], input=text)

    done = sql(
        f"CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='{service}s',"
        " VALUE_FORMAT='JSON', PARTITIONS=1);\n"
        "INSERT INTO s VALUES ('a', 1);\nINSERT INTO s VALUES ('b', 2);\n"
    )
    assert done.exit_code == 0, done.output
    done = sql("SET 'auto.offset.reset'='earliest';\nSELECT * FROM s EMIT CHANGES LIMIT 2;\n")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"ID": "a", "N": 1},
        {"ID": "b", "N": 2},
    ]
    done = sql(f"PRINT '{service}s' FROM BEGINNING LIMIT 2;")
    assert done.stdout.count("rowtime: ") == 2
    done = sql("SELECT * FORM s;\nSHOW STREAMS;")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"]["column"] == 10


def test_migrations_are_remembered_by_the_server(
    start: Start, service: str, tmp_path: Path
) -> None:
    """A failed one is tried again, an applied one is not."""
    url, folder = start().url, tmp_path / "shop"
    config = folder / "ksql-migrations.properties"

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["sql", "migrations", *arguments])

    assert run("new-project", str(folder), url).exit_code == 0
    for command in (("initialize-metadata",), ("create", "First"), ("create", "Second")):
        done = run(*command, "-c", str(config))
        assert done.exit_code == 0, done.output
    create = (
        "CREATE STREAM {} (id STRING KEY) WITH (KAFKA_TOPIC='{}', VALUE_FORMAT='JSON',"
        " PARTITIONS=1);"
    )
    (folder / "migrations" / "V000001__First.sql").write_text(create.format("a", f"{service}a"))
    second = folder / "migrations" / "V000002__Second.sql"
    second.write_text("DROP STREAM nothing;")
    assert run("apply", "--all", "-c", str(config)).exit_code == 1
    second.write_text(create.format("b", f"{service}b"))
    done = run("apply", "--all", "-c", str(config))
    assert done.exit_code == 0, done.output
    states = json.loads(run("info", "--json", "-c", str(config)).stdout)["migrations"]
    assert [each["state"] for each in states] == ["MIGRATED", "MIGRATED"]
    assert "2 applied files are unchanged" in run("validate", "-c", str(config)).output
    assert run("destroy-metadata", "--yes", "-c", str(config)).exit_code == 0
    with Client(url) as client:
        assert {each.name for each in client.list_streams()} == {"A", "B"}
