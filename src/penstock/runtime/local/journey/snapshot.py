"""Values of records and stores as JSON, taken at the moment: a later node may change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.formats.rows import RowSerde
from penstock.model.change import Change
from penstock.model.versioned import (
    AggregationWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
)
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.to_json import ANY_KEYS, to_json

if TYPE_CHECKING:
    from msgspec import Raw

#: Longer values are cut.
_MOST_BYTES = 2_000


def snapshot(value: Any, serde: Serde[Any] | None = None) -> Raw:
    """Return the JSON of a value; of one that has no JSON form, its ``repr`` as text.

    Rows of SQL have the names of their columns, if their serde is given.

    >>> bytes(snapshot({"n": 1}))
    b'{"n":1}'
    >>> bytes(snapshot(1 + 2j))
    b'"(1+2j)"'
    """
    try:
        data = to_json(_plain(value, serde), ANY_KEYS)
    except (TypeError, ValueError):
        data = to_json(_text(value))
    if len(data) > _MOST_BYTES:
        data = to_json(data[:_MOST_BYTES].decode("utf-8", "ignore") + "…")
    # Applications without the extra server load this module, and never call it.
    from msgspec import Raw  # noqa: PLC0415

    return Raw(data)


def pairs(taken: Iterable[tuple[Raw, Raw]]) -> Raw:
    """Return pairs of snapshots as one."""
    from msgspec import Raw  # noqa: PLC0415

    texts = (b"[%b,%b]" % (bytes(first), bytes(second)) for first, second in taken)
    return Raw(b"[%b]" % b",".join(texts))


def _plain(value: Any, serde: Serde[Any] | None) -> Any:
    if isinstance(value, Change):
        return {"new": _plain(value.new, serde), "old": _plain(value.old, serde)}
    if isinstance(value, ValueAndTimestamp | ValueTimestampHeaders):
        return _plain(value[0], serde)
    if isinstance(value, AggregationWithHeaders):
        return _plain(value.aggregation, serde)
    if isinstance(serde, RowSerde) and type(value) is tuple:
        return {c.name: item for c, item in zip(serde.row.columns, value, strict=False)}
    if isinstance(value, Windowed):
        window = value.window
        return {"key": value.key, "window_start": window.start, "window_end": window.end}
    if isinstance(value, list | tuple):
        return [_plain(each, serde) for each in value]
    return value


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the user's code
        return f"a {type(value).__name__}"
