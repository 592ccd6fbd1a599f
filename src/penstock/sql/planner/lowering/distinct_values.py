"""Aggregates over distinct values: each value of a group is a row of a second store.

The row of the group has only what the aggregates make of the values, such as their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any

from penstock.model.sql.types import SqlType
from penstock.model.windows.definitions import TimeWindows, least_retention_ms
from penstock.processor.store_fold import ChangesFold, RowsFold, StoreFold, WindowsFold
from penstock.serde.base import Serde
from penstock.serde.primitives import BytesSerde
from penstock.sql.ast.node import Node
from penstock.sql.functions.registry import Aggregator
from penstock.sql.planner.lowering.context import Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.lowering.sort_bytes import Encode
from penstock.sql.planner.lowering.value_bytes import value_encoder
from penstock.state.spec import StoreSpec
from penstock.state.stores import Stores

_BYTES = BytesSerde()
#: The number of rows with a value, in front of the value.
_COUNT = Struct(">q")
#: What a row of the store has over a stream, where a value never goes.
_SEEN = b"\x01"


@dataclass(frozen=True, slots=True)
class DistinctCall:
    """An aggregate call: how it folds, and which fields of the arguments it takes.

    ``argument`` is what is distinct; None for a call that takes every row. Calls with
    the same one share their rows, unless one of them is a MAX, for which values are in falling
    order.
    """

    aggregator: Aggregator
    fields: slice
    argument: Node | None
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class _Values:
    """The distinct values of one argument: where it is, and its form in keys and in rows."""

    place: int
    as_key: Encode
    row: Serde[Row]


@dataclass(frozen=True)
class DistinctFold(StoreFold):
    """Folds a value into its aggregates when the group gets it for the first time.

    Over a table it also counts how many rows have the value. When the last one goes, aggregates
    take the value back; MIN and MAX look for the first value that is left, since values are in
    their order.
    """

    spec: StoreSpec
    calls: tuple[DistinctCall, ...]
    values: tuple[_Values, ...]
    #: For each call, the place of its values in ``values``; None if it takes every row.
    numbers: tuple[int | None, ...]
    group: Callable[[Row], bytes]

    def over_rows(self, store: Any) -> RowsFold:
        read, write = store.read, store.write

        def fold(key: Row, values: Row, states: Row | None) -> Row:
            new, places = self._new(key, values, read)
            after = self._added(values, states, new)
            for place in places:
                write(place, _SEEN)
            return after

        return fold

    def over_windows(self, store: Any) -> WindowsFold:
        read, write = store.read, store.write

        def fold(key: Row, values: Row, states: Row | None, start: int) -> Row:
            new, places = self._new(key, values, lambda place: read(place, start))
            after = self._added(values, states, new)
            for place in places:
                write(place, _SEEN, start)
            return after

        return fold

    def over_changes(self, store: Any) -> ChangesFold:
        def fold(key: Row, new: Row | None, old: Row | None, states: Row | None) -> Row | None:
            counts = _Counts(store, self.values)
            prefix = self.group(key)
            after = states
            if states is not None and old is not None:
                after = self._subtracted(prefix, old, states, counts)
            if new is not None:
                first = {
                    number
                    for number, (value, place) in enumerate(self._places(prefix, new))
                    if place is not None and counts.move(number, place, value, 1) == 1
                }
                after = self._added(new, after, first)
            counts.write()
            return after

        return fold

    def _places(self, prefix: bytes, values: Row) -> list[tuple[Any, bytes | None]]:
        """Return each value with the key of its row; NULL has none."""
        found: list[tuple[Any, bytes | None]] = []
        for number, each in enumerate(self.values):
            value = values[each.place]
            place = None
            if value is not None:
                place = b"%b%c%b" % (prefix, number, each.as_key(value))
            found.append((value, place))
        return found

    def _new(
        self, key: Row, values: Row, read: Callable[[bytes], tuple[bytes, Any]]
    ) -> tuple[set[int], list[bytes]]:
        """Return which values the group does not have yet, and the places for them."""
        new, places = set(), []
        for number, (_, key_of_row) in enumerate(self._places(self.group(key), values)):
            if key_of_row is None:
                continue
            place, row = read(key_of_row)
            if row is None:
                new.add(number)
                places.append(place)
        return new, places

    def _added(self, values: Row, states: Row | None, new: set[int]) -> Row:
        after = []
        for place, (call, number) in enumerate(zip(self.calls, self.numbers, strict=True)):
            fold = call.aggregator
            state = fold.initialize() if states is None else states[place]
            if number is None or number in new:
                state = fold.aggregate(state, *values[call.fields])
            after.append(state)
        return tuple(after)

    def _subtracted(self, prefix: bytes, values: Row, states: Row, counts: _Counts) -> Row:
        places = self._places(prefix, values)
        gone = {
            number
            for number, (value, place) in enumerate(places)
            if place is not None and counts.move(number, place, value, -1) == 0
        }
        after = []
        for call, number, state in zip(self.calls, self.numbers, states, strict=True):
            fold = call.aggregator
            if number is not None and number not in gone:
                after.append(state)
            elif fold.undo is not None:
                after.append(fold.undo(state, *values[call.fields]))
            else:
                assert number is not None
                each = self.values[number]
                if each.as_key(state) == each.as_key(values[each.place]):
                    left = counts.first(number, b"%b%c" % (prefix, number))
                    state = fold.aggregate(fold.initialize(), left)
                after.append(state)
        return tuple(after)


class _Counts:
    """How many rows have each value. Nothing is written until ``write``."""

    def __init__(self, store: Any, values: Sequence[_Values]) -> None:
        self._store = store
        self._values = values
        #: By key: the bytes of the value, how many rows had it, and how many have it now.
        self._moved: dict[bytes, tuple[bytes, int, int]] = {}

    def move(self, number: int, place: bytes, value: Any, by: int) -> int:
        """Return how many rows have the value after ``by`` more of them; -1 if none had it."""
        moved = self._moved.get(place)
        if moved is None:
            row = self._store.get(place)
            before = 0 if row is None else _COUNT.unpack_from(row)[0]
            moved = self._values[number].row.encode((value,)), before, before
        data, before, now = moved
        if now + by < 0:
            return -1
        self._moved[place] = data, before, now + by
        return now + by

    def first(self, number: int, prefix: bytes) -> Any:
        """Return the first value of a prefix that rows have; None if there is none."""
        with closing(self._store.prefix_scan(prefix, _BYTES)) as found:
            for key, row in found:
                if key not in self._moved or self._moved[key][2] > 0:
                    return self._values[number].row.decode(row[_COUNT.size :])[0]
        return None

    def write(self) -> None:
        for place, (data, before, now) in self._moved.items():
            if now != before:
                self._store.put(place, _COUNT.pack(now) + data if now > 0 else None)


def distinct_fold(
    spec: StoreSpec,
    calls: Sequence[DistinctCall],
    key_types: Sequence[SqlType],
    argument_types: Sequence[SqlType],
) -> DistinctFold:
    """Return the fold of calls, which are in the order of their states."""
    found: dict[tuple[Node, bool], _Values] = {}
    numbers: list[int | None] = []
    for call in calls:
        if call.argument is None:
            numbers.append(None)
            continue
        identity, place = (call.argument, call.is_descending), call.fields.start
        if identity not in found:
            type_ = argument_types[place]
            encode = value_encoder(type_, is_descending=call.is_descending)
            found[identity] = _Values(place, encode, row_serde([type_]))
        numbers.append([*found].index(identity))
    groups = row_serde(key_types)
    values = tuple(found.values())
    return DistinctFold(spec, tuple(calls), values, tuple(numbers), partial(_group, groups))


def _group(groups: Serde[Row], key: Row) -> bytes:
    """Return the beginning of the keys of a group, which no other group's begins with."""
    data = groups.encode(key)
    return len(data).to_bytes(4, "big") + data


def values_store(name: str, windows: TimeWindows | None, retention_ms: int | None) -> StoreSpec:
    """Return the store of distinct values; those of a window are kept as long as the window."""
    if windows is not None:
        kept_ms = max(least_retention_ms(windows), retention_ms or 0)
        supplier = Stores.persistent_window_store(name, kept_ms, windows.size_ms)
        return Stores.window_store_builder(supplier, _BYTES, _BYTES)
    return Stores.key_value_store_builder(Stores.persistent_key_value_store(name), _BYTES, _BYTES)
