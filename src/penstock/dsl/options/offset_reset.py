"""Where a source starts to read if its group has no committed offset."""

from __future__ import annotations

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms

_FIXED = ("earliest", "latest", "none")
_BY_DURATION = "by_duration:"


class AutoOffsetReset:
    """The policies, as the text that Kafka's ``auto.offset.reset`` takes."""

    EARLIEST = "earliest"
    LATEST = "latest"

    @staticmethod
    def by_duration(duration: Duration) -> str:
        """Start with records that are that old."""
        duration_ms = to_ms(duration, "offset reset duration")
        if duration_ms < 0:
            raise _bad(f"offset reset duration {duration_ms} ms is negative")
        seconds, rest_ms = divmod(duration_ms, 1000)
        fraction = f".{rest_ms:03d}" if rest_ms else ""
        return f"{_BY_DURATION}PT{seconds}{fraction}S"


def check_offset_reset(policy: str | None) -> str | None:
    """Return the policy in lower case; raise InvalidArgumentError if it is not a policy."""
    if policy is None:
        return None
    text = str(policy)
    if text.lower() in _FIXED:
        return text.lower()
    if text.startswith(_BY_DURATION):
        return text
    raise _bad(f"offset reset policy {policy!r} is unknown")


def _bad(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-offset-reset",
        message,
        fix='give "earliest", "latest", "none" or AutoOffsetReset.by_duration("1h")',
        at=caller_site(),
    )
