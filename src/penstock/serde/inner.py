"""What serdes that hold another serde share: its defaults, its absence, its bytes."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.errors import InvalidArgumentError
from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults

T = TypeVar("T")


def filled(
    inner: Serde[T] | None, default: Serde[Any] | None, defaults: SerdeDefaults
) -> Serde[T] | None:
    """Gives the inner serde with its own gaps filled, or the default if it was left open."""
    return default if inner is None else inner.with_defaults(defaults)


def required(inner: Serde[T] | None, holder: str) -> Serde[T]:
    if inner is None:
        raise InvalidArgumentError(
            "inner-serde-missing",
            f"{holder} has no inner serde",
            fix="give the inner serde, or set default.key.serde and default.value.serde",
        )
    return inner


def inner_bytes(inner: Serde[T], topic: str, value: T, headers: Headers, what: str) -> bytes:
    """Serializes a part that cannot be absent; raises TypeError where it is."""
    data = inner.serialize(topic, value, headers)
    if data is None:
        raise TypeError(f"{what} {value!r:.80} has no bytes: it must not be None")
    return data
