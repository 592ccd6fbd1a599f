"""A serde made of two functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from penstock.errors import NullArgumentError
from penstock.serde.base import Serde

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FunctionSerde(Serde[T]):
    """Calls one function per direction; neither ever sees None."""

    serializer: Callable[[T], bytes]
    deserializer: Callable[[bytes], T]

    def encode(self, value: T) -> bytes:
        data = self.serializer(value)
        if type(data) is bytes:
            return data
        if isinstance(data, (bytes, bytearray, memoryview)):
            return bytes(data)
        raise TypeError(f"serializer must return bytes, returned {type(data).__name__}")

    def decode(self, data: bytes) -> T:
        return self.deserializer(data)


def serde_from(
    serializer: Callable[[T], bytes], deserializer: Callable[[bytes], T]
) -> FunctionSerde[T]:
    """Make a serde of two functions: one from value to bytes, one from bytes to value.

    >>> hexadecimal = serde_from(lambda number: f"{number:x}".encode(), lambda b: int(b, 16))
    >>> hexadecimal.serialize("topic", 255)
    b'ff'
    >>> hexadecimal.deserialize("topic", b"ff")
    255

    Raises:
        NullArgumentError: if one of the functions is None.
    """
    for name, function in (("serializer", serializer), ("deserializer", deserializer)):
        if function is None:
            raise NullArgumentError(f"{name}-is-none", f"{name} must not be None")
    return FunctionSerde(serializer, deserializer)
