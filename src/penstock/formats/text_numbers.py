"""Numbers as text in the strictness of Java's parsers, which accept less than Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from penstock.model import java

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {"NaN": "nan", "Infinity": "inf", "+Infinity": "inf", "-Infinity": "-inf"}


def read_long(text: str) -> int:
    return _whole(text, java.MIN_LONG, java.MAX_LONG, "BIGINT")


def read_int(text: str) -> int:
    return _whole(text, java.MIN_INT, java.MAX_INT, "INTEGER")


def _whole(text: str, low: int, high: int, type_: str) -> int:
    if not _WHOLE.fullmatch(text) or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is not a whole number")
    value = int(text)
    if not low <= value <= high:
        raise ValueError(f"{text} is out of the range of {type_}")
    return value


def read_double(text: str) -> float:
    """Read what ``Double.parseDouble`` does, a type suffix and special values included."""
    digits = text.strip()
    if _NUMBER.fullmatch(digits):
        return float(digits)
    if digits[-1:] in ("d", "D", "f", "F") and _NUMBER.fullmatch(digits[:-1]):
        return float(digits[:-1])
    if digits in _SPECIAL:
        return float(_SPECIAL[digits])
    raise ValueError(f"{text[:40]!r} is not a number")


def read_decimal(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    return Decimal(text)


def fitter(precision: int, scale: int) -> Callable[[Decimal], Decimal]:
    """Return the function that sets a decimal's scale and refuses to round or to cut.

    >>> fitter(4, 2)(Decimal("1.5"))
    Decimal('1.50')
    """
    unit = Decimal(1).scaleb(-scale)
    limit = Decimal(1).scaleb(precision - scale)
    quantize = java.EXACT.quantize

    def fit(value: Decimal) -> Decimal:
        if not -limit < value < limit:
            raise ValueError(f"{value} does not fit DECIMAL({precision}, {scale})")
        fitted = quantize(value, unit)
        if fitted != value:
            raise ValueError(f"{value} does not fit DECIMAL({precision}, {scale}) without rounding")
        return fitted

    return fit


def time_of_day(ms: int) -> int:
    if not 0 <= ms <= 86_400_000:
        raise ValueError(f"{ms} is not a time of day in milliseconds")
    return ms
