"""The factories, what stands for a serde, and what all serdes have in common."""

import pickle
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.serde.base import Serde
from penstock.serde.change import ChangeSerde
from penstock.serde.functions import serde_from
from penstock.serde.json import TypedJsonSerde
from penstock.serde.pickle_serde import PickleSerde
from penstock.serde.primitives import LongSerde, StringSerde
from penstock.serde.serdes import Serdes, resolve_serde
from penstock.serde.subscription import (
    SubscriptionResponseWrapperSerde,
    SubscriptionWrapperSerde,
)
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde


@dataclass
class Order:
    id: int


class Point(NamedTuple):
    x: int


class Movie(TypedDict):
    title: str


class Colour(Enum):
    RED = 1


ALL: list[Serde[Any]] = [
    Serdes.string(),
    Serdes.long(),
    Serdes.integer(),
    Serdes.short(),
    Serdes.float_(),
    Serdes.double(),
    Serdes.bytes(),
    Serdes.boolean(),
    Serdes.uuid(),
    Serdes.void(),
    Serdes.list_("string"),
    Serdes.json(),
    Serdes.json(Order),
    Serdes.json(list[Order]),
    Serdes.pickle(),
    Serdes.serde_from(str.encode, bytes.decode),
    TimeWindowedSerde(StringSerde(), 5),
    SessionWindowedSerde(None),
    ChangeSerde(LongSerde()),
    SubscriptionWrapperSerde(StringSerde(), "t"),
    SubscriptionResponseWrapperSerde(None),
]


@pytest.mark.parametrize("serde", ALL, ids=lambda serde: type(serde).__name__)
def test_every_serde_pickles_and_equals_its_copy(serde: Serde[Any]) -> None:
    """Serdes travel to workers inside the topology, and nodes compare by value."""
    copy = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    assert hash(copy) == hash(serde)
    assert not hasattr(serde, "__dict__")


def test_no_two_kinds_are_equal() -> None:
    """A long is no integer, though both hold ints."""
    assert len(set(ALL)) == len(ALL)


def test_javas_name_of_a_factory_is_told_the_present_one() -> None:
    """Java's names are in ``penstock.java``."""
    names: Any = Serdes
    with pytest.warns(DeprecationWarning, match=r"Serdes\.String is called Serdes\.string$"):
        assert names.String() == Serdes.string()
    with pytest.warns(DeprecationWarning, match=r"is called Serdes\.bytes$"):
        assert names.byte_array() == Serdes.bytes()
    with pytest.raises(AttributeError, match=r"write Serdes\.double$"):
        _ = names.doubel


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, None),
        (Serdes.long(), Serdes.long()),
        (LongSerde, Serdes.long()),
        ("string", Serdes.string()),
        ("integer", Serdes.integer()),
        ("byte_array", Serdes.bytes()),
        ("json", Serdes.json()),
        ("org.apache.kafka.common.serialization.Serdes$StringSerde", Serdes.string()),
        ("org.apache.kafka.common.serialization.Serdes$ByteArraySerde", Serdes.bytes()),
        ("org.apache.kafka.common.serialization.Serdes$UUIDSerde", Serdes.uuid()),
        ("LongSerde", Serdes.long()),
        (str, Serdes.string()),
        (int, Serdes.long()),
        (float, Serdes.double()),
        (bytes, Serdes.bytes()),
        (bool, Serdes.boolean()),
        (UUID, Serdes.uuid()),
        (dict, Serdes.json()),
        (Order, TypedJsonSerde(Order)),
        (Point, TypedJsonSerde(Point)),
        (Movie, TypedJsonSerde(Movie)),
        (Colour, TypedJsonSerde(Colour)),
        (list[int], TypedJsonSerde(list[int])),
    ],
)
def test_what_stands_for_a_serde_is_resolved(spec: Any, expected: Serde[Any] | None) -> None:
    """A name, a type or a class is as good as the serde."""
    assert resolve_serde(spec) == expected


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("strnig", "fix: did you mean 'string'?"),
        ("int", "known names: string, long, integer"),
        ("org.example.AvroSerde", "known names"),
        (complex, "<class 'complex'> is not a serde"),
        (5, "5 is not a serde"),
        ({}, "{} is not a serde"),
        (Serdes.string, "fix: call it: Serdes.string()"),
        (TimeWindowedSerde, "class TimeWindowedSerde is not a serde"),
    ],
)
def test_what_stands_for_no_serde_is_refused(spec: Any, text: str) -> None:
    """The error names the nearest serde, or what is possible."""
    with pytest.raises(InvalidArgumentError) as caught:
        resolve_serde(spec)
    assert caught.value.code == "unknown-serde"
    assert text in str(caught.value)


def test_list_without_inner_serde_is_refused() -> None:
    """There is no default for what is in a list."""
    with pytest.raises(InvalidArgumentError):
        Serdes.list_(None)


def test_functions_become_a_serde() -> None:
    """One function per direction is enough, and neither sees None."""
    serde = serde_from(lambda number: bytes([number]), lambda data: data[0])
    assert serde.encode(7) == b"\x07"
    assert serde.deserialize("t", b"\x07") == 7
    assert serde.serialize("t", None) is None
    with pytest.raises(TypeError, match="serializer must return bytes, returned str"):
        serde_from(str, int).encode(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("functions", [(None, len), (len, None)])
def test_missing_function_is_refused(functions: Any) -> None:
    """Half a serde fails when it is made, not when it is used."""
    with pytest.raises(NullArgumentError):
        serde_from(*functions)


def test_pickle_holds_any_object() -> None:
    """Only when asked for, and what does not pickle is an error with its reason."""
    serde = PickleSerde()
    assert serde.decode(serde.encode(Order(1))) == Order(1)
    with pytest.raises(TypeError, match="cannot pickle function"):
        serde.encode(lambda: None)
    with pytest.raises(ValueError, match="cannot unpickle 5 bytes"):
        serde.decode(b"oops!")
