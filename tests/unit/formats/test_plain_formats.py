"""JSON, DELIMITED, KAFKA and NONE: bytes as they are, conversions, errors.

Exercises ``json_read``, ``kafka_codec`` and ``text_numbers``.
"""

import pickle
from decimal import Decimal
from typing import Any

import pytest

from penstock.formats.errors import FormatError
from penstock.formats.properties import FormatProperties
from penstock.formats.rows import RowSerde, serde_for
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)


def serde(format_: str, *types: SqlType, is_key: bool = False, **options: Any) -> RowSerde:
    columns = [Field(f"C{i}", type_) for i, type_ in enumerate(types)]
    return serde_for(format_, columns, is_key=is_key, topic="t", **options)


def test_json_row_is_an_object_with_every_column() -> None:
    rows = serde("JSON", INTEGER, DecimalType(5, 2), BYTES, ArrayType(BOOLEAN), DATE)
    data = rows.encode((7, Decimal("1.50"), b"\x00\xff", [True, None], 19000))
    assert data == b'{"C0":7,"C1":1.50,"C2":"AP8=","C3":[true,null],"C4":19000}'
    assert rows.decode(data) == (7, Decimal("1.50"), b"\x00\xff", [True, None], 19000)


def test_json_writes_struct_fields_in_the_order_of_the_type() -> None:
    rows = serde("JSON", StructType((Field("A", INTEGER), Field("B", STRING))), is_key=True)
    assert rows.encode(({"B": "x", "A": 1},)) == b'{"A":1,"B":"x"}'


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INTEGER, '"12"', 12),
        (INTEGER, "3.99", 3),
        (INTEGER, "4294967297", 1),
        (BIGINT, "18446744073709551615", -1),
        (BIGINT, "-7", -7),
        (DOUBLE, "1", 1.0),
        (DOUBLE, '"2.5"', 2.5),
        (STRING, "1.10", "1.10"),
        (STRING, "true", "true"),
        (STRING, "123456789012345678901234567890", "123456789012345678901234567890"),
        (STRING, '{"a": [1.50, "x"]}', '{"a":[1.50,"x"]}'),
        (STRING, '["a", null, 1]', "[a, null, 1]"),
        (DecimalType(4, 2), '"1.5"', Decimal("1.50")),
        (DecimalType(20, 10), "1234567890.0123456789", Decimal("1234567890.0123456789")),
        (TIME, '"1000"', 1000),
        (TIMESTAMP, "5", 5),
        (ArrayType(INTEGER), '["1", 2]', [1, 2]),
        (MapType(STRING, DOUBLE), '{"a": 1, "b": null}', {"a": 1.0, "b": None}),
        (StructType((Field("X", INTEGER),)), '{"x": 1, "y": 2}', {"X": 1}),
        (STRING, "null", None),
    ],
)
def test_json_converts_on_reading(type_: SqlType, text: str, value: Any) -> None:
    """A JSON value becomes the column's type where ksqlDB converts it."""
    assert serde("JSON", type_, wrap=False).decode(text.encode()) == (value,)
    assert serde("JSON", type_).decode(f'{{"c0": {text}}}'.encode()) == (value,)


@pytest.mark.parametrize(
    ("type_", "text", "where"),
    [
        (BOOLEAN, '"true"', "$.C0"),
        (INTEGER, "true", "$.C0"),
        (INTEGER, '"1.0"', "$.C0"),
        (DecimalType(4, 2), "1.234", "$.C0"),
        (DecimalType(4, 2), "100", "$.C0"),
        (BYTES, '"a"', "$.C0"),
        (TIME, "86400001", "$.C0"),
        (ArrayType(INTEGER), '[1, "x"]', "$.C0[1]"),
        (MapType(STRING, INTEGER), '{"k": []}', "$.C0.k.value"),
        (StructType((Field("X", ArrayType(BOOLEAN)),)), '{"X": [0]}', "$.C0.X[0]"),
    ],
)
def test_json_error_names_the_place(type_: SqlType, text: str, where: str) -> None:
    with pytest.raises(ValueError, match=r"path: ") as error:
        serde("JSON", type_).decode(f'{{"C0": {text}}}'.encode())
    assert str(error.value).endswith(f"path: {where}")


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"null", b'{"C0": NaN}'])
def test_json_record_that_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not an object|not JSON"):
        serde("JSON", DOUBLE).decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b'\x00\x00\x00\x00\x07{"C0": 1.5}',
        b'\xef\xbb\xbf{"C0": 1.5}',
        b'{"C0": 1.5}{"C0": 2}',
        b' {"C0": 1.5} and more',
    ],
    ids=["schema id", "byte order mark", "two documents", "text behind it"],
)
@pytest.mark.parametrize("type_", [DOUBLE, DecimalType(2, 1)])
def test_json_reads_the_first_document_of_a_record(data: bytes, type_: SqlType) -> None:
    """As documented for what JSON_SR wrote, and as Jackson does with the rest."""
    value = 1.5 if type_ == DOUBLE else Decimal("1.5")
    assert serde("JSON", type_).decode(data) == (value,)
    many_digits = data.replace(b"1.5", b"1.50000000000000000000")
    assert serde("JSON", type_).decode(many_digits) == (value,)


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\0\1", b"1x", b"1.5.5", b"nul", b"\0{}"])
def test_json_without_a_whole_document_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        serde("JSON", DOUBLE, wrap=False).decode(data)


