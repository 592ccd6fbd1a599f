"""Serdes with a schema registry: bytes, subjects, settings, errors, pickling.

Exercises ``formats.subjects`` and ``schema_registry``.
"""

import pickle
from itertools import count
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from penstock import AvroSerde, JsonSchemaSerde, ProtobufSerde, Serdes
from penstock.errors import (
    ConfigError,
    InvalidArgumentError,
    SerializationError,
    UnavailableError,
)
from penstock.formats.schema_serde import SchemaSerde
from penstock.registry.registries import registry_of
from penstock.registry.registry import RegistryError, Schema, SchemaRegistry
from penstock.registry.schemas import RegistryUnavailableError
from penstock.serde.base import SerdeDefaults

AVRO = '{"type":"record","name":"shop.Order","fields":[{"name":"id","type":"long"}]}'
JSON = '{"title":"shop.Order","type":"object","properties":{"id":{"type":"integer"}}}'
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; }'
_scopes = count()

SERDES = [AvroSerde(AVRO), JsonSchemaSerde(JSON), ProtobufSerde(PROTO)]
PAYLOADS = [b"\x0a", b'{"id":5}', b"\x00\x08\x05"]
TEXTS = [AVRO, JSON, PROTO]
every = pytest.mark.parametrize("serde", SERDES, ids=["avro", "json", "protobuf"])


@pytest.fixture
def settings() -> dict[str, Any]:
    """Settings with a registry that no other test has."""
    return {"schema.registry.url": f"mock://schema-serde-{next(_scopes)}"}


def registry_at(settings: dict[str, Any]) -> SchemaRegistry:
    return registry_of(settings)


@pytest.mark.parametrize(("serde", "payload"), [*zip(SERDES, PAYLOADS, strict=True)])
def test_record_is_a_zero_byte_the_id_and_the_payload(
    serde: SchemaSerde[Any], payload: bytes, settings: dict[str, Any]
) -> None:
    """Confluent's wire format, to the byte."""
    registry_at(settings).register("other", Schema("AVRO", '"int"'))
    ready = serde.configure(settings)
    assert ready.serialize("orders", {"id": 5}) == b"\0\0\0\0\2" + payload
    assert ready.deserialize("orders", b"\0\0\0\0\2" + payload) == {"id": 5}


@every
def test_none_is_a_tombstone(serde: SchemaSerde[Any], settings: dict[str, Any]) -> None:
    """No schema is registered for it."""
    ready = serde.configure(settings)
    assert ready.serialize("orders", None) is None
    assert ready.deserialize("orders", None) is None
    assert registry_at(settings).subjects() == []


@every
@pytest.mark.parametrize(
    ("strategy", "subjects"),
    [
        (None, ["orders-key", "orders-value"]),
        ("TopicNameStrategy", ["orders-key", "orders-value"]),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", ["shop.Order"]),
        ("TopicRecordNameStrategy", ["orders-shop.Order"]),
        (lambda topic, is_key, record: f"{record} of {topic}", ["shop.Order of orders"]),
    ],
)
def test_strategy_names_the_subject(
    serde: SchemaSerde[Any], strategy: Any, subjects: list[str], settings: dict[str, Any]
) -> None:
    """The schema is registered when the first record is written."""
    if strategy is not None:
        settings |= {"key.subject.name.strategy": strategy, "value.subject.name.strategy": strategy}
    serde.configure(settings, is_key=True).serialize("orders", {"id": 5})
    serde.configure(settings).serialize("orders", {"id": 5})
    assert registry_at(settings).subjects() == subjects


def test_strategy_by_record_needs_a_name(settings: dict[str, Any]) -> None:
    """A schema without a name has no subject of its own."""
    settings["value.subject.name.strategy"] = "RecordNameStrategy"
    serde = JsonSchemaSerde({"type": "object"}).configure(settings)
    with pytest.raises(SerializationError, match="RecordNameStrategy needs one"):
        serde.serialize("orders", {})


