"""Push queries: ``SELECT ... EMIT CHANGES``, rows as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.schema import SourceColumn
from penstock.topology.topology import Topology

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PushQuery:
    """A planned push query: what its rows look like and the topology that gives them.

    The topology writes to a topic named after the query, in a form of its own: ``read`` gives
    the rows. A deleted row of a table is a row of NULLs.
    """

    plan: QueryPlan
    topology: Topology

    @property
    def id(self) -> str:
        return self.plan.id

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return self.plan.columns

    def reader(self) -> Callable[[bytes | None], Row]:
        """Gives the function from a record's value to a row."""
        names = [column.name for column in self.columns]
        decode = row_serde([column.type for column in self.columns]).decode
        none = dict.fromkeys(names)

        def read(value: bytes | None) -> Row:
            if value is None:
                return dict(none)
            return dict(zip(names, decode(value), strict=True))

        return read

    def read(self, values: Iterable[bytes | None]) -> Iterator[Row]:
        """Gives rows until the query's LIMIT."""
        return islice(map(self.reader(), values), self.plan.limit)

    def rows_of(self, records: Iterable[ProducedRecord]) -> list[Row]:
        """Gives the rows of a local query's records."""
        return list(self.read(record.value for record in records if record.topic == self.id))
