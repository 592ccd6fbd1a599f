"""Table changes, against the bytes of Java's kafka-streams 4.1.0."""

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.change import Change
from penstock.serde.base import SerdeDefaults
from penstock.serde.change import ChangeSerde, read_varint, write_varint
from penstock.serde.primitives import LongSerde, StringSerde

CHANGES = ChangeSerde(StringSerde())

JAVA = [
    (Change("new", None), "6e657701"),
    (Change(None, "old"), "6f6c6400"),
    (Change("new", "older"), "066e65776f6c64657202"),
    (Change("", "older"), "006f6c64657202"),
    (Change("x" * 70, "y"), "8c01" + "78" * 70 + "7902"),
    (Change("x" * 9000, "y"), "d08c01" + "78" * 9000 + "7902"),
]


@pytest.mark.parametrize(
    ("change", "expected"), JAVA, ids=["new", "old", "both", "empty", "2", "3"]
)
def test_change_gives_javas_bytes_and_comes_back(change: Change, expected: str) -> None:
    """The last byte says which of the two values are there."""
    assert CHANGES.serialize("t", change) == bytes.fromhex(expected)
    assert CHANGES.deserialize("t", bytes.fromhex(expected)) == change


def test_is_latest_is_not_written() -> None:
    """Kafka Streams 4.1 leaves the flag out, and so must we."""
    assert CHANGES.encode(Change("a", "b", is_latest=False)) == CHANGES.encode(Change("a", "b"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("6f6c640003", Change(None, "old", is_latest=False)),
        ("6e65770104", Change("new", None, is_latest=True)),
        ("066e65776f6c6465720005", Change("new", "older", is_latest=False)),
        ("066e65776f6c6465720105", Change("new", "older", is_latest=True)),
    ],
)
def test_flag_of_other_versions_is_read(data: str, expected: Change) -> None:
    """Versions that write the flag are understood."""
    assert CHANGES.decode(bytes.fromhex(data)) == expected


@pytest.mark.parametrize("data", ["", "06", "6e657702", "6e65770204", "04", "ffffffffffffff02"])
def test_malformed_change_is_refused(data: str) -> None:
    """Unknown kinds, flags and lengths are errors."""
    with pytest.raises(ValueError, match=r"change serde|does not end"):
        CHANGES.decode(bytes.fromhex(data))


def test_change_of_nothing_is_refused() -> None:
    """There is no kind byte for it, in Java as here."""
    with pytest.raises(ValueError, match="both are None"):
        CHANGES.encode(Change(None, None))


def test_open_inner_serde_is_the_default_value_serde() -> None:
    """Repartition topics of tables carry values, so the default is the value's."""
    with pytest.raises(InvalidArgumentError):
        ChangeSerde(None).encode(Change("a", None))
    defaults = SerdeDefaults(key=LongSerde(), value=StringSerde())
    assert ChangeSerde(None).with_defaults(defaults) == CHANGES


@pytest.mark.parametrize("number", [0, -1, 1, 63, 64, -64, -65, 2**31 - 1, -(2**31)])
def test_variable_length_integer_comes_back(number: int) -> None:
    """Small numbers of either sign are short, and none is longer than five bytes."""
    data = write_varint(number)
    assert read_varint(data + b"rest") == (number, len(data))
    assert len(data) <= 5
