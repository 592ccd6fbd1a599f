"""Format DELIMITED: one line of comma-separated values, quoted as ksqlDB quotes them."""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from penstock.formats.text_numbers import (
    fitter,
    read_decimal,
    read_double,
    read_int,
    read_long,
    time_of_day,
)
from penstock.model import java
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    DecimalType,
    Field,
    SqlType,
)

Row = tuple[Any, ...]
Read = Callable[[str], Any]
Write = Callable[[Any], str]


def delimited_codec(
    columns: Sequence[Field], delimiter: str
) -> tuple[Callable[[Row], bytes], Callable[[bytes], Row]]:
    """Return the functions of rows with these columns, all of them scalars."""
    return _encoder(columns, delimiter), _decoder(columns, delimiter)


def _decoder(columns: Sequence[Field], delimiter: str) -> Callable[[bytes], Row]:
    readers = [(column.name, delimited_reader(column.type)) for column in columns]
    width = len(readers)
    split = _splitter(delimiter)

    def decode(data: bytes) -> Row:
        texts = split(data.decode(errors="replace"))
        if len(texts) != width:
            raise ValueError(f"expected {width} values, the record has {len(texts)}")
        try:
            return tuple(
                [read(text) if text else None for (_, read), text in zip(readers, texts)]  # noqa: B905
            )
        except ValueError:
            raise _located(readers, texts) from None

    return decode


def _located(readers: Sequence[tuple[str, Read]], texts: Sequence[str]) -> ValueError:
    for (name, read), text in zip(readers, texts, strict=True):
        try:
            read(text)
        except ValueError as error:
            return ValueError(f"column {name!r}: {error}")
    raise AssertionError("some value failed before")


def _splitter(delimiter: str) -> Callable[[str], list[str]]:
    """Return the function that cuts the first line that is not empty into its values.

    A quote counts at the beginning of a value only; inside quotes, two stand for one.
    """
    mark = re.escape(delimiter)
    blanks = "[ \t]*".replace(delimiter, "")
    token = re.compile(rf'"((?:[^"]|"")*)"{blanks}(?={mark}|\r|\n|\Z)|([^{mark}\r\n]*)')

    def quoted(text: str) -> list[str]:
        values, place = [], 0
        while True:
            found = token.match(text, place)
            if found is None or (found[1] is None and found[2].startswith('"')):
                raise ValueError(f"a quoted value does not end at character {place + 1}")
            values.append(found[2] if found[1] is None else found[1].replace('""', '"'))
            place = found.end() + 1
            if place > len(text) or text[place - 1] != delimiter:
                return values

    def split(text: str) -> list[str]:
        line = text.lstrip("\r\n")
        if not line:
            raise ValueError("the record is empty")
        if '"' in line:
            return quoted(line)
        if "\n" in line or "\r" in line:
            line = re.split(r"[\r\n]", line, maxsplit=1)[0]
        return line.split(delimiter)

    return split


def delimited_reader(type_: SqlType) -> Read:
    """Return the function from a text that is not empty to a value of the type."""
    if isinstance(type_, DecimalType):
        fit = fitter(type_.precision, type_.scale)
        return lambda text: fit(read_decimal(text))
    return _READERS[type_]


def _bytes(text: str) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except Base64Error:
        raise ValueError(f"{text[:40]!r} is not base64") from None


_READERS: dict[SqlType, Read] = {
    BOOLEAN: lambda text: text.lower() == "true",
    INTEGER: read_int,
    BIGINT: read_long,
    DOUBLE: read_double,
    STRING: lambda text: text,
    BYTES: _bytes,
    DATE: read_int,
    TIME: lambda text: time_of_day(read_long(text)),
    TIMESTAMP: read_long,
}
_WRITERS: dict[SqlType, Write] = {
    BOOLEAN: lambda value: "true" if value else "false",
    INTEGER: str,
    BIGINT: str,
    DOUBLE: java.double_text,
    STRING: lambda text: text,
    BYTES: lambda data: b2a_base64(data, newline=False).decode(),
    DATE: str,
    TIME: str,
    TIMESTAMP: str,
}


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def delimited_writer(type_: SqlType) -> Write:
    """Return the function from a value of the type to its text, without quotes."""
    return _decimal if isinstance(type_, DecimalType) else _WRITERS[type_]


def _encoder(columns: Sequence[Field], delimiter: str) -> Callable[[Row], bytes]:
    writers = [delimited_writer(column.type) for column in columns]
    # A value with one of these characters, or with one of them at its ends, needs quotes.
    special = re.compile(rf'[\x00-#]|.*[\r\n"{re.escape(delimiter)}]|.*[\x00-\x20]\Z', re.DOTALL)
    first_plain = re.compile(r"[0-9A-Za-z]")

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def encode(row: Row) -> bytes:
        texts = []
        for write, value in zip(writers, row, strict=True):
            text = "" if value is None else write(value)
            texts.append(quoted(text) if text and special.match(text) else text)
        # The first value is quoted unless it begins with a letter or digit. An empty one is quoted.
        if texts and row[0] is not None and not first_plain.match(texts[0]) and texts[0][:1] != '"':
            texts[0] = quoted(texts[0])
        return delimiter.join(texts).encode()

    return encode
