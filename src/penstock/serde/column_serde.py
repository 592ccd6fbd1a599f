"""What column executors may rely on in a serde. The code that uses it: ``serde.columns``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

#: The bytes of each record's key or value; ``None`` for a record that has none.
Encoded = Sequence[bytes | None]


def _never(_: Encoded) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ColumnSerde:
    """What column executors may rely on, for a serde whose result depends on its input alone.

    A serde without a ``ColumnSerde`` may do anything, such as ask a registry or count its calls.
    Its task runs record at a time. All defaults are safe: they say that nothing more is known.

    Attributes:
        wire: Two serdes with equal ``wire`` write equal values as the same bytes. ``None`` is equal
            to nothing.
        decode: Returns the value of each item. It returns ``None``, or raises ``TypeError``,
            ``ValueError`` or ``LookupError``, if the column has an item that it does not know
            for certain. Then the serde decodes item by item.
        encode: The same for the bytes of values.
        takes_all: Whether the serde can decode any bytes.
        tells_apart: Whether different values have different bytes.
        keeps_bytes: Returns whether decoding some bytes, and encoding the result, returns the same
            bytes.
        keeps_values: Whether encoding and decoding returns an equal value of the same Python types.
        reads_dictionaries: Whether ``decode`` takes ``DictionaryBytes`` and decodes each different
            item once.
    """

    wire: object = None
    decode: Callable[[Encoded], Sequence[Any] | None] | None = None
    encode: Callable[[Sequence[Any]], Encoded | None] | None = None
    takes_all: bool = False
    tells_apart: bool = False
    keeps_bytes: Callable[[Encoded], bool] = _never
    keeps_values: bool = False
    reads_dictionaries: bool = False


class HasColumnSerde(ABC):
    """A serde that says what column executors may rely on."""

    __slots__ = ()

    @property
    @abstractmethod
    def column_serde(self) -> ColumnSerde | None:
        """What is known of the serde; ``None`` if it may do anything."""
