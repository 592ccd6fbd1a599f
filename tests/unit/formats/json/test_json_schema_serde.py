"""JSON with a registered JSON Schema for programs of the DSL.

Exercises ``json_schema_values``.
"""

from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from penstock import JsonSchemaSerde
from penstock.errors import ConfigError
from penstock.registry.registries import registry_of
from penstock.registry.registry import Schema, SchemaReference

_scopes = count()
SCHEMA = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "total": {"type": "string"}},
    "required": ["id"],
}


def fresh(**more: Any) -> dict[str, Any]:
    return {"schema.registry.url": f"mock://json-schema-serde-{next(_scopes)}", **more}


@dataclass(frozen=True)
class Order:
    id: int
    total: Decimal = Decimal(0)


def test_dataclass_comes_back_as_it_was() -> None:
    serde = JsonSchemaSerde(SCHEMA, Order).configure(fresh())
    value = Order(5, Decimal("1.50"))
    data = serde.serialize("orders", value)
    assert data == b'\0\0\0\0\1{"id":5,"total":"1.50"}'
    assert serde.deserialize("orders", data) == value


def test_missing_member_takes_its_default() -> None:
    """That is how a record of an older schema is read."""
    settings = fresh()
    data = JsonSchemaSerde(SCHEMA).configure(settings).serialize("orders", {"id": 5, "gone": 1})
    assert JsonSchemaSerde(SCHEMA, Order).configure(settings).deserialize("orders", data) == Order(
        5
    )


def test_record_that_the_class_cannot_hold_is_a_value_error() -> None:
    settings = fresh()
    data = JsonSchemaSerde(SCHEMA).configure(settings).serialize("orders", {"id": "five"})
    with pytest.raises(ValueError, match=r"\$\.id: expected an integer"):
        JsonSchemaSerde(SCHEMA, Order).configure(settings).deserialize("orders", data)


def test_values_are_checked_against_the_schema_if_wanted() -> None:
    """In both directions, with the place that does not fit."""
    pytest.importorskip("jsonschema")
    settings = fresh()
    loose = JsonSchemaSerde(SCHEMA).configure(settings)
    strict = JsonSchemaSerde(SCHEMA).configure({**settings, "json.fail.invalid.schema": True})
    with pytest.raises(ValueError, match=r"\$\.id: 'five' is not of type 'integer'"):
        strict.serialize("orders", {"id": "five"})
    bad, good = loose.serialize("orders", {"id": "five"}), strict.serialize("orders", {"id": 5})
    with pytest.raises(ValueError, match=r"\$\.id"):
        strict.deserialize("orders", bad)
    assert strict.deserialize("orders", good) == {"id": 5}


def test_check_follows_references_of_the_registry() -> None:
    pytest.importorskip("jsonschema")
    settings = fresh(**{"json.fail.invalid.schema": True})
    registry = registry_of(settings)
    registry.register("line", Schema("JSON", '{"type":"object","required":["sku"]}'))
    order = Schema(
        "JSON", '{"type":"object","properties":{"line":{"$ref":"line.json"}}}',
        (SchemaReference("line.json", "line", 1),),
    )  # fmt: skip
    registry.register("orders-value", order)
    serde = JsonSchemaSerde().configure(settings)
    assert serde.serialize("orders", {"line": {"sku": "pen"}}) is not None
    with pytest.raises(ValueError, match="'sku' is a required property"):
        serde.serialize("orders", {"line": {}})


def test_check_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("penstock.formats.json.json_schema_values.import_module", missing)
    serde = JsonSchemaSerde(SCHEMA).configure(fresh(**{"json.fail.invalid.schema": True}))
    with pytest.raises(ConfigError, match="needs the package 'jsonschema'"):
        serde.serialize("orders", {"id": 5})


def test_pydantic_model_brings_its_own_schema() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Payment", id=(int, ...))
    settings = fresh(**{"value.subject.name.strategy": "RecordNameStrategy"})
    serde = JsonSchemaSerde(of=model).configure(settings)
    data = serde.serialize("payments", model(id=3))
    assert serde.deserialize("payments", data) == model(id=3)
    assert registry_of(settings).subjects() == ["Payment"]


def test_text_that_is_no_json_is_a_value_error() -> None:
    settings = fresh()
    serde = JsonSchemaSerde(SCHEMA).configure(settings)
    serde.serialize("orders", {"id": 1})
    with pytest.raises(ValueError, match="not JSON"):
        serde.decode(b"\0\0\0\0\1{")
