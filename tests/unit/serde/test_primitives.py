"""The primitive formats: Java's bytes, Java's checks, and errors that say what is wrong."""

import math
import struct
from decimal import Decimal
from enum import IntEnum
from typing import Any
from uuid import UUID

import pytest

from penstock.serde.base import Serde
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
    VoidSerde,
)

SOME_UUID = UUID("123e4567-e89b-12d3-a456-426614174000")

#: What the serializers of Java's kafka-clients 4.1.0 write.
JAVA: list[tuple[Serde[Any], Any, str]] = [
    (StringSerde(), "", ""),
    (StringSerde(), "a", "61"),
    (StringSerde(), "äöü", "c3a4c3b6c3bc"),
    (StringSerde(), "日本", "e697a5e69cac"),
    (StringSerde(), "😀", "f09f9880"),
    (StringSerde(), "a\0b", "610062"),
    (LongSerde(), 0, "0000000000000000"),
    (LongSerde(), -1, "ffffffffffffffff"),
    (LongSerde(), 258, "0000000000000102"),
    (LongSerde(), 2**63 - 1, "7fffffffffffffff"),
    (LongSerde(), -(2**63), "8000000000000000"),
    (LongSerde(), 1_700_000_000_000, "0000018bcfe56800"),
    (IntegerSerde(), 258, "00000102"),
    (IntegerSerde(), -1, "ffffffff"),
    (IntegerSerde(), 2**31 - 1, "7fffffff"),
    (IntegerSerde(), -(2**31), "80000000"),
    (ShortSerde(), 258, "0102"),
    (ShortSerde(), -1, "ffff"),
    (ShortSerde(), 2**15 - 1, "7fff"),
    (ShortSerde(), -(2**15), "8000"),
    (FloatSerde(), -0.0, "80000000"),
    (FloatSerde(), 1.5, "3fc00000"),
    (FloatSerde(), -2.25, "c0100000"),
    (FloatSerde(), math.inf, "7f800000"),
    (DoubleSerde(), -0.0, "8000000000000000"),
    (DoubleSerde(), 1.5, "3ff8000000000000"),
    (DoubleSerde(), 0.1, "3fb999999999999a"),
    (DoubleSerde(), 1.7976931348623157e308, "7fefffffffffffff"),
    (DoubleSerde(), 5e-324, "0000000000000001"),
    (DoubleSerde(), -math.inf, "fff0000000000000"),
    (BooleanSerde(), True, "01"),
    (BooleanSerde(), False, "00"),
    (BytesSerde(), b"\x00\xff", "00ff"),
    (UUIDSerde(), SOME_UUID, str(SOME_UUID).encode().hex()),
]


class Size(IntEnum):
    SMALL = 1


@pytest.mark.parametrize(("serde", "value", "expected"), JAVA)
def test_value_gives_javas_bytes_and_comes_back(
    serde: Serde[Any], value: Any, expected: str
) -> None:
    """A Java program reads what this one writes, and the other way round."""
    assert serde.encode(value).hex() == expected
    assert serde.decode(bytes.fromhex(expected)) == value


@pytest.mark.parametrize("serde", [StringSerde(), LongSerde(), VoidSerde()])
def test_none_stays_none(serde: Serde[Any]) -> None:
    """None is the tombstone: it has no bytes."""
    assert serde.serialize("t", None) is None
    assert serde.deserialize("t", None) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("ff", "\ufffd"),
        ("e282", "\ufffd"),
        ("eda080", "\ufffd"),
        ("eda0", "\ufffd"),
        ("c080", "\ufffd\ufffd"),
        ("f4908080", "\ufffd\ufffd\ufffd\ufffd"),
        ("61ff62", "a\ufffdb"),
        ("e28261", "\ufffda"),
        ("c3a4ff80", "ä\ufffd\ufffd"),
    ],
)
def test_malformed_text_is_replaced_as_in_java(data: str, expected: str) -> None:
    """Java's string deserializer never fails, and counts malformed characters its own way."""
    assert StringSerde().decode(bytes.fromhex(data)) == expected


@pytest.mark.parametrize("bits", ["7ff8000000000000", "fff8000000000001", "7ff4000000000000"])
def test_every_nan_is_written_as_javas_nan(bits: str) -> None:
    """A double's NaN has one form in Java, so that equal values have equal bytes."""
    (nan,) = struct.unpack(">d", bytes.fromhex(bits))
    assert DoubleSerde().encode(nan).hex() == "7ff8000000000000"


