"""Any Python object, for topics that only trusted Python programs read and write."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from penstock.serde.base import Serde

# Fixed, so that a newer Python does not change the bytes of equal values.
_PROTOCOL = 5


@dataclass(frozen=True, slots=True)
class PickleSerde(Serde[Any]):
    """Python's pickle. Never chosen unless asked for: reading a pickle can run any code.

    A program that can write to the topic can run code in every program that reads it. Equal
    values may have different bytes, so equal keys may be in different partitions.
    """

    def encode(self, value: Any) -> bytes:
        try:
            return pickle.dumps(value, _PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(f"cannot pickle {type(value).__name__}: {error}") from error

    def decode(self, data: bytes) -> Any:
        try:
            return pickle.loads(data)
        except Exception as error:
            # The pickle calls constructors of user classes, which may raise anything.
            raise ValueError(f"cannot unpickle {len(data)} bytes: {error}") from error
