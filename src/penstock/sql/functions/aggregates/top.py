"""TOPK and TOPKDISTINCT: the largest values, largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import ArrayType, Field, StructType
from penstock.sql.functions.aggregates.basic import SORTABLE, same
from penstock.sql.functions.declare import aggregate
from penstock.sql.functions.registry import Aggregator, Settings


def _size(constants: Sequence[Any], name: str) -> int:
    size = int(constants[0])
    if size < 1:
        raise SqlTypeError("bad-argument", f"{name} needs a size of 1 or more, not {size}")
    return size


@aggregate("TOPK", *(f"{t}, INTEGER -> ARRAY<{t}>" for t in SORTABLE), constants=1)
def topk(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    """Return the largest values; with more columns, return the rows of the largest values."""
    size, type_ = _size(constants, "TOPK"), ArrayType(types[0])

    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        return sorted(a + b, reverse=True)[:size]

    def add(state: list[Any], value: Any) -> list[Any]:
        return state if value is None else merge(state, [value])

    return Aggregator(list, add, merge, same, type_, type_, most_values=size)


@aggregate("TOPKDISTINCT", *(f"{t}, INTEGER -> ARRAY<{t}>" for t in SORTABLE), constants=1)
def topkdistinct(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    """Return the largest distinct values."""
    size, type_ = _size(constants, "TOPKDISTINCT"), ArrayType(types[0])

    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        return sorted({*a, *b}, reverse=True)[:size]

    def add(state: list[Any], value: Any) -> list[Any]:
        return state if value is None else merge(state, [value])

    return Aggregator(list, add, merge, same, type_, type_, most_values=size)


@aggregate("TOPK", *(f"{t}, ANY, ANY..., INTEGER -> ARRAY<{t}>" for t in SORTABLE), constants=1)
def topk_rows(types: Sequence[Any], constants: Sequence[Any], _: Settings) -> Aggregator:
    size = _size(constants, "TOPK")
    names = ["sort_col", *(f"col{i}" for i in range(len(types) - 1))]
    row = StructType(tuple(Field(n, t) for n, t in zip(names, types, strict=True)))
    type_ = ArrayType(row)

    def merge(a: list[Any], b: list[Any]) -> list[Any]:
        # A stable sort: of equal rows the earlier one stays in front.
        return sorted(a + b, key=lambda r: r["sort_col"], reverse=True)[:size]

    def add(state: list[Any], *values: Any) -> list[Any]:
        if values[0] is None:
            return state
        return merge(state, [dict(zip(names, values, strict=True))])

    return Aggregator(list, add, merge, same, type_, type_, most_values=size)
