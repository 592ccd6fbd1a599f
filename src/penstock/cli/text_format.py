"""Keys and values as users type and read them: text to and from a serde chosen by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
import typer

from penstock.errors import InvalidArgumentError, PenstockError
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
)
from penstock.serde.serdes import resolve_serde
from penstock.serde.windowed import WindowedSerdes

#: The name for "guess the serde"; only for reading.
GUESS = "guess"
#: By number of bytes: numbers from here on are more likely something else, such as a double.
_LIKELY = {8: 2**53, 4: 2**24}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_HELP = "string, long, integer, double, boolean, json, bytes, …"

KeySerdeOption = Annotated[str, typer.Option("--key-serde", "-k", metavar="NAME", help=_HELP)]
ValueSerdeOption = Annotated[str, typer.Option("--value-serde", "-v", metavar="NAME", help=_HELP)]


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


_PARSERS: dict[type[Serde[Any]], Callable[[str], Any]] = {
    StringSerde: str,
    LongSerde: int,
    IntegerSerde: int,
    ShortSerde: int,
    DoubleSerde: float,
    FloatSerde: float,
    BooleanSerde: _boolean,
    UUIDSerde: UUID,
    BytesSerde: str.encode,
    JsonSerde: orjson.loads,
}


class _GuessedSerde(Serde[Any]):
    """Read bytes whose serde the user has not named: text if they are text, else a number.

    Counts are longs on Kafka topics. Eight bytes with control characters are a long if it is not
    larger than any count, and four such bytes an integer. Other bytes are shown escaped.
    """

    def encode(self, value: Any) -> bytes:
        raise TypeError("a guess cannot be written")

    def decode(self, data: bytes) -> Any:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None and not _CONTROL.search(text):
            return text
        if len(data) in _LIKELY:
            number = int.from_bytes(data, "big", signed=True)
            if abs(number) < _LIKELY[len(data)]:
                return number
        return as_printable(data)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A serde, and how its values are written as text."""

    name: str
    serde: Serde[Any]

    def to_bytes(self, topic: str, text: str) -> bytes | None:
        """Encode the text that a user typed.

        Raises:
            InvalidArgumentError: ``bad-value`` if the text does not fit the serde.
        """
        parse = _PARSERS.get(type(self.serde))
        if parse is None:
            raise InvalidArgumentError(
                "bad-value",
                f"values of {self.name!r} cannot be typed",
                fix="write them from a program, or choose string, json, long, …",
            )
        try:
            return self.serde.serialize(topic, parse(text))
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(
                "bad-value", f"{text!r} is not a value of {self.name!r}: {error}"
            ) from None

    def to_plain(self, topic: str, data: bytes | None) -> Any:
        """Decode bytes into a value that JSON can hold.

        Raises:
            ValueError: the bytes are not in this format.
        """
        return _plain(self.serde.deserialize(topic, data))


def text_format(option: str, name: str) -> TextFormat:
    """Return the format of a serde's name, of ``windowed:INNER:SIZE`` or of ``session:INNER``.

    Raises:
        typer.BadParameter: there is no such serde; typer then exits with 2.
    """
    kind, *rest = name.split(":")
    if name == GUESS:
        return TextFormat(name, _GuessedSerde())
    try:
        if kind == "windowed" and len(rest) == 2:
            return TextFormat(name, WindowedSerdes.time_windowed(rest[0], _size(rest[1])))
        if kind == "session" and len(rest) == 1:
            return TextFormat(name, WindowedSerdes.session_windowed(rest[0]))
        serde = resolve_serde(name)
    except PenstockError as error:
        raise typer.BadParameter(f"{error.message} ({error.fix})", param_hint=option) from None
    assert serde is not None
    return TextFormat(name, serde)


def as_text(value: Any) -> str:
    """Return a value as one line: a string as it is, any other value as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def as_printable(data: bytes) -> str:
    """Return bytes as text that a terminal can show; other bytes are escaped."""
    return without_controls(data.decode("utf-8", errors="backslashreplace"))


def without_controls(text: str) -> str:
    """Escape control characters, which a terminal would obey; tabs and line ends stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def as_time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")[:-6]


def _size(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return as_printable(value)
    if isinstance(value, Windowed):
        window = value.window
        return {"key": _plain(value.key), "start": window.start, "end": window.end}
    return value
