"""Format DELIMITED over columns. Row by row: ``delimited``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import orjson

from penstock.formats.delimited import Read, delimited_reader, delimited_writer
from penstock.formats.row_column_serde import row_column_serde
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    SqlType,
)
from penstock.serde.column_serde import ColumnSerde, Encoded

#: Types whose texts have only letters, digits, points and minus signs, so they need no quotes.
_PLAIN = frozenset({BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TIME, TIMESTAMP})


def delimited_columns(columns: Sequence[Field], delimiter: str) -> ColumnSerde:
    """Return the column serde of rows whose columns are all scalars."""
    wire = ("DELIMITED", tuple(column.type for column in columns), delimiter)
    decode, encode = _decoder(columns, delimiter), _encoder(columns, delimiter)
    return row_column_serde(wire, len(columns), decode, encode)


def _decoder(columns: Sequence[Field], delimiter: str) -> Callable[[Encoded], RowColumns | None]:
    readers = [None if c.type == STRING else delimited_reader(c.type) for c in columns]
    width = len(readers)

    def decode(data: Encoded) -> RowColumns | None:
        joined = b"\n".join(data)  # type: ignore[arg-type]
        if not _are_plain_lines(joined, len(data)):
            return None
        text = joined.decode()
        # A quote counts at the beginning of a value only.
        if text[0] == '"' or '\n"' in text or f'{delimiter}"' in text:
            return None
        if text.count(delimiter) != len(data) * (width - 1):
            return None
        if width == 1 and readers[0] is None:
            return RowColumns([partial(str.split, text, "\n")], len(data))
        cells = [line.split(delimiter) for line in text.split("\n")]
        if set(map(len, cells)) != {width}:
            return None
        texts = zip(*cells, strict=True)
        return RowColumns([_read(c, r) for c, r in zip(texts, readers, strict=True)], len(data))

    return decode


def _are_plain_lines(joined: bytes, count: int) -> bool:
    """Return whether there are that many lines, and none of them is empty."""
    return (
        joined.count(b"\n") == count - 1
        and b"\r" not in joined
        and b"\n\n" not in joined
        and not joined.startswith(b"\n")
        and not joined.endswith(b"\n")
        and len(joined) > 0
    )


def _read(texts: Items, read: Read | None) -> Items:
    if read is None:
        return [text or None for text in texts] if "" in texts else texts
    return [read(text) if text else None for text in texts]


def _column_writer(type_: SqlType) -> Callable[[Items], list[str]]:
    write = delimited_writer(type_)
    if type_ in (BIGINT, INTEGER):
        return lambda c: _numbers(c) if set(map(type, c)) == {int} else [*map(write, c)]
    if type_ == DOUBLE:
        return lambda c: _numbers(c) if _are_plain(c) else [*map(write, c)]
    return lambda c: [*map(write, c)]


def _are_plain(column: Items) -> bool:
    """Return whether Java and JSON write all of these doubles alike, without an exponent."""
    if set(map(type, column)) != {float}:
        return False
    sizes = np.abs(np.array(column))
    return bool(((sizes == 0) | ((sizes >= 1e-3) & (sizes < 1e7))).all())


def _numbers(column: Items) -> list[str]:
    """Return the text of each number, with one call for all."""
    return orjson.dumps([*column])[1:-1].decode().split(",")


def _encoder(
    columns: Sequence[Field], delimiter: str
) -> Callable[[RowColumns], Encoded | None] | None:
    if any(c.type not in _PLAIN for c in columns) or delimiter.isalnum() or delimiter in ".-":
        return None
    writers = [_column_writer(column.type) for column in columns]

    def encode(rows: RowColumns) -> Encoded | None:
        texts = []
        for write, column in zip(writers, rows.columns(), strict=True):
            if None in column:
                return None
            texts.append(write(column))
        # A first value that begins with neither a letter nor a digit is quoted.
        if "-" in "".join(texts[0]):
            texts[0] = [f'"{text}"' if text[0] == "-" else text for text in texts[0]]
        if len(texts) == 1:
            return [*map(str.encode, texts[0])]
        return [delimiter.join(row).encode() for row in zip(*texts, strict=True)]

    return encode
