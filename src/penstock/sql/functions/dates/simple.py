"""PARSE_DATE: its patterns are parsed as Java's ``SimpleDateFormat`` parses them.

Numbers have any number of digits, fields that are too large carry over into the next larger one,
and text after the date is ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.dates.patterns import DAYS, MONTHS, Piece, cut, zone_in_text

_NUMBERS = frozenset("yYMdDHkKhmsSF")


def read_simple_date(text: str, pattern: str) -> int:
    """Return a date as days since 1970; if the pattern has a time, it must be midnight."""
    expression, letters = _reader(pattern)
    match = expression.match(text)
    if match is None:
        raise FunctionError("bad-date", f"{text!r} does not fit the pattern {pattern!r}")
    found = {letter: value for letter, value in zip(letters, match.groups(), strict=True) if value}
    moment = _moment(found)
    days, rest = divmod(moment - datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1))
    if rest:
        raise FunctionError("bad-date", f"{text!r} has a time of day besides its date")
    return days


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    parts: list[str] = []
    letters: list[str] = []
    for piece in cut(pattern):
        if not piece.letter or piece.letter in "[]":
            parts.append(re.escape(piece.text or piece.letter))
        else:
            letters.append("yy" if piece.letter in "yY" and piece.width <= 2 else piece.letter)
            parts.append(_expression(piece, pattern))
    return re.compile("".join(parts), re.IGNORECASE), tuple(letters)


def _expression(piece: Piece, pattern: str) -> str:
    letter, width = piece.letter, piece.width
    if letter == "M" and width >= 3:
        return _names(MONTHS)
    if letter == "E":
        return _names(DAYS)
    if letter in "aG":
        return "(AM|PM)" if letter == "a" else "(AD|BC)"
    if letter in "zZX":
        return r"\s*(Z|(?:GMT)?[+-]\d{1,2}:?\d{2}|[+-]\d{2}|[A-Za-z][\w/]*)"
    if letter not in _NUMBERS:
        raise FunctionError("bad-pattern", f"{pattern!r}: {letter!r} is not read in a date")
    # If another number follows directly, the number of letters is the number of digits.
    return rf"\s*(\d{{1,{width}}})" if piece.is_adjacent else r"\s*+(\d++)"


def _names(names: tuple[str, ...]) -> str:
    return f"({'|'.join(names)}|{'|'.join(name[:3] for name in names)})"


def _moment(found: dict[str, str]) -> datetime:
    year = _year(found)
    month = _month(found.get("M")) - 1
    try:
        moment = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=_zone(found))
        days = int(found["D"] if "D" in found else found.get("d", 1)) - 1
        start = moment.replace(month=1) if "D" in found else moment
        return (start + timedelta(days=days) + _time(found)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FunctionError("bad-date", f"no such date: {error}") from None


def _year(found: dict[str, str]) -> int:
    if "yy" in found:
        year = int(found["yy"])
        if len(found["yy"]) > 2:
            return year
        # Two digits are the year from 80 years ago until 20 years from now.
        first = datetime.now(UTC).year - 80
        return first + (year - first) % 100
    return int(found.get("y") or found.get("Y") or 1970)


def _month(text: str | None) -> int:
    if text is None or text.isdigit():
        return int(text or 1)
    return next(i for i, name in enumerate(MONTHS, 1) if name.lower().startswith(text.lower()))


def _time(found: dict[str, str]) -> timedelta:
    hour = int(found.get("H") or found.get("k") or 0) % 24
    if "h" in found or "K" in found:
        hour = int(found.get("h") or found.get("K") or 0) % 12
        hour += 12 if found.get("a", "").upper() == "PM" else 0
    return timedelta(
        hours=hour,
        minutes=int(found.get("m", 0)),
        seconds=int(found.get("s", 0)),
        milliseconds=int(found.get("S", 0)),
    )


def _zone(found: dict[str, str]) -> tzinfo:
    name = found.get("z") or found.get("Z") or found.get("X")
    return zone_in_text(name) if name else UTC
