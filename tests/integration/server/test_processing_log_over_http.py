"""The processing log of a server that is a process of its own, asked over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

pytest.importorskip("granian", reason="needs penstock[server]")

from tests.integration.server.processes import ServerProcess
from tests.integration.server.test_commands import wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
PREFIX = "ksql.logging.processing."


def test_a_bad_record_is_a_row_that_can_be_asked(
    start_process: Callable[..., ServerProcess],
    settings: dict[str, str],
    service: str,
    kafka_broker: str,
) -> None:
    """A push query sees the failure as it comes, a pull query finds it afterwards."""
    settings |= {f"{PREFIX}stream.auto.create": "true", f"{PREFIX}rows.include": "true"}
    rest = start_process().start()
    script = (
        f"CREATE STREAM orders (id VARCHAR KEY, n INT) WITH (KAFKA_TOPIC='{service}orders',"
        " VALUE_FORMAT='JSON', PARTITIONS=1);"
        f"CREATE STREAM shares WITH (KAFKA_TOPIC='{service}shares') AS"
        " SELECT id, 10 / n AS share FROM orders;"
    )
    created = rest.ksql(script)[-1]
    query_id = created["commandStatus"]["queryId"]
    producer = Producer({"bootstrap.servers": kafka_broker})
    for value in (b'{"N": 5}', b'{"N": 0}', b"{no json"):
        producer.produce(f"{service}orders", value, b"k")
    producer.flush(30.0)

    def rows(sql: str) -> list[Any]:
        body = {"sql": sql, "properties": {"auto.offset.reset": "earliest"}}
        answer = rest.client.post("/query-stream", json=body, timeout=600.0)
        assert answer.status_code == 200, answer.text
        found = [json.loads(line) for line in answer.text.splitlines()[1:]]
        return [each for each in found if isinstance(each, list)]

    columns = "message->type, query_id, expression, origin->record_offset, origin->record_value"
    select = f"SELECT {columns} FROM KSQL_PROCESSING_LOG WHERE query_id = '{query_id}'"
    wanted = [[1, query_id, "10 / ORDERS.N", 1, '{"N": 0}'], [0, query_id, None, 2, "{no json"]]
    assert sorted(rows(f"{select} EMIT CHANGES LIMIT 2;"), key=str) == sorted(wanted, key=str)
    wait_for(lambda: len(rows(f"{select};")) == 2, "a pull query does not find the failures")
    assert rows(f"{select} AND message->type = 0;") == wanted[1:]
    assert rest.status(query_id) == "RUNNING"
    (described,) = rest.ksql("DESCRIBE KSQL_PROCESSING_LOG;")
    assert described["sourceDescription"]["topic"] == f"{service}ksql_processing_log"
