"""Serdes that no program names. They count only if no default serde is set."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inner import required
from penstock.serde.primitives import StringSerde
from penstock.serde.to_json import ANY_KEYS, to_json


@dataclass(frozen=True, slots=True)
class InferredSerde(Serde[Any]):
    """A serde that follows from a type, such as the annotation of a function.

    An application uses ``inner`` if its default serde was not set. A default that was set wins;
    one that was set to None asks for a serde that is named.
    """

    inner: Serde[Any] | None

    def encode(self, value: Any) -> bytes:
        return required(self.inner, "inferred serde").encode(value)

    def decode(self, data: bytes) -> Any:
        return required(self.inner, "inferred serde").decode(data)

    def serialize(self, topic: str, value: Any, headers: Headers = ()) -> bytes | None:
        return required(self.inner, "inferred serde").serialize(topic, value, headers)

    def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> Any:
        return required(self.inner, "inferred serde").deserialize(topic, data, headers)

    def with_defaults(self, defaults: SerdeDefaults) -> Serde[Any]:
        part = "key" if defaults.is_key else "value"
        if not defaults.is_set(part):
            return required(self.inner, "inferred serde").with_defaults(defaults)
        return defaults.serde(part) or InferredSerde(None)

    @property
    def layout(self) -> str:
        return "default" if self.inner is None else self.inner.layout

    @property
    def is_open(self) -> bool:
        return self.inner is None or self.inner.is_open


@dataclass(frozen=True, slots=True)
class TextOrJsonSerde(Serde[Any]):
    """Writes text as it is, and objects as JSON; reads text. For topics that others read.

    Not for stores: what was written as an object would be read as text.

    >>> TextOrJsonSerde().encode("plain"), TextOrJsonSerde().encode({"n": 1})
    (b'plain', b'{"n":1}')
    """

    def encode(self, value: Any) -> bytes:
        if type(value) is bytes:
            return value
        return to_json(value, ANY_KEYS) if _is_object(value) else _TEXT.encode(value)

    def decode(self, data: bytes) -> str:
        return _TEXT.decode(data)

    @property
    def layout(self) -> str:
        return _TEXT.layout


_TEXT = StringSerde()
_OBJECTS = (dict, list)


def _is_object(value: Any) -> bool:
    return (
        isinstance(value, _OBJECTS)
        or (dataclasses.is_dataclass(value) and not isinstance(value, type))
        or hasattr(value, "__pydantic_serializer__")
    )


#: The serde of a topic that a program writes without saying how.
UNDECLARED = InferredSerde(TextOrJsonSerde())


def inferred(serde: Serde[Any] | None) -> Serde[Any] | None:
    """Return a serde as one that the program did not name; None stays None."""
    return serde if serde is None or isinstance(serde, InferredSerde) else InferredSerde(serde)


def holds_inferred(serde: Serde[Any]) -> bool:
    """Return whether a serde, or one inside it, was inferred: then it depends on the defaults."""
    names = getattr(serde, "__dataclass_fields__", ())
    parts = (getattr(serde, name, None) for name in names)
    return isinstance(serde, InferredSerde) or any(
        holds_inferred(part) for part in parts if isinstance(part, Serde)
    )
