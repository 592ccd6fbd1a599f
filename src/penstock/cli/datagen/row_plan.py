"""What is generated: a topic, a key, and columns with a type and a generator each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock.cli.datagen.generators import Generate, RowContext
from penstock.errors import InvalidArgumentError
from penstock.model.sql.types import SqlType


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A column, its type and what makes its values."""

    name: str
    type: SqlType
    generate: Generate


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The rows of one topic. ``key`` names the column that becomes the key of the records."""

    topic: str
    key: str
    columns: tuple[GeneratedColumn, ...]
    is_table: bool = False

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if self.key not in names:
            raise InvalidArgumentError(
                "unknown-key", f"no column is called {self.key!r}", fix=f"use {', '.join(names)}"
            )

    @property
    def key_columns(self) -> tuple[GeneratedColumn, ...]:
        return tuple(column for column in self.columns if column.name == self.key)

    @property
    def value_columns(self) -> tuple[GeneratedColumn, ...]:
        return tuple(column for column in self.columns if column.name != self.key)

    def rows(self, seed: int | None, times: Iterator[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows with their times, as long as there are times."""
        random = Random(seed)
        for number, time_ms in enumerate(times):
            context = RowContext(random, number, time_ms)
            yield time_ms, {column.name: column.generate(context) for column in self.columns}

    def create_statement(self, key_format: str, value_format: str) -> str:
        """Return the statement that declares the topic as a stream or table."""
        kind = "TABLE" if self.is_table else "STREAM"
        role = "PRIMARY KEY" if self.is_table else "KEY"
        columns = [
            f"  {column.name} {column.type}{f' {role}' if column.name == self.key else ''}"
            for column in (*self.key_columns, *self.value_columns)
        ]
        name = "".join(c if c.isalnum() else "_" for c in self.topic)
        return (
            f"CREATE {kind} {name} (\n" + ",\n".join(columns) + f"\n) WITH (KAFKA_TOPIC="
            f"'{self.topic}', KEY_FORMAT='{key_format}', VALUE_FORMAT='{value_format}');"
        )
