"""Conversions between types: what CAST does, and what happens without one."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.formats import text_numbers
from penstock.model import java
from penstock.model.sql.errors import SqlTypeError
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
    MapType,
    SqlType,
    StructType,
    can_widen,
)
from penstock.model.time.calendar import (
    DAY_MS,
    format_date,
    format_time,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
)

Convert = Callable[[Any], Any]
#: From two types to the function between their values: ``caster`` or ``coercer``.
Conversion = Callable[[SqlType, SqlType], Convert]


def caster(source: SqlType, target: SqlType) -> Convert:
    """Return the function that CAST applies to a value; it keeps None and raises on bad values.

    Raises SqlTypeError when the language has no such cast.
    """
    if source == target:
        return _same
    convert = _between(source, target)
    if convert is None:
        raise SqlTypeError(
            "no-such-cast", f"a {source} cannot be cast to {target}", fix=_advice(source)
        )
    return _keep_none(convert)


def coercer(source: SqlType, target: SqlType) -> Convert:
    """Return the conversion of a value that is written into a column without a CAST.

    Numbers become wider numbers, and text becomes a date or a time. Collections and structs do the
    same inside, and a struct's missing fields are NULL. A number is never rounded: the function
    that is returned raises ValueError if its digits do not fit, as ksqlDB does.

    Raises:
        SqlTypeError: the value needs a CAST.
    """
    if not can_coerce(source, target):
        raise SqlTypeError(
            "no-such-coercion",
            f"a {source} is not a {target}",
            fix=_way_to(source, target),
        )
    if source == target:
        return _same
    match source, target:
        case ArrayType(), ArrayType():
            return _keep_none(_array(source, target, coercer))
        case MapType(), MapType():
            return _keep_none(_map(source, target, coercer))
        case StructType(), StructType():
            return _keep_none(_struct(source, target, coercer))
        case _, DecimalType():
            return _keep_none(_exact(caster(source, target), target))
        case _:
            return caster(source, target)


def _way_to(source: SqlType, target: SqlType) -> str | None:
    if source == STRING and target == BYTES:
        return "use TO_BYTES"
    return None if _between(source, target) is None else f"CAST the value to {target}"


def _exact(convert: Convert, target: SqlType) -> Convert:
    def converted(value: Any) -> Any:
        found = convert(value)
        if found != value:
            raise ValueError(f"{value} does not fit into {target} without rounding")
        return found

    return converted


def can_coerce(source: SqlType, target: SqlType) -> bool:
    """Return whether ``coercer`` knows a conversion."""
    if source == target or (source == STRING and target in (DATE, TIME, TIMESTAMP)):
        return True
    match source, target:
        case ArrayType(), ArrayType():
            return can_coerce(source.element, target.element)
        case MapType(), MapType():
            return can_coerce(source.key, target.key) and can_coerce(source.value, target.value)
        case StructType(), StructType():
            wanted = [(field, target.field(field.name)) for field in source.fields]
            return all(found and can_coerce(own.type, found.type) for own, found in wanted)
        case DecimalType(), DecimalType():
            # Only the value shows whether the digits fit.
            return True
        case _:
            return can_widen(source, target) or (
                source in (INTEGER, BIGINT) and isinstance(target, DecimalType)
            )


def _advice(source: SqlType) -> str | None:
    return "use FROM_BYTES to read bytes as text" if str(source) == "BYTES" else None


def _same(value: Any) -> Any:
    return value


def _keep_none(convert: Convert) -> Convert:
    def converted(value: Any) -> Any:
        return None if value is None else convert(value)

    return converted


def _between(source: SqlType, target: SqlType) -> Convert | None:
    if target == STRING:
        return texter(source)
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    match source, target:
        case ArrayType(), ArrayType():
            return _array(source, target, caster)
        case MapType(), MapType():
            return _map(source, target, caster)
        case StructType(), StructType():
            return _struct(source, target, caster)
        case DecimalType(), _:
            return _FROM_DECIMAL.get(target)
        case _:
            return _SCALARS.get((source, target))


def _array(source: ArrayType, target: ArrayType, inner: Conversion) -> Convert:
    element = inner(source.element, target.element)
    return lambda values: [element(value) for value in values]


def _map(source: MapType, target: MapType, inner: Conversion) -> Convert:
    key, value = inner(source.key, target.key), inner(source.value, target.value)
    return lambda values: {key(k): value(v) for k, v in values.items()}


def _struct(source: StructType, target: StructType, inner: Conversion) -> Convert:
    casts: list[tuple[str, Convert]] = []
    for field in target.fields:
        own = source.field(field.name)
        casts.append((field.name, inner(own.type, field.type) if own else _same))
    return lambda value: {name: cast(value.get(name)) for name, cast in casts}


def _to_decimal(source: SqlType, target: DecimalType) -> Convert | None:
    precision, scale = target.precision, target.scale
    reader: Convert
    if source in (INTEGER, BIGINT) or isinstance(source, DecimalType):
        reader = Decimal
    elif source == DOUBLE:
        reader = _decimal_of_double
    elif source == STRING:
        reader = read_decimal
    else:
        return None
    return lambda value: java.fit(reader(value), precision, scale)


def _decimal_of_double(value: float) -> Decimal:
    return Decimal(repr(value))


def read_decimal(text: str) -> Decimal:
    return text_numbers.read_decimal(text.strip())


def read_boolean(text: str) -> bool | None:
    """Read any prefix of true, yes, false or no, in upper or lower case; None for other text.

    This is how a literal becomes a BOOLEAN without a CAST. CAST accepts only ``true``.
    """
    word = text.strip().lower()
    if not word:
        return None
    if "true".startswith(word) or "yes".startswith(word):
        return True
    return False if "false".startswith(word) or "no".startswith(word) else None


def _read_int(text: str) -> int:
    return _whole(text, java.MIN_INT, java.MAX_INT)


def _read_long(text: str) -> int:
    return _whole(text, java.MIN_LONG, java.MAX_LONG)


def _whole(text: str, low: int, high: int) -> int:
    digits = text.strip()
    if not digits.lstrip("+-").isdigit() or len(digits) > 25:
        raise ValueError(f"{text!r} is not a whole number")
    value = int(digits)
    if not low <= value <= high:
        raise ValueError(f"{text!r} is out of range")
    return value


def _time_of(ms: int) -> int:
    return ms % DAY_MS


def _date_of(ms: int) -> int:
    return ms // DAY_MS


_SCALARS: dict[tuple[SqlType, SqlType], Convert] = {
    (INTEGER, BIGINT): _same,
    (INTEGER, DOUBLE): float,
    (BIGINT, INTEGER): java.wrap_int,
    (BIGINT, DOUBLE): float,
    (DOUBLE, INTEGER): lambda value: java.saturate(value, java.MIN_INT, java.MAX_INT),
    (DOUBLE, BIGINT): lambda value: java.saturate(value, java.MIN_LONG, java.MAX_LONG),
    (STRING, BOOLEAN): lambda text: text.strip().lower() == "true",
    (STRING, INTEGER): _read_int,
    (STRING, BIGINT): _read_long,
    (STRING, DOUBLE): text_numbers.read_double,
    (STRING, TIMESTAMP): parse_timestamp,
    (STRING, DATE): parse_date,
    (STRING, TIME): parse_time,
    (DATE, TIMESTAMP): lambda days: days * DAY_MS,
    (TIMESTAMP, DATE): _date_of,
    (TIMESTAMP, TIME): _time_of,
}
_FROM_DECIMAL: dict[SqlType, Convert] = {
    INTEGER: lambda value: java.wrap_int(int(value)),
    BIGINT: lambda value: java.wrap_long(int(value)),
    DOUBLE: float,
}


def texter(source: SqlType) -> Convert | None:
    """Return the function that writes a value as CAST to STRING does; None if there is no cast."""
    match source:
        case DecimalType():
            return java.decimal_text
        case ArrayType(element):
            return _array_text(_inner_text(element))
        case MapType(key, value):
            return _map_text(_inner_text(key), _inner_text(value))
        case StructType():
            return _struct_text([(f.name, _inner_text(f.type)) for f in source.fields])
        case _:
            return _TEXTS.get(source)


def _inner_text(type_: SqlType) -> Convert:
    convert = texter(type_) or str
    return lambda value: "null" if value is None else convert(value)


def _array_text(element: Convert) -> Convert:
    return lambda values: f"[{', '.join(element(value) for value in values)}]"


def _map_text(key: Convert, value: Convert) -> Convert:
    return lambda values: f"{{{', '.join(f'{key(k)}={value(v)}' for k, v in values.items())}}}"


def _struct_text(fields: list[tuple[str, Convert]]) -> Convert:
    def text(struct: dict[str, Any]) -> str:
        # Kafka Connect, which writes structs for ksqlDB, leaves out fields that are null.
        shown = (f"{n}={write(struct[n])}" for n, write in fields if struct.get(n) is not None)
        return f"Struct{{{','.join(shown)}}}"

    return text


_TEXTS: dict[SqlType, Convert] = {
    BOOLEAN: lambda value: "true" if value else "false",
    INTEGER: str,
    BIGINT: str,
    DOUBLE: java.double_text,
    STRING: _same,
    DATE: format_date,
    TIME: format_time,
    TIMESTAMP: format_timestamp,
}
