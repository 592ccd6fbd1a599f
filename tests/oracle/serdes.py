"""Bytes of the case format, written here on their own, and the library's serdes by name.

Inputs are encoded and outputs decoded with ``Codec``, so a wrong serde in the library shows up.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import penstock as ps
from penstock.serde.column_serde import ColumnSerde, HasColumnSerde
from tests.oracle.values import MAX_LONG, json_text

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Codec:
    """One serde name of the format: JSON form to bytes and back. None stays None."""

    name: str
    encode: Callable[[Any, Span | None], bytes]
    decode: Callable[[bytes], tuple[Any, Span | None]]


@cache
def codec(name: str) -> Codec:
    """Gives the codec of a serde name such as ``time_windowed:string:10``."""
    kind, _, rest = name.partition(":")
    if kind == "time_windowed":
        inner, _, size = rest.rpartition(":")
        return _time_windowed(name, codec(inner), int(size))
    if kind == "session_windowed":
        return _session_windowed(name, codec(rest))
    write, read = _PLAIN[name]
    return Codec(name, lambda value, _span: write(value), lambda data: (read(data), None))


_PLAIN: dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "string": (lambda v: v.encode(), lambda data: data.decode()),
    "long": (lambda v: struct.pack(">q", v), lambda data: struct.unpack(">q", data)[0]),
    "double": (lambda v: struct.pack(">d", v), lambda data: struct.unpack(">d", data)[0]),
    "json": (lambda v: json_text(v).encode(), lambda data: json.loads(data)),
    "bytes": (base64.b64decode, lambda data: base64.b64encode(data).decode("ascii")),
}


def _time_windowed(name: str, inner: Codec, size_ms: int) -> Codec:
    def encode(value: Any, span: Span | None) -> bytes:
        assert span is not None, "a windowed key needs its window"
        return inner.encode(value, None) + struct.pack(">q", span[0])

    def decode(data: bytes) -> tuple[Any, Span | None]:
        start = struct.unpack(">q", data[-8:])[0]
        return inner.decode(data[:-8])[0], (start, min(start + size_ms, MAX_LONG))

    return Codec(name, encode, decode)


def _session_windowed(name: str, inner: Codec) -> Codec:
    def encode(value: Any, span: Span | None) -> bytes:
        assert span is not None, "a windowed key needs its window"
        return inner.encode(value, None) + struct.pack(">qq", span[1], span[0])

    def decode(data: bytes) -> tuple[Any, Span | None]:
        end, start = struct.unpack(">qq", data[-16:])
        return inner.decode(data[:-16])[0], (start, end)

    return Codec(name, encode, decode)


class JsonSerde(ps.Serde[Any], HasColumnSerde):
    """The format's JSON: compact text in UTF-8, members in the order they were put in."""

    __slots__ = ()

    @property
    def column_serde(self) -> ColumnSerde:
        """It depends on its input alone."""
        return ColumnSerde()

    def encode(self, value: Any) -> bytes:
        return json_text(value).encode()

    def decode(self, data: bytes) -> Any:
        return json.loads(data)


@cache
def serde(name: str | None) -> ps.Serde[Any] | None:
    """Gives the library's serde for a serde name of the format; None stays "not given"."""
    if name is None:
        return None
    kind, _, rest = name.partition(":")
    if kind == "time_windowed":
        inner, _, size = rest.rpartition(":")
        return ps.WindowedSerdes.time_windowed(serde(inner), int(size))
    if kind == "session_windowed":
        return ps.WindowedSerdes.session_windowed(serde(rest))
    return JsonSerde() if name == "json" else getattr(ps.Serdes, name)()


def codec_name_of(value: Any) -> str:
    """Guesses the serde of a value that no source or sink operation declares."""
    if isinstance(value, dict | list):
        return "json"
    if isinstance(value, float):
        return "double"
    return "long" if isinstance(value, int) else "string"