@every
def test_without_registering_the_subject_must_have_the_schema(
    serde: SchemaSerde[Any], settings: dict[str, Any]
) -> None:
    """The error says which subject lacks it; once it is there, records can be written."""
    settings["auto.register.schemas"] = False
    ready = serde.configure(settings)
    with pytest.raises(SerializationError, match="'orders-value'") as caught:
        ready.serialize("orders", {"id": 5})
    assert caught.value.code == "schema-not-registered"
    assert registry_at(settings).subjects() == []
    serde.configure({**settings, "auto.register.schemas": "true"}).serialize("orders", {"id": 5})
    assert ready.deserialize("orders", ready.serialize("orders", {"id": 5})) == {"id": 5}


@pytest.mark.parametrize("made", [AvroSerde, JsonSchemaSerde, ProtobufSerde])
def test_serde_without_a_schema_uses_the_newest_of_the_subject(
    made: type[SchemaSerde[Any]], settings: dict[str, Any]
) -> None:
    """It reads what others wrote, and writes as they do."""
    ready = made().configure(settings)
    with pytest.raises(SerializationError, match=r"'orders-value' .* has no schema"):
        ready.serialize("orders", {"id": 5})
    text = dict(zip((AvroSerde, JsonSchemaSerde, ProtobufSerde), TEXTS, strict=True))[made]
    schema_id = registry_at(settings).register("orders-value", Schema(made.kind, text))
    data = ready.serialize("orders", {"id": 5})
    assert data is not None
    assert data[4] == schema_id
    assert ready.deserialize("orders", data) == {"id": 5}


@every
def test_newest_version_is_used_if_wanted(
    serde: SchemaSerde[Any], settings: dict[str, Any]
) -> None:
    """``use.latest.version`` leaves the serde's own schema unregistered."""
    text = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTO}[serde.kind].replace('"id"', '"id" ')
    text = text.replace("id = 1;", "id = 1; string note = 2;")
    schema_id = registry_at(settings).register("orders-value", Schema(serde.kind, text))
    data = serde.configure({**settings, "use.latest.version": True}).serialize("orders", {"id": 5})
    assert data is not None
    assert data[4] == schema_id
    assert registry_at(settings).latest("orders-value").version == 1  # type: ignore[union-attr]


@every
def test_unknown_id_is_an_error_of_the_record(
    serde: SchemaSerde[Any], settings: dict[str, Any]
) -> None:
    with pytest.raises(SerializationError, match="no schema with id 99") as caught:
        serde.configure(settings).decode(b"\0\0\0\0\x63rest")
    assert caught.value.code == "unknown-schema"


@every
def test_schema_of_another_language_is_refused(
    serde: SchemaSerde[Any], settings: dict[str, Any]
) -> None:
    other = "AVRO" if serde.kind != "AVRO" else "JSON"
    registry_at(settings).register("orders-value", Schema(other, '{"type":"string"}'))  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match=f"language of {other}, not of {serde.kind}"):
        serde.configure(settings).decode(b"\0\0\0\0\1rest")


@every
@pytest.mark.parametrize("data", [b"", b"\0\0\0\1", b'{"id":5}'])
def test_record_without_an_id_is_refused(serde: SchemaSerde[Any], data: bytes) -> None:
    """Somebody wrote it without a registry."""
    with pytest.raises(ValueError, match="zero byte and a schema id"):
        serde.decode(data)


@pytest.mark.parametrize("serde", [SERDES[0], SERDES[2]], ids=["avro", "protobuf"])
def test_wrong_class_is_a_type_error(serde: SchemaSerde[Any], settings: dict[str, Any]) -> None:
    """The program is wrong then, not the data: no handler may skip it."""
    with pytest.raises(TypeError, match="got int 5"):
        serde.configure(settings).serialize("orders", 5)


@every
def test_missing_registry_is_an_error_of_the_configuration(serde: SchemaSerde[Any]) -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url"):
        serde.serialize("orders", {"id": 5})


class _Away:
    """A registry that cannot be reached, or that refuses everything."""

    def __init__(self, error: RegistryError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any) -> Any:
            raise self._error

        return fail


