"""Avro for programs of the DSL: values, classes, evolution.

Exercises ``avro_values``.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import pytest

from penstock import AvroSerde
from penstock.errors import SerializationError
from penstock.registry.registries import registry_of
from penstock.registry.registry import Schema, SchemaReference

_scopes = count()


def fresh() -> dict[str, Any]:
    return {"schema.registry.url": f"mock://avro-serde-{next(_scopes)}"}


def record(name: str, **fields: Any) -> dict[str, Any]:
    """A schema; a field is its type, or its type and its default."""
    members = [
        {"name": key, "type": kind[0], "default": kind[1]}
        if isinstance(kind, tuple)
        else {"name": key, "type": kind}
        for key, kind in fields.items()
    ]
    return {"type": "record", "name": name, "fields": members}


class Status(Enum):
    OPEN = "OPEN"
    PAID = "PAID"


@dataclass(frozen=True)
class Line:
    sku: str
    pieces: int = 1


@dataclass(frozen=True)
class Order:
    id: int
    status: Status
    total: Decimal
    at: datetime
    day: date
    ref: UUID
    raw: bytes
    note: str | None = None
    lines: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


ORDER = record(
    "Order",
    id="long",
    status={"type": "enum", "name": "Status", "symbols": ["OPEN", "PAID"]},
    total={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    at={"type": "long", "logicalType": "timestamp-millis"},
    day={"type": "int", "logicalType": "date"},
    ref={"type": "string", "logicalType": "uuid"},
    raw="bytes",
    note=(["null", "string"], None),
    lines={"type": "array", "items": record("Line", sku="string", pieces="int")},
    counts={"type": "map", "values": "long"},
)
VALUE = Order(
    7, Status.PAID, Decimal("12.50"), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), date(2026, 1, 2),
    UUID(int=5), b"\x00\xff", None, [Line("pen", 2)], {"a": 1},
)  # fmt: skip


def test_dataclass_comes_back_as_it_was() -> None:
    """With enums, logical types, nested classes, lists and maps."""
    serde = AvroSerde(ORDER, Order).configure(fresh())
    assert serde.deserialize("orders", serde.serialize("orders", VALUE)) == VALUE


def test_dict_has_logical_types_as_python_values() -> None:
    """What fastavro makes of them, as in Confluent's Python client."""
    settings = fresh()
    data = AvroSerde(ORDER, Order).configure(settings).serialize("orders", VALUE)
    serde = AvroSerde(ORDER).configure(settings)
    found = serde.deserialize("orders", data)
    assert (found["total"], found["at"], found["status"]) == (VALUE.total, VALUE.at, "PAID")
    assert serde.serialize("orders", found) == data


def test_dict_may_hold_objects() -> None:
    serde = AvroSerde(
        record("Basket", lines={"type": "array", "items": ORDER["fields"][8]["type"]["items"]})
    )
    ready = serde.configure(fresh())
    data = ready.serialize("baskets", {"lines": [Line("pen", 2)]})
    assert ready.deserialize("baskets", data) == {"lines": [{"sku": "pen", "pieces": 2}]}


class Pair(NamedTuple):
    a: int
    b: str


class Loose(TypedDict):
    a: int
    b: str


@pytest.mark.parametrize("value", [Pair(1, "x"), Loose(a=1, b="x")])
def test_other_classes_with_fields_work_too(value: Any) -> None:
    of = Pair if isinstance(value, Pair) else Loose
    serde = AvroSerde(record("Pair", a="long", b="string"), of).configure(fresh())
    assert serde.deserialize("t", serde.serialize("t", value)) == value


def test_pydantic_model_checks_what_is_read() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Line", sku=(str, ...), pieces=(int, pydantic.Field(gt=0)))
    settings, schema = fresh(), record("Line", sku="string", pieces="int")
    serde = AvroSerde(schema, model).configure(settings)
    data = serde.serialize("t", model(sku="pen", pieces=2))
    assert serde.deserialize("t", data) == model(sku="pen", pieces=2)
    bad = AvroSerde(schema).configure(settings).serialize("t", {"sku": "pen", "pieces": 0})
    with pytest.raises(ValueError, match="greater than 0"):
        serde.deserialize("t", bad)