def test_json_writes_what_is_not_finite_as_text() -> None:
    rows = serde("JSON", DOUBLE, ArrayType(DOUBLE))
    data = rows.encode((float("nan"), [float("inf"), None, 1.0]))
    assert data == b'{"C0":"NaN","C1":["Infinity",null,1.0]}'


def test_lone_null_without_envelope_has_no_bytes() -> None:
    for format_ in ("JSON", "KAFKA"):
        assert serde(format_, INTEGER, is_key=True).serialize("t", (None,)) is None
    assert serde("JSON", INTEGER).serialize("t", (None,)) == b'{"C0":null}'
    assert serde("JSON", INTEGER, wrap=False).serialize("t", (None,)) is None


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ((1, "plain", Decimal("1.50")), b"1,plain,1.50"),
        ((-1, "a,b", None), b'"-1","a,b",'),
        ((None, 'say "hi"', None), b',"say ""hi""",'),
        ((1, "ends with blank ", None), b'1,"ends with blank ",'),
        ((1, "#hash", None), b'1,"#hash",'),
        ((1, "two\nlines", None), b'1,"two\nlines",'),
    ],
)
def test_delimited_quotes_where_commons_csv_does(row: tuple[Any, ...], line: bytes) -> None:
    rows = serde("DELIMITED", INTEGER, STRING, DecimalType(5, 2))
    assert rows.encode(row) == line
    assert rows.decode(line) == row


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'"1", x ,TRUE', (1, " x ", True)),
        (b"1,,", (1, None, None)),
        (b'1,"",false', (1, None, False)),
        (b'\r\n1,"a" ,no\r\n2,b,c', (1, "a", False)),
        ("2,zoë,true".encode(), (2, "zoë", True)),
    ],
)
def test_delimited_reads_the_first_line(line: bytes, row: tuple[Any, ...]) -> None:
    assert serde("DELIMITED", INTEGER, STRING, BOOLEAN).decode(line) == row


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "empty"),
        (b"1", "expected 2 values, the record has 1"),
        (b"1,2,3", "expected 2 values, the record has 3"),
        (b"x,1", "column 'C0': 'x' is not a whole number"),
        (b" 1,1", "column 'C0'"),
        (b'1,"open', "quoted value does not end"),
        (b'1,"a"b', "quoted value does not end"),
    ],
)
def test_delimited_error_says_what_is_wrong(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        serde("DELIMITED", INTEGER, STRING).decode(line)


@pytest.mark.parametrize(("name", "character"), [("TAB", "\t"), ("SPACE", " "), ("|", "|")])
def test_delimiter_is_a_character_or_a_name(name: str, character: str) -> None:
    properties = FormatProperties.of({"VALUE_DELIMITER": name}, is_key=False)
    rows = serde("DELIMITED", INTEGER, STRING, properties=properties)
    assert rows.encode((1, f"a{character}b")) == f'1{character}"a{character}b"'.encode()
    assert rows.decode(f'1{character}"x"'.encode()) == (1, "x")


@pytest.mark.parametrize("text", ["", " ", "\t", "<>"])
def test_other_delimiters_are_refused(text: str) -> None:
    with pytest.raises(FormatError, match="KEY_DELIMITER"):
        FormatProperties.of({"KEY_DELIMITER": text}, is_key=True)


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (INTEGER, -2, b"\xff\xff\xff\xfe"),
        (BIGINT, 258, b"\0\0\0\0\0\0\1\2"),
        (DOUBLE, 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        (STRING, "ö", b"\xc3\xb6"),
        (BYTES, b"\x01", b"\x01"),
    ],
)
def test_kafka_has_the_bytes_of_kafkas_serdes(type_: SqlType, value: Any, data: bytes) -> None:
    rows = serde("KAFKA", type_, is_key=True)
    assert rows.encode((value,)) == data
    assert rows.decode(data) == (value,)


