"""Functions for bytes, encodings, hashes and UUIDs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
import uuid

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.declare import scalar

_ENCODINGS = "'hex', 'utf8', 'ascii' or 'base64'"


def _decode(text: str, encoding: str) -> bytes:
    """Read the bytes that a text stands for."""
    match encoding.lower():
        case "hex":
            return binascii.unhexlify(text)
        case "utf8":
            return text.encode("utf-8")
        case "ascii":
            return text.encode("ascii", "replace")
        case "base64":
            return _read_base64(text)
        case _:
            raise FunctionError("bad-argument", f"encoding {encoding!r} is not {_ENCODINGS}")


def _read_base64(text: str) -> bytes:
    # Characters that are not in the alphabet are skipped, and padding may be missing.
    digits = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0])
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _encode(data: bytes, encoding: str) -> str:
    """Write bytes as text."""
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


def _hex_digits(text: str) -> str:
    """Return the digits of a hexadecimal literal, which may be written 0x41 or X'41'."""
    if text.startswith("0x"):
        return f"{'0' * (len(text) % 2)}{text[2:]}"
    is_literal = text[:2].upper() == "X'" and text.endswith("'") and len(text) > 2
    return text[2:-1] if is_literal else text


@scalar("ENCODE", "STRING, STRING, STRING -> STRING")
def encode(text: str, source: str, target: str) -> str:
    """Convert a text from one encoding to another."""
    if source.lower() == target.lower():
        raise FunctionError("bad-argument", f"ENCODE from {source!r} to itself does nothing")
    if source.lower() == "hex":
        text = _hex_digits(text)
    return _encode(_decode(text, source), target)


@scalar("TO_BYTES", "STRING, STRING -> BYTES")
def to_bytes(text: str, encoding: str) -> bytes:
    """Return the bytes of a text in an encoding; hexadecimal digits may be upper or lower case."""
    return _decode(text, encoding)


@scalar("FROM_BYTES", "BYTES, STRING -> STRING")
def from_bytes(data: bytes, encoding: str) -> str:
    """Return the text of bytes in an encoding."""
    text = _encode(data, encoding)
    if encoding.lower() == "base64":
        # Written as in mails, in lines.
        return "\r\n".join(text[i : i + 76] for i in range(0, len(text), 76))
    return text.upper() if encoding.lower() == "hex" else text


@scalar("MD5", "STRING -> STRING")
def md5(text: str) -> str:
    """Return the MD5 hash of a text as hexadecimal digits."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()


@scalar("UUID", "-> STRING")
def uuid_() -> str:
    """Return a random identifier, or the identifier in 16 bytes."""
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
