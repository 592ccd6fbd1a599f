"""Table changes on repartition topics, in the format of Kafka Streams' changed serializer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inner import filled, inner_bytes, required

# The last byte says what the bytes before it are. Kafka Streams reads all six kinds since 3.5,
# and writes the first three.
_OLD, _NEW, _BOTH = 0, 1, 2
_OLD_FLAGGED, _NEW_FLAGGED, _BOTH_FLAGGED = 3, 4, 5


@dataclass(frozen=True, slots=True)
class ChangeSerde(Serde[Change]):
    """A change with a new value, an old value or both, never with neither.

    ``is_latest`` is read but not written.
    """

    inner: Serde[Any] | None

    def encode(self, value: Change) -> bytes:
        return self._write("", value, ())

    def decode(self, data: bytes) -> Change:
        return self._read("", data, ())

    def serialize(self, topic: str, value: Change | None, headers: Headers = ()) -> bytes | None:
        return None if value is None else self._write(topic, value, headers)

    def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> Change | None:
        return None if data is None else self._read(topic, data, headers)

    def with_defaults(self, defaults: SerdeDefaults) -> ChangeSerde:
        return replace(self, inner=filled(self.inner, "value", defaults))

    @property
    def is_open(self) -> bool:
        return self.inner is None

    def _write(self, topic: str, value: Change, headers: Headers) -> bytes:
        inner = required(self.inner, "change serde")
        new = old = None
        if value.new is not None:
            new = inner_bytes(inner, topic, value.new, headers, "new value")
        if value.old is not None:
            old = inner_bytes(inner, topic, value.old, headers, "old value")
        return join_change(new, old)

    def _read(self, topic: str, data: bytes, headers: Headers) -> Change:
        inner = required(self.inner, "change serde")
        new, old, is_latest = split_change(data)
        return Change(
            inner.deserialize(topic, new, headers),
            inner.deserialize(topic, old, headers),
            is_latest,
        )


def join_change(new: bytes | None, old: bytes | None) -> bytes:
    """Return the bytes of a change whose values are bytes already."""
    if new is not None and old is not None:
        return b"%b%b%b%c" % (write_varint(len(new)), new, old, _BOTH)
    if new is not None:
        return b"%b%c" % (new, _NEW)
    if old is not None:
        return b"%b%c" % (old, _OLD)
    raise ValueError("a change needs a new or an old value, both are None")


def split_change(data: bytes) -> tuple[bytes | None, bytes | None, bool]:
    """Return the bytes of the new and the old value, and whether the update is the latest."""
    kind = data[-1] if data else -1
    if not _OLD <= kind <= _BOTH_FLAGGED:
        raise ValueError(f"change serde: byte {kind} is not a kind of change")
    body, is_latest = data[:-1], True
    if kind >= _OLD_FLAGGED:
        body, is_latest = body[:-1], _flag(body)
    if kind in (_OLD, _OLD_FLAGGED):
        return None, body, is_latest
    if kind in (_NEW, _NEW_FLAGGED):
        return body, None, is_latest
    size, at = read_varint(body)
    if not 0 <= size <= len(body) - at:
        raise ValueError(f"change serde: {size} bytes of new value, only {len(body) - at} are left")
    return body[at : at + size], body[at + size :], is_latest


def _flag(body: bytes) -> bool:
    if body[-1:] not in (b"\x00", b"\x01"):
        raise ValueError(f"change serde: byte {body[-1:].hex()} is not an is-latest flag")
    return body[-1] == 1


def write_varint(number: int) -> bytes:
    """Return Kafka's variable-length form of a 32-bit integer: zigzag, seven bits per byte."""
    rest = (number << 1) ^ (number >> 31)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: bytes) -> tuple[int, int]:
    """Return the number at the start of the bytes and the position after it."""
    rest = 0
    for at, byte in enumerate(data[:5]):
        rest |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), at + 1
    raise ValueError("a variable-length integer does not end")
