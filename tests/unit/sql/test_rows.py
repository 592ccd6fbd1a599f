"""Rows inside a query keep every value."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.serde.columns import known
from penstock.sql.planner.lowering.rows import row_serde
from tests.unit.sql.kit import sql_type

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False),
    "STRING": st.text(st.characters(exclude_categories=["Cs"])),
    "BYTES": st.binary(),
    "DECIMAL(20, 5)": st.decimals(-(10**14), 10**14, places=5),
    "ARRAY<BYTES>": st.lists(st.none() | st.binary()),
    "MAP<BIGINT, DECIMAL(6, 2)>": st.dictionaries(
        st.integers(0, 99), st.none() | st.decimals(-99, 99, places=2)
    ),
    "STRUCT<A DECIMAL(6, 2), B VARCHAR>": st.fixed_dictionaries(
        {"A": st.none() | st.decimals(-99, 99, places=2), "B": st.none() | st.text("abc")}
    ),
}


@given(st.data())
def test_row_is_read_as_it_was_written(data: st.DataObject) -> None:
    """Every type comes back equal, NULL included."""
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=5))
    row = tuple(data.draw(st.none() | VALUES[name]) for name in names)
    serde = row_serde([sql_type(name) for name in names])
    assert serde.decode(serde.encode(row)) == row


@pytest.mark.parametrize("number", [float("inf"), float("-inf")])
def test_infinity_survives(number: float) -> None:
    """JSON has no infinity, rows have."""
    serde = row_serde([sql_type("DOUBLE")])
    assert serde.decode(serde.encode((number,))) == (number,)


def test_decimal_keeps_its_scale() -> None:
    """1.50 is not 1.5 when it is shown."""
    serde = row_serde([sql_type("DECIMAL(5, 2)")])
    assert str(serde.decode(serde.encode((Decimal("1.50"),)))[0]) == "1.50"


@given(st.data())
def test_columns_are_written_and_read_as_their_rows(data: st.DataObject) -> None:
    """To the byte; what a column cannot tell is left to single rows."""
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    items = [
        st.none() | VALUES[name] if data.draw(st.booleans()) else VALUES[name] for name in names
    ]
    rows = data.draw(st.lists(st.tuples(*items), min_size=1, max_size=5))
    serde = row_serde([sql_type(name) for name in names])
    each = [serde.encode(row) for row in rows]
    columns = known(serde)
    assert columns.encode is not None
    assert columns.decode is not None
    written = columns.encode(rows)
    assert written is None or list(written) == each
    read = columns.decode(each)
    assert read is None or list(read) == rows
