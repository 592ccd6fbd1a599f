"""The column serde of rows, put together from the fast functions of a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.row_columns import RowColumns
from penstock.serde.column_serde import ColumnSerde, Encoded

#: Returns the rows of some bytes, of which none is ``None``. It returns ``None`` if there is
#: something that only the codec of single rows knows for certain.
DecodeRows = Callable[[Encoded], RowColumns | None]
#: Returns the bytes of rows, or ``None`` in the same way.
EncodeRows = Callable[[RowColumns], Encoded | None]


def row_column_serde(
    wire: object, width: int, decode: DecodeRows | None, encode: EncodeRows | None, **known: Any
) -> ColumnSerde:
    """Return the column serde of rows with so many columns; ``known`` are its other attributes.

    A column with a record that has no row is left to the codec of single rows.
    """
    return ColumnSerde(
        wire,
        None if decode is None else partial(_decoded, decode),
        None if encode is None else partial(_encoded, encode, width),
        reads_dictionaries=True,
        **known,
    )


def _decoded(decode: DecodeRows, data: Encoded) -> RowColumns | None:
    if not len(data) or None in data:
        return None
    if isinstance(data, DictionaryBytes):
        different = decode(data.different)
        return None if different is None else different.coded(data.codes)
    return decode(data)


def _encoded(encode: EncodeRows, width: int, values: Sequence[Any]) -> Encoded | None:
    return None if None in values else encode(rows_of(values, width))


def rows_of(values: Sequence[Any], width: int) -> RowColumns:
    """Return rows, which may be tuples, as columns."""
    if isinstance(values, RowColumns):
        return values
    return RowColumns([partial(_column, values, place) for place in range(width)], len(values))


def _column(values: Sequence[Any], place: int) -> list[Any]:
    return [*map(itemgetter(place), values)]
