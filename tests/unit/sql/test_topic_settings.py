"""WITH says what a topic is made with; what makes no sense is refused where it stands."""

from __future__ import annotations

import pytest

from penstock.sql import AnalysisError, SqlEngine
from penstock.sql.queries.spark_queries import topic_config

STREAM = "CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', {});"
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', {});"
COUNTS = "CREATE TABLE c WITH ({}) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
WINDOWS = COUNTS.replace("FROM s", "FROM s WINDOW TUMBLING (SIZE 1 HOUR)")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (STREAM.format("PARTITIONS=0"), "PARTITIONS must be 1 or more, not 0"),
        (STREAM.format("PARTITIONS='-3'"), "PARTITIONS must be 1 or more, not -3"),
        (STREAM.format("PARTITIONS=1, REPLICAS=0"), "REPLICAS must be 1 or more, not 0"),
        (STREAM.format("RETENTION_MS='soon'"), "RETENTION_MS takes a whole number, not 'soon'"),
        (STREAM.format("RETENTION_MS='-2'"), "RETENTION_MS must be -1 or more, not -2"),
        (STREAM.format("CLEANUP_POLICY='compact'"), "CLEANUP_POLICY cannot be chosen"),
        (TABLE.format("RETENTION_MS=1000"), "a table keeps all of its rows"),
        (
            STREAM.format("PARTITIONS=1") + COUNTS.format("RETENTION_MS=1000"),
            "a table keeps all of its rows",
        ),
        (STREAM.format("PARTITIONS=1") + COUNTS.format("PARTITIONS=0"), "PARTITIONS must be 1"),
    ],
)
def test_setting_without_sense_is_refused(script: str, message: str) -> None:
    """With the place in the text."""
    with pytest.raises(AnalysisError, match=message) as caught:
        SqlEngine().execute(script)
    assert caught.value.code == "bad-property"
    assert caught.value.line


def test_topics_are_made_as_their_streams_and_tables_want_them() -> None:
    """Tables are compacted; a retention is that of the topic."""
    engine = SqlEngine()
    engine.execute(STREAM.format("PARTITIONS=3, REPLICAS=2, RETENTION_MS=5000"))
    engine.execute(TABLE.format("PARTITIONS=1"))
    engine.execute(WINDOWS.format("RETENTION_MS=7000"))
    made = {name: topic_config(source) for name, source in engine.sources.items()}
    assert made == {
        "S": {"retention.ms": "5000"},
        "T": {"cleanup.policy": "compact"},
        "C": {"cleanup.policy": "compact,delete", "retention.ms": "7000"},
    }
    settings = engine.sources["S"].topic_settings
    assert (settings.partitions, settings.replicas) == (3, 2)
    assert engine.catalog.topics["C"] == 3
