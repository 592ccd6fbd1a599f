"""Parts of failed records as text that a person edits. Exercises ``failed.parts``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.serving.failed.parts import Part, editable, edited, shown


@pytest.mark.parametrize(
    ("data", "serde", "part"),
    [
        (b'{"amount":12', Serdes.json(), Part("text", '{"amount":12')),
        ("ü\n".encode(), Serdes.string(), Part("text", "ü\n")),
        (b"\x00\x00\x00\x00\x00\x00\x00\x07", Serdes.long(), Part("value", "7")),
        (b"12345678", Serdes.long(), Part("value", "3544952156018063160")),
        (b"\x01", Serdes.boolean(), Part("value", "true")),
        (Serdes.double().encode(2.5), Serdes.double(), Part("value", "2.5")),
        (b"12", Serdes.long(), Part("text", "12")),
        (b"\xff\x00", Serdes.json(), Part("base64", "/wA=")),
        (b"\xff\x00", None, Part("base64", "/wA=")),
    ],
)
def test_bytes_are_edited_in_the_form_that_a_person_can_read(
    data: bytes, serde: Serde[Any] | None, part: Part
) -> None:
    """Numbers as numbers, text as text, also if the serde cannot read it; else base64."""
    assert editable(data, serde, "t") == part
    assert editable(None, serde, "t") is None


SERDES = {
    "string": Serdes.string(), "json": Serdes.json(), "long": Serdes.long(),
    "double": Serdes.double(), "uuid": Serdes.uuid(), "bytes": Serdes.bytes(),
}  # fmt: skip


@given(data=st.binary(max_size=40), name=st.sampled_from([*SERDES]))
def test_what_nobody_has_changed_is_the_same_bytes_again(data: bytes, name: str) -> None:
    """Or it is refused, because the application could not read it."""
    serde = SERDES[name]
    part = editable(data, serde, "t")
    assert part is not None
    if shown(data, serde, "t")[1]:
        assert edited(part, serde, "t", (), "value") == data
    else:
        with pytest.raises(InvalidArgumentError):
            edited(part, serde, "t", (), "value")


@pytest.mark.parametrize(
    ("part", "serde"),
    [
        (Part("value", "seven"), Serdes.long()),
        (Part("value", str(2**63)), Serdes.long()),
        (Part("text", "{"), Serdes.json()),
        (Part("base64", "§"), Serdes.string()),
    ],
)
def test_a_text_that_the_application_could_not_read_is_refused(
    part: Part, serde: Serde[Any]
) -> None:
    """It would fail again."""
    with pytest.raises(InvalidArgumentError) as raised:
        edited(part, serde, "t", (), "key")
    assert raised.value.code == "bad-record"


def said(data: bytes | None, serde: Serde[Any], topic: str) -> tuple[bytes, bool]:
    raw, is_decoded = shown(data, serde, topic)
    return bytes(raw), is_decoded


def test_what_cannot_be_decoded_is_shown_all_the_same() -> None:
    """As text, or as base64; a null is null."""
    assert said(b"{", Serdes.json(), "t") == (b'"{"', False)
    assert said(b"\xff", Serdes.json(), "t") == (b'{"base64":"/w=="}', False)
    assert said(None, Serdes.json(), "t") == (b"null", True)
    assert said(b'{"a":1}', Serdes.json(), "t") == (b'{"a":1}', True)
