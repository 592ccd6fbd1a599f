"""Keys of the foreign-key join's subscription store. They begin with the foreign key, for scans."""

from __future__ import annotations

import struct

_LENGTH = struct.Struct(">i")


def combined_key(foreign_key: bytes, primary_key: bytes) -> bytes:
    r"""Return the store key of one subscription.

    >>> combined_key(b"fk", b"pk")
    b'\x00\x00\x00\x02fkpk'
    """
    return combined_key_prefix(foreign_key) + primary_key


def combined_key_prefix(foreign_key: bytes) -> bytes:
    """Return the prefix that exactly the store keys of one foreign key have."""
    return _LENGTH.pack(len(foreign_key)) + foreign_key


def split_combined_key(data: bytes) -> tuple[bytes, bytes]:
    """Return the foreign and the primary key of a store key."""
    size = _LENGTH.unpack_from(data)[0] if len(data) >= _LENGTH.size else -1
    end = _LENGTH.size + size
    if size < 0 or end > len(data):
        raise ValueError(f"{len(data)} bytes are not a key of a subscription store")
    return data[_LENGTH.size : end], data[end:]
