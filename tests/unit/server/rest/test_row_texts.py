"""Dates and times of inserted rows are texts, as the rows of answers have them."""

from typing import Any

import pytest

from penstock.formats.json.json_read import reader
from penstock.model.sql.types import (
    DATE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.server.rest.row_texts import dates_read

STRUCT = StructType((Field("T", TIMESTAMP), Field("N", INTEGER)))


@pytest.mark.parametrize(
    ("type_", "given", "read"),
    [
        (DATE, "1970-01-03", 2),
        (DATE, 2, 2),
        (TIME, "00:00:01.500", 1_500),
        (TIMESTAMP, "1970-01-01T00:00:01.000", 1_000),
        (TIMESTAMP, 1_000, 1_000),
        (ArrayType(DATE), ["1970-01-02", None], [1, None]),
        (MapType(STRING, TIMESTAMP), {"k": "1970-01-01T00:00:00.007"}, {"k": 7}),
        (STRUCT, {"T": "1970-01-01T00:00:00.007", "N": 1}, {"T": 7, "N": 1}),
        (STRUCT, {"t": "1970-01-01T00:00:00.007"}, {"T": 7, "N": None}),
    ],
)
def test_texts_and_numbers_mean_the_same(type_: SqlType, given: Any, read: Any) -> None:
    """A client may send back what it was sent; numbers are taken as before."""
    dates = dates_read(type_)
    assert dates is not None
    assert reader(type_)(dates(given)) == read


@pytest.mark.parametrize("type_", [STRING, ArrayType(INTEGER), StructType((Field("N", INTEGER),))])
def test_types_without_dates_are_left_alone(type_: SqlType) -> None:
    assert dates_read(type_) is None


def test_texts_that_are_no_dates_are_refused() -> None:
    dates = dates_read(DATE)
    assert dates is not None
    with pytest.raises(ValueError, match="soon"):
        dates("soon")
