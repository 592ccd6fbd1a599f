"""The one protocol of all serdes. Ready-made ones: ``penstock.serde.serdes.Serdes``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.model.record import Headers

if TYPE_CHECKING:
    from penstock.serde.shape import Shape

T = TypeVar("T")

Writer = Callable[[Any], bytes | None]
Reader = Callable[[bytes | None], Any]


@dataclass(frozen=True, slots=True)
class SerdeDefaults:
    """What a serde learns from the application that uses it.

    ``key`` and ``value`` are ``default.key.serde`` and ``default.value.serde``. ``is_set``
    says whether the user has set them: if not, what a program suggests comes first.
    ``configs`` are all settings of the application, and ``is_key`` says whether the serde is for
    keys: the two arguments of ``Serde.configure`` in Java.
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    configs: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    is_key: bool = False
    is_key_set: bool = True
    is_value_set: bool = True

    def of(self, part: str) -> SerdeDefaults:
        """Return the same for a serde of keys (``"key"``) or of values (``"value"``)."""
        return replace(self, is_key=part == "key")

    def is_set(self, part: str) -> bool:
        """Return whether the user has set the default serde of keys or of values."""
        return self.is_key_set if part == "key" else self.is_value_set

    def serde(self, part: str) -> Serde[Any] | None:
        """Return the default serde of keys or of values, configured like any other serde."""
        given = self.key if part == "key" else self.value
        return None if given is None else given.with_defaults(self.of(part))


class Serde(ABC, Generic[T]):
    """Turns values into bytes and back. None is never encoded: it is the tombstone.

    A subclass implements ``encode`` and ``decode``. If its bytes depend on the topic or the
    headers, it overrides ``serialize`` and ``deserialize`` as well.
    """

    __slots__ = ()

    @abstractmethod
    def encode(self, value: T) -> bytes:
        """Return the bytes of a value, which is never None.

        Raises:
            TypeError: if the value has the wrong class.
            ValueError: if the class is right and the value cannot be written.
        """

    @abstractmethod
    def decode(self, data: bytes) -> T:
        """Return the value of some bytes, which are never None.

        Raises:
            ValueError: if the bytes are not of this format.
        """

    def serialize(self, topic: str, value: T | None, headers: Headers = ()) -> bytes | None:
        """Return the bytes of a value for a topic; ``None`` has none."""
        return None if value is None else self.encode(value)

    def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> T | None:
        """Return the value of bytes from a topic; no bytes are ``None``."""
        return None if data is None else self.decode(data)

    def with_defaults(self, defaults: SerdeDefaults) -> Serde[T]:
        """Return this serde as an application with these settings uses it.

        A serde that holds another one fills it in if it was left open. A serde that has settings
        of its own reads them from ``defaults.configs``.
        """
        return self

    @property
    def layout(self) -> str:
        """The bytes in words, so that a store is not read with another serde than it was written.

        Two serdes that read each other's bytes have one layout. The name of the class is the best
        guess for a serde that does not say.
        """
        name = type(self).__name__.removesuffix("Serde")
        # Not ``fields``, which mypy takes for an error on a class that is not a dataclass itself.
        members = getattr(self, "__dataclass_fields__", ())
        inner = [v.layout for n in members if isinstance(v := getattr(self, n, None), Serde)]
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
        return f"{words} of {', '.join(inner)}" if inner else words

    @property
    def shape(self) -> Shape | None:
        """What is known of the members of values; ``None`` means that they may have any."""
        return None

    @property
    def is_open(self) -> bool:
        """Return whether an inner serde is missing, so that nothing can be written or read."""
        return False
