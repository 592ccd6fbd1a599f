"""Whole numbers of inserted rows: a number that does not fit its column is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.formats.json.json_read import LIMITS
from penstock.model.sql.types import BIGINT, INTEGER, ArrayType, MapType, SqlType, StructType

Check = Callable[[Any], None]


def whole_numbers(type_: SqlType) -> Check | None:
    """Return the function that refuses numbers which do not fit the INTEGER or BIGINT of a type.

    The function raises ValueError. The formats of topics keep only the low bits of such a number,
    as ksqlDB's formats do; a client that inserts a row gets an error instead. None means that the
    type has no whole numbers.

    >>> check = whole_numbers(ArrayType(INTEGER))
    >>> check and check([1, None, 2_147_483_648])
    Traceback (most recent call last):
    ValueError: 2147483648 is not between -2147483648 and 2147483647
    """
    match type_:
        case ArrayType(element):
            item = whole_numbers(element)
            return item and (lambda values: _each(item, values if type(values) is list else ()))
        case MapType(_, value_type):
            inner = whole_numbers(value_type)
            return inner and (lambda pairs: _each(inner, _members(pairs).values()))
        case StructType(fields):
            found = {field.name.upper(): whole_numbers(field.type) for field in fields}
            checks = {name: check for name, check in found.items() if check is not None}
            return _struct(checks) if checks else None
        case _ if type_ in (INTEGER, BIGINT):
            low, high = LIMITS[type_]
            return lambda value: _number(value, low, high)
        case _:
            return None


def _members(value: Any) -> dict[str, Any]:
    """Return the members of an object; the reader of the type refuses other values."""
    return value if type(value) is dict else {}


def _each(check: Check, values: Any) -> None:
    for value in values:
        if value is not None:
            check(value)


def _struct(checks: dict[str, Check]) -> Check:
    def check(value: Any) -> None:
        for name, item in _members(value).items():
            known = checks.get(name.upper())
            if known is not None and item is not None:
                known(item)

    return check


def _number(value: Any, low: int, high: int) -> None:
    if type(value) is bool:
        raise ValueError("it is not a number")
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except ArithmeticError:
            # The reader of the type says what is wrong with the text.
            return
    if not isinstance(value, int | float | Decimal):
        return
    if value != value or not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    if value != int(value):
        raise ValueError(f"{value} is not a whole number")
