"""Pairs in the key of a store: the length of the first part, the first part, the second part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.combined_key import combined_key, split_combined_key
from penstock.serde.inner import filled, inner_bytes, required


@dataclass(frozen=True, slots=True)
class PairSerde(Serde[tuple[Any, Any]]):
    """Pairs of two parts, each with its own serde. A serde that is left open is the default's."""

    first: Serde[Any] | None
    second: Serde[Any] | None

    def encode(self, value: tuple[Any, Any]) -> bytes:
        return self._write("", value, ())

    def decode(self, data: bytes) -> tuple[Any, Any]:
        return self._read("", data, ())

    def serialize(
        self, topic: str, value: tuple[Any, Any] | None, headers: Headers = ()
    ) -> bytes | None:
        return None if value is None else self._write(topic, value, headers)

    def deserialize(
        self, topic: str, data: bytes | None, headers: Headers = ()
    ) -> tuple[Any, Any] | None:
        return None if data is None else self._read(topic, data, headers)

    def with_defaults(self, defaults: SerdeDefaults) -> PairSerde:
        first, second = (filled(part, "key", defaults) for part in (self.first, self.second))
        return replace(self, first=first, second=second)

    @property
    def is_open(self) -> bool:
        return self.first is None or self.second is None

    def _write(self, topic: str, value: tuple[Any, Any], headers: Headers) -> bytes:
        first, second = (required(part, "PairSerde") for part in (self.first, self.second))
        return combined_key(
            inner_bytes(first, topic, value[0], headers, "the first part"),
            inner_bytes(second, topic, value[1], headers, "the second part"),
        )

    def _read(self, topic: str, data: bytes, headers: Headers) -> tuple[Any, Any]:
        first, second = (required(part, "PairSerde") for part in (self.first, self.second))
        left, right = split_combined_key(data)
        return (
            first.deserialize(topic, left, headers),
            second.deserialize(topic, right, headers),
        )
