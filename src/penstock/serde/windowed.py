"""Windowed keys on topics: the inner key's bytes, then the window's times."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.errors import InvalidArgumentError
from penstock.model.record import Headers
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.model.windows.windowed import Window, Windowed, window_end
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inner import filled, inner_bytes, required
from penstock.serde.serdes import SerdeLike, resolve_serde

K = TypeVar("K")

_START = struct.Struct(">q")
_END_START = struct.Struct(">qq")
_SEQUENCE_SIZE = 4


class _WindowedKeys(Serde[Windowed[K]]):
    """What serdes of windowed keys share: how they write and read differs."""

    __slots__ = ()

    inner: Serde[K] | None

    def encode(self, value: Windowed[K]) -> bytes:
        return self._write("", value, ())

    def decode(self, data: bytes) -> Windowed[K]:
        return self._read("", data, ())

    def serialize(
        self, topic: str, value: Windowed[K] | None, headers: Headers = ()
    ) -> bytes | None:
        return None if value is None else self._write(topic, value, headers)

    def deserialize(
        self, topic: str, data: bytes | None, headers: Headers = ()
    ) -> Windowed[K] | None:
        """Read a key. As in Java, zero bytes are the same as None."""
        return self._read(topic, data, headers) if data else None

    def serialize_base_key(self, topic: str, value: Windowed[K], headers: Headers = ()) -> bytes:
        """Return the bytes that choose the partition: all windows of a key stay together."""
        return _base_key(self.inner, topic, value, headers)

    @property
    def is_open(self) -> bool:
        return self.inner is None

    def _write(self, topic: str, value: Windowed[K], headers: Headers) -> bytes:
        raise NotImplementedError

    def _read(self, topic: str, data: bytes, headers: Headers) -> Windowed[K]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TimeWindowedSerde(_WindowedKeys[K]):
    """Keys of windows of one size. Only the start is written: the reader must know the size.

    ``is_changelog`` reads the keys of a window store's changelog, which end in a sequence
    number; it changes nothing for writing.
    """

    inner: Serde[K] | None
    window_size_ms: int
    is_changelog: bool = False

    def __post_init__(self) -> None:
        if self.window_size_ms < 0:
            raise InvalidArgumentError(
                "bad-window-size",
                f"window size {self.window_size_ms} ms is negative",
                "give the size of the windows that made the keys",
                caller_site(),
            )

    def for_changelog(self, *, is_changelog: bool = True) -> TimeWindowedSerde[K]:
        return replace(self, is_changelog=is_changelog)

    def with_defaults(self, defaults: SerdeDefaults) -> TimeWindowedSerde[K]:
        return replace(self, inner=filled(self.inner, "key", defaults))

    def _write(self, topic: str, value: Windowed[K], headers: Headers) -> bytes:
        return _base_key(self.inner, topic, value, headers) + _START.pack(value.window.start)

    def _read(self, topic: str, data: bytes, headers: Headers) -> Windowed[K]:
        if self.is_changelog:
            data = data[:-_SEQUENCE_SIZE]
        key = _read_base_key(self.inner, topic, data, _START.size, headers)
        (start,) = _START.unpack_from(data, len(data) - _START.size)
        return Windowed(key, Window(start, window_end(start, self.window_size_ms)))


@dataclass(frozen=True, slots=True)
class SessionWindowedSerde(_WindowedKeys[K]):
    """Keys of session windows: the end is written before the start, so that they sort by it."""

    inner: Serde[K] | None

    def with_defaults(self, defaults: SerdeDefaults) -> SessionWindowedSerde[K]:
        return replace(self, inner=filled(self.inner, "key", defaults))

    def _write(self, topic: str, value: Windowed[K], headers: Headers) -> bytes:
        key = _base_key(self.inner, topic, value, headers)
        return key + _END_START.pack(value.window.end, value.window.start)

    def _read(self, topic: str, data: bytes, headers: Headers) -> Windowed[K]:
        key = _read_base_key(self.inner, topic, data, _END_START.size, headers)
        end, start = _END_START.unpack_from(data, len(data) - _END_START.size)
        return Windowed(key, Window(start, end))


class WindowedSerdes:
    """Factories of serdes for windowed keys."""

    @staticmethod
    def time_windowed(inner: SerdeLike, size: Duration) -> TimeWindowedSerde[Any]:
        """Make the serde of keys of tumbling, hopping or sliding windows of this size.

        >>> serde = WindowedSerdes.time_windowed("string", "1m")
        >>> serde.encode(Windowed("ann", Window(120_000, 180_000))).hex()
        '616e6e000000000001d4c0'
        >>> print(serde.decode(bytes.fromhex("616e6e000000000001d4c0")))
        [ann@120000/180000]
        """
        return TimeWindowedSerde(resolve_serde(inner), to_ms(size, "window size"))

    @staticmethod
    def session_windowed(inner: SerdeLike) -> SessionWindowedSerde[Any]:
        """Make the serde of keys of session windows."""
        return SessionWindowedSerde(resolve_serde(inner))


def _base_key(inner: Serde[K] | None, topic: str, value: Windowed[K], headers: Headers) -> bytes:
    if not isinstance(value, Windowed):
        raise TypeError(
            f"windowed serde takes a Windowed, got {type(value).__name__} {value!r:.80}"
        )
    return inner_bytes(required(inner, "windowed serde"), topic, value.key, headers, "key")


def _read_base_key(
    inner: Serde[K] | None, topic: str, data: bytes, suffix: int, headers: Headers
) -> K:
    if len(data) < suffix:
        raise ValueError(f"windowed serde needs {suffix} bytes or more, got {len(data)}")
    serde = required(inner, "windowed serde")
    return serde.deserialize(topic, data[:-suffix], headers)  # type: ignore[return-value]
