"""Keys and values of stores as JSON text."""

from __future__ import annotations

import math
from base64 import urlsafe_b64encode
from typing import Any

from msgspec import Raw

from penstock.formats.rows import RowSerde
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.to_json import ANY_KEYS, to_json

NULL = Raw(b"null")


def to_raw(value: Any, serde: Serde[Any], topic: str) -> Raw:
    """Return the JSON of a key or value.

    A row of SQL is an object with its columns. NaN and infinities, which JSON does not have, are
    text. A value without any JSON form is ``{"base64": …}`` with its serialized bytes, so that no
    entry is left out.

    >>> from penstock.serde.serdes import Serdes
    >>> bytes(to_raw({"n": 1}, Serdes.json(), "t"))
    b'{"n":1}'
    >>> bytes(to_raw(float("inf"), Serdes.double(), "t"))
    b'"Infinity"'
    """
    if isinstance(serde, RowSerde) and isinstance(value, tuple):
        value = {c.name: item for c, item in zip(serde.row.columns, value, strict=False)}
    elif isinstance(value, Windowed):
        value = {"key": value.key, "window_start": value.start, "window_end": value.end}
    try:
        return Raw(to_json(value, ANY_KEYS))
    except (TypeError, ValueError):
        return Raw(_without_form(value, serde, topic))


def _without_form(value: Any, serde: Serde[Any], topic: str) -> bytes:
    if isinstance(value, float):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f'"{name}"'.encode()
    try:
        data = serde.serialize(topic, value) or b""
    except (TypeError, ValueError):
        return to_json({"type": type(value).__name__})
    return b'{"base64":"' + urlsafe_b64encode(data).rstrip(b"=") + b'"}'
