"""Rows as columns, and which columns are left to single rows instead.

Exercises ``dictionary_column``.
"""

from __future__ import annotations

import numpy as np

from penstock.formats.row_column_serde import row_column_serde, rows_of
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.row_columns import RowColumns
from penstock.serde.column_serde import Encoded

asked: list[Encoded] = []


def _decode(data: Encoded) -> RowColumns:
    asked.append(data)
    return RowColumns([[*map(len, data)]], len(data))  # type: ignore[arg-type]


SERDE = row_column_serde("sizes", 1, _decode, lambda rows: [bytes(n) for n in rows.column(0)])


def test_column_without_a_row_is_left_to_single_rows() -> None:
    """A record without bytes has no row, and a row that is missing has no bytes."""
    assert SERDE.decode is not None
    assert SERDE.encode is not None
    assert SERDE.decode([b"ab", None]) is None
    assert SERDE.decode([]) is None
    assert SERDE.encode([(1,), None]) is None


def test_bytes_that_come_again_are_decoded_once() -> None:
    """A dictionary has each of its items once."""
    assert SERDE.decode is not None
    asked.clear()
    found = SERDE.decode(DictionaryBytes(np.array([1, 0, 1, 1]), [b"a", b"bc"]))
    assert [*(found or ())] == [(2,), (1,), (2,), (2,)]
    assert asked == [[b"a", b"bc"]]


def test_tuples_are_taken_as_columns() -> None:
    """Each column has the items of one place."""
    assert rows_of([(1, "a"), (2, "b")], 2).columns() == [[1, 2], ["a", "b"]]
    assert SERDE.encode is not None
    assert SERDE.encode([(2,), (0,)]) == [b"\0\0", b""]
