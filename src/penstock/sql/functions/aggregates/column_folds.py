"""Aggregates over whole columns: the same states as value by value, without a call per value.

They change the list of states. If a value does not fit, they raise an error, and the caller
aggregates value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.model import java
from penstock.model.field_fold import FoldColumns

Codes = NDArray[np.int64]
Columns = Sequence[Sequence[Any]]


def count_columns(states: list[Any], codes: Codes, columns: Columns) -> None:
    """Count the rows that have no NULL among their values."""
    if any(None in column for column in columns):
        codes = codes[np.array([None not in values for values in zip(*columns, strict=True)], bool)]
    sizes = np.bincount(codes, minlength=len(states)).tolist()
    states[:] = [state + size for state, size in zip(states, sizes, strict=True)]


def add_doubles(states: list[Any], codes: Codes, columns: Columns) -> None:
    """Add doubles in the order of the records, because the last digits depend on the order."""
    for code, value in zip(codes.tolist(), columns[0], strict=True):
        if value is not None:
            states[code] += value


def whole_adder(low: int, high: int) -> FoldColumns:
    """Return a function that adds whole numbers, and raises an error if a sum leaves the range."""

    def add(states: list[Any], codes: Codes, columns: Columns) -> None:
        for code, value in zip(codes.tolist(), columns[0], strict=True):
            if value is not None:
                total = states[code] + value
                if not low <= total <= high:
                    raise ArithmeticError(f"the sum {total} is out of range")
                states[code] = total

    return add


def least(states: list[Any], codes: Codes, columns: Columns) -> None:
    for code, value in zip(codes.tolist(), columns[0], strict=True):
        if value is not None:
            state = states[code]
            if state is None or value < state:
                states[code] = value


def greatest(states: list[Any], codes: Codes, columns: Columns) -> None:
    for code, value in zip(codes.tolist(), columns[0], strict=True):
        if value is not None:
            state = states[code]
            if state is None or value > state:
                states[code] = value


def average_columns(states: list[Any], codes: Codes, columns: Columns) -> None:
    """Update the sum and the count of an average; sums of whole numbers wrap around."""
    sums = [state["SUM"] for state in states]
    counts = [state["COUNT"] for state in states]
    for code, value in zip(codes.tolist(), columns[0], strict=True):
        if value is not None:
            sums[code] += value
            counts[code] += 1
    states[:] = [
        {"SUM": total if isinstance(total, float) else java.wrap_long(total), "COUNT": count}
        for total, count in zip(sums, counts, strict=True)
    ]
