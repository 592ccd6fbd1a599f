"""JSON: compact text, any size of integer, errors with a position.

Exercises ``to_json``.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from penstock.serde.json import JsonSerde, TypedJsonSerde, json_serde

JSON = JsonSerde()
BIG = 2**64
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Reading:
    value: float
    unit: str | None = None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 1.5, "x"]}, '{"b":1,"a":[true,null,1.5,"x"]}'),
        ("Zoë 日本 😀", '"Zoë 日本 😀"'),
        (2**64 - 1, "18446744073709551615"),
        (-(2**63), "-9223372036854775808"),
        (BIG, "18446744073709551616"),
        ({"é": [-BIG, 0.5, "1"]}, '{"é":[-18446744073709551616,0.5,"1"]}'),
        (-(2**63) - 1, "-9223372036854775809"),
        (0.1234567890123456789, "0.12345678901234568"),
    ],
)
def test_plain_value_is_compact_text_and_comes_back(value: Any, text: str) -> None:
    """No blanks, members in order, nothing escaped, no digit lost."""
    assert JSON.encode(value).decode() == text
    decoded = JSON.decode(text.encode())
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Reading(1.5), '{"value":1.5,"unit":null}'),
        (datetime(2024, 1, 2, 3, 4, 5, 6, UTC), '"2024-01-02T03:04:05.000006+00:00"'),
        (Decimal("1.10"), '"1.10"'),
        ({"s": {"b", "a", "c"}}, '{"s":["a","b","c"]}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        ((1, (2,)), "[1,[2]]"),
        (b"\x00\xff", '"AP8="'),
        ([BIG, Reading(2.5)], '[18446744073709551616,{"value":2.5,"unit":null}]'),
        ({"p": Point(BIG, 1)}, '{"p":{"x":18446744073709551616,"y":1}}'),
        ([{BIG, 1}, NEW_YEAR], '[[1,18446744073709551616],"2024-01-01T00:00:00+00:00"]'),
        ((BIG, Decimal("0.5"), b"a"), '[18446744073709551616,"0.5","YQ=="]'),
    ],
)
def test_richer_value_has_one_text(value: Any, text: str) -> None:
    """What JSON does not have is written as text, arrays and objects, big integers or not."""
    assert JSON.encode(value).decode() == text


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$: JSON has no nan"),
        ({"a": [1.0, math.inf]}, "$.a[1]: JSON has no inf"),
        ({"a": None, "r": Reading(-math.inf)}, "$.r.value: JSON has no -inf"),
        ([Point(1, math.nan)], "$[0].y: JSON has no nan"),  # type: ignore[arg-type]
    ],
)
def test_number_that_json_lacks_is_refused(value: Any, path: str) -> None:
    """The error says where it is; writing null instead would change the data."""
    with pytest.raises(ValueError, match="JSON has no") as caught:
        JSON.encode(value)
    assert str(caught.value) == f"at {path}"


def test_big_integer_beside_nan_is_refused() -> None:
    """The slow path has the same rules."""
    with pytest.raises(ValueError, match=r"at \$\[1\]: JSON has no nan"):
        JSON.encode([BIG, math.nan])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "no JSON form: type is not JSON serializable: object"),
        ({1: 2}, "a dict key is not a str: declare the type"),
        ([BIG, object()], "no JSON form: type is not JSON serializable: object"),
        ([BIG, {1: 2}], "a dict key is not a str: declare the type"),
    ],
)
def test_value_without_json_form_is_refused(value: Any, message: str) -> None:
    """The error names the type, or what to do."""
    with pytest.raises(TypeError, match=message):
        JSON.encode(value)


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b'{"a":1', "line 1 column 7"),
        (b"{oops", "line 1 column 2"),
        (b"", "line 1 column 1"),
        (b"NaN", "line 1 column 1"),
        (b'{"a":\n 1e999}', "line 2"),
        (b'"\xff"', "line 1 column"),
        (b"1 2", "line 1 column 3"),
    ],
)
def test_malformed_text_is_refused_with_its_position(data: bytes, position: str) -> None:
    """The position leads to the byte that is wrong."""
    with pytest.raises(ValueError, match=f"not JSON: .*{position}"):
        JSON.decode(data)


def test_type_decides_the_serde() -> None:
    """No type means any JSON value."""
    assert json_serde() == json_serde(Any) == JsonSerde()
    assert json_serde(Reading) == TypedJsonSerde(Reading)
    assert json_serde(Reading) != TypedJsonSerde(list[int])
    assert repr(json_serde(list[int])) == "TypedJsonSerde(of=list[int])"
