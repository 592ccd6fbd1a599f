"""Aggregates that count, add, collect or pick one value. They never change a state in place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from penstock.model import java
from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.functions.aggregates import column_folds as folds
from penstock.sql.functions.declare import aggregate
from penstock.sql.functions.registry import Aggregator, Settings
from penstock.sql.values import key_of

_NUMBERS = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL")
SORTABLE = (*_NUMBERS, "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
_DEFAULT_LIMIT = 1000


def same(state: Any) -> Any:
    return state


@aggregate("COUNT", "-> BIGINT", "ANY -> BIGINT")
def count(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Count rows, or the values of a column that are not NULL."""

    def add(state: int, *values: Any) -> int:
        return state + (None not in values)

    def undo(state: int, *values: Any) -> int:
        return state - (None not in values)

    return Aggregator(
        int,
        add,
        lambda a, b: a + b,
        same,
        BIGINT,
        BIGINT,
        undo,
        is_order_free=True,
        over_columns=folds.count_columns,
    )


def _adder(type_: SqlType) -> Callable[[Any, Any], Any]:
    if type_ == DOUBLE:
        return lambda a, b: a + b
    if isinstance(type_, DecimalType):
        precision, scale = type_.precision, type_.scale
        return lambda a, b: java.fit(java.EXACT.add(a, b), precision, scale)
    low, high = (java.MIN_INT, java.MAX_INT) if type_ == INTEGER else (java.MIN_LONG, java.MAX_LONG)

    def add(a: int, b: int) -> int:
        total: int = a + b
        if not low <= total <= high:
            raise ArithmeticError(f"the sum {total} does not fit {type_}")
        return total

    return add


_SUMS = {
    DOUBLE: folds.add_doubles,
    INTEGER: folds.whole_adder(java.MIN_INT, java.MAX_INT),
    BIGINT: folds.whole_adder(java.MIN_LONG, java.MAX_LONG),
}


def _zero(type_: SqlType) -> Any:
    if isinstance(type_, DecimalType):
        return java.fit(Decimal(0), type_.precision, type_.scale)
    return 0.0 if type_ == DOUBLE else 0


def _summing(type_: SqlType, values_of: Callable[[Any], Any]) -> Aggregator:
    add, zero = _adder(type_), _zero(type_)

    def grow(state: Any, value: Any) -> Any:
        for part in values_of(value):
            state = state if part is None else add(state, part)
        return state

    def shrink(state: Any, value: Any) -> Any:
        for part in values_of(value):
            state = state if part is None else add(state, -part)
        return state

    return Aggregator(lambda: zero, grow, add, same, type_, type_, shrink)


