"""DELIMITED as columns: the same bytes and rows as one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.delimited import delimited_codec
from penstock.formats.delimited_columns import delimited_columns
from penstock.formats.row_column_serde import rows_of
from penstock.model.sql.types import BIGINT, DOUBLE, INTEGER, STRING, Field, SqlType

PLAIN = st.floats(-1e7, 1e7) | st.integers(-4_000, 4_000).map(lambda n: n / 4)
NUMBERS: dict[SqlType, st.SearchStrategy[Any]] = {
    INTEGER: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: PLAIN | st.floats(),
}
TYPES = st.lists(st.sampled_from([INTEGER, BIGINT, DOUBLE]), min_size=1, max_size=3)


@given(types=TYPES, data=st.data())
def test_numbers_are_written_as_one_by_one(types: list[SqlType], data: st.DataObject) -> None:
    """To the byte: a minus in front is quoted, and doubles are those of Java."""
    fields = [Field(f"C{n}", type_) for n, type_ in enumerate(types)]
    has_nulls = data.draw(st.booleans())
    cells = [NUMBERS[type_] | st.none() if has_nulls else NUMBERS[type_] for type_ in types]
    rows = data.draw(st.lists(st.tuples(*cells), max_size=5))
    encode = delimited_columns(fields, ",").encode
    assert encode is not None
    found = encode(rows_of(rows, len(types)))
    one, _ = delimited_codec(fields, ",")
    if found is None:
        assert any(None in row for row in rows)
    else:
        assert list(found) == [one(row) for row in rows]


@pytest.mark.parametrize("texts", [["a,1"], ["a,1", "b,-2"], ['"a",1'], ["a,1", ""], ["a\n,1"]])
def test_rows_are_read_as_one_by_one(texts: list[str]) -> None:
    """Or left to single records, where lines say something else than they seem to."""
    fields = [Field("S", STRING), Field("N", INTEGER)]
    data = [text.encode() for text in texts]
    decode = delimited_columns(fields, ",").decode
    assert decode is not None
    found = decode(data)
    _, one = delimited_codec(fields, ",")
    assert found is None or list(found) == [one(each) for each in data]
