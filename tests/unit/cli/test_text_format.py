import pytest
import typer

from penstock.cli.text_format import (
    GUESS,
    as_printable,
    as_text,
    as_time,
    text_format,
    without_controls,
)
from penstock.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("name", "typed", "data", "plain"),
    [
        ("string", "hé", "hé".encode(), "hé"),
        ("long", "258", b"\0\0\0\0\0\0\1\2", 258),
        ("integer", "-1", b"\xff\xff\xff\xff", -1),
        ("double", "1.5", b"\x3f\xf8\0\0\0\0\0\0", 1.5),
        ("boolean", "TRUE", b"\1", True),
        ("json", '{"a": [1]}', b'{"a":[1]}', {"a": [1]}),
        ("bytes", "ab", b"ab", "ab"),
    ],
)
def test_typed_text_becomes_bytes_and_back(
    name: str, typed: str, data: bytes, plain: object
) -> None:
    """What a person types is what a program with that serde would write."""
    form = text_format("--value-serde", name)
    assert form.to_bytes("t", typed) == data
    assert form.to_plain("t", data) == plain


def test_windowed_keys_show_key_and_window() -> None:
    """A window's key is unreadable as text; its parts are not."""
    start = (60_000).to_bytes(8, "big")
    assert text_format("-k", "windowed:string:1m").to_plain("t", b"ann" + start) == {
        "key": "ann",
        "start": 60_000,
        "end": 120_000,
    }
    session = b"ann" + (120_000).to_bytes(8, "big") + start
    assert text_format("-k", "session:string").to_plain("t", session)["start"] == 60_000


@pytest.mark.parametrize("name", ["lng", "windowed:string", "windowed:strng:1m", "windowed:long:x"])
def test_unknown_format_is_misuse(name: str) -> None:
    """A wrong name is found before anything is read or written."""
    with pytest.raises(typer.BadParameter):
        text_format("--key-serde", name)


@pytest.mark.parametrize(("name", "typed"), [("long", "x"), ("boolean", "yes"), ("json", "{")])
def test_text_that_does_not_fit_names_the_value(name: str, typed: str) -> None:
    """The line to correct can be found by what it says."""
    with pytest.raises(InvalidArgumentError, match=f"'{typed}' is not a value of '{name}'"):
        text_format("-v", name).to_bytes("t", typed)


def test_values_are_shown_on_one_line() -> None:
    """Text is shown as it is, the rest as JSON."""
    assert [as_text(value) for value in ("a", 1, None, {"a": "b"})] == [
        "a",
        "1",
        "null",
        '{"a":"b"}',
    ]
    assert as_time(0) == "1970-01-01 00:00:00.000"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("hé\tb".encode(), "hé\tb"),
        (b"12345678", "12345678"),
        ((5).to_bytes(8, "big"), 5),
        ((-5).to_bytes(8, "big", signed=True), -5),
        ((7).to_bytes(4, "big"), 7),
        (b"\x3f\xf8\0\0\0\0\0\0", "?\\xf8\\x00\\x00\\x00\\x00\\x00\\x00"),
        (b"ann\0\x1b", "ann\\x00\\x1b"),
        (b"", ""),
    ],
)
def test_bytes_of_no_named_serde_are_read_as_what_they_are_likely(
    data: bytes, shown: object
) -> None:
    """The counts of a first program are longs, and nobody can read their bytes."""
    assert text_format("--value-serde", GUESS).to_plain("t", data) == shown


def test_control_characters_do_not_reach_the_terminal() -> None:
    """They would move the cursor or change colours."""
    assert without_controls("a\x1b[2Jb\nc\td") == "a\\x1b[2Jb\nc\td"
    assert as_printable(b"\0\xff") == "\\x00\\xff"
