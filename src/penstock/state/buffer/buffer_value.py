"""The entry of a time-ordered buffer, and its bytes in Java's format (version 3)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from penstock.model.record import Header, RecordContext

_LONG = Struct(">q")
_LONGS = Struct(">qq")
_INT = Struct(">i")
_INTS = Struct(">ii")

#: The header of a changelog record in this version. Without it, Java reads an older format.
CHANGELOG_VERSION: Header = ("v", b"\x03")

_NULL = -1
#: The length of an old value that equals the prior value, so that it is not written twice.
_SAME_AS_PRIOR = -2


@dataclass(frozen=True, slots=True)
class BufferValue:
    """A change as bytes, and the context of its record.

    ``prior`` is the value of the key before its first change in the buffer: the last value that
    later operators have seen.
    """

    prior: bytes | None
    old: bytes | None
    new: bytes | None
    context: RecordContext

    @property
    def size(self) -> int:
        """Return Kafka Streams' estimate of the memory, which limits of ``suppress`` count."""
        values = [self.prior, self.new]
        if self.old != self.prior:
            values.append(self.old)
        return sum(len(value) for value in values if value is not None) + _context_size(
            self.context
        )

    def encode(self) -> bytes:
        parts = [_encode_context(self.context), _sized(self.prior)]
        if self.old is not None and self.old == self.prior:
            parts.append(_INT.pack(_SAME_AS_PRIOR))
        else:
            parts.append(_sized(self.old))
        parts.append(_sized(self.new))
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> BufferValue:
        """Read the bytes of ``encode``; ignore bytes after them."""
        reader = _Reader(data)
        context = reader.context()
        prior = reader.sized()
        old_size = reader.number()
        old = prior if old_size == _SAME_AS_PRIOR else reader.take(old_size)
        return cls(prior, old, reader.sized(), context)


class _Reader:
    """Reads parts that have their size in front, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def number(self) -> int:
        self._place += _INT.size
        value: int = _INT.unpack_from(self._data, self._place - _INT.size)[0]
        return value

    def take(self, size: int) -> bytes | None:
        if size == _NULL:
            return None
        self._place += size
        return self._data[self._place - size : self._place]

    def sized(self) -> bytes | None:
        return self.take(self.number())

    def context(self) -> RecordContext:
        timestamp, offset = _LONGS.unpack_from(self._data, self._place)
        self._place += _LONGS.size
        topic = self.sized()
        partition, count = self.number(), self.number()
        headers = tuple(self._header() for _ in range(count))
        return RecordContext(
            timestamp, offset, partition, None if topic is None else topic.decode(), headers
        )

    def _header(self) -> Header:
        return (self.sized() or b"").decode(), self.sized()


def buffered_size(raw_key: bytes, value: BufferValue) -> int:
    """Return the estimate of an entry with its key and its time, which has eight bytes."""
    return 8 + len(raw_key) + value.size


def _encode_context(context: RecordContext) -> bytes:
    parts = [_LONGS.pack(context.timestamp, context.offset)]
    parts.append(_sized(None if context.topic is None else context.topic.encode()))
    parts.append(_INTS.pack(context.partition, len(context.headers)))
    for name, value in context.headers:
        parts.append(_sized(name.encode()))
        parts.append(_sized(value))
    return b"".join(parts)


def _sized(data: bytes | None) -> bytes:
    return _INT.pack(_NULL) if data is None else _INT.pack(len(data)) + data


def _context_size(context: RecordContext) -> int:
    size = _LONGS.size + _INT.size
    if context.topic is not None:
        size += _java_length(context.topic)
    for name, value in context.headers:
        size += _java_length(name) + (0 if value is None else len(value))
    return size


def _java_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def with_time(data: bytes, time: int) -> bytes:
    """Return a changelog value: the buffered value, then its time in the buffer."""
    return data + _LONG.pack(time)


def split_time(data: bytes) -> tuple[BufferValue, int]:
    return BufferValue.decode(data), _LONG.unpack_from(data, len(data) - _LONG.size)[0]
