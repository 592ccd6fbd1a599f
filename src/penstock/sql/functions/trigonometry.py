"""Trigonometric functions. Angles are in radians."""

from __future__ import annotations

import math

from penstock.model import java
from penstock.sql.functions.declare import scalar
from penstock.sql.functions.numbers import ieee

_ONE = "DOUBLE -> DOUBLE"


@scalar("SIN", _ONE)
@ieee
def sin(value: float) -> float:
    """Return the sine."""
    return math.sin(value)


@scalar("COS", _ONE)
@ieee
def cos(value: float) -> float:
    """Return the cosine."""
    return math.cos(value)


@scalar("TAN", _ONE)
@ieee
def tan(value: float) -> float:
    """Return the tangent."""
    return math.tan(value)


@scalar("COT", _ONE)
@ieee
def cot(value: float) -> float:
    """Return the cotangent."""
    return java.divide_doubles(1.0, math.tan(value))


@scalar("ASIN", _ONE)
@ieee
def asin(value: float) -> float:
    """Return the arc sine."""
    return math.asin(value)


@scalar("ACOS", _ONE)
@ieee
def acos(value: float) -> float:
    """Return the arc cosine."""
    return math.acos(value)


@scalar("ATAN", _ONE)
def atan(value: float) -> float:
    """Return the arc tangent."""
    return math.atan(value)


@scalar("ATAN2", "DOUBLE, DOUBLE -> DOUBLE")
def atan2(y: float, x: float) -> float:
    """Return the angle of the point (x, y), from ATAN2(y, x)."""
    return math.atan2(y, x)


@scalar("SINH", _ONE)
def sinh(value: float) -> float:
    """Return the hyperbolic sine."""
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


@scalar("COSH", _ONE)
@ieee
def cosh(value: float) -> float:
    """Return the hyperbolic cosine."""
    return math.cosh(value)


@scalar("TANH", _ONE)
def tanh(value: float) -> float:
    """Return the hyperbolic tangent."""
    return math.tanh(value)


@scalar("DEGREES", _ONE)
def degrees(value: float) -> float:
    """Turn radians into degrees."""
    return math.degrees(value)


@scalar("RADIANS", _ONE)
def radians(value: float) -> float:
    """Turn degrees into radians."""
    return java.radians(value)
