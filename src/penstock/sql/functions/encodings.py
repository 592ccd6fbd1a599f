"""Bytes and their texts, hashes and identifiers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import uuid

from penstock.sql.errors import FunctionError
from penstock.sql.functions.declare import scalar

_ENCODINGS = "'hex', 'utf8', 'ascii' or 'base64'"


def _decode(text: str, encoding: str) -> bytes:
    """Reads the bytes that a text stands for."""
    match encoding.lower():
        case "hex":
            # Both 0x41 and X'41' are ways to write a hexadecimal literal.
            digits = text[2:-1] if text.upper().startswith("X'") else text.removeprefix("0x")
            return binascii.unhexlify(digits if len(digits) % 2 == 0 else f"0{digits}")
        case "utf8":
            return text.encode("utf-8")
        case "ascii":
            return text.encode("ascii", "replace")
        case "base64":
            return base64.b64decode(text, validate=True)
        case _:
            raise FunctionError("bad-argument", f"encoding {encoding!r} is not {_ENCODINGS}")


def _encode(data: bytes, encoding: str) -> str:
    """Writes bytes as text."""
    match encoding.lower():
        case "hex":
            return data.hex()
        case "utf8":
            return data.decode("utf-8", "replace")
        case "ascii":
            return data.decode("ascii", "replace")
        case "base64":
            return base64.b64encode(data).decode("ascii")
        case _:
            raise FunctionError("bad-argument", f"encoding {encoding!r} is not {_ENCODINGS}")


@scalar("ENCODE", "STRING, STRING, STRING -> STRING")
def encode(text: str, source: str, target: str) -> str:
    """Writes a text, read in one encoding, in another one."""
    return _encode(_decode(text, source), target)


@scalar("TO_BYTES", "STRING, STRING -> BYTES")
def to_bytes(text: str, encoding: str) -> bytes:
    """Gives the bytes of a text in an encoding."""
    return _decode(text, encoding)


@scalar("FROM_BYTES", "BYTES, STRING -> STRING")
def from_bytes(data: bytes, encoding: str) -> str:
    """Gives the text of bytes in an encoding."""
    return _encode(data, encoding).upper() if encoding.lower() == "hex" else _encode(data, encoding)


@scalar("MD5", "STRING -> STRING")
def md5(text: str) -> str:
    """Gives the MD5 hash of a text as hexadecimal digits."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()


@scalar("UUID", "-> STRING")
def uuid_() -> str:
    """Gives a random identifier, or the identifier in 16 bytes."""
    return str(uuid.uuid4())


@scalar("UUID", "BYTES -> STRING")
def uuid_of(data: bytes) -> str | None:
    return str(uuid.UUID(bytes=data)) if len(data) == 16 else None


def _unpack(data: bytes, code: str, order: str) -> int | float:
    if order.upper() not in ("BIG_ENDIAN", "LITTLE_ENDIAN"):
        raise FunctionError(
            "bad-argument", f"byte order {order!r} is not BIG_ENDIAN or LITTLE_ENDIAN"
        )
    layout = struct.Struct((">" if order.upper() == "BIG_ENDIAN" else "<") + code)
    if len(data) != layout.size:
        raise FunctionError(
            "bad-argument", f"{len(data)} bytes are given, {layout.size} are needed"
        )
    value: int | float = layout.unpack(data)[0]
    return value


def _declare(name: str, code: str, result: str) -> None:
    def read(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
        return _unpack(data, code, order)

    read.__doc__ = f"Reads bytes as {result}; the order of bytes is BIG_ENDIAN unless given."
    scalar(name, f"BYTES -> {result}", f"BYTES, STRING -> {result}")(read)


_declare("INT_FROM_BYTES", "i", "INTEGER")
_declare("BIGINT_FROM_BYTES", "q", "BIGINT")
_declare("DOUBLE_FROM_BYTES", "d", "DOUBLE")
