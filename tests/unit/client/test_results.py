"""Rows as Python values, Arrow, pandas and polars.

Exercises ``client.rows``, ``client.results``, ``arrow_tables`` and ``column_types``.
"""

import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.client.column_types import column_type, has_decimals
from penstock.client.errors import ClientError
from penstock.client.results import QueryResult
from penstock.client.rows import Columns, Row

NAMES = ["B", "I", "L", "D", "M", "S", "Y", "DA", "TI", "TS", "A", "MP", "ST"]
TYPES = [
    "BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(5, 2)", "STRING", "BYTES", "DATE", "TIME",
    "TIMESTAMP", "ARRAY<DATE>", "MAP<STRING, DECIMAL(4, 1)>", "STRUCT<`x` INTEGER, `T` TIMESTAMP>",
]  # fmt: skip
VALUES: list[Any] = [
    True, 1, 2**40, 3, Decimal("1.25"), "s", "AQI=", "2024-02-03", "10:11:12.5",
    "2024-01-02T03:04:05.006", ["2024-02-03", None], {"k": Decimal("1.5")},
    {"x": 1, "T": "1970-01-01T00:00:00.001"},
]  # fmt: skip


def result(*rows: list[Any]) -> QueryResult:
    columns = Columns.of(NAMES, TYPES)
    return QueryResult(columns, tuple(columns.row(list(row)) for row in rows))


def test_every_type_has_its_python_value() -> None:
    row = result(VALUES)[0]
    assert tuple(row) == (
        True, 1, 2**40, 3.0, Decimal("1.25"), "s", b"\x01\x02", date(2024, 2, 3),
        time(10, 11, 12, 500_000), datetime(2024, 1, 2, 3, 4, 5, 6000, UTC),
        [date(2024, 2, 3), None], {"k": Decimal("1.5")},
        {"x": 1, "T": datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)},
    )  # fmt: skip
    assert isinstance(row["D"], float)


def test_arrow_has_the_types_of_the_columns() -> None:
    """Also where no row says so."""
    table = result(VALUES, [None] * len(NAMES)).to_arrow()
    assert table.num_rows == 2
    assert table.schema.field("TS").type == pa.timestamp("ms", tz="UTC")
    assert table.schema.field("M").type == pa.decimal128(5, 2)
    assert table.column("MP").to_pylist()[0] == [("k", Decimal("1.5"))]
    assert result().to_arrow().schema == table.schema


def test_pandas_keeps_whole_numbers_whole() -> None:
    """A NULL beside them does not make floats of them."""
    frame = result(VALUES, [None] * len(NAMES)).to_pandas()
    assert frame["L"][0] == 2**40
    assert str(frame["I"].dtype) == "Int32"
    assert str(result(VALUES).to_pandas()["I"].dtype) == "int32"


def test_polars_has_all_rows() -> None:
    frame = result(VALUES).to_polars()
    assert frame["S"].to_list() == ["s"]
    assert frame.columns == NAMES


def test_value_that_arrow_cannot_hold_names_its_column() -> None:
    late = ["x" if name != "DA" else "+10000-01-01" for name in NAMES]
    columns = Columns.of(["DA"], ["DATE"])
    with pytest.raises(ClientError, match="column DA"):
        QueryResult(columns, (columns.row([late[7]]),)).to_arrow()
    wide = Columns.of(["M"], ["DECIMAL(80, 2)"])
    with pytest.raises(ClientError, match="more digits"):
        QueryResult(wide, ()).to_arrow()


def test_row_is_found_by_position_and_by_name_in_any_case() -> None:
    columns = Columns.of(["USR", "lower"], ["STRING", "STRING"])
    row = columns.row(["ann", "x"])
    assert (row[0], row["usr"], row["lower"], row.get("none", 5)) == ("ann", "ann", "x", 5)
    with pytest.raises(KeyError, match="the columns are USR, lower"):
        row["nothing"]
    assert repr(row) == "Row(USR='ann', lower='x')"


def test_rows_and_results_pickle() -> None:
    row = pickle.loads(pickle.dumps(result(VALUES)[0]))
    assert isinstance(row, Row)
    assert row["TS"].year == 2024


def test_result_is_a_sequence() -> None:
    found = result(VALUES, VALUES)
    assert (len(found), len(found[:1]), found.to_dicts()[1]["S"]) == (2, 1, "s")
    assert [row["I"] for row in found] == [1, 1]


@pytest.mark.parametrize(
    "text", ["", "NOTHING", "ARRAY<INTEGER", "DECIMAL(a, 2)", "INTEGER INTEGER", "MAP<STRING>"]
)
def test_unknown_types_are_refused(text: str) -> None:
    with pytest.raises(ClientError, match="does not know"):
        column_type(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("VARCHAR(STRING)", False),
        ("STRUCT<`a``b` ARRAY<DECIMAL(3, 1)>>", True),
        ("MAP<STRING, INT>", False),
        ("STRUCT<>", False),
    ],
)
def test_types_say_whether_they_have_decimals(text: str, answer: bool) -> None:
    assert has_decimals(column_type(text)) is answer
