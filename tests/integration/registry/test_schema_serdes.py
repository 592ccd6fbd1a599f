"""Serdes of the DSL with a registry over HTTP, and with Confluent's own serializers."""

from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

import penstock as ps
from penstock.errors import SerializationError, UnavailableError
from penstock.registry.registry import MemoryRegistry
from penstock.registry.registry_server import RegistryServer
from penstock.testing import TopologyTestDriver
from tests.integration.registry.test_command import running
from tests.unit.formats.protobuf.generated import Line, Note, Order

for needed in ("attrs", "authlib", "cachetools"):
    pytest.importorskip(needed, reason="needs confluent-kafka[schemaregistry]")

from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: E402
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer  # noqa: E402
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

VALUE = SerializationContext("orders", MessageField.VALUE)
AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "user", "type": ["null", "string"]}],
}
JSON = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string user = 2; }'


@pytest.fixture
def url() -> Iterator[str]:
    with RegistryServer(MemoryRegistry()) as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    with SchemaRegistryClient({"url": url}) as made:
        yield made


def test_avro_in_both_directions(client: Any, url: str) -> None:
    """The same schema has the same id, and the bytes are equal."""
    serde = ps.AvroSerde(AVRO).configure({"schema.registry.url": url})
    value = {"id": 5, "user": "ann"}
    data = serde.serialize("orders", value)
    assert data is not None
    assert AvroDeserializer(client)(data, VALUE) == value
    own = serde._arguments()[0]
    assert AvroSerializer(client, own)(value, VALUE) == data


def test_json_in_both_directions(client: Any, url: str) -> None:
    theirs = pytest.importorskip("confluent_kafka.schema_registry.json_schema")
    serde = ps.JsonSchemaSerde(JSON).configure({"schema.registry.url": url})
    data = serde.serialize("orders", {"id": 5})
    read = theirs.JSONDeserializer(None, schema_registry_client=client)
    assert read(data, VALUE) == {"id": 5}
    written = theirs.JSONSerializer(serde._arguments()[0], client)({"id": 6}, VALUE)
    assert serde.deserialize("orders", written) == {"id": 6}


@pytest.mark.parametrize("message", [Line(sku="pen"), Order(id=5), Note(text="hi")])
def test_protobuf_classes_in_both_directions(client: Any, url: str, message: Any) -> None:
    """Schemas, imported files and the place of the message are as theirs, to the byte."""
    theirs = pytest.importorskip("confluent_kafka.schema_registry.protobuf")
    serde = ps.ProtobufSerde(type(message)).configure({"schema.registry.url": url})
    data = serde.serialize("orders", message)
    assert theirs.ProtobufDeserializer(type(message), {}, client)(data, VALUE) == message
    assert theirs.ProtobufSerializer(type(message), client, {})(message, VALUE) == data


def test_missing_schema_is_told_apart_from_a_registry_that_is_away(url: str) -> None:
    serde = ps.AvroSerde(AVRO).configure({"schema.registry.url": url})
    with pytest.raises(SerializationError, match="no schema with id 99"):
        serde.decode(b"\0\0\0\0\x63x")
    away = {"schema.registry.url": "http://127.0.0.1:9", "schema.registry.max.retries": 0}
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9 cannot be asked"):
        ps.AvroSerde(AVRO).configure(away).decode(b"\0\0\0\0\1x")


def test_lookup_over_http(url: str) -> None:
    settings = {"schema.registry.url": url, "auto.register.schemas": False}
    strict = ps.AvroSerde(AVRO).configure(settings)
    with pytest.raises(SerializationError, match="'orders-value'"):
        strict.serialize("orders", {"id": 5, "user": None})
    free = ps.AvroSerde(AVRO).configure({"schema.registry.url": url})
    data = free.serialize("orders", {"id": 5, "user": None})
    assert strict.serialize("orders", {"id": 5, "user": None}) == data


class _Guarded(BaseHTTPRequestHandler):
    """A registry that has one schema, for those who log in."""

    def do_GET(self) -> None:
        wanted = "Basic " + b64encode(b"me:secret").decode()
        is_known = self.headers.get("Authorization") == wanted
        body = b'{"schema":"\\"long\\""}' if is_known else b'{"error_code":401,"message":"no"}'
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def guarded() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Guarded) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["basic.auth.user.info", "schema.registry.basic.auth.user.info"])
def test_basic_login(guarded: str, name: str) -> None:
    """A wrong password is nobody's record's fault, so no handler may skip records for it."""
    serde = ps.AvroSerde()
    java = {"basic.auth.credentials.source": "USER_INFO"}
    settings = {"schema.registry.url": guarded, name: "me:secret", **java}
    assert serde.configure(settings).decode(b"\0\0\0\0\1\x0a") == 5
    with pytest.raises(UnavailableError, match="refuses the login"):
        serde.configure({**settings, name: "me:wrong"}).decode(b"\0\0\0\0\1\x0a")


def _program() -> ps.Topology:
    builder = ps.StreamsBuilder()
    orders = builder.stream("orders", key=str, value=ps.AvroSerde(AVRO))
    by_user = orders.select_key(lambda _, order: order["user"])
    by_user.to("by-user", key=str, value=ps.ProtobufSerde(PROTO))
    return builder.build()


@pytest.mark.kafka
def test_program_with_the_registry_of_the_command(kafka_broker: str) -> None:
    """``penstock registry`` serves the schemas of a topology over HTTP."""
    options = ("--bootstrap", kafka_broker, "--port", "0", "--topic", "registry-of-serdes")
    with running(*options) as registry:
        settings = {"schema.registry.url": registry["url"]}
        with TopologyTestDriver(_program(), settings) as driver:
            driver.pipe("orders", ("1", {"id": 5, "user": "ann"}))
            assert driver.read_map("by-user") == {"ann": {"id": 5, "user": "ann"}}
        with SchemaRegistryClient({"url": registry["url"]}) as client:
            assert client.get_subjects() == ["by-user-value", "orders-value"]
