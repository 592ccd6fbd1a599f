"""Every key and value of a store has some JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("msgspec", reason="needs penstock-streams[server]")

from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.serdes import Serdes
from penstock.serving.wire.json_values import to_raw


@dataclass
class Point:
    x: int


class Opaque:
    def __init__(self, text: str) -> None:
        self.text = text


OPAQUE: Any = Serdes.serde_from(lambda value: value.text.encode(), lambda data: Opaque(str(data)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ann", "ann"),
        (7, 7),
        (2**70, 2**70),
        (None, None),
        ({"a": [1, None]}, {"a": [1, None]}),
        ({1: "one"}, {"1": "one"}),
        (Point(3), {"x": 3}),
        (Decimal("1.50"), "1.50"),
        (UUID(int=7), str(UUID(int=7))),
        (b"\x00\xff", "AP8="),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Windowed("ann", Window(1, 2)), {"key": "ann", "window_start": 1, "window_end": 2}),
    ],
)
def test_values_have_the_form_that_the_json_serde_gives_them(value: Any, expected: Any) -> None:
    assert json.loads(bytes(to_raw(value, Serdes.json(), "t"))) == expected


def test_a_value_without_a_form_is_its_bytes() -> None:
    assert json.loads(bytes(to_raw(Opaque("hi"), OPAQUE, "t"))) == {"base64": "aGk"}


def test_a_value_that_cannot_even_be_written_is_named() -> None:
    raw = to_raw(Opaque("hi"), Serdes.long(), "t")
    assert json.loads(bytes(raw)) == {"type": "Opaque"}
