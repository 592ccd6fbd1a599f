"""Small scripts as data, and as SQL. What they mean: ``model``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: What every source of a script has, the key aside.
COLUMNS = {"A": "INT", "B": "VARCHAR", "D": "DOUBLE"}
STREAMS = ("S", "U")
TABLES = ("T", "V")
#: The key of records at the end that only move time on.
END_KEY = "end"


@dataclass(frozen=True)
class Ref:
    """A column of a source, by the source's alias."""

    source: str
    name: str

    def sql(self) -> str:
        return f"{self.source}.{self.name}"


@dataclass(frozen=True)
class Value:
    """A number or a text."""

    value: Any

    def sql(self) -> str:
        return f"'{self.value}'" if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True)
class Apply:
    """An operator or function with its operands; ``text`` has a place for each of them."""

    name: str
    text: str
    operands: tuple[Expression, ...]

    def sql(self) -> str:
        return self.text.format(*(operand.sql() for operand in self.operands))


Expression = Ref | Value | Apply


@dataclass(frozen=True)
class Item:
    """A column of SELECT."""

    expression: Expression
    alias: str

    def sql(self) -> str:
        return f"{self.expression.sql()} AS {self.alias}"


@dataclass(frozen=True)
class Aggregate:
    """A call of an aggregate function; without an operand it is COUNT(*)."""

    name: str
    operand: Expression | None
    alias: str

    def sql(self) -> str:
        inner = "*" if self.operand is None else self.operand.sql()
        return f"{self.name}({inner}) AS {self.alias}"


@dataclass(frozen=True)
class Window:
    """A window of GROUP BY; for sessions ``size`` is the gap. All in seconds."""

    kind: str
    size: int
    advance: int
    grace: int | None

    def sql(self) -> str:
        parts = [f"{self.size} SECONDS" if self.kind == "SESSION" else f"SIZE {self.size} SECONDS"]
        if self.kind == "HOPPING":
            parts.append(f"ADVANCE BY {self.advance} SECONDS")
        if self.grace is not None:
            parts.append(f"GRACE PERIOD {self.grace} SECONDS")
        return f"WINDOW {self.kind} ({', '.join(parts)})"


@dataclass(frozen=True)
class Join:
    """The second source of a query; ``left`` and ``right`` are what must be equal."""

    kind: str
    source: str
    left: Ref
    right: Ref
    #: How far before and behind a record of the left its partners may be, in seconds.
    within: tuple[int, int] | None = None
    grace: int | None = None

    def sql(self) -> str:
        within = ""
        if self.within is not None:
            within = f" WITHIN ({self.within[0]} SECONDS, {self.within[1]} SECONDS)"
            within += "" if self.grace is None else f" GRACE PERIOD {self.grace} SECONDS"
        on = f"{self.left.sql()} = {self.right.sql()}"
        return f"{self.kind} JOIN {self.source.lower()}{within} ON {on}"


@dataclass(frozen=True)
class Query:
    """``CREATE STREAM|TABLE name AS SELECT ...``.

    ``key`` is the expression that SELECT shows as the key, ``key_type`` its type.
    """

    name: str
    source: str
    key: Expression | None
    key_type: str
    is_table: bool
    items: tuple[Item, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    join: Join | None = None
    where: Expression | None = None
    partition_by: Expression | None = None
    group_by: Expression | None = None
    window: Window | None = None
    having: Expression | None = None

    def sql(self, *, replaces: bool = False) -> str:
        key = "ROWKEY AS ID" if self.key is None else f"{self.key.sql()} AS ID"
        shown: tuple[Item | Aggregate, ...] = (*self.items, *self.aggregates)
        columns = ", ".join([key, *(each.sql() for each in shown)])
        kind = f"{'OR REPLACE ' if replaces else ''}{'TABLE' if self.is_table else 'STREAM'}"
        clauses = [
            f"CREATE {kind} {self.name} AS SELECT {columns} FROM {self.source.lower()}",
            self.join and self.join.sql(),
            self.window and self.window.sql(),
            self.where and f"WHERE {self.where.sql()}",
            self.partition_by and f"PARTITION BY {self.partition_by.sql()}",
            self.group_by and f"GROUP BY {self.group_by.sql()}",
            self.having and f"HAVING {self.having.sql()}",
        ]
        return " ".join(clause for clause in clauses if clause) + ";"


@dataclass(frozen=True)
class Event:
    """One record of a source; ``value`` None is a tombstone. Times are in milliseconds."""

    topic: str
    key: str | None
    value: tuple[tuple[str, Any], ...] | None
    timestamp: int


@dataclass(frozen=True)
class Batch:
    """Records that arrive together, and what happens before they do."""

    events: tuple[Event, ...]
    restarts: bool = False
    loses_state: bool = False
    #: The last query's new text, from this batch on.
    change: Query | None = None


@dataclass(frozen=True)
class Script:
    """A whole case: queries, where the second reads what the first writes, and batches."""

    queries: tuple[Query, ...]
    batches: tuple[Batch, ...]
    key_format: str = "KAFKA"
    cache: int = 0

    def sources(self) -> str:
        shown = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
        with_ = f"KEY_FORMAT='{self.key_format}', VALUE_FORMAT='JSON', PARTITIONS=1"
        made = [
            f"CREATE STREAM {s} (K VARCHAR KEY, {shown}) WITH (KAFKA_TOPIC='{s}', {with_});"
            for s in STREAMS
        ]
        made += [
            f"CREATE TABLE {t} (K VARCHAR PRIMARY KEY, {shown}) WITH (KAFKA_TOPIC='{t}', {with_});"
            for t in TABLES
        ]
        return "\n".join(made)

    def sql(self) -> str:
        """Return the statements, with those of changes as comments."""
        lines = [self.sources(), *(query.sql() for query in self.queries)]
        for number, batch in enumerate(self.batches):
            if batch.change is not None:
                lines.append(f"-- before batch {number}: {batch.change.sql(replaces=True)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Written:
    """One record of an output topic; ``key`` is None or the key with its window's bounds."""

    key: Any
    value: Any
    timestamp: int = field(default=0)
