"""Formats dates and times by Java's date patterns, as ``DateTimeFormatter`` does in English."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.dates.patterns import (
    DATE_LETTERS,
    DAYS,
    MONTHS,
    TIME_LETTERS,
    Piece,
    pieces_of,
)


def write(moment: datetime, pattern: str) -> str:
    """Format a datetime with a time zone by a pattern."""
    return "".join(_written(moment, piece) for piece in pieces_of(pattern))


def write_date(moment: datetime, pattern: str) -> str:
    """Format a date; refuse a pattern with a time or a zone."""
    _check_letters(pattern, DATE_LETTERS, "a date")
    return write(moment, pattern)


def write_time(moment: datetime, pattern: str) -> str:
    """Format a time of day; refuse a pattern with a date or a zone."""
    _check_letters(pattern, TIME_LETTERS, "a time of day")
    return write(moment, pattern)


def _check_letters(pattern: str, known: dict[str, int], what: str) -> None:
    for piece in pieces_of(pattern):
        if piece.letter and piece.letter not in "[]" and piece.letter not in known:
            raise FunctionError("bad-pattern", f"{pattern!r}: {what} has no {piece.letter!r}")


def _written(moment: datetime, piece: Piece) -> str:
    if not piece.letter or piece.letter in "[]":
        return piece.text
    return _FIELDS[piece.letter](moment, piece.width)


def _number(value: int, width: int) -> str:
    return str(value).zfill(width)


def _year(moment: datetime, width: int) -> str:
    return f"{moment.year % 100:02}" if width == 2 else _number(moment.year, width)


def _saturday(moment: datetime) -> datetime:
    # In ksqlDB's locale, a week is from Sunday to Saturday, and belongs to the year and month in
    # which it ends.
    return moment + timedelta(days=(5 - moment.weekday()) % 7)


def _week_year(moment: datetime, width: int) -> str:
    return _year(_saturday(moment), width)


def _week(moment: datetime, width: int) -> str:
    return _number((_saturday(moment).timetuple().tm_yday - 1) // 7 + 1, width)


def _week_of_month(moment: datetime, width: int) -> str:
    first = moment.replace(day=1)
    return _number((moment.day + (first.weekday() + 1) % 7 - 1) // 7 + 1, width)


def _month(moment: datetime, width: int) -> str:
    if width < 3:
        return _number(moment.month, width)
    return _named(MONTHS[moment.month - 1], width)


def _named(name: str, width: int) -> str:
    return {3: name[:3], 5: name[:1]}.get(width, name)


def _weekday(moment: datetime, width: int) -> str:
    return _named(DAYS[moment.weekday()], max(3, width))


def _local_weekday(moment: datetime, width: int) -> str:
    if width > 2:
        return _weekday(moment, width)
    return _number((moment.weekday() + 1) % 7 + 1, width)


def _quarter(moment: datetime, width: int) -> str:
    quarter = (moment.month - 1) // 3 + 1
    if width == 4:
        return f"{quarter}{('st', 'nd', 'rd', 'th')[quarter - 1]} quarter"
    return f"Q{quarter}" if width == 3 else _number(quarter, width if width < 3 else 1)


def _era(_: datetime, width: int) -> str:
    return {4: "Anno Domini", 5: "A"}.get(width, "AD")


def _fraction(moment: datetime, width: int) -> str:
    return f"{moment.microsecond * 1000:09}"[:width].ljust(width, "0")


def _micros_of_day(moment: datetime) -> int:
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return seconds * 1_000_000 + moment.microsecond


def _offset(moment: datetime, width: int, zero: str) -> str:
    offset = moment.utcoffset() or timedelta()
    if not offset and zero:
        return zero
    minutes = int(abs(offset).total_seconds()) // 60
    sign = "-" if offset < timedelta() else "+"
    hour, minute = f"{minutes // 60:02}", f"{minutes % 60:02}"
    if width == 1:
        return f"{sign}{hour}{minute if minute != '00' else ''}"
    return f"{sign}{hour}{':' if width in (3, 5) else ''}{minute}"


def _zone_offset(moment: datetime, width: int) -> str:
    if width == 4:
        return _localized_offset(moment, width)
    return _offset(moment, 3, "Z") if width == 5 else _offset(moment, 2, "")


def _localized_offset(moment: datetime, width: int) -> str:
    if not moment.utcoffset():
        return "GMT"
    text = _offset(moment, 3, "")
    if width == 4:
        return f"GMT{text}"
    return f"GMT{text[0]}{text[1:].removeprefix('0').removesuffix(':00')}"


def _zone_name(moment: datetime, _: int) -> str:
    return _fixed_offset(moment) or moment.tzname() or "UTC"


def _zone_id(moment: datetime, _: int) -> str:
    return _fixed_offset(moment) or getattr(moment.tzinfo, "key", None) or "UTC"


def _fixed_offset(moment: datetime) -> str | None:
    """Return the name of a zone that is an offset, such as +05:30; None for other zones."""
    return (
        _offset(moment, 3, "")
        if isinstance(moment.tzinfo, timezone) and moment.tzinfo is not UTC
        else None
    )


_FIELDS: dict[str, Callable[[datetime, int], str]] = {
    "y": _year,
    "u": _year,
    "Y": _week_year,
    "M": _month,
    "L": _month,
    "Q": _quarter,
    "q": _quarter,
    "w": _week,
    "W": _week_of_month,
    "d": lambda m, w: _number(m.day, w),
    "D": lambda m, w: _number(m.timetuple().tm_yday, w),
    "E": _weekday,
    "e": _local_weekday,
    "c": _local_weekday,
    "G": _era,
    "a": lambda m, _: "AM" if m.hour < 12 else "PM",
    "H": lambda m, w: _number(m.hour, w),
    "k": lambda m, w: _number(m.hour or 24, w),
    "h": lambda m, w: _number((m.hour - 1) % 12 + 1, w),
    "K": lambda m, w: _number(m.hour % 12, w),
    "m": lambda m, w: _number(m.minute, w),
    "s": lambda m, w: _number(m.second, w),
    "S": _fraction,
    "A": lambda m, w: _number(_micros_of_day(m) // 1000, w),
    "n": lambda m, w: _number(m.microsecond * 1000, w),
    "N": lambda m, w: _number(_micros_of_day(m) * 1000, w),
    "z": _zone_name,
    "V": _zone_id,
    "O": _localized_offset,
    "X": lambda m, w: _offset(m, w, "Z"),
    "x": lambda m, w: _offset(m, w, ""),
    "Z": _zone_offset,
}