@every
def test_registry_that_is_away_is_no_error_of_a_record(
    serde: SchemaSerde[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No handler is asked: skipping all records while a server is down would lose them."""
    error = RegistryUnavailableError("registry-unavailable", "cannot be asked")
    monkeypatch.setattr("penstock.formats.schema_serde.registry_of", lambda _: _Away(error))
    with pytest.raises(UnavailableError):
        serde.configure({}).decode(b"\0\0\0\0\1")
    with pytest.raises(UnavailableError):
        serde.configure({}).serialize("orders", {"id": 5})


@every
def test_schema_that_the_registry_refuses_names_the_topic(
    serde: SchemaSerde[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incompatible schema, say: the error is one of the record, with the registry's words."""
    error = RegistryError("registry-refused", "the schema is incompatible with version 3")
    monkeypatch.setattr("penstock.formats.schema_serde.registry_of", lambda _: _Away(error))
    with pytest.raises(SerializationError, match=r"'orders'.*incompatible with version 3"):
        serde.configure({}).serialize("orders", {"id": 5})


@every
@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_serde_travels_to_workers(
    serde: SchemaSerde[Any], pickler: Any, settings: dict[str, Any]
) -> None:
    """A copy has the settings and asks the registry anew."""
    ready = serde.configure(settings, is_key=True)
    ready.serialize("orders", {"id": 5})
    copy = pickle.loads(pickler.dumps(ready))
    assert (copy, hash(copy)) == (ready, hash(ready))
    assert copy.serialize("payments", {"id": 5}) == ready.serialize("payments", {"id": 5})
    assert "payments-key" in registry_at(settings).subjects()


def test_equal_schemas_make_equal_serdes() -> None:
    """However they were written: text and dict are the same schema."""
    assert AvroSerde('{"type": "array", "items": "int"}') == AvroSerde(
        {"type": "array", "items": "int"}
    )
    assert AvroSerde("int") != AvroSerde("long")
    assert AvroSerde("int") != JsonSchemaSerde({})
    assert AvroSerde("int") != AvroSerde("int").configure({}, is_key=True)


def test_representation_has_no_password() -> None:
    serde = AvroSerde("int", config={"basic.auth.user.info": "me:secret"})
    assert repr(serde) == "AvroSerde('\"int\"')"


def test_settings_of_the_serde_win_over_the_application(settings: dict[str, Any]) -> None:
    own = {"schema.registry.url": f"mock://schema-serde-{next(_scopes)}"}
    serde = AvroSerde("int", config=own).with_defaults(SerdeDefaults(configs=settings))
    serde.serialize("t", 1)
    assert (registry_at(own).subjects(), registry_at(settings).subjects()) == (["t-value"], [])


def test_serde_inside_another_one_is_configured(settings: dict[str, Any]) -> None:
    """The holder hands the application's settings on."""
    serde = Serdes.list_(AvroSerde("int")).with_defaults(SerdeDefaults(configs=settings))
    data = serde.serialize("t", [1, None, 2])
    assert serde.deserialize("t", data) == [1, None, 2]


def test_encoding_needs_a_topic() -> None:
    """The topic names the subject."""
    with pytest.raises(TypeError, match=r"call serialize\(topic, value\)"):
        AvroSerde("int").encode(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AvroSerde('{"type":'),
        lambda: AvroSerde({"type": "record", "name": "R", "fields": [{"name": "x", "type": "y"}]}),
        lambda: JsonSchemaSerde("[1]"),
        lambda: ProtobufSerde("message {"),
        lambda: ProtobufSerde(PROTO, "shop.Payment"),
        lambda: ProtobufSerde(int),
        lambda: ProtobufSerde('import "other.proto"; message M {}'),
    ],
)
def test_bad_schema_is_refused_where_the_serde_is_made(make: Any) -> None:
    """Not on a worker, by the first record."""
    with pytest.raises(InvalidArgumentError) as caught:
        make()
    assert (caught.value.code, "test_schema_serde" in str(caught.value.at)) == ("bad-schema", True)


def test_schema_may_be_in_a_file(tmp_path: Path, settings: dict[str, Any]) -> None:
    """The file is read once: workers need not have it."""
    for name, serde, text in (
        ("order.avsc", AvroSerde, AVRO),
        ("order.json", JsonSchemaSerde, JSON),
        ("order.proto", ProtobufSerde, PROTO),
    ):
        path = tmp_path / name
        path.write_text(text)
        made = serde(path)  # type: ignore[operator]
        path.unlink()
        assert pickle.loads(pickle.dumps(made)) == serde(text)  # type: ignore[operator]
