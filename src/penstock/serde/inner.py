"""What serdes that contain another serde share."""

from __future__ import annotations

from typing import TypeVar

from penstock.errors import InvalidArgumentError
from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults

T = TypeVar("T")


def filled(inner: Serde[T] | None, part: str, defaults: SerdeDefaults) -> Serde[T] | None:
    """Return the inner serde as the application uses it, or the default if it was left open.

    ``part`` says what the inner serde is for, ``"key"`` or ``"value"``. The serde around it may
    be for something else: values of a subscription topic hold keys.
    """
    return defaults.serde(part) if inner is None else inner.with_defaults(defaults.of(part))


def required(inner: Serde[T] | None, holder: str) -> Serde[T]:
    if inner is None:
        raise InvalidArgumentError(
            "inner-serde-missing",
            f"{holder} has no inner serde",
            fix="give the inner serde, or set default.key.serde and default.value.serde",
        )
    return inner


def inner_bytes(inner: Serde[T], topic: str, value: T, headers: Headers, what: str) -> bytes:
    """Serialize a part that must have bytes; raise TypeError if it has none."""
    data = inner.serialize(topic, value, headers)
    if data is None:
        raise TypeError(f"{what} {value!r:.80} has no bytes: it must not be None")
    return data
