"""Keys and values as an Arrow table: the records of a topic, the entries of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.frames.arrow_types import INSTANT
from penstock.frames.columns import columns_of
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde

#: Columns of the record itself. A member of the value with one of these names gets a prefix.
RECORD_COLUMNS = ("key", "window_start", "window_end", "timestamp", "partition", "offset")
#: The end of the year 9999.
_LAST_MS = 253_402_300_799_999


def entries_table(
    keys: Sequence[Any],
    values: Sequence[Any],
    *,
    key_serde: Serde[Any] | None = None,
    value_serde: Serde[Any] | None = None,
    is_windowed: bool = False,
    record: Mapping[str, pa.Array] | None = None,
) -> pa.Table:
    """Return key, bounds of the window, the columns of the value, then those of the record.

    Args:
        is_windowed: whether keys are windows, for a table without rows.
        record: more columns, such as the timestamp.
    """
    windows = [key if isinstance(key, Windowed) else None for key in keys]
    plain = [key.key if isinstance(key, Windowed) else key for key in keys]
    found = columns_of(plain, getattr(key_serde, "inner", key_serde), "key")
    columns = found if set(found) == {"key"} else {f"key_{name}": c for name, c in found.items()}
    if is_windowed or any(window is not None for window in windows):
        for name, bounds in (
            ("window_start", [None if each is None else each.start for each in windows]),
            ("window_end", [None if each is None else each.end for each in windows]),
        ):
            # An unlimited window ends after every time that a calendar has.
            known = [None if each is None or each > _LAST_MS else each for each in bounds]
            columns[name] = pa.array(known, INSTANT)
    for name, column in columns_of(values, value_serde, "value").items():
        columns[f"value_{name}" if name in RECORD_COLUMNS else name] = column
    return pa.table(columns | dict(record or {}))
