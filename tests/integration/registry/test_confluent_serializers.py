"""Confluent's own serializers write what we read, and read what we write."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.protobuf_file import ProtoFile
from penstock.formats.rows import serde_for
from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from penstock.registry.registries import URL, registry_for
from penstock.registry.registry import MemoryRegistry, Schema, SchemaRegistry
from penstock.registry.registry_server import RegistryServer

for needed in ("attrs", "authlib", "cachetools"):
    pytest.importorskip(needed, reason="needs confluent-kafka[schemaregistry]")

from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: E402
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer  # noqa: E402
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

CONTEXT = SerializationContext("t", MessageField.VALUE)
COLUMNS = [
    Field("ID", BIGINT),
    Field("NAME", STRING),
    Field("PRICE", DecimalType(6, 2)),
    Field("AT", StructType((Field("X", DOUBLE), Field("TAGS", ArrayType(STRING))))),
]
ROW = (7, "ann", Decimal("1.50"), {"X": 0.5, "TAGS": ["a", None]})


@pytest.fixture
def url() -> Iterator[str]:
    with RegistryServer(MemoryRegistry()) as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    with SchemaRegistryClient({"url": url}) as made:
        yield made


@pytest.fixture
def registry(url: str) -> SchemaRegistry:
    return registry_for({URL: url})


def test_avro_that_we_write(client: Any, registry: SchemaRegistry) -> None:
    rows = serde_for("AVRO", COLUMNS, is_key=False, topic="t", registry=registry)
    names = [column.name for column in COLUMNS]
    read = AvroDeserializer(client)(rows.encode(ROW), CONTEXT)
    assert read == dict(zip(names, ROW, strict=True))


def test_avro_that_they_write(client: Any, registry: SchemaRegistry) -> None:
    """With the schema that we registered, down to the bytes; and with one of their own."""
    rows = serde_for("AVRO", COLUMNS, is_key=False, topic="t", registry=registry)
    data = rows.encode(ROW)
    names = [column.name for column in COLUMNS]
    record = dict(zip(names, ROW, strict=True))
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    assert AvroSerializer(client, conf=settings)(record, CONTEXT) == data
    own = '{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}'
    assert rows.decode(AvroSerializer(client, own)({"id": 3}, CONTEXT)) == (3, None, None, None)


def test_protobuf_in_both_directions(client: Any, registry: SchemaRegistry) -> None:
    protobuf = pytest.importorskip("confluent_kafka.schema_registry.protobuf")
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { string NAME = 1; }'
    registry.register("t-value", Schema("PROTOBUF", text))
    file = ProtoFile.parse(text, {})
    theirs = GetMessageClass(file.message("B"))
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    write = protobuf.ProtobufSerializer(theirs, client, settings)
    rows = serde_for(
        "PROTOBUF", [Field("NAME", STRING)], is_key=False, topic="t", registry=registry
    )
    data = write(theirs(NAME="ann"), CONTEXT)
    assert data is not None
    assert rows.decode(data) == ("ann",)
    ours = serde_for(
        "PROTOBUF", [Field("NAME", STRING)], is_key=False, topic="u", registry=registry
    )
    read = protobuf.ProtobufDeserializer(theirs, {}, client)
    assert read(ours.encode(("bob",)), CONTEXT).NAME == "bob"


def test_protobuf_schema_that_their_serializer_registers(
    client: Any, registry: SchemaRegistry
) -> None:
    protobuf = pytest.importorskip("confluent_kafka.schema_registry.protobuf")
    text = 'syntax = "proto3"; message M { int64 id = 1; repeated string tags = 2; }'
    theirs = GetMessageClass(ProtoFile.parse(text, {}).message(None))
    write = protobuf.ProtobufSerializer(theirs, client, {})
    data = write(theirs(id=7, tags=["a"]), CONTEXT)
    columns = [Field("TAGS", ArrayType(STRING)), Field("ID", BIGINT)]
    rows = serde_for("PROTOBUF", columns, is_key=False, topic="t", registry=registry)
    assert data is not None
    assert rows.decode(data) == (["a"], 7)


def test_json_in_both_directions(client: Any, registry: SchemaRegistry) -> None:
    """Their deserializer also checks that our JSON fits the schema that we registered."""
    json_schema = pytest.importorskip("confluent_kafka.schema_registry.json_schema")
    columns = [*COLUMNS, Field("M", MapType(STRING, BIGINT))]
    row = (*ROW, {"k": 1})
    rows = serde_for("JSON_SR", columns, is_key=False, topic="t", registry=registry)
    read = json_schema.JSONDeserializer(None, schema_registry_client=client)
    found = read(rows.encode(row), CONTEXT)
    assert (found["ID"], found["AT"], found["M"]) == (7, ROW[3], [{"key": "k", "value": 1}])
    own = '{"type":"object","title":"r","properties":{"id":{"type":"integer"}}}'
    write = json_schema.JSONSerializer(own, client)
    assert rows.decode(write({"id": 3}, CONTEXT)) == (3, None, None, None, None)
