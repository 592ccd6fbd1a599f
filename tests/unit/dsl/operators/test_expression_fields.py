"""Expressions with fields that the type of the values does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from penstock import AvroSerde, KStream, Serdes, StreamsBuilder, col, key, left, right, struct, sum_
from penstock.errors import InvalidArgumentError


@dataclass
class Address:
    city: str


@dataclass
class Payment:
    user: str
    amount: int
    address: Address | None = None

    def __post_init__(self) -> None:
        self.cents = self.amount * 100

    @property
    def is_large(self) -> bool:
        return self.amount > 50


class Model(BaseModel):
    user: str
    amount: int


class Typed(TypedDict):
    user: str
    amount: int


AVRO = {
    "type": "record", "name": "Payment",
    "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": "long"}],
}  # fmt: skip


def payments(value: Any = Payment) -> KStream[Any, Any]:
    serde = value if isinstance(value, AvroSerde) else Serdes.json(value)
    return StreamsBuilder().stream("payments", key=str, value=serde)


OPERATORS: dict[str, Callable[[KStream[Any, Any]], object]] = {
    "filter": lambda s: s.filter(col("amuont") > 5),
    "filter_not": lambda s: s.filter_not(col("amuont") > 5),
    "map_values": lambda s: s.map_values(struct(n=col("amuont"))),
    "flat_map_values": lambda s: s.flat_map_values(col("amuont")),
    "select_key": lambda s: s.select_key(col("amuont")),
    "group_by": lambda s: s.group_by(col("amuont")),
    "aggregate": lambda s: s.group_by_key().aggregate(total=sum_(col("amuont"))),
    "single aggregate": lambda s: s.group_by(col("user")).aggregate(sum_(col("amuont") * 2)),
    "branch": lambda s: s.split().branch(col("amuont") > 5),
    "deduplicate": lambda s: s.deduplicate_by_key_value(col("amuont"), "1s"),
    "table filter": lambda s: s.to_table().filter(col("amuont") > 5),
    "table map_values": lambda s: s.to_table().map_values(col("amuont")),
    "join": lambda s: s.join(s.to_table(), struct(n=left["amuont"])),
    "join, right": lambda s: s.join(s.to_table(), struct(n=right["amuont"])),
    "foreign key": lambda s: s.to_table().join(s.to_table(), left, foreign_key=col("amuont")),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_misspelt_field_is_refused_with_the_nearest_one(operator: str) -> None:
    """A field that the type does not have would be None for every record."""
    with pytest.raises(InvalidArgumentError, match="did you mean 'amount'") as caught:
        OPERATORS[operator](payments())
    assert caught.value.code == "unknown-expression-field"


@pytest.mark.parametrize("value", [Model, Typed, AvroSerde(AVRO), AvroSerde(AVRO, Payment)])
def test_every_declared_type_knows_its_fields(value: Any) -> None:
    """Dataclasses, pydantic models, typed dicts and Avro schemas are the same to an expression."""
    payments(value).filter(col("amount") > 5)
    with pytest.raises(InvalidArgumentError, match="did you mean 'amount'"):
        payments(value).filter(col("amuont") > 5)


def test_nested_field_is_checked_through_an_optional_type() -> None:
    """The type of a member says which fields that member has."""
    payments().filter(col("address")["city"] == "Ulm")
    with pytest.raises(InvalidArgumentError, match="did you mean 'city'"):
        payments().filter(col("address")["ctiy"] == "Ulm")


def test_text_has_no_fields() -> None:
    """A forgotten serde of objects is found before the first record."""
    with pytest.raises(InvalidArgumentError, match="str does not have"):
        StreamsBuilder().stream("payments", value=str).filter(col("amount") > 5)
    with pytest.raises(InvalidArgumentError, match="str does not have"):
        payments().filter(key["user"] == "ann")


@pytest.mark.parametrize("name", ["is_large", "cents", "amount"])
def test_attributes_that_are_not_fields_are_accepted(name: str) -> None:
    """Properties, and what the code of the class sets, can be read as well."""
    payments().filter(col(name) > 0)


@pytest.mark.parametrize("value", [None, dict[str, int], Payment | dict[str, int]])
def test_values_that_may_have_any_field_are_not_checked(value: Any) -> None:
    """Without a declared type, only a record shows which fields it has."""
    payments(value).filter(col("amuont") > 5)
