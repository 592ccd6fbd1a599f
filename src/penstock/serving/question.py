"""What a store can be asked: one key, a range, a prefix, windows, sessions."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

_START = struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """The value of one key of a key-value store; of a versioned one also as of a time."""

    key: Any
    as_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The fields of every question that may have many rows as its answer."""

    #: Most rows to return.
    limit: int
    reverse: bool = False
    #: The ``order`` of the last row that the caller has. The answer begins after it.
    after: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeQuestion(Scan):
    """Entries of a key-value store between two keys, both included; None leaves an end open.

    For a window or session store: the rows of keys between these, in windows that start in
    [``time_from``, ``time_to``].
    """

    start: Any = None
    end: Any = None
    time_from: int | None = None
    time_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixQuestion(Scan):
    """Entries of a key-value store whose serialized key begins with these bytes."""

    prefix: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowQuestion(Scan):
    """Windows of one key that start in [``time_from``, ``time_to``]; None leaves an end open."""

    key: Any
    time_from: int | None = None
    time_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuestion(Scan):
    """Sessions of one key that end at ``time_from`` or later and start at ``time_to`` or earlier.

    That is: all sessions which overlap the span. None leaves an end open.
    """

    key: Any
    time_from: int | None = None
    time_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsQuestion(Scan):
    """Versions of one key of a versioned store that were valid in [``time_from``, ``time_to``]."""

    key: Any
    time_from: int | None = None
    time_to: int | None = None


Question = (
    KeyQuestion
    | RangeQuestion
    | PrefixQuestion
    | WindowQuestion
    | SessionQuestion
    | VersionsQuestion
)


def row_order(key: bytes, start: int | None = None, end: int | None = None) -> bytes:
    """Return the place of a row among all rows of its store, to be compared as bytes.

    Entries of key-value stores are in order of their serialized keys. Windows, sessions and
    versions are in order of their start, then of their key, then of their end.

    >>> row_order(b"b") > row_order(b"a")
    True
    >>> row_order(b"a", 2000) > row_order(b"b", 1000)
    True
    """
    if start is None:
        return key
    tail = b"" if end is None else _START.pack(end)
    return _START.pack(start) + key + tail
