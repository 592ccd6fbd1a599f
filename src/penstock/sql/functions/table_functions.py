"""Table functions: one row in, a row for each element out."""

from __future__ import annotations

from itertools import product
from typing import Any

from penstock.sql.functions.declare import table


@table("EXPLODE", "ARRAY<A> -> A")
def explode(array: list[Any] | None) -> list[Any]:
    """Return a row for each element of an array."""
    return array or []


@table("CUBE_EXPLODE", "ARRAY<A> -> ARRAY<A>")
def cube_explode(array: list[Any] | None) -> list[list[Any]]:
    """Return a row for each combination of elements and NULLs."""
    if not array:
        return []
    # A NULL element cannot be replaced by NULL: both choices would be the same row.
    choices = [[None] if value is None else [None, value] for value in array]
    return [list(row) for row in product(*choices)]
