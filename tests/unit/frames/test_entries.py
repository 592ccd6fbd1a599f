"""Keys and values as a table: the columns of ``penstock.read`` and of stores.

Exercises ``frames.columns``.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from penstock.frames.arrow_types import INSTANT
from penstock.frames.columns import array, columns_of
from penstock.frames.entries import entries_table
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.serdes import Serdes, resolve_serde


class Colour(Enum):
    RED = "red"


@dataclass
class Average:
    city: str
    mean: float
    seen: int
    timestamp: int = 0


AVERAGE = resolve_serde(Average)


def test_members_of_a_dataclass_are_columns_also_without_rows() -> None:
    """A member that is called as a column of the record gets another name."""
    empty = entries_table([], [], key_serde=Serdes.string(), value_serde=AVERAGE)
    assert empty.schema == pa.schema(
        {"key": pa.string(), "city": pa.string(), "mean": pa.float64(), "seen": pa.int64(),
         "value_timestamp": pa.int64()}
    )  # fmt: skip
    full = entries_table(["a"], [Average("Oslo", 1.5, 2)], value_serde=AVERAGE)
    assert full.to_pylist() == [
        {"key": "a", "city": "Oslo", "mean": 1.5, "seen": 2, "value_timestamp": 0}
    ]


def test_a_deleted_value_is_null_in_each_column() -> None:
    table = entries_table(["a", "b"], [None, Average("Oslo", 1.5, 2)], value_serde=AVERAGE)
    assert table["city"].to_pylist() == [None, "Oslo"]


def test_plain_values_have_one_column() -> None:
    table = entries_table(["a"], [3], key_serde=Serdes.string(), value_serde=Serdes.integer())
    assert table.schema == pa.schema({"key": pa.string(), "value": pa.int32()})


def test_windows_are_two_columns_of_times() -> None:
    """A window without an end ends after every time of a calendar."""
    keys = [Windowed("a", Window(0, 60_000)), Windowed("b", Window(60_000, 2**63 - 1))]
    table = entries_table(keys, [1, 2])
    assert table.schema.field("window_start").type == INSTANT
    assert table["key"].to_pylist() == ["a", "b"]
    assert table["window_end"].to_pylist() == [datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None]
    serde = resolve_serde("string")
    empty = entries_table([], [], key_serde=serde, is_windowed=True)
    assert empty.column_names == ["key", "window_start", "window_end", "value"]


def test_keys_with_members_have_columns_of_their_own() -> None:
    table = entries_table([{"shop": 1, "day": 2}], [3])
    assert table.column_names == ["key_shop", "key_day", "value"]


def test_columns_of_the_record_come_last() -> None:
    table = entries_table(["a"], [3], record={"offset": pa.array([7])})
    assert table.to_pylist() == [{"key": "a", "value": 3, "offset": 7}]


def test_dicts_have_the_names_of_all_of_them_in_the_order_of_appearance() -> None:
    found = columns_of([{"a": 1}, {"b": 2.5, "a": None}], None, "value")
    assert {name: column.to_pylist() for name, column in found.items()} == {
        "a": [1, None], "b": [None, 2.5],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (Colour.RED, "red"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"b", "a"}, ["a", "b"]),
        ([Average("Oslo", 1.0, 1)], [{"city": "Oslo", "mean": 1.0, "seen": 1, "timestamp": 0}]),
        (datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
         datetime(2026, 1, 1, 10, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_values_of_python_are_values_of_arrow(value: Any, wanted: Any) -> None:
    assert columns_of([{"x": value}], None, "value")["x"].to_pylist() == [wanted]


@pytest.mark.parametrize("values", [[1, "two"], [2**70], [{"a": 1}, [1]]])
def test_values_without_a_common_type_are_json(values: list[Any]) -> None:
    """A table is better than an error, and no value is rounded."""
    column = array(values, pa.int64())
    assert column.type == pa.string()
    assert str(values[0]).replace("'", '"').replace(" ", "") in str(column[0]).replace(" ", "")
