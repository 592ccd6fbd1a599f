"""A column of numbers and a dictionary is the column of bytes that it stands for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.columns.dictionary_bytes import DictionaryBytes, joined_columns

ITEMS = st.lists(st.none() | st.sampled_from([b"", b"a", b"b", b"c"]), max_size=8)


def coded(items: list[bytes | None], spare: bytes = b"spare") -> DictionaryBytes:
    """With bytes that are in no row, as after a cut."""
    different = [spare, *dict.fromkeys(item for item in items if item is not None)]
    codes = [-1 if item is None else different.index(item) for item in items]
    return DictionaryBytes(np.array(codes, np.int64), different)


@given(items=ITEMS, at=st.integers(0, 8))
def test_coded_column_reads_like_a_list(items: list[bytes | None], at: int) -> None:
    """Whoever works record by record sees no difference."""
    column = coded(items)
    assert list(column) == list(column.used()) == [column[n] for n in range(len(column))] == items
    assert list(column[at:]) == items[at:]
    assert b"spare" not in column.used().different


@given(parts=st.lists(ITEMS, min_size=1, max_size=4))
def test_joined_columns_follow_each_other(parts: list[list[bytes | None]]) -> None:
    """DictionaryColumn ones stay coded, with one number for the same bytes."""
    whole = [item for part in parts for item in part]
    joined = joined_columns([coded(part) for part in parts])
    assert isinstance(joined, DictionaryBytes)
    assert list(joined) == whole
    assert len(set(joined.different)) == len(joined.different)
    assert list(joined_columns([*parts, coded([])])) == whole


@given(parts=st.lists(ITEMS, min_size=1, max_size=4), rest=ITEMS)
def test_joined_columns_are_coded_if_most_rows_are(
    parts: list[list[bytes | None]], rest: list[bytes | None]
) -> None:
    """A short end that is not worth it does not undo what the others have saved."""
    whole = [item for part in parts for item in part]
    joined = joined_columns([*map(coded, parts), rest])
    assert list(joined) == [*whole, *rest]
    assert isinstance(joined, DictionaryBytes) == (len(whole) >= len(rest))
    assert not isinstance(joined_columns([*parts, rest]), DictionaryBytes)
