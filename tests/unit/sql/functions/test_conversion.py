"""Values on the way to functions of users and back: Python's own types, checked."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from penstock.sql.functions.conversion import WrongResultError, reader, writer
from penstock.sql.functions.hints import pattern_of
from tests.unit.sql.kit import sql_type


@dataclass
class Visit:
    at: datetime
    days: list[date]
    weight: float = 1.5


def read(hint: Any, type_: str, value: Any) -> Any:
    convert = reader(pattern_of(read, "value", hint), sql_type(type_))
    return value if convert is None else convert(value)


def test_dates_and_times_are_pythons_wherever_they_stand() -> None:
    """Inside arrays, maps and structs too, whatever the hint says."""
    moment = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert read(Any, "TIMESTAMP", 1000) == moment
    assert read(list[Any], "ARRAY<TIME>", [1000, None]) == [time(0, 0, 1), None]
    assert read(dict[str, date], "MAP<STRING, DATE>", {"a": 1}) == {"a": date(1970, 1, 2)}
    assert read(dict, "STRUCT<`a` TIMESTAMP, b INT>", {"a": 1000, "B": 1}) == {"a": moment, "B": 1}


def test_structs_become_dataclasses() -> None:
    """Fields are found by name, defaults fill in for fields the struct does not have."""
    found = read(Visit, "STRUCT<at TIMESTAMP, `days` ARRAY<DATE>>", {"AT": 0, "days": [1]})
    assert found == Visit(datetime(1970, 1, 1, tzinfo=UTC), [date(1970, 1, 2)])
    narrow = "STRUCT<at TIMESTAMP, days ARRAY<DATE>, weight INT>"
    assert read(Visit, narrow, {"AT": None, "DAYS": None, "WEIGHT": 2}).weight == 2.0
    assert read(Visit, narrow, {"AT": None, "DAYS": None, "WEIGHT": None}).weight is None


@pytest.mark.parametrize(
    ("type_", "value", "written"),
    [
        ("INT", np.int64(5), 5),
        ("BIGINT", -(2**63), -(2**63)),
        ("DOUBLE", 3, 3.0),
        ("DOUBLE", np.float32(0.5), 0.5),
        ("BOOLEAN", np.bool_(True), True),
        ("STRING", "a", "a"),
        ("BYTES", bytearray(b"a"), b"a"),
        ("DECIMAL(5, 2)", 7, Decimal("7.00")),
        ("DECIMAL(5, 2)", Decimal("1.500"), Decimal("1.50")),
        ("DECIMAL(40, 2)", Decimal("1" * 38), Decimal("1" * 38 + ".00")),
        ("DATE", date(1970, 1, 2), 1),
        ("TIME", time(0, 0, 1, 999), 1000),
        ("TIMESTAMP", datetime(1970, 1, 1, 0, 0, 1), 1000),
        ("ARRAY<DATE>", (date(1970, 1, 2), None), [1, None]),
        ("MAP<STRING, INT>", {"a": None}, {"a": None}),
        ("STRUCT<a INT, `b` STRING>", {"a": 1}, {"A": 1, "b": None}),
        ("STRUCT<a INT>", None, None),
    ],
)
def test_results_become_sql_values(type_: str, value: Any, written: Any) -> None:
    """What Python calls another way and means the same is taken."""
    found = writer(sql_type(type_))(value)
    assert found == written
    assert repr(found) == repr(written)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("INT", 2**31),
        ("INT", True),
        ("INT", 1.0),
        ("BIGINT", "1"),
        ("BIGINT", 2**63),
        ("DOUBLE", "1.5"),
        ("DOUBLE", Decimal("1.5")),
        ("BOOLEAN", 1),
        ("STRING", 5),
        ("STRING", b"a"),
        ("BYTES", "a"),
        ("DECIMAL(5, 2)", 1.5),
        ("DECIMAL(5, 2)", Decimal("1.555")),
        ("DECIMAL(5, 2)", Decimal("1000")),
        ("DECIMAL(5, 2)", Decimal("NaN")),
        ("DATE", datetime(1970, 1, 1)),
        ("DATE", 1),
        ("TIME", 1),
        ("TIMESTAMP", date(1970, 1, 1)),
        ("TIMESTAMP", 1000),
        ("ARRAY<INT>", "abc"),
        ("ARRAY<INT>", [1, "b"]),
        ("MAP<STRING, INT>", [("a", 1)]),
        ("MAP<STRING, INT>", {1: 1}),
        ("STRUCT<a INT>", {"b": 1}),
        ("STRUCT<a INT>", 5),
    ],
)
def test_results_of_another_type_are_refused(type_: str, value: Any) -> None:
    """Nothing is cut, rounded or read as something else."""
    with pytest.raises(WrongResultError, match="which is not a"):
        writer(sql_type(type_))(value)
