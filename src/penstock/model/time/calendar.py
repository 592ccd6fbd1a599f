"""Dates, times and timestamps as ISO 8601 text, complete or shortened.

Text in other patterns is read by ``sql.functions``.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
DAY_MS = 86_400_000

_TIMESTAMP = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
    r"(?:[T ](\d{1,2})?(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|[+-]\d{2}:?(?:\d{2})?)?"
)
_TIME = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")


@lru_cache(maxsize=1024)
def parse_timestamp(text: str) -> int:
    """Read ``2026-01-31T12:30:00.123+01:00``, or a beginning of it, as milliseconds.

    >>> parse_timestamp("1970-01-01T00:00:01")
    1000
    >>> parse_timestamp("1970-01-01T24") == parse_timestamp("1970-01-02")
    True
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a timestamp such as 2026-01-31T12:30:00.123")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    # 24:00 is the end of a day, as in ISO 8601 and in Java.
    ends_day = hour == "24" and not any(int(each or 0) for each in (minute, second, fraction))
    moment = datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        0 if ends_day else int(hour or 0),
        int(minute or 0),
        int(second or 0),
        tzinfo=_zone(zone),
    )
    end = DAY_MS if ends_day else 0
    return to_ms(moment) + end + int((fraction or "").ljust(3, "0")[:3])


@lru_cache(maxsize=1024)
def parse_date(text: str) -> int:
    """Read ``2026-01-31``, ``2026-01`` or ``2026`` as days since 1970."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date such as 2026-01-31")
    year, month, day = match.groups()
    return days_of(date(int(year), int(month or 1), int(day or 1)))


@lru_cache(maxsize=1024)
def parse_time(text: str) -> int:
    """Read ``12:30:00.123`` or a beginning of it as milliseconds of the day."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 12:30:00.123")
    hour, minute, second, fraction = match.groups()
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise ValueError(f"{text!r} is not a time of day")
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second or 0)
    return seconds * 1000 + int((fraction or "").ljust(3, "0")[:3])


def format_timestamp(ms: int) -> str:
    """Write milliseconds since 1970 as ``2026-01-31T12:30:00.123``, in UTC."""
    moment = from_ms(ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}".rjust(23, "0")


def format_date(days: int) -> str:
    return from_days(days).isoformat()


def format_time(ms: int) -> str:
    """Write a time of day as Java does: without its seconds when they are zero."""
    seconds = ms // 1000
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"


def from_ms(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_days(days: int) -> date:
    return date.fromordinal(days + _EPOCH_DAY)


def days_of(day: date) -> int:
    return day.toordinal() - _EPOCH_DAY


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-offset if text[0] == "-" else offset)
