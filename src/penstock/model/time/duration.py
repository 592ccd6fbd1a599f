"""Durations that users may give: ``timedelta``, milliseconds as int, or text such as ``"5m"``."""

from __future__ import annotations

import re
from datetime import timedelta

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site

Duration = timedelta | int | str

MAX_LONG = 2**63 - 1

_UNITS_MS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
_TEXT = re.compile(r"\s*(-?\d+)\s*(ms|s|min|m|h|d)\s*")


def to_ms(duration: Duration, what: str = "duration") -> int:
    """Return the duration in milliseconds; text may have several units, as in ``"1h 30m"``."""
    if isinstance(duration, bool):
        raise _not_a_duration(duration, what)
    if isinstance(duration, int):
        return duration
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    if isinstance(duration, str):
        return _parse(duration, what)
    raise _not_a_duration(duration, what)


def _parse(text: str, what: str) -> int:
    total, position = 0, 0
    while position < len(text):
        part = _TEXT.match(text, position)
        if part is None:
            raise _not_a_duration(text, what)
        total += int(part[1]) * _UNITS_MS[part[2]]
        position = part.end()
    if not text.strip():
        raise _not_a_duration(text, what)
    return total


def _not_a_duration(value: object, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-duration",
        f"{what} {value!r} is not a duration",
        fix='give a timedelta, milliseconds as int, or text such as "5m" or "1h 30m"',
        at=caller_site(),
    )
