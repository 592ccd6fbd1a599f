"""Dates, times and timestamps. Patterns are Java's: see ``dates.patterns``."""

from __future__ import annotations

import time
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from penstock.model.sql.errors import FunctionError
from penstock.model.time.calendar import DAY_MS, EPOCH, days_of, from_days, from_ms, to_ms
from penstock.sql.functions.dates.patterns import zone_of
from penstock.sql.functions.dates.reading import read, read_date, read_time
from penstock.sql.functions.dates.simple import read_simple_date
from penstock.sql.functions.dates.writing import write, write_date, write_time
from penstock.sql.functions.declare import scalar

_UNIT_MS = {
    "MILLISECONDS": 1,
    "SECONDS": 1_000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": DAY_MS,
}


def _zoned(ms: int, zone: str) -> datetime:
    return from_ms(ms).astimezone(zone_of(zone))


def _midnight(days: int) -> datetime:
    day = from_days(days)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


@scalar("FORMAT_TIMESTAMP", "TIMESTAMP, STRING -> STRING")
def format_timestamp(ms: int, pattern: str) -> str:
    """Write a timestamp by a pattern, in UTC or in a time zone."""
    return write(from_ms(ms), pattern)


@scalar("FORMAT_TIMESTAMP", "TIMESTAMP, STRING, STRING -> STRING")
def format_timestamp_in(ms: int, pattern: str, zone: str) -> str:
    return write(_zoned(ms, zone), pattern)


@scalar("FORMAT_DATE", "DATE, STRING -> STRING")
def format_date(days: int, pattern: str) -> str:
    """Write a date by a pattern."""
    return write_date(_midnight(days), pattern)


@scalar("FORMAT_TIME", "TIME, STRING -> STRING")
def format_time(ms: int, pattern: str) -> str:
    """Write a time of day by a pattern."""
    return write_time(EPOCH + timedelta(milliseconds=ms), pattern)


@scalar("PARSE_TIMESTAMP", "STRING, STRING -> TIMESTAMP")
def parse_timestamp(text: str, pattern: str) -> int:
    """Read a timestamp by a pattern, in UTC or in a time zone."""
    return to_ms(read(text, pattern))


@scalar("PARSE_TIMESTAMP", "STRING, STRING, STRING -> TIMESTAMP")
def parse_timestamp_in(text: str, pattern: str, zone: str) -> int:
    return to_ms(read(text, pattern, zone_of(zone)))


@scalar("PARSE_DATE", "STRING, STRING -> DATE")
def parse_date(text: str, pattern: str) -> int:
    """Read a date by a pattern."""
    return read_simple_date(text, pattern)


@scalar("PARSE_TIME", "STRING, STRING -> TIME")
def parse_time(text: str, pattern: str) -> int:
    """Read a time of day by a pattern."""
    return to_ms(read_time(text, pattern)) % DAY_MS


@scalar("FROM_UNIXTIME", "BIGINT -> TIMESTAMP")
def from_unixtime(ms: int) -> int:
    """Return the timestamp of milliseconds since 1970."""
    return ms


@scalar("FROM_DAYS", "INTEGER -> DATE")
def from_days_(days: int) -> int:
    """Return the date of days since 1970."""
    return days


@scalar("UNIX_TIMESTAMP", "TIMESTAMP -> BIGINT")
def unix_timestamp(ms: int) -> int:
    """Return milliseconds since 1970, of a timestamp or of now."""
    return ms


@scalar("UNIX_TIMESTAMP", "-> BIGINT")
def unix_timestamp_now() -> int:
    return time.time_ns() // 1_000_000


@scalar("UNIX_DATE", "DATE -> INTEGER")
def unix_date(days: int) -> int:
    """Return days since 1970, of a date or of today."""
    return days


@scalar("UNIX_DATE", "-> INTEGER")
def unix_date_now() -> int:
    return time.time_ns() // 1_000_000 // DAY_MS


@scalar("CURRENT_TIMESTAMP", "-> TIMESTAMP")
def current_timestamp() -> int:
    """Return the time of the clock when the row is computed; brackets may be left out."""
    return unix_timestamp_now()


@scalar("CURRENT_DATE", "-> DATE")
def current_date() -> int:
    """Return today's date in UTC when the row is computed; brackets may be left out."""
    return unix_date_now()


