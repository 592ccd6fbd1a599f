"""AVRO, JSON_SR, PROTOBUF and PROTOBUF_NOSR: bytes, schemas, reading what others wrote.

Exercises ``avro_codec``, ``avro_language``, ``avro_schema``, ``json_language``, ``json_schema``,
``json_schema_codec``, ``formats.language``, ``protobuf_language``, ``protobuf_read``,
``protobuf_schema``, ``protobuf_write``, ``formats.registered`` and ``formats.wire``.
"""

import json
import math
import pickle
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from penstock.formats.errors import FormatError
from penstock.formats.formats import format_named
from penstock.formats.inference import InferredColumns, infer_columns, register
from penstock.formats.properties import FormatProperties, Nullable
from penstock.formats.protobuf.protobuf_file import encoded
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
from penstock.registry.registry import MemoryRegistry, Schema, SchemaReference

COLUMNS = [
    Field("ID", BIGINT),
    Field("NAME", STRING),
    Field("PRICE", DecimalType(6, 2)),
    Field("TAGS", ArrayType(STRING)),
    Field("AT", StructType((Field("X", INTEGER), Field("RAW", BYTES)))),
    Field("COUNTS", MapType(STRING, INTEGER)),
    Field("OK", BOOLEAN),
    Field("SHARE", DOUBLE),
    Field("DAY", DATE),
    Field("HOUR", TIME),
    Field("SEEN", TIMESTAMP),
]
ROW = (
    1, "ann", Decimal("-1.50"), ["a", "b"], {"X": 7, "RAW": b"\x00\xff"}, {"k": 1}, True, 0.5,
    -3, 1234, -1,
)  # fmt: skip
FORMATS = ("AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR")


def serde(
    format_: str,
    columns: list[Field],
    registry: MemoryRegistry | None = None,
    *,
    is_key: bool = False,
    **options: Any,
) -> RowSerde:
    return serde_for(
        format_, columns, is_key=is_key, topic="t", registry=registry or MemoryRegistry(), **options
    )


def one(type_: SqlType) -> list[Field]:
    return [Field("C", type_)]


