"""EARLIEST_BY_OFFSET and LATEST_BY_OFFSET: the first or last values in the order of arrival."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import BIGINT, ArrayType, Field, SqlType, StructType
from penstock.sql.functions.declare import aggregate
from penstock.sql.functions.registry import Aggregator, Settings

#: Returns the number of a new value, from the number of the value before it or -1.
Next = Callable[[int], int]

# When sessions merge, these numbers say which value came later. States outlive a process, so a new
# process starts at the present time. Outside of sessions, a state counts its own values, so that it
# is the same whenever it is computed.
_sequence = itertools.count(time.time_ns())


def _next_of_all(_: int) -> int:
    return next(_sequence)


def _next_of_state(last: int) -> int:
    return last + 1


_ONE = ("A -> A", "A, BOOLEAN -> A")
_MANY = ("A, INTEGER -> ARRAY<A>", "A, INTEGER, BOOLEAN -> ARRAY<A>")


def _entry_type(type_: SqlType) -> StructType:
    return StructType((Field("SEQ", BIGINT), Field("VAL", type_)))


def _order(entry: dict[str, Any]) -> int:
    return int(entry["SEQ"])


def _one(types: Sequence[Any], ignores_nulls: bool, *, latest: bool) -> Aggregator:
    in_sessions = _one_by(_next_of_all, types, ignores_nulls, latest=latest)
    plain = _one_by(_next_of_state, types, ignores_nulls, latest=latest)
    return replace(plain, in_sessions=in_sessions)


def _one_by(
    following: Next, types: Sequence[Any], ignores_nulls: bool, *, latest: bool
) -> Aggregator:
    def merge(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return a if b is None else b
        return max(a, b, key=_order) if latest else min(a, b, key=_order)

    def add(state: Any, value: Any) -> Any:
        if value is None and ignores_nulls:
            return state
        if state is not None and not latest:
            return state
        return {"SEQ": following(-1 if state is None else _order(state)), "VAL": value}

    return Aggregator(
        lambda: None,
        add,
        merge,
        lambda state: None if state is None else state["VAL"],
        _entry_type(types[0]),
        types[0],
    )


def _many(
    types: Sequence[Any], name: str, size: int, ignores_nulls: bool, cut: Callable[[Any], Any]
) -> Aggregator:
    if size < 1:
        raise SqlTypeError("bad-argument", f"{name} needs a size of 1 or more, not {size}")
    in_sessions = _many_by(_next_of_all, types, ignores_nulls, cut)
    plain = _many_by(_next_of_state, types, ignores_nulls, cut)
    return replace(plain, most_values=size, in_sessions=replace(in_sessions, most_values=size))


def _many_by(
    following: Next, types: Sequence[Any], ignores_nulls: bool, cut: Callable[[Any], Any]
) -> Aggregator:
    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        merged: list[Any] = cut(sorted(a + b, key=_order))
        return merged

    def add(state: list[Any], value: Any) -> list[Any]:
        if value is None and ignores_nulls:
            return state
        number = following(_order(state[-1]) if state else -1)
        return merge(state, [{"SEQ": number, "VAL": value}])

    return Aggregator(
        list,
        add,
        merge,
        lambda state: [entry["VAL"] for entry in state],
        ArrayType(_entry_type(types[0])),
        ArrayType(types[0]),
    )


def _flag(constants: Sequence[Any], place: int) -> bool:
    return bool(constants[place]) if len(constants) > place else True


@aggregate("LATEST_BY_OFFSET", _ONE[0])
def latest(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    """Return the last value, or the last n as an array; with false, NULLs are included."""
    return _one(types, _flag(constants, 0), latest=True)


@aggregate("EARLIEST_BY_OFFSET", _ONE[0])
def earliest(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    """Return the first value, or the first n as an array; with false, NULLs are included."""
    return _one(types, _flag(constants, 0), latest=False)


aggregate("LATEST_BY_OFFSET", _ONE[1], constants=1)(latest)
aggregate("EARLIEST_BY_OFFSET", _ONE[1], constants=1)(earliest)


def latest_many(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    size = int(constants[0])
    return _many(types, "LATEST_BY_OFFSET", size, _flag(constants, 1), lambda all_: all_[-size:])


def earliest_many(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    size = int(constants[0])
    return _many(types, "EARLIEST_BY_OFFSET", size, _flag(constants, 1), lambda all_: all_[:size])


for _i, _signature in enumerate(_MANY, start=1):
    aggregate("LATEST_BY_OFFSET", _signature, constants=_i)(latest_many)
    aggregate("EARLIEST_BY_OFFSET", _signature, constants=_i)(earliest_many)
