"""The foreign-key join's messages and keys, against the bytes of Java's kafka-streams 4.1.0."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.model.hashing import murmur3_128
from penstock.model.record import Headers
from penstock.model.subscription import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
)
from penstock.serde.base import SerdeDefaults
from penstock.serde.combined_key import combined_key, combined_key_prefix, split_combined_key
from penstock.serde.primitives import LongSerde, StringSerde
from penstock.serde.subscription import (
    SubscriptionResponseWrapperSerde,
    SubscriptionWrapperSerde,
)

SUBSCRIPTIONS = SubscriptionWrapperSerde(StringSerde())
RESPONSES = SubscriptionResponseWrapperSerde(StringSerde())
HASH = murmur3_128(b"value")
HASH_HEX = "2e7425dec1f8bcdf51e014f04aa41568"


@pytest.mark.parametrize("instruction", Instruction)
@pytest.mark.parametrize(
    ("hash_", "version", "partition", "java"),
    [
        (HASH, 1, 3, "01{:02x}" + HASH_HEX + "706b3100000003"),
        (None, 1, 0, "81{:02x}706b3100000000"),
        (HASH, 0, None, "00{:02x}" + HASH_HEX + "706b31"),
        (None, 0, None, "80{:02x}706b31"),
    ],
)
def test_subscription_gives_javas_bytes_and_comes_back(
    instruction: Instruction, hash_: bytes | None, version: int, partition: int | None, java: str
) -> None:
    """The top bit of the version says that there is no hash; version 0 has no partition."""
    wrapper = SubscriptionWrapper(hash_, instruction, "pk1", version, partition)
    data = bytes.fromhex(java.format(instruction.value))
    assert SUBSCRIPTIONS.serialize("t", wrapper) == data
    assert SUBSCRIPTIONS.deserialize("t", data) == wrapper


@pytest.mark.parametrize(
    ("hash_", "value", "java"),
    [
        (HASH, "fv", "00" + HASH_HEX + "6676"),
        (None, "fv", "806676"),
        (HASH, None, "00" + HASH_HEX),
        (None, None, "80"),
    ],
)
def test_response_gives_javas_bytes_and_comes_back(
    hash_: bytes | None, value: str | None, java: str
) -> None:
    """A missing foreign value has no bytes."""
    response = SubscriptionResponseWrapper(hash_, value)
    assert RESPONSES.serialize("t", response) == bytes.fromhex(java)
    assert RESPONSES.deserialize("t", bytes.fromhex(java)) == response


def test_partition_of_a_response_is_not_written() -> None:
    """It has done its work when the response is sent."""
    response = SubscriptionResponseWrapper(HASH, "fv", primary_partition=5)
    assert RESPONSES.decode(RESPONSES.encode(response)).primary_partition is None


def test_empty_foreign_value_comes_back_as_none() -> None:
    """As in Java, where no bytes behind the hash mean no value."""
    response = SubscriptionResponseWrapper(None, "")
    assert RESPONSES.decode(RESPONSES.encode(response)).foreign_value is None


@pytest.mark.parametrize("data", ["", "01", "0100", "81000000", "00000000"])
def test_subscription_cut_short_is_refused(data: str) -> None:
    """Every part has a length that is known."""
    with pytest.raises(ValueError, match="too few for a foreign-key join message"):
        SUBSCRIPTIONS.decode(bytes.fromhex(data))


@pytest.mark.parametrize("data", ["", "0000"])
def test_response_cut_short_is_refused(data: str) -> None:
    """Every part but the value has a length that is known."""
    with pytest.raises(ValueError, match="too few for a foreign-key join message"):
        RESPONSES.decode(bytes.fromhex(data))


def test_unknown_version_and_instruction_are_refused() -> None:
    """A newer instance is in the group; guessing would join wrongly."""
    with pytest.raises(InvalidArgumentError) as caught:
        SUBSCRIPTIONS.decode(bytes.fromhex("8202706b3100000000"))
    assert caught.value.code == "unsupported-subscription-version"
    with pytest.raises(ValueError, match="4 is not a valid Instruction"):
        SUBSCRIPTIONS.decode(bytes.fromhex("8104706b3100000000"))


def test_incomplete_subscription_is_refused() -> None:
    """An answer without key or partition could not be sent back."""
    with pytest.raises(NullArgumentError):
        SubscriptionWrapper(HASH, Instruction.DELETE_KEY_NO_PROPAGATE, None)
    with pytest.raises(InvalidArgumentError):
        SubscriptionWrapper(b"short", Instruction.DELETE_KEY_NO_PROPAGATE, "pk")
    wrapper = SubscriptionWrapper(HASH, Instruction.DELETE_KEY_NO_PROPAGATE, "pk")
    with pytest.raises(ValueError, match="has no primary partition"):
        SUBSCRIPTIONS.encode(wrapper)


class TopicSerde(StringSerde):
    """Writes the topic it is called with behind the text."""

    __slots__ = ()

    def serialize(self, topic: str, value: Any, headers: Headers = ()) -> bytes | None:
        return f"{value}@{topic}".encode()


def test_key_serde_sees_the_key_topic() -> None:
    """Both sides of the join serialize a primary key under one topic name."""
    wrapper = SubscriptionWrapper(None, Instruction.DELETE_KEY_NO_PROPAGATE, "pk", 0)
    assert SubscriptionWrapperSerde(TopicSerde(), "keys").serialize("t", wrapper) == (
        b"\x80\x00pk@keys"
    )
    assert SubscriptionWrapperSerde(TopicSerde()).serialize("t", wrapper) == b"\x80\x00pk@t"


def test_open_inner_serdes_are_the_defaults() -> None:
    """A subscription holds a key, a response holds a value."""
    defaults = SerdeDefaults(key=StringSerde(), value=LongSerde())
    assert SubscriptionWrapperSerde(None).with_defaults(defaults) == SUBSCRIPTIONS
    assert SubscriptionResponseWrapperSerde(None).with_defaults(
        defaults
    ) == SubscriptionResponseWrapperSerde(LongSerde())


@pytest.mark.parametrize(
    ("foreign", "primary", "java"),
    [
        (b"fk", LongSerde().encode(258), "00000002666b0000000000000102"),
        (b"", LongSerde().encode(-1), "00000000ffffffffffffffff"),
    ],
)
def test_combined_key_gives_javas_bytes_and_comes_back(
    foreign: bytes, primary: bytes, java: str
) -> None:
    """The length of the foreign key keeps the prefixes of two foreign keys apart."""
    assert combined_key(foreign, primary) == bytes.fromhex(java)
    assert split_combined_key(bytes.fromhex(java)) == (foreign, primary)
    assert bytes.fromhex(java).startswith(combined_key_prefix(foreign))


@pytest.mark.parametrize("data", ["", "000000", "00000003666b", "ffffffff"])
def test_malformed_combined_key_is_refused(data: str) -> None:
    """The length must fit the bytes."""
    with pytest.raises(ValueError, match="not a key of a subscription store"):
        split_combined_key(bytes.fromhex(data))
