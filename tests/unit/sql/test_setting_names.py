"""SET takes the names that ksqlDB takes, and refuses others where they stand.

Exercises ``ksql_settings``.
"""

from __future__ import annotations

import pytest

from penstock.sql import AnalysisError, SqlEngine


@pytest.mark.parametrize(
    "name",
    [
        "commit.interval.ms",
        "ksql.streams.commit.interval.ms",
        "ksql.functions.collect_list.limit",
        "ksql.query.persistent.active.limit",
        "auto.offset.reset",
        "max.poll.records",
        "linger.ms",
        "consumer.fetch.min.bytes",
        "ksql.streams.producer.linger.ms",
        "topic.retention.ms",
    ],
)
def test_names_of_ksqldb_and_kafka_are_taken(name: str) -> None:
    """With and without a prefix; UNSET takes what SET takes."""
    engine = SqlEngine()
    value = "earliest" if name == "auto.offset.reset" else "100"
    engine.execute(f"SET '{name}' = '{value}';")
    assert engine.catalog.properties[name] == value
    engine.execute(f"UNSET '{name}';")
    assert name not in engine.catalog.properties


@pytest.mark.parametrize(
    ("statement", "code", "text"),
    [
        ("SET 'comit.interval.ms' = '1';", "unknown-setting", "commit.interval.ms"),
        ("SET 'ksql.streams.nothing' = '1';", "unknown-setting", "'ksql.streams.nothing' is no"),
        ("SET 'my.own' = '1';", "unknown-setting", "'my.own' is not a setting"),
        ("UNSET 'my.own';", "unknown-setting", "'my.own' is not a setting"),
        ("SET 'processing.guarantee' = 'perhaps';", "bad-setting", "processing.guarantee"),
        ("SET 'ksql.streams.commit.interval.ms' = 'soon';", "bad-setting", "whole number"),
    ],
)
def test_unknown_names_and_wrong_values_are_refused(statement: str, code: str, text: str) -> None:
    """At the statement, and not when a query starts."""
    engine = SqlEngine()
    with pytest.raises(AnalysisError) as caught:
        engine.execute(statement)
    assert caught.value.code == code
    assert text in str(caught.value)
    assert caught.value.line == 1
    assert engine.catalog.properties == {}
