"""A key or value of a failed record as text that a person can edit, and back.

| form | text |
|---|---|
| ``text`` | the bytes as UTF-8: JSON, delimited values, plain text |
| ``value`` | the value as its serde reads it: ``-42``, ``true``, JSON of an Avro record |
| ``base64`` | the bytes |
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, NamedTuple

from msgspec import Raw

from penstock.errors import InvalidArgumentError, SerializationError, UnavailableError
from penstock.model.record import Headers
from penstock.serde.base import Serde
from penstock.serde.primitives import (
    BooleanSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    UUIDSerde,
)
from penstock.serde.to_json import ANY_KEYS, to_json
from penstock.serving.key_text import key_bytes, key_form
from penstock.serving.wire.json_values import NULL, to_raw

FORMS = ("text", "value", "base64")

_NUMBERS = (BooleanSerde, DoubleSerde, FloatSerde, IntegerSerde, LongSerde, ShortSerde, UUIDSerde)
#: What a decoder of the user or of a format may raise for bytes that do not fit.
_NOT_DECODED = (
    SerializationError, UnavailableError,
    ValueError, TypeError, KeyError, IndexError, AttributeError,
)  # fmt: skip
_CONTROL = dict.fromkeys(map(chr, [*range(32), 127]))
_ALLOWED = frozenset("\t\n\r")


class Part(NamedTuple):
    """A key or value as text in one of ``FORMS``."""

    form: str
    text: str


def shown(data: bytes | None, serde: Serde[Any] | None, topic: str) -> tuple[Raw, bool]:
    """Return the JSON of a key or value, and whether it could be decoded.

    Bytes that cannot be decoded are shown as text, or as ``{"base64": …}``.
    """
    if data is None:
        return NULL, True
    if serde is not None:
        try:
            return to_raw(serde.deserialize(topic, data), serde, topic), True
        except _NOT_DECODED:
            pass
    text = _text(data)
    plain: Any = {"base64": b64encode(data).decode()} if text is None else text
    return Raw(to_json(plain)), False


def editable(data: bytes | None, serde: Serde[Any] | None, topic: str) -> Part | None:
    """Return the text in which a person edits these bytes; None for a null."""
    if data is None:
        return None
    if isinstance(serde, _NUMBERS):
        found = _as_value(data, serde, topic)
        if found is not None:
            return found
    text = _text(data)
    if text is not None:
        return Part("text", text)
    found = None if serde is None else _as_value(data, serde, topic)
    return found or Part("base64", b64encode(data).decode())


def edited(part: Part, serde: Serde[Any], topic: str, headers: Headers, what: str) -> bytes:
    """Return the bytes of an edited text, which the application can decode.

    Raises:
        InvalidArgumentError: ``bad-record``: the text is not of its form, or the serde of the
            source topic cannot read the bytes, so that the record would fail again.
    """
    try:
        data = _bytes(part, serde, topic)
    except (InvalidArgumentError, *_NOT_DECODED) as error:
        raise _bad(what, f"cannot be written as {type(serde).__name__}: {error}") from error
    try:
        serde.deserialize(topic, data, headers)
    except _NOT_DECODED as error:
        raise _bad(what, f"cannot be read as {type(serde).__name__}: {error}") from error
    return data


def _bytes(part: Part, serde: Serde[Any], topic: str) -> bytes:
    if part.form == "text":
        return part.text.encode()
    if part.form == "base64":
        return key_bytes(part.text)
    return serde.serialize(topic, key_form(serde)[1](part.text)) or b""


def _as_value(data: bytes, serde: Serde[Any], topic: str) -> Part | None:
    """Return the value as text, if the same bytes come of it again."""
    try:
        value = serde.deserialize(topic, data)
        text = to_json(value, ANY_KEYS).decode()
        if isinstance(serde, DoubleSerde | FloatSerde | UUIDSerde):
            text = str(value)
        part = Part("value", text)
        return part if _bytes(part, serde, topic) == data else None
    except (InvalidArgumentError, *_NOT_DECODED):
        return None


def _text(data: bytes) -> str | None:
    """Return bytes as text; None if they are not UTF-8, or have what no text has."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if any(c in _CONTROL and c not in _ALLOWED for c in text) else text


def _bad(what: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-record",
        f"the {what} {why}",
        fix=f"write a {what} that the application can read, or send it without changes",
    )
