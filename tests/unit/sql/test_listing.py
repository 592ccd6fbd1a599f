"""SHOW and LIST: what there is, as rows.

Exercises ``property_rows``.
"""

import pytest

from penstock.sql import SqlEngine, SqlError
from penstock.sql.results import TableResult
from tests.unit.sql.queries import ORDERS, engine_of, refusal

COPY = "CREATE STREAM copied AS SELECT * FROM orders;"


def shown(engine: SqlEngine, sql: str) -> TableResult:
    (result,) = engine.execute(sql)
    assert isinstance(result, TableResult)
    return result


def rows(result: TableResult) -> list[dict[str, object]]:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def test_properties_have_a_value_whether_given_or_not() -> None:
    """Defaults of ksqlDB and Kafka Streams, over them the engine's settings, over them SET."""
    engine = SqlEngine({"ksql.service.id": "shop_", "ksql.streams.commit.interval.ms": "7"})
    engine.execute("SET 'num.stream.threads' = '3';")
    found = {
        row["name"]: (row["value"], row["given"]) for row in rows(shown(engine, "SHOW PROPERTIES;"))
    }
    assert found["ksql.service.id"] == ("shop_", True)
    assert found["ksql.persistence.default.format.key"] == ("KAFKA", False)
    assert found["ksql.streams.commit.interval.ms"] == ("7", True)
    assert found["ksql.streams.num.stream.threads"] == ("3", True)
    assert found["ksql.streams.processing.guarantee"] == ("exactly_once_v2", False)
    assert "num.stream.threads" not in found


def test_properties_hide_passwords() -> None:
    """What SHOW prints ends up in logs and on screens."""
    engine = SqlEngine(
        {"sasl.password": "Pa55", "ksql.schema.registry.basic.auth.user.info": "me:Pa55"}
    )
    assert "Pa55" not in str(shown(engine, "LIST PROPERTIES;"))


def test_extended_queries_tell_how_they_run() -> None:
    """EXTENDED adds the application, topics, columns, settings and the topology of each query."""
    engine = engine_of(ORDERS, "SET 'commit.interval.ms' = '9';", COPY)
    result = shown(engine, "SHOW QUERIES EXTENDED;")
    (query,) = rows(result)
    assert query["application_id"] == "_confluent-ksql-default_query_CSAS_COPIED_0"
    assert (query["reads"], query["writes"]) == ("orders", "COPIED")
    assert "PRICE" in str(query["columns"])
    assert query["settings"] == "commit.interval.ms=9"
    assert "Sink: " in result.details["topology"]
    assert "application_id" not in shown(engine, "SHOW QUERIES;").columns


def test_extended_description_tells_of_topic_windows_and_queries() -> None:
    """EXTENDED adds what a description leaves out; the rows stay the columns."""
    counts = "CREATE TABLE counts AS SELECT item, COUNT(*) AS n FROM orders"
    engine = engine_of(ORDERS, f"{counts} WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY item;")
    engine.execute(
        "CREATE STREAM moments (a INT, at STRING) WITH (KAFKA_TOPIC='m', PARTITIONS=3,"
        " VALUE_FORMAT='JSON', TIMESTAMP='at', TIMESTAMP_FORMAT='yyyy-MM-dd');"
    )
    table = shown(engine, "DESCRIBE counts EXTENDED;")
    assert (table.details["window"], table.details["window_size_ms"]) == ("TUMBLING", 60_000)
    assert table.details["written_by"] == ["CTAS_COUNTS_0"]
    (query,) = table.details["queries"]
    assert query.startswith(f"CTAS_COUNTS_0 (RUNNING): {counts}")
    assert shown(engine, "DESCRIBE orders EXTENDED;").details["queries"] == [query]
    stream = shown(engine, "DESCRIBE moments EXTENDED;").details
    assert (stream["partitions"], stream["timestamp"]) == (3, "AT")
    assert stream["timestamp_format"] == "yyyy-MM-dd"
    plain = shown(engine, "DESCRIBE counts;")
    assert (plain.rows, "queries" in plain.details) == (table.rows, False)


@pytest.mark.parametrize("sql", ["SHOW STREAMS EXTENDED;", "DESCRIBE STREAMS EXTENDED;"])
def test_extended_streams_tell_who_uses_them(sql: str) -> None:
    """EXTENDED adds columns, readers and writers of each stream."""
    source, copy = rows(shown(engine_of(ORDERS, COPY), sql))
    assert (source["read_by"], source["written_by"]) == ("CSAS_COPIED_0", "")
    assert (copy["read_by"], copy["written_by"]) == ("", "CSAS_COPIED_0")
    assert "PRICE" in str(source["columns"])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ksql.service.ids", "'ksql.service.id'"),
        ("ksql.streams.comit.interval.ms", "commit.interval.ms"),
    ],
)
def test_unknown_setting_of_ksqldb_is_refused(name: str, advice: str) -> None:
    """A misspelt setting would change nothing, without a word; in the engine's settings, too."""
    error = refusal(f"SET '{name}' = '1';")
    assert error.code == "unknown-setting"
    assert advice in (error.fix or "")
    with pytest.raises(SqlError):
        SqlEngine({name: "1"})


def test_setting_of_another_version_is_taken_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Scripts and files of ksqlDB work; SET and the log say that it changes nothing."""
    # The command that tests scripts silences the engine for the rest of its process.
    caplog.set_level("WARNING", "penstock.sql")
    (result,) = SqlEngine().execute("SET 'ksql.made.up' = '1';")
    assert result.message == "ksql.made.up = 1, which changes nothing here"
    assert SqlEngine({"ksql.made.up": "1"}).settings["ksql.made.up"] == "1"
    assert [each.count("ksql.made.up is not a setting") for each in caplog.messages] == [1, 1]


def test_setting_without_effect_says_so() -> None:
    """Scripts of ksqlDB run as they are, and nobody believes in vain."""
    (result,) = SqlEngine().execute("SET 'ksql.query.pull.interpreter.enabled' = 'true';")
    assert "changes nothing here" in result.message
