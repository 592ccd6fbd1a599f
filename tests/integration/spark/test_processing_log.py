"""The processing log on real Spark and real Kafka; every kind of entry is tested in process."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.sql import SqlEngine
from tests.integration.connect.test_connectors import eventually

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_what_failed_on_workers_is_a_row_of_the_stream(
    spark: Any, kafka_broker: str, tmp_path: Path
) -> None:
    """Entries are committed with the results, and the stream over them is there by itself."""
    service = f"log{uuid4().hex[:8]}_"
    prefix = "ksql.logging.processing."
    engine = SqlEngine(
        {
            "ksql.service.id": service,
            f"{prefix}topic.auto.create": "true",
            f"{prefix}stream.auto.create": "true",
            f"{prefix}rows.include": "true",
        }
    )
    query = f"CREATE STREAM q WITH (KAFKA_TOPIC='{service}q') AS SELECT id, 10 / n AS m FROM s;"
    kafka = {"bootstrap.servers": kafka_broker, "state.dir": str(tmp_path)}
    with engine.connect(kafka) as running:
        engine.execute(
            f"CREATE STREAM s (id VARCHAR KEY, n INT) WITH (KAFKA_TOPIC='{service}s',"
            f" VALUE_FORMAT='JSON', PARTITIONS=1); CREATE STREAM raw (line VARCHAR) WITH"
            f" (KAFKA_TOPIC='{service}s', VALUE_FORMAT='KAFKA'); {query}"
        )
        engine.execute("""
            INSERT INTO s VALUES ('a', 5);
            INSERT INTO s VALUES ('b', 0);
            INSERT INTO raw VALUES ('{no json');
        """)
        assert running.run_until_idle()
        select = (
            "SELECT message->type AS t, query_id, statement, expression,"
            " origin->record_offset AS o, origin->record_value AS v FROM KSQL_PROCESSING_LOG;"
        )
        rows = eventually(lambda: _rows(engine, select, 2))
    assert sorted(rows) == [
        (0, "CSAS_Q_0", query.rstrip(";"), None, 2, "{no json"),
        (1, "CSAS_Q_0", query.rstrip(";"), "10 / S.N", 1, '{"N":0}'),
    ]


def _rows(engine: SqlEngine, select: str, count: int) -> list[tuple[Any, ...]]:
    [result] = engine.execute(select)
    found = list(result.rows)  # type: ignore[attr-defined]
    return found if len(found) == count else []