def infer(format_: str, text: str, **properties: Any) -> InferredColumns:
    registry = MemoryRegistry()
    kind = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}[format_]
    registry.register("t-value", Schema(kind, text))  # type: ignore[arg-type]
    return infer_columns(
        format_named(format_),
        registry,
        topic="t",
        is_key=False,
        properties=FormatProperties(**properties),
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_row_of_every_type_comes_back(format_: str) -> None:
    rows = serde(format_, COLUMNS)
    assert rows.decode(rows.encode(ROW)) == ROW


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR"])
def test_nulls_come_back(format_: str) -> None:
    nulls = (None,) * len(COLUMNS)
    rows = serde(format_, COLUMNS)
    assert rows.decode(rows.encode(nulls)) == nulls
    inside = serde(format_, one(ArrayType(StructType((Field("X", INTEGER),)))))
    assert inside.decode(inside.encode(([None, {"X": None}],))) == ([None, {"X": None}],)


@pytest.mark.parametrize("format_", FORMATS)
def test_doubles_that_are_not_finite_come_back(format_: str) -> None:
    rows = serde(format_, one(DOUBLE))
    for value in (math.nan, math.inf, -math.inf):
        assert repr(rows.decode(rows.encode((value,)))) == repr((value,))


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_registered_schema_gives_the_same_columns_back(format_: str) -> None:
    registry = MemoryRegistry()
    rows = serde(format_, COLUMNS, registry)
    assert register(rows.row) == 1
    found = infer_columns(
        format_named(format_), registry, topic="t", is_key=False, properties=FormatProperties()
    )
    assert found == InferredColumns(tuple(COLUMNS), 1)


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_pickled_serde_reads_what_was_registered_before(format_: str) -> None:
    rows = serde(format_, COLUMNS)
    data = rows.encode(ROW)
    assert pickle.loads(pickle.dumps(rows)).decode(data) == ROW


@pytest.mark.parametrize(
    ("format_", "data"),
    [
        ("AVRO", b"\x00\x00\x00\x00\x01" + b"\x02\x0e" + b"\x02\x04hi"),
        ("JSON_SR", b'\x00\x00\x00\x00\x01{"N":7,"S":"hi"}'),
        ("PROTOBUF", b"\x00\x00\x00\x00\x01\x00" + b"\x08\x07\x12\x02hi"),
        ("PROTOBUF_NOSR", b"\x08\x07\x12\x02hi"),
    ],
)
def test_bytes_are_those_of_confluents_serializers(format_: str, data: bytes) -> None:
    rows = serde(format_, [Field("N", INTEGER), Field("S", STRING)])
    assert rows.encode((7, "hi")) == data
    assert rows.decode(data) == (7, "hi")


def test_avro_schema_has_ksqldbs_names() -> None:
    registry = MemoryRegistry()
    columns = [Field("S", StructType((Field("M", MapType(STRING, INTEGER)),)))]
    register(serde("AVRO", columns, registry).row)
    latest = registry.latest("t-value")
    assert latest is not None
    schema = json.loads(latest.schema.text)
    assert (schema["namespace"], schema["name"]) == (
        "io.confluent.ksql.avro_schemas",
        "KsqlDataSourceSchema",
    )
    struct = schema["fields"][0]["type"][1]
    assert struct["name"] == "KsqlDataSourceSchema_S"
    entry = struct["fields"][0]["type"][1]["items"]
    assert entry["name"] == "KsqlDataSourceSchema_S_M"
    assert entry["connect.internal.type"] == "MapEntry"


def test_protobuf_schema_text() -> None:
    registry = MemoryRegistry()
    columns = [Field("I", INTEGER), Field("S", StructType((Field("M", MapType(STRING, DOUBLE)),)))]
    register(serde("PROTOBUF", columns, registry).row)
    latest = registry.latest("t-value")
    assert latest is not None
    assert latest.schema.text == (
        'syntax = "proto3";\n\n'
        "message ConnectDefault1 {\n"
        "  int32 I = 1;\n"
        "  ConnectDefault2 S = 2;\n\n"
        "  message ConnectDefault2 {\n"
        "    repeated ConnectDefault3Entry M = 1;\n\n"
        "    message ConnectDefault3Entry {\n"
        "      string key = 1;\n"
        "      double value = 2;\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("nullable", "back"),
    [(None, (0, "", [], None)), ("OPTIONAL", (None, None, [], None)),
     ("WRAPPER", (None, None, [], None))],
)  # fmt: skip
def test_protobuf_nulls_depend_on_their_representation(
    nullable: Nullable | None, back: tuple[Any, ...]
) -> None:
    """Without a representation, a NULL scalar is the default of its type."""
    columns = [
        Field("I", INTEGER),
        Field("S", STRING),
        Field("A", ArrayType(STRING)),
        Field("R", StructType((Field("X", INTEGER),))),
    ]
    for format_ in ("PROTOBUF", "PROTOBUF_NOSR"):
        rows = serde(format_, columns, properties=FormatProperties(nullable=nullable))
        assert rows.decode(rows.encode((None, None, None, None))) == back
        assert rows.decode(rows.encode((0, "", [], {"X": 0}))) == (0, "", [], {"X": 0})


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR"])
def test_single_key_has_no_envelope(format_: str) -> None:
    registry = MemoryRegistry()
    rows = serde(format_, one(INTEGER), registry, is_key=True)
    data = rows.serialize("t", (5,))
    assert data is not None
    assert data[5:] == {"AVRO": b"\x0a", "JSON_SR": b"5"}[format_]
    assert rows.decode(data) == (5,)
    assert rows.serialize("t", (None,)) is None
    assert registry.subjects() == ["t-key"]


@pytest.mark.parametrize(
    ("schema", "columns"),
    [
        (('{"type":"record","name":"r","fields":[{"name":"a","type":"float"},'
         '{"name":"b","type":{"type":"enum","name":"e","symbols":["X"]}},'
         '{"name":"c","type":["null",{"type":"fixed","name":"f","size":4}]}]}'),
         [("A", DOUBLE), ("B", STRING), ("C", BYTES)]),
        ('{"type":"record","name":"r","fields":[{"name":"u","type":["null","int","string"]}]}',
         [("U", StructType((Field("INT", INTEGER), Field("STRING", STRING))))]),
        (('{"type":"record","name":"r","fields":['
         '{"name":"d","type":{"type":"bytes","logicalType":"decimal","scale":2}},'
         '{"name":"m","type":{"type":"map","values":"long"}}]}'),
         [("D", DecimalType(64, 2)), ("M", MapType(STRING, BIGINT))]),
        (('{"type":"record","name":"r","namespace":"n","fields":['
         '{"name":"a","type":{"type":"record","name":"p","fields":[{"name":"x","type":"int"}]}},'
         '{"name":"b","type":"p"},{"name":"c","type":["null","n.p"]}]}'),
         [(name, StructType((Field("X", INTEGER),))) for name in "ABC"]),
    ],
)  # fmt: skip
def test_avro_types_as_sql(schema: str, columns: list[tuple[str, SqlType]]) -> None:
    assert [(c.name, c.type) for c in infer("AVRO", schema).columns] == columns


@pytest.mark.parametrize(
    ("members", "columns"),
    [
        ('"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"string"}',
         [("A", BIGINT), ("B", DOUBLE), ("C", STRING)]),
        ('"a":{"type":"array","items":{"type":"boolean"}},"b":{"$ref":"#/definitions/p"}',
         [("A", ArrayType(BOOLEAN)), ("B", StructType((Field("X", BIGINT),)))]),
        ('"b":{"connect.index":1,"type":"string"},"a":{"connect.index":0,"enum":["x"]}',
         [("A", STRING), ("B", STRING)]),
        ('"m":{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}',
         [("M", MapType(STRING, BIGINT))]),
        ('"n":{"type":["null","string"]},"o":{"anyOf":[{"type":"null"},{"type":"boolean"}]}',
         [("N", STRING), ("O", BOOLEAN)]),
    ],
)  # fmt: skip
def test_json_schema_types_as_sql(members: str, columns: list[tuple[str, SqlType]]) -> None:
    parts = '{"p":{"type":"object","properties":{"x":{"type":"integer"}}}}'
    text = f'{{"type":"object","properties":{{{members}}},"definitions":{parts}}}'
    assert [(c.name, c.type) for c in infer("JSON_SR", text).columns] == columns


PROTO = """
syntax = "proto3";
package shop;
import 'google/protobuf/wrappers.proto';
import "google/protobuf/timestamp.proto";
// The second message is the interesting one.
message Line { string sku = 1; }
message Order {
  enum State { NEW = 0; PAID = 1; }
  uint32 id = 1;
  State state = 2;
  google.protobuf.StringValue note = 3;
  google.protobuf.Timestamp at = 4;
  repeated Line lines = 5;
  map<string, int64> counts = 6;
  optional int32 rank = 7;
  oneof payment { string card = 8; double cash = 9; }
  float weight = 10;
}
"""
ORDER_COLUMNS = [
    ("PAYMENT_0", StructType((Field("CARD", STRING), Field("CASH", DOUBLE)))),
    ("ID", BIGINT),
    ("STATE", STRING),
    ("NOTE", STRING),
    ("AT", TIMESTAMP),
    ("LINES", ArrayType(StructType((Field("SKU", STRING),)))),
    ("COUNTS", MapType(STRING, BIGINT)),
    ("RANK", INTEGER),
    ("WEIGHT", DOUBLE),
]


def test_protobuf_types_as_sql() -> None:
    found = infer("PROTOBUF", PROTO, schema_full_name="shop.Order").columns
    assert [(c.name, c.type) for c in found] == ORDER_COLUMNS


def test_protobuf_row_is_written_with_a_schema_of_somebody_else() -> None:
    """With a schema id, columns find their fields by name and the message by its full name."""
    registry = MemoryRegistry()
    registry.register("elsewhere", Schema("PROTOBUF", PROTO), 40)
    properties = FormatProperties(schema_full_name="shop.Order", schema_id=40)
    columns = list(
        infer_columns(
            format_named("PROTOBUF"), registry, topic="t", is_key=False, properties=properties
        ).columns
    )
    rows = serde("PROTOBUF", columns, registry, properties=properties)
    row = (
        {"card": None, "cash": 2.5}, 2**32 - 1, "PAID", None, 1500, [{"sku": "a"}], {"x": 1}, None,
        0.5,
    )  # fmt: skip
    data = rows.encode(row)
    # Message number 1 of the file: one index, which is 1, both in zigzag.
    assert data[:7] == b"\x00\x00\x00\x00\x28\x02\x02"
    assert rows.decode(data) == row


def test_protobuf_schema_with_imports() -> None:
    registry = MemoryRegistry()
    registry.register("part", Schema("PROTOBUF", 'syntax="proto3"; message P { int64 x = 1; }'))
    text = 'syntax="proto3"; import "part.proto"; message M { P p = 1; }'
    registry.register(
        "t-value", Schema("PROTOBUF", text, (SchemaReference("part.proto", "part", 1),))
    )
    found = infer_columns(
        format_named("PROTOBUF"), registry, topic="t", is_key=False, properties=FormatProperties()
    )
    assert found.columns == (Field("P", StructType((Field("X", BIGINT),))),)


@pytest.mark.parametrize(
    ("written", "read", "value", "back"),
    [
        (INTEGER, BIGINT, 5, 5),
        (INTEGER, STRING, 5, "5"),
        (DOUBLE, STRING, 1e7, "1.0E7"),
        (BOOLEAN, STRING, True, "true"),
        (DATE, INTEGER, 3, 3),
        (BIGINT, TIMESTAMP, 3, 3),
        (DecimalType(4, 2), DecimalType(6, 3), Decimal("1.50"), Decimal("1.500")),
        (ArrayType(INTEGER), ArrayType(STRING), [1, None], ["1", None]),
        (MapType(STRING, INTEGER), MapType(STRING, STRING), {"a": 1}, {"a": "1"}),
    ],
)
@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR"])
def test_reading_widens_and_makes_text(
    format_: str, written: SqlType, read: SqlType, value: Any, back: Any
) -> None:
    registry = MemoryRegistry()
    data = serde(format_, one(written), registry).encode((value,))
    assert serde(format_, one(read), registry).decode(data) == (back,)


@pytest.mark.parametrize(
    ("written", "read"),
    [(BIGINT, INTEGER), (STRING, INTEGER), (INTEGER, DOUBLE), (BYTES, STRING), (INTEGER, BOOLEAN)],
)
@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_reading_as_an_unfit_type_is_an_error_with_the_path(
    format_: str, written: SqlType, read: SqlType
) -> None:
    registry = MemoryRegistry()
    data = serde(format_, one(written), registry).encode((None,))
    with pytest.raises(ValueError, match=r"cannot be read as .*->C"):
        serde(format_, one(read), registry).decode(data)


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_reading_finds_fields_in_any_case_and_leaves_the_rest(format_: str) -> None:
    registry = MemoryRegistry()
    written = serde(format_, [Field("id", INTEGER), Field("more", STRING)], registry)
    read = serde(format_, [Field("NAME", STRING), Field("ID", INTEGER)], registry)
    assert read.decode(written.encode((1, "x"))) == (None, 1)


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
@pytest.mark.parametrize("data", [b"", b"{}", b"\x00\x00\x00", b"\x01\x00\x00\x00\x01x"])
def test_record_without_schema_id_is_an_error(format_: str, data: bytes) -> None:
    with pytest.raises(ValueError, match="zero byte and a schema id"):
        serde(format_, COLUMNS).decode(data)


@pytest.mark.parametrize(
    ("format_", "payload"),
    [("AVRO", b"\x02"), ("AVRO", b"\x02\xff"), ("JSON_SR", b"{"), ("JSON_SR", b'{"C":[]}'),
     ("PROTOBUF", b""), ("PROTOBUF", b"\x00\x0a"), ("PROTOBUF", b"\x02\x08")],
)  # fmt: skip
def test_broken_payload_is_a_value_error(format_: str, payload: bytes) -> None:
    registry = MemoryRegistry()
    rows = serde(format_, one(STRING), registry)
    prefix = rows.encode(("x",))[:5]
    with pytest.raises(ValueError, match=r".+"):
        rows.decode(prefix + payload)


def test_avro_row_takes_defaults_of_the_chosen_schema() -> None:
    registry = MemoryRegistry()
    text = (
        '{"type":"record","name":"r","fields":[{"name":"A","type":"int"},'
        '{"name":"B","type":"string","default":"none"},{"name":"C","type":["null","long"]}]}'
    )
    registry.register("elsewhere", Schema("AVRO", text), 7)
    rows = serde("AVRO", [Field("A", INTEGER)], registry, properties=FormatProperties(schema_id=7))
    assert rows.encode((1,)) == b"\x00\x00\x00\x00\x07\x02\x08none\x00"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([Field("A", INTEGER), Field("Z", INTEGER)], "no field 'Z'"),
        ([Field("B", STRING)], "wants a field 'A'"),
        ([Field("A", STRING)], "cannot be written as Avro's 'int'"),
    ],
)
def test_columns_that_the_chosen_schema_cannot_hold_are_refused(
    columns: list[Field], reason: str
) -> None:
    registry = MemoryRegistry()
    text = (
        '{"type":"record","name":"r","fields":[{"name":"A","type":"int"},'
        '{"name":"B","type":"string","default":"none"}]}'
    )
    registry.register("elsewhere", Schema("AVRO", text), 7)
    rows = serde("AVRO", columns, registry, properties=FormatProperties(schema_id=7))
    with pytest.raises(FormatError, match=reason):
        register(rows.row)


