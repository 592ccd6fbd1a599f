"""When a windowed aggregation emits: with every update, or once, when the window closes."""

from __future__ import annotations

from enum import StrEnum

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms


class EmitStrategy(StrEnum):
    """Chosen with ``emit_strategy`` on a windowed stream; the default is every update.

    ``ON_WINDOW_CLOSE`` forwards the windows that a record closes before the record enters the
    store, so that no result is lost. SQL's EMIT FINAL does the same. ``AFTER_EXPIRY`` has the order
    of Kafka Streams: the record enters first, and if its time is far ahead, the store forgets the
    windows that it closes before they are forwarded.

    ``WITH_OLD_VALUE`` tells every update, and for a session of one timestamp also the value that
    it had before. Kafka Streams leaves that out, unless a record cache has it.
    """

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"
    AFTER_EXPIRY = "after_expiry"
    WITH_OLD_VALUE = "with_old_value"

    @property
    def is_final(self) -> bool:
        """Return whether a window is emitted once, when it closes."""
        return self.emits_first or self is EmitStrategy.AFTER_EXPIRY

    @property
    def emits_first(self) -> bool:
        """Return whether windows are emitted before a record makes the store forget them."""
        return self is EmitStrategy.ON_WINDOW_CLOSE


def idle_time(strategy: EmitStrategy, idle: Duration | None) -> int | None:
    """Return the milliseconds after which the wall clock closes windows; None for never."""
    if idle is None:
        return None
    if not strategy.is_final:
        raise InvalidArgumentError(
            "idle-without-final",
            "idle closes windows of a quiet stream, and this strategy does not wait for the close",
            fix="use EmitStrategy.ON_WINDOW_CLOSE, or leave idle out",
            at=caller_site(),
        )
    idle_ms = to_ms(idle)
    if idle_ms <= 0:
        raise InvalidArgumentError(
            "bad-duration",
            f"idle is {idle!r}; it must be 1 ms or more",
            fix='give it a time such as idle="30s"',
            at=caller_site(),
        )
    return idle_ms
