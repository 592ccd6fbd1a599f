"""Keys in a URL: one documented text form for every serde.

| serde | form | example |
|---|---|---|
| string | the text itself | ``ann`` |
| short, integer, long | decimal digits | ``-42`` |
| float, double | a decimal number, ``NaN``, ``Infinity``, ``-Infinity`` | ``2.5`` |
| boolean | ``true`` or ``false`` | ``true`` |
| uuid | the usual text | ``6f1c…`` |
| bytes | base64url, padding optional | ``AAEC`` |
| windowed | the inner key, ``@``, start, ``-``, end | ``ann@0-60000`` |
| a row of SQL | JSON: the column, or an array of columns | ``["ann",7]`` |
| any other | JSON | ``{"id":7}`` |

Whatever the serde is, ``key_format=base64`` takes the serialized key itself.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson

from penstock.errors import InvalidArgumentError, SerializationError
from penstock.formats.rows import RowSerde
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.base import Serde
from penstock.serde.json import JsonSerde, PydanticJsonSerde, TypedJsonSerde
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
)
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde

KEY_FORMATS = ("text", "base64")

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?", re.ASCII)
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_WINDOW = re.compile(r"(?s)(.*)@([0-9]{1,18})-([0-9]{1,18})", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)

Parse = Callable[[str], Any]


def bad_key(text: str, wanted: str) -> InvalidArgumentError:
    shown = text if len(text) <= 80 else f"{text[:80]}…"
    return InvalidArgumentError(
        "bad-key", f"{shown!r} is not {wanted}", fix="see the store's key_form under /stores"
    )


def key_form(serde: Serde[Any]) -> tuple[str, Parse]:
    """Return the name of the text form of a serde's keys, and the function that reads it."""
    if isinstance(serde, TimeWindowedSerde | SessionWindowedSerde):
        name, parse = ("json", _json) if serde.inner is None else key_form(serde.inner)
        return f"{name}@start-end", _windowed(parse)
    if isinstance(serde, JsonSerde | TypedJsonSerde | PydanticJsonSerde):
        return "json", _declared_json(serde)
    if isinstance(serde, RowSerde):
        return "json", _row
    return _FORMS.get(type(serde), ("json", _json))


def key_bytes(text: str) -> bytes:
    """Return bytes from base64, in either alphabet, with or without padding.

    >>> key_bytes("_-4") == bytes([255, 238])
    True
    """
    plain = text.translate({ord("+"): "-", ord("/"): "_"})
    if not _BASE64.fullmatch(plain):
        raise bad_key(text, "base64url")
    bare = plain.rstrip("=")
    try:
        return b64decode(bare + "=" * (-len(bare) % 4), b"-_", validate=True)
    except ValueError:
        raise bad_key(text, "base64url") from None


def parse_key(
    serde: Serde[Any], topic: str, text: str, key_format: str = "text", parse: Parse | None = None
) -> Any:
    """Return the key that a text stands for.

    Args:
        parse: the function of ``key_form(serde)``, if the caller has it already.

    Raises:
        InvalidArgumentError: ``bad-key``.
    """
    if key_format == "base64":
        try:
            key = serde.deserialize(topic, key_bytes(text))
        except (SerializationError, ValueError, TypeError, IndexError):
            raise bad_key(text, "a serialized key of this store") from None
    else:
        key = (parse or key_form(serde)[1])(text)
    if key is None:
        raise bad_key(text, "a key: null has no entry")
    return key


def _text(text: str) -> str:
    return text


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise bad_key(text, "a whole number")
    return int(text)


def _float(text: str) -> float:
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    if math.isinf(number):
        raise bad_key(text, "a number")
    return number


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise bad_key(text, "true or false")
    return text == "true"


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise bad_key(text, "a UUID") from None


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        raise bad_key(text, 'JSON (text needs its quotes: "ann")') from None


def _row(text: str) -> tuple[Any, ...]:
    found = _json(text)
    return tuple(found) if isinstance(found, list) else (found,)


def _declared_json(serde: Serde[Any]) -> Parse:
    def parse(text: str) -> Any:
        try:
            return serde.decode(text.encode())
        except (ValueError, TypeError, SerializationError):
            raise bad_key(text, "JSON of the key's type") from None

    return parse


def _windowed(inner: Parse) -> Parse:
    def parse(text: str) -> Windowed[Any]:
        found = _WINDOW.fullmatch(text)
        if found is None:
            raise bad_key(text, "a windowed key: key@start-end, times in milliseconds")
        start, end = int(found[2]), int(found[3])
        if end < start:
            raise bad_key(text, "a windowed key: it ends before it starts")
        return Windowed(inner(found[1]), Window(start, end))

    return parse


_FORMS: dict[type, tuple[str, Parse]] = {
    StringSerde: ("string", _text),
    LongSerde: ("long", _integer),
    IntegerSerde: ("integer", _integer),
    ShortSerde: ("short", _integer),
    DoubleSerde: ("double", _float),
    FloatSerde: ("float", _float),
    BooleanSerde: ("boolean", _boolean),
    UUIDSerde: ("uuid", _uuid),
    BytesSerde: ("base64url", key_bytes),
}
