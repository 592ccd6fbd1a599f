"""Serdes with a schema registry in programs of the DSL, on both engines of the test driver."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

import penstock as ps
from penstock.errors import SerializationError, StreamsError, UnavailableError
from penstock.registry.registries import registry_of
from penstock.registry.registry import Schema
from penstock.registry.schemas import RegistryUnavailableError
from penstock.testing import TopologyTestDriver

_scopes = count()
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": "long"}],
}
KEY = {"type": "record", "name": "OrderKey", "fields": [{"name": "id", "type": "long"}]}
JSON = {"title": "Order", "type": "object"}
PROTO = 'syntax = "proto3"; message Order { string user = 1; int64 amount = 2; }'

Driver = Callable[..., TopologyTestDriver]


@dataclass(frozen=True)
class Order:
    user: str
    amount: int


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"schema.registry.url": f"mock://topologies-{next(_scopes)}"}


@pytest.fixture(params=["records", "columns"])
def driver(request: pytest.FixtureRequest, settings: dict[str, Any]) -> Iterator[Driver]:
    made: list[TopologyTestDriver] = []

    def start(builder: ps.StreamsBuilder, **more: Any) -> TopologyTestDriver:
        config = {**settings, **more}
        made.append(TopologyTestDriver(builder.build(), config, engine=request.param))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.mark.parametrize(
    "serde",
    [ps.AvroSerde(AVRO), ps.JsonSchemaSerde(JSON), ps.ProtobufSerde(PROTO)],
    ids=["avro", "json", "protobuf"],
)
def test_values_go_through_source_repartition_store_and_sink(
    serde: Any, driver: Driver, settings: dict[str, Any]
) -> None:
    """Each topic has a subject of its own, as in Java; the store's changelog, too."""
    builder = ps.StreamsBuilder()
    orders = builder.stream("orders", key=str, value=serde)
    orders.group_by(lambda _, order: order["user"], key=str, value=serde).reduce(
        lambda one, other: {**one, "amount": one["amount"] + other["amount"]},
        materialized=ps.Materialized(name="sums", key=str, value=serde),
    ).to_stream().to("sums", key=str, value=serde)
    app = driver(builder, **{"application.id": "shop"})
    records = [("1", {"user": "ann", "amount": 3}), ("2", {"user": "ann", "amount": 4})]
    app.pipe_batch({"orders": records})
    assert app.read_map("sums") == {"ann": {"user": "ann", "amount": 7}}
    assert {s.removesuffix("-value") for s in registry_of(settings).subjects()} == {
        "orders", "shop-sums-changelog", "shop-sums-repartition", "sums",
    }  # fmt: skip


