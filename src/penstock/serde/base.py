"""The one protocol of all serdes. Ready-made ones: ``penstock.serde.serdes.Serdes``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.model.record import Headers

T = TypeVar("T")

Writer = Callable[[Any], bytes | None]
Reader = Callable[[bytes | None], Any]


@dataclass(frozen=True, slots=True)
class SerdeDefaults:
    """``default.key.serde`` and ``default.value.serde`` of the configuration, if given."""

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None


class Serde(ABC, Generic[T]):
    """Turns values into bytes and back. None is never encoded: it is the tombstone.

    A subclass gives ``encode`` and ``decode``; one whose bytes depend on the topic or the
    headers (a schema registry, say) overrides ``serialize`` and ``deserialize`` instead.
    """

    __slots__ = ()

    @abstractmethod
    def encode(self, value: T) -> bytes:
        """Gives the bytes of a value that is not None; raises TypeError or ValueError if unfit."""

    @abstractmethod
    def decode(self, data: bytes) -> T:
        """Gives the value of some bytes; raises ValueError when they are not of this format."""

    def serialize(self, topic: str, value: T | None, headers: Headers = ()) -> bytes | None:
        return None if value is None else self.encode(value)

    def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> T | None:
        return None if data is None else self.decode(data)

    def with_defaults(self, defaults: SerdeDefaults) -> Serde[T]:
        """Fills inner serdes that were left open from the configuration's defaults."""
        return self

    @property
    def is_open(self) -> bool:
        """Whether an inner serde is still missing, so that nothing can be written or read."""
        return False