@aggregate("SUM", *(f"{t} -> {t}" for t in _NUMBERS))
def sum_(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Add up values; NULLs are left out."""
    summing = _summing(types[0], lambda value: (value,))
    return replace(summing, over_columns=_SUMS.get(types[0]))


@aggregate("SUM_LIST", *(f"ARRAY<{t}> -> {t}" for t in _NUMBERS))
def sum_list(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Add up the elements of arrays; NULLs are left out."""
    return _summing(types[0].element, lambda value: value or ())


@aggregate("AVG", "INTEGER -> DOUBLE", "BIGINT -> DOUBLE", "DOUBLE -> DOUBLE")
def avg(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the average of values; NULLs are left out."""
    number = DOUBLE if types[0] == DOUBLE else BIGINT
    state_type = StructType((Field("SUM", number), Field("COUNT", BIGINT)))
    zero = _zero(number)

    def moved(state: dict[str, Any], value: Any, by: int) -> dict[str, Any]:
        if value is None:
            return state
        total = state["SUM"] + value * by
        return {
            "SUM": total if number == DOUBLE else java.wrap_long(total),
            "COUNT": state["COUNT"] + by,
        }

    return Aggregator(
        lambda: {"SUM": zero, "COUNT": 0},
        lambda state, value: moved(state, value, 1),
        lambda a, b: {"SUM": a["SUM"] + b["SUM"], "COUNT": a["COUNT"] + b["COUNT"]},
        lambda state: state["SUM"] / state["COUNT"] if state["COUNT"] else 0.0,
        state_type,
        DOUBLE,
        lambda state, value: moved(state, value, -1),
        over_columns=folds.average_columns,
    )


def _extreme(type_: SqlType, choose: Callable[[Any, Any], Any]) -> Aggregator:
    def better(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return a if b is None else b
        return choose(a, b)

    return Aggregator(lambda: None, better, better, same, type_, type_)


@aggregate("MIN", *(f"{t} -> {t}" for t in SORTABLE))
def min_(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the smallest value that is not NULL."""
    return replace(_extreme(types[0], min), over_columns=folds.least)


@aggregate("MAX", *(f"{t} -> {t}" for t in SORTABLE))
def max_(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the largest value that is not NULL."""
    return replace(_extreme(types[0], max), over_columns=folds.greatest)


def _limit(settings: Settings, name: str) -> int:
    text = settings.get(f"ksql.functions.{name}.limit")
    limit = _DEFAULT_LIMIT if text is None else int(text)
    return limit if limit >= 0 else java.MAX_INT


def _most(limit: int) -> int | None:
    return None if limit == java.MAX_INT else limit


@aggregate("COLLECT_LIST", "A -> ARRAY<A>")
def collect_list(types: Sequence[Any], _: Sequence[Any], settings: Settings) -> Aggregator:
    """Collect values into an array, up to 1000 of them."""
    limit, type_ = _limit(settings, "collect_list"), ArrayType(types[0])

    def undo(state: list[Any], value: Any) -> list[Any]:
        # The last equal value is removed: any of them would do, and it is found fastest.
        for i in range(len(state) - 1, -1, -1):
            if state[i] == value:
                return state[:i] + state[i + 1 :]
        return state

    return Aggregator(
        list,
        lambda state, value: [*state, value] if len(state) < limit else state,
        lambda a, b: (a + b)[:limit],
        same,
        type_,
        type_,
        undo,
        most_values=_most(limit),
    )


@aggregate("COLLECT_SET", "A -> ARRAY<A>")
def collect_set(types: Sequence[Any], _: Sequence[Any], settings: Settings) -> Aggregator:
    """Collect distinct values into an array, up to 1000 of them."""
    limit, type_ = _limit(settings, "collect_set"), ArrayType(types[0])

    def add(state: list[Any], value: Any) -> list[Any]:
        return state if len(state) >= limit or value in state else [*state, value]

    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        for value in b:
            a = add(a, value)
        return a

    return Aggregator(list, add, merge, same, type_, type_, most_values=_most(limit))


@aggregate("HISTOGRAM", "STRING -> MAP<STRING, BIGINT>")
def histogram(types: Sequence[Any], _: Sequence[Any], settings: Settings) -> Aggregator:
    """Count how often each text appears, for up to 1000 texts."""
    limit, type_ = _limit(settings, "histogram"), MapType(STRING, BIGINT)

    def moved(state: dict[str, int], value: str | None, by: int) -> dict[str, int]:
        # The state is stored as JSON, whose keys are text, so the key for NULL is text, too.
        value = "null" if value is None else value
        if value not in state and (by < 0 or len(state) >= limit):
            return state
        total = state.get(value, 0) + by
        if total < 1:
            return {key: n for key, n in state.items() if key != value}
        return {**state, value: total}

    def merge(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        for value, n in b.items():
            a = moved(a, value, n)
        return a

    return Aggregator(
        dict,
        lambda state, value: moved(state, value, 1),
        merge,
        same,
        type_,
        type_,
        lambda state, value: moved(state, value, -1),
        most_values=_most(limit),
    )


@aggregate("ATTR", "A -> A")
def attr(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the value that all rows share; NULL if they differ."""
    state_type = ArrayType(StructType((Field("VAL", types[0]), Field("COUNT", INTEGER))))

    def moved(state: list[dict[str, Any]], value: Any, by: int) -> list[dict[str, Any]]:
        rest = [entry for entry in state if entry["VAL"] != value]
        total = by + sum(entry["COUNT"] for entry in state if entry["VAL"] == value)
        return [*rest, {"VAL": value, "COUNT": total}] if total > 0 else rest

    def merge(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in b:
            a = moved(a, entry["VAL"], entry["COUNT"])
        return a

    return Aggregator(
        list,
        lambda state, value: moved(state, value, 1),
        merge,
        lambda state: state[0]["VAL"] if len(state) == 1 else None,
        state_type,
        types[0],
        lambda state, value: moved(state, value, -1),
        most_values=None,
    )


# The smallest hashes of a set estimate its size: exact up to this number, about 2 % off above.
_SKETCH_SIZE = 2048


@aggregate("COUNT_DISTINCT", "ANY -> BIGINT")
def count_distinct(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Count distinct values, exactly up to 2047 of them and approximately above."""

    def hashed(value: Any) -> int:
        data = repr(key_of(value)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=7).digest(), "big")

    def merge(a: list[int], b: list[int]) -> list[int]:
        return sorted({*a, *b})[:_SKETCH_SIZE]

    def add(state: list[int], value: Any) -> list[int]:
        if value is None:
            return state
        number = hashed(value)
        is_beyond = len(state) == _SKETCH_SIZE and number >= state[-1]
        return state if is_beyond or number in state else merge(state, [number])

    def size(state: list[int]) -> int:
        if len(state) < _SKETCH_SIZE:
            return len(state)
        return round((_SKETCH_SIZE - 1) * 2**56 / state[-1])

    sketch = ArrayType(BIGINT)
    return Aggregator(list, add, merge, size, sketch, BIGINT, most_values=_SKETCH_SIZE)
