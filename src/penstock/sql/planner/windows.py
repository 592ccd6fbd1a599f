"""WINDOW: the windows of an aggregation and of its result keys."""

from __future__ import annotations

from penstock.model.sql.errors import AnalysisError
from penstock.model.windows.definitions import SessionWindows, TimeWindows, least_retention_ms
from penstock.sql.ast.queries import (
    HoppingWindow,
    Query,
    SessionWindow,
    TumblingWindow,
    Window,
)
from penstock.sql.catalog.catalog import WindowSpec
from penstock.sql.planner.stage import Stage

_DAY_MS = 86_400_000
#: How many windows one record may be in: each one is a row that it changes.
MOST_WINDOWS = 10_000


def window_of(query: Query, stage: Stage) -> WindowSpec:
    """Return the window of the result's keys, after checking that the source can have one."""
    window = query.window
    assert window is not None
    if stage.step.is_table:
        raise AnalysisError(
            "window-on-table",
            "WINDOW is for streams: a table has no rows of the past",
            fix="aggregate a stream, or leave WINDOW out",
            span=window.span,
        )
    _check_retention(window, is_final=query.emit == "FINAL")
    match window:
        case SessionWindow():
            return WindowSpec("SESSION")
        case HoppingWindow(size, advance):
            if not 0 < advance.ms <= size.ms:
                raise AnalysisError(
                    "bad-advance",
                    f"windows advance by {advance.ms} ms, which must be above 0 and at most their"
                    f" size of {size.ms} ms",
                    span=window.span,
                )
            _check_number(window, size.ms, advance.ms)
            return WindowSpec("HOPPING", size.ms)
        case TumblingWindow(size):
            return WindowSpec("TUMBLING", _positive(size.ms, window))


def _check_number(window: Window, size_ms: int, advance_ms: int) -> None:
    """Refuse windows of which one record is in so many that it would hold its task for seconds."""
    number = -(-size_ms // advance_ms)
    if number > MOST_WINDOWS:
        raise AnalysisError(
            "too-many-windows",
            f"every record would be in {number} windows: SIZE is {size_ms} ms and ADVANCE BY"
            f" {advance_ms} ms; the most is {MOST_WINDOWS}",
            fix=f"advance by {-(-size_ms // MOST_WINDOWS)} ms or more",
            span=window.span,
        )


def _check_retention(window: Window, *, is_final: bool) -> None:
    """Refuse a RETENTION that is shorter than the window plus its grace period."""
    if window.retention is None:
        return
    needed_ms = least_retention_ms(dsl_windows(window, is_final=is_final))
    if window.retention.ms < needed_ms:
        raise AnalysisError(
            "window-retention",
            f"a RETENTION of {window.retention.ms} ms is too short: the window's length and grace"
            f" period are {needed_ms} ms",
            fix="write a longer RETENTION, or a shorter GRACE PERIOD",
            span=window.span,
        )


def _positive(size_ms: int, window: Window) -> int:
    if size_ms <= 0:
        raise AnalysisError("bad-window-size", "a window must be longer than 0", span=window.span)
    return size_ms


def dsl_windows(window: Window, *, is_final: bool) -> TimeWindows | SessionWindows:
    """Return the windows of the DSL.

    Without a GRACE PERIOD, the length of a window and its grace period are a day in all. With EMIT
    FINAL the grace period is 0 by default, so that results do not wait for a day.
    """
    match window:
        case SessionWindow(gap):
            return SessionWindows(gap.ms, _grace_ms(window, gap.ms, is_final))
        case HoppingWindow(size, advance):
            return TimeWindows(size.ms, advance.ms, _grace_ms(window, size.ms, is_final))
        case TumblingWindow(size):
            return TimeWindows(size.ms, size.ms, _grace_ms(window, size.ms, is_final))


def _grace_ms(window: Window, length_ms: int, is_final: bool) -> int:
    if window.grace is not None:
        return window.grace.ms
    return 0 if is_final else max(_DAY_MS - length_ms, 0)


def retention_ms(window: Window) -> int | None:
    return None if window.retention is None else window.retention.ms
