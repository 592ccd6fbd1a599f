"""Parts of dates and timestamps, as standard SQL, Flink and Postgres name them. All are in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from penstock.model.sql.errors import FunctionError
from penstock.model.time.calendar import DAY_MS, from_days, from_ms, to_ms
from penstock.sql.functions.dates.reading import read, read_date
from penstock.sql.functions.dates.writing import write, write_date
from penstock.sql.functions.declare import BUILT_IN, scalar

_PARTS: dict[str, Callable[[datetime], int]] = {
    "YEAR": lambda at: at.year,
    "QUARTER": lambda at: (at.month + 2) // 3,
    "MONTH": lambda at: at.month,
    "WEEK": lambda at: at.isocalendar()[1],
    "DAYOFYEAR": lambda at: at.timetuple().tm_yday,
    "DAYOFMONTH": lambda at: at.day,
    "DAYOFWEEK": lambda at: at.isoweekday() % 7 + 1,
}
_TIMES: dict[str, Callable[[datetime], int]] = {
    "HOUR": lambda at: at.hour,
    "MINUTE": lambda at: at.minute,
    "SECOND": lambda at: at.second,
}
_MEANINGS = {
    "QUARTER": "the quarter of a moment, from 1",
    "WEEK": "the week of a moment by ISO 8601, from 1",
    "DAYOFYEAR": "the day of the year of a moment, from 1",
    "DAYOFMONTH": "the day of the month of a moment, from 1",
    "DAYOFWEEK": "the day of the week of a moment; Sunday is 1",
    "YEAR": "the year of a moment",
    "MONTH": "the month of a moment, from 1",
    "HOUR": "the hour of a moment, from 0",
    "MINUTE": "the minute of a moment, from 0",
    "SECOND": "the second of a moment, from 0",
}


def _midnight(days: int) -> datetime:
    day = from_days(days)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _declare(name: str, part: Callable[[datetime], int], *, of_dates: bool) -> None:
    def of_timestamp(ms: int) -> int:
        return part(from_ms(ms))

    def of_date(days: int) -> int:
        return part(_midnight(days))

    of_timestamp.__doc__ = f"Return {_MEANINGS[name]}, in UTC."
    scalar(name, "TIMESTAMP -> INTEGER")(of_timestamp)
    if of_dates:
        scalar(name, "DATE -> INTEGER")(of_date)


for _name, _part in _PARTS.items():
    _declare(_name, _part, of_dates=True)
for _name, _part in _TIMES.items():
    _declare(_name, _part, of_dates=False)


@scalar("DATE_FORMAT", "TIMESTAMP, STRING -> STRING")
def date_format(ms: int, pattern: str) -> str:
    """Write a timestamp or a date by a pattern of Java, in UTC."""
    return write(from_ms(ms), pattern)


@scalar("DATE_FORMAT", "DATE, STRING -> STRING")
def date_format_of_date(days: int, pattern: str) -> str:
    return write_date(_midnight(days), pattern)


_CUTS: dict[str, Callable[[datetime], datetime]] = {
    "SECOND": lambda at: at.replace(microsecond=0),
    "MINUTE": lambda at: at.replace(second=0, microsecond=0),
    "HOUR": lambda at: at.replace(minute=0, second=0, microsecond=0),
    "DAY": lambda at: at.replace(hour=0, minute=0, second=0, microsecond=0),
    "WEEK": lambda at: _CUTS["DAY"](at) - timedelta(days=at.weekday()),
    "MONTH": lambda at: _CUTS["DAY"](at).replace(day=1),
    "QUARTER": lambda at: _CUTS["DAY"](at).replace(day=1, month=(at.month - 1) // 3 * 3 + 1),
    "YEAR": lambda at: _CUTS["DAY"](at).replace(day=1, month=1),
}


@scalar("DATE_TRUNC", "STRING, TIMESTAMP -> TIMESTAMP")
def date_trunc(unit: str, ms: int) -> int:
    """Return the beginning of the second, minute, hour, day, week, month, quarter or year."""
    cut = _CUTS.get(unit.upper())
    if cut is None:
        known = ", ".join(_CUTS).lower()
        raise FunctionError(
            "bad-argument",
            f"{unit!r} is not a unit of time: those are {known}",
        )
    return to_ms(cut(from_ms(ms)))


@scalar("DATE_TRUNC", "STRING, DATE -> DATE")
def date_trunc_of_date(unit: str, days: int) -> int:
    return date_trunc(unit, days * DAY_MS) // DAY_MS


@scalar("TO_TIMESTAMP", "STRING -> TIMESTAMP")
def to_timestamp(text: str) -> int:
    """Read a timestamp such as 2026-01-31 12:30:00, or by a pattern of Java, in UTC."""
    return to_timestamp_by(text, "yyyy-MM-dd HH:mm:ss")


@scalar("TO_TIMESTAMP", "STRING, STRING -> TIMESTAMP")
def to_timestamp_by(text: str, pattern: str) -> int:
    return to_ms(read(text, pattern))


@scalar("TO_TIMESTAMP_LTZ", "BIGINT, INTEGER -> TIMESTAMP")
def to_timestamp_ltz(since: int, digits: int) -> int:
    """Return the timestamp of a number since 1970: seconds with 0, milliseconds with 3."""
    if digits not in (0, 3):
        raise FunctionError("bad-argument", f"the precision is {digits}, and not 0 or 3")
    return since if digits == 3 else since * 1000


@scalar("TO_DATE", "STRING -> DATE")
def to_date(text: str) -> int:
    """Read a date such as 2026-01-31, or by a pattern of Java."""
    return to_date_by(text, "yyyy-MM-dd")


@scalar("TO_DATE", "STRING, STRING -> DATE")
def to_date_by(text: str, pattern: str) -> int:
    return to_ms(read_date(text, pattern)) // DAY_MS


BUILT_IN.yielding |= {
    *(*_PARTS, *_TIMES, "DATE_FORMAT", "DATE_TRUNC"),
    *("TO_TIMESTAMP", "TO_TIMESTAMP_LTZ", "TO_DATE"),
}
