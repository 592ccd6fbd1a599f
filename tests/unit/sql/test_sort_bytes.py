"""Bytes that sort as values do: ``lowering.sort_bytes``."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    STRING,
    DecimalType,
    SqlType,
)
from penstock.sql.planner.lowering.sort_bytes import sort_encoder

_LONGS = some.integers(-(2**63), 2**63 - 1)
_DECIMALS = some.integers(-(10**6) + 1, 10**6 - 1).map(lambda n: Decimal(n).scaleb(-2))
VALUES: dict[SqlType, Any] = {
    BIGINT: _LONGS,
    BOOLEAN: some.booleans(),
    BYTES: some.binary(max_size=4),
    DOUBLE: some.floats(allow_nan=False),
    # Java, and so the pull queries, would sort characters beyond 16 bits in another way.
    STRING: some.text(max_size=4),
    DecimalType(6, 2): _DECIMALS,
}


@pytest.mark.parametrize("type_", VALUES, ids=str)
@given(data=some.data(), is_descending=some.booleans())
def test_bytes_sort_as_values(type_: SqlType, data: some.DataObject, is_descending: bool) -> None:
    """Also behind a NULL, and with other bytes behind them."""
    values = data.draw(some.lists(VALUES[type_], max_size=6))
    encode = sort_encoder(type_, is_descending=is_descending, nulls_first=True)
    found = sorted(values, key=lambda value: encode(value) + b"behind")
    assert found == sorted(values, reverse=is_descending)
    assert all(encode(None) < encode(value) for value in values)


@pytest.mark.parametrize("is_descending", [True, False])
def test_nulls_come_last_if_not_first(is_descending: bool) -> None:
    encode = sort_encoder(STRING, is_descending=is_descending, nulls_first=False)
    assert encode("") < encode(None)
    assert encode("\uffff") < encode(None)
