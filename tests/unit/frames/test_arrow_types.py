"""Declared Python types as types of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict
from uuid import UUID

import pyarrow as pa
import pydantic
import pytest

from penstock.frames.arrow_types import arrow_type, member_arrow_types

Cents = NewType("Cents", int)


class Colour(Enum):
    RED = "red"


class Mixed(Enum):
    ONE = 1
    TWO = "two"


@dataclass
class Place:
    country: str
    at: "tuple[float, ...]"


class Row(TypedDict):
    n: int


class Pair(NamedTuple):
    left: int
    right: str


class Model(pydantic.BaseModel):
    price: float


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        (str, pa.string()), (int, pa.int64()), (bool, pa.bool_()), (bytes, pa.binary()),
        (float | None, pa.float64()), (Cents, pa.int64()), (Annotated[int, "cents"], pa.int64()),
        (datetime, pa.timestamp("us", tz="UTC")), (date, pa.date32()), (time, pa.time64("us")),
        (timedelta, pa.duration("us")), (UUID, pa.string()), (Colour, pa.string()),
        (Literal["a", "b"], pa.string()), (list[int], pa.list_(pa.int64())),
        (set[str], pa.list_(pa.string())), (tuple[int, ...], pa.list_(pa.int64())),
        (dict[str, float], pa.map_(pa.string(), pa.float64())),
        (Mapping[str, int], pa.map_(pa.string(), pa.int64())),
        (Place, pa.struct([("country", pa.string()), ("at", pa.list_(pa.float64()))])),
        (list[Pair], pa.list_(pa.struct([("left", pa.int64()), ("right", pa.string())]))),
    ],
)  # fmt: skip
def test_declared_types_have_a_type_before_the_first_value(declared: Any, wanted: Any) -> None:
    assert arrow_type(declared, {}) == wanted


@pytest.mark.parametrize(
    "declared", [Any, int | str, Mixed, Decimal, dict[int, str], tuple[int, str], list[Any], "text"]
)
def test_only_the_values_tell_the_type_of_others(declared: Any) -> None:
    """A decimal has no declared precision, and a union has several types."""
    assert arrow_type(declared, {}) is None


@pytest.mark.parametrize(
    ("declared", "names"),
    [(Place, ["country", "at"]), (Row, ["n"]), (Pair, ["left", "right"]), (Model, ["price"])],
)
def test_members_of_every_kind_of_class_are_found(declared: Any, names: list[str]) -> None:
    found = member_arrow_types(declared, {})
    assert found is not None
    assert list(found) == names
    assert None not in found.values()


def test_other_values_have_no_members() -> None:
    assert member_arrow_types(dict, {}) is None
    assert member_arrow_types(int, {}) is None
