"""PRINT shows the content of records in every format."""

from typing import Any

import pytest

from penstock.cli.sql.print_format import PrintFormat
from penstock.sql import SqlEngine

ROW = "INSERT INTO s (k, n, day, price) VALUES ({key}, 7, '2026-01-31', 1.50);"


def written(key_type: str, key: str, **formats: str) -> tuple[SqlEngine, Any]:
    """An engine with one row in topic s, and the row as a record."""
    engine = SqlEngine()
    given = ", ".join(f"{name}='{value}'" for name, value in formats.items())
    engine.execute(
        f"CREATE STREAM s (k {key_type} KEY, n INT, day DATE, price DECIMAL(5, 2))"
        f" WITH (KAFKA_TOPIC='s', {given});"
    )
    engine.execute(ROW.format(key=key))
    return engine, engine.outbox[0]


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_declared_topic_is_shown_as_columns(name: str) -> None:
    """A stream or table over the topic knows names and types."""
    engine, record = written("INT", "5", KEY_FORMAT="KAFKA", VALUE_FORMAT=name)
    shown = PrintFormat(engine, "s")
    assert shown.key(record.key) == 5
    assert shown.value(record.value) == {"N": 7, "DAY": "2026-01-31", "PRICE": "1.50"}


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_topic_that_nobody_declared_is_read_by_its_schema_id(name: str) -> None:
    """The registry knows what the record was written with."""
    engine, record = written("VARCHAR", "'ann'", KEY_FORMAT="KAFKA", VALUE_FORMAT=name)
    engine.execute("DROP STREAM s;")
    shown = PrintFormat(engine, "s")
    assert shown.key(record.key) == "ann"
    assert shown.value(record.value)["N"] == 7


def test_json_is_shown_as_it_was_written() -> None:
    """Text needs no decoding, also text that a declared column would change."""
    engine, _ = written("VARCHAR", "'ann'", KEY_FORMAT="KAFKA", VALUE_FORMAT="JSON")
    assert PrintFormat(engine, "s").value(b'{"N": 7, "other": 1}') == '{"N": 7, "other": 1}'


def test_broken_record_is_shown_as_text() -> None:
    """A record that cannot be decoded is one that somebody looks for with PRINT."""
    engine, record = written("INT", "5", KEY_FORMAT="KAFKA", VALUE_FORMAT="AVRO")
    shown = PrintFormat(engine, "s")
    assert shown.value(b"\x00\x00\x00\x00\x63rest") == r"\x00\x00\x00\x00crest"
    assert shown.value(record.value[:7]) is not None
    assert shown.key(b"no number") == "no number"
    assert (shown.key(None), shown.value(None)) == (None, None)


def test_windowed_key_is_shown_with_its_window() -> None:
    """The window is a part of the key."""
    engine = SqlEngine()
    engine.execute(
        "CREATE STREAM s (k INT KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON',"
        " WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS');"
    )
    key = (5).to_bytes(4, "big") + (20_000).to_bytes(8, "big")
    expected = {"K": 5, "WINDOWSTART": 20_000, "WINDOWEND": 30_000}
    assert PrintFormat(engine, "s").key(key) == expected
