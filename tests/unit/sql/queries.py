"""Scripts run in process, for tests: records in as Python values, records out as Python values."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock.sql import SqlEngine, SqlError
from penstock.sql.queries.local import LocalQueries

ORDERS = (
    "CREATE STREAM orders (id INT KEY, item VARCHAR, price INT)"
    " WITH (KAFKA_TOPIC='orders', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
ITEMS = (
    "CREATE TABLE items (name VARCHAR PRIMARY KEY, kind VARCHAR)"
    " WITH (KAFKA_TOPIC='items', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)


class Script:
    """An engine with its queries running; topics are JSON on both sides."""

    def __init__(self, engine: SqlEngine, queries: LocalQueries) -> None:
        self.engine = engine
        self.queries = queries

    def pipe(self, topic: str, key: Any, value: Any, timestamp: int = 0) -> None:
        self.queries.pipe(topic, _bytes(key), _bytes(value), timestamp)

    def read(self, topic: str) -> list[tuple[Any, Any]]:
        """All (key, value) pairs that queries wrote to a topic."""
        records = [r for r in self.queries.produced if r.topic == topic]
        return [(_value(r.key), _value(r.value)) for r in records]

    def times(self, topic: str) -> list[int]:
        return [r.timestamp for r in self.queries.produced if r.topic == topic]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def _value(data: bytes | None) -> Any:
    return None if data is None else json.loads(data)


@contextmanager
def running(*statements: str, **config: str) -> Iterator[Script]:
    engine = engine_of(*statements, **config)
    with engine.local() as queries:
        yield Script(engine, queries)


def engine_of(*statements: str, **config: str) -> SqlEngine:
    engine = SqlEngine({name.replace("_", "."): value for name, value in config.items()})
    for statement in statements:
        engine.execute(statement)
    return engine


def refusal(*statements: str, **config: str) -> SqlError:
    """The error that the last statement is refused with."""
    engine = engine_of(*statements[:-1], **config)
    with pytest.raises(SqlError) as refused:
        engine.execute(statements[-1])
    assert refused.value.message
    return refused.value


def columns_of(engine: SqlEngine, name: str) -> str:
    source = engine.sources[name]
    # Words of the grammar such as ID are shown in backquotes.
    return source.schema.describe(is_table=source.is_table).replace("`", "")
