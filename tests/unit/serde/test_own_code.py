"""A type whose values are made without code of the user's may be read twice, and in any order."""

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, NewType, TypedDict

import pytest

from penstock.serde.columns import column_serde_of
from penstock.serde.json import TypedJsonSerde, json_serde


@dataclass
class Plain:
    name: str
    tags: list[str] = field(default_factory=list)


@dataclass
class Checked:
    amount: int

    def __post_init__(self) -> None:
        assert self.amount >= 0


@dataclass
class Numbered:
    number: int = field(default_factory=iter(range(9)).__next__)


@dataclass
class Holder:
    inner: dict[str, "list[Checked] | None"]


@dataclass
class Tree:
    children: "list[Tree]"


class Pair(NamedTuple):
    one: int
    other: Plain


class Sum(Pair):
    def __new__(cls, one: int, other: Plain) -> "Sum":
        return super().__new__(cls, one + 1, other)


class Shape(TypedDict):
    name: str


class Colour(enum.Enum):
    RED = "red"


Price = NewType("Price", int)


@pytest.mark.parametrize(
    "declared",
    [Plain, Tree, Pair, Shape, Colour, Price, list[Plain], Plain | None, Annotated[int, "euro"]],
)
def test_plain_types_run_nothing(declared: Any) -> None:
    assert TypedJsonSerde(declared).column_serde is not None


@pytest.mark.parametrize("declared", [Checked, Numbered, Holder, list[Checked], Sum])
def test_code_is_found_at_any_depth(declared: Any) -> None:
    """Also where a value only holds such a type."""
    assert TypedJsonSerde(declared).column_serde is None


def test_models_have_validators() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", amount=(int, ...))
    assert column_serde_of(json_serde(model)) is None
    assert TypedJsonSerde(list[model]).column_serde is None  # type: ignore[valid-type]
