"""Window definitions: which windows a timestamp belongs to, and how long they accept late records.

Every ``*_with_no_grace`` factory closes a window as soon as stream time reaches its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import InvalidArgumentError
from penstock.model.former_names import moved_to_java
from penstock.model.site import caller_site
from penstock.model.time.duration import MAX_LONG, Duration, to_ms
from penstock.model.windows.rule import WindowRule
from penstock.model.windows.windowed import Window, window_end

_DAY_MS = 86_400_000


def _bad(code: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(code, message, fix, caller_site())


def _check_grace(grace_ms: int) -> int:
    if grace_ms < 0:
        raise _bad("bad-grace", f"grace period {grace_ms} ms is negative", "give 0 or more")
    return grace_ms


#: By class: its factories of before Kafka 3.0; they are added where they are defined.
_FORMER: dict[str, dict[str, Callable[[Duration], object]]] = {}


class _Definition(type):
    """Understands the factories of before Kafka 3.0, with a warning."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            return moved_to_java(cls, name, _FORMER.get(cls.__name__, {}))


@dataclass(frozen=True, slots=True)
class TimeWindows(metaclass=_Definition):
    """Windows of fixed size: tumbling, or hopping when they advance by less than their size."""

    size_ms: int
    advance_ms: int
    grace_ms: int = 0

    @staticmethod
    def of_size_with_no_grace(size: Duration) -> TimeWindows:
        """Return windows of this size that take no late record after their end."""
        return TimeWindows.of_size_and_grace(size, 0)

    @staticmethod
    def of_size_and_grace(size: Duration, grace: Duration) -> TimeWindows:
        """Return windows of this size that take late records for ``grace`` after their end."""
        size_ms = to_ms(size, "window size")
        if size_ms <= 0:
            raise _bad(
                "bad-window-size",
                f"window size {size_ms} ms is not larger than zero",
                "give 1 ms or more",
            )
        return TimeWindows(size_ms, size_ms, _check_grace(to_ms(grace, "grace period")))

    @staticmethod
    def of_size(size: Duration) -> TimeWindows:
        """Start a definition that ``.grace(...)`` completes; without it, there is no grace."""
        return TimeWindows.of_size_with_no_grace(size)

    def advance_by(self, advance: Duration) -> TimeWindows:
        """Return windows that begin every ``advance``: hopping if it is less than the size."""
        advance_ms = to_ms(advance, "advance")
        if not 0 < advance_ms <= self.size_ms:
            raise _bad(
                "bad-window-advance",
                f"windows of {self.size_ms} ms cannot advance by {advance_ms} ms",
                f"give an advance between 1 and {self.size_ms} ms",
            )
        return replace(self, advance_ms=advance_ms)

    def grace(self, grace: Duration) -> TimeWindows:
        """Return windows that take late records for ``grace`` after their end."""
        return replace(self, grace_ms=_check_grace(to_ms(grace, "grace period")))

    def windows_for(self, timestamp: int) -> list[Window]:
        """Return the windows that contain the timestamp, earliest first."""
        return [
            Window(start, window_end(start, self.size_ms))
            for start in rule_of(self).starts(timestamp)
        ]


@dataclass(frozen=True, slots=True)
class UnlimitedWindows:
    """One window from ``start_ms`` on, without an end."""

    start_ms: int = 0

    size_ms = MAX_LONG
    advance_ms = MAX_LONG
    grace_ms = 0

    @staticmethod
    def of() -> UnlimitedWindows:
        """Return the window that begins in 1970 and never ends."""
        return UnlimitedWindows()

    def start_on(self, start_ms: int) -> UnlimitedWindows:
        """Return the window that begins at this time, in milliseconds since 1970."""
        if start_ms < 0:
            raise _bad("bad-window-start", f"window start {start_ms} is negative", "give 0 or more")
        return UnlimitedWindows(start_ms)

    def windows_for(self, timestamp: int) -> list[Window]:
        """Return the window if it contains the timestamp."""
        return [Window(start, MAX_LONG) for start in rule_of(self).starts(timestamp)]


def rule_of(windows: TimeWindows | UnlimitedWindows) -> WindowRule:
    """Return the rule by which records fall into these windows."""
    origin_ms = windows.start_ms if isinstance(windows, UnlimitedWindows) else 0
    return WindowRule(windows.size_ms, windows.advance_ms, windows.grace_ms, origin_ms)


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """A window around each record: all records at most ``difference_ms`` apart, both inclusive."""

    difference_ms: int
    grace_ms: int = 0

    @staticmethod
    def of_time_difference_with_no_grace(difference: Duration) -> SlidingWindows:
        """Return windows over records that are at most ``difference`` apart, without grace."""
        return SlidingWindows.of_time_difference_and_grace(difference, 0)

    @staticmethod
    def of_time_difference_and_grace(difference: Duration, grace: Duration) -> SlidingWindows:
        """Return windows over records that are at most ``difference`` apart, with grace."""
        difference_ms = to_ms(difference, "time difference")
        if difference_ms < 0:
            raise _bad(
                "bad-time-difference",
                f"time difference {difference_ms} ms is negative",
                "give 0 or more",
            )
        return SlidingWindows(difference_ms, _check_grace(to_ms(grace, "grace period")))

    def grace(self, grace: Duration) -> SlidingWindows:
        """Return windows that take late records for ``grace`` after their end."""
        return replace(self, grace_ms=_check_grace(to_ms(grace, "grace period")))


