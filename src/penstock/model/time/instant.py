"""Points in time that users may give: a ``datetime``, or milliseconds since 1970 as int."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site

Instant = datetime | int

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_epoch_ms(instant: Instant, what: str = "time") -> int:
    """Return the milliseconds since 1970 in UTC; a datetime without a zone is local time."""
    given: object = instant
    if isinstance(given, datetime):
        milliseconds = (given.astimezone() - _EPOCH) // timedelta(milliseconds=1)
    elif isinstance(given, int) and not isinstance(given, bool):
        milliseconds = given
    else:
        raise InvalidArgumentError(
            "bad-time",
            f"{what} {instant!r} is not a point in time",
            fix="give a datetime, or milliseconds since 1970 as int",
            at=caller_site(),
        )
    if milliseconds < 0:
        raise InvalidArgumentError(
            "bad-time",
            f"{what} {instant!r} is before 1970",
            fix="give a time from 1970-01-01 UTC on",
            at=caller_site(),
        )
    return milliseconds
