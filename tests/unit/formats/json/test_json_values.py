"""What is read from JSON text: its first document, with all digits where they matter."""

from decimal import Decimal

import orjson
import pytest

from penstock.formats.json.json_values import (
    UnfitError,
    decimal_reader,
    first_document,
    parse,
    parse_exactly,
)

BROKEN = ValueError("broken")


def test_fractions_are_read_quickly_or_exactly() -> None:
    """A double has 15 digits that can be relied on."""
    text = b'{"n": 0.12345678901234567891, "m": 123456789012345678901}'
    assert parse(b"0.1") == 0.1
    assert parse_exactly(text) == {
        "n": Decimal("0.12345678901234567891"),
        "m": 123456789012345678901,
    }


@pytest.mark.parametrize("text", [b"{", b"", b"\xff", b"tru", b"1 2"])
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        parse(text)


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]"])
def test_python_s_own_constants_are_refused(text: bytes) -> None:
    """The standard library takes them for JSON."""
    with pytest.raises(ValueError, match="not JSON"):
        parse_exactly(text)


@pytest.mark.parametrize(
    ("data", "document"),
    [
        (b'{"a":1}garbage', b'{"a":1}'),
        (b" [1] [2]", b"[1]"),
        (b"7 8", b"7"),
        (b'\xef\xbb\xbf"a"', b'"a"'),
        (b'\0\0\0\0\x05{"a":1}', b'{"a":1}'),
    ],
)
def test_what_surrounds_the_first_document_is_ignored(data: bytes, document: bytes) -> None:
    """As in ksqlDB: a byte order mark, the id of a schema, and whatever follows."""
    assert first_document(data, BROKEN) == document


@pytest.mark.parametrize("data", [b"", b"7x", b"nullable", b'{"a":1}', b"{"])
def test_bytes_without_a_document_of_their_own_are_refused(data: bytes) -> None:
    """A number ends with a blank; ``7x`` is neither a number nor a word."""
    with pytest.raises(ValueError, match="not JSON: broken"):
        first_document(data, BROKEN)


def test_decimals_are_not_rounded() -> None:
    """Numbers and text are the same decimal; what does not fit is refused."""
    read = decimal_reader(4, 2)
    assert [read(value) for value in (1.5, 7, "1.50", Decimal("1.5"))] == [
        Decimal("1.50"),
        Decimal("7.00"),
        Decimal("1.50"),
        Decimal("1.50"),
    ]
    with pytest.raises(ValueError, match="does not fit"):
        read(1.234)
    with pytest.raises(UnfitError, match=r"an array cannot be read as DECIMAL\(4, 2\)"):
        read(orjson.loads(b"[1]"))
