"""COUNT(DISTINCT x): exact, and able to undo. ksqlDB has only the approximate COUNT_DISTINCT."""

from __future__ import annotations

from typing import Any

from penstock.model.sql.types import BIGINT, ArrayType, Field, SqlType, StructType
from penstock.sql.functions.registry import Aggregator
from penstock.sql.values import key_of


def exact_count_distinct(type_: SqlType) -> Aggregator:
    """Count distinct values of a column that are not NULL; its state holds each of them."""
    state_type = ArrayType(StructType((Field("VAL", type_), Field("COUNT", BIGINT))))

    def moved(state: list[dict[str, Any]], value: Any, by: int) -> list[dict[str, Any]]:
        if value is None:
            return state
        key = key_of(value)
        for i, entry in enumerate(state):
            if key_of(entry["VAL"]) == key:
                count = entry["COUNT"] + by
                changed = [{"VAL": entry["VAL"], "COUNT": count}] if count > 0 else []
                return state[:i] + changed + state[i + 1 :]
        return [*state, {"VAL": value, "COUNT": by}] if by > 0 else state

    def merge(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in b:
            a = moved(a, entry["VAL"], entry["COUNT"])
        return a

    return Aggregator(
        list,
        lambda state, value: moved(state, value, 1),
        merge,
        len,
        state_type,
        BIGINT,
        lambda state, value: moved(state, value, -1),
        arity=1,
    )
