"""Every serde's keys have one form in a URL, and come back as the same key."""

import math
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.serde.windowed import WindowedSerdes
from penstock.serving.key_text import key_bytes, key_form, parse_key
from penstock.serving.parameters import cursor_text


@dataclass(frozen=True)
class Point:
    x: int
    y: int


WINDOWED = WindowedSerdes.time_windowed(Serdes.string(), 10)


@pytest.mark.parametrize(
    ("serde", "text", "key", "form"),
    [
        (Serdes.string(), "ann", "ann", "string"),
        (Serdes.string(), "", "", "string"),
        (Serdes.string(), "12", "12", "string"),
        (Serdes.long(), "-42", -42, "long"),
        (Serdes.integer(), "7", 7, "integer"),
        (Serdes.short(), "007", 7, "short"),
        (Serdes.double(), "2.5", 2.5, "double"),
        (Serdes.double(), "-1e3", -1000.0, "double"),
        (Serdes.float_(), "Infinity", math.inf, "float"),
        (Serdes.boolean(), "false", False, "boolean"),
        (Serdes.uuid(), str(UUID(int=7)), UUID(int=7), "uuid"),
        (Serdes.bytes(), "AP8", b"\x00\xff", "base64url"),
        (Serdes.bytes(), "__8=", b"\xff\xff", "base64url"),
        (Serdes.json(), '{"id":7}', {"id": 7}, "json"),
        (Serdes.json(Point), '{"x":1,"y":2}', Point(1, 2), "json"),
        (Serdes.list_(Serdes.long()), "[1,2]", [1, 2], "json"),
        (WINDOWED, "a@b@10-20", Windowed("a@b", Window(10, 20)), "string@start-end"),
    ],
)  # fmt: skip
def test_each_serde_has_its_form(serde: Serde[Any], text: str, key: Any, form: str) -> None:
    assert parse_key(serde, "t", text) == key
    assert key_form(serde)[0] == form


@pytest.mark.parametrize(
    ("serde", "text"),
    [
        (Serdes.long(), "1_000"),
        (Serdes.long(), " 1"),
        (Serdes.long(), "+1"),
        (Serdes.long(), "\u0661"),
        (Serdes.long(), "1" * 5000),
        (Serdes.double(), "0x10"),
        (Serdes.double(), "nan"),
        (Serdes.double(), "1e99999"),
        (Serdes.double(), "1e999"),
        (Serdes.boolean(), "True"),
        (Serdes.uuid(), "123"),
        (Serdes.bytes(), "A"),
        (Serdes.bytes(), "a b"),
        (Serdes.json(), "ann"),
        (Serdes.json(), "null"),
        (Serdes.json(), "NaN"),
        (Serdes.json(Point), '{"x":1}'),
        (WINDOWED, "ann"),
        (WINDOWED, "ann@20-10"),
        (WINDOWED, "ann@-1-10"),
    ],
)
def test_other_texts_are_refused_with_the_form(serde: Serde[Any], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not") as caught:
        parse_key(serde, "t", text)
    assert caught.value.code == "bad-key"
    assert len(caught.value.message) < 250


@given(st.binary(max_size=40))
def test_bytes_survive_the_url(data: bytes) -> None:
    assert key_bytes(cursor_text(data)) == data


@given(st.one_of(st.text(max_size=20), st.integers(-(2**31), 2**31 - 1)))
def test_the_serialized_key_works_for_every_serde(key: str | int) -> None:
    serde: Serde[Any] = Serdes.string() if isinstance(key, str) else Serdes.integer()
    text = cursor_text(serde.encode(key))
    assert parse_key(serde, "t", text, "base64") == key


def test_serialized_keys_of_another_size_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="serialized key"):
        parse_key(Serdes.long(), "t", "AAE", "base64")