@pytest.mark.parametrize(
    ("schema", "value"),
    [("string", "ünï"), ("long", -3), ('"bytes"', b"\0"), (["null", "int"], 4),
     ({"type": "array", "items": "double"}, [0.5])],
)  # fmt: skip
def test_schema_need_not_be_a_record(schema: Any, value: Any) -> None:
    """Keys often are plain text or numbers."""
    serde = AvroSerde(schema).configure(fresh(), is_key=True)
    assert serde.deserialize("t", serde.serialize("t", value)) == value


OLD = record("Order", id="int", gone="string", amount="float")


@pytest.mark.parametrize("of", [None, "class"])
def test_reader_schema_evolves_what_was_written(of: str | None) -> None:
    """Added fields have defaults, removed ones are left out, numbers are widened."""

    @dataclass
    class New:
        id: int
        amount: float
        currency: str

    settings = fresh()
    old = AvroSerde(OLD).configure(settings)
    data = old.serialize("orders", {"id": 1, "gone": "x", "amount": 0.5})
    new = record("Order", id="long", amount="double", currency=("string", "EUR"))
    serde = AvroSerde(new, New if of else None).configure(settings)
    wanted = {"id": 1, "amount": 0.5, "currency": "EUR"}
    assert serde.deserialize("orders", data) == (New(**wanted) if of else wanted)  # type: ignore[arg-type]
    assert old.deserialize("orders", data) == {"id": 1, "gone": "x", "amount": 0.5}


def test_schema_that_cannot_read_what_was_written_says_why() -> None:
    """A new field without a default: Avro calls that incompatible."""
    settings = fresh()
    data = (
        AvroSerde(OLD)
        .configure(settings)
        .serialize("orders", {"id": 1, "gone": "x", "amount": 0.5})
    )
    serde = AvroSerde(record("Order", id="long", added="string")).configure(settings)
    with pytest.raises(ValueError, match=r"not Avro of the schema: .*added"):
        serde.deserialize("orders", data)


def test_schema_with_references_is_read() -> None:
    """What the registry's schema imports is found there."""
    settings = fresh()
    registry = registry_of(settings)
    registry.register("line", Schema("AVRO", json.dumps(record("shop.Line", sku="string"))))
    order = Schema(
        "AVRO", json.dumps(record("shop.Order", line="shop.Line")),
        (SchemaReference("shop.Line", "line", 1),),
    )  # fmt: skip
    registry.register("orders-value", order)
    serde = AvroSerde().configure(settings)
    data = serde.serialize("orders", {"line": {"sku": "pen"}})
    assert serde.deserialize("orders", data) == {"line": {"sku": "pen"}}


@pytest.mark.parametrize("payload", [b"", b"\x80", b"\x02\xff"])
def test_broken_bytes_are_value_errors(payload: bytes) -> None:
    settings = fresh()
    serde = AvroSerde(record("R", a="long", b="string")).configure(settings)
    serde.serialize("t", {"a": 1, "b": "x"})
    with pytest.raises(ValueError, match="not Avro of the schema"):
        serde.decode(b"\0\0\0\0\1" + payload)


@pytest.mark.parametrize("value", [{"a": 1}, {"a": "x", "b": "x"}, {"a": 2**64, "b": ""}])
def test_value_that_does_not_fit_is_a_value_error(value: dict[str, Any]) -> None:
    """A field is missing, has another type, or is too large."""
    serde = AvroSerde(record("R", a="long", b="string")).configure(fresh())
    with pytest.raises(ValueError, match="not a value of the Avro schema"):
        serde.serialize("t", value)


def test_object_of_another_class_is_a_type_error() -> None:
    serde = AvroSerde(record("Line", sku="string", pieces="int"), Line).configure(fresh())
    with pytest.raises(TypeError, match="takes Line, got dict"):
        serde.serialize("t", {"sku": "pen", "pieces": 1})


def test_registry_schema_that_nobody_can_parse_is_an_error_of_the_record() -> None:
    settings = fresh()
    registry_of(settings).register("t-value", Schema("AVRO", '{"type":"riddle"}'))
    with pytest.raises(SerializationError) as caught:
        AvroSerde().configure(settings).decode(b"\0\0\0\0\1x")
    assert caught.value.code == "schema-mismatch"
