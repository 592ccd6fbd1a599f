"""Bytes of the foreign-key join's messages. The messages: ``penstock.model.subscription``."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.model.record import Headers
from penstock.model.subscription import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
)
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inner import filled, inner_bytes, required

K = TypeVar("K")
V = TypeVar("V")

_HAS_NO_HASH = 0x80
_HASH_SIZE = 16
_PARTITION = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class SubscriptionWrapperSerde(Serde[SubscriptionWrapper[K]]):
    """Writes version, instruction, hash, primary key and, in version 1, the partition.

    One bit of the version says that there is no hash.

    ``key_topic`` is the topic name that the key serde sees. It must be the same on both
    sides of the join, while the topics differ.
    """

    inner: Serde[K] | None
    key_topic: str | None = None

    def encode(self, value: SubscriptionWrapper[K]) -> bytes:
        return self._write("", value)

    def decode(self, data: bytes) -> SubscriptionWrapper[K]:
        return self._read("", data)

    def serialize(
        self, topic: str, value: SubscriptionWrapper[K] | None, headers: Headers = ()
    ) -> bytes | None:
        return None if value is None else self._write(topic, value)

    def deserialize(
        self, topic: str, data: bytes | None, headers: Headers = ()
    ) -> SubscriptionWrapper[K] | None:
        return None if data is None else self._read(topic, data)

    def with_defaults(self, defaults: SerdeDefaults) -> SubscriptionWrapperSerde[K]:
        return replace(self, inner=filled(self.inner, "key", defaults))

    @property
    def is_open(self) -> bool:
        return self.inner is None

    def _write(self, topic: str, value: SubscriptionWrapper[K]) -> bytes:
        inner = required(self.inner, "subscription serde")
        key = inner_bytes(inner, self.key_topic or topic, value.primary_key, (), "primary key")
        head = _head(value.version, value.hash, bytes((value.instruction.value,)))
        if value.version == 0:
            return head + key
        if value.primary_partition is None:
            raise ValueError(f"subscription of {value.primary_key!r} has no primary partition")
        return head + key + _PARTITION.pack(value.primary_partition)

    def _read(self, topic: str, data: bytes) -> SubscriptionWrapper[K]:
        version, hash_, instruction, body = _split(data, 1)
        partition = None
        if version > 0:
            if len(body) < _PARTITION.size:
                raise _too_short(data)
            (partition,) = _PARTITION.unpack(body[-_PARTITION.size :])
            body = body[: -_PARTITION.size]
        inner = required(self.inner, "subscription serde")
        key = inner.deserialize(self.key_topic or topic, body)
        return SubscriptionWrapper(
            hash_,
            Instruction(instruction[0]),
            key,  # type: ignore[arg-type]
            version,
            partition,
        )


@dataclass(frozen=True, slots=True)
class SubscriptionResponseWrapperSerde(Serde[SubscriptionResponseWrapper[V]]):
    """Writes version, hash and foreign value. One bit of the version says that there is no hash.

    As in Java, a foreign value of no bytes comes back as None.
    """

    inner: Serde[V] | None

    def encode(self, value: SubscriptionResponseWrapper[V]) -> bytes:
        return self._write("", value, ())

    def decode(self, data: bytes) -> SubscriptionResponseWrapper[V]:
        return self._read("", data, ())

    def serialize(
        self, topic: str, value: SubscriptionResponseWrapper[V] | None, headers: Headers = ()
    ) -> bytes | None:
        return None if value is None else self._write(topic, value, headers)

    def deserialize(
        self, topic: str, data: bytes | None, headers: Headers = ()
    ) -> SubscriptionResponseWrapper[V] | None:
        return None if data is None else self._read(topic, data, headers)

    def with_defaults(self, defaults: SerdeDefaults) -> SubscriptionResponseWrapperSerde[V]:
        return replace(self, inner=filled(self.inner, "value", defaults))

    @property
    def is_open(self) -> bool:
        return self.inner is None

    def _write(self, topic: str, value: SubscriptionResponseWrapper[V], headers: Headers) -> bytes:
        inner = required(self.inner, "subscription response serde")
        body = inner.serialize(topic, value.foreign_value, headers)
        return _head(value.version, value.hash) + (body or b"")

    def _read(self, topic: str, data: bytes, headers: Headers) -> SubscriptionResponseWrapper[V]:
        inner = required(self.inner, "subscription response serde")
        version, hash_, _, body = _split(data, 0)
        value = inner.deserialize(topic, body or None, headers)
        return SubscriptionResponseWrapper(hash_, value, version)


def _head(version: int, hash_: bytes | None, extra: bytes = b"") -> bytes:
    if hash_ is None:
        return bytes((version | _HAS_NO_HASH,)) + extra
    return bytes((version,)) + extra + hash_


def _split(data: bytes, extra: int) -> tuple[int, bytes | None, bytes, bytes]:
    """Return the version, the hash, the extra bytes between the two, and the rest."""
    if len(data) < 1 + extra:
        raise _too_short(data)
    version, body = data[0] & 0x7F, data[1 + extra :]
    if data[0] & _HAS_NO_HASH:
        return version, None, data[1 : 1 + extra], body
    if len(body) < _HASH_SIZE:
        raise _too_short(data)
    return version, body[:_HASH_SIZE], data[1 : 1 + extra], body[_HASH_SIZE:]


def _too_short(data: bytes) -> ValueError:
    return ValueError(f"{len(data)} bytes are too few for a foreign-key join message")
