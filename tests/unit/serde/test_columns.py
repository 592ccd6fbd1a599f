"""Columns go through serdes as their items do one by one, and are refused for the same items."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.user_code import UserCodeError
from penstock.serde.base import Serde
from penstock.serde.columns import column_serde_of, decode_all, encode_all, known
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import BytesSerde, DoubleSerde, IntegerSerde, LongSerde, StringSerde

SERDES: list[Serde[Any]] = [
    StringSerde(), BytesSerde(), JsonSerde(), LongSerde(), IntegerSerde(), DoubleSerde(),
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)
BYTES = st.binary(max_size=12) | st.sampled_from(
    [b'{"a":1}', b"1.0", b'"x"', b"null", b"12345678901234567890123", b"\xc3", b"\xa9", bytes(8)]
)


def outcome(call: Any, *arguments: Any) -> Any:
    """What a call gives, with its types, or the kind of error with which a serde refuses."""
    try:
        return repr(call(*arguments))
    except UserCodeError as error:
        return type(error.__cause__)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("serde", SERDES, ids=lambda serde: type(serde).__name__)
@given(values=st.lists(JSON, max_size=5) | st.lists(st.integers()) | st.lists(st.floats()))
def test_columns_are_written_as_their_items(serde: Serde[Any], values: list[Any]) -> None:
    """The same bytes for each value."""
    one_by_one = outcome(lambda: [serde.serialize("t", value) for value in values])
    assert outcome(encode_all, serde, values) == one_by_one


@pytest.mark.parametrize("serde", SERDES, ids=lambda serde: type(serde).__name__)
@given(data=st.lists(st.none() | BYTES, max_size=5))
def test_columns_are_read_as_their_items(serde: Serde[Any], data: list[bytes | None]) -> None:
    """The same value, of the same type, for each of them."""
    one_by_one = outcome(lambda: [serde.deserialize("t", item) for item in data])
    assert outcome(decode_all, serde, data) == one_by_one


@pytest.mark.parametrize("serde", SERDES, ids=lambda serde: type(serde).__name__)
@given(data=st.lists(st.none() | BYTES, max_size=5))
def test_bytes_are_passed_on_only_if_nothing_would_change(
    serde: Serde[Any], data: list[bytes | None]
) -> None:
    """Text that is not UTF-8 is replaced on its way, also where two halves lie side by side."""
    if known(serde).keeps_bytes(data):
        assert [serde.serialize("t", serde.deserialize("t", item)) for item in data] == data


class Loud(StringSerde):
    """A serde of a user, which may do anything."""


def test_nothing_is_known_of_a_subclass() -> None:
    """It may decode in its own way, so only the serde of this very type is known."""
    assert column_serde_of(StringSerde()) is not None
    assert column_serde_of(Loud()) is None


def test_serde_of_a_user_is_called_item_by_item() -> None:
    """Also where its task runs over columns for other reasons."""
    assert decode_all(Loud(), [b"a", None]) == ["a", None]
    assert encode_all(Loud(), ["a", None]) == [b"a", None]
