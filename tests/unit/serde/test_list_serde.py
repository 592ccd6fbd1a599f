"""Lists, against the bytes of Java's kafka-clients 4.1.0."""

from typing import Any
from uuid import UUID

import pytest

from penstock.serde.base import Serde
from penstock.serde.list_serde import ListSerde
from penstock.serde.primitives import (
    BooleanSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
)

SOME_UUID = UUID("123e4567-e89b-12d3-a456-426614174000")

JAVA: list[tuple[Serde[Any], list[Any], str]] = [
    (LongSerde(), [1, None, -1], "000000000100000001000000030000000000000001ffffffffffffffff"),
    (LongSerde(), [], "000000000000000000"),
    (ShortSerde(), [None, 7, None], "00000000020000000000000002000000030007"),
    (IntegerSerde(), [1, 2], "0000000000000000020000000100000002"),
    (DoubleSerde(), [0.5], "0000000000000000013fe0000000000000"),
    (FloatSerde(), [0.5], "0000000000000000013f000000"),
    (UUIDSerde(), [SOME_UUID, None], "00000000010000000100000002" + str(SOME_UUID).encode().hex()),
    (StringSerde(), ["a", None, "", "bc"], "01000000040000000161ffffffff00000000000000026263"),
    (BooleanSerde(), [True, False], "010000000200000001010000000100"),
]


@pytest.mark.parametrize(("inner", "value", "expected"), JAVA)
def test_list_gives_javas_bytes_and_comes_back(
    inner: Serde[Any], value: list[Any], expected: str
) -> None:
    """Entries of a fixed size have no length in front, all others have."""
    assert ListSerde(inner).serialize("t", value) == bytes.fromhex(expected)
    assert ListSerde(inner).deserialize("t", bytes.fromhex(expected)) == value


def test_reader_follows_the_layout_byte() -> None:
    """A list of longs that was written with lengths is read, too."""
    data = bytes.fromhex("0100000001000000080000000000000005")
    assert ListSerde(LongSerde()).decode(data) == [5]


@pytest.mark.parametrize("size", range(1, 24))
def test_list_cut_short_is_refused(size: int) -> None:
    """Java fills the missing bytes with zeros; a wrong list is worse than an error."""
    whole = bytes.fromhex("01000000040000000161ffffffff00000000000000026263")
    with pytest.raises(ValueError, match="end in the middle of a list"):
        ListSerde(StringSerde()).decode(whole[:size])


@pytest.mark.parametrize("data", ["", "02", "00000000000000000161"])
def test_unfit_layout_is_refused(data: str) -> None:
    """Entries without a length need a serde of a fixed size."""
    with pytest.raises(ValueError, match="layout byte"):
        ListSerde(StringSerde()).decode(bytes.fromhex(data))


def test_other_value_than_a_list_is_refused() -> None:
    """Text is a sequence as well, and hardly ever what was meant."""
    with pytest.raises(TypeError, match="list serde takes a list, got str 'abc'"):
        ListSerde(StringSerde()).encode("abc")  # type: ignore[arg-type]
