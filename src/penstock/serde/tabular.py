"""Rows for Spark: anything as JSON text, windowed keys with their bounds beside the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes


@dataclass(frozen=True, slots=True)
class TabularSerde(Serde[Any]):
    """Writes JSON; a windowed key becomes ``{"key", "window_start", "window_end"}``."""

    def encode(self, value: Any) -> bytes:
        if isinstance(value, Windowed):
            value = {"key": value.key, "window_start": value.start, "window_end": value.end}
        return _JSON.encode(value)

    def decode(self, data: bytes) -> Any:
        return _JSON.decode(data)


_JSON: Serde[Any] = Serdes.json()
