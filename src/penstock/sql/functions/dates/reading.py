"""Parses dates and times by Java's date patterns, as ``DateTimeFormatter`` does."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.dates.patterns import (
    DATE_LETTERS,
    DAYS,
    MONTHS,
    Piece,
    pieces_of,
    zone_in_text,
)

# Fields that can be formatted, but do not determine a date or time when they are parsed.
_NOT_READ = frozenset("YwWecQq")


def read(text: str, pattern: str, zone: tzinfo = UTC) -> datetime:
    """Parse a datetime by a pattern; fields that the pattern leaves out are those of 1970-01-01."""
    return _moment(_fields(text, pattern), text, zone)


def read_date(text: str, pattern: str) -> datetime:
    """Parse a date; the pattern must contain all of its parts."""
    found = _fields(text, pattern)
    has_day = "D" in found or (("M" in found or "L" in found) and "d" in found)
    if not has_day or not found.keys() & {"y", "u", "yy"}:
        raise FunctionError("bad-date", f"pattern {pattern!r} does not read a whole date")
    return _moment(found, text, UTC)


def read_time(text: str, pattern: str) -> datetime:
    """Parse a time of day; the pattern must have an hour, and no part of a date."""
    found = _fields(text, pattern)
    letters = {piece.letter for piece in pieces_of(pattern) if piece.letter}
    if letters & DATE_LETTERS.keys():
        raise FunctionError("bad-pattern", f"pattern {pattern!r} of a time has parts of a date")
    half_day = found.keys() & {"h", "K"} and "a" in found
    if not half_day and not found.keys() & {"H", "k", "A", "N"}:
        raise FunctionError("bad-pattern", f"pattern {pattern!r} of a time has no hour")
    return _moment(found, text, UTC)


def _fields(text: str, pattern: str) -> dict[str, str]:
    expression, letters = _reader(pattern)
    match = expression.fullmatch(text)
    if match is None:
        raise FunctionError("bad-date", f"{text!r} does not fit the pattern")
    return {letter: value for letter, value in zip(letters, match.groups(), strict=True) if value}


def _moment(found: dict[str, str], text: str, zone: tzinfo) -> datetime:
    try:
        return _assemble(found, zone)
    except (ValueError, KeyError) as error:
        raise FunctionError("bad-date", f"{text!r} is not a moment: {error}") from None


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a regular expression with one group for each letter of the pattern."""
    parts: list[str] = []
    letters: list[str] = []
    for piece in pieces_of(pattern):
        if piece.letter in ("[", "]"):
            parts.append("(?:" if piece.letter == "[" else ")?+")
        elif not piece.letter:
            parts.append(re.escape(piece.text))
        elif piece.letter in _NOT_READ:
            raise FunctionError("bad-pattern", f"{piece.letter!r} cannot be read: write yyyy-MM-dd")
        else:
            letters.append("yy" if piece.letter in "yu" and piece.width == 2 else piece.letter)
            parts.append(f"({_expression(piece)})")
    # An optional section may be left open at the end.
    parts.append(")?+" * (parts.count("(?:") - parts.count(")?+")))
    return re.compile("".join(parts), re.IGNORECASE), tuple(letters)


def _expression(piece: Piece) -> str:
    letter, width = piece.letter, piece.width
    if letter in "ML" and width >= 3:
        return "|".join(name[:3] if width == 3 else name for name in MONTHS)
    if letter == "E":
        return "|".join(name[:3] if width <= 3 else name for name in DAYS)
    if letter in "zV":
        return r"[A-Za-z][\w/+:-]*+"
    if letter in "XxZO":
        offset = r"[+-]\d{2}(?::?\d{2})?"
        return {"x": offset, "O": r"GMT(?:[+-]\d{1,2}(?::?\d{2})?)?"}.get(letter, f"Z|{offset}")
    if letter in "aG":
        return "AM|PM" if letter == "a" else "AD|BC"
    # A single letter reads any number of digits; several letters read exactly that many.
    if width == 1 and not piece.is_adjacent and letter != "S":
        # Java does not give digits back either. Many such letters would take exponential time.
        return r"\d++"
    return rf"\d{{{width}}}"


def _assemble(found: dict[str, str], zone: tzinfo) -> datetime:
    year = int(found.get("y") or found.get("u") or 0) or _short_year(found)
    if "D" in found:
        start = datetime(year, 1, 1) + timedelta(days=int(found["D"]) - 1)
        if start.year != year:
            raise ValueError(f"{year} has no day {found['D']}")
        month, day = start.month, start.day
    else:
        month, day = _month_of(found.get("M") or found.get("L")), int(found.get("d", 1))
        if not 1 <= month <= 12 or not 1 <= day <= 31:
            raise ValueError(f"there is no day {month}-{day}")
        # A day that the month does not have becomes the last day of that month.
        day = min(day, monthrange(year, month)[1])
    micros = int(_nanos(found)[:6])
    minute, second = int(found.get("m", 0)), int(found.get("s", 0))
    moment = datetime(year, month, day, _hour(found), minute, second, micros)
    moment += timedelta(milliseconds=int(found.get("A", 0)), microseconds=_micros_of_day(found))
    return moment.replace(tzinfo=_zone_in(found) or zone)


def _nanos(found: dict[str, str]) -> str:
    return found["n"].zfill(9) if "n" in found else found.get("S", "").ljust(9, "0")


def _micros_of_day(found: dict[str, str]) -> int:
    return int(found.get("N", 0)) // 1000


def _short_year(found: dict[str, str]) -> int:
    return 2000 + int(found["yy"]) if "yy" in found else 1970


def _month_of(text: str | None) -> int:
    if text is None:
        return 1
    if text.isdigit():
        return int(text)
    return next(i for i, name in enumerate(MONTHS, 1) if name.lower().startswith(text.lower()))


def _hour(found: dict[str, str]) -> int:
    if "H" in found:
        return int(found["H"])
    if "k" in found:
        return int(found["k"]) % 24
    hour = int(found.get("h") or found.get("K") or 0)
    if hour > 12:
        raise ValueError(f"half a day has no hour {hour}")
    return hour % 12 + (12 if found.get("a", "").upper() == "PM" else 0)


def _zone_in(found: dict[str, str]) -> tzinfo | None:
    name = next((found[letter] for letter in "XxZOzV" if letter in found), None)
    return zone_in_text(name) if name else None
