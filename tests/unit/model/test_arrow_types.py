"""Types of SQL in Arrow: readers agree on everything but times and long decimals."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.model.sql.arrow_types import MOST_DIGITS, ArrowTypes
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

NUMBERS = ArrowTypes(date=pa.int32(), time=pa.int32(), timestamp=pa.int64())
TIMES = ArrowTypes(
    date=pa.date32(), time=pa.string(), timestamp=pa.timestamp("us", tz="UTC"), digits=38
)


@pytest.mark.parametrize("type_", [BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES])
def test_readers_agree_on_types_without_times(type_: SqlType) -> None:
    assert NUMBERS.of(type_) == TIMES.of(type_)


def test_times_inside_of_other_types_are_those_of_the_reader() -> None:
    type_ = MapType(STRING, ArrayType(StructType((Field("AT", TIMESTAMP),))))
    inner = pa.struct([("AT", pa.timestamp("us", tz="UTC"))])
    assert TIMES.of(type_) == pa.map_(pa.string(), pa.list_(inner))
    assert (TIMES.of(DATE), TIMES.of(TIME)) == (pa.date32(), pa.string())
    assert (NUMBERS.of(DATE), NUMBERS.of(TIMESTAMP)) == (pa.int32(), pa.int64())


def test_decimals_take_as_little_room_as_they_can() -> None:
    assert NUMBERS.of(DecimalType(38, 2)) == pa.decimal128(38, 2)
    assert NUMBERS.of(DecimalType(39, 2)) == pa.decimal256(39, 2)
    assert NUMBERS.of(DecimalType(MOST_DIGITS, 2)) == pa.decimal256(MOST_DIGITS, 2)


def test_longer_decimals_are_what_the_reader_wants() -> None:
    assert TIMES.of(DecimalType(39, 2)) == pa.string()

    def refuse(type_: DecimalType) -> pa.DataType:
        raise ValueError(f"{type_} is too long")

    strict = ArrowTypes(date=pa.int32(), time=pa.int32(), timestamp=pa.int64(), longer=refuse)
    with pytest.raises(ValueError, match=r"DECIMAL\(77, 2\) is too long"):
        strict.of(DecimalType(77, 2))
