"""Remainders and parts of texts, as standard SQL, Flink and Postgres name them."""

from __future__ import annotations

from decimal import Decimal

from penstock.model import java
from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.declare import BUILT_IN, scalar


@scalar("MOD", "INTEGER, INTEGER -> INTEGER", "BIGINT, BIGINT -> BIGINT")
def mod(left: int, right: int) -> int:
    """Return the remainder of a division, with the sign of the first number: ``a % b``."""
    return java.remainder(left, right)


@scalar("MOD", "DOUBLE, DOUBLE -> DOUBLE")
def mod_doubles(left: float, right: float) -> float:
    return java.remainder_doubles(left, right)


@scalar("MOD", "DECIMAL, DECIMAL -> DOUBLE")
def mod_decimals(left: Decimal, right: Decimal) -> float:
    return float(left % right)


@scalar("SPLIT_INDEX", "STRING, STRING, INTEGER -> STRING")
def split_index(text: str, delimiter: str, index: int) -> str | None:
    """Return one part of a text between delimiters, counted from 0; NULL if there is none."""
    parts = text.split(delimiter) if delimiter else []
    return parts[index] if 0 <= index < len(parts) else None


@scalar("SPLIT_PART", "STRING, STRING, INTEGER -> STRING")
def split_part(text: str, delimiter: str, place: int) -> str:
    """Return one part of a text between delimiters, counted from 1, or from the end if negative."""
    if place == 0:
        raise FunctionError("bad-argument", "SPLIT_PART counts from 1, or from -1 at the end")
    parts = text.split(delimiter) if delimiter else [text]
    at = place - 1 if place > 0 else len(parts) + place
    return parts[at] if 0 <= at < len(parts) else ""


@scalar("LTRIM", "STRING -> STRING")
def ltrim(text: str) -> str:
    """Remove blanks from the beginning of a text."""
    return text.lstrip(" ")


@scalar("RTRIM", "STRING -> STRING")
def rtrim(text: str) -> str:
    """Remove blanks from the end of a text."""
    return text.rstrip(" ")


@scalar("REVERSE", "STRING -> STRING")
def reverse(text: str) -> str:
    """Return the characters of a text from the last to the first."""
    return text[::-1]


@scalar("STARTS_WITH", "STRING, STRING -> BOOLEAN")
def starts_with(text: str, start: str) -> bool:
    """Return whether a text begins with another one."""
    return text.startswith(start)


BUILT_IN.yielding |= {
    *("MOD", "SPLIT_INDEX", "SPLIT_PART", "LTRIM", "RTRIM", "REVERSE", "STARTS_WITH")
}
