"""Statements of the command topic mean the same when the schema registry has changed."""

from __future__ import annotations

from penstock.registry.registry import MemoryRegistry, Schema
from penstock.server.resolving import with_columns
from penstock.sql import SqlEngine
from penstock.sql.syntax.parser import parse_statement

AVRO = """{"type": "record", "name": "Click", "fields": [
    {"name": "USER_NAME", "type": ["null", "string"]},
    {"name": "Tags", "type": ["null", {"type": "array", "items": "int"}]}]}"""


def resolved(sql: str, registry: MemoryRegistry | None = None) -> str:
    engine = SqlEngine(registry=registry or MemoryRegistry())
    catalog = engine.trial(sql).catalog
    return with_columns(parse_statement(sql), catalog, sql)


def test_inferred_columns_become_part_of_the_statement() -> None:
    """Another node does not ask the registry, which may have a newer schema by then."""
    registry = MemoryRegistry()
    registry.register("clicks-value", Schema("AVRO", AVRO))
    sql = "CREATE STREAM clicks WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='AVRO', PARTITIONS=1);"
    text = resolved(sql, registry)
    later = SqlEngine(registry=MemoryRegistry())
    later.execute(text)
    now = SqlEngine(registry=registry)
    now.execute(sql)
    assert later.sources["CLICKS"].schema == now.sources["CLICKS"].schema
    assert "USER_NAME" in text


def test_declared_columns_stay_as_they_are() -> None:
    """A statement that says everything is kept to the letter."""
    sql = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
    assert resolved(sql) == sql


def test_schema_by_id_stays_as_it_is() -> None:
    """A schema never changes under its id, and columns beside it are refused."""
    registry = MemoryRegistry()
    number = registry.register("clicks-value", Schema("AVRO", AVRO))
    sql = (
        "CREATE STREAM clicks WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='AVRO', PARTITIONS=1,"
        f" VALUE_SCHEMA_ID={number});"
    )
    assert resolved(sql, registry) == sql


def test_other_statements_stay_as_they_are() -> None:
    """Only CREATE over a topic can leave its columns to the registry."""
    sql = "CREATE TYPE money AS DECIMAL(9, 2);"
    assert resolved(sql) == sql
