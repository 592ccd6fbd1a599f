"""Queries: everything from SELECT to LIMIT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.sql.ast.expressions import Expression
from penstock.sql.ast.node import Node

TimeUnit = Literal["MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"]
JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL"]
Emit = Literal["CHANGES", "FINAL"]

UNIT_MS: dict[TimeUnit, int] = {
    "MILLISECONDS": 1,
    "SECONDS": 1_000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}


@dataclass(frozen=True, slots=True)
class TimeSpan(Node):
    """A number of time units: ``5 MINUTES``."""

    count: int
    unit: TimeUnit

    @property
    def ms(self) -> int:
        return self.count * UNIT_MS[self.unit]


@dataclass(frozen=True, slots=True)
class AllColumns(Node):
    """``*``, or with ``source`` every column of one source: ``s.*``."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class AllFields(Node):
    """Every field of a struct as a column of its own: ``address->*``."""

    base: Expression


@dataclass(frozen=True, slots=True)
class SelectColumn(Node):
    """An expression and its name; without one, the planner chooses a name."""

    expression: Expression
    alias: str | None = None


SelectItem = AllColumns | AllFields | SelectColumn


@dataclass(frozen=True, slots=True)
class Source(Node):
    """A stream, a table or a common table expression, by name.

    With ``is_changes`` it is the stream of a table's changes: ``CHANGES(name)``. ``as_of`` is the
    moment of ``FOR SYSTEM_TIME AS OF``. ``windows`` are those of a function such as
    ``TABLE(TUMBLE(TABLE name, DESCRIPTOR(column), size))``.
    """

    name: str
    alias: str | None = None
    is_changes: bool = False
    as_of: Expression | None = None
    windows: WindowFunction | None = None


@dataclass(frozen=True, slots=True)
class WindowFunction(Node):
    """``TUMBLE(..., DESCRIPTOR(column), ...)``: windows by a column, as in Flink."""

    column: str
    window: Window


@dataclass(frozen=True, slots=True)
class Subquery(Node):
    """A query in place of a source; ``windows`` as in ``Source``, where WITH names the query."""

    query: Query
    alias: str | None = None
    windows: WindowFunction | None = None


@dataclass(frozen=True, slots=True)
class Within(Node):
    """How far apart the two records of a stream-stream join may be."""

    before: TimeSpan
    after: TimeSpan
    grace: TimeSpan | None = None


@dataclass(frozen=True, slots=True)
class Join(Node):
    """``left kind JOIN right [WITHIN ...] ON condition``; several joins nest to the left.

    With ``is_comma`` it is ``left, right``, and WHERE has the condition.
    """

    kind: JoinKind
    left: Relation
    right: Source | Subquery
    on: Expression
    within: Within | None = None
    is_comma: bool = False


Relation = Source | Subquery | Join


@dataclass(frozen=True, slots=True)
class TumblingWindow(Node):
    """``WINDOW TUMBLING (SIZE ...)``."""

    size: TimeSpan
    retention: TimeSpan | None = None
    grace: TimeSpan | None = None


@dataclass(frozen=True, slots=True)
class HoppingWindow(Node):
    """``WINDOW HOPPING (SIZE ..., ADVANCE BY ...)``."""

    size: TimeSpan
    advance: TimeSpan
    retention: TimeSpan | None = None
    grace: TimeSpan | None = None


@dataclass(frozen=True, slots=True)
class SessionWindow(Node):
    """``WINDOW SESSION (gap)``."""

    gap: TimeSpan
    retention: TimeSpan | None = None
    grace: TimeSpan | None = None


Window = TumblingWindow | HoppingWindow | SessionWindow


@dataclass(frozen=True, slots=True)
class OrderItem(Node):
    """One key of ORDER BY; without ``nulls_first`` NULLs come last ascending, first descending."""

    expression: Expression
    is_descending: bool = False
    nulls_first: bool | None = None

    @property
    def puts_nulls_first(self) -> bool:
        return self.is_descending if self.nulls_first is None else self.nulls_first


@dataclass(frozen=True, slots=True)
class CommonTable(Node):
    """``name AS (query)`` after WITH."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class Cut(Node):
    """``AS OF CUT n``: the cut of all queries that answers; without a number, the newest."""

    number: int | None = None


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A SELECT. Without ``emit`` it is a pull query, unless it is part of CREATE or INSERT."""

    items: tuple[SelectItem, ...]
    source: Relation
    window: Window | None = None
    #: The column that the windows go by, where a function names one; else the time of the records.
    window_time: Expression | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] | None = None
    partition_by: tuple[Expression, ...] | None = None
    having: Expression | None = None
    order_by: tuple[OrderItem, ...] = ()
    emit: Emit | None = None
    limit: int | None = None
    offset: int | None = None
    cut: Cut | None = None
    is_distinct: bool = False
    common_tables: tuple[CommonTable, ...] = ()
    #: The queries after UNION ALL. ORDER BY and everything behind it apply to the whole query.
    union_all: tuple[Query, ...] = ()
