"""The types of SQL values, how they are written, and which type two of them have in common.

Python values: BOOLEAN bool, INTEGER and BIGINT int, DOUBLE float, DECIMAL ``Decimal``, STRING str,
BYTES bytes, DATE days since 1970 as int, TIME milliseconds of the day as int, TIMESTAMP
milliseconds since 1970 as int, ARRAY list, MAP dict, STRUCT dict with every field. NULL is None.
Types as a statement writes them: ``penstock.sql.catalog.type_names``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from penstock.model.sql.errors import SqlTypeError


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parameters, known by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """``DECIMAL(precision, scale)``: ``precision`` digits, ``scale`` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """``ARRAY<element>``."""

    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """``MAP<key, value>``."""

    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct. Names that differ in case are different."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class StructType:
    """``STRUCT<field type, ...>``; the order of fields is part of the type."""

    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'`{f.name}` {f.type}' for f in self.fields)}>"


SqlType = Scalar | DecimalType | ArrayType | MapType | StructType

BOOLEAN = Scalar("BOOLEAN")
INTEGER = Scalar("INTEGER")
BIGINT = Scalar("BIGINT")
DOUBLE = Scalar("DOUBLE")
STRING = Scalar("STRING")
BYTES = Scalar("BYTES")
DATE = Scalar("DATE")
TIME = Scalar("TIME")
TIMESTAMP = Scalar("TIMESTAMP")

# From narrow to wide: each type can hold the range of the types before it.
_WIDTH: dict[SqlType, int] = {INTEGER: 0, BIGINT: 1, DOUBLE: 3}
_DECIMAL_WIDTH = 2


def is_numeric(type_: SqlType) -> bool:
    return isinstance(type_, DecimalType) or type_ in _WIDTH


def as_decimal(type_: SqlType) -> DecimalType:
    """Return the DECIMAL that holds every value of a whole-number or decimal type."""
    if isinstance(type_, DecimalType):
        return type_
    if type_ == INTEGER:
        return DecimalType(10, 0)
    if type_ == BIGINT:
        return DecimalType(19, 0)
    raise SqlTypeError("not-a-decimal", f"a value of type {type_} has no exact DECIMAL type")


def widen(left: DecimalType, right: DecimalType) -> DecimalType:
    """Return the DECIMAL that holds every value of both."""
    scale = max(left.scale, right.scale)
    return DecimalType(
        max(left.precision - left.scale, right.precision - right.scale) + scale, scale
    )


def wider_number(left: SqlType, right: SqlType) -> SqlType:
    """Return the narrowest numeric type that both convert to: INTEGER, BIGINT, DECIMAL, DOUBLE."""
    if left == right:
        return left
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if DOUBLE in (left, right):
            return DOUBLE
        return widen(as_decimal(left), as_decimal(right))
    return left if _WIDTH[left] >= _WIDTH[right] else right


def arithmetic_type(operator: str, left: SqlType, right: SqlType) -> SqlType:
    """Return the result type of a numeric operator; DECIMAL grows so that no digit is lost."""
    wider = wider_number(left, right)
    if not isinstance(wider, DecimalType):
        return wider
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    whole_a, whole_b = a.precision - a.scale, b.precision - b.scale
    match operator:
        case "*":
            return DecimalType(a.precision + b.precision + 1, a.scale + b.scale)
        case "/":
            quotient = max(6, a.scale + b.precision + 1)
            return DecimalType(whole_a + b.scale + quotient, quotient)
        case "%":
            return DecimalType(max(1, min(whole_a, whole_b) + scale), scale)
        case _:
            return DecimalType(scale + max(whole_a, whole_b) + 1, scale)


def can_widen(source: SqlType, target: SqlType) -> bool:
    """Tell whether a value is converted without a CAST where ``target`` is wanted."""
    if source == target:
        return True
    if not is_numeric(source) or not is_numeric(target):
        return False
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        whole = source.precision - source.scale
        return source.scale <= target.scale and whole <= target.precision - target.scale
    return _rank(source) < _rank(target)


def _rank(type_: SqlType) -> int:
    return _DECIMAL_WIDTH if isinstance(type_, DecimalType) else _WIDTH[type_]


def common_type(types: Iterable[SqlType | None]) -> SqlType | None:
    """Return the type that all convert to, NULLs (None) aside; None when all are NULL.

    Raises SqlTypeError when two of them have nothing in common.
    """
    known = [type_ for type_ in types if type_ is not None]
    return reduce(merge, known) if known else None


def merge(left: SqlType, right: SqlType) -> SqlType:
    """Return the type that both convert to; structs get the fields of both."""
    if left == right:
        return left
    if is_numeric(left) and is_numeric(right):
        return wider_number(left, right)
    match left, right:
        case ArrayType(a), ArrayType(b):
            return ArrayType(merge(a, b))
        case MapType(key_a, value_a), MapType(key_b, value_b):
            return MapType(merge(key_a, key_b), merge(value_a, value_b))
        case StructType(), StructType():
            return _merge_structs(left, right)
        case _:
            raise SqlTypeError("no-common-type", f"{left} and {right} have no type in common")


def _merge_structs(left: StructType, right: StructType) -> StructType:
    fields = []
    for field in left.fields:
        other = right.field(field.name)
        fields.append(Field(field.name, merge(field.type, other.type)) if other else field)
    fields.extend(field for field in right.fields if left.field(field.name) is None)
    return StructType(tuple(fields))