@pytest.mark.parametrize(
    ("format_", "text", "code"),
    [
        ("AVRO", '"int"', "schema-without-columns"),
        ("AVRO", '{"type":"record","name":"r","fields":[]}', "schema-without-columns"),
        ("JSON_SR", '{"type":"object","properties":{"a":{}}}', "schema-without-columns"),
        ("PROTOBUF", "message {", "schema-without-columns"),
        ("PROTOBUF", 'import "other.proto"; message M { Other o = 1; }', "schema-without-columns"),
        ("PROTOBUF", "message M { optional M m = 1; }", "schema-without-columns"),
    ],
)
def test_schema_without_columns_is_refused(format_: str, text: str, code: str) -> None:
    with pytest.raises(FormatError) as error:
        infer(format_, text)
    assert error.value.code == code


def test_missing_schema_is_refused_with_its_subject() -> None:
    with pytest.raises(FormatError, match="'orders-key'") as error:
        infer_columns(
            format_named("AVRO"),
            MemoryRegistry(),
            topic="orders",
            is_key=True,
            properties=FormatProperties(),
        )
    assert error.value.code == "no-schema"


def test_format_without_registry_says_which_setting() -> None:
    with pytest.raises(FormatError, match=r"ksql\.schema\.registry\.url"):
        serde_for("AVRO", COLUMNS, is_key=False, topic="t")


