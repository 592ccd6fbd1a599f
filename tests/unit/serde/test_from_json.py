"""JSON into declared types: what is taken, what is refused, and where it says so.

Exercises ``json_readers``.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict
from uuid import UUID

import pytest

from penstock.errors import InvalidArgumentError
from penstock.serde.json import TypedJsonSerde

Cents = NewType("Cents", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Item:
    sku: str
    quantity: int = 1


@dataclass
class Order:
    id: UUID
    items: list[Item]
    placed: datetime
    total: Decimal
    colour: Colour
    note: str | None = None
    tags: set[str] = field(default_factory=set)
    size: tuple[int, float] = (0, 0.0)
    counts: dict[int, Item] = field(default_factory=dict)
    levels: dict[Level, date] = field(default_factory=dict)
    raw: bytes = b""
    line_count: int = field(init=False, default=0)


@dataclass
class Tree:
    name: str
    children: list["Tree"] = field(default_factory=list)
    parent: Optional["Tree"] = None


class Point(NamedTuple):
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


@dataclass
class Private:
    _secret: int


@dataclass
class Odd:
    thing: complex


ORDER = Order(
    id=UUID(int=7),
    items=[Item("a", 2), Item("b")],
    placed=datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
    total=Decimal("12.30"),
    colour=Colour.BLUE,
    tags={"x", "y"},
    size=(1, 2.0),
    counts={5: Item("c")},
    levels={Level.HIGH: date(2024, 1, 1)},
    raw=b"\x00\x01",
)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Order, ORDER),
        (Tree, Tree("root", [Tree("leaf", parent=Tree("other"))])),
        (list[Item], [Item("a")]),
        (dict[str, Item | None], {"a": Item("a"), "b": None}),
        (Point, Point(1, 2)),
        (Movie, {"title": "Alien", "year": 1979}),
        (Movie, {"title": "Alien"}),
        (tuple[int, ...], (1, 2, 3)),
        (frozenset[Colour], frozenset({Colour.RED})),
        (Literal["a", 1], 1),
        (Annotated[int, "cents"], 5),
        (Cents, Cents(5)),
        (int | float | str, 5),
        (int | float | str, 5.0),
        (dict[str, Any], {"a": [1, {"b": None}]}),
        (dict[UUID, float], {UUID(int=1): 2.0}),
        (dict[float, int], {1.5: 2}),
        (int, 2**70),
        (Item, Item("ä", 2**70)),
        (Decimal, Decimal("0.1")),
        (list, [1, "a"]),
        (tuple, (1, "a")),
    ],
)
def test_value_of_a_declared_type_comes_back(declared: Any, value: Any) -> None:
    """The type, not the text, decides what is read."""
    serde = TypedJsonSerde(declared)
    decoded = serde.decode(serde.encode(value))
    assert decoded == value
    assert type(decoded) is type(value)


def test_nested_values_have_their_declared_classes() -> None:
    """Equal is not enough: an item is an Item, a total is a Decimal."""
    serde = TypedJsonSerde(Order)
    order = serde.decode(serde.encode(ORDER))
    assert type(order.items[0]) is Item
    assert type(order.counts[5]) is Item
    assert type(next(iter(order.levels))) is Level
    assert type(order.total) is Decimal


def test_missing_members_take_their_defaults_and_unknown_ones_are_left_out() -> None:
    """Producers may be older or newer than the class."""
    assert TypedJsonSerde(Item).decode(b'{"sku":"a","colour":"red"}') == Item("a", 1)


def test_number_is_taken_for_decimal_and_float() -> None:
    """Other producers write decimals as numbers, and whole floats without a point."""
    assert TypedJsonSerde(Decimal).decode(b"0.1") == Decimal("0.1")
    assert TypedJsonSerde(list[float]).decode(b"[1]") == [1.0]


@pytest.mark.parametrize(
    ("declared", "data", "message"),
    [
        (Item, "[]", "at $: expected an object for Item, got []"),
        (Item, "{}", "at $: member 'sku' of Item is missing"),
        (Item, '{"sku":5}', "at $.sku: expected text, got 5"),
        (Item, '{"sku":"a","quantity":true}', "at $.quantity: expected an integer, got True"),
        (list[Item], '[{"sku":"a"},{"sku":null}]', "at $[1].sku: expected text, got None"),
        (dict[str, list[int]], '{"a":[1,"2"]}', "at $.a[1]: expected an integer, got '2'"),
        (dict[int, str], '{"x":"y"}', "at $.x: expected an integer as name, got 'x'"),
        (dict[Level, str], '{"3":"y"}', "at $.3: expected one of [1, 2], got '3'"),
        (dict[str, int], "3", "at $: expected an object, got 3"),
        (list[int], "{}", "at $: expected an array, got {}"),
        (tuple[int, str], "[1]", "at $: expected an array of 2, got [1]"),
        (Colour, '"green"', "at $: expected one of ['red', 'blue'], got 'green'"),
        (Literal[1, 2], "true", "at $: expected one of [1, 2], got True"),
        (datetime, '"now"', "at $: expected an ISO 8601 time, got 'now'"),
        (UUID, "5", "at $: expected a UUID, got 5"),
        (Decimal, '"x"', "at $: expected a decimal number, got 'x'"),
        (bytes, '"?"', "at $: expected base64 text, got '?'"),
        (float, '"1"', "at $: expected a number, got '1'"),
        (int | str, "1.5", "at $: expected int or str, got 1.5"),
        (None, "1", "at $: expected null, got 1"),
        (Item | int, '{"sku":1}', "at $.sku: expected text, got 1"),
        (Movie, "{}", "at $: member 'title' of Movie is missing"),
    ],
)
def test_other_shape_is_refused_with_its_path(declared: Any, data: str, message: str) -> None:
    """The path leads to the member that does not fit."""
    with pytest.raises(ValueError, match=r"expected|missing") as caught:
        TypedJsonSerde(declared).decode(data.encode())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        (complex, "unsupported-json-type"),
        (Odd, "unsupported-json-type"),
        (list[complex], "unsupported-json-type"),
        ("text", "unsupported-json-type"),
        (Private, "private-json-member"),
    ],
)
def test_type_without_json_form_is_refused_at_once(declared: Any, code: str) -> None:
    """The program that declares it fails, not the record that uses it."""
    with pytest.raises(InvalidArgumentError) as caught:
        TypedJsonSerde(declared)
    assert caught.value.code == code


def test_type_name_out_of_reach_is_refused_at_once() -> None:
    """A local class cannot name another local class as text."""

    @dataclass
    class Local:
        other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(InvalidArgumentError) as caught:
        TypedJsonSerde(Local)
    assert caught.value.code == "unknown-type-name"


def test_value_of_another_class_is_refused() -> None:
    """A dict that looks like the dataclass would be read as the dataclass."""
    with pytest.raises(TypeError, match=r"JSON serde of Item got dict \{'sku': 'a'\}"):
        TypedJsonSerde(Item).encode({"sku": "a"})


_PROGRAM = """
from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime

import cloudpickle

from penstock.serde.json import TypedJsonSerde


@dataclass
class Click:
    at: datetime
    before: Click | None = None


sys.stdout.buffer.write(cloudpickle.dumps(TypedJsonSerde(Click)))
"""
_WORKER = """
import pickle, sys
serde = pickle.load(sys.stdin.buffer)
print(serde.decode(b'{"at":"2026-01-02T03:04:05+00:00","before":{"at":"2026-01-01T00:00:00Z"}}'))
"""


def test_hints_in_text_are_resolved_where_the_class_was_made() -> None:
    """A worker on Spark has the class, but not the module whose imports its hints name."""
    program, worker = ([sys.executable, "-c", text] for text in (_PROGRAM, _WORKER))
    sent = subprocess.run(program, capture_output=True, check=True)
    read = subprocess.run(worker, input=sent.stdout, capture_output=True, check=False)
    assert b"Click(at=datetime.datetime(2026, 1, 2, 3, 4, 5" in read.stdout, read.stderr
