"""Types of columns as the server writes them: text such as ``ARRAY<STRUCT<`A` INTEGER>>``."""

from __future__ import annotations

import re

from penstock.client.errors import ClientError
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
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

_SCALARS: dict[str, SqlType] = {
    "BOOLEAN": BOOLEAN,
    "INT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "VARCHAR": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|\w+|[<>(),])")


def column_type(text: str) -> SqlType:
    """Return the type that a text names.

    >>> print(column_type("MAP<STRING, ARRAY<STRUCT<`a b` INTEGER, N DECIMAL(4, 2)>>>"))
    MAP<STRING, ARRAY<STRUCT<`a b` INTEGER, `N` DECIMAL(4, 2)>>>

    Raises:
        ClientError: ``unknown-column-type``.
    """
    reader = _Reader(text)
    found = reader.type()
    if not reader.is_at_end:
        raise reader.error()
    return found


def has_decimals(type_: SqlType) -> bool:
    """Return whether values of a type contain decimals, which lose digits as JSON numbers."""
    match type_:
        case DecimalType():
            return True
        case ArrayType(element):
            return has_decimals(element)
        case MapType(_, value):
            return has_decimals(value)
        case StructType(fields):
            return any(has_decimals(field.type) for field in fields)
        case _:
            return False


class _Reader:
    """Read a type from its tokens, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def error(self) -> ClientError:
        return ClientError(
            "unknown-column-type",
            f"the server names a column type that this client does not know: {self._text!r}",
            fix="use a client of the server's version",
        )

    def type(self) -> SqlType:
        word = self._next().upper()
        match word:
            case "ARRAY":
                return ArrayType(*self._inside("<", ">", 1))
            case "MAP":
                return MapType(*self._inside("<", ">", 2))
            case "STRUCT":
                return self._struct()
            case "DECIMAL":
                return self._decimal()
            case "VARCHAR" | "STRING" if self._peek() == "(":
                self._skip("(", self._peek(1), ")")
                return STRING
            case _ if word in _SCALARS:
                return _SCALARS[word]
            case _:
                raise self.error()

    def _inside(self, opening: str, closing: str, count: int) -> list[SqlType]:
        self._skip(opening)
        found = [self.type()]
        while len(found) < count:
            self._skip(",")
            found.append(self.type())
        self._skip(closing)
        return found

    def _struct(self) -> StructType:
        self._skip("<")
        fields: list[Field] = []
        while self._peek() != ">":
            if fields:
                self._skip(",")
            name = self._next()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            fields.append(Field(name, self.type()))
        self._skip(">")
        return StructType(tuple(fields))

    def _decimal(self) -> DecimalType:
        self._skip("(")
        precision = self._number()
        self._skip(",")
        scale = self._number()
        self._skip(")")
        return DecimalType(precision, scale)

    def _number(self) -> int:
        text = self._next()
        if not text.isdigit():
            raise self.error()
        return int(text)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self.error()
        self._at += 1
        return token

    def _skip(self, *wanted: str) -> None:
        for token in wanted:
            if self._next() != token:
                raise self.error()