def test_keys_have_subjects_of_their_own(driver: Driver, settings: dict[str, Any]) -> None:
    """The same serde knows from its place whether it writes keys; in windowed keys as well."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key=ps.AvroSerde(KEY), value=ps.AvroSerde("long"))
    windows = ps.TimeWindows.of_size_with_no_grace("10s")
    table = stream.group_by_key().windowed_by(windows).count("counts")
    key_serde = ps.WindowedSerdes.time_windowed(ps.AvroSerde(KEY), "10s")
    table.to_stream().to("out", key=key_serde, value=ps.AvroSerde("long"))
    app = driver(builder, **{"application.id": "shop"})
    app.pipe("in", ({"id": 1}, 5, 12_000))
    ((key, value),) = app.read_key_values("out")
    assert (key.key, key.start, value) == ({"id": 1}, 10_000, 1)
    assert registry_of(settings).subjects() == [
        "in-key", "in-value", "out-key", "out-value", "shop-counts-changelog-key",
    ]  # fmt: skip


def test_objects_of_a_class_reach_the_functions(driver: Driver) -> None:
    builder = ps.StreamsBuilder()
    serde = ps.AvroSerde(AVRO, Order)
    stream = builder.stream("orders", key=str, value=serde)
    stream.filter(lambda _, order: order is not None and order.amount > 3).to(
        "large", key=str, value=serde
    )
    app = driver(builder)
    app.pipe("orders", ("1", Order("ann", 3)), ("2", Order("bob", 4)), ("3", None))
    assert app.read_key_values("large") == [("2", Order("bob", 4))]


def test_default_serdes_are_configured_too(driver: Driver, settings: dict[str, Any]) -> None:
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    serdes = {"default.key.serde": ps.AvroSerde("int"), "default.value.serde": ps.AvroSerde(AVRO)}
    app = driver(builder, **serdes)
    app.pipe("in", (1, {"user": "ann", "amount": 3}))
    assert app.read_key_values("out") == [(1, {"user": "ann", "amount": 3})]
    assert registry_of(settings).subjects() == ["in-key", "in-value", "out-key", "out-value"]


def test_test_topics_take_serdes_of_their_own(driver: Driver, settings: dict[str, Any]) -> None:
    """A producer with an older schema writes; the program reads with its own."""
    builder = ps.StreamsBuilder()
    newer = {
        **AVRO,
        "fields": [*AVRO["fields"], {"name": "note", "type": "string", "default": "-"}],
    }  # type: ignore[misc]
    stream = builder.stream("orders", key=str, value=ps.AvroSerde(newer))
    stream.to("out", key=str, value=ps.AvroSerde(newer))
    app = driver(builder)
    app.create_input_topic("orders", str, ps.AvroSerde(AVRO)).pipe_input(
        "1", {"user": "ann", "amount": 3}
    )
    out = app.create_output_topic("out", str, ps.AvroSerde(newer))
    assert out.read_value() == {"user": "ann", "amount": 3, "note": "-"}


def copying(builder: ps.StreamsBuilder) -> None:
    stream = builder.stream("orders", key=str, value=ps.AvroSerde(AVRO))
    stream.to("out", key=str, value=ps.AvroSerde(AVRO))


BAD = {
    "no id": b'{"user":"ann"}',
    "unknown id": b"\0\0\0\0\x63rest",
    "another language": b"\0\0\0\0\1rest",
    "incompatible schema": b"\0\0\0\0\2\x02x",
    "cut off": b"\0\0\0\0\3\x06an",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_record_that_cannot_be_read_goes_to_the_handler(
    data: bytes, driver: Driver, settings: dict[str, Any]
) -> None:
    """The handler may skip it, and says so; by default the application stops with the reason."""
    registry = registry_of(settings)
    registry.register("json", Schema("JSON", "{}"))
    other = '{"type":"record","name":"Order","fields":[{"name":"x","type":"string"}]}'
    registry.register("other", Schema("AVRO", other))
    builder = ps.StreamsBuilder()
    copying(builder)
    asked: list[Exception] = []

    def skip(context: ps.ErrorHandlerContext, record: Any, error: Exception) -> Any:
        asked.append(error)
        return ps.CONTINUE

    app = driver(builder, **{"deserialization.exception.handler": skip})
    app.pipe("orders", ("1", {"user": "ann", "amount": 1}))
    app.pipe_bytes("orders", b"2", data, 0)
    app.pipe("orders", ("3", {"user": "ann", "amount": 3}))
    assert [key for key, _ in app.read_key_values("out")] == ["1", "3"]
    assert isinstance(asked[0], SerializationError | ValueError)
    failing = driver(builder)
    with pytest.raises(StreamsError, match="cannot decode a record"):
        failing.pipe_bytes("orders", b"2", data, 0)


def test_registry_that_is_away_stops_the_application(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No handler is asked: every record would be skipped while the registry is down."""

    class Away:
        def by_id(self, schema_id: int) -> Schema:
            raise RegistryUnavailableError("registry-unavailable", "cannot be asked")

    monkeypatch.setattr("penstock.formats.schema_serde.registry_of", lambda _: Away())
    builder = ps.StreamsBuilder()
    copying(builder)
    app = driver(builder, **{"deserialization.exception.handler": "continue"})
    with pytest.raises(UnavailableError):
        app.pipe_bytes("orders", b"1", b"\0\0\0\0\1x", 0)


def test_registry_that_is_away_is_no_error_of_a_store(
    driver: Driver, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch runs again later; a store whose serde does not fit would stop for good."""
    builder = ps.StreamsBuilder()
    stored = ps.Materialized(name="latest", key=str, value=ps.AvroSerde("long"))
    builder.stream("in", key=str, value=int).to_table(stored)
    app = driver(builder)

    class Away:
        def register(self, subject: str, schema: Schema) -> int:
            raise RegistryUnavailableError("registry-unavailable", "cannot be asked")

    monkeypatch.setattr("penstock.formats.schema_serde.registry_of", lambda _: Away())
    with pytest.raises(StreamsError, match="cannot be asked") as caught:
        app.pipe("in", ("1", 5))
    assert caught.value.code == "registry-unavailable"


def test_value_that_does_not_fit_goes_to_the_production_handler(driver: Driver) -> None:
    """A wrong class is a mistake in the program: that one is never skipped."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key=str, value="json")
    stream.to("out", key=str, value=ps.AvroSerde(AVRO))
    app = driver(builder, **{"production.exception.handler": "continue"})
    app.pipe("in", ("1", {"user": "ann"}), ("2", {"user": "ann", "amount": 1}))
    assert [key for key, _ in app.read_key_values("out")] == ["2"]
    with pytest.raises(StreamsError, match="AvroSerde"):
        app.pipe("in", ("3", 5))


def test_missing_registry_setting_names_the_setting() -> None:
    builder = ps.StreamsBuilder()
    copying(builder)
    with (
        TopologyTestDriver(builder.build()) as app,
        pytest.raises(ps.errors.PenstockError, match=r"schema\.registry\.url"),
    ):
        app.pipe("orders", ("1", {"user": "ann", "amount": 1}))
