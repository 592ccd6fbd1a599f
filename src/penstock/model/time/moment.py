"""A moment as users write it: ``2026-03-02T10:00:00Z``, or ``15m`` for fifteen minutes ago."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import to_ms


def moment_ms(text: str, now_ms: int) -> int:
    """Return a moment in milliseconds.

    Text is an ISO 8601 time (UTC if it has no zone), or a duration before now such as ``15m``.

    >>> moment_ms("2026-03-02T10:00:00Z", now_ms=0)
    1772445600000
    >>> moment_ms("1s", now_ms=5_000)
    4000

    Raises:
        InvalidArgumentError: the text is neither.
    """
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    except ValueError:
        pass
    try:
        return now_ms - to_ms(text)
    except InvalidArgumentError:
        raise InvalidArgumentError(
            "bad-moment",
            f"{text!r} is neither a time nor a duration before now",
            fix="give a time such as 2026-03-02T10:00:00Z, or a duration such as 15m",
            at=caller_site(),
        ) from None
