import pytest
import typer

from penstock.cli.text_format import as_text, as_time, text_format
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
    with pytest.raises(InvalidArgumentError, match=f"'{typed}' is no value of '{name}'"):
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
