"""Push queries: ``SELECT ... EMIT CHANGES``, whose rows are sent as they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from penstock.model.sql.errors import AnalysisError
from penstock.model.windows.windowed import Windowed
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.ast.queries import Cut
from penstock.sql.catalog.schema import WINDOW_COLUMNS, SourceColumn
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.planner.steps import ProjectStep, Step
from penstock.sql.python_values import row_converter
from penstock.topology.nodes import Sink
from penstock.topology.topology import Topology

Row = dict[str, Any]
Record = tuple[bytes | None, bytes | None]


@dataclass(frozen=True, slots=True)
class PushQuery:
    """A planned push query: the columns of its rows and its topology.

    The topology writes to a topic named after the query, in a form of its own, which ``read``
    decodes. For a deleted row of a table, a row with only the key is returned; a record of a stream
    without a value is not a row.
    """

    plan: QueryPlan
    topology: Topology

    @property
    def id(self) -> str:
        return self.plan.id

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return self.plan.columns

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """The columns that identify a row of a table; None for a stream.

        It is empty if the SELECT leaves out a part of the key.
        """
        step = self.plan.step
        if not step.is_table:
            return None
        places = key_places(step)
        if not isinstance(step, ProjectStep) or not set(range(len(step.key_refs))) <= set(places):
            return ()
        if step.window is not None and len(step.key_refs) not in places:
            return ()
        columns = zip(self.columns, places, strict=True)
        return tuple(column.name for column, place in columns if place is not None)

    def reader(self) -> Callable[[bytes | None], Row]:
        """Return the function from a record's value to a row of SQL values."""
        names = [column.name for column in self.columns]
        decode = row_serde([column.type for column in self.columns]).decode
        none = dict.fromkeys(names)

        def read(value: bytes | None) -> Row:
            if value is None:
                return dict(none)
            return dict(zip(names, decode(value), strict=True))

        return read

    def read(self, records: Iterable[Record]) -> Iterator[Row]:
        """Return rows until the query's LIMIT; records are pairs of bytes, key and value.

        Dates and times in them are those of ``datetime``.
        """
        return page(self._rows(records), self.plan.offset, self.plan.limit)

    def _rows(self, records: Iterable[Record]) -> Iterator[Row]:
        read, read_key = self.reader(), self.key_reader()
        converted = row_converter(self.columns)
        for key, value in records:
            if value is not None:
                yield converted(read(value))
            elif key is not None and self.plan.step.is_table:
                yield converted(read_key(key))

    def key_reader(self) -> Callable[[bytes], Row]:
        """Return the function from a key to the row of its deletion: all other columns are NULL."""
        names = [column.name for column in self.columns]
        places = key_places(self.plan.step)
        sinks = (n for n in self.topology.graph.nodes.values() if isinstance(n, Sink))
        serde = next(sink.key_serde for sink in sinks if sink.topic == self.id)
        assert serde is not None

        def read(data: bytes) -> Row:
            key: Any = serde.deserialize(self.id, data)
            if isinstance(key, Windowed):
                key = (*(key.key or ()), key.window.start, key.window.end)
            return {
                name: None if place is None or not key else key[place]
                for name, place in zip(names, places, strict=True)
            }

        return read

    def rows_of(self, records: Iterable[ProducedRecord]) -> list[Row]:
        """Return the rows of a local query's records."""
        own = (record for record in records if record.topic == self.id)
        return list(self.read((record.key, record.value) for record in own))


def refuse_cut(cut: Cut | None) -> None:
    """Refuse ``AS OF CUT`` where no server answers."""
    if cut is not None:
        raise AnalysisError(
            "as-of-cut",
            "AS OF CUT is answered by an SQL server, which takes the cuts; this is none",
            fix="send the statement to a server, or leave AS OF CUT out",
            span=cut.span,
        )


def page(rows: Iterable[Row], offset: int, limit: int | None) -> Iterator[Row]:
    """Return the rows behind the first ``offset``, at most ``limit`` of them."""
    return islice(rows, offset, None if limit is None else offset + limit)


def key_places(step: Step) -> list[int | None]:
    """Return, for each column of a SELECT, its place in the key and its window's bounds."""
    if not isinstance(step, ProjectStep):
        # The rows of a stream; a record without a value is not one of them.
        return [None] * len(step.columns)
    names = [name for name, _ in WINDOW_COLUMNS]
    places: list[int | None] = []
    for expression in step.expressions:
        place = None
        if isinstance(expression, ColumnRef):
            if expression in step.key_refs:
                place = step.key_refs.index(expression)
            elif step.window is not None and expression.name in names:
                place = len(step.key_refs) + names.index(expression.name)
        places.append(place)
    return places
