"""Values of the case format: their text form, JSON text, 64-bit arithmetic and Java's order."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

_MASK = 2**64 - 1
_SIGN = 2**63
MAX_LONG = 2**63 - 1


def wrap64(number: int) -> int:
    """Gives the number as a Java long: overflow wraps around."""
    return ((number + _SIGN) & _MASK) - _SIGN


def plus(a: Any, b: Any) -> Any:
    """Adds longs (wrapping) or doubles."""
    return wrap64(a + b) if _is_long(a) and _is_long(b) else float(a) + float(b)


def times(a: Any, b: Any) -> Any:
    """Multiplies longs (wrapping) or doubles."""
    return wrap64(a * b) if _is_long(a) and _is_long(b) else float(a) * float(b)


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_windowed(value: Any) -> bool:
    """Tells a windowed key by its shape, so that pure functions need no library."""
    return hasattr(value, "window") and hasattr(value, "key")


def text(value: Any) -> str:
    """Gives the value as the string it must be; like Java, raises on any other type."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} {value!r} cannot be cast to a string")
    return value


def units(value: str) -> int:
    """Counts UTF-16 code units, as Java's ``String.length`` does."""
    return len(value) + sum(1 for char in value if char > "\uffff")


def order(value: Any) -> Any:
    """Gives a sort key: numbers as they are, strings by UTF-16 code unit like ``compareTo``."""
    return value.encode("utf-16-be", "surrogatepass") if isinstance(value, str) else value


def fmt(value: Any) -> str:
    """Gives the text form that the format's functions use."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float):
        return f"{value:.6f}" if f"{value:.6f}" != "-0.000000" else "0.000000"
    if is_windowed(value):
        return f"[{fmt(value.key)}@{value.window.start}/{value.window.end}]"
    return json_text(value)


def json_text(value: Any) -> str:
    """Gives compact JSON with member order kept and doubles written as Java writes them."""
    if value is None or isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, bytes):
        return json.dumps(fmt(value))
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"{type(value).__name__} {value!r} has no JSON form")


def _java_double(value: float) -> str:
    # Java switches to an exponent outside [0.001, 10^7), Python only outside [0.0001, 10^16).
    if value == 0 or value != value or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    if not isinstance(exponent, int):
        return "-Infinity" if sign else "Infinity"
    head, tail = digits[0], "".join(map(str, digits[1:])).rstrip("0") or "0"
    return f"{'-' if sign else ''}{head}.{tail}E{exponent + len(digits) - 1}"


def field(value: Any, name: str) -> Any:
    """Gives a member of a JSON object, or None when the value is no object or lacks it."""
    return value.get(name) if isinstance(value, dict) else None
