"""Rows that are kept as columns read like a list of tuples, and are made when they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.columns.dictionary_column import DictionaryColumn, coded_texts
from penstock.model.columns.row_columns import RowColumns, kept, places_of, taken

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", ""])), max_size=8)


def columns(rows: list[tuple[int, str]]) -> RowColumns:
    """The first column is there, the second one is made when it is asked for."""
    return RowColumns([[n for n, _ in rows], lambda: [text for _, text in rows]], len(rows))


@given(rows=ROWS, first=st.integers(0, 8), after=st.integers(0, 8))
def test_rows_read_like_a_list(rows: list[tuple[int, str]], first: int, after: int) -> None:
    found = columns(rows)
    assert [*found] == rows == [found[place] for place in range(len(found))]
    assert [*found[first:after]] == rows[first:after]
    assert found.width == 2
    assert [*zip(*found.columns(), strict=True)] == rows
    for row in [*rows, (9, "a")]:
        assert (row in found) == (row in rows)
    assert None not in found


@given(rows=ROWS, data=st.data())
def test_some_of_the_rows(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    """By place, in any order and more than once, or where a mask is true."""
    place = st.integers(0, max(len(rows) - 1, 0))
    places = data.draw(st.lists(place, max_size=5 if rows else 0))
    chosen = [rows[each] for each in places]
    found = columns(rows)
    assert [*found.take(places)] == [*found.coded(np.array(places, np.int64))] == chosen
    assert [*taken(found, places)] == [*taken(rows, places)] == chosen
    assert [*taken(rows, np.array(places, np.int64))] == chosen
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    expected = [row for row, is_kept in zip(rows, mask, strict=True) if is_kept]
    assert [*kept(found, mask)] == [*kept(rows, mask)] == expected
    assert isinstance(kept(found, mask), RowColumns)
    assert places_of(np.array(mask, bool)).tolist() == places_of(mask).tolist()


def test_a_column_is_made_once() -> None:
    calls: list[int] = []

    def made() -> list[int]:
        calls.append(1)
        return [1, 2]

    rows = RowColumns([made, [3, 4]], 2)
    assert calls == []
    assert (rows.column(0), rows[0], [*rows], calls) == ([1, 2], (1, 3), [(1, 3), (2, 4)], [1])


def test_rows_without_columns_have_a_length() -> None:
    assert [*RowColumns([], 3)] == [(), (), ()]


def test_coded_rows_keep_each_different_item_once() -> None:
    """Also if the column is numbers and a dictionary already."""
    whole = DictionaryColumn(np.array([1, 0, -1]), ["x", "y"])
    rows = RowColumns([whole, ["a", "b", "c"]], 3).coded(np.array([2, 0, 0]))
    first, second = rows.columns()
    assert ([*first], [*second]) == ([None, "y", "y"], ["c", "a", "a"])
    assert isinstance(first, DictionaryColumn)
    assert isinstance(second, DictionaryColumn)
    assert first.different is whole.different


CODES = DictionaryColumn(np.array([1, -1, 0]), ["a", "b", "spare"])


def test_a_dictionary_reads_like_a_list() -> None:
    assert [*CODES] == [CODES[0], CODES[1], CODES[2]] == ["b", None, "a"]
    assert [*CODES[1:]] == [None, "a"]
    assert [*CODES.take(np.array([2, 2]))] == ["a", "a"]
    assert len(CODES) == 3


@pytest.mark.parametrize(
    ("column", "item", "is_there"),
    [
        (CODES, "a", True),
        (CODES, "spare", False),
        (CODES, None, True),
        (CODES[:1], None, False),
        (DictionaryColumn(np.array([0]), [None]), None, True),
        (DictionaryColumn(np.array([1]), [None, "a"]), None, False),
    ],
)
def test_what_a_dictionary_contains(column: Any, item: Any, is_there: bool) -> None:
    """Items that no row has do not count; a null may be a number or an item."""
    assert (item in column) is is_there


def test_texts_are_coded_if_half_of_them_repeat() -> None:
    texts = ["a", "b"] * 16 + [f"t{n}" for n in range(30)]
    coded = coded_texts([*texts, "a", "b"])
    assert coded is not None
    assert [*coded] == [*texts, "a", "b"]
    assert len(coded.different) == 32
    assert coded_texts([*texts, "a", "new"]) is None


@pytest.mark.parametrize(
    "texts", [["a"] * 63, ["a"] * 63 + [None], ["a"] * 63 + ["\ud800"]], ids=["few", "null", "half"]
)
def test_texts_that_are_not_worth_it_or_cannot_be_coded(texts: list[Any]) -> None:
    assert coded_texts(texts) is None
    assert coded_texts(["a"] * 64) is not None
