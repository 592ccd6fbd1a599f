"""What is fuzzed: any text either is a script or is refused by an error of ours."""

from __future__ import annotations

import logging
from contextlib import suppress

from penstock.sql import SqlEngine, SqlError
from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse, parse_statement

SOURCES = """
CREATE STREAM s (k VARCHAR KEY, a INT, b VARCHAR, d DOUBLE, c ARRAY<INT>, m MAP<VARCHAR, INT>,
    p STRUCT<x INT, y VARCHAR>, t TIMESTAMP, e DECIMAL(9, 2))
    WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM u (k VARCHAR KEY, a INT, f BIGINT)
    WITH (KAFKA_TOPIC='u', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE TABLE t (k VARCHAR PRIMARY KEY, a INT, b VARCHAR)
    WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);
"""


def new_engine() -> SqlEngine:
    """An engine that knows two streams and a table; expressions that fail stay silent."""
    logging.getLogger("penstock.sql.processing").setLevel(logging.CRITICAL + 1)
    engine = SqlEngine()
    engine.execute(SOURCES)
    return engine


class Target:
    """Runs one text. Whatever it raises is a bug."""

    def __init__(self) -> None:
        self._engine = new_engine()
        self._sources = self._engine.catalog

    def __call__(self, data: bytes) -> None:
        text = data.decode("utf-8", errors="replace")
        with suppress(SqlError):
            for statement in parse(text):
                again = parse_statement(format_statement(statement))
                assert again == statement, f"reads back differently: {text!r}"
        self._engine.catalog = self._sources.copy()
        with suppress(SqlError):
            self._engine.execute(text)
        self._engine.outbox.clear()