def test_no_columns_have_no_bytes_and_ignore_those_that_are_there() -> None:
    for format_ in ("KAFKA", "NONE"):
        rows = serde(format_, is_key=True)
        assert rows.serialize("t", ()) is None
        assert rows.deserialize("t", b"anything") is None


@pytest.mark.parametrize(
    ("format_", "types", "code"),
    [
        ("KAFKA", [INTEGER, INTEGER], "format-columns"),
        ("KAFKA", [BOOLEAN], "format-type"),
        ("KAFKA", [DecimalType(4, 2)], "format-type"),
        ("NONE", [INTEGER], "format-columns"),
        ("DELIMITED", [ArrayType(INTEGER)], "format-type"),
        ("JSON", [MapType(INTEGER, STRING)], "format-map-key"),
        ("JSON", [ArrayType(MapType(INTEGER, STRING))], "format-map-key"),
        ("JASON", [STRING], "unknown-format"),
    ],
)
def test_columns_that_a_format_cannot_hold_are_refused(
    format_: str, types: list[SqlType], code: str
) -> None:
    with pytest.raises(FormatError) as error:
        serde(format_, *types)
    assert error.value.code == code


def test_maps_are_refused_in_keys() -> None:
    with pytest.raises(FormatError) as error:
        serde("JSON", ArrayType(MapType(STRING, STRING)), is_key=True)
    assert error.value.code == "map-in-key"


@pytest.mark.parametrize(
    ("format_", "wrap", "types"),
    [("KAFKA", True, [INTEGER]), ("PROTOBUF", False, [INTEGER]), ("JSON", False, [INTEGER] * 2)],
)
def test_wrapping_that_makes_no_sense_is_refused(
    format_: str, wrap: bool, types: list[SqlType]
) -> None:
    with pytest.raises(FormatError) as error:
        serde(format_, *types, wrap=wrap)
    assert error.value.code == "format-wrapping"


def test_property_of_another_format_is_refused() -> None:
    with pytest.raises(FormatError, match="JSON has no property VALUE_DELIMITER"):
        serde("JSON", STRING, properties=FormatProperties(delimiter="|"))


def test_serde_survives_pickling() -> None:
    rows = pickle.loads(pickle.dumps(serde("JSON", STRING, INTEGER)))
    assert rows == serde("JSON", STRING, INTEGER)
    assert rows.decode(rows.encode(("a", 1))) == ("a", 1)


def test_json_finds_fields_again_when_names_or_their_order_change() -> None:
    """A name as it is written comes first; of names that differ in case only, the last one."""
    rows = serde_for("JSON", [Field("A", INTEGER), Field("B", STRING)], is_key=False, topic="t")
    records = [
        (b'{"A": 1, "B": "x"}', (1, "x")),
        (b'{"b": "x", "a": 2}', (2, "x")),
        (b'{"a": 3, "A": 4, "B": "x"}', (4, "x")),
        (b'{"A": 4, "a": 3, "B": "x"}', (4, "x")),
        (b'{"b": "x", "a": 2.5}', (2, "x")),
        (b'{"b": null, "a": 2}', (2, None)),
        (b'{"b": "x", "a": 4294967297}', (1, "x")),
        (b'{"A": 1}', (1, None)),
        (b"{}", (None, None)),
    ]
    for data, row in records * 2:
        assert rows.decode(data) == row
    mixed = serde_for("JSON", [Field("AB", INTEGER), Field("C", STRING)], is_key=False, topic="t")
    assert mixed.decode(b'{"ab": 1, "aB": 2}') == (2, None)


def test_json_with_ever_new_names_is_still_read() -> None:
    rows = serde_for("JSON", [Field("A", INTEGER), Field("B", STRING)], is_key=False, topic="t")
    for number in range(200):
        assert rows.decode(b'{"a": 1, "B": "x", "n%d": 0}' % number) == (1, "x")
