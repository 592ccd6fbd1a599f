"""Between the rows of a timestamped store and columns: eight bytes of time, then the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.kernel.columns.batch import Times
from penstock.serde.base import Serde
from penstock.serde.columns import decode_all

#: The time of a row that does not exist: before all others.
NEVER = np.iinfo(np.int64).min


def read_rows(
    rows: Sequence[bytes | None], serde: Serde[Any], missing: Callable[[], Any]
) -> tuple[list[Any], Times]:
    """The values and times of rows; ``missing`` makes the value of one that does not exist."""
    present = [row for row in rows if row is not None]
    values = decode_all(serde, [row[8:] for row in present])
    times = np.frombuffer(b"".join([row[:8] for row in present]), ">i8").astype(np.int64)
    if len(present) == len(rows):
        return list(values), times
    all_times = np.full(len(rows), NEVER)
    all_times[[row is not None for row in rows]] = times
    found, first = iter(values), missing()
    if isinstance(first, list | dict):
        return [missing() if row is None else next(found) for row in rows], all_times
    if not present:
        return [first] * len(rows), all_times
    return [first if row is None else next(found) for row in rows], all_times


def written_rows(times: Times, values: Sequence[bytes]) -> list[bytes]:
    """The rows of values with their times."""
    heads = times.astype(">i8").view("V8").tolist()
    return [head + value for head, value in zip(heads, values, strict=True)]
