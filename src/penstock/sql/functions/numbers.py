"""Numeric functions: rounding, comparing, series, distances. Trigonometry: ``trigonometry``."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_UP,
    Decimal,
    localcontext,
)
from functools import reduce
from typing import Any

from penstock.model import java
from penstock.model.sql.errors import FunctionError
from penstock.model.sql.types import DecimalType, SqlType, as_decimal, widen
from penstock.sql.functions.declare import scalar

_SORTABLE_BUT_DECIMAL = (
    "INTEGER",
    "BIGINT",
    "DOUBLE",
    "STRING",
    "BYTES",
    "DATE",
    "TIME",
    "TIMESTAMP",
)


@scalar("ABS", "DOUBLE -> DOUBLE", "DECIMAL -> DECIMAL")
def absolute(value: Any) -> Any:
    """Return the number without its sign."""
    return abs(value)


@scalar("ABS", "INTEGER -> INTEGER")
def absolute_int(value: int) -> int:
    # The smallest whole number has no positive counterpart in Java and stays as it is.
    return java.wrap_int(abs(value))


@scalar("ABS", "BIGINT -> BIGINT")
def absolute_long(value: int) -> int:
    return java.wrap_long(abs(value))


@scalar("CEIL", "DOUBLE -> DOUBLE", "INTEGER -> INTEGER", "BIGINT -> BIGINT")
def ceil(value: Any) -> Any:
    """Return the nearest whole number that is not smaller."""
    return value if isinstance(value, int) or not math.isfinite(value) else float(math.ceil(value))


@scalar("FLOOR", "DOUBLE -> DOUBLE", "INTEGER -> INTEGER", "BIGINT -> BIGINT")
def floor(value: Any) -> Any:
    """Return the nearest whole number that is not larger."""
    return value if isinstance(value, int) or not math.isfinite(value) else float(math.floor(value))


@scalar("CEIL", "DECIMAL -> DECIMAL")
def ceil_decimal(value: Decimal) -> Decimal:
    return _at_scale(_scaled(value, 0, ROUND_CEILING), value)


@scalar("FLOOR", "DECIMAL -> DECIMAL")
def floor_decimal(value: Decimal) -> Decimal:
    return _at_scale(_scaled(value, 0, ROUND_FLOOR), value)


@scalar("ROUND", "DOUBLE -> BIGINT", "BIGINT -> BIGINT", "INTEGER -> BIGINT")
def round_(value: Any) -> int:
    """Round to the nearest whole number, halves towards positive infinity."""
    if isinstance(value, int):
        return value
    low, high = java.MIN_LONG, java.MAX_LONG
    return java.saturate(math.floor(value + 0.5) if math.isfinite(value) else value, low, high)


@scalar("ROUND", "DOUBLE, INTEGER -> DOUBLE")
def round_double(value: float, places: int) -> float:
    if not math.isfinite(value):
        return value
    return float(_rounded(Decimal(repr(value)), places))


def _whole_digits(types: Sequence[Any]) -> SqlType:
    type_ = types[0]
    if not isinstance(type_, DecimalType):
        return DecimalType(19, 0)
    return DecimalType(max(1, type_.precision - type_.scale), 0)


@scalar("ROUND", "DECIMAL -> DECIMAL", returns=_whole_digits)
def round_decimal(value: Decimal) -> Decimal:
    return _rounded(value, 0)


@scalar("ROUND", "DECIMAL, INTEGER -> DECIMAL")
def round_decimal_to(value: Decimal, places: int) -> Decimal:
    return _at_scale(_rounded(value, places), value)


@scalar("TRUNC", "DOUBLE -> BIGINT", "BIGINT -> BIGINT", "INTEGER -> BIGINT")
def trunc(value: Any) -> int:
    """Truncate a number towards zero, to a whole number or to a number of decimal places."""
    return value if isinstance(value, int) else java.saturate(value, java.MIN_LONG, java.MAX_LONG)


@scalar("TRUNC", "DOUBLE, INTEGER -> DOUBLE")
def trunc_double(value: float, places: int) -> float:
    if not math.isfinite(value):
        return value
    return float(_scaled(Decimal(repr(value)), places, ROUND_DOWN))


@scalar("TRUNC", "DECIMAL -> DECIMAL", returns=_whole_digits)
def trunc_decimal(value: Decimal) -> Decimal:
    return _scaled(value, 0, ROUND_DOWN)


@scalar("TRUNC", "DECIMAL, INTEGER -> DECIMAL")
def trunc_decimal_to(value: Decimal, places: int) -> Decimal:
    return _at_scale(_scaled(value, places, ROUND_DOWN), value)


def _scaled(value: Decimal, places: int, rounding: str) -> Decimal:
    with localcontext(java.EXACT):
        return value.quantize(Decimal(1).scaleb(-places), rounding=rounding)


def _rounded(value: Decimal, places: int) -> Decimal:
    # Halves are rounded towards positive infinity, as Java's Math.round does.
    return _scaled(value, places, ROUND_HALF_UP if value >= 0 else ROUND_HALF_DOWN)


def _at_scale(value: Decimal, like: Decimal) -> Decimal:
    exponent = like.as_tuple().exponent
    assert isinstance(exponent, int)
    return _scaled(value, -exponent, ROUND_HALF_UP)


@scalar(
    "SIGN", "INTEGER -> INTEGER", "BIGINT -> INTEGER", "DOUBLE -> INTEGER", "DECIMAL -> INTEGER"
)
def sign(value: Any) -> int:
    """Return -1, 0 or 1 for the sign of a number."""
    return int(value > 0) - int(value < 0)


def ieee(function: Callable[..., float]) -> Callable[..., float]:
    """Wrap a function of the math module so that it returns NaN and infinities as Java does."""

    def calculated(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    calculated.__doc__ = function.__doc__
    return calculated


@scalar("EXP", "DOUBLE -> DOUBLE")
@ieee
def exp(value: float) -> float:
    """Return e to the power of a number."""
    return math.exp(value)


@scalar("SQRT", "DOUBLE -> DOUBLE")
@ieee
def sqrt(value: float) -> float:
    """Return the square root."""
    return math.sqrt(value)


@scalar("CBRT", "DOUBLE -> DOUBLE")
def cbrt(value: float) -> float:
    """Return the cube root."""
    root = math.cbrt(value)
    # C's cbrt can be wrong in the last digit if the root is a whole number; Java's is exact.
    if math.isfinite(root) and round(root) ** 3 == value:
        return float(round(root))
    return root


@scalar("POWER", "DOUBLE, DOUBLE -> DOUBLE")
def power(base: float, exponent: float) -> float:
    """Return a number to the power of another."""
    is_odd = exponent % 2 == 1 and math.isfinite(exponent)
    try:
        return math.pow(base, exponent)
    except ValueError:
        # Zero to a negative power is infinite; a root of a negative number is NaN.
        infinity = math.copysign(math.inf, base) if is_odd else math.inf
        return infinity if base == 0 else math.nan
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf


@scalar("LN", "DOUBLE -> DOUBLE")
def ln(value: float) -> float:
    """Return the natural logarithm."""
    if value == 0:
        return -math.inf
    return math.log(value) if value > 0 else math.nan


@scalar("LOG", "DOUBLE -> DOUBLE")
def log(value: float) -> float:
    """Return the natural logarithm, or the logarithm to a base: LOG(base, value)."""
    return ln(value)


@scalar("LOG", "DOUBLE, DOUBLE -> DOUBLE")
def log_to(base: float, value: float) -> float:
    if base <= 0 or base == 1:
        return math.nan
    if value == 0:
        return -math.inf
    return java.divide_doubles(ln(value), ln(base))


@scalar("PI", "-> DOUBLE")
def pi() -> float:
    """Return the number pi."""
    return math.pi


@scalar("RANDOM", "-> DOUBLE")
def random_() -> float:
    """Return a random number from 0 up to, but not including, 1."""
    return random.random()


@scalar("GREATEST", *(f"{t}, {t}... -> {t}" for t in _SORTABLE_BUT_DECIMAL), takes_null=True)
def greatest(*values: Any) -> Any:
    """Return the largest argument that is not NULL."""
    present = [value for value in values if value is not None]
    return max(present) if present else None


@scalar("LEAST", *(f"{t}, {t}... -> {t}" for t in _SORTABLE_BUT_DECIMAL), takes_null=True)
def least(*values: Any) -> Any:
    """Return the smallest argument that is not NULL."""
    present = [value for value in values if value is not None]
    return min(present) if present else None


def _widest(types: Sequence[Any]) -> DecimalType:
    return reduce(widen, (as_decimal(type_) for type_ in types if type_ is not None))


def _fitted(choose: Callable[..., Any]) -> Callable[[Sequence[Any]], Callable[..., Any]]:
    """Wrap a choice among decimals so that its result has the type that holds them all."""

    def bind(types: Sequence[Any]) -> Callable[..., Any]:
        precision, scale = _widest(types).precision, _widest(types).scale

        def chosen(*values: Any) -> Decimal | None:
            value = choose(*values)
            return None if value is None else java.fit(value, precision, scale)

        return chosen

    return bind


for _name, _choose in (("GREATEST", greatest), ("LEAST", least)):
    scalar(
        _name, "DECIMAL, DECIMAL... -> DECIMAL", takes_null=True, is_typed=True, returns=_widest
    )(_fitted(_choose))


_SERIES = "GENERATE_SERIES"


@scalar(_SERIES, "INTEGER, INTEGER -> ARRAY<INTEGER>", "BIGINT, BIGINT -> ARRAY<BIGINT>")
def generate_series(start: int, end: int) -> list[int]:
    """Return the whole numbers from one to another, both included, with an optional step."""
    return generate_steps(start, end, 1 if end >= start else -1)


@scalar(
    _SERIES,
    "INTEGER, INTEGER, INTEGER -> ARRAY<INTEGER>",
    "BIGINT, BIGINT, INTEGER -> ARRAY<BIGINT>",
)
def generate_steps(start: int, end: int, step: int) -> list[int]:
    if step == 0:
        raise FunctionError("bad-argument", "the step of GENERATE_SERIES is 0")
    if (end - start) * step < 0:
        raise FunctionError("bad-argument", f"steps of {step} never lead from {start} to {end}")
    if (end - start) // step > 10_000_000:
        raise FunctionError("bad-argument", f"a series from {start} to {end} is too long")
    return list(range(start, end + (1 if step > 0 else -1), step))


def _check_angles(largest: float, *angles: float) -> None:
    for angle in angles:
        if not -largest <= angle <= largest:
            raise FunctionError("bad-argument", f"angle {angle} is not within +-{largest}")


def _earth_radius(unit: str) -> float:
    name = unit.upper()
    if name.startswith("MI"):
        return 3959.0
    if name.startswith("K"):
        return 6371.0
    raise FunctionError("bad-argument", f"unit {unit!r} is neither 'km' nor 'miles'")


@scalar("GEO_DISTANCE", "DOUBLE, DOUBLE, DOUBLE, DOUBLE -> DOUBLE")
def geo_distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float | None:
    """Return the great-circle distance of two points in kilometres or, with 'miles', in miles."""
    return geo_distance_in(lat1, lon1, lat2, lon2, "KM")


@scalar("GEO_DISTANCE", "DOUBLE, DOUBLE, DOUBLE, DOUBLE, STRING -> DOUBLE", takes_null=True)
def geo_distance_in(
    lat1: float | None, lon1: float | None, lat2: float | None, lon2: float | None, unit: str | None
) -> float | None:
    if lat1 is None or lon1 is None or lat2 is None or lon2 is None:
        return None
    _check_angles(90, lat1, lat2)
    _check_angles(180, lon1, lon2)
    # No unit means kilometres.
    radius = _earth_radius(unit or "KM")
    delta_lat, delta_lon = java.radians(lat2 - lat1), java.radians(lon2 - lon1)
    cos1, cos2 = math.cos(java.radians(lat1)), math.cos(java.radians(lat2))
    chord = math.sin(delta_lat / 2) ** 2 + math.sin(delta_lon / 2) ** 2 * cos1 * cos2
    return 2 * math.asin(math.sqrt(chord)) * radius
