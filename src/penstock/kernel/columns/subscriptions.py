"""Messages of foreign-key joins as columns: the parts of all messages, one list for each part.

They exist only between a topic and the nodes of a join, so most of what a column can do is done by
their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, input_column
from penstock.model.columns.row_columns import taken
from penstock.model.subscription import (
    RESPONSE_VERSION,
    SUBSCRIPTION_VERSION,
    Instruction,
)
from penstock.model.user_code import user_code
from penstock.serde.base import Serde
from penstock.serde.column_serde import Encoded
from penstock.serde.columns import known
from penstock.serde.subscription import (
    SubscriptionResponseWrapperSerde,
    SubscriptionWrapperSerde,
    join_response,
    join_subscription,
    split_response,
    split_subscription,
)

#: The serdes of these messages.
MESSAGE_SERDES = SubscriptionWrapperSerde, SubscriptionResponseWrapperSerde


def messages(data: Encoded, serde: Serde[Any]) -> BatchColumn:
    """Return a column of the messages that these bytes are; there is at least one.

    Raises:
        UserCodeError: if a message cannot be read.
    """
    if None in data:
        raise NotProvenError("a message of a foreign-key join is null")
    found: list[bytes] = [*data]  # type: ignore[list-item]
    with user_code(f"serde {type(serde).__name__}"):
        if isinstance(serde, SubscriptionWrapperSerde):
            return _subscriptions(found, serde)
        assert isinstance(serde, SubscriptionResponseWrapperSerde)
        return _responses(found, serde)


@dataclass(slots=True)
class SubscriptionParts:
    """Hashes, instructions, primary keys and partitions of subscriptions of one version."""

    digests: Sequence[bytes | None]
    instructions: Sequence[Instruction]
    keys: BatchColumn
    partitions: Sequence[int | None]
    versions: Sequence[int]


class SubscriptionColumn(BatchColumn):
    """Subscriptions. ``parts`` has the same number of items in each of its lists."""

    __slots__ = ("parts",)

    def __init__(
        self,
        parts: SubscriptionParts,
        encoded: Encoded | None = None,
        serde: Serde[Any] | None = None,
    ) -> None:
        # ``encoded`` are the bytes that the serde would write.
        super().__init__(None, encoded, serde, is_input=False)
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts.digests)

    def encoded(self, serde: Serde[Any]) -> Encoded:
        if self._encoded is None or self._serde != serde:
            self._encoded, self._serde = self._written(serde), serde
        return self._encoded

    def _written(self, serde: Serde[Any]) -> Encoded:
        assert isinstance(serde, SubscriptionWrapperSerde)
        parts = self.parts
        rows = zip(
            parts.versions, parts.digests, parts.instructions, key_bytes(parts.keys, serde.inner),
            parts.partitions, strict=True,
        )  # fmt: skip
        return [join_subscription(*row) for row in rows]

    def has_nulls(self) -> bool:
        return False

    def are_known(self) -> list[bool]:
        return [True] * len(self)

    def take(self, places: Sequence[int]) -> SubscriptionColumn:
        parts = self.parts
        return SubscriptionColumn(
            SubscriptionParts(
                taken(parts.digests, places), taken(parts.instructions, places),
                parts.keys.take(places), taken(parts.partitions, places),
                taken(parts.versions, places),
            ),
            None if self._encoded is None else taken(self._encoded, places),
            self._serde,
        )  # fmt: skip

    def keep(self, mask: Sequence[object]) -> SubscriptionColumn:
        return self.take([place for place, is_kept in enumerate(mask) if is_kept])

    def instructed(self, instructions: Sequence[Instruction]) -> SubscriptionColumn:
        """Return the same subscriptions with other instructions."""
        parts = self.parts
        changed = SubscriptionParts(
            parts.digests, instructions, parts.keys, parts.partitions, parts.versions
        )
        return SubscriptionColumn(changed)


def asked(
    digests: Sequence[bytes | None],
    instructions: Sequence[Instruction],
    keys: BatchColumn,
    partitions: Sequence[int],
) -> SubscriptionColumn:
    """Return new subscriptions, with the partitions that ask."""
    versions = [SUBSCRIPTION_VERSION] * len(digests)
    return SubscriptionColumn(SubscriptionParts(digests, instructions, keys, partitions, versions))


def _subscriptions(
    data: Sequence[bytes], serde: SubscriptionWrapperSerde[Any]
) -> SubscriptionColumn:
    assert serde.inner is not None
    split = map(split_subscription, data)
    versions, digests, instructions, found, partitions = zip(*split, strict=True)
    if max(versions) > SUBSCRIPTION_VERSION:
        raise ValueError("a message has a version that is not known")
    keys = input_column(found, serde.inner)
    keys.check()
    if not known(serde.inner).takes_all and None in keys.values():
        raise ValueError("a primary key is read as None")
    is_same = [*key_bytes(keys, serde.inner)] == [*found]
    parts = SubscriptionParts(digests, instructions, keys, partitions, versions)
    return SubscriptionColumn(parts, data if is_same else None, serde)


def key_bytes(keys: BatchColumn, serde: Serde[Any] | None) -> Sequence[bytes]:
    """Return the bytes of primary keys; raise if one has none."""
    assert serde is not None
    found = keys.encoded(serde)
    if None in found:
        raise NotProvenError("a primary key has no bytes")
    return found  # type: ignore[return-value]


class ResponseColumn(BatchColumn):
    """Answers: the hash that was asked with, the foreign value, and the partition that has asked.

    ``partitions`` are not part of the bytes; ``None`` stands for none at all.
    """

    __slots__ = ("digests", "foreign", "partitions")

    def __init__(
        self,
        digests: Sequence[bytes | None],
        foreign: BatchColumn,
        partitions: Sequence[int | None] | None = None,
    ) -> None:
        super().__init__()
        self.digests = digests
        self.foreign = foreign
        self.partitions = partitions

    def __len__(self) -> int:
        return len(self.digests)

    def encoded(self, serde: Serde[Any]) -> Encoded:
        assert isinstance(serde, SubscriptionResponseWrapperSerde)
        assert serde.inner is not None
        rows = zip(self.digests, self.foreign.encoded(serde.inner), strict=True)
        return [join_response(RESPONSE_VERSION, *row) for row in rows]

    def has_nulls(self) -> bool:
        return False

    def are_known(self) -> list[bool]:
        return [True] * len(self)

    def take(self, places: Sequence[int]) -> ResponseColumn:
        return ResponseColumn(
            taken(self.digests, places),
            self.foreign.take(places),
            None if self.partitions is None else taken(self.partitions, places),
        )

    def keep(self, mask: Sequence[object]) -> ResponseColumn:
        return self.take([place for place, is_kept in enumerate(mask) if is_kept])


def _responses(
    data: Sequence[bytes], serde: SubscriptionResponseWrapperSerde[Any]
) -> ResponseColumn:
    assert serde.inner is not None
    versions, digests, found = zip(*map(split_response, data), strict=True)
    if max(versions) > RESPONSE_VERSION:
        raise ValueError("a message has a version that is not known")
    foreign = input_column(found, serde.inner)
    foreign.check()
    return ResponseColumn(digests, foreign)