@scalar("CURRENT_TIME", "-> TIME")
def current_time() -> int:
    """Return the time of day in UTC when the row is computed; brackets may be left out."""
    return unix_timestamp_now() % DAY_MS


@scalar("CONVERT_TZ", "TIMESTAMP, STRING, STRING -> TIMESTAMP")
def convert_tz(ms: int, source: str, target: str) -> int:
    """Move the clock time of a timestamp from one time zone to another."""
    # The offsets are those of the timestamp itself, as if its clock time were that of UTC.
    offsets = [_zoned(ms, zone).utcoffset() or timedelta() for zone in (source, target)]
    return ms + (offsets[1] - offsets[0]) // timedelta(milliseconds=1)


def _months_later(moment: datetime, months: int) -> datetime:
    count = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(count, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def _add(ms: int, unit: str, amount: int) -> int:
    if unit in ("YEARS", "MONTHS"):
        return to_ms(_months_later(from_ms(ms), amount * (12 if unit == "YEARS" else 1)))
    return ms + amount * _UNIT_MS[unit]


@scalar("TIMESTAMPADD", "UNIT, INTEGER, TIMESTAMP -> TIMESTAMP")
def timestampadd(unit: str, amount: int, ms: int) -> int:
    """Add a number of time units to a timestamp."""
    return _add(ms, unit, amount)


@scalar("TIMESTAMPSUB", "UNIT, INTEGER, TIMESTAMP -> TIMESTAMP")
def timestampsub(unit: str, amount: int, ms: int) -> int:
    """Subtract a number of time units from a timestamp."""
    return _add(ms, unit, -amount)


@scalar("DATEADD", "UNIT, INTEGER, DATE -> DATE")
def dateadd(unit: str, amount: int, days: int) -> int:
    """Add a number of time units to a date."""
    return _add(days * DAY_MS, unit, amount) // DAY_MS


@scalar("DATESUB", "UNIT, INTEGER, DATE -> DATE")
def datesub(unit: str, amount: int, days: int) -> int:
    """Subtract a number of time units from a date."""
    return dateadd(unit, -amount, days)


@scalar("TIMEADD", "UNIT, INTEGER, TIME -> TIME")
def timeadd(unit: str, amount: int, ms: int) -> int:
    """Add a number of time units to a time of day, wrapping around at midnight."""
    if unit not in _UNIT_MS:
        raise FunctionError("bad-argument", f"a time of day has no {unit}")
    return (ms + amount * _UNIT_MS[unit]) % DAY_MS


@scalar("TIMESUB", "UNIT, INTEGER, TIME -> TIME")
def timesub(unit: str, amount: int, ms: int) -> int:
    """Subtract a number of time units from a time of day."""
    return timeadd(unit, -amount, ms)


@scalar("DATETOSTRING", "INTEGER, STRING -> STRING")
def datetostring(days: int, pattern: str) -> str:
    """Write days since 1970 by a pattern; FORMAT_DATE does it for dates."""
    return format_date(days, pattern)


@scalar("STRINGTODATE", "STRING, STRING -> INTEGER")
def stringtodate(text: str, pattern: str) -> int:
    """Read a date by a pattern as days since 1970; PARSE_DATE returns a date."""
    return days_of(read_date(text, pattern).date())


@scalar("TIMESTAMPTOSTRING", "BIGINT, STRING -> STRING")
def timestamptostring(ms: int, pattern: str) -> str:
    """Write milliseconds since 1970 by a pattern; FORMAT_TIMESTAMP does it for timestamps."""
    return format_timestamp(ms, pattern)


@scalar("TIMESTAMPTOSTRING", "BIGINT, STRING, STRING -> STRING")
def timestamptostring_in(ms: int, pattern: str, zone: str) -> str:
    return format_timestamp_in(ms, pattern, zone)


@scalar("STRINGTOTIMESTAMP", "STRING, STRING -> BIGINT")
def stringtotimestamp(text: str, pattern: str) -> int:
    """Read a timestamp by a pattern as milliseconds; PARSE_TIMESTAMP returns a timestamp."""
    return parse_timestamp(text, pattern)


@scalar("STRINGTOTIMESTAMP", "STRING, STRING, STRING -> BIGINT")
def stringtotimestamp_in(text: str, pattern: str, zone: str) -> int:
    return parse_timestamp_in(text, pattern, zone)