@pytest.mark.parametrize(
    ("format_", "columns", "code"),
    [
        ("AVRO", [Field("not a name", INTEGER)], "format-name"),
        ("PROTOBUF", [Field("1A", INTEGER)], "format-name"),
        ("PROTOBUF", one(ArrayType(ArrayType(INTEGER))), "format-nesting"),
        ("AVRO", one(MapType(INTEGER, STRING)), "format-map-key"),
    ],
)
def test_columns_that_have_no_schema_are_refused(
    format_: str, columns: list[Field], code: str
) -> None:
    with pytest.raises(FormatError) as error:
        serde(format_, columns)
    assert error.value.code == code


def test_protobuf_schema_may_be_a_descriptor_in_base64() -> None:
    """Confluent's Python client registers such; it says the same as the text."""
    text = (
        'syntax = "proto3"; import "confluent/type/decimal.proto"; package p;'
        " message M { optional int32 x = 1; oneof o { string a = 2; int64 b = 3; }"
        " map<string, double> m = 4; confluent.type.Decimal d = 5; }"
    )
    data = encoded(text, {})
    assert infer("PROTOBUF", data).columns == infer("PROTOBUF", text).columns
    assert encoded(data, {}) == data


def test_parameters_in_a_descriptor_are_read() -> None:
    """A decimal's digits are in an option that Protobuf's runtime does not know."""
    file = FileDescriptorProto(
        name="f", syntax="proto3", dependency=["confluent/type/decimal.proto"]
    )
    made = file.message_type.add(name="M").field.add(
        name="d", number=1, label=FieldDescriptorProto.LABEL_OPTIONAL,
        type_name=".confluent.type.Decimal",
    )  # fmt: skip
    entries = b"\x12\x0e\n\tprecision\x12\x014" + b"\x12\n\n\x05scale\x12\x012"
    made.options.ParseFromString(b"\x82\x44" + bytes([len(entries)]) + entries)
    data = b64encode(file.SerializeToString()).decode()
    assert infer("PROTOBUF", data).columns == (Field("D", DecimalType(4, 2)),)