@dataclass(frozen=True, slots=True)
class SessionWindows(metaclass=_Definition):
    """Bursts of activity: records at most ``gap_ms`` apart belong to one session."""

    gap_ms: int
    grace_ms: int = 0

    @staticmethod
    def of_inactivity_gap_with_no_grace(gap: Duration) -> SessionWindows:
        """Return sessions that a gap of this length ends, without grace."""
        return SessionWindows.of_inactivity_gap_and_grace(gap, 0)

    @staticmethod
    def of_inactivity_gap_and_grace(gap: Duration, grace: Duration) -> SessionWindows:
        """Return sessions that a gap of this length ends, with a grace period."""
        gap_ms = to_ms(gap, "inactivity gap")
        if gap_ms < 0:
            raise _bad(
                "bad-inactivity-gap",
                f"inactivity gap {gap_ms} ms is negative",
                "give 0 or more",
            )
        return SessionWindows(gap_ms, _check_grace(to_ms(grace, "grace period")))

    def grace(self, grace: Duration) -> SessionWindows:
        """Return sessions that take late records for ``grace`` after their end."""
        return replace(self, grace_ms=_check_grace(to_ms(grace, "grace period")))


@dataclass(frozen=True, slots=True)
class JoinWindows(metaclass=_Definition):
    """How far apart two records may be: the other record within ``[-before, +after]`` of this one.

    With ``is_eager``, a record without a partner is emitted at once, not when its window has
    closed. If a partner comes later, the joined record follows. Left and outer joins worked like
    this before Kafka 3.1. They still do with ``of`` of ``penstock.java``, and in ksqlDB if no grace
    period is given.
    """

    before_ms: int
    after_ms: int
    grace_ms: int = 0
    is_eager: bool = False

    def __post_init__(self) -> None:
        if self.before_ms + self.after_ms < 0:
            raise _bad(
                "bad-join-window",
                f"a join window of {self.before_ms} ms before and {self.after_ms} ms after ends"
                " before it starts",
                "give times whose sum is 0 or more",
            )

    @staticmethod
    def of_time_difference_with_no_grace(difference: Duration) -> JoinWindows:
        """Return a window in which partners are at most ``difference`` apart, without grace."""
        return JoinWindows.of_time_difference_and_grace(difference, 0)

    @staticmethod
    def of_time_difference_and_grace(difference: Duration, grace: Duration) -> JoinWindows:
        """Return a window in which partners are at most ``difference`` apart, with grace."""
        difference_ms = to_ms(difference, "time difference")
        return JoinWindows(difference_ms, difference_ms, _check_grace(to_ms(grace, "grace period")))

    def before(self, difference: Duration) -> JoinWindows:
        """Return a window whose right records may be up to ``difference`` earlier."""
        return replace(self, before_ms=to_ms(difference, "time difference"))

    def after(self, difference: Duration) -> JoinWindows:
        """Return a window whose right records may be up to ``difference`` later."""
        return replace(self, after_ms=to_ms(difference, "time difference"))

    def grace(self, grace: Duration) -> JoinWindows:
        """Return a window that takes records up to ``grace`` late."""
        return replace(self, grace_ms=_check_grace(to_ms(grace, "grace period")))

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms


def day_long_time_windows(size: Duration) -> TimeWindows:
    """Return windows as before Kafka 3.0: size and grace period together are a day."""
    windows = TimeWindows.of_size_with_no_grace(size)
    return replace(windows, grace_ms=max(_DAY_MS - windows.size_ms, 0))


def day_long_session_windows(gap: Duration) -> SessionWindows:
    """Return sessions as before Kafka 3.0: gap and grace period together are a day."""
    windows = SessionWindows.of_inactivity_gap_with_no_grace(gap)
    return replace(windows, grace_ms=max(_DAY_MS - windows.gap_ms, 0))


def day_long_join_windows(difference: Duration) -> JoinWindows:
    """Return windows as before Kafka 3.0: window and grace period together are a day.

    Left and outer joins are eager: they emit a record without a partner at once.
    """
    windows = JoinWindows.of_time_difference_with_no_grace(difference)
    grace_ms = max(_DAY_MS - windows.size_ms, 0)
    return replace(windows, grace_ms=grace_ms, is_eager=True)


_FORMER |= {
    "TimeWindows": {"of": day_long_time_windows},
    "SessionWindows": {"with_": day_long_session_windows},
    "JoinWindows": {"of": day_long_join_windows},
}

Windows = TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows


def least_retention_ms(windows: Windows) -> int:
    """Return how long a store must keep what these windows need: until they are closed."""
    match windows:
        case SlidingWindows(difference_ms, grace_ms):
            # A late record needs the windows that begin up to two differences before it.
            return 2 * difference_ms + grace_ms
        case SessionWindows(gap_ms, grace_ms):
            return gap_ms + grace_ms
        case _:
            return windows.size_ms + windows.grace_ms
