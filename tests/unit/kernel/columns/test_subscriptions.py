"""Messages of foreign-key joins as columns: the same bytes and parts as message by message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.subscriptions import (
    ResponseColumn,
    SubscriptionColumn,
    asked,
    messages,
)
from penstock.model.subscription import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
)
from penstock.model.user_code import UserCodeError
from penstock.serde.serdes import Serdes
from penstock.serde.subscription import (
    SubscriptionResponseWrapperSerde,
    SubscriptionWrapperSerde,
)

ASKS: SubscriptionWrapperSerde[Any] = SubscriptionWrapperSerde(Serdes.string(), "pk")
ANSWERS: SubscriptionResponseWrapperSerde[Any] = SubscriptionResponseWrapperSerde(Serdes.json())
HASH = bytes(range(16))

WRAPPERS = [
    SubscriptionWrapper(digest, how, key, version, None if version == 0 else partition)
    for digest, how, key, version, partition in product(
        (HASH, None), Instruction, ("k", "", "ü"), (0, 1), (0, 7)
    )
]
RESPONSES = [
    SubscriptionResponseWrapper(digest, value)
    for digest, value in product((HASH, None), ({"n": 1}, None))
]


def subscriptions(data: list[bytes], serde: Any) -> SubscriptionColumn:
    column = messages(data, serde)
    assert isinstance(column, SubscriptionColumn)
    return column


def written(serde: Any, items: Sequence[Any]) -> list[bytes]:
    return [serde.encode(item) for item in items]


def test_subscriptions_have_the_parts_of_single_messages() -> None:
    parts = subscriptions(written(ASKS, WRAPPERS), ASKS).parts
    rows = zip(
        parts.digests, parts.instructions, parts.keys.values(), parts.versions, parts.partitions,
        strict=True,
    )  # fmt: skip
    assert [SubscriptionWrapper(*row) for row in rows] == WRAPPERS


def test_subscriptions_are_written_as_single_messages_are() -> None:
    """With other instructions they have other bytes; without, those that were read."""
    data = written(ASKS, WRAPPERS)
    column = subscriptions(data, ASKS)
    assert column.encoded(ASKS) == data
    kept = column.keep([place % 3 == 0 for place in range(len(data))])
    assert kept.encoded(ASKS) == data[::3]
    changed = column.instructed([Instruction.DELETE_KEY_AND_PROPAGATE] * len(data))
    again = [ASKS.decode(item) for item in changed.encoded(ASKS) if item is not None]
    assert {each.instruction for each in again} == {Instruction.DELETE_KEY_AND_PROPAGATE}
    assert [each.primary_key for each in again] == [each.primary_key for each in WRAPPERS]


def test_keys_that_a_serde_writes_in_another_way_are_written_again() -> None:
    serde: SubscriptionWrapperSerde[Any] = SubscriptionWrapperSerde(Serdes.json(), "pk")
    spaced = ASKS.encode(SubscriptionWrapper(HASH, Instruction(3), '{"a": 1}', 0))
    assert subscriptions([spaced], serde).encoded(serde) == written(
        serde, [SubscriptionWrapper(HASH, Instruction(3), {"a": 1}, 0)]
    )


def test_new_subscriptions_are_written_as_single_messages_are() -> None:
    column = asked([HASH, None], [Instruction(3), Instruction(1)], BatchColumn(["a", "b"]), [5, 6])
    assert isinstance(column, SubscriptionColumn)
    assert (len(column), column.has_nulls(), column.are_known()) == (2, False, [True, True])
    expected = [
        SubscriptionWrapper(HASH, Instruction(3), "a", primary_partition=5),
        SubscriptionWrapper(None, Instruction(1), "b", primary_partition=6),
    ]
    assert column.encoded(ASKS) == written(ASKS, expected)


def test_answers_are_read_and_written_as_single_messages_are() -> None:
    data = written(ANSWERS, RESPONSES)
    column = messages(data, ANSWERS)
    assert isinstance(column, ResponseColumn)
    assert [*column.digests] == [each.hash for each in RESPONSES]
    assert [*column.foreign.values()] == [each.foreign_value for each in RESPONSES]
    assert column.encoded(ANSWERS) == data
    some = ResponseColumn(column.digests, column.foreign, [0, None, 2, 3]).take([2, 1])
    assert some.encoded(ANSWERS) == [data[2], data[1]]
    assert some.partitions == [2, None]
    assert (len(some), some.has_nulls(), some.are_known()) == (2, False, [True, True])


@pytest.mark.parametrize("serde", [ASKS, ANSWERS], ids=["subscription", "answer"])
@pytest.mark.parametrize("item", [b"\x01", b"\x09" + bytes(40)], ids=["short", "version"])
def test_bytes_that_are_no_message_are_an_error_of_the_data(serde: Any, item: bytes) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the serde raises
        serde.decode(item)
    with pytest.raises(UserCodeError):
        messages([item], serde)


def test_key_that_is_read_as_none_is_an_error_of_the_data() -> None:
    serde: SubscriptionWrapperSerde[Any] = SubscriptionWrapperSerde(Serdes.json(), "pk")
    with pytest.raises(UserCodeError):
        messages([ASKS.encode(SubscriptionWrapper(HASH, Instruction(3), "null", 0))], serde)


def test_missing_message_gives_the_batch_up() -> None:
    with pytest.raises(NotProvenError):
        messages([None], ASKS)
