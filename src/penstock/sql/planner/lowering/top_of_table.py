"""The first rows of each partition of a table: all of its rows stay in a store, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.model.record import Record
from penstock.model.sql.types import BOOLEAN, BYTES
from penstock.processor.processor import Processor
from penstock.serde.base import Serde
from penstock.serde.primitives import BytesSerde
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.lowering.sort_bytes import Encode, sort_encoder
from penstock.sql.planner.steps import TopStep
from penstock.state.stores import Stores

_BYTES = BytesSerde()


def top_of_table(
    step: TopStep, lowering: Lowering, table: KTable[Any, Any], groups: Serde[Any]
) -> KStream[Any, Any]:
    """Send each change of a row to the partitions of its old and its new row, and sort it there."""
    before = step.input
    types = [column.type for column in before.columns]
    rows = row_serde(types)
    known = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Before"), lowering.key_serde(before), rows
    )
    sorted_rows = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Rows"), _BYTES, rows
    )
    lowering.builder.add_state_store(known)
    lowering.builder.add_state_store(sorted_rows)
    group_of = lowering.values(step.partition_by, before.columns).one
    identity = lowering.key_serde(before).encode
    changes = row_serde([BYTES, BOOLEAN, BOOLEAN, *types, *types])
    together = (
        table.to_stream()
        .process(lambda: _Changes(known.name, group_of, identity, len(types)), known.name)
        .repartition(name=step.name, key=groups, value=changes)
    )
    places = _Places.of(step, lowering, groups)
    ranked = _Ranked(sorted_rows.name, places, step.at_most, step.has_rank)
    return together.process(lambda: _FirstOfTable(ranked, len(types)), sorted_rows.name)


class _Changes(Processor[Any, Row | None, Row, Row]):
    """Forwards the old and the new row of a key, together or to the partition of each."""

    def __init__(
        self,
        store: str,
        group_of: Callable[[Row], Row],
        identity: Callable[[Any], bytes],
        width: int,
    ) -> None:
        self._store = store
        self._group_of = group_of
        self._identity = identity
        self._nothing = (None,) * width

    def process(self, record: Record[Any, Row | None]) -> None:
        rows: Any = self.context.get_state_store(self._store)
        old, new = rows.get(record.key), record.value
        if old == new:
            return
        rows.put(record.key, new)
        from_, to = self._group(old), self._group(new)
        if from_ is not None and from_ == to:
            self._forward(record, from_, old, new)
            return
        if from_ is not None:
            self._forward(record, from_, old, None)
        if to is not None:
            self._forward(record, to, None, new)

    def _group(self, row: Row | None) -> Row | None:
        """Return the partition of a row; NULL belongs to none."""
        group = None if row is None else self._group_of(row)
        return None if group is None or None in group else group

    def _forward(
        self, record: Record[Any, Any], group: Row, old: Row | None, new: Row | None
    ) -> None:
        rows = (*(old or self._nothing), *(new or self._nothing))
        value = (self._identity(record.key), old is not None, new is not None, *rows)
        self.context.forward(record.with_key(group).with_value(value))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a row stands in the store: behind its partition, by ORDER BY, then by its own key."""

    groups: Serde[Any]
    keys: tuple[tuple[Callable[[Row], Any], Encode], ...]

    @staticmethod
    def of(step: TopStep, lowering: Lowering, groups: Serde[Any]) -> _Places:
        columns = step.input.columns
        keys = []
        for item in step.order_by:
            type_ = lowering.environment.type_of(item.expression, columns)
            assert type_ is not None
            encode = sort_encoder(
                type_, is_descending=item.is_descending, nulls_first=item.puts_nulls_first
            )
            keys.append((lowering.function(item.expression, columns), encode))
        return _Places(groups, tuple(keys))

    def group(self, group: Row) -> bytes:
        data = self.groups.encode(group)
        return len(data).to_bytes(4, "big") + data

    def place(self, group: bytes, row: Row, identity: bytes) -> bytes:
        return b"".join((group, *(encode(key(row)) for key, encode in self.keys), identity))


@dataclass(frozen=True, slots=True)
class _Ranked:
    store: str
    places: _Places
    at_most: int
    has_rank: bool


class _FirstOfTable(Processor[Row, Row, Row, Row | None]):
    """Keeps all rows of each partition in order, and forwards each rank with another row."""

    def __init__(self, ranked: _Ranked, width: int) -> None:
        self._ranked = ranked
        self._width = width

    def process(self, record: Record[Row, Row]) -> None:
        ranked = self._ranked
        rows: Any = self.context.get_state_store(ranked.store)
        identity, has_old, has_new, *both = record.value
        group = ranked.places.group(record.key)
        before = self._first(rows, group)
        if has_old:
            rows.put(ranked.places.place(group, tuple(both[: self._width]), identity), None)
        if has_new:
            new = tuple(both[self._width :])
            rows.put(ranked.places.place(group, new, identity), new)
        after = self._first(rows, group)
        for number, (old, new_row) in enumerate(zip_longest(before, after), 1):
            if old == new_row:
                continue
            key = (*record.key, number) if ranked.has_rank else record.key
            value = None if new_row is None else (*new_row, *record.key, number)
            self.context.forward(record.with_key(key).with_value(value))

    def _first(self, rows: Any, group: bytes) -> list[Row]:
        found = rows.prefix_scan(group, _BYTES)
        try:
            return [row for _, row in islice(found, self._ranked.at_most)]
        finally:
            found.close()
