"""Bytes of the foreign-key join's messages. The messages: ``penstock.model.subscription``."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.model.record import Headers
from penstock.model.subscription import (
    SUBSCRIPTION_VERSION,
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
#: The size of a subscription with a hash and a partition whose primary key has no bytes.
_SHORTEST = 2 + _HASH_SIZE + _PARTITION.size
_INSTRUCTIONS = {each.value: each for each in Instruction}


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
        if value.version > 0 and value.primary_partition is None:
            raise ValueError(f"subscription of {value.primary_key!r} has no primary partition")
        return join_subscription(
            value.version, value.hash, value.instruction, key, value.primary_partition
        )

    def _read(self, topic: str, data: bytes) -> SubscriptionWrapper[K]:
        version, hash_, instruction, body, partition = split_subscription(data)
        inner = required(self.inner, "subscription serde")
        key = inner.deserialize(self.key_topic or topic, body)
        return SubscriptionWrapper(
            hash_,
            instruction,
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
        return join_response(value.version, value.hash, body)

    def _read(self, topic: str, data: bytes, headers: Headers) -> SubscriptionResponseWrapper[V]:
        inner = required(self.inner, "subscription response serde")
        version, hash_, body = split_response(data)
        value = inner.deserialize(topic, body, headers)
        return SubscriptionResponseWrapper(hash_, value, version)


def join_subscription(
    version: int, hash_: bytes | None, instruction: Instruction, key: bytes, partition: int | None
) -> bytes:
    """Return the bytes of a subscription whose primary key is bytes already."""
    head = _head(version, hash_, bytes((instruction.value,)))
    return head + key if version == 0 else head + key + _PARTITION.pack(partition)


def split_subscription(
    data: bytes,
) -> tuple[int, bytes | None, Instruction, bytes, int | None]:
    """Return version, hash, instruction, the bytes of the primary key, and the partition."""
    if len(data) >= _SHORTEST and data[0] == SUBSCRIPTION_VERSION:
        # Nearly all subscriptions: they have a hash, and are as new as this code.
        start, end = 2 + _HASH_SIZE, -_PARTITION.size
        (partition,) = _PARTITION.unpack(data[end:])
        instruction = _INSTRUCTIONS.get(data[1]) or Instruction(data[1])
        return SUBSCRIPTION_VERSION, data[2:start], instruction, data[start:end], partition
    version, hash_, kind, body = _split(data, 1)
    if version == 0:
        return version, hash_, Instruction(kind[0]), body, None
    if len(body) < _PARTITION.size:
        raise _too_short(data)
    (partition,) = _PARTITION.unpack(body[-_PARTITION.size :])
    return version, hash_, Instruction(kind[0]), body[: -_PARTITION.size], partition


def join_response(version: int, hash_: bytes | None, foreign_value: bytes | None) -> bytes:
    """Return the bytes of a response whose foreign value is bytes already."""
    return _head(version, hash_) + (foreign_value or b"")


def split_response(data: bytes) -> tuple[int, bytes | None, bytes | None]:
    """Return version, hash and the bytes of the foreign value; no bytes stand for ``None``."""
    version, hash_, _, body = _split(data, 0)
    return version, hash_, body or None


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
