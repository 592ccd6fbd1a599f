"""Serdes that no program names: what a default serde that is set does to them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from penstock.errors import InvalidArgumentError
from penstock.serde.base import SerdeDefaults
from penstock.serde.change import ChangeSerde
from penstock.serde.columns import encode_all, same_bytes
from penstock.serde.inferred import (
    UNDECLARED,
    InferredSerde,
    TextOrJsonSerde,
    holds_inferred,
    inferred,
)
from penstock.serde.serdes import Serdes

UNSET = SerdeDefaults(Serdes.string(), Serdes.string(), is_key_set=False, is_value_set=False)
SET = SerdeDefaults(Serdes.string(), Serdes.bytes())
STRICT = SerdeDefaults(None, None)


@dataclass
class Order:
    amount: int


def test_inferred_serde_counts_if_no_default_is_set() -> None:
    """A default that is set wins; one set to None leaves the serde open, which is an error."""
    order = InferredSerde(Serdes.json(Order))
    assert order.with_defaults(UNSET) == Serdes.json(Order)
    assert order.with_defaults(SET) == Serdes.bytes()
    assert order.with_defaults(SET.of("key")) == Serdes.string()
    assert order.with_defaults(STRICT).is_open


def test_key_and_value_are_set_apart() -> None:
    """Setting one of both says nothing about the other."""
    half = SerdeDefaults(Serdes.string(), Serdes.bytes(), is_key_set=False)
    assert InferredSerde(Serdes.long()).with_defaults(half.of("key")) == Serdes.long()
    assert InferredSerde(Serdes.long()).with_defaults(half.of("value")) == Serdes.bytes()


def test_inner_serde_is_resolved_where_it_is_held() -> None:
    """A change on a repartition topic holds a value."""
    held = ChangeSerde(inferred(Serdes.long()))
    assert holds_inferred(held)
    assert not holds_inferred(ChangeSerde(Serdes.long()))
    assert held.with_defaults(UNSET) == ChangeSerde(Serdes.long())
    assert held.with_defaults(SET) == ChangeSerde(Serdes.bytes())


def test_inferred_serde_writes_and_reads_as_its_inner_one() -> None:
    """It is pickled with the topology."""
    serde = pickle.loads(pickle.dumps(InferredSerde(Serdes.long())))
    assert serde.deserialize("t", serde.serialize("t", 5)) == serde.decode(serde.encode(5)) == 5
    assert serde.layout == Serdes.long().layout
    assert inferred(serde) is serde
    assert inferred(None) is None
    with pytest.raises(InvalidArgumentError):
        InferredSerde(None).encode(1)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("text", b"text"),
        ('{"already": "JSON"}', b'{"already": "JSON"}'),
        (b"\xff", b"\xff"),
        ({"n": 1}, b'{"n":1}'),
        ([1, "a"], b'[1,"a"]'),
        (Order(3), b'{"amount":3}'),
    ],
)
def test_text_stays_text_and_objects_become_json(value: object, data: bytes) -> None:
    """One by one and over columns."""
    assert TextOrJsonSerde().encode(value) == data
    assert list(encode_all(TextOrJsonSerde(), [value])) == [data]


@pytest.mark.parametrize("value", [5, 1.5, True, Order])
def test_numbers_are_neither(value: object) -> None:
    """Eight bytes or digits: only the program can say it."""
    with pytest.raises(TypeError, match="a str"):
        TextOrJsonSerde().encode(value)


def test_text_that_was_read_needs_no_second_encoding() -> None:
    """Copies of text keep their bytes over columns, as with a declared serde."""
    assert same_bytes(Serdes.string(), TextOrJsonSerde())
    assert UNDECLARED.with_defaults(UNSET) == TextOrJsonSerde()
    assert UNDECLARED.with_defaults(SET) == Serdes.bytes()