@pytest.mark.parametrize(
    ("serde", "value", "expected"),
    [
        (DoubleSerde(), 3, 3.0),
        (DoubleSerde(), Decimal("0.5"), 0.5),
        (FloatSerde(), 3, 3.0),
        (LongSerde(), Size.SMALL, 1),
        (BytesSerde(), bytearray(b"ab"), b"ab"),
        (BytesSerde(), memoryview(b"ab"), b"ab"),
    ],
)
def test_kindred_type_is_taken(serde: Serde[Any], value: Any, expected: Any) -> None:
    """A type that stands for the same value needs no conversion by hand."""
    assert serde.decode(serde.encode(value)) == expected


@pytest.mark.parametrize(
    ("serde", "value", "message"),
    [
        (StringSerde(), 5, "string serde takes a str, got int 5"),
        (LongSerde(), True, "long serde takes an int, got bool True"),
        (LongSerde(), "5", "long serde takes an int, got str '5'"),
        (LongSerde(), 5.0, "long serde takes an int, got float 5.0"),
        (IntegerSerde(), None, "integer serde takes an int, got NoneType None"),
        (ShortSerde(), [1], "short serde takes an int, got list [1]"),
        (DoubleSerde(), "1.5", "double serde takes a float or an int, got str '1.5'"),
        (DoubleSerde(), True, "double serde takes a float or an int, got bool True"),
        (FloatSerde(), b"", "float serde takes a float or an int, got bytes b''"),
        (BooleanSerde(), 1, "boolean serde takes a bool, got int 1"),
        (BytesSerde(), "x", "bytes serde takes a bytes-like object, got str 'x'"),
        (UUIDSerde(), "x", "uuid serde takes a UUID, got str 'x'"),
        (VoidSerde(), "x", "void serde takes only None, got str 'x'"),
    ],
)
def test_wrong_type_is_refused(serde: Serde[Any], value: Any, message: str) -> None:
    """The error names the serde, what it wants and what it got."""
    with pytest.raises(TypeError) as caught:
        serde.encode(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (LongSerde(), 2**63),
        (LongSerde(), -(2**63) - 1),
        (IntegerSerde(), 2**31),
        (ShortSerde(), -(2**15) - 1),
        (FloatSerde(), 1e300),
        (DoubleSerde(), 10**400),
        (StringSerde(), "\ud800"),
    ],
)
def test_value_out_of_range_is_refused(serde: Serde[Any], value: Any) -> None:
    """A value that does not fit is an error, never cut off."""
    with pytest.raises(ValueError, match=r"cannot hold|surrogates not allowed"):
        serde.encode(value)


@pytest.mark.parametrize(
    ("serde", "size"),
    [
        (LongSerde(), 8),
        (IntegerSerde(), 4),
        (ShortSerde(), 2),
        (DoubleSerde(), 8),
        (FloatSerde(), 4),
    ],
)
def test_wrong_number_of_bytes_is_refused(serde: Serde[Any], size: int) -> None:
    """As in Java, the number of bytes must be exact; three bytes are no long."""
    for wrong in (0, size - 1, size + 1):
        with pytest.raises(ValueError, match=f"needs {size} bytes, got {wrong}"):
            serde.decode(bytes(wrong))


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x01\x01"])
def test_malformed_boolean_is_refused(data: bytes) -> None:
    """Only the bytes 0 and 1 are booleans."""
    with pytest.raises(ValueError, match="boolean serde needs"):
        BooleanSerde().decode(data)


def test_bytes_under_a_void_serde_are_refused() -> None:
    """Whoever declares a topic's values void must not lose values."""
    with pytest.raises(ValueError, match="needs no bytes at all, got 0"):
        VoidSerde().deserialize("t", b"")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123E4567-E89B-12D3-A456-426614174000", str(SOME_UUID)),
        ("1-2-3-4-5", "00000001-0002-0003-0004-000000000005"),
        ("123456789-1-1-1-1", "23456789-0001-0001-0001-000000000001"),
    ],
)
def test_uuid_text_is_read_as_java_reads_it(text: str, expected: str) -> None:
    """Java fills short parts with zeros and cuts long ones."""
    assert str(UUIDSerde().decode(text.encode())) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123e4567e89b12d3a456426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "1-1-1-1",
        "-1-1-1-1",
        "1-1-1-1-1-1",
        "1-1-1-1-\xff",
    ],
)
def test_malformed_uuid_is_refused(text: str) -> None:
    """Forms that Python's UUID takes and Java's does not are refused, too."""
    with pytest.raises(ValueError, match="uuid serde needs text such as"):
        UUIDSerde().decode(text.encode())
