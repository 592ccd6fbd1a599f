"""Aggregates over the distinct values of a group: exact, and able to take values back."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from penstock.model.sql.types import BIGINT, ArrayType, Field, SqlType, StructType
from penstock.sql.functions.aggregates.basic import same
from penstock.sql.functions.registry import Aggregator

#: Aggregates that estimate how many distinct values a group has.
ESTIMATES = frozenset({"COUNT_DISTINCT", "APPROX_COUNT_DISTINCT"})
#: Aggregates whose result depends only on which values a group has, not on how often.
ONLY_DISTINCT = frozenset({"MIN", "MAX", *ESTIMATES})
#: Aggregates that can take a value back without all others: those with ``undo``, and MIN and MAX,
#: which need the first of the others.
_TAKE_BACK = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", *ESTIMATES})

Entries = list[dict[str, Any]]


def distinct_values(name: str, inner: Aggregator, type_: SqlType, *, is_table: bool) -> Aggregator:
    """Return the aggregator of a group's distinct values.

    Each value is a row of another store wherever that is possible. In a session it is not: two
    sessions can become one, and all their values would have to move with every record. Other
    aggregates of a table, such as COLLECT_LIST, cannot take one value back. These keep the values
    in the group's row.
    """
    in_one_row = over_distinct(inner, type_)
    if is_table and name not in _TAKE_BACK:
        return in_one_row
    return replace(
        inner,
        keeps_values=True,
        is_distinct=True,
        is_order_free=False,
        over_columns=None,
        in_sessions=in_one_row,
    )


def over_distinct(inner: Aggregator, type_: SqlType) -> Aggregator:
    """Return an aggregator that keeps each value with its count, and folds the values when read.

    So it is exact, it can take back a value of a table's changed row, and its state grows with
    the number of distinct values in the group. NULLs are left out.
    """
    state_type = ArrayType(StructType((Field("VAL", type_), Field("COUNT", BIGINT))))

    def moved(state: Entries, value: Any, by: int) -> Entries:
        if value is None:
            return state
        for place, entry in enumerate(state):
            if entry["VAL"] == value:
                total = entry["COUNT"] + by
                kept = [{"VAL": value, "COUNT": total}] if total > 0 else []
                return [*state[:place], *kept, *state[place + 1 :]]
        return [*state, {"VAL": value, "COUNT": by}] if by > 0 else state

    def merge(a: Entries, b: Entries) -> Entries:
        return reduce(lambda state, entry: moved(state, entry["VAL"], entry["COUNT"]), b, a)

    def read(state: Entries) -> Any:
        values = [entry["VAL"] for entry in state]
        return inner.map(reduce(inner.aggregate, values, inner.initialize()))

    return Aggregator(
        list,
        lambda state, value: moved(state, value, 1),
        merge,
        read,
        state_type,
        inner.type,
        lambda state, value: moved(state, value, -1),
        arity=1,
        keeps_values=True,
        most_values=None,
    )


def exact_count(estimate: Aggregator) -> Aggregator:
    """Return the exact count that takes the place of COUNT_DISTINCT's estimate."""
    return replace(
        estimate,
        initialize=int,
        aggregate=lambda n, _: n + 1,
        map=same,
        state_type=BIGINT,
        undo=lambda n, _: n - 1,
        most_values=1,
    )
