"""Java's arithmetic and texts of numbers, which ksqlDB's results show."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

MIN_INT, MAX_INT = -(2**31), 2**31 - 1
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1


def wrap_int(value: int) -> int:
    """Return the low 32 bits as a signed number.

    >>> wrap_int(2**31)
    -2147483648
    """
    return ((value + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000


def wrap_long(value: int) -> int:
    """Return the low 64 bits as a signed number."""
    if MIN_LONG <= value <= MAX_LONG:
        return value
    return ((value + 2**63) & (2**64 - 1)) - 2**63


def divide(left: int, right: int) -> int:
    """Divide whole numbers, and round towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """Return the remainder with the sign of the dividend."""
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_doubles(left: float, right: float) -> float:
    """Divide as IEEE 754 does: a division by zero is an infinity or NaN, never an error."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def remainder_doubles(left: float, right: float) -> float:
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def radians(degrees: float) -> float:
    """Turn degrees into radians with the rounding of Java's ``Math.toRadians``."""
    return degrees / 180.0 * math.pi


def saturate(value: float, low: int, high: int) -> int:
    """Narrow a double to a whole number: NaN is 0, and the bounds limit all others."""
    if math.isnan(value):
        return 0
    if value >= high:
        return high
    return low if value <= low else int(value)


def double_text(value: float) -> str:
    """Write a double as ``Double.toString`` does.

    >>> [double_text(x) for x in (1.0, 1e7, 0.001, 1.5e-4)]
    ['1.0', '1.0E7', '0.001', '1.5E-4']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        # Python writes these without an exponent, too.
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    if len(text) == 1:
        # Java writes two digits at least, and then the two that come nearest.
        return _two_digits(value)
    power = len(text) - 1 + exponent
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _two_digits(value: float) -> str:
    nearest = format(value, ".1e")
    shown = nearest if float(nearest) == value else format(value, ".0e").replace("e", ".0e")
    mantissa, power = shown.split("e")
    return f"{mantissa}E{int(power)}"


def decimal_text(value: Decimal) -> str:
    """Write a decimal without exponent."""
    return format(value, "f")


# Wide enough that no operation rounds before its result is fitted to a type.
EXACT = Context(prec=1000, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)


def fit(value: Decimal, precision: int, scale: int) -> Decimal:
    """Round half up to ``scale`` digits; ArithmeticError when it needs more than ``precision``."""
    with localcontext(EXACT):
        rounded = value.quantize(Decimal(1).scaleb(-scale))
    if len(rounded.as_tuple().digits) > precision and rounded != 0:
        raise ArithmeticError(
            f"numeric overflow: {decimal_text(value)} does not fit DECIMAL({precision}, {scale})"
        )
    return rounded
