"""The messages between the two sides of a foreign-key join. Bytes: ``serde.subscription``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidArgumentError, NullArgumentError

K = TypeVar("K")
V = TypeVar("V")

#: The format version of subscriptions that are written; version 0 has no primary partition.
SUBSCRIPTION_VERSION = 1
#: The format version of responses that are written.
RESPONSE_VERSION = 0

_HASH_SIZE = 16


class Instruction(Enum):
    """What the foreign side does with a subscription. The value is its byte in the message."""

    #: Delete the subscription, and do not answer.
    DELETE_KEY_NO_PROPAGATE = 0
    #: Delete the subscription, and answer with ``None``.
    DELETE_KEY_AND_PROPAGATE = 1
    #: Keep it, and answer with the foreign value, or ``None`` if there is none.
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    #: Keep it, and answer only if there is a foreign value.
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3


@dataclass(frozen=True, slots=True)
class SubscriptionWrapper(Generic[K]):
    """The left side's request: answer ``primary_key`` with the value of a foreign key.

    ``hash`` is the Murmur3 hash of the left value that asked, or ``None`` if it was deleted.
    """

    hash: bytes | None
    instruction: Instruction
    primary_key: K
    version: int = SUBSCRIPTION_VERSION
    primary_partition: int | None = None

    def __post_init__(self) -> None:
        if self.primary_key is None:
            raise NullArgumentError(
                "subscription-without-key", "the primary key of a subscription is None"
            )
        _check(self.hash, self.version, SUBSCRIPTION_VERSION)


@dataclass(frozen=True, slots=True)
class SubscriptionResponseWrapper(Generic[V]):
    """The foreign side's answer, with the hash of the left value that asked.

    ``primary_partition`` says where to send it. It is not part of the bytes.
    """

    hash: bytes | None
    foreign_value: V | None
    version: int = RESPONSE_VERSION
    primary_partition: int | None = None

    def __post_init__(self) -> None:
        _check(self.hash, self.version, RESPONSE_VERSION)


def _check(hash_: bytes | None, version: int, newest: int) -> None:
    if not 0 <= version <= newest:
        raise InvalidArgumentError(
            "unsupported-subscription-version",
            f"version {version} of a foreign-key join message is not known, the newest is {newest}",
            fix="run the same Penstock or Kafka Streams version on all instances",
        )
    if hash_ is not None and len(hash_) != _HASH_SIZE:
        raise InvalidArgumentError(
            "bad-subscription-hash", f"a value hash has {_HASH_SIZE} bytes, got {len(hash_)}"
        )


def to_asking_partition(
    topic: str, key: Any, value: SubscriptionResponseWrapper[Any], partitions: int
) -> int | None:
    """Return the partition that has sent the subscription."""
    return value.primary_partition
