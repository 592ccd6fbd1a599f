"""EMIT FINAL with ksql.emit.final.idle.ms: the wall clock closes the windows of a quiet stream."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.sql import AnalysisError, SqlEngine

_SCRIPT = """
    SET 'ksql.emit.final.idle.ms'='30000';
    CREATE STREAM clicks (page VARCHAR KEY, n INT)
        WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
    CREATE TABLE views WITH (KAFKA_TOPIC='views') AS
        SELECT page, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 1 MINUTE)
        GROUP BY page EMIT FINAL;
"""


def test_a_quiet_window_is_written_without_another_row() -> None:
    engine = SqlEngine()
    engine.execute(_SCRIPT)
    config = {"application.id": "idle"}
    with ps.TopologyTestDriver(engine.topology(), config) as driver:
        driver.pipe_bytes("clicks", b"home", b'{"N": 1}', 10_000)
        for _ in range(100):
            driver.advance_wall_clock_time("1s")
        assert [record.value for record in driver.take_all("views")] == [b'{"N":1}']


@pytest.mark.parametrize("value", ["0", "-1", "soon", "1.5"])
def test_a_time_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        SqlEngine().execute(f"SET 'ksql.emit.final.idle.ms'='{value}';")
    assert caught.value.code == "bad-setting"


def test_without_the_setting_only_rows_close_windows() -> None:
    engine = SqlEngine()
    engine.execute(_SCRIPT.partition(";")[2])
    nodes = engine.topology().graph.nodes.values()
    assert [node.idle_ms for node in nodes if hasattr(node, "idle_ms")] == [None]
