"""Whole numbers of inserted rows. Exercises ``rest.row_numbers``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.server.rest.row_numbers import whole_numbers

ADDRESS = StructType((Field("STREET", STRING), Field("NUMBER", INTEGER)))


@pytest.mark.parametrize("type_", [STRING, DOUBLE, ArrayType(STRING), MapType(STRING, DOUBLE)])
def test_other_types_need_no_check(type_: SqlType) -> None:
    """Their readers refuse what does not fit."""
    assert whole_numbers(type_) is None


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (INTEGER, 2**31 - 1), (INTEGER, 7.0), (INTEGER, "7"), (BIGINT, -(2**63)), (INTEGER, "x"),
        (ArrayType(INTEGER), [1, None]), (ArrayType(INTEGER), "no list"), (ADDRESS, {"number": 3}),
        (MapType(STRING, BIGINT), {"a": 2**40}), (ADDRESS, None), (BIGINT, Decimal("5")),
    ],
)  # fmt: skip
def test_numbers_that_fit_pass(type_: SqlType, value: Any) -> None:
    """What is no number at all is refused by the reader of the type, with its own words."""
    check = whole_numbers(type_)
    assert check is not None
    check(value)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (INTEGER, 2**31), (INTEGER, -(2**31) - 1), (BIGINT, 2**63), (INTEGER, 1.5), (INTEGER, True),
        (INTEGER, "3000000000"), (BIGINT, "1.5"), (INTEGER, float("inf")), (BIGINT, "NaN"),
        (ArrayType(INTEGER), [1, 2**31]), (MapType(STRING, BIGINT), {"a": 2**63}),
        (ADDRESS, {"number": 2**31}), (ArrayType(ADDRESS), [{"NUMBER": 0.5}]),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused(type_: SqlType, value: Any) -> None:
    """They would be cut to other numbers."""
    check = whole_numbers(type_)
    assert check is not None
    with pytest.raises(ValueError, match=r"between|number"):
        check(value)
